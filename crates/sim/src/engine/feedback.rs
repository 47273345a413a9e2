//! What travels besides data: signals back to sources, probes ahead.

use super::{Engine, Letter};
use crate::frame::{Frame, Parts, flag};
use crate::plan::Feedback;
use crate::port::NONE;
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{
    CongestionPoint, Delivered, NotificationPoint, Observation, Probe, ProbeAction, Queue, ReactionPoint, Signal,
    SonarObservation,
};
use qcnlab_units::{Bytes, Instant, Span};

impl Engine {
    /// A signal starts its way from `port` to the source of `frame`.
    #[cold]
    pub(super) fn send_back(&mut self, now: Instant, port: u32, frame: Frame, signal: Signal) {
        self.counters.messages_sent += 1;
        self.recorder.on_message(now, port, self.paths[frame.path() as usize].flow, signal);
        match self.feedback {
            Feedback::Ideal => {
                let way = &self.ports_of(frame.path())[..usize::from(frame.hop())];
                let at = way.iter().fold(now, |at, port| at + self.ports[*port as usize].delay());
                self.deliver_at(at, self.limiter_of(frame), signal);
            }
            Feedback::Frames { size, class } => {
                let letter = self.letter(Letter::Signal(signal), size, class, frame.path(), frame.hop(), flag::BACK);
                self.post(now, letter);
            }
        }
    }

    fn limiter_of(&self, frame: Frame) -> u32 {
        self.senders[self.paths[frame.path() as usize].flow as usize].limiter
    }

    /// A frame that carries a letter.
    fn letter(&mut self, says: Letter, size: Bytes, class: u8, path: u32, hop: u8, back: u8) -> Frame {
        let tag = self.free_letters.pop().unwrap_or(self.letters.len() as u32);
        if tag as usize == self.letters.len() {
            self.letters.push(says);
        } else {
            self.letters[tag as usize] = says;
        }
        let flags = flag::LETTER | back;
        Frame::new(Parts { size: size.get() as u16, class, path, hop, tag, flags, limited_by: 0 })
    }

    /// Ideal feedback: puts the signal in line for its limiter.
    fn deliver_at(&mut self, at: Instant, limiter: u32, signal: Signal) {
        let line = &mut self.under_way[limiter as usize];
        let place = line.partition_point(|entry| entry.0 <= at);
        line.insert(place, (at, signal));
        if place == 0 {
            self.wheel.set(self.entities.signal + limiter, at.ps());
        }
    }

    /// The next signal in line reaches its limiter.
    pub(super) fn hear_next(&mut self, now: Instant, limiter: u32) {
        let line = &mut self.under_way[limiter as usize];
        let Some((_, signal)) = line.pop_front() else { return };
        if let Some((at, _)) = line.front() {
            self.wheel.set(self.entities.signal + limiter, at.ps());
        }
        self.hear(now, limiter, &signal);
    }

    /// A frame that travels back starts at its node; one whose way back is no way at all is there.
    pub(super) fn post(&mut self, now: Instant, frame: Frame) {
        if frame.hop() > 0 {
            self.count_made(&frame);
        }
        self.go_back(now, frame);
    }

    /// The node at which a frame that travels back is.
    fn node_of(&self, frame: &Frame) -> u32 {
        match usize::from(frame.hop()) {
            0 => self.nodes[self.ports_of(frame.path())[0] as usize].0,
            hop => self.nodes[self.ports_of(frame.path())[hop - 1] as usize].1,
        }
    }

    fn count_made(&mut self, frame: &Frame) {
        let node = self.node_of(frame);
        self.extra[node as usize].0 += frame.octets();
    }

    /// A frame that travels back queues for the next link, or is there.
    fn go_back(&mut self, now: Instant, frame: Frame) {
        let Some(before) = usize::from(frame.hop()).checked_sub(1) else {
            return self.extra_is_there(now, frame);
        };
        let back = self.peers[self.ports_of(frame.path())[before] as usize];
        assert!(back != NONE, "a link that something travels back over has two directions");
        if !self.enqueue(now, back, frame) {
            self.drop_extra(now, frame);
        }
    }

    /// A letter or an acknowledgement reaches the far end of a link.
    pub(super) fn extra_arrived(&mut self, now: Instant, mut frame: Frame) {
        if frame.is(flag::BACK) {
            frame.go_back();
            if frame.hop() == 0 {
                let host = self.node_of(&frame);
                self.extra[host as usize].1 += frame.octets();
                if frame.is(flag::HELD) {
                    self.release_held(now, &frame);
                }
            }
            return self.go_back(now, frame);
        }
        frame.go_ahead();
        if frame.hop() < self.paths[frame.path() as usize].len {
            return self.probe_on(now, frame);
        }
        let host = self.nodes[*self.ports_of(frame.path()).last().expect("a way has links") as usize].1;
        self.extra[host as usize].1 += frame.octets();
        let Letter::Probe(probe) = self.take_letter(frame.tag()) else {
            unreachable!("only probes travel ahead");
        };
        self.counters.probes_ended += 1;
        self.probe_at_destination(now, frame, &probe);
    }

    fn probe_at_destination(&mut self, now: Instant, frame: Frame, probe: &Probe) {
        let flow = self.paths[frame.path() as usize].flow;
        let answer = self.notifications.get_mut(flow as usize).and_then(|np| np.on_probe(now, probe));
        if let Some(signal) = answer {
            let last = *self.ports_of(frame.path()).last().expect("a way has links");
            let hop = self.paths[frame.path() as usize].len;
            self.send_back(now, last, frame.at_hop(hop), signal);
        }
    }

    /// A probe arrives at the next port of its way.
    fn probe_on(&mut self, now: Instant, frame: Frame) {
        let index = self.ports_of(frame.path())[usize::from(frame.hop())];
        let Letter::Probe(mut probe) = self.letters[frame.tag() as usize] else {
            unreachable!("only probes travel ahead");
        };
        if let Some(signal) = self.show_probe(now, index, frame.path(), &mut probe) {
            self.extra[self.nodes[index as usize].0 as usize].1 += frame.octets();
            self.take_letter(frame.tag());
            self.counters.probes_ended += 1;
            if frame.is(flag::HELD) {
                self.release_held(now, &frame);
            }
            return self.send_back(now, index, frame, signal);
        }
        self.letters[frame.tag() as usize] = Letter::Probe(probe);
        if !self.enqueue(now, index, frame) {
            self.drop_extra(now, frame);
        }
    }

    /// Shows a probe to the congestion point of a port, for the class of the probe's flow.
    fn show_probe(&mut self, now: Instant, index: u32, path: u32, probe: &mut Probe) -> Option<Signal> {
        self.settle(now, index);
        let port = &self.ports[index as usize];
        let (cp, len) = match port.turns {
            NONE => (port.cp, port.queue_len()),
            turns => {
                let number = self.senders[self.paths[path as usize].flow as usize].class;
                let class = self.turns[turns as usize].class_ref(number);
                (class.cp, Bytes::new(class.octets))
            }
        };
        let queue = Queue { len, capacity: port.capacity(), rate: port.rate() };
        match self.watches.get_mut(cp as usize)?.cp.on_probe(now, probe, queue) {
            ProbeAction::Pass => None,
            ProbeAction::Answer(signal) => Some(signal),
        }
    }

    /// Sends the probes a reaction point has.
    pub(super) fn send_probes(&mut self, now: Instant, limiter: u32) {
        while let Some(probe) = self.reactions[limiter as usize].rp.take_probe(now) {
            self.counters.probes_sent += 1;
            let flow = self.reactions[limiter as usize].flow;
            let path = self.senders[flow as usize].first_path;
            match self.feedback {
                Feedback::Ideal => self.probe_ideally(now, path, probe),
                Feedback::Frames { size, .. } => {
                    // In the class of its flow: it measures the queue that the flow's frames wait in.
                    let class = self.senders[flow as usize].class;
                    let frame = self.letter(Letter::Probe(probe), size, class, path, 0, 0);
                    self.count_made(&frame);
                    self.probe_on(now, frame);
                }
            }
        }
    }

    /// Ideal feedback: a probe sees every queue as it is now; the answer comes after the propagation of both ways.
    fn probe_ideally(&mut self, now: Instant, path: u32, mut probe: Probe) {
        self.counters.probes_ended += 1;
        let mut way = Span::ZERO;
        for hop in 0..self.paths[path as usize].len {
            let index = self.ports_of(path)[usize::from(hop)];
            if let Some(signal) = self.show_probe(now, index, path, &mut probe) {
                return self.answer_ideally(now, index, path, way, signal);
            }
            way = way + self.ports[index as usize].delay();
        }
        let flow = self.paths[path as usize].flow;
        let answer = self.notifications.get_mut(flow as usize).and_then(|np| np.on_probe(now, &probe));
        if let Some(signal) = answer {
            let last = *self.ports_of(path).last().expect("a way has links");
            self.answer_ideally(now, last, path, way, signal);
        }
    }

    fn answer_ideally(&mut self, now: Instant, port: u32, path: u32, way: Span, signal: Signal) {
        self.counters.messages_sent += 1;
        let flow = self.paths[path as usize].flow;
        self.recorder.on_message(now, port, flow, signal);
        self.deliver_at(now + way + way, self.senders[flow as usize].limiter, signal);
    }

    /// A data frame reached its destination, which may answer.
    pub(super) fn received(&mut self, now: Instant, flow: u32, frame: Frame) {
        if let Some(np) = self.notifications.get_mut(flow as usize) {
            let delivered = Delivered {
                size: Bytes::new(frame.octets()),
                mark: frame.mark(),
                controlled: frame.is(flag::CONTROLLED),
            };
            if let Some(signal) = np.on_frame(now, &delivered) {
                let port = *self.ports_of(frame.path()).last().expect("a way has links");
                self.send_back(now, port, frame, signal);
            }
        }
        if frame.is(flag::SEGMENT) {
            self.segment_received(now, flow, frame);
        }
    }

    /// What travels back is there.
    fn extra_is_there(&mut self, now: Instant, frame: Frame) {
        if frame.is(flag::ACK) {
            self.counters.acks_heard += 1;
            return self.acknowledged(now, self.paths[frame.path() as usize].flow, frame.tag());
        }
        let Letter::Signal(signal) = self.take_letter(frame.tag()) else {
            unreachable!("only signals travel back");
        };
        self.hear(now, self.limiter_of(frame), &signal);
    }

    fn take_letter(&mut self, tag: u32) -> Letter {
        self.free_letters.push(tag);
        self.letters[tag as usize]
    }

    /// A letter or an acknowledgement found no room in a queue.
    fn drop_extra(&mut self, now: Instant, frame: Frame) {
        if frame.is(flag::HELD) {
            self.release_held(now, &frame);
        }
        self.lose_extra(frame);
    }

    /// A letter or an acknowledgement is lost.
    pub(super) fn lose_extra(&mut self, frame: Frame) {
        if frame.is(flag::ACK) {
            self.counters.acks_lost += 1;
            return;
        }
        match self.take_letter(frame.tag()) {
            Letter::Signal(_) => self.counters.messages_lost += 1,
            Letter::Probe(_) => self.counters.probes_ended += 1,
        }
    }

    /// A reaction point hears a signal.
    fn hear(&mut self, now: Instant, limiter: u32, signal: &Signal) {
        self.counters.messages_heard += 1;
        self.let_go_of(now, limiter);
        let reaction = &mut self.reactions[limiter as usize];
        reaction.rp.on_signal(now, signal, &mut reaction.dice);
        self.follow(now, limiter);
    }

    /// A reaction point's time has come.
    pub(super) fn wake(&mut self, now: Instant, entity: u32) {
        if entity >= self.entities.transport - self.entities.wake {
            return self.transport_wakes(now, entity - (self.entities.transport - self.entities.wake));
        }
        self.let_go_of(now, entity);
        let reaction = &mut self.reactions[entity as usize];
        if reaction.wake != now {
            return;
        }
        reaction.wake = Instant::NEVER;
        let before = alarms(&reaction.rp);
        reaction.rp.on_wake(now, &mut reaction.dice);
        if let Some(after) = alarms(&reaction.rp)
            && before.is_none_or(|before| before.alarms != after.alarms)
        {
            self.count_alarm(now, entity, after.asked_at);
        }
        self.follow(now, entity);
    }

    /// A reaction point took silence for bandwidth: has there been some all along its way since it asked?
    #[cold]
    fn count_alarm(&mut self, now: Instant, limiter: u32, asked_at: Instant) {
        self.counters.alarms += 1;
        let reaction = &self.reactions[limiter as usize];
        let path = self.senders[reaction.flow as usize].first_path;
        let mut missing = false;
        for hop in 0..self.paths[path as usize].len {
            let index = self.ports_of(path)[usize::from(hop)];
            self.settle(now, index);
            let port = &self.ports[index as usize];
            let class = self.senders[self.reactions[limiter as usize].flow as usize].class;
            let cp = match port.turns {
                NONE => port.cp,
                turns => self.turns[turns as usize].class_ref(class).cp,
            };
            if let Some(watch) = self.watches.get(cp as usize) {
                missing |= watch.cp.no_bandwidth_since(now).is_some_and(|since| since <= asked_at);
            }
        }
        self.counters.false_alarms += u64::from(missing);
    }

    /// Carries a reaction point's state over to its limiter and its timer.
    fn follow(&mut self, now: Instant, limiter: u32) {
        let reaction = &mut self.reactions[limiter as usize];
        reaction.follow_wake(&mut self.wheel, self.entities.wake + limiter);
        if reaction.follow_limit(now) {
            self.limiter_changed(now, limiter);
        }
        if self.probes {
            self.send_probes(now, limiter);
        }
    }
}

/// What a limiter of QCN-SONAR has concluded from silence; `None` for other schemes.
fn alarms(rp: &AnyRp) -> Option<SonarObservation> {
    match rp.observation()? {
        Observation::Sonar(sonar) => Some(sonar),
    }
}
