//! From a plan to an engine at time zero.

use super::entities::{Entities, Sizes};
use super::{CHECK_EVERY, CHECK_FOREIGN_EVERY, Engine, Path, Watch};
use crate::input::Input;
use crate::plan::{Events, Feedback, FlowPlan, PauseRule, Plan, Traffic};
use crate::port::{NONE, Port};
use crate::probe::{Counters, Recorder, Tally};
use crate::sender::{Adapter, Reaction, Sender};
use crate::source::{Generator, Source};
use crate::turns::Turns;
use crate::wheel::Wheel;
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{CongestionPoint, CpCapabilities, CpId, Dice, Purpose, ReactionPoint};
use qcnlab_units::{Bytes, Instant, Span};
use std::collections::{HashMap, VecDeque};

impl Engine {
    /// A run of `plan`, at time zero.
    ///
    /// # Panics
    /// When the plan names what is not there, or the end lies past [`Wheel::HORIZON`]: who builds plans checks that.
    pub fn new(plan: &Plan) -> Engine {
        assert!(plan.end.ps() < Wheel::HORIZON, "a run ends within two and a half simulated hours");
        let mut ports: Vec<Port> =
            plan.ports.iter().map(|p| Port::new(p.rate, p.delay + p.latency, p.capacity, p.overhead)).collect();
        let classes = classes(plan);
        let mut turns = lay_turns(plan, &classes, &mut ports);
        let inputs = lay_inputs(plan, &classes, &mut ports);
        let watches = lay_watches(plan, &classes, &mut ports, &mut turns);
        let (route_ports, paths, ends) = lay_paths(plan);
        let route_inputs = route_inputs(plan, &route_ports, &paths, &ports);
        let (senders, reactions) = lay_senders(plan);
        let sizes = Sizes {
            turns: turns.len() as u32,
            limiters: reactions.len() as u32,
            connections: connections(plan),
            ports: ports.len() as u32,
            flows: senders.len() as u32,
            generators: plan.generators.len() as u32,
            adapters: 0,
            inputs: inputs.len() as u32,
        };
        let mut outputs = vec![Vec::new(); plan.nodes.len()];
        for (index, port) in (0u32..).zip(&plan.ports) {
            outputs[port.from as usize].push(index);
        }
        let mut engine = Engine {
            wheel: Wheel::new(0),
            entities: Entities::new(sizes),
            peers: plan.ports.iter().map(|port| port.peer.unwrap_or(NONE)).collect(),
            nodes: plan.ports.iter().map(|port| (port.from, port.to)).collect(),
            outputs,
            stopped_lanes_at: vec![0; plan.nodes.len()],
            uncounted: vec![false; plan.nodes.len()],
            near_marks: Vec::new(),
            port_names: plan.ports.iter().map(|port| port.name.clone()).collect(),
            node_names: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            ports,
            turns,
            inputs,
            adapters: Vec::new(),
            route_inputs,
            route_ports,
            paths,
            senders,
            reactions,
            generators: generators(plan),
            notifications: plan.flows.iter().map_while(|_| plan.scheme.notification_point()).collect(),
            probes: false,
            names: plan.flows.iter().map(|flow| flow.name.clone()).collect(),
            tallies: plan.flows.iter().map(tally).collect(),
            watches,
            recorded: (0u32..).zip(&plan.ports).filter(|(_, p)| p.recorded).map(|(index, _)| index).collect(),
            services: plan.services.iter().copied().collect(),
            feedback: plan.feedback,
            under_way: Vec::new(),
            letters: Vec::new(),
            free_letters: Vec::new(),
            extra: vec![(0, 0); plan.nodes.len()],
            recorder: Recorder::new(plan.record, plan.flows.len(), ends, lag(plan)),
            counters: Counters::default(),
            check_every: if matches!(plan.scheme, Config::Foreign(_)) { CHECK_FOREIGN_EVERY } else { CHECK_EVERY },
            end: plan.end,
        };
        engine.probes = engine.reactions.iter().any(|reaction| reaction.rp.capabilities().sends_probes);
        engine.lay_quiet(plan);
        engine.lay_modes(plan);
        engine.lay_adapters();
        let sizes = Sizes { adapters: engine.adapters.len() as u32, ..sizes };
        engine.entities = Entities::new(sizes);
        engine.wheel = Wheel::new(engine.entities.count);
        engine.under_way = vec![VecDeque::new(); engine.reactions.len()];
        engine.arm();
        engine
    }

    /// Finds the ports whose frames take turns only while something is stopped: one class, from a node that stops its
    /// links by watermarks, or does not stop them, on to where nobody waits for a turn.
    fn lay_modes(&mut self, plan: &Plan) {
        if plan.events == Events::Everywhere {
            return;
        }
        let mut starts = vec![false; plan.ports.len()];
        self.senders.iter().for_each(|sender| starts[sender.port as usize] = true);
        for (index, planned) in plan.ports.iter().enumerate() {
            let port = &mut self.ports[index];
            let from = &plan.nodes[planned.from as usize];
            let by_watermarks = from.pause.is_some_and(|pause| matches!(pause.rule, PauseRule::Watermarks { .. }));
            let stops = by_watermarks || !from.counts();
            if port.turns == NONE || starts[index] || !stops || self.turns[port.turns as usize].classes.len() != 1 {
                continue;
            }
            if by_watermarks && port.departures {
                continue;
            }
            self.turns[port.turns as usize].while_stopped = true;
            port.turns = NONE;
            port.frees = by_watermarks;
            self.uncounted[planned.from as usize] |= by_watermarks;
        }
        for node in 0..plan.nodes.len() {
            if self.uncounted[node] {
                self.count_anew(Instant::ZERO, node as u32);
            }
        }
    }

    /// Gives an adapter to each host port that several flows share or whose frames take turns.
    fn lay_adapters(&mut self) {
        let mut flows_at: HashMap<u32, u32> = HashMap::new();
        for sender in &self.senders {
            *flows_at.entry(sender.port).or_default() += 1;
        }
        let mut adapter_at: HashMap<u32, u32> = HashMap::new();
        for sender in &mut self.senders {
            let turns = self.ports[sender.port as usize].turns;
            if sender.quiet || flows_at[&sender.port] == 1 && turns == NONE {
                continue;
            }
            let adapters = &mut self.adapters;
            sender.adapter = *adapter_at.entry(sender.port).or_insert_with(|| {
                adapters.push(Adapter::new(sender.port));
                adapters.len() as u32 - 1
            });
            self.adapters[sender.adapter as usize].flows += 1;
            if turns != NONE {
                self.turns[turns as usize].adapter = sender.adapter;
            }
        }
    }

    /// Sets the first event of everything that acts by itself.
    fn arm(&mut self) {
        if let Some(first) = self.services.front() {
            self.wheel.set(self.entities.service, first.at.ps());
        }
        for flow in 0..self.senders.len() as u32 {
            let sender = &self.senders[flow as usize];
            if sender.quiet {
                self.expect(flow);
                continue;
            }
            match &sender.source {
                Source::Saturated { next, .. } if sender.adapter == NONE => {
                    self.wheel.set(self.entities.release + sender.limiter, next.ps());
                }
                Source::Saturated { next, .. } | Source::Constant { next, .. } => {
                    self.wheel.set(self.entities.generate + flow, next.ps());
                }
                Source::Fed { .. } => {}
                Source::Tcp(connection) => self.wheel.set(self.entities.generate + flow, connection.start.ps()),
            }
        }
        for (index, generator) in (0u32..).zip(&self.generators) {
            if generator.next < generator.stop {
                self.wheel.set(self.entities.feed + index, generator.next.ps());
            }
        }
        let record = self.recorder.record();
        if record.queue_every.ps() > 0 {
            self.wheel.set(self.entities.queues, 0);
        }
        if record.rates_every.ps() > 0 {
            self.wheel.set(self.entities.rates, 0);
        }
        if self.inputs.iter().any(|input| input.gate.is_some()) {
            self.wheel.set(self.entities.deadlock, Engine::LOOK_FOR_DEADLOCK.ps());
        }
    }
}

/// Whether reaction points send probes along their flows' paths.
pub(super) fn sends_probes(plan: &Plan) -> bool {
    let probes = |flow: &FlowPlan| {
        let rate = plan.ports[flow.paths[0][0] as usize].rate;
        plan.scheme.reaction_point(rate).capabilities().sends_probes
    };
    plan.flows.first().is_some_and(probes)
}

/// The class of the frames that carry signals back, as a bit; 0 if none do.
pub(super) fn signal_class(plan: &Plan) -> u8 {
    match plan.feedback {
        Feedback::Frames { class, .. } if plan.scheme.speaks() => 1 << class,
        Feedback::Frames { .. } | Feedback::Ideal => 0,
    }
}

/// Which classes each port carries, a bit each.
fn classes(plan: &Plan) -> Vec<u8> {
    let mut classes = vec![0u8; plan.ports.len()];
    let signals = signal_class(plan);
    for flow in &plan.flows {
        let own = 1u8 << flow.class;
        let back = signals | if matches!(flow.traffic, Traffic::Tcp { .. }) { own } else { 0 };
        for port in flow.paths.iter().flatten().map(|port| *port as usize) {
            classes[port] |= own;
            if let Some(peer) = plan.ports[port].peer {
                classes[peer as usize] |= back;
            }
        }
    }
    classes
}

/// Lets the frames of a port take turns where something can make them.
fn lay_turns(plan: &Plan, classes: &[u8], ports: &mut [Port]) -> Vec<Turns> {
    let mut turns = Vec::new();
    for (index, port) in (0u32..).zip(&plan.ports) {
        let (from, to) = (&plan.nodes[port.from as usize], &plan.nodes[port.to as usize]);
        let carried = classes[index as usize];
        let needed =
            from.counts() || to.pause.is_some() || carried.count_ones() > 1 || plan.events == Events::Everywhere;
        if needed {
            ports[index as usize].turns = turns.len() as u32;
            ports[index as usize].turns_at = turns.len() as u32;
            ports[index as usize].plain = false;
            let mut each = Turns::new(index, carried, port.rate);
            let reaction = from.pause.map_or(0, |pause| pause.reaction.ps());
            each.pause_delay = port.delay.ps() + reaction;
            turns.push(each);
        }
    }
    turns
}

/// One memory for each link into a node that counts or pauses.
fn lay_inputs(plan: &Plan, classes: &[u8], ports: &mut [Port]) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (index, port) in (0u32..).zip(&plan.ports) {
        let node = &plan.nodes[port.to as usize];
        if node.counts() {
            ports[index as usize].input = inputs.len() as u32;
            inputs.push(Input::new(index, node, port.peer, classes[index as usize]));
        }
    }
    inputs
}

/// One congestion point for each watched queue: of a port, or of each controlled class that takes turns there.
fn lay_watches(plan: &Plan, classes: &[u8], ports: &mut [Port], turns: &mut [Turns]) -> Vec<Watch> {
    let controlled = plan.flows.iter().filter(|flow| flow.controlled).fold(0u8, |all, flow| all | 1 << flow.class);
    let mut watches = Vec::new();
    if !plan.scheme.speaks() {
        return watches;
    }
    for (index, port) in plan.ports.iter().enumerate().filter(|(_, port)| port.watched) {
        let own = classes[index] & controlled;
        let names: Vec<(Option<u8>, String)> = match ports[index].turns {
            NONE => vec![(None, port.name.clone())],
            _ if own.count_ones() == 1 => vec![(Some(own.ilog2() as u8), port.name.clone())],
            _ => {
                let each = (0..8u8).filter(|class| own & 1 << class != 0);
                each.map(|class| (Some(class), format!("{}/{class}", port.name))).collect()
            }
        };
        for (class, name) in names {
            let id = watches.len() as u32;
            assert!(id < u32::from(u16::MAX), "a run has fewer than 65 535 congestion points");
            let cp = plan.scheme.congestion_point(CpId(id));
            let CpCapabilities { sees_departures, marks_departures } = cp.capabilities();
            ports[index].departures = sees_departures || marks_departures;
            ports[index].acts = ports[index].departures;
            ports[index].marks_departures = marks_departures;
            ports[index].plain = false;
            match class {
                None => ports[index].cp = id,
                Some(class) => {
                    ports[index].cp = id;
                    turns[ports[index].turns as usize].class(class).cp = id;
                }
            }
            watches.push(Watch { cp, dice: Dice::new(plan.seed, plan.replication, &name, Purpose::Sampling) });
        }
    }
    watches
}

/// Senders, and the limiters they pass.
fn lay_senders(plan: &Plan) -> (Vec<Sender>, Vec<Reaction>) {
    let mut first_path = 0;
    let (mut senders, mut reactions) = (Vec::new(), Vec::new());
    for (index, flow) in (0u32..).zip(&plan.flows) {
        let start = Sender::start(plan, flow);
        if flow.limiter as usize == reactions.len() {
            reactions.push(Reaction::new(plan, flow, index, start));
        }
        assert!((flow.limiter as usize) < reactions.len(), "limiters are numbered from 0 without gaps");
        senders.push(Sender::new(plan, flow, start, first_path));
        first_path += flow.paths.len() as u32;
    }
    (senders, reactions)
}

fn generators(plan: &Plan) -> Vec<Generator> {
    let build = |each: &crate::plan::GeneratorPlan| {
        let mut dice = Dice::new(plan.seed, plan.replication, &each.name, Purpose::Traffic);
        let start = each.start + each.start_jitter.scaled_rounded_down(dice.uniform(0.0, 1.0));
        let frame = plan.flows[each.flows[0] as usize].frame;
        Generator::new(each.flows.clone(), each.process, frame, start, each.stop, dice)
    };
    plan.generators.iter().map(build).collect()
}

/// As many as flows, if any flow is a connection.
fn connections(plan: &Plan) -> u32 {
    let any = plan.flows.iter().any(|flow| matches!(flow.traffic, Traffic::Tcp { .. }));
    if any { plan.flows.len() as u32 } else { 0 }
}

fn tally(flow: &FlowPlan) -> Tally {
    let total = match &flow.traffic {
        Traffic::Saturated { total, .. } => total.map(Bytes::get),
        Traffic::Constant { .. } | Traffic::Fed | Traffic::Tcp { .. } => None,
    };
    Tally::new(total)
}

/// The longest time from the end of a transmission on a flow's last link to the sink.
fn lag(plan: &Plan) -> Span {
    let last = plan.flows.iter().filter_map(|flow| flow.paths[0].last());
    let way = |port: &u32| plan.ports[*port as usize].delay + plan.ports[*port as usize].latency;
    last.map(way).max().unwrap_or(Span::ZERO)
}

/// For each port of each path the memory that counts what comes to it ahead, and what comes back over its link.
fn route_inputs(plan: &Plan, route_ports: &[u32], paths: &[Path], ports: &[Port]) -> Vec<(u32, u32)> {
    let input = |port: u32| ports.get(port as usize).map_or(NONE, |port| port.input);
    let back = |at: usize| plan.ports[route_ports[at] as usize].peer.map_or(NONE, input);
    let mut inputs: Vec<(u32, u32)> = (0..route_ports.len()).map(|at| (NONE, back(at))).collect();
    for path in paths {
        for at in path.start as usize + 1..path.start as usize + usize::from(path.len) {
            inputs[at].0 = input(route_ports[at - 1]);
        }
    }
    inputs
}

/// Paths end to end in one list, and for each last port the flows that end there.
fn lay_paths(plan: &Plan) -> (Vec<u32>, Vec<Path>, Vec<Vec<u32>>) {
    let mut route_ports = Vec::new();
    let mut paths = Vec::new();
    let mut end_of: HashMap<u32, u32> = HashMap::new();
    let mut ends: Vec<Vec<u32>> = Vec::new();
    for (index, flow) in (0u32..).zip(&plan.flows) {
        let last = *flow.paths[0].last().expect("a flow has a way");
        let end = *end_of.entry(last).or_insert_with(|| {
            ends.push(Vec::new());
            ends.len() as u32 - 1
        });
        let member = ends[end as usize].len() as u32;
        ends[end as usize].push(index);
        for path in &flow.paths {
            assert!(path.len() < 255, "a way has at most 254 links");
            assert!(path[0] == flow.paths[0][0] && path.last() == Some(&last), "ways share first and last link");
            paths.push(Path { start: route_ports.len() as u32, len: path.len() as u8, flow: index, end, member });
            route_ports.extend_from_slice(path);
        }
    }
    (route_ports, paths, ends)
}
