//! A frame's hop: off a link, through its input buffer, past the congestion point, into the next queue.

use super::Engine;
use super::network::Network;
use super::schedule::Event;
use crate::frame::{Frame, flag};
use crate::ids::{Id, InputId, PortCpId, PortId, QueuesId};
use crate::plan::{PauseRule, PauseTarget};
use crate::port::{FarEnd, Fifo, Mode};
use qcnlab_schemes::{Arrival, CongestionPoint, CpAction, CpFastPath, CpId, Queue};
use qcnlab_units::{Bytes, Instant};

impl Engine {
    /// The oldest frame on a link reaches its far end.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, id: PortId) {
        let mut port = &mut self.network.ports[id];
        if port.minds_arrivals() {
            self.network.update_queue(now, id);
            port = &mut self.network.ports[id];
        }
        if let Mode::Lazy(lazy) = port.mode()
            && port.ring().is_empty()
        {
            let mut frame = self.cross_empty_link(now, id, lazy.sender);
            let port = &mut self.network.ports[id];
            let left = now.ps() - port.delay().ps();
            let admitted = port.admit_unseen(&mut frame);
            return self.arrived(now, id, frame, left, admitted);
        }
        let mut frame = port.take_arrived();
        frame.clear(flag::BUFFERED);
        let left = now.ps() - port.delay().ps();
        let admitted = port.admit_unseen(&mut frame);
        if let Some(next) = port.next_arrival() {
            self.schedule.set(Event::Arrival(id), next);
        } else if let Some(flow) = port.lazy_sender() {
            self.schedule_lazy_arrival(flow);
        }
        self.arrived(now, id, frame, left, admitted);
    }

    /// A frame that left a port at `left` is at the far end of its link, which has admitted it without a look or not yet.
    #[inline(always)]
    fn arrived(&mut self, now: Instant, id: PortId, mut frame: Frame, left: u64, admitted: bool) {
        if !admitted {
            match self.admit_or_defend(now, id, frame) {
                Some(admitted) => frame = admitted,
                None => return,
            }
        }
        if frame.is(flag::CONTROL) {
            return self.control_arrived(now, frame);
        }
        let path = self.network.routes.paths[frame.path()];
        if let Some(next) = self.network.routes.move_on(&path, &mut frame) {
            return self.forward(now, next, frame);
        }
        if frame.is(flag::REVERSE) {
            return self.came_back(now, &path, frame);
        }
        if self.recording.deliver(now, &path, left, frame.octets()) {
            self.close_flow(now);
        }
        if frame.is(flag::SEGMENT) || self.signalling.notifies() {
            self.receive(now, path.flow, frame);
        }
    }

    /// A data frame or an acknowledgement arrives at a port's queue.
    #[inline(always)]
    pub(super) fn forward(&mut self, now: Instant, id: PortId, frame: Frame) {
        let mode = self.network.ports[id].mode();
        if let Mode::Fifo(fifo) = mode {
            self.forward_fifo(now, id, fifo, frame);
        } else if let Mode::Queues(queues) = mode {
            self.forward_by_class(now, id, queues, frame);
        } else {
            self.enqueue_plain(now, id, frame);
        }
    }

    /// As [`forward`](Engine::forward), at a first-in first-out port.
    #[inline(always)]
    fn forward_fifo(&mut self, now: Instant, id: PortId, fifo: Fifo, frame: Frame) {
        let admitted = self.enqueue_fifo(now, id, frame);
        if !admitted {
            self.drop_frame(now, id, &frame);
        }
        // One branch for both: no congestion point sees acknowledgements, and which frame is one cannot be foreseen.
        let cp = PortCpId::new(fifo.arrivals.number() | frame.all_bits_if_ack());
        if cp != PortCpId::MAX && !self.counts_arrival(cp, &frame, admitted) {
            self.network.update_queue(now, id);
            let len = self.network.ports[id].queue_len();
            self.show_arrival(now, id, cp, frame, len, admitted);
        }
    }

    /// As [`forward`](Engine::forward), at a port with priority queues.
    fn forward_by_class(&mut self, now: Instant, id: PortId, queues: QueuesId, frame: Frame) {
        if frame.is(flag::NOT_DATA) {
            if !self.enqueue(now, id, frame) {
                self.drop_control(now, frame);
            }
            return;
        }
        let guarded = self.network.queues[queues].guarded;
        let refused = guarded && self.network.refuses(id, queues, &frame);
        let admitted = !refused && self.enqueue_by_class(now, id, queues, frame);
        if !admitted {
            self.count_why_dropped(id, queues, &frame);
            if !guarded || !self.trim(now, id, queues, &frame) {
                self.drop_data(now, id, &frame);
            }
        }
        let queue = self.network.queues[queues].of_class(frame.class());
        let (cp, len) = (queue.cp, queue.octets);
        if self.network.pauses_by_threshold && frame.is(flag::BUFFERED) {
            self.check_pause_threshold(now, id, &frame, len);
        }
        if let Some(cp) = cp
            && !self.counts_only(cp, &frame, admitted)
        {
            self.show_arrival(now, id, cp, frame, Bytes::new(len), admitted);
        }
    }

    /// Whether a congestion point does not see arrivals, or only counts this one and need not be shown the queue.
    #[inline(always)]
    fn counts_only(&mut self, cp: PortCpId, frame: &Frame, admitted: bool) -> bool {
        !self.network.cps[cp].sees_arrivals || self.counts_arrival(cp, frame, admitted)
    }

    /// As [`counts_only`](Engine::counts_only), of a congestion point that sees arrivals.
    #[inline(always)]
    fn counts_arrival(&mut self, cp: PortCpId, frame: &Frame, admitted: bool) -> bool {
        let size = Bytes::new(frame.octets());
        self.network.cps[cp].cp.count_only(frame.is(flag::CONTROLLED), admitted, size)
    }

    /// A frame is at the far end of a defended link, or of one whose input buffer has no allowance left for it; `None` if
    /// that discards it.
    #[inline(never)]
    fn admit_or_defend(&mut self, now: Instant, id: PortId, mut frame: Frame) -> Option<Frame> {
        let far_end = self.network.ports[id].far_end();
        let admitted = match far_end {
            FarEnd::Buffer(input) | FarEnd::DefendedBuffer(input) => self.admit(now, id, input, &mut frame),
            FarEnd::Node | FarEnd::Defended | FarEnd::CountingSink => true,
        };
        if far_end.is_defended() {
            frame = self.cross_defence(id, frame);
        }
        if admitted {
            return Some(frame);
        }
        self.show_discarded(now, frame);
        None
    }

    /// Shows a frame that a full input memory discarded to the congestion point of the queue that it was on its way to.
    #[cold]
    fn show_discarded(&mut self, now: Instant, mut frame: Frame) {
        if frame.is(flag::NOT_DATA) {
            return;
        }
        let path = self.network.routes.paths[frame.path()];
        frame.advance_hop();
        if frame.hop() >= path.len {
            return;
        }
        let next = self.network.routes.ports[(path.start + u32::from(frame.hop())) as usize];
        let cp = match self.network.ports[next].mode() {
            Mode::Fifo(fifo) => fifo.cp,
            Mode::Queues(queues) => self.network.queues[queues].of_class(frame.class()).cp,
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => None,
        };
        if let Some(cp) = cp
            && !self.counts_only(cp, &frame, false)
        {
            self.network.update_queue(now, next);
            let len = match self.network.ports[next].mode() {
                Mode::Queues(queues) => Bytes::new(self.network.queues[queues].of_class(frame.class()).octets),
                _ => self.network.ports[next].queue_len(),
            };
            self.show_arrival(now, next, cp, frame, len, false);
        }
    }

    /// Shows an arrival to the congestion point of its queue, and does what that asks for.
    #[inline(always)]
    fn show_arrival(&mut self, now: Instant, id: PortId, cp: PortCpId, frame: Frame, len: Bytes, admitted: bool) {
        let port = &self.network.ports[id];
        let arrival = Arrival {
            flow: qcnlab_schemes::FlowId(self.network.flow_of(&frame).number()),
            size: Bytes::new(frame.octets()),
            admitted,
            controlled: frame.is(flag::CONTROLLED),
            cn_tagged: frame.is(flag::CN_TAGGED),
            limited_by: frame.limited_by().checked_sub(1).map(|cp| CpId(u32::from(cp))),
            probe: frame.is(flag::ASKS_BANDWIDTH),
            mark: frame.mark(),
        };
        let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
        let cp = &mut self.network.cps[cp];
        match cp.cp.on_arrival(now, &arrival, queue, &mut cp.dice) {
            CpAction::Nothing => {}
            CpAction::Send(signal) => {
                cp.sent += 1;
                self.send_signal(now, id, frame, signal);
            }
            CpAction::Mark(mark) if admitted => self.network.mark_newest(id, frame.class(), mark),
            CpAction::Mark(_) => {}
        }
    }

    /// Queues a frame; returns false when it does not fit.
    pub(super) fn enqueue(&mut self, now: Instant, id: PortId, frame: Frame) -> bool {
        match self.network.ports[id].mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => {
                self.enqueue_plain(now, id, frame);
                true
            }
            Mode::Fifo(_) => self.enqueue_fifo(now, id, frame),
            Mode::Queues(queues) => {
                let refused = self.network.queues[queues].guarded && self.network.refuses(id, queues, &frame);
                !refused && self.enqueue_by_class(now, id, queues, frame)
            }
        }
    }

    /// Queues a frame at a plain port.
    #[inline(always)]
    fn enqueue_plain(&mut self, now: Instant, id: PortId, frame: Frame) {
        let mut port = &mut self.network.ports[id];
        if matches!(port.far_end(), FarEnd::CountingSink) {
            if port.ring().is_full() {
                self.make_room(now, id);
                port = &mut self.network.ports[id];
            }
            port.enqueue_plain(now, frame);
        } else if let Some(arrival) = port.enqueue_plain(now, frame) {
            self.schedule.set(Event::Arrival(id), arrival);
        }
    }

    /// Queues a frame at a first-in first-out port.
    #[inline(always)]
    pub(super) fn enqueue_fifo(&mut self, now: Instant, id: PortId, frame: Frame) -> bool {
        let mut port = &mut self.network.ports[id];
        if !port.surely_fits(frame.octets()) {
            self.network.update_queue(now, id);
            port = &mut self.network.ports[id];
        }
        if !port.admit_fifo(frame.octets()) {
            return false;
        }
        // Where a congestion point stamps telemetry, no departure is ignored.
        let starts = port.ignored_up_to() == 0 && port.queue_len().get() == frame.octets();
        if matches!(port.far_end(), FarEnd::CountingSink) {
            if port.ring().is_full() {
                self.make_room(now, id);
                port = &mut self.network.ports[id];
            }
            port.transmit(now, frame);
        } else if let Some(arrival) = port.transmit(now, frame) {
            self.schedule.set(Event::Arrival(id), arrival);
        }
        if starts {
            self.network.stamp_first(now, id);
        }
        true
    }

    /// Counts what has reached a counting sink, and has the full ring of its link grow if that frees too little.
    pub(super) fn make_room(&mut self, now: Instant, id: PortId) {
        self.count_delivered(now, id);
        self.network.ports[id].ring_mut().reserve_half();
    }

    #[inline(always)]
    fn enqueue_by_class(&mut self, now: Instant, id: PortId, queues: QueuesId, frame: Frame) -> bool {
        let Network { ports, queues: of_ports, inputs, routes, .. } = &mut self.network;
        let of_port = &mut of_ports[queues];
        if !ports[id].admit(of_port.of_class(frame.class()).octets, frame.octets()) {
            of_port.of_class_mut(frame.class()).dropped_frames += 1;
            return false;
        }
        let input = of_port.counts(&frame).then(|| inputs[routes.input_of(&frame)].position);
        of_port.enqueue(frame, input);
        if of_port.is_idle() {
            self.start_transmission(now, queues);
        }
        true
    }

    /// Counts a data frame that a queue has not taken, if a watchdog or a link that is down is to blame.
    #[cold]
    fn count_why_dropped(&mut self, id: PortId, queues: QueuesId, frame: &Frame) {
        let counters = &mut self.recording.counters;
        if self.network.queues[queues].drops(frame.class()) {
            counters.watchdog_drops += 1;
        } else if self.network.ports[id].is_down() {
            counters.link_drops += 1;
        }
    }

    /// A frame does not fit the queue of a port.
    #[cold]
    fn drop_frame(&mut self, now: Instant, id: PortId, frame: &Frame) {
        if frame.is(flag::NOT_DATA) { self.drop_control(now, *frame) } else { self.drop_data(now, id, frame) }
    }

    /// A data frame does not fit the queue of a port.
    #[cold]
    fn drop_data(&mut self, now: Instant, id: PortId, frame: &Frame) {
        if frame.is(flag::BUFFERED) {
            self.free(now, frame);
        }
        self.lose_data(now, id, frame);
    }

    /// Pauses the link that a frame came in over, or others too, if it found a long output queue and that is the rule.
    #[inline(never)]
    fn check_pause_threshold(&mut self, now: Instant, output: PortId, frame: &Frame, queued: u64) {
        let ingress = self.network.ingress_port(frame);
        let Some(input) = self.network.ports[ingress].input() else { return };
        let Some(pause) = &self.network.inputs[input].pause else { return };
        let PauseRule::Threshold { threshold, stops, .. } = pause.sender.plan.rule else { return };
        if queued < threshold.get() {
            return;
        }
        self.pause_input(now, input, output, frame, queued);
        if stops == PauseTarget::Arriving {
            return;
        }
        let node = self.network.links[ingress].to;
        for link in 0..self.network.nodes[node].outputs.len() {
            let into = self.network.links[self.network.nodes[node].outputs[link]].reverse;
            if let Some(other) = into.and_then(|port| self.network.ports[port].input())
                && (stops == PauseTarget::All || self.network.queued_from(output, other, u8::MAX) > 0)
            {
                self.pause_input(now, other, output, frame, queued);
            }
        }
    }

    /// Pauses a link because of a frame that found a long queue at `output`, unless much of its last pause is left.
    fn pause_input(&mut self, now: Instant, input: InputId, output: PortId, frame: &Frame, queued: u64) {
        if let Some(pause) = &self.network.inputs[input].pause
            && let Some(queues) = self.network.ports[pause.reverse].queues()
        {
            let queues = &self.network.queues[queues];
            if let Some(group) =
                pause.sender.threshold_reached(now, frame.link_class(), queued, |quanta| queues.quanta_ps(quanta))
            {
                self.send_xoff(now, input, group, Some(output));
            }
        }
    }
}
