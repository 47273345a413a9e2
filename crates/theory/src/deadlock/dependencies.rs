//! Which buffers wait for which while some links are down.
//!
//! A switch that pauses holds the frames of each link and class into it as one buffer. Buffer A waits for buffer B at the
//! far end of a link when a frame in A is to leave by that link in a class that B pauses. The buffer behind a host's own
//! link is left out, because no other buffer waits for it, and so are those of hosts, which wait for nobody.
//!
//! With links down, frames take the repaired routes. Those that are in the buffers of links that are up wait as before,
//! and count too. With bounces, a switch that has lost all its next links to a destination sends frames over any other
//! link to a switch, but not back, until routes are repaired.

use super::graph::Graph;
use qcnlab_network::topology::{LinkId, Network, NodeId, PortId, Routes};
use qcnlab_scenario::{Feedback, FlowSpec, Multipath, ResolvedScenario, Scenario, repaired_paths, written_paths};
use qcnlab_sim::PauseScope;
use qcnlab_units::{Id, IdVec, ids};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

ids! {
    /// The buffer of a class behind a port, eight for each port.
    pub(super) struct BufferId;
}

impl BufferId {
    pub(super) fn new(port: PortId, class: u8) -> BufferId {
        Id::new(8 * port.number() + u32::from(class))
    }

    /// The port that leads to it.
    pub(super) fn port(self) -> PortId {
        PortId::new(self.number() / 8)
    }
}

/// Ways that `[[route]]` gives pairs of hosts.
type WrittenPaths = HashMap<(NodeId, NodeId), Vec<Vec<PortId>>>;
/// Is told a buffer that waits, the one that it waits for, and whose frames these are.
type Sink<'a> = &'a mut dyn FnMut(Stream, BufferId, BufferId);

/// What sends frames through buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    /// What the flow of this position sends.
    Flow(usize),
    /// Acknowledgements and messages that travel back to its source.
    Back(usize),
    /// Any flow between the hosts of two switches; two of them, as nodes.
    Pair(NodeId, NodeId),
}

/// What the frames of a flow have on one way.
#[derive(Clone, Copy, Debug, Default)]
struct Classes {
    /// Their classes, a bit each, which ports may change.
    changing: u8,
    /// Classes that stay: of signals, and of the heads of cut packets.
    fixed: u8,
}

impl Classes {
    fn each(self) -> impl Iterator<Item = (u8, bool)> {
        let of =
            |bits: u8, changing| (0..8).filter(move |class| bits & 1 << class != 0).map(move |class| (class, changing));
        of(self.changing, true).chain(of(self.fixed, false))
    }
}

/// A scenario's routes, classes and pauses, and whose frames count.
pub(super) struct Dependencies<'a> {
    scenario: &'a Scenario,
    resolved: &'a ResolvedScenario,
    /// Without what is inside hosts.
    network: &'a Network,
    /// Routes while all links are up.
    routes: Routes<'a>,
    /// By port and class the buffer at the far end of the link; `None` if it never pauses that class.
    buffers: IdVec<PortId, [Option<BufferId>; 8]>,
    /// By node, the ports that lead from it to switches.
    to_switches: IdVec<NodeId, Vec<PortId>>,
    /// By switch its hosts, each with its port.
    hosts: BTreeMap<NodeId, Vec<(NodeId, PortId)>>,
    /// For all pairs, the pairs of hosts whose ways are written out.
    written: Option<WrittenPaths>,
    bounce: bool,
    /// Classes of all frames when they leave their hosts.
    classes: u8,
    /// Who waits for whom while all links are up, in order.
    normal: Vec<(BufferId, BufferId)>,
    /// Whether there is no circle in that.
    normal_is_free: bool,
}

impl<'a> Dependencies<'a> {
    /// The fabric of a checked scenario; `network` is that of `resolved` without what is inside hosts. With `all_pairs` any
    /// host sends to any other, in the classes of the scenario's flows; otherwise its flows count.
    pub(super) fn new(
        scenario: &'a Scenario,
        resolved: &'a ResolvedScenario,
        network: &'a Network,
        all_pairs: bool,
        bounce: bool,
    ) -> Dependencies<'a> {
        let Ok(routes) = Routes::new(network) else { unreachable!("a checked scenario has a network") };
        let is_switch = |node: NodeId| network.is_switch(node);
        let mut to_switches = IdVec::for_each_of(&network.nodes, Vec::new());
        let mut hosts: BTreeMap<NodeId, Vec<(NodeId, PortId)>> = BTreeMap::new();
        for port in network.ports() {
            let (from, to) = network.ends(port);
            match (is_switch(from), is_switch(to)) {
                (true, true) => to_switches[from].push(port),
                (false, true) => hosts.entry(to).or_default().push((from, port)),
                _ => {}
            }
        }
        let written = all_pairs.then(|| written_paths(scenario, network));
        let buffers = network.ports().map(|port| buffers_behind(resolved, network, port)).collect();
        let mut dependencies = Dependencies {
            scenario,
            resolved,
            network,
            routes,
            buffers,
            to_switches,
            hosts,
            written,
            bounce,
            classes: 0,
            normal: Vec::new(),
            normal_is_free: true,
        };
        dependencies.classes = dependencies.classes_of_all();
        let mut normal = BTreeSet::new();
        dependencies.visit_normal(false, &mut |_, from, to| {
            normal.insert((from, to));
        });
        dependencies.normal = normal.into_iter().collect();
        dependencies.normal_is_free = Graph::new(dependencies.normal.clone()).components().is_empty();
        dependencies
    }

    /// Links between switches, which may fail.
    pub(super) fn trunks(&self) -> Vec<LinkId> {
        let mut links: Vec<LinkId> = self.to_switches.iter().flatten().map(|port| port.link()).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// How many buffers behind links between switches frames may wait in.
    pub(super) fn buffer_count(&self) -> usize {
        let used = self.classes;
        let buffers = self
            .buffers
            .iter()
            .flat_map(|of_port| (0..8).filter_map(|class| of_port[class].filter(|_| used & 1 << class != 0)));
        buffers.collect::<HashSet<BufferId>>().len()
    }

    /// The class of a buffer; `None` if its link is paused as a whole.
    pub(super) fn class_of(&self, buffer: BufferId) -> Option<u8> {
        let (_, to) = self.network.ends(buffer.port());
        let plan = self.resolved.pauses[to];
        plan.filter(|plan| plan.scope != PauseScope::Link).map(|_| (buffer.number() % 8) as u8)
    }

    /// Who waits for whom while all links are up.
    pub(super) fn normal(&self) -> &[(BufferId, BufferId)] {
        &self.normal
    }

    /// Who waits for whom within circles, while some links are down.
    pub(super) fn circles(&mut self, dead: &IdVec<LinkId, bool>) -> Vec<Graph<BufferId>> {
        let mut changes = BTreeSet::new();
        self.visit_changes(dead, false, &mut |_, from, to| {
            changes.insert((from, to));
        });
        changes.retain(|edge| self.normal.binary_search(edge).is_err());
        if self.normal_is_free && changes.is_empty() {
            return Vec::new();
        }
        let normal = self.normal.iter().copied().filter(|edge| is_up(*edge, dead));
        Graph::new(normal.chain(changes).collect()).components()
    }

    /// Whose frames make these buffers wait while some links are down.
    pub(super) fn streams(
        &mut self,
        dead: &IdVec<LinkId, bool>,
        edges: &[(BufferId, BufferId)],
    ) -> BTreeMap<(BufferId, BufferId), Vec<Stream>> {
        let mut streams: BTreeMap<(BufferId, BufferId), BTreeSet<Stream>> =
            edges.iter().map(|edge| (*edge, BTreeSet::new())).collect();
        let mut sink = |stream: Stream, from: BufferId, to: BufferId| {
            if let Some(known) = streams.get_mut(&(from, to)) {
                known.insert(stream);
            }
        };
        self.visit_normal(true, &mut sink);
        self.visit_changes(dead, true, &mut sink);
        streams.into_iter().map(|(edge, known)| (edge, known.into_iter().collect())).collect()
    }

    /// Tells `sink` each buffer that waits for another while all links are up, and whose frames make it wait: of pairs one
    /// for all, unless they are told `apart`.
    fn visit_normal(&mut self, apart: bool, sink: Sink<'_>) {
        let all_up = IdVec::for_each_of(&self.network.links, false);
        if let Some(written) = self.written.clone() {
            self.visit_written(&written, &all_up, sink);
            for end in self.ends() {
                for (stream, start) in self.starts(&written, end, apart) {
                    self.walk(start, end, &mut Walk::Normal, &mut |from, to| sink(stream, from, to));
                }
            }
            return;
        }
        for number in 0..self.resolved.flows.len() {
            for path in self.outside_paths(number) {
                self.visit_path(number, &path, &all_up, sink);
            }
        }
    }

    /// As [`Dependencies::visit_normal`], what is different while links are down.
    fn visit_changes(&mut self, dead: &IdVec<LinkId, bool>, apart: bool, sink: Sink<'_>) {
        if !dead.contains(&true) {
            return;
        }
        if let Some(written) = self.written.clone() {
            return self.visit_changed_pairs(&written, dead, apart, sink);
        }
        let repaired = repaired_paths(self.scenario, self.network, &self.resolved.flows, dead);
        for (number, new) in repaired.into_iter().enumerate() {
            let old = self.outside_paths(number);
            let changed = new.into_iter().flatten().filter(|path| !old.contains(path));
            let bouncing = old.iter().filter(|_| self.bounce).cloned();
            for path in changed.chain(bouncing).collect::<Vec<_>>() {
                self.visit_path(number, &path, dead, sink);
            }
        }
    }

    /// The paths of a flow while all links are up, without the way inside its receiver.
    fn outside_paths(&self, flow: usize) -> Vec<Vec<PortId>> {
        let outside = |path: &[PortId]| path.iter().copied().filter(|port| self.resolved.is_outside(*port)).collect();
        self.resolved.paths[flow].iter().map(outside).collect()
    }

    fn visit_changed_pairs(&mut self, written: &WrittenPaths, dead: &IdVec<LinkId, bool>, apart: bool, sink: Sink<'_>) {
        let Ok(mut routes) = Routes::avoiding(self.network, dead) else { unreachable!("it is a checked network") };
        if self.bounce {
            self.visit_written(written, dead, sink);
        }
        for end in self.ends() {
            if !self.is_cut_off(end, dead) {
                continue;
            }
            for (stream, start) in self.starts(written, end, apart) {
                let mut of_stream = |from, to| sink(stream, from, to);
                self.walk(start.clone(), end, &mut Walk::Repaired(&mut routes), &mut of_stream);
                if self.bounce {
                    self.walk(start, end, &mut Walk::Bouncing(dead), &mut of_stream);
                }
            }
        }
    }

    /// Whether a switch has lost all its next links to the switch `end`. Otherwise every path to it is one of before.
    fn is_cut_off(&mut self, end: NodeId, dead: &IdVec<LinkId, bool>) -> bool {
        let is_switch = |node: &NodeId| self.network.is_switch(*node);
        let links = self.network.links.iter().zip(dead).filter(|(_, dead)| **dead).map(|(link, _)| link);
        let nodes: BTreeSet<NodeId> = links.flat_map(|link| [link.a, link.b]).filter(is_switch).collect();
        nodes.into_iter().any(|node| {
            let next = self.next(node, PortId::MAX, end, &mut Walk::Normal);
            !next.is_empty() && next.iter().all(|port| dead[port.link()])
        })
    }

    /// What a flow sends along a path, and what travels back on it.
    fn visit_path(&mut self, number: usize, path: &[PortId], dead: &IdVec<LinkId, bool>, sink: Sink<'_>) {
        let (flow, reply) = (Stream::Flow(number), Stream::Back(number));
        let (forth, back) = self.classes_of(&self.resolved.flows[number]);
        let reversed: Vec<PortId> = path.iter().rev().map(|port| port.reverse()).collect();
        self.follow(path, forth, dead, &mut |from, to| sink(flow, from, to));
        self.follow(&reversed, back, dead, &mut |from, to| sink(reply, from, to));
    }

    fn visit_written(&mut self, written: &WrittenPaths, dead: &IdVec<LinkId, bool>, sink: Sink<'_>) {
        let classes = Classes { changing: self.classes, fixed: 0 };
        for ((from, to), paths) in written {
            for path in paths {
                self.follow(path, classes, dead, &mut |held, next| sink(Stream::Pair(*from, *to), held, next));
            }
        }
    }

    /// Switches with hosts.
    fn ends(&self) -> Vec<NodeId> {
        self.hosts.keys().copied().collect()
    }

    /// How frames to the hosts of a switch come to the switches of their senders: over which port, in which class. By
    /// switch, or all together.
    fn starts(&self, written: &WrittenPaths, end: NodeId, apart: bool) -> Vec<(Stream, Vec<(PortId, u8)>)> {
        let mut starts: Vec<(Stream, Vec<(PortId, u8)>)> = Vec::new();
        let receivers = &self.hosts[&end];
        for (_, senders) in self.hosts.iter().filter(|(switch, _)| **switch != end) {
            let mut pairs = senders.iter().flat_map(|from| receivers.iter().map(move |to| (from.0, to.0)));
            let Some((from, to)) = pairs.find(|pair| !written.contains_key(pair)) else { continue };
            let start = self.arrivals(senders);
            match starts.first_mut().filter(|_| !apart) {
                Some((_, all)) => all.extend(start),
                None => starts.push((Stream::Pair(from, to), start)),
            }
        }
        starts
    }

    /// How frames of these hosts come to their switch: over which port, in which class.
    fn arrivals(&self, hosts: &[(NodeId, PortId)]) -> Vec<(PortId, u8)> {
        let ports = hosts.iter().map(|(_, port)| *port);
        let classes = Classes { changing: self.classes, fixed: 0 };
        let mut starts: BTreeMap<u8, PortId> = BTreeMap::new();
        for (port, (class, _)) in ports.flat_map(|port| classes.each().map(move |class| (port, class))) {
            starts.entry(self.class_after(port, class)).or_insert(port);
        }
        starts.into_iter().map(|(class, port)| (port, class)).collect()
    }

    /// Tells `sink` the buffers on a path. At a link that is down it ends, or frames go another way from there.
    fn follow(
        &mut self,
        path: &[PortId],
        classes: Classes,
        dead: &IdVec<LinkId, bool>,
        sink: &mut dyn FnMut(BufferId, BufferId),
    ) {
        for (start, changing) in classes.each() {
            let mut class = start;
            let mut came: Option<PortId> = None;
            for port in path {
                if dead[port.link()] {
                    if let Some(came) = came.filter(|_| self.bounce) {
                        let (end, _) = self.network.ends(path[path.len() - 1]);
                        self.walk(vec![(came, class)], end, &mut Walk::Bouncing(dead), sink);
                    }
                    break;
                }
                if let (Some(held), Some(next)) =
                    (came.and_then(|came| self.buffer(came, class)), self.buffer(*port, class))
                {
                    sink(held, next);
                }
                class = if changing { self.class_after(*port, class) } else { class };
                came = Some(*port);
            }
        }
    }

    /// Tells `sink` the buffers on all ways of frames that came to switches over a port in a class, as far as the switch
    /// `end`.
    fn walk(
        &mut self,
        start: Vec<(PortId, u8)>,
        end: NodeId,
        walk: &mut Walk<'_, '_>,
        sink: &mut dyn FnMut(BufferId, BufferId),
    ) {
        let mut visited: HashSet<(PortId, u8)> = HashSet::new();
        let mut open = start;
        while let Some((came, class)) = open.pop() {
            let at = self.network.ends(came).1;
            if at == end {
                continue;
            }
            for port in self.next(at, came, end, walk) {
                if let (Some(held), Some(next)) = (self.buffer(came, class), self.buffer(port, class)) {
                    sink(held, next);
                }
                let after = (port, self.class_after(port, class));
                if visited.insert(after) {
                    open.push(after);
                }
            }
        }
    }

    /// The ports by which a switch sends what came over a port on to another switch.
    fn next(&mut self, at: NodeId, came: PortId, end: NodeId, walk: &mut Walk<'_, '_>) -> Vec<PortId> {
        let most = if self.scenario.routing.multipath == Multipath::Single { 1 } else { usize::MAX };
        let mut next = match walk {
            Walk::Normal => self.routes.next_ports(at, end),
            Walk::Repaired(routes) => routes.next_ports(at, end),
            Walk::Bouncing(dead) => {
                let usable = |port: &PortId| !dead[port.link()] && *port != came.reverse();
                let mut next = self.routes.next_ports(at, end);
                next.retain(usable);
                if next.is_empty() {
                    return self.to_switches[at].iter().copied().filter(usable).collect();
                }
                next
            }
        };
        next.truncate(most);
        next
    }

    /// The buffer at the far end of a port's link.
    fn buffer(&self, port: PortId, class: u8) -> Option<BufferId> {
        self.buffers[port][usize::from(class)]
    }

    /// The class of a frame that has crossed the link of a port.
    fn class_after(&self, port: PortId, class: u8) -> u8 {
        self.resolved.domain.as_ref().map_or(class, |domain| domain.port_plan(port).remaps[usize::from(class)])
    }

    /// Classes of what a flow sends, and of what travels back to its source.
    fn classes_of(&self, flow: &FlowSpec) -> (Classes, Classes) {
        let traffic = &self.scenario.traffic[flow.traffic];
        let class = 1 << self.resolved.class(self.scenario, flow);
        let pair = traffic.queue_pair();
        let acks = match &pair {
            Some(pair) => pair.ack_class.map_or(class, |class| 1 << class),
            None if traffic.connection().is_some() => class,
            None => 0,
        };
        let cutting = self.scenario.switches.iter().filter(|switch| pair.is_some() && switch.trim_to.is_some());
        let heads = cutting.fold(0, |all, switch| all | 1 << switch.trim_priority.unwrap_or(7));
        let signals = match self.scenario.feedback {
            Feedback::Frames { priority, .. } if self.scenario.scheme.speaks() => 1 << priority,
            Feedback::Frames { .. } | Feedback::Ideal => 0,
        };
        (Classes { changing: class, fixed: heads }, Classes { changing: acks, fixed: signals })
    }

    /// Classes of all frames when they leave their hosts.
    fn classes_of_all(&self) -> u8 {
        let of = |flow: &FlowSpec| {
            let (forth, back) = self.classes_of(flow);
            forth.changing | forth.fixed | back.changing | back.fixed
        };
        let own = self.resolved.flows.iter().fold(0, |all, flow| all | of(flow));
        own | self.resolved.domain.as_ref().map_or(0, |domain| domain.alternates(own))
    }
}

/// By which routes frames go.
enum Walk<'a, 'b> {
    /// As while all links are up.
    Normal,
    /// By those that avoid the links that are down.
    Repaired(&'a mut Routes<'b>),
    /// As while all links are up, but round the links that are down.
    Bouncing(&'a IdVec<LinkId, bool>),
}

/// Whether the links behind which two buffers are are both up.
fn is_up((from, to): (BufferId, BufferId), dead: &IdVec<LinkId, bool>) -> bool {
    [from, to].iter().all(|buffer| !dead[buffer.port().link()])
}

/// For each class the buffer behind a link between switches, if its switch pauses the class until the buffer has drained.
fn buffers_behind(resolved: &ResolvedScenario, network: &Network, port: PortId) -> [Option<BufferId>; 8] {
    let (from, to) = network.ends(port);
    let is_switch = |node: NodeId| network.is_switch(node);
    let plan = resolved.pauses[to].filter(|plan| plan.rule.resumes() && is_switch(from) && is_switch(to));
    let mut buffers = [None; 8];
    for class in 0..8u8 {
        let group = plan.and_then(|plan| match plan.scope {
            PauseScope::Link => Some(0),
            PauseScope::Classes(classes) => (classes & 1 << class != 0).then_some(class),
        });
        buffers[usize::from(class)] = group.map(|group| BufferId::new(port, group));
    }
    buffers
}
