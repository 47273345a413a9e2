//! Captures that traffic replays: what is read of them before a run, and what is told of them.

use super::arrivals::Arrivals;
use super::entry::Pairing;
use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use super::network::network;
use super::types::{Scenario, Traffic};
use qcnlab_traffic::replay::{CaptureSurvey, Pace, ReplayFault, Selection};
use qcnlab_units::Span;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

/// Addresses that are told with their hosts.
const MOST_TOLD: usize = 1000;

impl Scenario {
    /// Returns what the captures that are replayed hold, as a JSON array with an object for each: `entry` in
    /// [`Scenario::traffic`], `file`, `sha256`, `file_bytes`, `frames_read`, what of them is replayed (`flows`, `frames`,
    /// `octets`, `duration_s` in time of the capture, `ends_s` in time of the run, `beyond_run` if the
    /// run ends before), `passed_over` in words,
    /// `out_of_order` frames and `out_of_order_s`, and `hosts`: the first addresses with their hosts.
    pub fn captures_json(&self) -> String {
        let entries = (0..self.traffic.len()).filter_map(|entry| self.capture_json(entry));
        Value::from(entries.collect::<Vec<_>>()).to_string()
    }

    fn capture_json(&self, entry: usize) -> Option<Value> {
        let traffic = &self.traffic[entry];
        let survey = traffic.survey.as_ref()?;
        let (first, last) = survey.ends();
        let ends = traffic.start + pace(traffic)?.time(last);
        Some(json!({
            "entry": entry,
            "file": survey.path.display().to_string(),
            "sha256": survey.sha256,
            "file_bytes": survey.file_octets,
            "frames_read": survey.frames_read,
            "flows": survey.flows.len(),
            "frames": survey.frames(),
            "octets": survey.octets(),
            "duration_s": (last - first).seconds(),
            "ends_s": ends.seconds(),
            "beyond_run": ends >= self.duration,
            "passed_over": survey.passed.words(),
            "out_of_order": survey.out_of_order.frames,
            "out_of_order_s": survey.out_of_order.most.seconds(),
            "hosts": self.hosts_json(entry, survey),
        }))
    }

    /// Which address is which host, in the order in which they appear.
    fn hosts_json(&self, entry: usize, survey: &CaptureSurvey) -> Vec<Value> {
        let Ok(network) = network(self) else { unreachable!("a checked scenario has a network") };
        let (mut seen, mut told) = (HashSet::new(), Vec::new());
        let specs = self.flows().into_iter().filter(|spec| spec.traffic == entry);
        for (flow, spec) in survey.flows.iter().zip(specs) {
            for (address, host) in [(flow.from, spec.source_index), (flow.to, spec.sink_index)] {
                if told.len() < MOST_TOLD && seen.insert((address, host)) {
                    told.push(json!({ "address": address.to_string(), "host": network.nodes[host].name }));
                }
            }
        }
        told
    }
}

fn fault(traffic: &Traffic, fault: ReplayFault, keys: &[String]) -> LocatedFault {
    let Arrivals::Capture(capture) = &traffic.arrivals else { unreachable!("it replays a capture") };
    LocatedFault::new(Fault::Replay { file: capture.file.clone(), fault }, keys)
}

/// Reads the captures that a scenario names, and writes their full names and digests into it. Names are relative to the
/// folder of the scenario file.
pub(super) fn survey(scenario: &mut Scenario) -> Result<(), LocatedFault> {
    let folder = Path::new(&scenario.origin.name).parent().unwrap_or(Path::new("")).to_owned();
    for (i, traffic) in scenario.traffic.iter_mut().enumerate() {
        let key = |name: &str| format!("traffic.{i}.{name}");
        let Some(selection) = selection(traffic, &key)? else { continue };
        let Arrivals::Capture(capture) = &traffic.arrivals else { continue };
        let keys = ["file", "window_end", "interfaces"].map(key);
        let survey = CaptureSurvey::of(&folder.join(&capture.file), &selection);
        let survey = survey.map_err(|why| fault(traffic, why, &keys))?;
        let Arrivals::Capture(capture) = &mut traffic.arrivals else { continue };
        let actual = survey.sha256.clone();
        let other = capture.sha256.replace(actual.clone()).filter(|expected| !expected.eq_ignore_ascii_case(&actual));
        if let Some(expected) = other {
            return Err(fault(traffic, ReplayFault::Changed { expected, actual }, &[key("sha256"), key("file")]));
        }
        capture.file = survey.path.display().to_string();
        traffic.survey = Some(survey);
    }
    Ok(())
}

/// What an entry asks of its capture, if it has one.
fn selection(traffic: &Traffic, key: &impl Fn(&str) -> String) -> Result<Option<Selection>, LocatedFault> {
    let Arrivals::Capture(capture) = &traffic.arrivals else { return Ok(None) };
    let unfit = [
        ("spread", traffic.spread != Pairing::Each),
        ("stagger", traffic.stagger != Span::ZERO),
        ("start_jitter", traffic.start_jitter != Span::ZERO),
    ];
    if let Some((name, _)) = unfit.into_iter().find(|(_, set)| *set) {
        return Err(LocatedFault::new(Fault::NotOfCaptures { key: name }, &[key(name)]));
    }
    let begin = capture.window_start;
    if let Some(end) = capture.window_end.filter(|end| *end <= begin) {
        let fault = Fault::EndsBeforeBegin { what: "the window", begin, end };
        return Err(LocatedFault::new(fault, &[key("window_end"), key("window_start")]));
    }
    Ok(Some(Selection {
        flows_by: capture.flows_by,
        interfaces: (capture.interfaces.clone(), read_pattern(&capture.interfaces, &key("interfaces"))?),
        direction: capture.direction,
        window_start: begin,
        window_end: capture.window_end,
        keep_priority: capture.keep_priority,
        fcs: capture.fcs,
        longest: traffic.frame,
    }))
}

/// When and how often frames of an entry are replayed, if it is a capture.
pub fn pace(traffic: &Traffic) -> Option<Pace> {
    match &traffic.arrivals {
        Arrivals::Capture(capture) => Some(capture.pace()),
        _ => None,
    }
}

/// The rate that the flow at `position` of a survey offers from `start` on, bit/s: its octets over the time to the end of
/// the run, or to its last frame if that is later.
pub(super) fn offered_bps(scenario: &Scenario, entry: usize, position: usize, start: Span) -> f64 {
    let traffic = &scenario.traffic[entry];
    let (Some(survey), Some(pace)) = (&traffic.survey, pace(traffic)) else { return 0.0 };
    let flow = &survey.flows[position];
    let lasts = (pace.time(flow.last) - pace.time(flow.first)).max(scenario.duration - start.min(scenario.duration));
    pace.octets(flow.octets).bits() as f64 / lasts.seconds()
}
