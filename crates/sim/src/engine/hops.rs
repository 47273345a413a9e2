//! A frame's way: off a link, into the next queue, out of it, onto the next link.

use super::Engine;
use super::entities::END;
use crate::frame::{Frame, flag};
use crate::plan::PauseRule;
use crate::port::{NONE, rescaled};
use crate::turns::Sending;
use crate::wheel::Entity;
use qcnlab_schemes::{Arrival, CongestionPoint, CpAction, CpFastPath, CpId, FlowId, Queue};
use qcnlab_units::{BitRate, Bytes, Instant};

/// Octets of a pause frame.
const PAUSE_FRAME: u64 = 64;

impl Engine {
    /// The oldest frame on a link reaches its far end.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, index: u32) {
        let mut port = &mut self.ports[index as usize];
        if port.acts {
            self.settle(now, index);
            port = &mut self.ports[index as usize];
        }
        if port.feeder != NONE && port.ring().is_empty() {
            let frame = self.pass_link(now, index);
            return self.arrived(now, index, frame);
        }
        let frame = port.take_arrived();
        if let Some(next) = port.next_arrival() {
            self.wheel.set(self.entities.arrive + index, next);
        } else if port.feeder != NONE {
            let feeder = port.feeder;
            self.expect(feeder);
        }
        self.arrived(now, index, frame);
    }

    /// A frame is at the far end of a link.
    #[inline(always)]
    fn arrived(&mut self, now: Instant, index: u32, mut frame: Frame) {
        let port = &self.ports[index as usize];
        let left = now.ps() - port.delay().ps();
        frame.clear(flag::HELD);
        if port.input != NONE && !self.hold(now, index, &mut frame) {
            return;
        }
        if frame.is(flag::BACK | flag::LETTER) {
            return self.extra_arrived(now, frame);
        }
        let path = self.paths[frame.path() as usize];
        frame.go_ahead();
        if frame.hop() < path.len {
            let next = self.route_ports[(path.start + u32::from(frame.hop())) as usize];
            self.forward(now, next, frame);
        } else {
            self.recorder.count_left(path.end, path.member, left, frame.octets());
            self.tallies[path.flow as usize].deliver(now, frame.octets());
            if frame.is(flag::SEGMENT) || !self.notifications.is_empty() {
                self.received(now, path.flow, frame);
            }
        }
    }

    /// A data frame arrives at a port's queue; a congestion point there looks at it.
    #[inline]
    pub(super) fn forward(&mut self, now: Instant, index: u32, frame: Frame) {
        let port = &mut self.ports[index as usize];
        if port.turns != NONE {
            return self.forward_for_a_turn(now, index, frame);
        }
        let cp = port.cp;
        let admitted = self.enqueue(now, index, frame);
        if !admitted {
            self.discard(now, index, &frame);
        }
        if cp != NONE && !self.lets_pass(cp, &frame, admitted) {
            self.settle(now, index);
            let len = self.ports[index as usize].queue_len();
            self.show(now, index, cp, frame, len, admitted);
        }
    }

    /// As [`forward`](Engine::forward), for a port whose frames take turns.
    fn forward_for_a_turn(&mut self, now: Instant, index: u32, frame: Frame) {
        let admitted = self.enqueue_for_a_turn(now, index, frame);
        if !admitted {
            self.discard(now, index, &frame);
        }
        let turns = self.ports[index as usize].turns;
        let class = self.turns[turns as usize].class_ref(frame.class());
        let (cp, len) = (class.cp, class.octets);
        if frame.is(flag::HELD) {
            self.ask_for_pause(now, index, &frame, len);
        }
        if cp != NONE && !self.lets_pass(cp, &frame, admitted) {
            self.show(now, index, cp, frame, Bytes::new(len), admitted);
        }
    }

    /// Whether a congestion point need not be shown an arrival.
    #[inline(always)]
    fn lets_pass(&mut self, cp: u32, frame: &Frame, admitted: bool) -> bool {
        let size = Bytes::new(frame.octets());
        self.watches[cp as usize].cp.count_only(frame.is(flag::CONTROLLED), admitted, size)
    }

    /// Shows an arrival to the congestion point that watches its queue.
    #[inline(always)]
    fn show(&mut self, now: Instant, index: u32, cp: u32, frame: Frame, len: Bytes, admitted: bool) {
        let port = &self.ports[index as usize];
        let arrival = Arrival {
            flow: FlowId(self.paths[frame.path() as usize].flow),
            size: Bytes::new(frame.octets()),
            admitted,
            controlled: frame.is(flag::CONTROLLED),
            cn_tagged: frame.is(flag::CN_TAGGED),
            limited_by: frame.limited_by().checked_sub(1).map(|cp| CpId(u32::from(cp))),
            probe: frame.is(flag::SPECIAL),
            mark: frame.mark(),
        };
        let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
        let watch = &mut self.watches[cp as usize];
        match watch.cp.on_arrival(now, &arrival, queue, &mut watch.dice) {
            CpAction::Nothing => {}
            CpAction::Send(signal) => self.send_back(now, index, frame, signal),
            CpAction::Mark(mark) if admitted => self.mark_newest(index, frame.class(), mark),
            CpAction::Mark(_) => {}
        }
    }

    /// Queues a frame and keeps the port's one event; false when it does not fit.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, now: Instant, index: u32, frame: Frame) -> bool {
        let mut port = &mut self.ports[index as usize];
        if port.turns != NONE {
            return self.enqueue_for_a_turn(now, index, frame);
        }
        if port.departures || !port.surely_fits(frame.octets()) {
            self.settle(now, index);
            port = &mut self.ports[index as usize];
        }
        if port.counted {
            if port.ring().is_full() {
                self.count_arrived(now, index);
                port = &mut self.ports[index as usize];
                port.ring_mut().make_room();
            }
            return port.enqueue(now, frame);
        }
        let idle = port.next_arrival().is_none();
        let admitted = port.enqueue(now, frame);
        if idle && let Some(arrival) = port.next_arrival() {
            self.wheel.set(self.entities.arrive + index, arrival);
        }
        admitted
    }

    fn enqueue_for_a_turn(&mut self, now: Instant, index: u32, frame: Frame) -> bool {
        let port = &mut self.ports[index as usize];
        let place = port.turns;
        let turns = &mut self.turns[place as usize];
        if !port.admit(turns.class(frame.class()).octets, frame.octets()) {
            return false;
        }
        turns.push(frame);
        if turns.sending == Sending::Nothing {
            self.next_turn(now, place);
        }
        true
    }

    /// Starts the next transmission of an idle port whose frames take turns, if one may start.
    pub(super) fn next_turn(&mut self, now: Instant, place: u32) {
        let turns = &mut self.turns[place as usize];
        let port = &self.ports[turns.port as usize];
        if let Some(pause) = turns.pauses.pop_front() {
            turns.pause_frames += 1;
            turns.sending = Sending::Pause(pause);
            turns.ends = now.ps() + port.transmission(PAUSE_FRAME);
            return self.wheel.set(END + place, turns.ends);
        }
        let ready = if turns.adapter == NONE { 0 } else { self.adapters[turns.adapter as usize].ready };
        let mut goes_on = u64::MAX;
        for (number, class) in (0u8..).zip(&turns.classes) {
            let at_adapter = ready & 1 << class.number != 0;
            if class.frames.is_empty() && !at_adapter {
                continue;
            }
            if class.stopped_until > now.ps() {
                goes_on = goes_on.min(class.stopped_until);
                continue;
            }
            if class.frames.is_empty() {
                return self.wheel.set(self.entities.adapter + turns.adapter, now.ps());
            }
            let size = class.frames.at(class.frames.head()).octets();
            turns.sending = Sending::Head(number);
            turns.ends = now.ps() + port.transmission(size);
            return self.wheel.set(END + place, turns.ends);
        }
        if goes_on < u64::MAX {
            self.wheel.set(END + place, goes_on);
        }
    }

    /// A transmission ends, or a stopped class may go on.
    pub(super) fn transmission_ends(&mut self, now: Instant, place: Entity) {
        let turns = &mut self.turns[place as usize];
        match turns.sending {
            Sending::Nothing => self.go_on(now, place),
            Sending::Head(class) => {
                let index = turns.port;
                let (mut frame, left, cp) = turns.take_sent(class);
                if frame.is(flag::HELD) {
                    self.release_held(now, &frame);
                    frame.clear(flag::HELD);
                }
                let port = &mut self.ports[index as usize];
                if port.marks_departures && cp != NONE {
                    let queue = Queue { len: Bytes::new(left), capacity: port.capacity(), rate: port.rate() };
                    self.watches[cp as usize].mark_departed(now, &mut frame, queue);
                }
                port.put_on_the_wire(now, frame);
                if port.counted {
                    if port.ring().is_full() {
                        self.count_arrived(now, index);
                        self.ports[index as usize].ring_mut().make_room();
                    }
                } else if let Some(arrival) = port.next_arrival() {
                    self.wheel.set(self.entities.arrive + index, arrival);
                }
                let port = &self.ports[index as usize];
                if port.departures && cp != NONE {
                    self.watches[cp as usize].cp.on_departure(now, Bytes::new(left));
                }
                if self.turns[place as usize].sending == Sending::Nothing {
                    self.go_on(now, place);
                }
            }
            Sending::Pause(pause) => {
                turns.sending = Sending::Nothing;
                let works = now.ps() + turns.pause_delay;
                turns.under_way.push_back((works, pause));
                if turns.under_way.len() == 1 {
                    self.wheel.set(self.entities.pause + place, works);
                }
                self.go_on(now, place);
            }
        }
    }

    /// Between two transmissions: the next starts, or turns are over.
    fn go_on(&mut self, now: Instant, place: u32) {
        if !self.leave_turns(now, place) {
            self.next_turn(now, place);
        }
    }

    /// The rest of the transmission goes at the new rate.
    pub(super) fn rescale_turn(&mut self, now: Instant, place: u32, old: BitRate) {
        let turns = &mut self.turns[place as usize];
        if turns.sending != Sending::Nothing {
            let new = self.ports[turns.port as usize].rate();
            turns.ends = now.ps() + rescaled(turns.ends - now.ps(), old, new);
            self.wheel.set(END + place, turns.ends);
        }
    }

    /// Takes what has left out of a port's queue, and shows each departure to a congestion point that wants it.
    #[inline(always)]
    pub(super) fn settle(&mut self, now: Instant, index: u32) {
        let port = &mut self.ports[index as usize];
        if !port.acts || port.turns != NONE {
            return port.settle(now);
        }
        self.settle_each(now, index);
    }

    fn settle_each(&mut self, now: Instant, index: u32) {
        if !self.ports[index as usize].departures {
            return self.free_departed(now, index);
        }
        while let Some(left) = self.ports[index as usize].leave_next(now) {
            let port = &mut self.ports[index as usize];
            let (watch, len) = (&mut self.watches[port.cp as usize], port.queue_len());
            if port.marks_departures {
                let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
                watch.mark_departed(left, port.left_last(), queue);
            }
            watch.cp.on_departure(left, len);
        }
    }

    /// A data frame found no room in the queue of `index`.
    #[cold]
    fn discard(&mut self, now: Instant, index: u32, frame: &Frame) {
        if frame.is(flag::HELD) {
            self.release_held(now, frame);
        }
        self.count_discarded(now, index, frame);
    }

    pub(super) fn count_discarded(&mut self, now: Instant, index: u32, frame: &Frame) {
        let flow = self.paths[frame.path() as usize].flow;
        self.tallies[flow as usize].dropped += 1;
        self.recorder.on_drop(now, index, flow, frame.octets());
    }

    /// Writes a mark on the frame that was queued last.
    fn mark_newest(&mut self, index: u32, class: u8, mark: u8) {
        let port = &mut self.ports[index as usize];
        let ring = match port.turns {
            NONE => port.ring_mut(),
            turns => &mut self.turns[turns as usize].class(class).frames,
        };
        let newest = ring.at_mut(ring.tail().wrapping_sub(1));
        newest.write_mark(mark);
    }

    /// An arrival at a long output queue stops the link it came over, where that is the rule.
    #[inline]
    fn ask_for_pause(&mut self, now: Instant, index: u32, frame: &Frame, queued: u64) {
        let place = self.ports[self.came_by(frame) as usize].input;
        let input = &self.inputs[place as usize];
        if let Some(gate) = &input.gate
            && let PauseRule::Threshold { .. } = gate.plan.rule
        {
            let turns = &self.turns[self.ports[gate.back as usize].turns_at as usize];
            if let Some(lane) = input.must_ask(now, frame.class(), queued, |quanta| turns.quanta_ps(quanta)) {
                self.stop_lane(now, place, lane, Some(index));
            }
        }
    }
}
