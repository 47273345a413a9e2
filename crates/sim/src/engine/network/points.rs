//! Congestion points: what they are shown of a queue, and what they write on frames that leave it.

use super::Network;
use crate::frame::{Frame, flag};
use crate::ids::{NodeId, PathId, PortCpId, PortId, QueuesId};
use crate::packets::Packets;
use crate::port::{Departures, Port};
use qcnlab_schemes::parts::ecn::RampParams;
use qcnlab_schemes::registry::AnyCp;
use qcnlab_schemes::{CongestionPoint, CpCapabilities, CpFastPath, Dice, Probe, ProbeAction, Queue, Signal};
use qcnlab_units::{Bytes, Instant};

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

    /// Whether it was shown a pause, and not yet that it is over.
    pub(super) const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether a transmission that starts means something to it.
    const fn acts_on_starts(&self) -> bool {
        self.stamps_departures || self.sees_pauses
    }

    /// Whether it writes on packets that leave.
    pub(super) const fn stamps(&self) -> bool {
        self.stamps_departures
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
    /// Shows a probe to the congestion point of the queue that frames of a class wait in at a port; returns the answer, if
    /// any.
    pub(in crate::engine) fn show_probe(
        &mut self,
        now: Instant,
        port: PortId,
        class: u8,
        probe: &mut Probe,
    ) -> Option<Signal> {
        self.update_queue(now, port);
        let (queue, cp) = self.queue_of(port, class);
        match self.cps[cp?].cp.on_probe(now, probe, queue) {
            ProbeAction::Pass => None,
            ProbeAction::Answer(signal) => Some(signal),
        }
    }

    /// Whether a congestion point on a path has had no bandwidth for frames of a class since `asked_at`.
    pub(in crate::engine) fn lacks_bandwidth(
        &mut self,
        now: Instant,
        path: PathId,
        class: u8,
        asked_at: Instant,
    ) -> bool {
        let mut lacks = false;
        for hop in 0..self.routes.ports_of(path).len() {
            let port = self.routes.ports_of(path)[hop];
            self.update_queue(now, port);
            if let (_, Some(cp)) = self.queue_of(port, class) {
                lacks |= self.cps[cp].cp.no_bandwidth_since(now).is_some_and(|since| since <= asked_at);
            }
        }
        lacks
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
        match self.ports[id].departures() {
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
            if self.ports[output].fifo().is_some() {
                self.update_queue(now, output);
            }
        }
    }

    /// The length of a port's queue now.
    pub(in crate::engine) fn queue_len(&mut self, now: Instant, id: PortId) -> Bytes {
        self.update_queue(now, id);
        self.ports[id].queue_len()
    }

    /// Shows each departure to the congestion point of the queue, and has it free the buffer of its frame if it does.
    fn show_departed(&mut self, now: Instant, id: PortId, cp: PortCpId) {
        let Network { ports, cps, packets, inputs, shared_buffers, routes, .. } = self;
        let (port, cp) = (&mut ports[id], &mut cps[cp]);
        let frees = matches!(port.departures(), Departures::ShownAndFreed(_));
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
        let (Departures::Shown(cp) | Departures::ShownAndFreed(cp)) = self.ports[id].departures() else { return };
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
