//! A flow that is alone on its link: it sends when its pacer allows and the link is free.

use super::Senders;
use crate::engine::effects::Refusal;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::FlowId;
use crate::packets::Packets;
use qcnlab_units::Instant;

impl Senders {
    /// Takes the next frame of a flow that is no queue pair, if it may go now over a link that is `free` then; otherwise
    /// schedules the flow for when it may.
    #[inline(always)]
    pub(in crate::engine) fn release(
        &mut self,
        now: Instant,
        flow: FlowId,
        free: Instant,
        schedule: &mut Schedule,
        mut refused: impl FnMut(Refusal),
    ) -> Option<Frame> {
        let sender = &mut self.flows[flow];
        let (id, port, octets) = (sender.limiter, sender.port, u64::from(sender.frame));
        sender.source.update_waiting(now, sender.stop, sender.room, |at| {
            refused(Refusal { at, port, flow, octets });
        });
        let limiter = &mut self.limiters[id];
        let next = sender.next_release(now, limiter, free);
        if next.is_none_or(|at| at > now) {
            self.schedule_release(flow, next, schedule);
            return None;
        }
        let frame = sender.next_frame(now, flow, limiter);
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(id), wake);
        }
        Some(frame)
    }

    /// As [`release`](Senders::release), of a queue pair.
    #[inline(always)]
    pub(in crate::engine) fn release_packet(
        &mut self,
        now: Instant,
        flow: FlowId,
        free: Instant,
        packets: &mut Packets,
        schedule: &mut Schedule,
    ) -> Option<Frame> {
        let sender = &self.flows[flow];
        let id = sender.limiter;
        let at = sender.next_release(now, &self.limiters[id], free)?;
        if at > now {
            schedule.set(Event::Release(id), at);
            return None;
        }
        Some(self.take_packet(now, flow, packets, schedule))
    }

    /// A frame of a flow that is alone on its link is on its way: schedules the next, for when the link is `free` again.
    #[inline(always)]
    pub(in crate::engine) fn after_release(
        &mut self,
        now: Instant,
        flow: FlowId,
        free: Instant,
        schedule: &mut Schedule,
    ) {
        let sender = &self.flows[flow];
        let next = self.limiters.get(sender.limiter).and_then(|limiter| sender.next_release(now, limiter, free));
        self.schedule_release(flow, next, schedule);
    }

    #[inline(always)]
    fn schedule_release(&self, flow: FlowId, next: Option<Instant>, schedule: &mut Schedule) {
        let sender = &self.flows[flow];
        if let Some(at) = next {
            schedule.set(Event::Release(sender.limiter), at);
        } else if let Some(at) = sender.source.next_arrival(sender.stop) {
            schedule.set(Event::SourceFrame(flow), at);
        }
    }

    /// The link of a flow that is alone on it is free at another time, or its pacer allows other times: schedules the flow
    /// anew if it has a frame.
    #[inline(always)]
    pub(in crate::engine) fn reschedule(&self, now: Instant, flow: FlowId, free: Instant, schedule: &mut Schedule) {
        let sender = &self.flows[flow];
        let Some(limiter) = self.limiters.get(sender.limiter) else { return };
        if let Some(at) = sender.next_release(now, limiter, free) {
            schedule.set(Event::Release(sender.limiter), at);
        }
    }
}
