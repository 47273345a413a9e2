//! The state of the network: nodes, links, queues, buffers, congestion points and the routes through them.

use crate::frame::{Frame, flag};
use crate::ids::{FlowId, IdVec, InputId, NodeId, PathId, PortCpId, PortId, QueuesId, SharedBufferId, SinkId};
use crate::input_buffer::InputBuffer;
use crate::packets::Packets;
use crate::port::{Departures, Fifo, Mode, Port};
use crate::priority_queues::PriorityQueues;
use crate::shared_buffer::{Alpha, SharedBuffer};
use qcnlab_schemes::parts::ecn::RampParams;
use qcnlab_schemes::registry::AnyCp;
use qcnlab_schemes::{CongestionPoint, CpCapabilities, CpFastPath, Dice, Queue};
use qcnlab_units::{Bytes, Instant};

/// What frames travel through.
pub(super) struct Network {
    pub(super) ports: IdVec<PortId, Port>,
    /// What each port leaves from and leads to.
    pub(super) links: IdVec<PortId, Link>,
    pub(super) queues: IdVec<QueuesId, PriorityQueues>,
    pub(super) inputs: IdVec<InputId, InputBuffer>,
    pub(super) nodes: IdVec<NodeId, Node>,
    pub(super) cps: IdVec<PortCpId, PortCp>,
    pub(super) routes: Routes,
    /// The nodes that count each frame because an input is or was near a watermark.
    pub(super) near_watermarks: Vec<NodeId>,
    pub(super) shared_buffers: IdVec<SharedBufferId, SharedBuffer>,
    /// For each port the threshold of its queues in a shared buffer; empty if there are none.
    pub(super) queue_alphas: IdVec<PortId, Option<Alpha>>,
    /// Whether frames change their class on their way.
    pub(super) remaps: bool,
    /// Whether a node pauses links because of a frame that finds a long output queue.
    pub(super) pauses_by_threshold: bool,
    /// What RoCE packets under way carry.
    pub(super) packets: Packets,
}

/// Where a port's link begins and ends.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) name: String,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    /// The port of the other direction.
    pub(super) reverse: Option<PortId>,
}

/// A switch or a host.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) outputs: Vec<PortId>,
    /// Those of them that compute departures while nothing is paused, and have priority queues for when something is.
    pub(super) computing: Vec<PortId>,
    /// Priority groups of its inputs that were sent XOFF.
    pub(super) paused_groups: u32,
    pub(super) counting: Counting,
    /// The memory that all its inputs share.
    pub(super) shared: Option<SharedBufferId>,
    /// Octets of control frames and acknowledgements that it sent.
    pub(super) control_sent: u64,
    /// Octets of control frames and acknowledgements that ended here.
    pub(super) control_received: u64,
}

/// How a node counts what its input buffers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// Each frame is counted in and out.
    EachFrame,
    /// Frames are admitted uncounted, as far as the inputs' allowances go.
    ByAllowance,
}

/// The congestion point of a queue, with its random stream.
pub(super) struct PortCp {
    pub(super) cp: AnyCp,
    pub(super) dice: Dice,
    /// The port of its queue, and the class if only one is under congestion control there.
    pub(super) port: PortId,
    pub(super) class: Option<u8>,
    /// Messages that it sent.
    pub(super) sent: u64,
    /// Whether it is to be shown arrivals at all.
    pub(super) sees_arrivals: bool,
    sees_departures: bool,
    marks_departures: bool,
    /// Whether it writes on packets that leave: telemetry or a code.
    stamps_departures: bool,
    codes_departures: bool,
    sees_pauses: bool,
    /// Whether it was shown a pause that has not ended.
    paused: bool,
}

/// The paths of all flows. Those over the same ports share a stretch of the lists by port.
#[derive(Default)]
pub(super) struct Routes {
    pub(super) paths: IdVec<PathId, Path>,
    /// The ports of each path, and [`END`] behind the last.
    pub(super) ports: Vec<PortId>,
    /// For each port of each path and for its end, where a frame goes on that has come there: forward by that port, in
    /// reverse by the other direction of the port before. [`END`] where its way ends.
    pub(super) onward: Vec<[PortId; 2]>,
    /// Whether acknowledgements travel back over paths.
    pub(super) acknowledged: bool,
    /// For each of `ports` the input buffers that hold the frames queued there.
    pub(super) inputs: Vec<HopInputs>,
}

/// No port.
pub(super) const END: PortId = PortId::MAX;

/// One path of a flow.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Path {
    /// Where its ports begin in the lists.
    pub(super) start: u32,
    pub(super) flow: FlowId,
    /// The last port, as the recorder numbers it, and the flow's position among those that end there.
    pub(super) sink: SinkId,
    pub(super) member: u32,
    /// The node where it begins, and the one where it ends.
    pub(super) source: NodeId,
    pub(super) destination: NodeId,
    /// How many links it has.
    pub(super) len: u8,
}

/// The buffers that hold the frames at a port of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HopInputs {
    /// Of frames that travel forward.
    pub(super) forward: Option<InputId>,
    /// Of frames that travel in reverse.
    pub(super) reverse: Option<InputId>,
}

impl Routes {
    /// The ports of a path, in order.
    #[inline]
    pub(super) fn ports_of(&self, path: PathId) -> &[PortId] {
        let Path { start, len, .. } = self.paths[path];
        &self.ports[start as usize..][..usize::from(len)]
    }

    /// Moves a frame on by one link; returns the port that it goes on by, `None` at the end of its way.
    #[inline(always)]
    pub(super) fn move_on(&self, path: &Path, frame: &mut Frame) -> Option<PortId> {
        let reverse = if self.acknowledged {
            frame.move_on()
        } else {
            frame.advance_hop();
            false
        };
        let next = self.onward[path.start as usize + usize::from(frame.hop())][usize::from(reverse)];
        (next != END).then_some(next)
    }

    /// The port by which a frame that travels in reverse goes on from where it is; `None` at its source.
    #[inline]
    pub(super) fn back(&self, frame: &Frame) -> Option<PortId> {
        let first = self.paths[frame.path()].start;
        let [_, next] = self.onward[first as usize + usize::from(frame.hop())];
        debug_assert!(next != END || frame.hop() == 0, "a link that something travels back over has two directions");
        (next != END).then_some(next)
    }

    /// The last port of a path.
    pub(super) fn last_port(&self, path: PathId) -> PortId {
        *self.ports_of(path).last().expect("a path has links")
    }

    /// The buffer that holds a frame queued at a port.
    #[inline(always)]
    pub(super) fn input_of(&self, frame: &Frame) -> InputId {
        let inputs = &self.inputs[self.paths[frame.path()].start as usize + usize::from(frame.hop())];
        let input = if frame.is(flag::REVERSE) { inputs.reverse } else { inputs.forward };
        input.expect("a buffered frame came in by an input with a buffer")
    }
}

impl PortCp {
    /// `is_read` says whether reaction points hear of acknowledgements, which bring them what it stamps. What they control
    /// are queue pairs then; nothing is stamped on segments of TCP.
    pub(super) fn new(cp: AnyCp, dice: Dice, port: PortId, class: Option<u8>, is_read: bool) -> PortCp {
        let capabilities = cp.capabilities();
        let CpCapabilities { sees_departures, marks_departures, codes_departures, sees_pauses, .. } = capabilities;
        let stamps_departures = (capabilities.stamps_departures || codes_departures) && is_read;
        PortCp {
            dice,
            port,
            class,
            sent: 0,
            sees_arrivals: !cp.ignores_arrivals(),
            sees_departures,
            marks_departures,
            stamps_departures,
            codes_departures,
            sees_pauses,
            paused: false,
            cp,
        }
    }

    /// Has it mark by other thresholds, if it marks by a ramp; returns whether it does.
    pub(super) fn set_ramp(&mut self, ramp: RampParams) -> bool {
        let Some(own) = self.cp.as_ramp_mut() else { return false };
        own.set(ramp);
        self.marks_departures = self.cp.capabilities().marks_departures;
        self.sees_arrivals = !self.cp.ignores_arrivals();
        true
    }

    /// Whether it is to be shown departures at all.
    pub(super) const fn observes_departures(&self) -> bool {
        self.sees_departures || self.marks_departures || self.stamps_departures
    }

    /// Shows it that its class is paused or may send again, unless it knows; `frames` counts what is queued.
    pub(super) fn show_pause(&mut self, now: Instant, paused: bool, frames: impl Fn() -> u32) {
        if self.sees_pauses && self.paused != paused {
            self.paused = paused;
            self.cp.on_pause(now, paused, frames());
        }
    }

    /// Whether it writes on packets that leave.
    pub(super) const fn stamps(&self) -> bool {
        self.stamps_departures
    }

    /// Whether a transmission that starts means something to it.
    const fn acts_on_starts(&self) -> bool {
        self.stamps_departures || self.sees_pauses
    }

    /// Has it write on a RoCE packet whose transmission starts; it has left `queue`, and before it the port had sent `sent`
    /// octets.
    #[inline]
    pub(super) fn stamp_started(
        &mut self,
        now: Instant,
        frame: &Frame,
        packets: &mut Packets,
        sent: u64,
        queue: Queue,
    ) {
        if self.stamps_departures && frame.is(flag::SEGMENT) && frame.is(flag::CONTROLLED) {
            let sent = Bytes::new(sent);
            if self.codes_departures {
                packets.write_code(frame.packet(), self.cp.departure_code(now, sent, queue, &mut self.dice));
            } else {
                packets.stamp(frame.packet(), self.cp.departure_stamp(now, sent, queue));
            }
        }
    }

    /// Has it mark a data frame that leaves `queue`.
    #[inline]
    pub(super) fn mark_departing(&mut self, now: Instant, frame: &mut Frame, queue: Queue) {
        if self.marks_departures && !frame.is(flag::NOT_DATA) {
            let controlled = frame.is(flag::CONTROLLED);
            frame.write_mark(self.cp.departure_mark(now, controlled, queue, &mut self.dice));
        }
    }

    /// Shows it a departure that leaves `len` octets.
    #[inline]
    pub(super) fn on_departure(&mut self, now: Instant, len: Bytes) {
        if self.sees_departures {
            self.cp.on_departure(now, len);
        }
    }
}

impl Network {
    /// Finds up to which length of a port's queue its congestion point ignores departures.
    ///
    /// A frame that does not make the queue longer than that may be queued before the departures until then are counted:
    /// they leave less behind than what is counted with it.
    pub(super) fn find_ignored(&mut self, id: PortId) {
        let port = &mut self.ports[id];
        let fifo = match port.mode() {
            Mode::Fifo(fifo) => Some(fifo),
            Mode::Queues(queues) => self.queues[queues].unpaused,
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => None,
        };
        if let Some(Departures::Shown(cp) | Departures::ShownAndFreed(cp)) = fifo.map(|fifo| fifo.departures) {
            port.ignore_up_to(self.cps[cp].cp.ignores_departures_up_to(port.rate()).map_or(0, Bytes::get));
        }
    }

    /// Removes from a port's queue what has left, and does what is to be done about departures.
    #[inline(always)]
    pub(super) fn update_queue(&mut self, now: Instant, id: PortId) {
        let port = &mut self.ports[id];
        if !port.observes_departures() {
            return port.update_queue(now);
        }
        if port.has_departed(now) {
            self.act_on_departures(now, id);
        }
    }

    fn act_on_departures(&mut self, now: Instant, id: PortId) {
        let Mode::Fifo(Fifo { departures, .. }) = self.ports[id].mode() else { return };
        match departures {
            Departures::FreeBuffers => self.free_departed(now, id),
            Departures::Shown(cp) | Departures::ShownAndFreed(cp) => self.show_departed(now, id, cp),
            Departures::Unobserved => {}
        }
    }

    /// Frees the buffers of the frames that have left a first-in first-out port. Nobody waits for that: the node has
    /// sent no XOFF.
    fn free_departed(&mut self, now: Instant, id: PortId) {
        let port = &mut self.ports[id];
        while port.next_departed(now).is_some() {
            let frame = port.last_departed();
            if !frame.is(flag::BUFFERED) {
                continue;
            }
            frame.clear(flag::BUFFERED);
            self.inputs[self.routes.input_of(frame)].release_departed(frame, &mut self.shared_buffers);
        }
    }

    /// Updates the queues of a node's outputs, and with them what its inputs hold.
    #[inline(always)]
    pub(super) fn update_outputs(&mut self, now: Instant, node: NodeId) {
        // While something is paused all outputs have an event at the end of each transmission.
        if self.nodes[node].paused_groups == 0 {
            self.update_computing(now, node);
        }
    }

    #[cold]
    fn update_computing(&mut self, now: Instant, node: NodeId) {
        for output in 0..self.nodes[node].computing.len() {
            let output = self.nodes[node].computing[output];
            if matches!(self.ports[output].mode(), Mode::Fifo(_)) {
                self.update_queue(now, output);
            }
        }
    }

    /// Shows each departure to the congestion point of the queue, and has it free the buffer of its frame if it does.
    fn show_departed(&mut self, now: Instant, id: PortId, cp: PortCpId) {
        let Network { ports, cps, packets, inputs, shared_buffers, routes, .. } = self;
        let (port, cp) = (&mut ports[id], &mut cps[cp]);
        let frees = matches!(port.mode(), Mode::Fifo(Fifo { departures: Departures::ShownAndFreed(_), .. }));
        while let Some(left) = port.next_departed(now) {
            let queue = Queue { len: port.queue_len(), capacity: port.capacity(), rate: port.rate() };
            if cp.marks_departures {
                cp.mark_departing(left, port.last_departed(), queue);
            }
            if cp.stamps_departures {
                stamp_first(left, port, cp, packets);
            }
            cp.on_departure(left, queue.len);
            if frees {
                let frame = port.last_departed();
                if frame.is(flag::BUFFERED) {
                    frame.clear(flag::BUFFERED);
                    inputs[routes.input_of(frame)].release_departed(frame, shared_buffers);
                }
            }
        }
    }

    /// A first-in first-out port starts the transmission of its oldest frame now: has its congestion point write on that.
    #[inline]
    pub(super) fn stamp_first(&mut self, now: Instant, id: PortId) {
        let Mode::Fifo(Fifo { departures: Departures::Shown(cp) | Departures::ShownAndFreed(cp), .. }) =
            self.ports[id].mode()
        else {
            return;
        };
        if self.cps[cp].stamps_departures {
            stamp_first(now, &self.ports[id], &mut self.cps[cp], &mut self.packets);
        }
    }

    /// A port starts the transmission of the frame at the head of one of its priority queues now: has the queue's
    /// congestion point write on that.
    #[inline]
    pub(super) fn stamp_head(&mut self, now: Instant, id: QueuesId, position: usize) {
        let queues = &self.queues[id];
        let queue = &queues.queues[position];
        let Some(cp) = queue.cp.filter(|cp| self.cps[*cp].acts_on_starts()) else { return };
        // A pause that ran out was not told of yet.
        self.cps[cp].show_pause(now, false, || queue.data_frames());
        let (port, frame) = (&self.ports[queues.port], queue.frames.at(queue.frames.head()));
        let len = Bytes::new(queue.octets - frame.octets());
        let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
        self.cps[cp].stamp_started(now, frame, &mut self.packets, port.sent(), queue);
    }

    /// Shows the congestion points of some classes of a port, a bit each, whether these are paused now.
    pub(super) fn show_pauses(&mut self, now: Instant, id: QueuesId, classes: u8) {
        for queue in self.queues[id].queues.iter().filter(|queue| classes & 1 << queue.class != 0) {
            if let Some(cp) = queue.cp {
                self.cps[cp].show_pause(now, queue.pause.until() > now.ps(), || queue.data_frames());
            }
        }
    }

    /// The queue that frames of a class wait in at a port, as of the last update, and its congestion point.
    pub(super) fn queue_of(&self, id: PortId, class: u8) -> (Queue, Option<PortCpId>) {
        let port = &self.ports[id];
        let (cp, len) = match port.mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => (None, port.queue_len()),
            Mode::Fifo(fifo) => (fifo.cp, port.queue_len()),
            Mode::Queues(queues) => {
                let queue = self.queues[queues].of_class(class);
                (queue.cp, Bytes::new(queue.octets))
            }
        };
        (Queue { len, capacity: port.capacity(), rate: port.rate() }, cp)
    }

    /// Whether a queue drops a frame that comes to it, whatever room it has.
    #[cold]
    pub(super) fn refuses(&mut self, id: PortId, queues: QueuesId, frame: &Frame) -> bool {
        let port = &mut self.ports[id];
        let stuck = self.queues[queues].drops(frame.class());
        let queue = self.queues[queues].of_class_mut(frame.class());
        let len = Bytes::new(queue.octets + frame.octets());
        let queue_with_it = Queue { len, capacity: port.capacity(), rate: port.rate() };
        let early = !frame.is(flag::NOT_DATA)
            && queue.wred.as_mut().is_some_and(|wred| wred.drops(frame.is(flag::CONTROLLED), queue_with_it));
        let drops = stuck || early;
        if drops {
            queue.dropped_frames += 1;
            port.count_dropped(frame.octets());
        }
        drops
    }

    /// Whether a queue of a port has a congestion point.
    pub(super) fn has_cp(&self, id: PortId) -> bool {
        match self.ports[id].mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => false,
            Mode::Fifo(fifo) => fifo.cp.is_some(),
            Mode::Queues(queues) => self.queues[queues].queues.iter().any(|queue| queue.cp.is_some()),
        }
    }

    /// The frames queued at a port, the one in transmission included.
    pub(super) fn queued(&self, port: PortId) -> impl Iterator<Item = &Frame> {
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
        match self.ports[output].mode() {
            Mode::Queues(queues) if self.queues[queues].counts_inputs && (classes == u8::MAX || !self.remaps) => {
                Some(self.queues[queues].octets_from(self.inputs[input].position, classes))
            }
            _ => None,
        }
    }

    /// Octets queued at `output` that input buffers of its node hold, by the position of the input; as many as occur.
    pub(super) fn recount_by_input(&self, output: PortId) -> Vec<u64> {
        let mut octets = Vec::new();
        for frame in self.queued(output).filter(|frame| frame.is(flag::BUFFERED)) {
            let position = self.inputs[self.routes.input_of(frame)].position as usize;
            if octets.len() <= position {
                octets.resize(position + 1, 0);
            }
            octets[position] += frame.octets();
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
    pub(super) fn ingress_port(&self, frame: &Frame) -> PortId {
        let ports = self.routes.ports_of(frame.path());
        let hop = usize::from(frame.hop());
        if frame.is(flag::REVERSE) { self.reverse_of(ports[hop]) } else { ports[hop - 1] }
    }

    /// The port of the other direction of a link.
    #[inline]
    pub(super) fn reverse_of(&self, port: PortId) -> PortId {
        self.links[port].reverse.expect("a link that something travels back over has two directions")
    }

    /// Counts a frame that is not data where it starts.
    pub(super) fn count_control_sent(&mut self, frame: &Frame) {
        let node = self.node_of(frame);
        self.nodes[node].control_sent += frame.octets();
    }

    /// The node at which a frame that travels in reverse, or starts, is.
    #[inline]
    pub(super) fn node_of(&self, frame: &Frame) -> NodeId {
        let path = &self.routes.paths[frame.path()];
        match frame.hop() {
            0 => path.source,
            hop if hop == path.len => path.destination,
            hop => self.links[self.routes.ports_of(frame.path())[usize::from(hop) - 1]].to,
        }
    }

    /// Writes a mark on the frame that was queued last.
    pub(super) fn mark_newest(&mut self, id: PortId, class: u8, mark: u8) {
        let port = &mut self.ports[id];
        let ring = match port.mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Fifo(_) | Mode::Lazy(_) => port.ring_mut(),
            Mode::Queues(queues) => &mut self.queues[queues].of_class_mut(class).frames,
        };
        let newest = ring.tail().wrapping_sub(1);
        ring.at_mut(newest).write_mark(mark);
    }

    /// The flow of a frame.
    #[inline(always)]
    pub(super) fn flow_of(&self, frame: &Frame) -> FlowId {
        self.routes.paths[frame.path()].flow
    }
}

/// The oldest frame of a first-in first-out port, if there is one, starts its transmission now: `cp` writes on it.
#[inline]
fn stamp_first(now: Instant, port: &Port, cp: &mut PortCp, packets: &mut Packets) {
    if let Some(frame) = port.waiting().next() {
        let len = Bytes::new(port.queue_len().get() - frame.octets());
        let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
        cp.stamp_started(now, frame, packets, port.sent(), queue);
    }
}
