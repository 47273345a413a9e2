//! The load of every port in one phase, the rates of the flows, and the ports that hold flows back.

use super::{NEGLIGIBLE_PART, NoBottleneck, PortLoad};
use qcnlab_network::fairness::{Claim, max_min};
use qcnlab_network::topology::PortId;
use qcnlab_scenario::{Offered, ResolvedScenario, Scenario};
use qcnlab_units::{Id, IdVec, Paths, Span};

/// Relative difference below which two rates count as equal.
const EQUAL: f64 = 1e-7;

/// The claims of each flow on all ports of its paths, and on its host's port alone.
pub(super) struct Demands {
    on_all_ports: Vec<Claim>,
    on_host_port: Vec<Claim>,
}

impl Demands {
    pub(super) fn new(scenario: &Scenario, resolved: &ResolvedScenario) -> Demands {
        let claims = |flow: usize| {
            let paths = &resolved.paths[flow];
            let mut all = Claim::split(paths.iter(), None);
            all.ceiling_bps = offered_bps(scenario, resolved, flow);
            let stretch = |port: PortId| wire_octets_per_octet(scenario, resolved, flow, port);
            all.links.iter_mut().for_each(|(port, share)| *share *= stretch(PortId::new(*port)));
            let host = paths[0][0];
            let links = all.links.iter().copied().filter(|(port, _)| PortId::new(*port) == host).collect();
            (Claim { links, ceiling_bps: all.ceiling_bps }, all)
        };
        let (on_host_port, on_all_ports) = (0..resolved.flows.len()).map(claims).unzip();
        Demands { on_all_ports, on_host_port }
    }
}

/// The mean rate that a flow offers, bit/s; `None` for a flow that sends as fast as it may.
fn offered_bps(scenario: &Scenario, resolved: &ResolvedScenario, flow: usize) -> Option<f64> {
    match scenario.traffic[resolved.flows[flow].traffic].offered() {
        Offered::AllItCan { ceiling, .. } => ceiling.map(qcnlab_units::BitRate::as_f64),
        _ => Some(resolved.wanted_bps[flow]),
    }
}

/// Octets that a port puts on the wire for each octet of a flow's frames.
fn wire_octets_per_octet(scenario: &Scenario, resolved: &ResolvedScenario, flow: usize, port: PortId) -> f64 {
    let frame = scenario.traffic[resolved.flows[flow].traffic].frame;
    1.0 + resolved.overhead(scenario, port).as_f64() / frame.as_f64()
}

/// The load of all ports and the rates of all flows in one phase.
pub(super) struct PhaseLoad {
    pub(super) from: Span,
    pub(super) until: Span,
    /// Service rate of each port, bit/s on the wire.
    pub(super) capacities_bps: IdVec<PortId, f64>,
    /// Rate offered to each port, bit/s on the wire.
    offered_bps: IdVec<PortId, f64>,
    /// Whether each flow sends.
    pub(super) active: Vec<bool>,
    /// Rate that each flow offers, as far as its host's link carries it, bit/s.
    pub(super) demands_bps: Vec<f64>,
    /// Rate that each flow gets, bit/s.
    pub(super) rates_bps: Vec<f64>,
    /// Congested ports in order.
    pub(super) congested: Vec<PortId>,
}

impl PhaseLoad {
    /// The load from `from` to `until`. Uncontrolled flows take their share first, controlled flows share the rest.
    pub(super) fn new(
        scenario: &Scenario,
        resolved: &ResolvedScenario,
        demands: &Demands,
        from: Span,
        until: Span,
    ) -> Result<PhaseLoad, NoBottleneck> {
        let capacities_bps = capacities(scenario, resolved, from);
        let active = active(scenario, resolved, from, until)?;
        let silent = Claim { links: Vec::new(), ceiling_bps: Some(0.0) };
        let of_senders = |claims: &[Claim], sends: &dyn Fn(usize) -> bool| -> Vec<Claim> {
            claims.iter().enumerate().map(|(i, claim)| if sends(i) { claim.clone() } else { silent.clone() }).collect()
        };
        let sends = |flow: usize| active[flow];
        let controlled = |flow: usize| resolved.reacts(scenario, flow);
        let demands_bps = max_min(&capacities_bps, &of_senders(&demands.on_host_port, &sends))?;
        let claimed = |flow: usize| {
            demands.on_all_ports[flow].links.iter().map(move |(port, share)| (PortId::new(*port), *share))
        };
        let summed = |rates: &[f64]| {
            let mut sums = IdVec::for_each_of(&capacities_bps, 0.0);
            let flows = 0..rates.len();
            flows.for_each(|i| claimed(i).for_each(|(port, share)| sums[port] += share * rates[i]));
            sums
        };
        let offered_bps = summed(&demands_bps);
        let uncontrolled = of_senders(&demands.on_all_ports, &|flow| sends(flow) && !controlled(flow));
        let uncontrolled_bps = max_min(&capacities_bps, &uncontrolled)?;
        let mut load = PhaseLoad {
            from,
            until,
            capacities_bps: capacities_bps.clone(),
            offered_bps,
            active: active.clone(),
            demands_bps,
            rates_bps: uncontrolled_bps.clone(),
            congested: Vec::new(),
        };
        let full = bottlenecks(resolved, &capacities_bps, &uncontrolled, &uncontrolled_bps);
        if let Some(port) = full.first() {
            return Err(NoBottleneck::Overloaded { load: load.port_load(resolved, *port) });
        }
        let taken = summed(&uncontrolled_bps);
        let left: IdVec<PortId, f64> =
            capacities_bps.iter().zip(&taken).map(|(all, taken)| (all - taken).max(0.0)).collect();
        let claims = of_senders(&demands.on_all_ports, &|flow| sends(flow) && controlled(flow));
        let rates = max_min(&left, &claims)?;
        load.congested = bottlenecks(resolved, &left, &claims, &rates);
        let nothing_left = |port: &&PortId| left[**port] <= capacities_bps[**port] * EQUAL;
        if let Some(port) = load.congested.iter().find(nothing_left) {
            return Err(NoBottleneck::Overloaded { load: load.port_load(resolved, *port) });
        }
        load.rates_bps = rates.iter().zip(&uncontrolled_bps).map(|(rate, other)| rate + other).collect();
        Ok(load)
    }
}

fn capacities(scenario: &Scenario, resolved: &ResolvedScenario, at: Span) -> IdVec<PortId, f64> {
    let mut capacities = resolved.network.capacities_bps();
    for (hotspot, port) in scenario.hotspots.iter().zip(&resolved.hotspots) {
        if hotspot.from <= at && at < hotspot.until {
            capacities[*port] = hotspot.rate.as_f64();
        }
    }
    capacities
}

/// Which flows send throughout a phase, up to [`NEGLIGIBLE_PART`]; the others are silent, up to the same.
fn active(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    from: Span,
    until: Span,
) -> Result<Vec<bool>, NoBottleneck> {
    let length = (until - from).seconds();
    let sends = |flow: &qcnlab_scenario::FlowSpec| {
        let start = flow.start.max(from);
        let stop = scenario.traffic[flow.traffic].stop.map_or(until, |stop| stop.min(until));
        let part = if start < stop { (stop - start).seconds() / length } else { 0.0 };
        match part {
            part if part >= 1.0 - NEGLIGIBLE_PART => Ok(true),
            part if part <= NEGLIGIBLE_PART => Ok(false),
            _ => Err(NoBottleneck::Changes { flow: flow.name.to_string(), start, stop, from, until }),
        }
    };
    resolved.flows.iter().map(sends).collect()
}

/// The ports that hold flows back, in order; the ports of the sending hosts are left out.
fn bottlenecks(
    resolved: &ResolvedScenario,
    capacities: &IdVec<PortId, f64>,
    claims: &[Claim],
    rates: &[f64],
) -> Vec<PortId> {
    let mut load = IdVec::for_each_of(capacities, 0.0);
    let mut most = IdVec::for_each_of(capacities, 0.0_f64);
    for (claim, rate) in claims.iter().zip(rates) {
        for (port, share) in &claim.links {
            let port = PortId::new(*port);
            load[port] += share * rate;
            most[port] = most[port].max(*rate);
        }
    }
    let mut ports = Vec::new();
    for (flow, (claim, rate)) in claims.iter().zip(rates).enumerate() {
        let wants_more = claim.ceiling_bps.is_none_or(|ceiling| *rate < ceiling * (1.0 - EQUAL));
        let holds = |port: &PortId| {
            let port = *port;
            load[port] >= capacities[port] * (1.0 - EQUAL) && *rate >= most[port] * (1.0 - EQUAL)
        };
        let step = |paths: &Paths<PortId>| paths.iter().filter_map(|path| path.iter().position(holds)).min();
        if let Some(step) = wants_more.then(|| step(&resolved.paths[flow])).flatten().filter(|step| *step > 0) {
            ports.extend(resolved.paths[flow].iter().filter_map(|path| path.get(step)).filter(|port| holds(port)));
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

impl PhaseLoad {
    /// The load of one port.
    pub(super) fn port_load(&self, resolved: &ResolvedScenario, port: PortId) -> PortLoad {
        PortLoad {
            port: resolved.network.port_name(port),
            offered_bps: self.offered_bps[port],
            rate_bps: self.capacities_bps[port],
        }
    }

    /// The switch port with the highest offered rate relative to its service rate.
    pub(super) fn fullest(&self, resolved: &ResolvedScenario) -> Option<PortLoad> {
        let switch = |port: &PortId| resolved.network.is_switch(resolved.network.ends(*port).0);
        let ports = resolved.network.ports().filter(switch).map(|port| self.port_load(resolved, port));
        ports.reduce(|best, load| if load.relative() > best.relative() * (1.0 + EQUAL) { load } else { best })
    }

    /// Whether a flow sends and crosses a port.
    pub(super) fn crosses(&self, resolved: &ResolvedScenario, flow: usize, port: PortId) -> bool {
        self.active[flow] && resolved.paths[flow].iter().any(|path| path.contains(&port))
    }

    /// The rate of a flow's frames that the link of its host carries, bit/s.
    pub(super) fn link_bps(&self, scenario: &Scenario, resolved: &ResolvedScenario, flow: usize) -> f64 {
        let host = resolved.paths[flow][0][0];
        self.capacities_bps[host] / wire_octets_per_octet(scenario, resolved, flow, host)
    }
}
