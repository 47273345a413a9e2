//! What a sender does whose frames are sent on demand; see [`shortcuts::on_demand`](crate::engine::shortcuts::on_demand).

use super::Senders;
use crate::engine::effects::Refusal;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::{FlowId, IdVec, LimiterId};
use crate::port::Port;
use crate::rate_limiter::RateLimiter;
use crate::sender::Sender;
use crate::source::Source;
use qcnlab_schemes::{ReactionPoint, RpFastPath};
use qcnlab_units::Instant;
use std::hint::select_unpredictable;

impl Senders {
    /// For each flow whether it is alone at its limiter.
    pub(in crate::engine) fn have_own_limiters(&self) -> Vec<bool> {
        let mut flows_of: IdVec<LimiterId, u32> = (0..self.limiters.len()).map(|_| 0).collect();
        self.flows.iter().for_each(|sender| flows_of[sender.limiter] += 1);
        self.flows.iter().map(|sender| flows_of[sender.limiter] == 1).collect()
    }

    /// Whether what a flow sends follows from what it knew at the last signal.
    pub(in crate::engine) fn may_send_on_demand(&self, flow: FlowId) -> bool {
        let sender = &self.flows[flow];
        let rp = self.limiters.get(sender.limiter).map(|limiter| &limiter.driver.rp);
        matches!(sender.source, Source::Saturated { .. } | Source::Constant { .. })
            && rp.is_some_and(|rp| !rp.capabilities().limits || rp.on_sent_may_be_late())
            && !self.probe
    }

    /// Has a flow's frames sent on demand.
    pub(in crate::engine) fn send_on_demand(&mut self, flow: FlowId) {
        self.flows[flow].on_demand = true;
    }

    /// When the next frame that is sent on demand leaves by its port, from what is known now.
    pub(in crate::engine) fn next_on_demand(&self, flow: FlowId, port: &Port) -> Option<Instant> {
        let sender = &self.flows[flow];
        sender.next_start_on_demand(&self.limiters[sender.limiter], port)
    }

    /// When it reaches the far end of its empty link.
    #[inline(always)]
    pub(in crate::engine) fn next_over_empty_link(&self, flow: FlowId, port: &Port) -> Option<Instant> {
        let sender = &self.flows[flow];
        sender.next_over_empty_link(&self.limiters[sender.limiter], port)
    }

    /// The frame that arrives now over an empty link, and when the next does, if one follows.
    #[inline(always)]
    pub(in crate::engine) fn cross_empty_link(
        &mut self,
        now: Instant,
        flow: FlowId,
        port: &mut Port,
        schedule: &mut Schedule,
        mut refused: impl FnMut(Refusal),
    ) -> (Frame, Option<Instant>) {
        let sender = &mut self.flows[flow];
        let id = sender.limiter;
        let limiter = &mut self.limiters[id];
        let size = sender.next_size();
        let takes = port.transmission(size);
        let at = Instant::from_ps(now.ps() - port.delay().ps() - takes);
        let (first, octets) = (sender.port, u64::from(sender.frame));
        sender.source.update_waiting(at, sender.stop, sender.room, |at| {
            refused(Refusal { at, port: first, flow, octets });
        });
        let frame = sender.next_plain_frame(at, flow, limiter);
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(id), wake);
        }
        port.count_crossed(at, takes, size);
        (frame, sender.next_over_empty_link(limiter, port))
    }
}

impl Sender {
    /// When the next frame that is sent on demand leaves, from what is known now.
    #[inline(always)]
    fn next_start_on_demand(&self, limiter: &RateLimiter, port: &Port) -> Option<Instant> {
        let (ready, ends) = match &self.source {
            Source::Saturated { next, left, .. } if *left > 0 => (*next, self.stop),
            Source::Constant { next, waiting, .. } => {
                // One comparison is for both: nothing arrives at or after `stop`, and what waits arrived before.
                let ready = select_unpredictable(*waiting > 0, Instant::ZERO, *next);
                if ready >= self.stop {
                    return None;
                }
                (ready, Instant::NEVER)
            }
            _ => return None,
        };
        let at = ready.max(limiter.driver.pacer.next()).max(port.next_start());
        (at < ends).then_some(at)
    }

    /// When the next frame that is sent on demand reaches the far end of its empty link, from what is known now.
    #[inline(always)]
    fn next_over_empty_link(&self, limiter: &RateLimiter, port: &Port) -> Option<Instant> {
        let at = self.next_start_on_demand(limiter, port)?;
        let takes = port.transmission(self.next_size()) + port.delay().ps();
        Some(Instant::from_ps(at.ps().saturating_add(takes)))
    }

    /// Octets of the next frame.
    fn next_size(&self) -> u64 {
        match self.source {
            Source::Saturated { left, .. } => left.min(u64::from(self.frame)),
            _ => u64::from(self.frame),
        }
    }
}
