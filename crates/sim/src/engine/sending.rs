//! Sources, rate limiters and adapters: when the next frame leaves a host.

use super::Engine;
use super::schedule::Event;
use crate::adapter::Adapter;
use crate::ids::{AdapterId, FlowId, GeneratorId, IdVec, LimiterId};
use crate::port::Mode;
use crate::rate_limiter::{Materials, RateLimiters};
use crate::replay::Replay;
use crate::sender::Sender;
use crate::source::{Generator, Source};
use qcnlab_units::Instant;

/// What sends.
pub(super) struct Senders {
    pub(super) flows: IdVec<FlowId, Sender>,
    pub(super) limiters: RateLimiters,
    pub(super) adapters: IdVec<AdapterId, Adapter>,
    pub(super) generators: IdVec<GeneratorId, Generator>,
    /// Replays; their events are numbered behind those of the generators.
    pub(super) replays: Vec<Replay>,
    /// Whether reaction points send probes.
    pub(super) probe: bool,
    /// Whether reaction points hear of pauses.
    pub(super) hear_pauses: bool,
    /// What limiters are made of that are not there from the start.
    pub(super) materials: Materials,
}

impl Engine {
    /// A flow may have a frame to send: it joins the queue of its limiter, or is scheduled for when it has one.
    pub(super) fn request_send(&mut self, now: Instant, flow: FlowId) {
        let sender = &self.senders.flows[flow];
        if sender.adapter.is_none() {
            return match sender.source {
                Source::Roce(_) => self.release_packet(now, flow),
                _ => self.release_alone(now, flow),
            };
        }
        if !sender.waits && self.joins_limiter(now, flow) {
            let limiter = self.senders.flows[flow].limiter;
            self.advance_limiter(now, limiter);
        }
    }

    /// Has a flow that does not wait join the queue of its limiter if it has a frame to send, and schedules it for when
    /// it has one if not; returns whether it joined.
    #[inline(always)]
    fn joins_limiter(&mut self, now: Instant, flow: FlowId) -> bool {
        self.update_source(now, flow);
        let sender = &mut self.senders.flows[flow];
        match sender.source.next_ready(now, sender.stop) {
            Some(at) if at <= now => {
                sender.waits = true;
                self.senders.limiters[sender.limiter].queue.push_back(flow);
                return true;
            }
            Some(at) => self.schedule.set(Event::SourceFrame(flow), at),
            None => {
                if let Some(at) = sender.source.next_arrival(sender.stop) {
                    self.schedule.set(Event::SourceFrame(flow), at);
                }
            }
        }
        false
    }

    /// Sends the first flow in a limiter's queue on to its adapter, now or when the pacer allows.
    fn advance_limiter(&mut self, now: Instant, id: LimiterId) {
        if let Some(adapter) = self.move_to_adapter(now, id) {
            self.schedule_adapter(now, adapter);
        }
    }

    /// As [`advance_limiter`](Engine::advance_limiter); returns the adapter at which the flow waits from now on, which is
    /// not scheduled yet.
    #[inline(always)]
    fn move_to_adapter(&mut self, now: Instant, id: LimiterId) -> Option<AdapterId> {
        let limiter = &mut self.senders.limiters[id];
        if limiter.at_adapter {
            return None;
        }
        let flow = *limiter.queue.front()?;
        let at = limiter.driver.pacer.next();
        if at > now {
            self.schedule.set(Event::Release(id), at);
            return None;
        }
        let sender = &self.senders.flows[flow];
        let adapter = sender.adapter?;
        limiter.at_adapter = true;
        self.senders.adapters[adapter].enqueue(sender.class, flow);
        Some(adapter)
    }

    /// Has an adapter serve when its link is free.
    fn schedule_adapter(&mut self, now: Instant, id: AdapterId) {
        let adapter = &self.senders.adapters[id];
        let port = &self.network.ports[adapter.port];
        match port.mode() {
            // With other frames on the link, all flows that are released at this instant join the adapter first.
            Mode::Queues(queues) if !self.network.queues[queues].is_idle() => {}
            Mode::Queues(_) if adapter.flows == 1 => self.serve_adapter(now, id),
            Mode::Queues(queues) => self.start_transmission(now, queues),
            Mode::Fifo(fifo) if fifo.queues.is_some() && adapter.flows == 1 && port.busy_until() <= now => {
                self.serve_adapter(now, id);
            }
            Mode::Plain | Mode::Alone(_) | Mode::Fifo(_) | Mode::Lazy(_) => {
                self.schedule.set(Event::AdapterService(id), port.busy_until().max(now));
            }
        }
    }

    /// An adapter's link is free: the flow that is next sends a frame.
    pub(super) fn serve_adapter(&mut self, now: Instant, id: AdapterId) {
        let port = &self.network.ports[self.senders.adapters[id].port];
        let (mut classes, mut waits) = (u8::MAX, None);
        match port.mode() {
            Mode::Queues(queues_id) => {
                let queues = &self.network.queues[queues_id];
                if !queues.is_idle() {
                    return;
                }
                for queue in queues.queues.iter().filter(|queue| queue.pause.until() > now.ps()) {
                    classes &= !(1 << queue.class);
                }
                waits = Some(queues_id);
            }
            Mode::Plain | Mode::Alone(_) | Mode::Fifo(_) | Mode::Lazy(_) => {
                if port.busy_until() > now {
                    return self.schedule_adapter(now, id);
                }
            }
        }
        let Some(flow) = self.senders.adapters[id].dequeue(classes) else {
            // All flows that wait are paused: the port waits until one may resume.
            if let Some(queues) = waits {
                self.start_transmission(now, queues);
            }
            return;
        };
        let limiter_id = self.senders.flows[flow].limiter;
        let limiter = &mut self.senders.limiters[limiter_id];
        if limiter.driver.pacer.next() > now {
            // Its rate was cut while it waited for the link.
            limiter.at_adapter = false;
            self.move_from_adapter(now, id, limiter_id);
        } else {
            self.send_from_adapter(now, id, flow);
        }
        if self.senders.adapters[id].ready != 0 {
            self.schedule_adapter(now, id);
        }
    }

    /// The flow that an adapter serves sends a frame, if it still has one, and waits again for the next. The adapter is to
    /// be scheduled after that.
    #[inline(always)]
    fn send_from_adapter(&mut self, now: Instant, id: AdapterId, flow: FlowId) {
        let sender = &mut self.senders.flows[flow];
        sender.waits = false;
        let limiter_id = sender.limiter;
        let limiter = &mut self.senders.limiters[limiter_id];
        limiter.queue.pop_front();
        limiter.at_adapter = false;
        // It may have stopped while it waited for the link.
        if sender.source.next_ready(now, sender.stop).is_some() {
            let port = sender.port;
            let frame = self.pass_limiter(now, flow);
            self.forward(now, port, frame);
            if self.senders.probe {
                self.send_probes(now, limiter_id);
            }
        }
        self.joins_limiter(now, flow);
        self.move_from_adapter(now, id, limiter_id);
    }

    /// As [`advance_limiter`](Engine::advance_limiter), while adapter `id` serves, which is scheduled after that.
    #[inline(always)]
    fn move_from_adapter(&mut self, now: Instant, id: AdapterId, limiter: LimiterId) {
        if let Some(adapter) = self.move_to_adapter(now, limiter)
            && adapter != id
        {
            self.schedule_adapter(now, adapter);
        }
    }

    /// The pacer of a limiter may release a frame.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, limiter: LimiterId) {
        let Some(flow) = self.senders.limiters.get(limiter).map(|limiter| limiter.last_flow) else { return };
        let sender = &self.senders.flows[flow];
        if sender.adapter.is_some() {
            return self.advance_limiter(now, limiter);
        }
        match sender.source {
            Source::Roce(_) => self.release_packet(now, flow),
            _ => self.release_alone(now, flow),
        }
    }

    /// As [`release`](Engine::release), for a flow that is alone on its link and no queue pair.
    fn release_alone(&mut self, now: Instant, flow: FlowId) {
        let (sender, recording) = (&mut self.senders.flows[flow], &mut self.recording);
        let (limiter_id, port_id, size) = (sender.limiter, sender.port, u64::from(sender.frame));
        sender.source.update_waiting(now, sender.stop, sender.room, |at| {
            recording.on_refusal(at, port_id, flow, size);
        });
        let limiter = &mut self.senders.limiters[limiter_id];
        let port = &mut self.network.ports[port_id];
        let mut next = sender.next_release(now, limiter, port);
        if next.is_some_and(|at| at <= now) {
            let frame = sender.next_frame(now, flow, limiter);
            recording.on_sent(flow, frame.octets());
            if limiter.driver.saw_last
                && let Some(wake) = limiter.driver.changed_wake()
            {
                self.schedule.set(Event::RpWake(limiter_id), wake);
            }
            if matches!(port.mode(), Mode::Plain | Mode::Alone(_)) && !self.senders.probe {
                if let Some(arrival) = port.enqueue_plain(now, frame) {
                    self.schedule.set(Event::Arrival(port_id), arrival);
                }
                next = sender.next_release(now, limiter, port);
            } else {
                self.forward(now, port_id, frame);
                if self.senders.probe {
                    self.send_probes(now, limiter_id);
                }
                next = self.next_release(now, flow);
            }
        }
        if let Some(at) = next {
            return self.schedule.set(Event::Release(limiter_id), at);
        }
        let sender = &self.senders.flows[flow];
        if let Some(at) = sender.source.next_arrival(sender.stop) {
            self.schedule.set(Event::SourceFrame(flow), at);
        }
    }

    /// A queue pair that is alone on its link sends a packet, now or when its pacer and the link allow.
    #[inline(never)]
    pub(super) fn release_packet(&mut self, now: Instant, flow: FlowId) {
        let Engine { network, senders, recording, schedule, .. } = self;
        let sender = &mut senders.flows[flow];
        let (limiter_id, port_id) = (sender.limiter, sender.port);
        let limiter = &mut senders.limiters[limiter_id];
        let port = &mut network.ports[port_id];
        let Some(at) = sender.next_release(now, limiter, port) else { return };
        if at > now {
            return schedule.set(Event::Release(limiter_id), at);
        }
        let (frame, timer) = sender.next_packet(now, flow, limiter, &mut network.packets);
        if let Some(timer) = timer {
            schedule.set(Event::TransportTimer(flow), timer);
        }
        recording.on_sent(flow, frame.octets());
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(limiter_id), wake);
        }
        let next = if matches!(port.mode(), Mode::Plain | Mode::Alone(_)) && !senders.probe {
            if let Some(arrival) = port.enqueue_plain(now, frame) {
                schedule.set(Event::Arrival(port_id), arrival);
            }
            sender.next_release(now, limiter, port)
        } else {
            self.forward(now, port_id, frame);
            if self.senders.probe {
                self.send_probes(now, limiter_id);
            }
            self.next_release(now, flow)
        };
        if let Some(at) = next {
            self.schedule.set(Event::Release(limiter_id), at);
        }
    }

    /// The link of a flow that is alone on it was paused, or its rate has changed.
    pub(super) fn link_changed(&mut self, now: Instant, flow: FlowId) {
        if let Some(at) = self.next_release(now, flow) {
            self.schedule.set(Event::Release(self.senders.flows[flow].limiter), at);
        }
    }

    /// When a flow that is alone on its link sends next.
    pub(super) fn next_release(&self, now: Instant, flow: FlowId) -> Option<Instant> {
        let sender = &self.senders.flows[flow];
        sender.next_release(now, self.senders.limiters.get(sender.limiter)?, &self.network.ports[sender.port])
    }

    /// The rate of a limiter has changed.
    pub(super) fn rate_changed(&mut self, now: Instant, limiter: LimiterId) {
        let flow = self.senders.limiters[limiter].last_flow;
        let sender = &self.senders.flows[flow];
        if sender.adapter.is_some() {
            self.advance_limiter(now, limiter);
        } else if sender.lazy {
            self.schedule_lazy_arrival(flow);
        } else if let Some(at) = self.next_release(now, flow) {
            self.schedule.set(Event::Release(limiter), at);
        }
    }
}
