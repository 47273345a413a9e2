//! Nodes, ports, queues, buffers, congestion points and routes of a plan.

use super::adaptive::Adaptive;
use super::domain::Domain;
use super::points::PortCp;
use super::routes::{END, HopInputs, Routes};
use super::{Counting, Link, Network, Node};
use crate::deficit_round_robin::DeficitRoundRobin;
use crate::flow_queues::FlowQueues;
use crate::heads_share::HeadsShare;
use crate::ids::{FlowId, Id, IdVec, InputId, InputSlot, PortCpId, PortId, SinkId};
use crate::input_buffer::InputBuffer;
use crate::isolation::{IsolatedClasses, Isolation};
use crate::packets::Packets;
use crate::path::Path;
use crate::path_choice::PathChoice;
use crate::plan::{Events, PauseRule, Plan, Traffic};
use crate::port::{Departures, FarEnd, Fifo, Port};
use crate::priority_queues::PriorityQueues;
use crate::shared_buffer::SharedBuffer;
use crate::watchdog::Watchdog;
use crate::wred::Wred;
use qcnlab_schemes::{CpId, Dice, EventKind, Purpose};
use std::collections::{HashMap, HashSet, VecDeque};

/// The network of a plan, and for each port at which paths end the flows that end there.
pub(in crate::engine) fn network(plan: &Plan) -> (Network, IdVec<SinkId, Vec<FlowId>>) {
    let ports = plan.ports.iter().map(|p| Port::new(p.rate, p.delay + p.latency, p.capacity, p.overhead)).collect();
    let links = plan.ports.iter().map(|port| Link {
        name: port.name.clone(),
        from: port.from,
        to: port.to,
        reverse: port.peer,
    });
    let nodes = plan.nodes.iter().map(|node| Node {
        name: node.name.clone(),
        outputs: Vec::new(),
        computing: Vec::new(),
        paused_groups: 0,
        counting: Counting::EachFrame,
        shared: None,
        control_sent: 0,
        control_received: 0,
    });
    let (routes, sinks) = routes(plan);
    let mut network = Network {
        ports,
        links: links.collect(),
        queues: IdVec::new(),
        inputs: IdVec::new(),
        nodes: nodes.collect(),
        cps: IdVec::new(),
        routes,
        near_watermarks: Vec::new(),
        effects: VecDeque::new(),
        shared_buffers: IdVec::new(),
        queue_alphas: IdVec::new(),
        remaps: false,
        pauses_by_threshold: plan
            .nodes
            .iter()
            .filter_map(|node| node.pause.as_ref())
            .any(|pause| matches!(pause.rule, PauseRule::Threshold { .. })),
        packets: Packets::new(false),
        domain: plan.domain.as_ref().map(|domain| Box::new(Domain::new(domain))),
        adaptive: Adaptive::new(plan),
    };
    for (port, link) in network.links.enumerate() {
        network.nodes[link.from].outputs.push(port);
    }
    let mut classes = classes(plan);
    let isolated = isolated(plan, &classes);
    for (own, isolated) in classes.iter_mut().zip(isolated.iter()) {
        *own |= isolated.map_or(0, IsolatedClasses::bits);
    }
    network.add_priority_queues(plan, &classes, &isolated);
    network.add_inputs(plan);
    network.add_shared_buffers(plan);
    network.add_cps(plan, &classes);
    network.add_wred(plan);
    network.packets = Packets::new(network.cps.iter().any(PortCp::stamps));
    network.find_hop_inputs();
    network.find_defended(plan);
    (network, sinks)
}

/// The classes that each port carries, a bit each.
fn classes(plan: &Plan) -> IdVec<PortId, u8> {
    let mut classes: IdVec<PortId, u8> = IdVec::for_each_of(&plan.ports, 0);
    let signals = plan.signal_class();
    let heads = plan.nodes.iter().filter_map(|node| node.trim).fold(0, |all, trim| all | 1 << trim.class);
    for (flow, path) in plan.all_paths() {
        if matches!(flow.traffic, Traffic::Roce { .. }) {
            path.iter().for_each(|port| classes[*port] |= heads);
        }
        let acks = flow.traffic.ack_class(flow.class);
        let mut class = flow.class;
        for port in path {
            classes[*port] |= 1 << class;
            class = class_after(plan, *port, class);
        }
        let mut class = acks.unwrap_or(flow.class);
        for port in path.iter().rev() {
            if let Some(peer) = plan.ports[*port].peer {
                classes[peer] |= signals | acks.map_or(0, |_| 1 << class);
                class = class_after(plan, peer, class);
            }
        }
    }
    classes
}

/// For each port the classes whose flows it keeps apart, a bit each: those under control that come to it over a link, if
/// the scheme does that.
fn kept_apart(plan: &Plan, classes: &IdVec<PortId, u8>) -> IdVec<PortId, u8> {
    let mut own: IdVec<PortId, u8> = IdVec::for_each_of(&plan.ports, 0);
    if plan.scheme.backpressure_point(1).is_none() {
        return own;
    }
    let controlled = controlled_classes(plan);
    let sending: HashSet<PortId> = plan.all_paths().map(|(_, path)| path[0]).collect();
    for (id, port) in classes.ids().zip(&plan.ports) {
        if port.watched && !sending.contains(&id) {
            own[id] = classes[id] & controlled;
        }
    }
    own
}

/// For each port the classes of its queues, if flows are isolated: those under control that come to it over a link. A port
/// that is not watched isolates none.
fn isolated(plan: &Plan, classes: &IdVec<PortId, u8>) -> IdVec<PortId, Option<IsolatedClasses>> {
    let mut own = IdVec::for_each_of(&plan.ports, None);
    let Some(point) = plan.scheme.isolation_point() else { return own };
    let controlled = controlled_classes(plan);
    let sending: HashSet<PortId> = plan.all_paths().map(|(_, path)| path[0]).collect();
    for (id, port) in classes.ids().zip(&plan.ports) {
        let monitored = classes[id] & controlled;
        if !sending.contains(&id) && monitored != 0 {
            assert!(monitored.count_ones() == 1, "congesting flows that are isolated are of one class");
            let monitored = monitored.trailing_zeros() as u8;
            let congesting = point.congesting_class(monitored);
            assert!(classes[id] & 1 << congesting == 0, "the class of congesting flows has no other frames");
            own[id] = Some(IsolatedClasses { monitored, congesting, isolates: port.watched });
        }
    }
    own
}

/// The classes of flows under control, a bit each.
fn controlled_classes(plan: &Plan) -> u8 {
    plan.flows.iter().filter(|flow| flow.controlled).fold(0, |all, flow| all | 1 << flow.class)
}

/// The class of frames of `class` when they have crossed the link of a port.
fn class_after(plan: &Plan, port: PortId, class: u8) -> u8 {
    plan.domain.as_ref().map_or(class, |domain| domain.ports[port].remaps[usize::from(class)])
}

/// Paths end to end in one list, and for each last port the flows that end there.
fn routes(plan: &Plan) -> (Routes, IdVec<SinkId, Vec<FlowId>>) {
    let mut routes = Routes {
        paths: IdVec::new(),
        ports: Vec::new(),
        onward: Vec::new(),
        acknowledged: plan.flows.iter().any(|flow| flow.traffic.acknowledged()),
        inputs: Vec::new(),
    };
    routes.paths.reserve(plan.all_paths().count());
    let mut starts: HashMap<&[PortId], u32> = HashMap::new();
    let mut sink_of: HashMap<PortId, SinkId> = HashMap::new();
    let mut sinks: IdVec<SinkId, Vec<FlowId>> = IdVec::new();
    let mut members: IdVec<FlowId, (SinkId, u32)> = IdVec::with_capacity(plan.flows.len());
    for (id, flow) in plan.flows.enumerate() {
        let last = *flow.paths[0].last().expect("a flow has a path");
        let sink = *sink_of.entry(last).or_insert_with(|| sinks.push(Vec::new()));
        let member = sinks[sink].len() as u32;
        sinks[sink].push(id);
        members.push((sink, member));
    }
    let first = plan.flows.enumerate().flat_map(|(flow, each)| each.paths.iter().map(move |path| (flow, path)));
    let later = plan.reroutes.iter().flat_map(|each| each.paths.iter().map(|path| (each.flow, &**path)));
    for (flow, path) in first.chain(later) {
        let (planned, (sink, member)) = (&plan.flows[flow], members[flow]);
        assert!(path.len() < 255, "a path has at most 254 links");
        let ends = |path: &[PortId]| (path[0], path.last().copied());
        assert!(ends(path) == ends(&planned.paths[0]), "paths share first and last link");
        let next = routes.ports.len() as u32;
        let start = *starts.entry(path).or_insert(next);
        let [first, last] = [path[0], path[path.len() - 1]].map(|port| &plan.ports[port]);
        let (source, destination) = (first.from, last.to);
        let len = path.len() as u8;
        routes.paths.push(Path { start, flow, sink, member, source, destination, len });
        if start < next {
            continue;
        }
        routes.ports.extend(path.iter().copied().chain([END]));
        // Nothing travels back over a link without a peer.
        let back = |port: &PortId| plan.ports[*port].peer.unwrap_or(END);
        let forward = path.iter().copied().chain([END]);
        routes.onward.extend(forward.zip([END].into_iter().chain(path.iter().map(back))).map(<[PortId; 2]>::from));
    }
    (routes, sinks)
}

impl Network {
    /// Sets priority queues up for each port that something can pause, that carries several classes, from which a
    /// departure frees a buffer, or at which senders wait while its rate changes: they are told when a transmission ends.
    fn add_priority_queues(
        &mut self,
        plan: &Plan,
        classes: &IdVec<PortId, u8>,
        isolated: &IdVec<PortId, Option<IsolatedClasses>>,
    ) {
        let storming = plan.storming_ports();
        let changing: HashSet<PortId> = plan.services.iter().map(|change| change.port).collect();
        let sending: HashSet<PortId> = plan.flows.iter().flat_map(|flow| &flow.paths).map(|path| path[0]).collect();
        let kept_apart = kept_apart(plan, classes);
        // Over the other direction of their links, messages go to the queues upstream, at the end of any transmission.
        let mut tells = IdVec::for_each_of(&plan.nodes, false);
        let telling = self.ports.ids().filter(|id| kept_apart[*id] != 0 || isolated[*id].is_some());
        telling.for_each(|id| tells[plan.ports[id].from] = true);
        let adaptive = matches!(plan.path_choice, PathChoice::ShortestQueue(_));
        for ((id, port), fails) in self.ports.ids().zip(&plan.ports).zip(plan.failing_ports()) {
            let (from, to) = (&plan.nodes[port.from], &plan.nodes[port.to]);
            let several = classes[id].count_ones() > 1;
            let flows = self.flow_queues(plan, id, kept_apart[id]);
            let isolation = self.isolation(plan, id, isolated[id]);
            let apart = flows.is_some() || isolation.is_some();
            let guarded = !port.wred.is_empty() || from.watchdog.is_some() || from.trim.is_some() || adaptive || apart;
            let waits = changing.contains(&id) && sending.contains(&id);
            let tells = tells[port.from];
            let own = guarded || fails || storming[id] || waits || tells;
            let always = several || own;
            if from.counts() || to.pause.is_some() || always || plan.events == Events::Everywhere {
                let mut queues = PriorityQueues::new(id, classes[id], port.rate);
                if let Some(IsolatedClasses { monitored, congesting, isolates }) = isolated[id] {
                    if isolates {
                        queues.move_behind(congesting, monitored);
                    }
                    self.remaps = true;
                }
                queues.pause_delay = port.delay.ps() + from.pause.map_or(0, |pause| pause.reaction.ps());
                queues.counts_inputs = from.pauses_by_holding();
                queues.guarded = guarded;
                queues.always = own;
                queues.trim = from.trim;
                let count = queues.queues.len();
                queues.watchdog = from.watchdog.map(|plan| Box::new(Watchdog::new(plan, count)));
                queues.round_robin = from.quanta.filter(|_| several).map(|quanta| {
                    let of_queue = queues.queues.iter().map(|queue| quanta[usize::from(queue.class)].get());
                    Box::new(DeficitRoundRobin::new(of_queue.collect()))
                });
                // Weights that name the class of heads say more than their share.
                let of_heads =
                    |trim: crate::plan::TrimPlan| queues.queues.iter().position(|queue| queue.class == trim.class);
                let shared = from
                    .trim
                    .filter(|trim| from.quanta.is_none_or(|quanta| quanta[usize::from(trim.class)].get() == 0));
                queues.heads = shared.and_then(|trim| HeadsShare::new(of_heads(trim)?, trim.share));
                queues.beyond_strict = queues.round_robin.is_some() || queues.heads.is_some() || apart;
                (queues.flows, queues.isolation) = (flows, isolation);
                self.ports[id].use_queues(self.queues.push(queues));
            }
        }
    }

    /// The queues for the flows of a port that keeps those of a class apart, which is the bit of `own`.
    fn flow_queues(&self, plan: &Plan, port: PortId, own: u8) -> Option<Box<FlowQueues>> {
        if own == 0 {
            return None;
        }
        let link = &self.links[port];
        let point = plan.scheme.backpressure_point(self.nodes[link.from].outputs.len() as u32)?;
        assert!(own.count_ones() == 1, "flows that are kept apart are of one class");
        let dice = Dice::new(plan.seed, plan.replication, &link.name, Purpose::Queueing);
        Some(Box::new(FlowQueues::new(own.trailing_zeros() as u8, point, dice)))
    }

    /// What isolates congesting flows at a port, if it does that.
    fn isolation(&self, plan: &Plan, port: PortId, classes: Option<IsolatedClasses>) -> Option<Box<Isolation>> {
        let (classes, point) = (classes?, plan.scheme.isolation_point()?);
        let dice = Dice::new(plan.seed, plan.replication, &self.links[port].name, Purpose::Sampling);
        Some(Box::new(Isolation::new(classes, point, dice)))
    }

    /// Sets an input buffer up for each link into a node that counts what it holds.
    fn add_inputs(&mut self, plan: &Plan) {
        let mut inputs_of = IdVec::for_each_of(&plan.nodes, 0);
        for (id, port) in self.ports.ids().zip(&plan.ports) {
            let node = &plan.nodes[port.to];
            if node.counts() {
                let slot = inputs_of[port.to];
                inputs_of[port.to] += 1;
                let input = InputBuffer::new(id, InputSlot::new(slot), node, port.peer);
                self.ports[id].set_far_end(FarEnd::Buffer(self.inputs.push(input)));
            }
        }
    }

    /// Sets a shared buffer up for each node that has one.
    fn add_shared_buffers(&mut self, plan: &Plan) {
        for (node, planned) in self.nodes.ids().zip(&plan.nodes) {
            let Some(shared) = &planned.shared_buffer else { continue };
            // In the order of their positions.
            let inputs: Vec<PortId> =
                self.links.enumerate().filter(|(_, link)| link.to == node).map(|(port, _)| port).collect();
            let buffer = self.shared_buffers.push(SharedBuffer::new(shared, &inputs));
            self.nodes[node].shared = Some(buffer);
            let room = self.shared_room(node) / inputs.len().max(1) as u64;
            self.inputs
                .iter_mut()
                .filter(|input| self.links[input.port].to == node)
                .for_each(|input| input.share(buffer, room));
            if self.queue_alphas.is_empty() && !shared.queues.is_empty() {
                self.queue_alphas = IdVec::for_each_of(&plan.ports, None);
            }
            shared.queues.iter().for_each(|queue| self.queue_alphas[queue.port] = Some(queue.alpha));
        }
    }

    /// Sets a congestion point up for each watched queue: that of a first-in first-out port, or of each controlled class. A port
    /// that nothing under control crosses has none.
    fn add_cps(&mut self, plan: &Plan, classes: &IdVec<PortId, u8>) {
        if !plan.scheme.has_congestion_points() {
            return;
        }
        let controlled = controlled_classes(plan);
        for (id, port) in self.ports.ids().zip(&plan.ports).filter(|(_, port)| port.watched) {
            let points = plan.domain.as_ref().map_or(u8::MAX, |domain| domain.ports[id].points);
            let own = classes[id] & controlled & points;
            if own == 0 {
                continue;
            }
            let class = (own.count_ones() == 1).then(|| own.trailing_zeros() as u8);
            match self.ports[id].queues_in_use() {
                Some(queues) => {
                    for class in (0..8u8).filter(|class| own & 1 << class != 0) {
                        let only = own.count_ones() == 1;
                        let name = if only { port.name.clone() } else { format!("{}/{class}", port.name) };
                        let cp = self.cps.push(self.new_cp(plan, &name, id, Some(class)));
                        self.queues[queues].of_class_mut(class).cp = Some(cp);
                    }
                }
                None => {
                    let cp = self.cps.push(self.new_cp(plan, &port.name, id, class));
                    let shown = self.cps[cp].observes_departures();
                    let departures = if shown { Departures::Shown(cp) } else { Departures::Unobserved };
                    let arrivals = if self.cps[cp].sees_arrivals { cp } else { PortCpId::MAX };
                    self.ports[id].use_fifo(Fifo { cp: Some(cp), arrivals, departures, queues: None });
                }
            }
        }
    }

    /// Sets up, for each queue with thresholds of its own, a congestion point that marks by them, if the scheme's marks by a
    /// ramp, and early drops.
    fn add_wred(&mut self, plan: &Plan) {
        for (id, port) in self.ports.ids().zip(&plan.ports).filter(|(_, port)| !port.wred.is_empty()) {
            let Some(queues) = self.ports[id].queues_in_use() else { continue };
            for queue in &mut self.queues[queues].queues {
                let Some(wred) = port.wred.iter().find(|wred| wred.classes & 1 << queue.class != 0) else { continue };
                let marks = queue.cp.is_some_and(|cp| self.cps[cp].set_ramp(wred.ramp));
                let name = format!("{}/{}", port.name, queue.class);
                let dice = Dice::new(plan.seed, plan.replication, &name, Purpose::Discarding);
                queue.wred = Some(Box::new(Wred::new(wred.ramp, dice, marks)));
            }
        }
    }

    /// The next congestion point, whose random stream is keyed by `name`.
    fn new_cp(&self, plan: &Plan, name: &str, port: PortId, class: Option<u8>) -> PortCp {
        let number = self.cps.next_id().number();
        let fits = number < u32::from(u16::MAX) || !plan.scheme.names_points();
        assert!(fits, "where frames carry the number of a congestion point, there are fewer than 65 535");
        let dice = Dice::new(plan.seed, plan.replication, name, Purpose::Sampling);
        let is_read = plan.scheme.events().contains(EventKind::Acknowledgement);
        PortCp::new(plan.scheme.congestion_point(CpId(number)), dice, port, class, is_read)
    }

    /// For each port of each path, finds the input buffers that hold the frames queued there.
    fn find_hop_inputs(&mut self) {
        let input = |port: PortId| -> Option<InputId> { self.ports[port].input() };
        let reverse = |port: &PortId| if *port == END { None } else { self.links[*port].reverse.and_then(input) };
        let mut inputs: Vec<HopInputs> =
            self.routes.ports.iter().map(|port| HopInputs { forward: None, reverse: reverse(port) }).collect();
        for path in self.routes.paths.iter() {
            let start = path.start as usize;
            let after_first = &mut inputs[start + 1..start + usize::from(path.len)];
            for (hop, before) in after_first.iter_mut().zip(&self.routes.ports[start..]) {
                hop.forward = input(*before);
            }
        }
        self.routes.inputs = inputs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, greedy};
    use crate::plan::{DomainPlan, DomainPort, Feedback, TrimPlan};
    use crate::roce::QpRecovery;
    use crate::testing;
    use qcnlab_schemes::registry::Config;
    use qcnlab_units::{BitRate, Bytes, Span};

    /// a -> s -> t -> b.
    fn line() -> Net {
        let mut net = Net::new(&["a", "b", "s", "t"]);
        for (from, to) in [("a", "s"), ("s", "t"), ("t", "b")] {
            net.link(from, to, BitRate::gbps(10), Span::from_us(1));
        }
        net
    }

    /// The classes of the links forward and back, a bit each.
    fn carried(net: &Net) -> [[u8; 3]; 2] {
        let classes = classes(&net.plan);
        let of = |name: &str| classes[net.port(name)];
        [["a->s", "s->t", "t->b"].map(of), ["s->a", "t->s", "b->t"].map(of)]
    }

    /// Packets of class 3 go forward, acknowledgements of class 5 and messages of class 7 back; heads of two switches, of
    /// classes 5 and 6 or both of 6, forward. What has the class of another needs no queue more.
    #[test]
    fn a_port_has_the_classes_of_all_that_crosses_its_link() {
        let mut net = line();
        net.plan.feedback = Feedback::Frames { size: Bytes::new(64), class: 7 };
        let mut config = testing::queue_pair(QpRecovery::SelectiveRepeat);
        config.ack_class = Some(5);
        let flow = net.flow("a", "b", 3, Traffic::Roce { config: config.into(), total: None });
        assert_eq!(carried(&net), [[1 << 3; 3], [1 << 5; 3]]);
        net.plan.scheme = Config::find("qcn", None).unwrap();
        assert_eq!(carried(&net), [[1 << 3; 3], [1 << 5 | 1 << 7; 3]]);
        config.ack_class = Some(7);
        net.plan.flows[flow].traffic = Traffic::Roce { config: config.into(), total: None };
        assert_eq!(carried(&net), [[1 << 3; 3], [1 << 7; 3]]);
        for (of_s, of_t) in [(5, 6), (6, 6)] {
            for (switch, class) in [("s", of_s), ("t", of_t)] {
                let switch = net.node(switch);
                net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class, share: 1000 });
            }
            assert_eq!(carried(&net), [[1 << 3 | 1 << of_s | 1 << of_t; 3], [1 << 7; 3]]);
        }
        // Frames that nobody acknowledges, one class each way.
        let mut net = line();
        net.flow("a", "b", 3, greedy());
        net.flow("a", "b", 3, greedy());
        net.flow("b", "a", 1, greedy());
        assert_eq!(carried(&net), [[1 << 3; 3], [1 << 1; 3]]);
    }

    /// Two classes over a link from switch to switch need two queues there, and one class none.
    #[test]
    fn a_port_of_one_class_that_nothing_can_pause_needs_no_priority_queues() {
        let mut net = Net::new(&["a", "b", "c", "s", "t"]);
        for (from, to) in [("a", "s"), ("b", "s"), ("s", "t"), ("t", "c")] {
            net.link(from, to, BitRate::gbps(10), Span::from_us(1));
        }
        let queues = |net: &Net| -> Vec<(PortId, usize)> {
            let (network, _) = network(&net.plan);
            network.queues.iter().map(|queues| (queues.port, queues.queues.len())).collect()
        };
        net.flow("a", "c", 3, greedy());
        net.flow("b", "c", 3, greedy());
        assert_eq!(queues(&net), []);
        net.plan.flows[FlowId::new(1)].class = 5;
        assert_eq!(queues(&net), ["s->t", "t->c"].map(|name| (net.port(name), 2)));
    }

    /// Behind the link from s to t class 3 is class 2; class 2 that comes back over the link from t to s is class 4.
    #[test]
    fn a_class_that_changes_on_the_way_is_another_on_the_links_after_it() {
        let mut net = line();
        let mut config = testing::queue_pair(QpRecovery::SelectiveRepeat);
        config.ack_class = Some(2);
        net.flow("a", "b", 3, Traffic::Roce { config: config.into(), total: None });
        let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
        ports[net.port("s->t")].remaps[3] = 2;
        ports[net.port("t->s")].remaps[2] = 4;
        net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![None]) });
        assert_eq!(carried(&net), [[1 << 3, 1 << 3, 1 << 2], [1 << 4, 1 << 2, 1 << 2]]);
    }
}
