//! Sources, limiters and adapters: when the next frame leaves a host.

use super::Engine;
use crate::frame::Frame;
use crate::port::NONE;
use crate::source::Source;
use crate::turns::Sending;
use qcnlab_units::Instant;

impl Engine {
    /// A source that had nothing to send has a frame.
    pub(super) fn generate(&mut self, now: Instant, entity: u32) {
        let flows = self.senders.len() as u32;
        if entity >= flows {
            return self.feed(now, entity - flows);
        }
        let sender = &self.senders[entity as usize];
        match sender.source {
            Source::Tcp(_) => self.pump(now, entity),
            _ if sender.adapter == NONE => self.release_alone(now, entity),
            _ => self.wants(now, entity),
        }
    }

    /// A generator drops a frame into a queue.
    fn feed(&mut self, now: Instant, index: u32) {
        let generator = &mut self.generators[index as usize];
        let flow = generator.pick();
        generator.advance();
        if generator.next < generator.stop {
            self.wheel.set(self.entities.feed + index, generator.next.ps());
        }
        let sender = &mut self.senders[flow as usize];
        let Source::Fed { waiting } = &mut sender.source else {
            unreachable!("a generator feeds flows that are fed");
        };
        if *waiting >= sender.room {
            return self.refuse(now, flow);
        }
        *waiting += 1;
        self.wants(now, flow);
    }

    /// A frame found no room at its source.
    fn refuse(&mut self, at: Instant, flow: u32) {
        let sender = &self.senders[flow as usize];
        self.tallies[flow as usize].refused += 1;
        self.recorder.on_drop(at, sender.port, flow, u64::from(sender.frame));
    }

    /// Brings a source's waiting frames up to date.
    #[inline(always)]
    fn catch_up(&mut self, now: Instant, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        let (recorder, tally) = (&mut self.recorder, &mut self.tallies[flow as usize]);
        let (port, frame) = (sender.port, u64::from(sender.frame));
        sender.source.catch_up(now, sender.stop, sender.room, |at| {
            tally.refused += 1;
            recorder.on_drop(at, port, flow, frame);
        });
    }

    /// A flow may have a frame to send: it gets in line, or is told when to look again.
    pub(super) fn wants(&mut self, now: Instant, flow: u32) {
        let sender = &self.senders[flow as usize];
        if sender.adapter == NONE {
            return self.release_alone(now, flow);
        }
        if sender.in_line {
            return;
        }
        self.catch_up(now, flow);
        let sender = &mut self.senders[flow as usize];
        match sender.source.wanted(now, sender.stop) {
            Some(at) if at <= now => {
                sender.in_line = true;
                let limiter = sender.limiter;
                self.reactions[limiter as usize].line.push_back(flow);
                self.advance_line(now, limiter);
            }
            Some(at) => self.wheel.set(self.entities.generate + flow, at.ps()),
            None => {
                if let Some(at) = sender.source.next_tick(sender.stop) {
                    self.wheel.set(self.entities.generate + flow, at.ps());
                }
            }
        }
    }

    /// Lets the first in line at a limiter go to its adapter, now or when the limiter allows.
    fn advance_line(&mut self, now: Instant, limiter: u32) {
        let reaction = &mut self.reactions[limiter as usize];
        if reaction.at_adapter {
            return;
        }
        let Some(flow) = reaction.line.front().copied() else { return };
        let at = reaction.limiter.next();
        if at > now {
            return self.wheel.set(self.entities.release + limiter, at.ps());
        }
        reaction.at_adapter = true;
        let (adapter, class) = (self.senders[flow as usize].adapter, self.senders[flow as usize].class);
        self.adapters[adapter as usize].push(class, flow);
        self.call_adapter(now, adapter);
    }

    /// Has an adapter serve when its link is free.
    fn call_adapter(&mut self, now: Instant, adapter: u32) {
        let port = &self.ports[self.adapters[adapter as usize].port as usize];
        match port.turns {
            NONE => {
                let at = port.busy_until().max(now);
                self.wheel.set(self.entities.adapter + adapter, at.ps());
            }
            turns => {
                if self.turns[turns as usize].sending != Sending::Nothing {
                    return;
                }
                // With others on the link, all that are let go at this instant get in line first.
                if self.adapters[adapter as usize].flows == 1 {
                    self.serve(now, adapter);
                } else {
                    self.next_turn(now, turns);
                }
            }
        }
    }

    /// An adapter's link is free: the first in line sends a frame.
    pub(super) fn serve(&mut self, now: Instant, adapter: u32) {
        let index = self.adapters[adapter as usize].port;
        let port = &self.ports[index as usize];
        let mut classes = u8::MAX;
        match port.turns {
            NONE if port.busy_until() > now => return self.call_adapter(now, adapter),
            NONE => {}
            turns => {
                let turns = &self.turns[turns as usize];
                if turns.sending != Sending::Nothing {
                    return;
                }
                for class in turns.classes.iter().filter(|class| class.stopped_until > now.ps()) {
                    classes &= !(1 << class.number);
                }
            }
        }
        let Some(flow) = self.adapters[adapter as usize].pop(classes) else {
            // All in line are stopped: the port waits until they may go on.
            let turns = self.ports[index as usize].turns;
            if turns != NONE {
                self.next_turn(now, turns);
            }
            return;
        };
        let limiter = self.senders[flow as usize].limiter;
        let reaction = &mut self.reactions[limiter as usize];
        if reaction.limiter.next() > now {
            // It was cut or stopped while it waited for the link.
            reaction.at_adapter = false;
            self.advance_line(now, limiter);
        } else {
            self.send_one(now, flow);
        }
        if self.adapters[adapter as usize].ready == 0 {
            return;
        }
        self.call_adapter(now, adapter);
    }

    /// The flow whose turn it is sends a frame, if it still wants to, and gets in line again.
    fn send_one(&mut self, now: Instant, flow: u32) {
        let limiter = self.senders[flow as usize].limiter;
        let reaction = &mut self.reactions[limiter as usize];
        reaction.line.pop_front();
        reaction.at_adapter = false;
        let sender = &mut self.senders[flow as usize];
        sender.in_line = false;
        // It may have stopped while it waited for the link.
        if sender.source.wanted(now, sender.stop).is_some() {
            self.emit(now, flow);
        }
        self.wants(now, flow);
        self.advance_line(now, limiter);
    }

    /// A frame passes its limiter and goes to its first port.
    fn emit(&mut self, now: Instant, flow: u32) {
        let frame = self.let_one_go(now, flow);
        let sender = &self.senders[flow as usize];
        let (limiter, port) = (sender.limiter, sender.port);
        self.forward(now, port, frame);
        if self.probes {
            self.send_probes(now, limiter);
        }
    }

    /// A frame passes its limiter at `at`.
    #[inline(always)]
    pub(super) fn let_one_go(&mut self, at: Instant, flow: u32) -> Frame {
        self.catch_up(at, flow);
        let sender = &mut self.senders[flow as usize];
        let reaction = &mut self.reactions[sender.limiter as usize];
        let frame = sender.take_frame(at, flow, reaction);
        let tally = &mut self.tallies[flow as usize];
        tally.sent += 1;
        tally.sent_bytes += frame.octets();
        reaction.follow_sent(&mut self.wheel, self.entities.wake + sender.limiter);
        frame
    }

    /// A limiter may let a frame go.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, limiter: u32) {
        let flow = self.reactions[limiter as usize].flow;
        if self.senders[flow as usize].adapter != NONE {
            return self.advance_line(now, limiter);
        }
        self.release_alone(now, flow);
    }

    /// As [`release`](Engine::release), for a flow that is alone on its link.
    fn release_alone(&mut self, now: Instant, flow: u32) {
        let sender = &mut self.senders[flow as usize];
        let tally = &mut self.tallies[flow as usize];
        let (limiter, index) = (sender.limiter, sender.port);
        let (recorder, frame) = (&mut self.recorder, u64::from(sender.frame));
        sender.source.catch_up(now, sender.stop, sender.room, |at| {
            tally.refused += 1;
            recorder.on_drop(at, index, flow, frame);
        });
        let reaction = &mut self.reactions[limiter as usize];
        let port = &mut self.ports[index as usize];
        let mut next = sender.next_release(now, reaction, port);
        if next.is_some_and(|at| at <= now) {
            let frame = sender.take_frame(now, flow, reaction);
            tally.sent += 1;
            tally.sent_bytes += frame.octets();
            reaction.follow_sent(&mut self.wheel, self.entities.wake + limiter);
            if port.plain && !self.probes {
                if let Some(arrival) = port.enqueue_plainly(now, frame) {
                    self.wheel.set(self.entities.arrive + index, arrival);
                }
                next = sender.next_release(now, reaction, port);
            } else {
                self.forward(now, index, frame);
                if self.probes {
                    self.send_probes(now, limiter);
                }
                next = self.next_release(now, flow);
            }
        }
        if let Some(at) = next {
            return self.wheel.set(self.entities.release + limiter, at.ps());
        }
        let sender = &self.senders[flow as usize];
        if let Some(at) = sender.source.next_tick(sender.stop) {
            self.wheel.set(self.entities.generate + flow, at.ps());
        }
    }

    /// When a flow that is alone on its link sends next.
    fn next_release(&self, now: Instant, flow: u32) -> Option<Instant> {
        let sender = &self.senders[flow as usize];
        sender.next_release(now, &self.reactions[sender.limiter as usize], &self.ports[sender.port as usize])
    }

    /// A limiter's rate has changed.
    pub(super) fn limiter_changed(&mut self, now: Instant, limiter: u32) {
        let flow = self.reactions[limiter as usize].flow;
        if self.senders[flow as usize].adapter != NONE {
            return self.advance_line(now, limiter);
        }
        if self.senders[flow as usize].quiet {
            return self.expect(flow);
        }
        if let Some(at) = self.next_release(now, flow) {
            self.wheel.set(self.entities.release + limiter, at.ps());
        }
    }
}
