//! Flows that share a host's link: each waits for its limiter, then at its adapter, which serves them in turn.

use super::Senders;
use crate::engine::effects::Refusal;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::{AdapterId, FlowId, LimiterId, QueuesId};
use crate::packets::Packets;
use crate::source::Source;
use qcnlab_units::Instant;

/// What a flow does whose turn it is.
pub(in crate::engine) enum Served {
    /// It sends this frame.
    Frame(Frame),
    /// It has stopped while it waited for the link.
    Nothing,
    /// Its rate was cut while it waited for the link: it waits for its limiter again.
    TooSoon,
}

impl Senders {
    /// A flow may have a frame to send: it joins the queue of its limiter, or is scheduled for when it has one; returns
    /// whether it joined.
    #[inline(always)]
    pub(in crate::engine) fn join_limiter(
        &mut self,
        now: Instant,
        flow: FlowId,
        schedule: &mut Schedule,
        refused: impl FnMut(Refusal),
    ) -> bool {
        if self.flows[flow].waits {
            return false;
        }
        self.update_source(now, flow, refused);
        let sender = &mut self.flows[flow];
        match sender.source.next_ready(now, sender.stop) {
            Some(at) if at <= now => {
                sender.waits = true;
                self.limiters[sender.limiter].queue.push_back(flow);
                return true;
            }
            Some(at) => schedule.set(Event::SourceFrame(flow), at),
            None => {
                if let Some(at) = sender.source.next_arrival(sender.stop) {
                    schedule.set(Event::SourceFrame(flow), at);
                }
            }
        }
        false
    }

    /// Sends the first flow in a limiter's queue on to its adapter, now or when the pacer allows; returns the adapter at
    /// which it waits from now on.
    #[inline(always)]
    pub(in crate::engine) fn move_to_adapter(
        &mut self,
        now: Instant,
        id: LimiterId,
        schedule: &mut Schedule,
    ) -> Option<AdapterId> {
        let limiter = &mut self.limiters[id];
        if limiter.at_adapter {
            return None;
        }
        let flow = *limiter.queue.front()?;
        let at = limiter.driver.pacer.next();
        if at > now {
            schedule.set(Event::Release(id), at);
            return None;
        }
        let sender = &self.flows[flow];
        let adapter = sender.adapter?;
        limiter.at_adapter = true;
        self.adapters[adapter].enqueue(sender.class, flow);
        Some(adapter)
    }

    /// The priority queues behind an adapter, if there are some, and the classes in which a flow waits, a bit each.
    #[inline(always)]
    pub(in crate::engine) fn waiting_at(&self, adapter: AdapterId) -> (Option<QueuesId>, u8) {
        let adapter = &self.adapters[adapter];
        (adapter.behind, adapter.ready)
    }

    /// Whether an adapter serves but one flow.
    #[inline(always)]
    pub(in crate::engine) fn serves_one(&self, adapter: AdapterId) -> bool {
        self.adapters[adapter].flows == 1
    }

    /// The flow whose turn it is at an adapter, of those of the highest of these classes, and its limiter; it leaves the
    /// adapter.
    #[inline(always)]
    pub(in crate::engine) fn next_served(&mut self, adapter: AdapterId, classes: u8) -> Option<(FlowId, LimiterId)> {
        let flow = self.adapters[adapter].dequeue(classes)?;
        Some((flow, self.flows[flow].limiter))
    }

    /// What a flow does whose turn it is.
    #[inline(always)]
    pub(in crate::engine) fn serve(
        &mut self,
        now: Instant,
        flow: FlowId,
        packets: &mut Packets,
        schedule: &mut Schedule,
        refused: impl FnMut(Refusal),
    ) -> Served {
        let sender = &mut self.flows[flow];
        let limiter = &mut self.limiters[sender.limiter];
        limiter.at_adapter = false;
        if limiter.driver.pacer.next() > now {
            return Served::TooSoon;
        }
        sender.waits = false;
        limiter.queue.pop_front();
        if sender.source.next_ready(now, sender.stop).is_none() {
            return Served::Nothing;
        }
        Served::Frame(self.pass_limiter(now, flow, packets, schedule, refused))
    }

    /// The next frame of a flow passes its limiter at `at`.
    #[inline(always)]
    pub(super) fn pass_limiter(
        &mut self,
        at: Instant,
        flow: FlowId,
        packets: &mut Packets,
        schedule: &mut Schedule,
        refused: impl FnMut(Refusal),
    ) -> Frame {
        if matches!(self.flows[flow].source, Source::Roce(_)) {
            return self.pass_packet(at, flow, packets, schedule);
        }
        self.pass_plain(at, flow, schedule, refused)
    }

    /// As [`pass_limiter`](Senders::pass_limiter), of a flow that is no queue pair.
    #[inline(always)]
    pub(in crate::engine) fn pass_plain(
        &mut self,
        at: Instant,
        flow: FlowId,
        schedule: &mut Schedule,
        refused: impl FnMut(Refusal),
    ) -> Frame {
        self.update_source(at, flow, refused);
        let sender = &mut self.flows[flow];
        let limiter = &mut self.limiters[sender.limiter];
        let frame = sender.next_frame(at, flow, limiter);
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(sender.limiter), wake);
        }
        frame
    }

    /// The next packet of a queue pair passes its limiter at `at`.
    #[inline(never)]
    fn pass_packet(&mut self, at: Instant, flow: FlowId, packets: &mut Packets, schedule: &mut Schedule) -> Frame {
        self.take_packet(at, flow, packets, schedule)
    }

    /// As [`pass_packet`](Senders::pass_packet), without a call.
    #[inline(always)]
    pub(super) fn take_packet(
        &mut self,
        at: Instant,
        flow: FlowId,
        packets: &mut Packets,
        schedule: &mut Schedule,
    ) -> Frame {
        let sender = &mut self.flows[flow];
        let id = sender.limiter;
        let limiter = &mut self.limiters[id];
        let (frame, timer) = sender.next_packet(at, flow, limiter, packets);
        if let Some(timer) = timer {
            schedule.set(Event::TransportTimer(flow), timer);
        }
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(id), wake);
        }
        frame
    }

    /// Updates the frames that wait at a source.
    #[inline(always)]
    fn update_source(&mut self, now: Instant, flow: FlowId, mut refused: impl FnMut(Refusal)) {
        let sender = &mut self.flows[flow];
        let (port, octets) = (sender.port, u64::from(sender.frame));
        sender.source.update_waiting(now, sender.stop, sender.room, |at| refused(Refusal { at, port, flow, octets }));
    }
}
