//! A frame comes to a port: into its queue, and past the congestion point there.

use super::Engine;
use super::recording::Counted;
use crate::frame::{Frame, flag};
use crate::ids::{Id, InputId, PortCpId, PortId, QueuesId};
use crate::plan::{PauseRule, PauseTarget};
use crate::port::{Fifo, Mode};
use qcnlab_schemes::{Arrival, CongestionPoint, CpAction, CpFastPath, CpId, Queue};
use qcnlab_units::{Bytes, Instant};

impl Engine {
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
    fn forward_by_class(&mut self, now: Instant, mut id: PortId, mut queues: QueuesId, mut frame: Frame) {
        if frame.is(flag::NOT_DATA) {
            if !self.enqueue(now, id, frame) {
                self.drop_control(now, frame);
            }
            return;
        }
        let guarded = self.network.queues[queues].guarded;
        if guarded && self.adaptive.is_some() {
            id = self.adapt(id, &mut frame);
            queues = self.network.ports[id].queues().expect("a port that is chosen by its queue has priority queues");
        }
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
    pub(super) fn counts_only(&mut self, cp: PortCpId, frame: &Frame, admitted: bool) -> bool {
        !self.network.cps[cp].sees_arrivals || self.counts_arrival(cp, frame, admitted)
    }

    /// As [`counts_only`](Engine::counts_only), of a congestion point that sees arrivals.
    #[inline(always)]
    fn counts_arrival(&mut self, cp: PortCpId, frame: &Frame, admitted: bool) -> bool {
        let size = Bytes::new(frame.octets());
        self.network.cps[cp].cp.count_only(frame.is(flag::CONTROLLED), admitted, size)
    }

    /// Shows an arrival to the congestion point of its queue, and does what that asks for.
    #[inline(always)]
    pub(super) fn show_arrival(
        &mut self,
        now: Instant,
        id: PortId,
        cp: PortCpId,
        frame: Frame,
        len: Bytes,
        admitted: bool,
    ) {
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

    /// Counts a data frame that a queue has not taken, if a watchdog or a link that is down is to blame.
    #[cold]
    fn count_why_dropped(&mut self, id: PortId, queues: QueuesId, frame: &Frame) {
        if self.network.queues[queues].drops(frame.class()) {
            self.recording.count(Counted::WatchdogDrop);
        } else if self.network.ports[id].is_down() {
            self.recording.count(Counted::LinkDrop);
        }
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
