//! Traffic from captures: what is read of them, and the flows that follow.

use super::drawing::HostPair;
use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use super::network::network;
use super::types::{Pairing, Scenario, Traffic, TrafficKind};
use crate::replay::{CaptureSurvey, HostTable, Pace, ReplayFault, Replayed, Selection, assign};
use crate::topology::Network;
use qcnlab_units::Span;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

/// Addresses that are told with their hosts.
const MOST_TOLD: usize = 1000;

impl Scenario {
    /// Return what the captures that are replayed hold, as a JSON array with an object for each: `entry` in
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
    let TrafficKind::Capture { file, .. } = &traffic.kind else { unreachable!("it is of kind capture") };
    LocatedFault::new(Fault::Replay { file: file.clone(), fault }, keys)
}

/// Reads the captures that a scenario names, and writes their full names and digests into it. Names are relative to the
/// folder of the scenario file.
pub(super) fn survey(scenario: &mut Scenario) -> Result<(), LocatedFault> {
    let folder = Path::new(&scenario.origin.name).parent().unwrap_or(Path::new("")).to_owned();
    for (i, traffic) in scenario.traffic.iter_mut().enumerate() {
        let key = |name: &str| format!("traffic.{i}.{name}");
        let Some(selection) = selection(traffic, &key)? else { continue };
        let TrafficKind::Capture { file: name, .. } = &traffic.kind else { continue };
        let keys = ["file", "window_end", "interfaces"].map(key);
        let survey = CaptureSurvey::of(&folder.join(name), &selection);
        let survey = survey.map_err(|why| fault(traffic, why, &keys))?;
        let TrafficKind::Capture { file: name, sha256: expected, .. } = &mut traffic.kind else { continue };
        let actual = survey.sha256.clone();
        let other = expected.replace(actual.clone()).filter(|expected| !expected.eq_ignore_ascii_case(&actual));
        if let Some(expected) = other {
            return Err(fault(traffic, ReplayFault::Changed { expected, actual }, &[key("sha256"), key("file")]));
        }
        *name = survey.path.display().to_string();
        traffic.survey = Some(survey);
    }
    Ok(())
}

/// What an entry asks of its capture, if it has one.
fn selection(traffic: &Traffic, key: &impl Fn(&str) -> String) -> Result<Option<Selection>, LocatedFault> {
    let TrafficKind::Capture { flows_by, interfaces, direction, window_start, window_end, keep_priority, fcs, .. } =
        &traffic.kind
    else {
        return Ok(None);
    };
    let unfit = [
        ("spread", traffic.spread != Pairing::Each),
        ("stagger", traffic.stagger != Span::ZERO),
        ("start_jitter", traffic.start_jitter != Span::ZERO),
    ];
    if let Some((name, _)) = unfit.into_iter().find(|(_, set)| *set) {
        return Err(LocatedFault::new(Fault::NotOfCaptures { key: name }, &[key(name)]));
    }
    if let Some(end) = window_end.filter(|end| *end <= *window_start) {
        let fault = Fault::EndsBeforeBegin { what: "the window", begin: *window_start, end };
        return Err(LocatedFault::new(fault, &[key("window_end"), key("window_start")]));
    }
    Ok(Some(Selection {
        flows_by: *flows_by,
        interfaces: (interfaces.clone(), read_pattern(interfaces, &key("interfaces"))?),
        direction: *direction,
        window_start: *window_start,
        window_end: *window_end,
        keep_priority: *keep_priority,
        fcs: *fcs,
        longest: traffic.frame,
    }))
}

/// The table of addresses of an entry, if it has one.
pub(super) fn table(scenario: &Scenario, network: &Network, entry: usize) -> Result<Option<HostTable>, LocatedFault> {
    let traffic = &scenario.traffic[entry];
    let TrafficKind::Capture { hosts: Some(text), .. } = &traffic.kind else { return Ok(None) };
    let key = format!("traffic.{entry}.hosts");
    let file = traffic.file.as_deref().unwrap_or(&key);
    let nodes: Vec<(&str, u32)> = network.hosts().map(|host| (&*network.nodes[host as usize].name, host)).collect();
    let table = HostTable::read(text, file, &nodes);
    table.map(Some).map_err(|error| LocatedFault::new(Fault::Sheet(error), &[&key]))
}

/// The flows of an entry that start before it stops and before the run ends, in the order of the survey.
pub(super) fn pairs(
    scenario: &Scenario,
    network: &Network,
    entry: usize,
    table: Option<&HostTable>,
    hosts: (&[u32], &[u32]),
) -> Result<Vec<HostPair>, LocatedFault> {
    let traffic = &scenario.traffic[entry];
    let key = |name: &str| format!("traffic.{entry}.{name}");
    let (Some(survey), Some(pace), TrafficKind::Capture { replay, .. }) =
        (&traffic.survey, pace(traffic), &traffic.kind)
    else {
        unreachable!("a checked capture is surveyed");
    };
    let name = |host: u32| network.nodes[host as usize].name.clone();
    let keys = ["hosts", "to", "from", "file"].map(key);
    let ends = assign(&survey.flows, table, hosts, name).map_err(|why| fault(traffic, why, &keys))?;
    let mut until = traffic.stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
    if *replay == Replayed::Flows {
        until = until.min(scenario.arrivals_end());
    }
    let pairs = survey.flows.iter().zip(ends).map(|(flow, (from, to))| HostPair {
        from,
        to,
        start: traffic.start + pace.time(flow.first),
        size: (*replay == Replayed::Flows).then(|| pace.octets(flow.octets)),
        class: flow.class,
        after: Vec::new(),
    });
    let pairs: Vec<HostPair> = pairs.take_while(|pair| pair.start < until).collect();
    let first = traffic.start + pace.time(survey.ends().0);
    if first >= scenario.duration {
        let (value, duration) = (first, scenario.duration);
        let fault = Fault::BeyondEnd { what: "the first frame of the capture is sent", value, duration };
        return Err(LocatedFault::new(fault, &[key("window_start"), key("file"), "duration".to_owned()]));
    }
    Ok(pairs)
}

/// When and how often frames of an entry are replayed, if it is a capture.
pub(crate) fn pace(traffic: &Traffic) -> Option<Pace> {
    let TrafficKind::Capture { time_scale, rate_scale, .. } = traffic.kind else { return None };
    Some(Pace::new(time_scale, rate_scale))
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
