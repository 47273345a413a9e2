//! The bottleneck of a scenario: the one port whose queue grows, and the sources that contend for it.
//!
//! The answer comes from the topology, the paths of the flows and their offered rates; no run is made. The run is cut
//! into phases in which every service rate is constant. In each phase the link rates are shared max-min fair
//! ([`qcnlab_network::fairness`]) among the flows. A flow's demand is the mean rate that its traffic offers, as far as its host's
//! link carries it. A flow that gets less than its demand is held back by the first port on its path that is full and
//! gives no flow more. That port is congested, unless it is the port of the sending host.

mod delays;
mod phase_load;
mod refusal;
#[cfg(test)]
mod tests;

pub use refusal::{NoBottleneck, PortLoad};

use delays::Delays;
use phase_load::{Demands, PhaseLoad};
use qcnlab_network::topology::PortId;
use qcnlab_scenario::seconds;
use qcnlab_scenario::{Draw, Offered, ResolvedScenario, Scenario, limiters};
use qcnlab_schemes::params::Variants;
use qcnlab_sim::LimiterId;
use qcnlab_units::{BitRate, Bytes, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The least demand of a contender, as a part of its fair share. One message of QCN cuts a rate by half at most, so a
/// limiter near its fair share seldom slows a flow that demands less than half of that share.
const LEAST_DEMAND_OF_SHARE: f64 = 0.5;
/// The longest part of a phase that is neglected: a flow that pauses for less counts as sending throughout, and a flow
/// that sends for less counts as silent.
const NEGLIGIBLE_PART: f64 = 0.05;

/// The single bottleneck of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The port, written from->to.
    pub port: String,
    /// Its own rate, outside hotspots.
    pub rate: BitRate,
    /// Capacity of its queue; `None` without a limit.
    pub buffer: Option<Bytes>,
    /// Number of flows of the scenario, whether or not they cross the port.
    pub flows: usize,
    /// Phases from the end of the warm-up, in order of time.
    pub phases: Vec<BottleneckPhase>,
}

/// A time during which the port's service rate and its flows stay the same.
#[derive(Clone, Debug, PartialEq)]
pub struct BottleneckPhase {
    /// Its beginning.
    pub from: Span,
    /// Its end.
    pub until: Span,
    /// Service rate of the port.
    pub rate: BitRate,
    /// The flows that contend for it; `None` while the port is not congested.
    pub contenders: Option<Contenders>,
}

/// The flows that contend for a congested port. Rates count the octets of frames, without overhead on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Contenders {
    /// Reaction points of the controlled flows that demand half their fair share or more.
    pub sources: Vec<Contender>,
    /// Indices of these flows' entries of traffic, from 0.
    pub traffic: Vec<usize>,
    /// Rate of the port that is left for them, bit/s.
    pub capacity_bps: f64,
    /// Number of crossing flows that demand less than half their fair share, and their rate together, bit/s.
    pub light: (u32, f64),
    /// Number of crossing flows without a reaction point, and their rate together, bit/s.
    pub uncontrolled: (u32, f64),
    /// Offered rates of the sources, bit/s.
    pub sends_bps: MinMeanMax,
    /// Rate of the slowest of the sources' own links, bit/s.
    pub link_bps: f64,
    /// Length of the sources' frames, octets; the mean weighs each length by the number of frames that pass.
    pub frame_bytes: MinMeanMax,
    /// Delay from a source to the port and, as a message, back, s: propagation, the latency of switches, and one frame's
    /// transmission time on each link towards the port. In a star transmission times are left out, as in its `rtt`.
    pub loop_delay_s: MinMeanMax,
    /// As `loop_delay_s`, from a source through the port to the receiver and back, s.
    pub round_trip_s: MinMeanMax,
}

/// A reaction point at a congested port.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// The name of its flow; of several, the first.
    pub flow: String,
    /// Its offered rate, as far as its host's link carries it, bit/s.
    pub sends_bps: f64,
}

/// Minimum, mean and maximum of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinMeanMax {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

impl MinMeanMax {
    fn of(values: &[f64]) -> MinMeanMax {
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // Rounding may carry the mean of equal numbers past them.
        MinMeanMax { min, mean: mean.max(min).min(max), max }
    }

    fn json(self) -> Value {
        json!({ "min": self.min, "mean": self.mean, "max": self.max })
    }
}

impl Bottleneck {
    /// Returns the one port that a scenario congests, with the flows of replication 0.
    ///
    /// # Errors
    /// When no port is congested, or several are, at once or in turn; when flows end or pause within a phase; and when
    /// the flows at the port are uncontrolled, of several classes, or send only a part of their frames over it.
    pub fn of(scenario: &Scenario) -> Result<Bottleneck, NoBottleneck> {
        let resolved = scenario.resolve(Draw { seed: scenario.seed, replication: 0 })?;
        refuse_finite_flows(scenario, &resolved)?;
        let demands = Demands::new(scenario, &resolved);
        let loads = constant_rate_times(scenario)
            .iter()
            .map(|(from, until)| PhaseLoad::new(scenario, &resolved, &demands, *from, *until))
            .collect::<Result<Vec<_>, _>>()?;
        let port = congested_port(&resolved, &loads)?;
        let congests = |load: &&PhaseLoad| load.congested.contains(&port);
        if let Some(load) = loads.iter().filter(congests).find(|_| !resolved.watched(scenario, port)) {
            return Err(NoBottleneck::NoCongestionPoint { load: load.port_load(&resolved, port) });
        }
        let limiters = limiters(scenario, &resolved);
        let phase = |load: &PhaseLoad| {
            let congested = load.congested.contains(&port);
            Ok(BottleneckPhase {
                from: load.from,
                until: load.until,
                rate: BitRate::bps(load.capacities_bps[port] as u64),
                contenders: congested.then(|| contenders(scenario, &resolved, load, &limiters, port)).transpose()?,
            })
        };
        let phases = loads.iter().map(phase).collect::<Result<_, NoBottleneck>>()?;
        Ok(Bottleneck {
            port: resolved.network.port_name(port),
            rate: resolved.network.link(port).rate,
            buffer: resolved.capacity(scenario, port),
            flows: resolved.flows.len(),
            phases: merged(phases),
        })
    }
}

/// Merges neighbouring phases with the same rate and the same contenders.
fn merged(phases: Vec<BottleneckPhase>) -> Vec<BottleneckPhase> {
    let mut merged: Vec<BottleneckPhase> = Vec::new();
    for phase in phases {
        match merged.last_mut() {
            Some(last) if last.rate == phase.rate && last.contenders == phase.contenders => last.until = phase.until,
            _ => merged.push(phase),
        }
    }
    merged
}

/// Refuses flows of a given size: their number changes during the run.
fn refuse_finite_flows(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), NoBottleneck> {
    let ends = |traffic: usize| {
        let offered = scenario.traffic[traffic].offered();
        let sized = matches!(offered, Offered::AllItCan { total: Some(_), .. });
        sized || resolved.flows.iter().any(|flow| flow.traffic == traffic && flow.size.is_some())
    };
    match (0..scenario.traffic.len()).find(|traffic| ends(*traffic)) {
        Some(traffic) => Err(NoBottleneck::Ends { traffic, arrivals: scenario.traffic[traffic].arrivals.word() }),
        None => Ok(()),
    }
}

/// Times from the end of the warm-up in which no service rate changes.
fn constant_rate_times(scenario: &Scenario) -> Vec<(Span, Span)> {
    let (start, end) = (scenario.warmup, scenario.duration);
    let changes = scenario.hotspots.iter().flat_map(|hotspot| [hotspot.from, hotspot.until]);
    let mut edges: Vec<Span> = changes.filter(|at| start < *at && *at < end).chain([start, end]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|edge| (edge[0], edge[1])).collect()
}

/// The one port that is congested in every phase with congestion.
fn congested_port(resolved: &ResolvedScenario, loads: &[PhaseLoad]) -> Result<PortId, NoBottleneck> {
    let congested: Vec<&PhaseLoad> = loads.iter().filter(|load| !load.congested.is_empty()).collect();
    let Some(first) = congested.first() else {
        let fullest = loads.iter().filter_map(|load| load.fullest(resolved));
        let fullest = fullest.reduce(|best, load| if load.relative() > best.relative() { load } else { best });
        return Err(NoBottleneck::Nothing { fullest });
    };
    if let Some(several) = congested.iter().find(|load| load.congested.len() > 1) {
        let loads = several.congested.iter().map(|port| several.port_load(resolved, *port)).collect();
        return Err(NoBottleneck::Several { loads, from: several.from, until: several.until });
    }
    match congested.iter().find(|load| load.congested != first.congested) {
        Some(other) => {
            let of = |load: &PhaseLoad| (load.port_load(resolved, load.congested[0]), load.from, load.until);
            Err(NoBottleneck::Moves { first: of(first), then: of(other) })
        }
        None => Ok(first.congested[0]),
    }
}

fn contenders(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    load: &PhaseLoad,
    limiters: &[LimiterId],
    port: PortId,
) -> Result<Contenders, NoBottleneck> {
    let crossing: Vec<usize> = (0..resolved.flows.len()).filter(|flow| load.crosses(resolved, *flow, port)).collect();
    refuse_several_queues(scenario, resolved, &crossing, port)?;
    let controlled = |flow: &usize| resolved.reacts(scenario, *flow);
    let rates = crossing.iter().filter(|flow| controlled(flow)).map(|flow| load.rates_bps[*flow]);
    let fair_bps = rates.fold(0.0, f64::max);
    let contends = |flow: &usize| controlled(flow) && load.demands_bps[*flow] >= LEAST_DEMAND_OF_SHARE * fair_bps;
    let flows: Vec<usize> = crossing.iter().copied().filter(contends).collect();
    let tally = |flows: Vec<usize>| (flows.len() as u32, flows.iter().map(|flow| load.rates_bps[*flow]).sum());
    let mut sources: BTreeMap<LimiterId, Contender> = BTreeMap::new();
    for flow in &flows {
        let fresh = || Contender { flow: resolved.flows[*flow].name.to_string(), sends_bps: 0.0 };
        sources.entry(limiters[*flow]).or_insert_with(fresh).sends_bps += load.demands_bps[*flow];
    }
    let foreign = |flow: &usize| load.active[*flow] && sources.contains_key(&limiters[*flow]) && !flows.contains(flow);
    if let Some(flow) = (0..limiters.len()).find(foreign) {
        let flow = resolved.flows[flow].name.to_string();
        return Err(NoBottleneck::SharedLimiter { flow, port: name(resolved, port) });
    }
    let frame = |flow: &usize| scenario.traffic[resolved.flows[*flow].traffic].frame.as_f64();
    let capacity_bps = flows.iter().map(|flow| load.rates_bps[*flow]).sum::<f64>().round();
    let frames: f64 = flows.iter().map(|flow| load.rates_bps[*flow] / frame(flow)).sum();
    let lengths = MinMeanMax::of(&flows.iter().map(frame).collect::<Vec<_>>());
    let delays = Delays::new(scenario, resolved);
    let link = |flow: &usize| load.link_bps(scenario, resolved, *flow);
    let mut traffic: Vec<usize> = flows.iter().map(|flow| resolved.flows[*flow].traffic).collect();
    traffic.dedup();
    let sources: Vec<Contender> = sources.into_values().collect();
    Ok(Contenders {
        sends_bps: MinMeanMax::of(&sources.iter().map(|source| source.sends_bps).collect::<Vec<_>>()),
        sources,
        traffic,
        capacity_bps,
        light: tally(crossing.iter().copied().filter(|flow| controlled(flow) && !contends(flow)).collect()),
        uncontrolled: tally(crossing.iter().copied().filter(|flow| !controlled(flow)).collect()),
        link_bps: flows.iter().map(link).fold(f64::INFINITY, f64::min),
        frame_bytes: MinMeanMax { mean: capacity_bps / frames, ..lengths },
        loop_delay_s: MinMeanMax::of(&delays.loops(&flows, Some(port))),
        round_trip_s: MinMeanMax::of(&delays.loops(&flows, None)),
    })
}

/// Refuses flows of several classes, which have a queue each, and flows that send only a part of their frames over the
/// port.
fn refuse_several_queues(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    crossing: &[usize],
    port: PortId,
) -> Result<(), NoBottleneck> {
    let class = |flow: &usize| {
        let spec = &resolved.flows[*flow];
        spec.class.unwrap_or(scenario.traffic[spec.traffic].priority as u8)
    };
    let mut classes: Vec<u8> = crossing.iter().map(class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() > 1 {
        return Err(NoBottleneck::Classes { port: name(resolved, port), classes });
    }
    let split = |flow: &&usize| resolved.paths[**flow].iter().any(|path| !path.contains(&port));
    match crossing.iter().find(split) {
        Some(flow) => {
            let flow = resolved.flows[*flow].name.to_string();
            Err(NoBottleneck::Split { flow, port: name(resolved, port) })
        }
        None => Ok(()),
    }
}

fn name(resolved: &ResolvedScenario, port: PortId) -> String {
    resolved.network.port_name(port)
}

impl Bottleneck {
    /// The bottleneck as JSON, with the fields as keys: rates in bit/s, sizes in octets, times in s.
    pub fn to_json(&self) -> String {
        let phases: Vec<Value> = self.phases.iter().map(BottleneckPhase::json).collect();
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

impl BottleneckPhase {
    fn json(&self) -> Value {
        json!({
            "from_s": seconds(self.from),
            "until_s": seconds(self.until),
            "rate_bps": self.rate.get(),
            "contenders": self.contenders.as_ref().map(Contenders::json),
        })
    }
}

impl Contenders {
    fn json(&self) -> Value {
        let some = |(flows, rate_bps): (u32, f64)| json!({ "flows": flows, "rate_bps": rate_bps });
        let sources: Vec<Value> =
            self.sources.iter().map(|each| json!({ "flow": each.flow, "sends_bps": each.sends_bps })).collect();
        json!({
            "sources": sources,
            "traffic": self.traffic,
            "capacity_bps": self.capacity_bps,
            "light": some(self.light),
            "uncontrolled": some(self.uncontrolled),
            "sends_bps": self.sends_bps.json(),
            "link_bps": self.link_bps,
            "frame_bytes": self.frame_bytes.json(),
            "loop_delay_s": self.loop_delay_s.json(),
            "round_trip_s": self.round_trip_s.json(),
        })
    }
}
