//! From a scenario to the plan of an engine: nodes, ports, links and flows.

mod clocks;
mod traffic;

use qcnlab_network::fairness::{Claim, max_min, proportional};
use qcnlab_network::topology::{self, Node, Role, Routes};
use qcnlab_scenario::{
    Arrivals, Draw, FailedLink, Feedback, FlowSpec, Multipath, NewPaths, PortDefence, ResolvedScenario, Scenario,
    ScenarioError, StormAt, Ties, untagged_limiters,
};
use qcnlab_sim::{
    CompletesAt, DependencyPlan, DomainPlan, Events, FlowId, FlowPlan, FlowPlans, GeneratorPlan, LinkFailure, LinkPlan,
    NodeId, NodePlan, PathChoice, PauseStorm, Plan, PortId, PortPlan, QueueChoice, Record, ReplayPlan, RepsPlan,
    Reroute, ServiceChange, Traffic, TrimPlan,
};
use qcnlab_traffic::{Alone, Hop};
use qcnlab_units::{BitRate, Bytes, Id, IdVec, Instant, Names, Span, ids};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

ids! {
    /// An entry of `[[traffic]]`.
    pub(crate) struct EntryId;
}

/// What every replication of a scenario is built from.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) nodes: IdVec<NodeId, NodePlan>,
    pub(crate) ports: IdVec<PortId, PortPlan>,
    pub(crate) flows: FlowPlans,
    generators: Vec<GeneratorPlan>,
    replays: Vec<ReplayPlan>,
    services: Vec<ServiceChange>,
    failures: Vec<LinkFailure>,
    storms: Vec<PauseStorm>,
    reroutes: Vec<Reroute>,
    dependencies: Vec<DependencyPlan>,
    longest_way: Vec<LinkPlan>,
    domain: Option<DomainPlan>,
    /// How each port defends the domain; `None` without one and where its node takes no part.
    pub(crate) defences: IdVec<PortId, Option<PortDefence>>,
    /// What each port announces by LLDP.
    pub(crate) announced: IdVec<PortId, Announced>,
    /// The port that metrics are about.
    pub(crate) bottleneck: PortId,
    /// The entry of `[[traffic]]` that each flow belongs to.
    pub(crate) entries: IdVec<FlowId, EntryId>,
    /// Whether each flow crosses it.
    pub(crate) crossing: Arc<IdVec<FlowId, bool>>,
    /// Whether each flow crosses it with all its frames or with none: otherwise what crosses it is not known where flows
    /// end.
    pub(crate) always_crossed: bool,
    /// Whether the first hotspot slows it.
    pub(crate) hotspot_at_bottleneck: bool,
    /// Its own rate, outside hotspots, bit/s.
    pub(crate) link_bps: f64,
    /// Rate that the flows across it offer together, as far as their own links allow, bit/s.
    offered_bps: f64,
    /// What each flow offers at most, bit/s, by flow.
    pub(crate) wanted_bps: IdVec<FlowId, f64>,
    shares: OnceLock<Option<Shares>>,
    /// The nodes that each flow is sent by and goes to.
    ends: IdVec<FlowId, (NodeId, NodeId)>,
    /// Names of the ports, by index.
    pub(crate) port_names: Arc<Names>,
    /// Names of the flows, by index.
    pub(crate) flow_names: Arc<Names>,
}

/// Priorities that a port announces in its congestion notification TLV, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced {
    /// Those under congestion control; without any there is no TLV.
    pub(crate) cnpvs: u8,
    /// Those that the port is ready for.
    pub(crate) ready: u8,
}

/// Fair shares of the links, in bit/s by flow; `None` where they cannot be worked out.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Max-min fair.
    pub(crate) max_min: Option<Vec<f64>>,
    /// Proportionally fair.
    pub(crate) proportional: Option<Vec<f64>>,
}

/// The gap between flowlets, unless a scenario gives another.
const FLOWLET_GAP: Span = Span::from_us(100);
/// How long recycled ways are frozen, and packets that explore after that, unless a scenario says otherwise: as in
/// uet-htsim (exit_freeze_after, explore_counter).
const REPS_FREEZE: Span = Span::from_ms(10);
const REPS_EXPLORE: u32 = 16;
/// Queues that DRILL compares, unless a scenario says otherwise: two drawn and one remembered, its authors' choice.
const DRILL_SAMPLES: u32 = 2;
const DRILL_MEMORY: u32 = 1;
/// Flows of which shares are worked out.
const MOST_SHARED: usize = 2000;

/// The engine's id of each port of a network; `None` for those that a run does not need.
type EngineIds = IdVec<topology::PortId, Option<PortId>>;

impl Fabric {
    /// The fabric of a checked scenario, with the flows of one draw.
    ///
    /// # Errors
    /// When flows drawn at random give something that cannot work.
    pub(crate) fn new(scenario: &Scenario, draw: Draw) -> Result<Fabric, ScenarioError> {
        Fabric::of(scenario, draw, true)
    }

    /// As [`Fabric::new`], for runs without packets: without what schemes alone ask for.
    ///
    /// # Errors
    /// When flows drawn at random give something that cannot work.
    pub(crate) fn without_packets(scenario: &Scenario, draw: Draw) -> Result<Fabric, ScenarioError> {
        Fabric::of(scenario, draw, false)
    }

    fn of(scenario: &Scenario, draw: Draw, packets: bool) -> Result<Fabric, ScenarioError> {
        let resolved = scenario.resolve(draw)?;
        let kept = kept_ports(scenario, &resolved);
        let mut index_of: EngineIds = resolved.network.by_port(None);
        for (position, port) in kept.iter().enumerate() {
            index_of[*port] = Some(PortId::at(position));
        }
        let ports: IdVec<PortId, PortPlan> =
            kept.iter().map(|port| port_plan(scenario, &resolved, *port, &index_of)).collect();
        let index = |port: topology::PortId| index_of[port].unwrap_or_else(|| unreachable!("a port in use is kept"));
        let (flows, generators) = traffic::plans(scenario, &resolved, index);
        let replays = traffic::replays(scenario, &resolved);
        let crossing: IdVec<FlowId, bool> = (0..flows.len()).map(|flow| resolved.crosses_bottleneck(flow)).collect();
        let always_crossed = (0..flows.len()).all(|flow| resolved.crosses_always_or_never(flow));
        let offered =
            resolved.wanted_bps.iter().zip(crossing.iter()).filter(|(_, crosses)| **crosses).map(|(bps, _)| bps);
        Ok(Fabric {
            nodes: nodes(scenario, &resolved, &index_of),
            domain: domain_plan(scenario, &resolved, &kept),
            defences: kept.iter().map(|port| resolved.domain.as_ref()?.defence(*port)).collect(),
            announced: announced(scenario, &resolved, &kept),
            services: services(scenario, &resolved, &ports, index),
            failures: failures(&resolved, &index_of),
            storms: storms(&resolved, &index_of),
            reroutes: reroutes(&resolved, index),
            dependencies: dependencies(scenario, &resolved),
            longest_way: if packets { longest_way(scenario, &resolved) } else { Vec::new() },
            bottleneck: index(resolved.bottleneck),
            entries: resolved.flows.iter().map(|flow| EntryId::at(flow.traffic)).collect(),
            link_bps: resolved.network.link(resolved.bottleneck).rate.as_f64(),
            offered_bps: offered.sum(),
            ends: resolved
                .flows
                .iter()
                .map(|flow| (planned_node(flow.source_index), planned_node(flow.sink_index)))
                .collect(),
            wanted_bps: resolved.wanted_bps.into(),
            shares: OnceLock::new(),
            always_crossed,
            hotspot_at_bottleneck: resolved.hotspots.first() == Some(&resolved.bottleneck),
            crossing: Arc::new(crossing),
            port_names: Arc::new(ports.iter().map(|port| &port.name).collect()),
            flow_names: flows.first().map(|flow| flow.name.list().clone()).unwrap_or_default(),
            ports,
            replays,
            flows: flows.into(),
            generators,
        })
    }

    /// Fair shares of the links' own rates, worked out when they are first asked for; none if a flow has an end.
    pub(crate) fn shares(&self) -> Option<&Shares> {
        let ends = |flow: &FlowPlan| flow.traffic.total().is_some();
        let shares = || {
            let capacities: Vec<f64> = self.ports.iter().map(|port| port.rate.as_f64()).collect();
            let claims: Vec<Claim> = self.flows.iter().zip(&self.wanted_bps).map(claim).collect();
            let worked_out = |shares: Result<Vec<f64>, _>| shares.ok();
            (claims.len() <= MOST_SHARED && !self.flows.iter().any(ends)).then(|| Shares {
                max_min: worked_out(max_min(&capacities, &claims)),
                proportional: worked_out(proportional(&capacities, &claims)),
            })
        };
        self.shares.get_or_init(shares).as_ref()
    }

    /// Returns the time that a flow of a size would take alone in the network, without any window: over RoCE until the
    /// last acknowledgement is back.
    pub(crate) fn alone(&self, number: FlowId) -> Option<Alone> {
        let octets = self.octets(number)?;
        let flow = &self.flows[number];
        let hops: Vec<Hop> = flow.paths[0].iter().map(|port| self.hop(*port)).collect();
        let mut alone = Alone::new(octets, flow.frame, &hops);
        alone.ideal = alone.ideal + self.way_back(number);
        Some(alone)
    }

    /// Returns the time that the last acknowledgement of a flow over RoCE takes back; zero without.
    pub(crate) fn way_back(&self, flow: FlowId) -> Span {
        match &self.flows[flow].traffic {
            Traffic::Roce { .. } => self.way_of_acknowledgement(flow),
            _ => Span::ZERO,
        }
    }

    /// Returns the time that an acknowledgement of a flow takes back; zero of one that has none.
    pub(crate) fn way_of_acknowledgement(&self, flow: FlowId) -> Span {
        let flow = &self.flows[flow];
        let frame = match &flow.traffic {
            Traffic::Roce { config, .. } => config.ack_frame,
            Traffic::Tcp { config, .. } => config.ack_frame,
            _ => return Span::ZERO,
        };
        let back = flow.paths[0].iter().map(|port| self.hop(self.ports[*port].peer.unwrap_or(*port)));
        back.fold(Span::ZERO, |sum, hop| {
            sum + hop.delay + hop.latency + hop.rate.time_for_rounded_up(frame + hop.overhead)
        })
    }

    /// Returns which flows wait for others.
    pub(crate) fn dependencies(&self) -> &[DependencyPlan] {
        &self.dependencies
    }

    /// Returns the nodes that a flow is sent by and goes to.
    pub(crate) fn ends(&self, flow: FlowId) -> (NodeId, NodeId) {
        self.ends[flow]
    }

    /// Returns the link behind a port.
    pub(crate) fn hop(&self, port: PortId) -> Hop {
        let port = &self.ports[port];
        Hop { rate: port.rate, delay: port.delay, latency: port.latency, overhead: port.overhead }
    }

    /// Returns the rate of a port's own link or, where hotspots slow it before `end`, the lowest of theirs.
    pub(crate) fn lowest_rate(&self, port: PortId, end: Instant) -> BitRate {
        let slowed = self.services.iter().filter(|change| change.port == port && change.at < end);
        slowed.map(|change| change.rate).fold(self.ports[port].rate, BitRate::min)
    }

    /// Returns the octets of a flow of a size, with the headers of its transport.
    pub(crate) fn octets(&self, flow: FlowId) -> Option<Bytes> {
        let flow = &self.flows[flow];
        let size = flow.traffic.total()?;
        Some(match &flow.traffic {
            Traffic::Tcp { config, .. } => {
                let segments = size.get().div_ceil(config.mss.get());
                size + Bytes::new(segments * config.headers.get())
            }
            Traffic::Roce { config, .. } => {
                let packets = size.get().div_ceil(config.payload.get());
                size + Bytes::new(packets * config.headers.get())
            }
            Traffic::Saturated { .. } | Traffic::Constant { .. } | Traffic::Fed | Traffic::Replayed => size,
        })
    }

    /// Whether the host of a flow has reaction points for it.
    pub(crate) fn reacts(&self, flow: FlowId) -> bool {
        self.domain.as_ref().is_none_or(|domain| domain.untagged[flow].is_some())
    }

    /// What the bottleneck and the sources allow, bit/s.
    pub(crate) fn possible_bps(&self) -> f64 {
        self.link_bps.min(self.offered_bps)
    }

    /// Returns the port that metrics are about: `port`, `rate_bps` and `buffer_bytes`, which is null without a limit.
    pub(crate) fn bottleneck_json(&self) -> Value {
        let port = &self.ports[self.bottleneck];
        json!({
            "port": port.name,
            "rate_bps": port.rate.get(),
            "buffer_bytes": port.capacity.map(Bytes::get),
        })
    }

    /// The plan of one replication.
    pub(crate) fn plan(&self, scenario: &Scenario, seed: u64, replication: u32) -> Plan {
        let record = &scenario.record;
        let mut plan = Plan {
            nodes: self.nodes.clone(),
            ports: self.ports.clone(),
            flows: self.flows.clone(),
            generators: self.generators.clone(),
            replays: self.replays.clone(),
            events: Events::WhereNeeded,
            ties: match scenario.ties {
                Ties::Drawn => qcnlab_sim::Ties::Drawn,
                Ties::PortOrder => qcnlab_sim::Ties::PortOrder,
            },
            services: self.services.clone(),
            failures: self.failures.clone(),
            storms: self.storms.clone(),
            reroutes: self.reroutes.clone(),
            dependencies: self.dependencies.clone(),
            longest_way: self.longest_way.clone(),
            path_choice: match scenario.routing.multipath {
                Multipath::RoundRobin => PathChoice::RoundRobin,
                Multipath::Flowlet => PathChoice::Flowlets(scenario.routing.flowlet_gap.unwrap_or(FLOWLET_GAP)),
                Multipath::Reps => PathChoice::Recycled(RepsPlan {
                    freeze: scenario.routing.reps_freeze.unwrap_or(REPS_FREEZE),
                    explore: scenario.routing.reps_explore.unwrap_or(REPS_EXPLORE),
                }),
                Multipath::Drill => PathChoice::ShortestQueue(QueueChoice {
                    samples: Some(scenario.routing.drill_samples.unwrap_or(DRILL_SAMPLES)),
                    memory: scenario.routing.drill_memory.unwrap_or(DRILL_MEMORY),
                }),
                Multipath::Adaptive => PathChoice::ShortestQueue(QueueChoice { samples: None, memory: 0 }),
                _ => PathChoice::Random,
            },
            domain: self.domain.clone(),
            feedback: match scenario.feedback {
                Feedback::Ideal => qcnlab_sim::Feedback::Ideal,
                Feedback::Frames { frame, priority } => {
                    qcnlab_sim::Feedback::Frames { size: frame, class: priority as u8 }
                }
            },
            scheme: scenario.scheme.clone(),
            end: Instant::ZERO + scenario.duration,
            drains: scenario.drain,
            seed,
            replication,
            record: Record {
                queue_every: record.queue_every,
                rates_every: if record.tables { record.rates_every } else { Span::ZERO },
                bin: record.throughput_bin,
                messages: record.tables,
                kept: record.tables,
            },
        };
        clocks::set_off(&mut plan, scenario.clock_tolerance_ppm);
        plan
    }
}

/// Returns the node of a plan that a node of the network is: plans have them in the same order.
pub(crate) fn planned_node(node: topology::NodeId) -> NodeId {
    NodeId::new(node.number())
}

/// Returns the claim of a flow. One that always has something to send has no ceiling of its own.
fn claim((flow, wanted_bps): (&FlowPlan, &f64)) -> Claim {
    let ceiling = match flow.traffic {
        Traffic::Saturated { ceiling, .. } => ceiling,
        Traffic::Tcp { .. } | Traffic::Roce { .. } => None,
        Traffic::Constant { .. } | Traffic::Fed | Traffic::Replayed => Some(BitRate::bps(*wanted_bps as u64)),
    };
    Claim::split(flow.paths.iter(), ceiling)
}

/// Returns the ports that a run needs: those that flows cross or that are recorded, then those on which only feedback,
/// acknowledgements or pause frames travel.
fn kept_ports(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<topology::PortId> {
    let acknowledged = scenario.traffic.iter().any(|traffic| traffic.transport_headers().is_some());
    let pauses = resolved.pauses.iter().any(Option::is_some) || !resolved.storms.is_empty();
    let back = scenario.feedback != Feedback::Ideal || pauses || acknowledged;
    let recorded_too = |port: topology::PortId| resolved.hotspots.contains(&port) || resolved.bottleneck == port;
    let crossed = |port: topology::PortId| resolved.crossed[port] || resolved.recorded[port] || recorded_too(port);
    let forward = resolved.network.ports().filter(|port| crossed(*port));
    let backward = resolved.network.ports().filter(|port| back && !crossed(*port) && crossed(port.reverse()));
    forward.chain(backward).collect()
}

/// Returns the longest way between two hosts, where frames of 1500 octets are sent; none without queue pairs, whose
/// schemes alone ask for it.
fn longest_way(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<LinkPlan> {
    if scenario.traffic.iter().all(|traffic| traffic.queue_pair().is_none()) {
        return Vec::new();
    }
    let link = |port: topology::PortId| LinkPlan::from(&port_plan(scenario, resolved, port, &IdVec::new()));
    let time = |port: topology::PortId| link(port).round_trip(Bytes::new(1500)).ps();
    let network = resolved.outside_network();
    let way = Routes::new(&network).map(|mut routes| routes.longest(time));
    way.unwrap_or_default().into_iter().map(link).collect()
}

fn port_plan(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    port: topology::PortId,
    index_of: &EngineIds,
) -> PortPlan {
    let (from, to) = resolved.network.ends(port);
    let link = resolved.network.link(port);
    PortPlan {
        name: resolved.network.port_name(port),
        from: planned_node(from),
        to: planned_node(to),
        rate: link.rate,
        delay: link.delay,
        latency: resolved.switch(scenario, to).map_or(Span::ZERO, |switch| switch.latency),
        capacity: resolved.capacity(scenario, port),
        overhead: resolved.overhead(scenario, port),
        watched: resolved.watched(scenario, port),
        wred: resolved.wred[port].clone(),
        recorded: resolved.recorded[port],
        peer: index_of.get(port.reverse()).copied().flatten(),
    }
}

fn nodes(scenario: &Scenario, resolved: &ResolvedScenario, index_of: &EngineIds) -> IdVec<NodeId, NodePlan> {
    let nodes = resolved.network.nodes.enumerate();
    let plan = |(index, node): (topology::NodeId, &Node)| NodePlan {
        name: node.name.clone(),
        input_memory: match node.role {
            Role::Switch => resolved.switch(scenario, index).and_then(|switch| switch.input_memory),
            Role::Host => resolved.adapter(scenario, index).and_then(|adapter| adapter.receive_buffer),
        },
        shared_buffer: resolved.shared_buffers[index].as_ref().map(|plan| plan.renumbered(|port| index_of[port])),
        pause: resolved.pauses[index],
        quanta: resolved.quanta[index],
        watchdog: resolved.watchdogs[index],
        trim: resolved.switch(scenario, index).and_then(|switch| {
            let share = (switch.heads_share() * 1000.0).round() as u16;
            Some(TrimPlan { size: switch.trim_to?, class: switch.trim_priority.unwrap_or(7) as u8, share })
        }),
    };
    nodes.map(plan).collect()
}

/// What each port does for the domain, and who hears untagged messages.
fn domain_plan(scenario: &Scenario, resolved: &ResolvedScenario, kept: &[topology::PortId]) -> Option<DomainPlan> {
    let domain = resolved.domain.as_ref()?;
    let ports = kept.iter().map(|port| domain.port_plan(*port)).collect();
    Some(DomainPlan { ports, untagged: untagged_limiters(scenario, resolved) })
}

/// What ports announce. Without a domain every port announces the priorities of controlled traffic, and is ready.
fn announced(scenario: &Scenario, resolved: &ResolvedScenario, kept: &[topology::PortId]) -> IdVec<PortId, Announced> {
    let controlled = scenario.traffic.iter().filter(|traffic| traffic.controlled);
    let all = controlled.fold(0, |all, traffic| all | 1u8 << traffic.priority);
    let announced = |port: &topology::PortId| match &resolved.domain {
        Some(domain) => Announced { cnpvs: domain.announced(*port), ready: domain.ready(*port) },
        None => Announced { cnpvs: all, ready: all },
    };
    kept.iter().map(announced).collect()
}

/// The failures of links that anything crosses.
fn failures(resolved: &ResolvedScenario, index_of: &EngineIds) -> Vec<LinkFailure> {
    let one = |failed: &FailedLink| {
        Some(LinkFailure {
            port: index_of[failed.link.there()].or(index_of[failed.link.back()])?,
            from: Instant::ZERO + failed.from,
            until: failed.until.map_or(Instant::NEVER, |until| Instant::ZERO + until),
        })
    };
    resolved.failed.iter().filter_map(one).collect()
}

/// The storms on links that anything crosses.
fn storms(resolved: &ResolvedScenario, index_of: &EngineIds) -> Vec<PauseStorm> {
    let one = |storm: &StormAt| {
        let (from, until) = (Instant::ZERO + storm.from, Instant::ZERO + storm.until);
        Some(PauseStorm { port: index_of[storm.port]?, classes: storm.classes, from, until })
    };
    resolved.storms.iter().filter_map(one).collect()
}

/// A message is complete for its sender once it is acknowledged, for its receiver when it is there. A collective operation goes
/// on when arrivals have stopped.
fn dependencies(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<DependencyPlan> {
    let until = |spec: &FlowSpec| match scenario.traffic[spec.traffic].arrivals {
        Arrivals::Collective(_) => Instant::ZERO + scenario.duration,
        _ => Instant::ZERO + scenario.arrivals_end(),
    };
    let one = |(flow, spec): (FlowId, &FlowSpec)| {
        let heard = |before: &FlowId| match resolved.flows[before.position()].sink_index == spec.source_index {
            true => (*before, CompletesAt::Receiver),
            false => (*before, CompletesAt::Sender),
        };
        let after = || spec.after.iter().map(heard).collect();
        let delays = || spec.delays.clone();
        (!spec.after.is_empty()).then(|| DependencyPlan { flow, after: after(), delays: delays(), until: until(spec) })
    };
    (0..).map(FlowId::new).zip(&resolved.flows).filter_map(one).collect()
}

fn reroutes(resolved: &ResolvedScenario, index: impl Fn(topology::PortId) -> PortId) -> Vec<Reroute> {
    let path = |path: &Vec<topology::PortId>| path.iter().map(|port| index(*port)).collect();
    let one = |change: &NewPaths| Reroute {
        at: Instant::ZERO + change.at,
        flow: FlowId::at(change.flow),
        paths: change.paths.iter().map(path).collect(),
    };
    resolved.reroutes.iter().map(one).collect()
}

/// Each hotspot is a change of rate and a change back, unless the next one starts just then.
fn services(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    ports: &IdVec<PortId, PortPlan>,
    index: impl Fn(topology::PortId) -> PortId,
) -> Vec<ServiceChange> {
    let mut changes = Vec::new();
    for (hotspot, port) in scenario.hotspots.iter().zip(&resolved.hotspots) {
        let port = index(*port);
        let change = |at: Span, rate: BitRate| ServiceChange { at: Instant::ZERO + at, port, rate };
        changes.push(change(hotspot.from, hotspot.rate));
        let goes_on = scenario.hotspots.iter().any(|next| next.port == hotspot.port && next.from == hotspot.until);
        if !goes_on {
            changes.push(change(hotspot.until, ports[port].rate));
        }
    }
    changes.sort_by_key(|change| change.at);
    changes
}

#[cfg(test)]
mod moved;
#[cfg(test)]
mod permuted;
#[cfg(test)]
mod tests;
