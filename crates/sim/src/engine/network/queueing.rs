//! A frame comes into a queue, at each kind of port, and past the congestion point there.

use super::Network;
use crate::engine::effects::Counted;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::{Frame, flag};
use crate::ids::{Id, InputId, PortCpId, PortId, QueuesId};
use crate::plan::{PauseRule, PauseTarget, TrimPlan};
use crate::port::{FarEnd, Fifo};
use qcnlab_schemes::{Arrival, CongestionPoint, CpAction, CpFastPath, CpId, Queue, Signal};
use qcnlab_units::{Bytes, Instant};

/// What follows when a frame has moved.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Hop {
    /// Nothing: it waits, or is under way.
    Taken,
    /// It is under way, and so many frames with it over the link of this port to a counting sink that those should be
    /// counted which have arrived.
    LinkFull(PortId),
    /// The congestion point of this port has seen it, or its destination at the end of this port's link, and says something
    /// to its source. The link may be [full](Hop::LinkFull).
    Signal { port: PortId, frame: Frame, signal: Signal, full: bool },
    /// The queue of this port has not taken it, and `shows` it to its congestion point when it is gone or cut.
    Refused { port: PortId, frame: Frame, shows: bool },
    /// It is a control frame at the end of its way.
    Ended(Frame),
}

/// Where a frame finds no room.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum NoRoom {
    /// In the queue of the port that it came to, which `shows` it to its congestion point.
    Queue { shows: bool },
    /// In the memory of the node that it came to over the link of a port; `shown` is what the congestion point is shown that
    /// it was on its way to.
    Memory { shown: Frame },
}

impl Hop {
    /// A congestion point or a destination at `port` answers a frame.
    pub(in crate::engine) const fn signal(port: PortId, frame: Frame, signal: Signal) -> Hop {
        Hop::Signal { port, frame, signal, full: false }
    }
}

/// Whether a queue has taken a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Queued {
    /// It has.
    Taken,
    /// It has, and the link behind it is [full](Hop::LinkFull).
    LinkFull,
    /// It has not.
    Refused,
}

impl Queued {
    /// The same, of this frame and the queue of this port.
    #[inline(always)]
    pub(super) const fn at(self, port: PortId, frame: Frame) -> Hop {
        match self {
            Queued::Taken => Hop::Taken,
            Queued::LinkFull => Hop::LinkFull(port),
            Queued::Refused => Hop::Refused { port, frame, shows: false },
        }
    }
}

impl Network {
    /// As [`forward`](Network::forward), at a first-in first-out port.
    #[inline(always)]
    pub(super) fn forward_fifo(
        &mut self,
        now: Instant,
        id: PortId,
        fifo: Fifo,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        let queued = self.enqueue_fifo(now, id, frame, schedule);
        if queued == Queued::Refused {
            let cp = PortCpId::new(fifo.arrivals.number() | frame.all_bits_if_ack());
            let shows = cp != PortCpId::MAX && !self.counts_arrival(cp, &frame, false);
            return Hop::Refused { port: id, frame, shows };
        }
        if let Some(signal) = self.seen_at_fifo(now, id, fifo, frame) {
            return Hop::Signal { port: id, frame, signal, full: queued == Queued::LinkFull };
        }
        queued.at(id, frame)
    }

    /// Shows a queued frame to the congestion point of a first-in first-out port, unless it only counts there; returns the
    /// answer.
    #[inline(always)]
    fn seen_at_fifo(&mut self, now: Instant, id: PortId, fifo: Fifo, frame: Frame) -> Option<Signal> {
        // One branch for both: no congestion point sees acknowledgements, and which frame is one cannot be foreseen.
        let cp = PortCpId::new(fifo.arrivals.number() | frame.all_bits_if_ack());
        if cp == PortCpId::MAX || self.counts_arrival(cp, &frame, true) {
            return None;
        }
        self.update_queue(now, id);
        let len = self.ports[id].queue_len();
        self.show_arrival(now, id, cp, frame, len, true)
    }

    /// As [`forward`](Network::forward), at a port with priority queues.
    pub(super) fn forward_by_class(
        &mut self,
        now: Instant,
        mut id: PortId,
        mut queues: QueuesId,
        mut frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        if frame.is(flag::NOT_DATA) {
            return self.enqueue_control(now, id, queues, frame, schedule);
        }
        let guarded = self.queues[queues].guarded;
        if guarded && self.adaptive.is_some() {
            id = self.adapt(id, &mut frame);
            queues = self.ports[id].queues().expect("a port that is chosen by its queue has priority queues");
        }
        let isolates = guarded && self.queues[queues].isolation.is_some();
        if isolates {
            self.give_isolated_class(now, queues, &mut frame);
        }
        let apart = guarded && self.queues[queues].keeps_apart(frame.class());
        let refused = guarded && self.refuses(id, queues, &frame);
        let queued = match (refused, apart) {
            (true, _) => false,
            (false, true) => self.enqueue_by_flow(now, id, queues, frame, schedule),
            (false, false) if isolates => self.enqueue_isolated(now, id, queues, frame, schedule),
            (false, false) => self.enqueue_by_class(now, id, queues, frame, schedule),
        };
        if !queued {
            let cp = self.queues[queues].of_class(frame.class()).cp;
            let shows = cp.is_some_and(|cp| !self.counts_only(cp, &frame, false));
            return Hop::Refused { port: id, frame, shows };
        }
        match self.seen_by_class(now, id, queues, frame, schedule) {
            Some(signal) => Hop::Signal { port: id, frame, signal, full: false },
            None => Hop::Taken,
        }
    }

    /// Pauses links because of a data frame that came to a priority queue, if that is the rule, and shows it to the queue's
    /// congestion point, unless it only counts there; returns the answer.
    #[inline(always)]
    fn seen_by_class(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Option<Signal> {
        let queue = self.queues[queues].of_class(frame.class());
        let (cp, len) = (queue.cp, queue.octets);
        if self.pauses_by_threshold && frame.is(flag::BUFFERED) {
            self.check_pause_threshold(now, id, &frame, len, schedule);
        }
        let cp = cp?;
        if self.counts_only(cp, &frame, true) {
            return None;
        }
        self.show_arrival(now, id, cp, frame, Bytes::new(len), true)
    }

    /// A data frame that has found no room is gone, or cut: has the congestion point see it that it came to; returns the answer.
    #[inline(always)]
    pub(in crate::engine) fn show_no_room(
        &mut self,
        now: Instant,
        port: PortId,
        frame: Frame,
        no_room: NoRoom,
        schedule: &mut Schedule,
    ) -> Hop {
        let answer = match no_room {
            NoRoom::Queue { shows } if shows || self.pauses_by_threshold => {
                self.show_refused(now, port, frame, shows, schedule).map(|signal| Hop::signal(port, frame, signal))
            }
            NoRoom::Queue { .. } => None,
            NoRoom::Memory { shown } => self.show_discarded(now, shown),
        };
        answer.unwrap_or(Hop::Taken)
    }

    /// A data frame that a port has not taken: pauses links because of it, if that is the rule, and if it `shows` frames, has
    /// the congestion point of its queue see it; returns the answer.
    #[cold]
    fn show_refused(
        &mut self,
        now: Instant,
        id: PortId,
        frame: Frame,
        shows: bool,
        schedule: &mut Schedule,
    ) -> Option<Signal> {
        if let Some(queues) = self.ports[id].queues_in_use()
            && self.pauses_by_threshold
            && frame.is(flag::BUFFERED)
        {
            let len = self.queues[queues].of_class(frame.class()).octets;
            self.check_pause_threshold(now, id, &frame, len, schedule);
        }
        if !shows {
            return None;
        }
        self.update_queue(now, id);
        let (queue, cp) = self.queue_of(id, frame.class());
        self.show_arrival(now, id, cp?, frame, queue.len, false)
    }

    /// Whether a congestion point does not see arrivals, or only counts this one and need not be shown the queue.
    #[inline(always)]
    fn counts_only(&mut self, cp: PortCpId, frame: &Frame, admitted: bool) -> bool {
        !self.cps[cp].sees_arrivals || self.counts_arrival(cp, frame, admitted)
    }

    /// As [`counts_only`](Network::counts_only), of a congestion point that sees arrivals.
    #[inline(always)]
    fn counts_arrival(&mut self, cp: PortCpId, frame: &Frame, admitted: bool) -> bool {
        let size = Bytes::new(frame.octets());
        self.cps[cp].cp.count_only(frame.is(flag::CONTROLLED), admitted, size)
    }

    /// Shows an arrival to the congestion point of its queue, and marks the frame if that says so; returns the signal that
    /// it sends.
    #[inline(always)]
    fn show_arrival(
        &mut self,
        now: Instant,
        id: PortId,
        cp: PortCpId,
        frame: Frame,
        len: Bytes,
        admitted: bool,
    ) -> Option<Signal> {
        let port = &self.ports[id];
        let arrival = Arrival {
            flow: qcnlab_schemes::FlowId(self.flow_of(&frame).number()),
            size: Bytes::new(frame.octets()),
            admitted,
            controlled: frame.is(flag::CONTROLLED),
            cn_tagged: frame.is(flag::CN_TAGGED),
            limited_by: frame.limited_by().checked_sub(1).map(|cp| CpId(u32::from(cp))),
            probe: frame.is(flag::ASKS_BANDWIDTH),
            mark: frame.mark(),
        };
        let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
        let cp = &mut self.cps[cp];
        match cp.cp.on_arrival(now, &arrival, queue, &mut cp.dice) {
            CpAction::Nothing => {}
            CpAction::Send(signal) => {
                cp.sent += 1;
                return Some(signal);
            }
            CpAction::Mark(mark) if admitted => self.mark_newest(id, frame.class(), mark),
            CpAction::Mark(_) => {}
        }
        None
    }

    /// Shows a frame that a full input memory discarded to the congestion point of the queue that it was on its way to;
    /// returns the answer.
    #[cold]
    fn show_discarded(&mut self, now: Instant, frame: Frame) -> Option<Hop> {
        let next = *self.routes.ports_of(frame.path()).get(usize::from(frame.hop()))?;
        let (_, cp) = self.queue_of(next, frame.class());
        let cp = cp?;
        if self.counts_only(cp, &frame, false) {
            return None;
        }
        self.update_queue(now, next);
        let (queue, _) = self.queue_of(next, frame.class());
        let signal = self.show_arrival(now, next, cp, frame, queue.len, false)?;
        Some(Hop::signal(next, frame, signal))
    }

    /// As [`enqueue_unseen`](Network::enqueue_unseen), out of the way of data.
    #[inline(never)]
    fn enqueue_control(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        self.enqueue_unseen(now, id, queues, frame, schedule)
    }

    /// Queues a frame at a port with priority queues; no congestion point is asked.
    #[inline(always)]
    pub(super) fn enqueue_unseen(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        let refused = self.queues[queues].guarded && self.refuses(id, queues, &frame);
        if refused || !self.enqueue_by_class(now, id, queues, frame, schedule) {
            return Hop::Refused { port: id, frame, shows: false };
        }
        Hop::Taken
    }

    /// Queues a frame at a plain port.
    #[inline(always)]
    pub(super) fn enqueue_plain(&mut self, now: Instant, id: PortId, frame: Frame, schedule: &mut Schedule) -> Queued {
        let port = &mut self.ports[id];
        let arrival = port.enqueue_plain(now, frame);
        if matches!(port.far_end(), FarEnd::CountingSink) {
            if port.ring().is_full() {
                return Queued::LinkFull;
            }
        } else if let Some(arrival) = arrival {
            schedule.set(Event::Arrival(id), arrival);
        }
        Queued::Taken
    }

    /// Queues a frame at a first-in first-out port.
    #[inline(always)]
    pub(super) fn enqueue_fifo(&mut self, now: Instant, id: PortId, frame: Frame, schedule: &mut Schedule) -> Queued {
        let mut port = &mut self.ports[id];
        if !port.fits_without_update(frame.octets()) {
            self.update_queue(now, id);
            port = &mut self.ports[id];
        }
        if !port.admit_fifo(frame.octets()) {
            return Queued::Refused;
        }
        // Where a congestion point stamps telemetry, no departure is ignored.
        let starts = port.ignored_up_to() == 0 && port.queue_len().get() == frame.octets();
        let mut queued = Queued::Taken;
        if matches!(port.far_end(), FarEnd::CountingSink) {
            port.transmit(now, frame);
            if port.ring().is_full() {
                queued = Queued::LinkFull;
            }
        } else if let Some(arrival) = port.transmit(now, frame) {
            schedule.set(Event::Arrival(id), arrival);
        }
        if starts {
            self.stamp_first(now, id);
        }
        queued
    }

    #[inline(always)]
    fn enqueue_by_class(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> bool {
        if !self.queue_by_class(id, queues, frame) {
            return false;
        }
        if self.queues[queues].is_idle() {
            self.start_transmission(now, queues, schedule);
        }
        true
    }

    /// Puts a frame into the queue of its class, if there is room; returns whether.
    #[inline(always)]
    pub(super) fn queue_by_class(&mut self, id: PortId, queues: QueuesId, frame: Frame) -> bool {
        let Network { ports, queues: of_ports, inputs, routes, .. } = self;
        let of_port = &mut of_ports[queues];
        if !ports[id].admit(of_port.of_class(frame.class()).octets, frame.octets()) {
            of_port.of_class_mut(frame.class()).dropped_frames += 1;
            return false;
        }
        let input = of_port.counts(&frame).then(|| inputs[routes.input_of(&frame)].slot);
        of_port.enqueue(frame, input);
        true
    }

    /// Queues a data frame at a port that isolates flows, and tells the neighbour that it came from of its flow, if that is due;
    /// returns whether there is room.
    #[cold]
    fn enqueue_isolated(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> bool {
        if !self.queue_by_class(id, queues, frame) {
            return false;
        }
        if frame.is(flag::CONTROLLED) {
            self.isolated_frame_queued(now, id, queues, frame, schedule);
        }
        if self.queues[queues].is_idle() {
            self.start_transmission(now, queues, schedule);
        }
        true
    }

    /// Of a data frame that has found no room, what else it counts as (a watchdog or a link that is down is to blame), and how
    /// it is cut, if its node does that.
    #[inline(always)]
    pub(in crate::engine) fn about_no_room(
        &self,
        id: PortId,
        frame: &Frame,
        no_room: NoRoom,
    ) -> (Option<Counted>, Option<TrimPlan>) {
        if let NoRoom::Memory { .. } = no_room {
            return (None, self.cut_on_the_way(frame));
        }
        let Some(queues) = self.ports[id].queues_in_use() else { return (None, None) };
        let queues = &self.queues[queues];
        if queues.drops(frame.class()) {
            return (Some(Counted::WatchdogDrop), None);
        }
        (self.ports[id].is_down().then_some(Counted::LinkDrop), queues.trim)
    }

    /// How a packet is cut that the memory of its node has no room for, if the port by which it would go on does that.
    fn cut_on_the_way(&self, frame: &Frame) -> Option<TrimPlan> {
        let output = self.routes.ports_of(frame.path()).get(usize::from(frame.hop()))?;
        let queues = &self.queues[self.ports[*output].queues()?];
        queues.trim.filter(|_| !queues.drops(frame.class()))
    }

    /// Whether a queue drops a frame that comes to it, whatever room it has.
    #[cold]
    fn refuses(&mut self, id: PortId, queues: QueuesId, frame: &Frame) -> bool {
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

    /// Writes a mark on the frame that was queued last.
    fn mark_newest(&mut self, id: PortId, class: u8, mark: u8) {
        let port = &mut self.ports[id];
        let ring = match port.queues_in_use() {
            Some(queues) => &mut self.queues[queues].of_class_mut(class).frames,
            None => port.ring_mut(),
        };
        let newest = ring.tail().wrapping_sub(1);
        ring.at_mut(newest).write_mark(mark);
    }

    /// Pauses the link that a frame came in over, or others too, if it found a long output queue and that is the rule.
    #[inline(never)]
    fn check_pause_threshold(
        &mut self,
        now: Instant,
        output: PortId,
        frame: &Frame,
        queued: u64,
        schedule: &mut Schedule,
    ) {
        let ingress = self.ingress_port(frame);
        let Some(input) = self.ports[ingress].input() else { return };
        let Some(pause) = &self.inputs[input].pause else { return };
        let PauseRule::Threshold { threshold, stops, .. } = pause.sender.plan.rule else { return };
        if queued < threshold.get() {
            return;
        }
        self.pause_input(now, input, output, frame, queued, schedule);
        if stops == PauseTarget::Arriving {
            return;
        }
        let node = self.links[ingress].to;
        for link in 0..self.nodes[node].outputs.len() {
            let into = self.links[self.nodes[node].outputs[link]].reverse;
            if let Some(other) = into.and_then(|port| self.ports[port].input())
                && (stops == PauseTarget::All || self.queued_from(output, other, u8::MAX) > 0)
            {
                self.pause_input(now, other, output, frame, queued, schedule);
            }
        }
    }

    /// Pauses a link because of a frame that found a long queue at `output`, unless much of its last pause is left.
    fn pause_input(
        &mut self,
        now: Instant,
        input: InputId,
        output: PortId,
        frame: &Frame,
        queued: u64,
        schedule: &mut Schedule,
    ) {
        if let Some(pause) = &self.inputs[input].pause
            && let Some(queues) = self.ports[pause.reverse].queues()
        {
            let queues = &self.queues[queues];
            if let Some(group) =
                pause.sender.threshold_reached(now, frame.link_class(), queued, |quanta| queues.quanta_ps(quanta))
            {
                self.send_xoff(now, input, group, Some(output), schedule);
            }
        }
    }
}
