//! The network: nodes, links, queues, buffers, congestion points and the routes through them.
//!
//! It is told what happens to a frame, and answers with what follows for others: a [`Hop`], an [`Admission`], where a
//! frame goes [`Onward`]; where one call has several effects, it lists them to be taken. It sets its own events in the
//! schedule that it is handed, and knows no other part.

mod adaptive;
mod admitting;
mod arriving;
mod audit;
mod backpressure;
mod build;
mod captured;
mod counting_sinks;
mod deadlock;
mod domain;
mod failing_queues;
mod failures;
mod flow_scheduling;
mod freeing;
#[cfg(test)]
mod in_tests;
mod isolating;
mod pausing;
mod points;
mod ports;
mod questions;
mod queueing;
mod routes;
mod scheduling;
mod shared_memory;
mod starting;
mod state;
mod transmission;
mod watching;

// Shortcuts that use the network's own fields; they lie beside the others.
#[path = "../shortcuts/allowances.rs"]
mod allowances;
#[path = "../shortcuts/computed_departures.rs"]
mod computed_departures;
#[path = "../shortcuts/ignored_departures.rs"]
mod ignored_departures;

use super::effects::Effect;
use crate::frame::{Frame, flag};
use crate::ids::{
    AdapterId, FlowId, IdVec, InputId, InputSlot, LimiterId, NodeId, PathId, PortCpId, PortId, QueuesId, SharedBufferId,
};
use crate::input_buffer::InputBuffer;
use crate::packets::Packets;
use crate::path::Path;
use crate::port::Port;
use crate::priority_queues::PriorityQueues;
use crate::shared_buffer::{Alpha, SharedBuffer};
use adaptive::Adaptive;
pub(super) use arriving::{Admission, Arriving, Onward};
pub(super) use audit::Books;
pub(super) use backpressure::Stopped;
pub(super) use build::network;
pub(super) use captured::PauseOnLink;
use domain::Domain;
use points::PortCp;
use qcnlab_units::{BitRate, Instant, Span};
pub(super) use questions::HostLink;
pub(super) use queueing::{Hop, NoRoom};
use routes::Routes;
use std::collections::VecDeque;

/// What frames travel through.
pub(super) struct Network {
    ports: IdVec<PortId, Port>,
    /// What each port leaves from and leads to.
    links: IdVec<PortId, Link>,
    queues: IdVec<QueuesId, PriorityQueues>,
    inputs: IdVec<InputId, InputBuffer>,
    nodes: IdVec<NodeId, Node>,
    cps: IdVec<PortCpId, PortCp>,
    routes: Routes,
    /// The nodes that count each frame because an input is or was near a watermark.
    near_watermarks: Vec<NodeId>,
    shared_buffers: IdVec<SharedBufferId, SharedBuffer>,
    /// For each port the threshold of its queues in a shared buffer; empty if there are none.
    queue_alphas: IdVec<PortId, Option<Alpha>>,
    /// Whether frames change their class on their way.
    remaps: bool,
    /// Whether a node pauses links because of a frame that finds a long output queue.
    pauses_by_threshold: bool,
    /// What RoCE packets under way carry.
    packets: Packets,
    /// Who takes part in congestion notification, if not everybody.
    domain: Option<Box<Domain>>,
    /// What switches draw and remember that choose links by their queues, if they do.
    adaptive: Option<Box<Adaptive>>,
    /// What follows from a call that has several effects, until somebody does it.
    effects: VecDeque<Effect>,
}

/// Where a port's link begins and ends.
#[derive(Clone, Debug)]
struct Link {
    name: String,
    from: NodeId,
    to: NodeId,
    /// The port of the other direction.
    reverse: Option<PortId>,
}

/// A switch or a host.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    outputs: Vec<PortId>,
    /// Those of them that compute departures while nothing is paused, and have priority queues for when something is.
    computing: Vec<PortId>,
    /// Priority groups of its inputs that were sent XOFF.
    paused_groups: u32,
    counting: Counting,
    /// The memory that all its inputs share.
    shared: Option<SharedBufferId>,
    /// Octets of control frames and acknowledgements that it sent.
    control_sent: u64,
    /// Octets of control frames and acknowledgements that ended here.
    control_received: u64,
}

/// How a node counts what its input buffers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    /// Each frame is counted in and out.
    EachFrame,
    /// Frames are admitted uncounted, as far as the inputs' allowances go.
    ByAllowance,
}

impl Network {
    /// How many ports, priority queues and inputs there are.
    pub(super) fn counts(&self) -> [usize; 3] {
        [self.ports.len(), self.queues.len(), self.inputs.len()]
    }

    /// The port of some priority queues.
    pub(super) fn port_of_queues(&self, id: QueuesId) -> PortId {
        self.queues[id].port
    }

    /// The port that feeds an input.
    pub(super) fn port_of_input(&self, id: InputId) -> PortId {
        self.inputs[id].port
    }

    /// Takes the first of the effects that are still to be done.
    pub(super) fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The flow of a frame.
    #[inline(always)]
    pub(super) fn flow_of(&self, frame: &Frame) -> FlowId {
        self.routes.paths[frame.path()].flow
    }

    /// A path.
    #[inline(always)]
    pub(super) fn path(&self, id: PathId) -> &Path {
        &self.routes.paths[id]
    }

    /// The ports of a path, in order.
    pub(super) fn ports_of(&self, path: PathId) -> &[PortId] {
        self.routes.ports_of(path)
    }

    /// The node that a port leads to, and its rate.
    pub(super) fn destination(&self, port: PortId) -> (NodeId, BitRate) {
        (self.links[port].to, self.ports[port].rate())
    }

    /// The last port of a path.
    pub(super) fn last_port(&self, path: PathId) -> PortId {
        self.routes.last_port(path)
    }

    /// The next port of a frame that travels forward.
    pub(super) fn port_ahead(&self, frame: &Frame) -> PortId {
        self.routes.ports_of(frame.path())[usize::from(frame.hop())]
    }

    /// The port of the other direction of a link, if it has one.
    pub(super) fn other_direction(&self, port: PortId) -> Option<PortId> {
        self.links[port].reverse
    }

    /// The time from the end of a transmission to the far end of a port's link.
    pub(super) fn delay(&self, port: PortId) -> Span {
        self.ports[port].delay()
    }

    /// What RoCE packets under way carry.
    #[inline(always)]
    pub(super) fn packets(&self) -> &Packets {
        &self.packets
    }

    /// The same, to change.
    #[inline(always)]
    pub(super) fn packets_mut(&mut self) -> &mut Packets {
        &mut self.packets
    }

    /// The classes that are not paused, a bit each.
    pub(super) fn open_classes(&self, now: Instant, id: QueuesId) -> u8 {
        let paused = self.queues[id].queues.iter().filter(|queue| queue.pause.until() > now.ps());
        paused.fold(u8::MAX, |open, queue| open & !(1 << queue.class))
    }

    /// The adapter of a port serves the flows of a host, which it may have to wait for.
    pub(super) fn add_adapter(&mut self, id: QueuesId, adapter: AdapterId) {
        self.queues[id].adapter = Some(adapter);
    }

    /// Flows of these classes wait at the adapter of a port with priority queues.
    #[inline(always)]
    pub(super) fn flows_wait(&mut self, id: QueuesId, classes: u8) {
        self.queues[id].at_adapter = classes;
    }

    /// The limiter that hears a message about `sampled`, a frame that `own` has paced; `None` if its host has no reaction
    /// points.
    pub(super) fn hearing_limiter(&self, own: LimiterId, sampled: &Frame) -> Option<LimiterId> {
        let Some(domain) = &self.domain else { return Some(own) };
        domain.hearing_limiter(self.flow_of(sampled), own, sampled)
    }

    /// When what leaves `port` now for the source of `frame` is there, if nothing but propagation takes time.
    pub(super) fn heard_ideally(&self, now: Instant, frame: &Frame) -> Instant {
        let crossed = &self.routes.ports_of(frame.path())[..usize::from(frame.hop())];
        crossed.iter().fold(now, |at, port| at + self.ports[*port].delay())
    }

    /// A frame that is not data ends at the source of its path.
    #[inline(always)]
    pub(super) fn end_at_source(&mut self, frame: &Frame) -> FlowId {
        let Path { source, flow, .. } = self.routes.paths[frame.path()];
        self.nodes[source].control_received += frame.octets();
        flow
    }

    /// A control frame ends at the host to which its path leads.
    pub(super) fn end_at_destination(&mut self, frame: &Frame) {
        let host = self.links[self.routes.last_port(frame.path())].to;
        self.nodes[host].control_received += frame.octets();
    }

    /// A control frame ends before `port`, at the node that it would have left by that.
    pub(super) fn end_before(&mut self, port: PortId, frame: &Frame) {
        let node = self.links[port].from;
        self.nodes[node].control_received += frame.octets();
    }

    /// The links with buffers may be paused.
    pub(super) fn pauses(&self) -> bool {
        self.inputs.iter().any(|input| input.pause.is_some())
    }

    /// The frames queued at a port, the one in transmission included.
    fn queued(&self, port: PortId) -> impl Iterator<Item = &Frame> {
        let port = &self.ports[port];
        let queues = port.queues().map(|queues| &self.queues[queues]);
        queues.into_iter().flat_map(PriorityQueues::waiting).chain(port.waiting())
    }

    /// Octets queued at `output` of frames that are of one of `classes` and that the buffer of `input` holds.
    pub(super) fn queued_from(&self, output: PortId, input: InputId, classes: u8) -> u64 {
        self.counted_from(output, input, classes).unwrap_or_else(|| self.recount_queued_from(output, input, classes))
    }

    /// The same where the output counts it.
    pub(super) fn counted_from(&self, output: PortId, input: InputId, classes: u8) -> Option<u64> {
        let queues = &self.queues[self.ports[output].queues_in_use()?];
        let counted = queues.counts_inputs && (classes == u8::MAX || !self.remaps);
        counted.then(|| queues.octets_from(self.inputs[input].slot, classes))
    }

    /// Octets queued at `output` that input buffers of its node hold, by the slot of the input; as many as occur.
    pub(super) fn recount_by_input(&self, output: PortId) -> IdVec<InputSlot, u64> {
        let mut octets = IdVec::new();
        for frame in self.queued(output).filter(|frame| frame.is(flag::BUFFERED)) {
            let slot = self.inputs[self.routes.input_of(frame)].slot;
            *octets.get_or_grow(slot) += frame.octets();
        }
        octets
    }

    /// As [`queued_from`](Network::queued_from), frame by frame.
    pub(super) fn recount_queued_from(&self, output: PortId, input: InputId, classes: u8) -> u64 {
        let of_input = self.queued(output).filter(|frame| {
            frame.is(flag::BUFFERED) && classes & 1 << frame.link_class() != 0 && self.routes.input_of(frame) == input
        });
        of_input.map(Frame::octets).sum()
    }

    /// The port over which a frame came to its present node; it did not start there.
    #[inline]
    fn ingress_port(&self, frame: &Frame) -> PortId {
        let ports = self.routes.ports_of(frame.path());
        let hop = usize::from(frame.hop());
        if frame.is(flag::REVERSE) { self.reverse_of(ports[hop]) } else { ports[hop - 1] }
    }

    /// The port of the other direction of a link.
    #[inline]
    fn reverse_of(&self, port: PortId) -> PortId {
        self.links[port].reverse.expect("a link that something travels back over has two directions")
    }

    /// Counts a frame that is not data where it starts.
    pub(super) fn count_control_sent(&mut self, frame: &Frame) {
        let node = self.node_of(frame);
        self.nodes[node].control_sent += frame.octets();
    }

    /// The node at which a frame that travels in reverse, or starts, is.
    #[inline]
    fn node_of(&self, frame: &Frame) -> NodeId {
        let path = &self.routes.paths[frame.path()];
        match frame.hop() {
            0 => path.source,
            hop if hop == path.len => path.destination,
            hop => self.links[self.routes.ports_of(frame.path())[usize::from(hop) - 1]].to,
        }
    }
}
