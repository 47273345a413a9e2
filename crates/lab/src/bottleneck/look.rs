//! Who gets what in one phase, and who is held back where.

use super::{BRIEFLY, Load, NoBottleneck};
use crate::fairness::{Claim, max_min};
use crate::scenario::{ResolvedScenario, Scenario, TrafficKind};
use crate::topology::Role;
use qcnlab_units::Span;

/// Relative difference below which two rates count as equal.
const EQUAL: f64 = 1e-7;

/// What each flow asks of the ports, and of its host's port alone.
pub(super) struct Wishes {
    all: Vec<Claim>,
    first: Vec<Claim>,
}

impl Wishes {
    pub(super) fn new(scenario: &Scenario, ground: &ResolvedScenario) -> Wishes {
        let wish = |flow: usize| {
            let paths = &ground.paths[flow];
            let mut claim = Claim::split(paths, None);
            claim.ceiling_bps = ceiling(scenario, ground, flow);
            claim.links.iter_mut().for_each(|(port, share)| *share *= stretch(scenario, ground, flow, *port));
            let host = paths[0][0];
            let first = claim.links.iter().copied().filter(|(port, _)| *port == host).collect();
            (Claim { links: first, ceiling_bps: claim.ceiling_bps }, claim)
        };
        let (first, all) = (0..ground.flows.len()).map(wish).unzip();
        Wishes { all, first }
    }
}

/// What a flow sends on average if nothing holds it back; `None` for all it can.
fn ceiling(scenario: &Scenario, ground: &ResolvedScenario, flow: usize) -> Option<f64> {
    match scenario.traffic[ground.flows[flow].traffic].kind {
        TrafficKind::Saturated { max_rate, .. } => max_rate.map(qcnlab_units::BitRate::as_f64),
        TrafficKind::Tcp { .. } => None,
        _ => Some(ground.wanted_bps[flow]),
    }
}

/// Octets that a port sends for each octet of a flow's frames.
fn stretch(scenario: &Scenario, ground: &ResolvedScenario, flow: usize, port: u32) -> f64 {
    let frame = scenario.traffic[ground.flows[flow].traffic].frame;
    1.0 + ground.overhead(scenario, port).as_f64() / frame.as_f64()
}

/// One phase.
pub(super) struct Look {
    pub(super) from: Span,
    pub(super) until: Span,
    /// What each port carries, bit/s on the wire.
    pub(super) capacities_bps: Vec<f64>,
    /// What is offered to each port, bit/s on the wire.
    offered_bps: Vec<f64>,
    /// Whether each flow sends.
    pub(super) active: Vec<bool>,
    /// What each flow sends at most, as its host's link allows, bit/s.
    pub(super) wanted_bps: Vec<f64>,
    /// What each flow gets, bit/s.
    pub(super) rates_bps: Vec<f64>,
    /// Congested ports in order.
    pub(super) congested: Vec<u32>,
}

/// Looks at the time from `from` to `until`.
pub(super) fn look(
    scenario: &Scenario,
    ground: &ResolvedScenario,
    wishes: &Wishes,
    from: Span,
    until: Span,
) -> Result<Look, NoBottleneck> {
    let capacities_bps = capacities(scenario, ground, from);
    let active = active(scenario, ground, from, until)?;
    let silent = Claim { links: Vec::new(), ceiling_bps: Some(0.0) };
    let chosen = |claims: &[Claim], sends: &dyn Fn(usize) -> bool| -> Vec<Claim> {
        claims.iter().enumerate().map(|(i, claim)| if sends(i) { claim.clone() } else { silent.clone() }).collect()
    };
    let sends = |flow: usize| active[flow];
    let slowed = |flow: usize| scenario.traffic[ground.flows[flow].traffic].controlled;
    let wanted_bps = max_min(&capacities_bps, &chosen(&wishes.first, &sends))?;
    let wanted = |flow: usize| wishes.all[flow].links.iter().map(move |(port, share)| (*port, *share));
    let load = |rates: &[f64]| {
        let mut load = vec![0.0; capacities_bps.len()];
        (0..rates.len()).for_each(|i| wanted(i).for_each(|(port, share)| load[port as usize] += share * rates[i]));
        load
    };
    let offered_bps = load(&wanted_bps);
    let stubborn = chosen(&wishes.all, &|flow| sends(flow) && !slowed(flow));
    let unslowed = max_min(&capacities_bps, &stubborn)?;
    let mut look = Look {
        from,
        until,
        capacities_bps: capacities_bps.clone(),
        offered_bps,
        active: active.clone(),
        wanted_bps,
        rates_bps: unslowed.clone(),
        congested: Vec::new(),
    };
    if let Some(port) = holders(ground, &capacities_bps, &stubborn, &unslowed).into_iter().next() {
        return Err(NoBottleneck::Overloaded { load: look.load(ground, port) });
    }
    let taken = load(&unslowed);
    let left: Vec<f64> = capacities_bps.iter().zip(&taken).map(|(all, taken)| (all - taken).max(0.0)).collect();
    let claims = chosen(&wishes.all, &|flow| sends(flow) && slowed(flow));
    let rates = max_min(&left, &claims)?;
    look.congested = holders(ground, &left, &claims, &rates);
    let full = |port: &&u32| left[**port as usize] <= capacities_bps[**port as usize] * EQUAL;
    if let Some(port) = look.congested.iter().find(full) {
        return Err(NoBottleneck::Overloaded { load: look.load(ground, *port) });
    }
    look.rates_bps = rates.iter().zip(&unslowed).map(|(rate, other)| rate + other).collect();
    Ok(look)
}

fn capacities(scenario: &Scenario, ground: &ResolvedScenario, at: Span) -> Vec<f64> {
    let mut capacities = ground.network.capacities_bps();
    for (hotspot, port) in scenario.hotspots.iter().zip(&ground.hotspots) {
        if hotspot.from <= at && at < hotspot.until {
            capacities[*port as usize] = hotspot.rate.as_f64();
        }
    }
    capacities
}

/// Which flows send in a phase: all of it but little, or none but little.
fn active(scenario: &Scenario, ground: &ResolvedScenario, from: Span, until: Span) -> Result<Vec<bool>, NoBottleneck> {
    let length = (until - from).seconds();
    let sends = |flow: &crate::scenario::FlowSpec| {
        let start = flow.start.max(from);
        let stop = scenario.traffic[flow.traffic].stop.map_or(until, |stop| stop.min(until));
        let part = if start < stop { (stop - start).seconds() / length } else { 0.0 };
        match part {
            part if part >= 1.0 - BRIEFLY => Ok(true),
            part if part <= BRIEFLY => Ok(false),
            _ => Err(NoBottleneck::Changes { flow: flow.name.clone(), start, stop, from, until }),
        }
    };
    ground.flows.iter().map(sends).collect()
}

/// The ports that hold flows back, but for those of the hosts that send, in order.
fn holders(ground: &ResolvedScenario, capacities: &[f64], claims: &[Claim], rates: &[f64]) -> Vec<u32> {
    let mut load = vec![0.0; capacities.len()];
    let mut most = vec![0.0_f64; capacities.len()];
    for (claim, rate) in claims.iter().zip(rates) {
        for (port, share) in &claim.links {
            load[*port as usize] += share * rate;
            most[*port as usize] = most[*port as usize].max(*rate);
        }
    }
    let mut found = Vec::new();
    for (flow, (claim, rate)) in claims.iter().zip(rates).enumerate() {
        let wants_more = claim.ceiling_bps.is_none_or(|ceiling| *rate < ceiling * (1.0 - EQUAL));
        let holds = |port: &u32| {
            let port = *port as usize;
            load[port] >= capacities[port] * (1.0 - EQUAL) && *rate >= most[port] * (1.0 - EQUAL)
        };
        let step = |paths: &[Vec<u32>]| paths.iter().filter_map(|path| path.iter().position(holds)).min();
        if let Some(step) = wants_more.then(|| step(&ground.paths[flow])).flatten().filter(|step| *step > 0) {
            found.extend(ground.paths[flow].iter().filter_map(|path| path.get(step)).filter(|port| holds(port)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Look {
    /// What is offered to a port, and what it carries.
    pub(super) fn load(&self, ground: &ResolvedScenario, port: u32) -> Load {
        Load {
            port: ground.network.port_name(port),
            offered_bps: self.offered_bps[port as usize],
            rate_bps: self.capacities_bps[port as usize],
        }
    }

    /// The port of a switch that most is offered to for its rate.
    pub(super) fn fullest(&self, ground: &ResolvedScenario) -> Option<Load> {
        let switch = |port: &u32| ground.network.nodes[ground.network.ends(*port).0 as usize].role == Role::Switch;
        let ports = (0..ground.network.ports()).filter(switch).map(|port| self.load(ground, port));
        ports.reduce(|best, load| if load.part() > best.part() * (1.0 + EQUAL) { load } else { best })
    }

    /// Whether a flow that sends crosses a port.
    pub(super) fn crosses(&self, ground: &ResolvedScenario, flow: usize, port: u32) -> bool {
        self.active[flow] && ground.paths[flow].iter().any(|path| path.contains(&port))
    }

    /// What a flow's own link carries of its frames, bit/s.
    pub(super) fn link_bps(&self, scenario: &Scenario, ground: &ResolvedScenario, flow: usize) -> f64 {
        let host = ground.paths[flow][0][0];
        self.capacities_bps[host as usize] / stretch(scenario, ground, flow, host)
    }
}
