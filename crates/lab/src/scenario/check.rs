//! What cannot work although every value by itself could.

use super::document::Place;
use super::error::{Fault, ScenarioError};
use super::types::{BOTTLENECK, Scenario, Star, Topology, Traffic, TrafficKind, matches};
use qcnlab_units::{BitRate, Bytes};

/// Rows one run may write.
const MOST_ROWS: u128 = 50_000_000;

/// A fault and the keys it concerns, the likeliest culprit first.
struct Found {
    fault: Box<Fault>,
    keys: Vec<String>,
}

fn refuse(fault: Fault, keys: Vec<String>) -> Result<(), Found> {
    Err(Found { fault: Box::new(fault), keys })
}

/// Refuses a scenario whose parts contradict one another.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Topology::Star(star) = &scenario.topology;
    times(scenario)
        .and_then(|()| hotspots(scenario))
        .and_then(|()| frames(scenario, star))
        .and_then(|()| flows(scenario, star))
        .and_then(|()| rows(scenario, star))
        .map_err(|found| scenario.origin.error(*found.fault, &place(scenario, &found.keys)))
}

/// Where to point: at the first of `keys` an override set, or else the first the file has.
fn place(scenario: &Scenario, keys: &[String]) -> Place {
    let present = || keys.iter().filter_map(|key| scenario.origin.root.find(key)).map(|node| &node.place);
    present()
        .find(|place| matches!(place, Place::Override(_)))
        .or_else(|| present().next())
        .cloned()
        .unwrap_or(Place::Key(String::new()))
}

fn keys<const N: usize>(keys: [&str; N]) -> Vec<String> {
    keys.map(str::to_owned).to_vec()
}

fn times(scenario: &Scenario) -> Result<(), Found> {
    let duration = scenario.duration;
    let beyond =
        |what, value, key: String| refuse(Fault::BeyondEnd { what, value, duration }, vec![key, "duration".to_owned()]);
    if scenario.warmup >= duration {
        return beyond("the warm-up ends", scenario.warmup, "warmup".to_owned());
    }
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        if traffic.start >= duration {
            return beyond("the traffic starts", traffic.start, format!("traffic.{i}.start"));
        }
        if let Some(end) = traffic.stop.filter(|stop| *stop <= traffic.start) {
            let fault = Fault::EndsBeforeBegin { what: "the traffic", begin: traffic.start, end };
            return refuse(fault, vec![format!("traffic.{i}.stop"), format!("traffic.{i}.start")]);
        }
    }
    Ok(())
}

fn hotspots(scenario: &Scenario) -> Result<(), Found> {
    let duration = scenario.duration;
    for (i, hotspot) in scenario.hotspots.iter().enumerate() {
        let key = |name: &str| format!("hotspot.{i}.{name}");
        if hotspot.port != BOTTLENECK {
            let fault = Fault::NoPlace { what: "port", name: hotspot.port.clone(), known: BOTTLENECK };
            return refuse(fault, vec![key("port")]);
        }
        if hotspot.from >= duration {
            let fault = Fault::BeyondEnd { what: "the hotspot begins", value: hotspot.from, duration };
            return refuse(fault, vec![key("from"), "duration".to_owned()]);
        }
        if hotspot.until <= hotspot.from {
            let fault = Fault::EndsBeforeBegin { what: "the hotspot", begin: hotspot.from, end: hotspot.until };
            return refuse(fault, vec![key("until"), key("from")]);
        }
        if hotspot.until > duration {
            let fault = Fault::BeyondEnd { what: "the hotspot ends", value: hotspot.until, duration };
            return refuse(fault, vec![key("until"), "duration".to_owned()]);
        }
    }
    let mut order: Vec<usize> = (0..scenario.hotspots.len()).collect();
    order.sort_by_key(|&i| (&scenario.hotspots[i].port, scenario.hotspots[i].from));
    for pair in order.windows(2) {
        let (earlier, later) = (&scenario.hotspots[pair[0]], &scenario.hotspots[pair[1]]);
        if earlier.port == later.port && later.from < earlier.until {
            let fault = Fault::Overlap { port: later.port.clone(), begin: later.from, end: earlier.until };
            return refuse(fault, vec![format!("hotspot.{}.from", pair[1]), format!("hotspot.{}.until", pair[0])]);
        }
    }
    Ok(())
}

fn frames(scenario: &Scenario, star: &Star) -> Result<(), Found> {
    let buffer = star.buffer;
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        let key = |name: &str| format!("traffic.{i}.{name}");
        let frame = traffic.frame;
        if frame > buffer {
            return refuse(Fault::FrameAboveBuffer { frame, buffer }, vec![key("frame"), "topology.buffer".to_owned()]);
        }
        if let TrafficKind::Constant { rate } = traffic.kind
            && on_the_wire(rate, traffic, star.frame_overhead) > star.rate.as_f64()
        {
            let overhead = if star.frame_overhead == Bytes::ZERO { "" } else { " with the frames' overhead" };
            let fault = Fault::RateAboveLink { rate, link: star.rate, overhead };
            return refuse(fault, vec![key("rate"), "topology.rate".to_owned(), "topology.frame_overhead".to_owned()]);
        }
    }
    match scenario.scheme.set_point() {
        Some(set_point) if set_point >= buffer => refuse(
            Fault::SetPoint { set_point, buffer },
            keys(["scheme.cp.set_point", "topology.buffer", "scheme.preset", "scheme.name"]),
        ),
        _ => Ok(()),
    }
}

/// What a stream of frames takes of its link, in bit/s.
fn on_the_wire(rate: BitRate, traffic: &Traffic, overhead: Bytes) -> f64 {
    rate.as_f64() * (traffic.frame + overhead).as_f64() / traffic.frame.as_f64()
}

fn flows(scenario: &Scenario, star: &Star) -> Result<(), Found> {
    let mut sender: Vec<Option<usize>> = vec![None; star.sources as usize];
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        if traffic.to != "sink" {
            let fault = Fault::NoPlace { what: "host", name: traffic.to.clone(), known: "sink" };
            return refuse(fault, vec![format!("traffic.{i}.to")]);
        }
        let from = || vec![format!("traffic.{i}.from"), "topology.sources".to_owned(), format!("traffic.{i}")];
        let mut any = false;
        for (source, name) in scenario.topology.source_names().enumerate() {
            if !matches(&traffic.from, &name) {
                continue;
            }
            any = true;
            if let Some(first) = sender[source].replace(i) {
                return refuse(Fault::TwoFlows { source_name: name, first }, from());
            }
        }
        if !any {
            let fault = Fault::NoSource { pattern: traffic.from.clone(), sources: star.sources };
            return refuse(fault, from());
        }
    }
    Ok(())
}

fn rows(scenario: &Scenario, star: &Star) -> Result<(), Found> {
    let record = &scenario.record;
    if !record.tables {
        return Ok(());
    }
    let duration = u128::from(scenario.duration.ps());
    let sources = u128::from(star.sources);
    let parts = [
        (duration / u128::from(record.queue_every.ps()), "record.queue_every"),
        (sources * (duration / u128::from(record.rates_every.ps())), "record.rates_every"),
        (sources * (duration / u128::from(record.throughput_bin.ps())), "record.throughput_bin"),
    ];
    let rows = parts.iter().map(|(rows, _)| rows).sum();
    if rows <= MOST_ROWS {
        return Ok(());
    }
    let finest = parts.iter().max_by_key(|(rows, _)| *rows).map_or("record", |(_, key)| key);
    refuse(Fault::TooManyRows { rows, limit: MOST_ROWS }, keys([finest, "record", "topology.sources", "duration"]))
}
