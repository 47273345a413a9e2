//! Where a scenario congests: the one port whose queue grows, and the sources that meet there.
//!
//! Answers come from the graph, the ways of flows and what they want to send; no run is made. In each phase of time
//! in which rates of service stand still, rates are dealt out max-min fair ([`crate::fairness`]) to flows that want
//! what their traffic says, on average, as far as their host's link allows. A flow that gets less is held back by the
//! first port on its way that is full and gives no flow more. That port is congested, unless it is the host's own.

mod delays;
mod look;
mod refusal;
#[cfg(test)]
mod tests;

pub use refusal::{Load, NoBottleneck};

use crate::fabric::limiters;
use crate::scenario::{Draw, ResolvedScenario, Scenario, TrafficKind};
use delays::Delays;
use look::{Look, Wishes, look};
use qcnlab_schemes::params::Variants;
use qcnlab_units::{BitRate, Bytes, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Part of its fair share that a flow must want to count as a source: no message of QCN takes more than half of a
/// rate, so a limiter near its fair share seldom holds back who wants less than half of that.
const WANTS_OF_SHARE: f64 = 0.5;
/// Part of a phase that a flow may be away and still count, or be there and still not count.
const BRIEFLY: f64 = 0.05;

/// The single bottleneck of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The port, written from->to.
    pub port: String,
    /// Its own rate, outside hotspots.
    pub rate: BitRate,
    /// Room in its queue; `None` if nothing limits it.
    pub buffer: Option<Bytes>,
    /// Flows of the scenario, wherever they go.
    pub flows: usize,
    /// Times from the end of the warm-up in which the port's rate stands still, in order.
    pub phases: Vec<Phase>,
}

/// A time in which the port's rate and its flows stay the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its beginning.
    pub from: Span,
    /// Its end.
    pub until: Span,
    /// At which rate the port serves.
    pub rate: BitRate,
    /// Who meets there; `None` while the port is not congested.
    pub crowd: Option<Crowd>,
}

/// The flows that meet at a congested port. Rates count frame octets, without what the wire adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    /// Reaction points of the flows that are held back, or could be: those that want half their fair share or more.
    pub sources: Vec<Source>,
    /// Entries of traffic of these flows, from 0.
    pub traffic: Vec<usize>,
    /// What is left of the port for them, bit/s.
    pub capacity_bps: f64,
    /// Crossing flows that want less than half their fair share, and what they take, bit/s.
    pub light: (u32, f64),
    /// Crossing flows that no reaction point slows, and what they take, bit/s.
    pub unslowed: (u32, f64),
    /// What the sources can send at most, bit/s.
    pub sends_bps: Extent,
    /// Rate of the sources' own links, the slowest, bit/s.
    pub link_bps: f64,
    /// Length of the sources' frames; the mean is that of the frames that pass, octets.
    pub frame_bytes: Extent,
    /// From a source to the port and, as a message, back: propagation, the latency of switches, and on the way there a
    /// frame's time on each link, s. Of a star without that time, as its `rtt`.
    pub loop_delay_s: Extent,
    /// As `loop_delay_s`, from a source over the port to the receiver and back, s.
    pub round_trip_s: Extent,
}

/// A reaction point at a congested port.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The name of its flow, of several the first.
    pub flow: String,
    /// What it can send at most: its rate, or its part of its host's link, bit/s.
    pub sends_bps: f64,
}

/// Smallest, mean and largest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The smallest.
    pub least: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub greatest: f64,
}

impl Extent {
    fn of(values: &[f64]) -> Extent {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Extent { least, mean: mean.max(least).min(greatest), greatest }
    }

    fn json(self) -> Value {
        json!({ "least": self.least, "mean": self.mean, "greatest": self.greatest })
    }
}

impl Scenario {
    /// The one port where the scenario congests, with the flows of replication 0.
    ///
    /// # Errors
    /// When no port is congested, or several are, at once or in turn; and when what meets there has no steady rate, is
    /// not under control, or is not together at the port.
    pub fn bottleneck(&self) -> Result<Bottleneck, NoBottleneck> {
        let ground = self.resolve(Draw { seed: self.seed, replication: 0 })?;
        steady(self, &ground)?;
        let wishes = Wishes::new(self, &ground);
        let times = times(self);
        let looks = times
            .iter()
            .map(|(from, until)| look(self, &ground, &wishes, *from, *until))
            .collect::<Result<Vec<_>, _>>()?;
        let port = one_port(&ground, &looks)?;
        if let Some(look) = looks.iter().find(|look| look.congested.contains(&port) && !ground.watched(self, port)) {
            return Err(NoBottleneck::Unwatched { load: look.load(&ground, port) });
        }
        let limiters = limiters(self, &ground);
        let phase = |look: &Look| {
            Ok(Phase {
                from: look.from,
                until: look.until,
                rate: BitRate::bps(look.capacities_bps[port as usize] as u64),
                crowd: look
                    .congested
                    .contains(&port)
                    .then(|| crowd(self, &ground, look, &limiters, port))
                    .transpose()?,
            })
        };
        let phases = looks.iter().map(phase).collect::<Result<_, NoBottleneck>>()?;
        Ok(Bottleneck {
            port: ground.network.port_name(port),
            rate: ground.network.link(port).rate,
            buffer: ground.capacity(self, port),
            flows: ground.flows.len(),
            phases: joined(phases),
        })
    }
}

/// Phases that differ in nothing, made one.
fn joined(phases: Vec<Phase>) -> Vec<Phase> {
    let mut joined: Vec<Phase> = Vec::new();
    for phase in phases {
        match joined.last_mut() {
            Some(last) if last.rate == phase.rate && last.crowd == phase.crowd => last.until = phase.until,
            _ => joined.push(phase),
        }
    }
    joined
}

/// Refuses flows that have an end.
fn steady(scenario: &Scenario, ground: &ResolvedScenario) -> Result<(), NoBottleneck> {
    let ends = |traffic: usize| {
        use TrafficKind::{Saturated, Tcp};
        let sized =
            matches!(scenario.traffic[traffic].kind, Saturated { size: Some(_), .. } | Tcp { size: Some(_), .. });
        sized || ground.flows.iter().any(|flow| flow.traffic == traffic && flow.size.is_some())
    };
    match (0..scenario.traffic.len()).find(|traffic| ends(*traffic)) {
        Some(traffic) => Err(NoBottleneck::Ends { traffic, kind: scenario.traffic[traffic].kind.word() }),
        None => Ok(()),
    }
}

/// Times from the end of the warm-up in which no rate of service changes.
fn times(scenario: &Scenario) -> Vec<(Span, Span)> {
    let (start, end) = (scenario.warmup, scenario.duration);
    let changes = scenario.hotspots.iter().flat_map(|hotspot| [hotspot.from, hotspot.until]);
    let mut edges: Vec<Span> = changes.filter(|at| start < *at && *at < end).chain([start, end]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|edge| (edge[0], edge[1])).collect()
}

/// The port that is congested in all phases in which one is.
fn one_port(ground: &ResolvedScenario, looks: &[Look]) -> Result<u32, NoBottleneck> {
    let crowded: Vec<&Look> = looks.iter().filter(|look| !look.congested.is_empty()).collect();
    let Some(first) = crowded.first() else {
        let loads = looks.iter().filter_map(|look| look.fullest(ground));
        let fullest = loads.reduce(|best, load| if load.part() > best.part() { load } else { best });
        return Err(NoBottleneck::Nothing { fullest });
    };
    if let Some(several) = crowded.iter().find(|look| look.congested.len() > 1) {
        let loads = several.congested.iter().map(|port| several.load(ground, *port)).collect();
        return Err(NoBottleneck::Several { loads, from: several.from, until: several.until });
    }
    match crowded.iter().find(|look| look.congested != first.congested) {
        Some(other) => {
            let of = |look: &Look| (look.load(ground, look.congested[0]), look.from, look.until);
            Err(NoBottleneck::Moves { first: of(first), then: of(other) })
        }
        None => Ok(first.congested[0]),
    }
}

fn crowd(
    scenario: &Scenario,
    ground: &ResolvedScenario,
    look: &Look,
    limiters: &[u32],
    port: u32,
) -> Result<Crowd, NoBottleneck> {
    let crossing: Vec<usize> = (0..ground.flows.len()).filter(|flow| look.crosses(ground, *flow, port)).collect();
    together(scenario, ground, &crossing, port)?;
    let slowed = |flow: &usize| scenario.traffic[ground.flows[*flow].traffic].controlled;
    let fair_bps = crossing.iter().filter(|flow| slowed(flow)).map(|flow| look.rates_bps[*flow]).fold(0.0, f64::max);
    let wants = |flow: &usize| slowed(flow) && look.wanted_bps[*flow] >= WANTS_OF_SHARE * fair_bps;
    let flows: Vec<usize> = crossing.iter().copied().filter(wants).collect();
    let tally = |flows: Vec<usize>| (flows.len() as u32, flows.iter().map(|flow| look.rates_bps[*flow]).sum());
    let mut sources: BTreeMap<u32, Source> = BTreeMap::new();
    for flow in &flows {
        let fresh = || Source { flow: ground.flows[*flow].name.clone(), sends_bps: 0.0 };
        sources.entry(limiters[*flow]).or_insert_with(fresh).sends_bps += look.wanted_bps[*flow];
    }
    let stranger = (0..limiters.len())
        .find(|flow| look.active[*flow] && sources.contains_key(&limiters[*flow]) && !flows.contains(flow));
    if let Some(flow) = stranger {
        return Err(NoBottleneck::SharedLimiter { flow: ground.flows[flow].name.clone(), port: name(ground, port) });
    }
    let frame = |flow: &usize| scenario.traffic[ground.flows[*flow].traffic].frame.as_f64();
    let capacity_bps = flows.iter().map(|flow| look.rates_bps[*flow]).sum::<f64>().round();
    let frames: f64 = flows.iter().map(|flow| look.rates_bps[*flow] / frame(flow)).sum();
    let delays = Delays::new(scenario, ground);
    let link = |flow: &usize| look.link_bps(scenario, ground, *flow);
    let mut traffic: Vec<usize> = flows.iter().map(|flow| ground.flows[*flow].traffic).collect();
    traffic.dedup();
    let sources: Vec<Source> = sources.into_values().collect();
    Ok(Crowd {
        sends_bps: Extent::of(&sources.iter().map(|source| source.sends_bps).collect::<Vec<_>>()),
        sources,
        traffic,
        capacity_bps,
        light: tally(crossing.iter().copied().filter(|flow| slowed(flow) && !wants(flow)).collect()),
        unslowed: tally(crossing.iter().copied().filter(|flow| !slowed(flow)).collect()),
        link_bps: flows.iter().map(link).fold(f64::INFINITY, f64::min),
        frame_bytes: Extent { mean: capacity_bps / frames, ..Extent::of(&flows.iter().map(frame).collect::<Vec<_>>()) },
        loop_delay_s: Extent::of(&delays.loops(&flows, Some(port))),
        round_trip_s: Extent::of(&delays.loops(&flows, None)),
    })
}

/// Refuses flows that do not stand in one queue, or send a part of their frames elsewhere.
fn together(scenario: &Scenario, ground: &ResolvedScenario, crossing: &[usize], port: u32) -> Result<(), NoBottleneck> {
    let class = |flow: &usize| {
        let spec = &ground.flows[*flow];
        spec.class.unwrap_or(scenario.traffic[spec.traffic].priority as u8)
    };
    let mut classes: Vec<u8> = crossing.iter().map(class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() > 1 {
        return Err(NoBottleneck::Classes { port: name(ground, port), classes });
    }
    let split = |flow: &&usize| ground.paths[**flow].iter().any(|path| !path.contains(&port));
    match crossing.iter().find(split) {
        Some(flow) => Err(NoBottleneck::Split { flow: ground.flows[*flow].name.clone(), port: name(ground, port) }),
        None => Ok(()),
    }
}

fn name(ground: &ResolvedScenario, port: u32) -> String {
    ground.network.port_name(port)
}

impl Bottleneck {
    /// All of it as JSON, keys as the fields are called; rates in bit/s, sizes in octets, times in s.
    pub fn to_json(&self) -> String {
        let phases: Vec<Value> = self.phases.iter().map(Phase::json).collect();
        json!({
            "port": self.port,
            "rate_bps": self.rate.get(),
            "buffer_bytes": self.buffer.map(Bytes::get),
            "flows": self.flows,
            "phases": phases,
        })
        .to_string()
    }
}

impl Phase {
    fn json(&self) -> Value {
        json!({
            "from_s": self.from.seconds(),
            "until_s": self.until.seconds(),
            "rate_bps": self.rate.get(),
            "crowd": self.crowd.as_ref().map(Crowd::json),
        })
    }
}

impl Crowd {
    fn json(&self) -> Value {
        let some = |(flows, rate_bps): (u32, f64)| json!({ "flows": flows, "rate_bps": rate_bps });
        let sources: Vec<Value> =
            self.sources.iter().map(|each| json!({ "flow": each.flow, "sends_bps": each.sends_bps })).collect();
        json!({
            "sources": sources,
            "traffic": self.traffic,
            "capacity_bps": self.capacity_bps,
            "light": some(self.light),
            "unslowed": some(self.unslowed),
            "sends_bps": self.sends_bps.json(),
            "link_bps": self.link_bps,
            "frame_bytes": self.frame_bytes.json(),
            "loop_delay_s": self.loop_delay_s.json(),
            "round_trip_s": self.round_trip_s.json(),
        })
    }
}
