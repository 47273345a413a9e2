//! Rate limiters: a reaction point and the pacer that it sets.

use crate::ids::FlowId;
use crate::pacer::Pacer;
use crate::plan::{FlowPlan, Plan};
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{Dice, Pacing, Purpose, ReactionPoint, RpFastPath, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant};
use std::collections::VecDeque;

/// Limits the rate of one or several flows of a host.
///
/// A flow with a frame to send waits in the limiter's queue, once. When the pacer allows, the first of the queue moves
/// on to its adapter.
pub(crate) struct RateLimiter {
    pub(crate) rp: AnyRp,
    pub(crate) pacer: Pacer,
    pub(crate) dice: Dice,
    /// When the reaction point's pending wake-up is.
    pub(crate) wake: Instant,
    /// The reaction point limits nothing: it need not be asked.
    pub(crate) never_limits: bool,
    /// The reaction point saw the last frame that passed, and may want another wake-up.
    pub(crate) saw_last: bool,
    rate_step: u64,
    /// The flow whose frame passed last; at first, the first of its flows.
    pub(crate) last_flow: FlowId,
    /// Flows that wait, and whether the first of them waits at its adapter.
    pub(crate) queue: VecDeque<FlowId>,
    pub(crate) at_adapter: bool,
}

impl RateLimiter {
    pub(crate) fn new(plan: &Plan, flow: &FlowPlan, id: FlowId, start: Instant) -> RateLimiter {
        let rp = plan.scheme.reaction_point(plan.ports[flow.paths[0][0] as usize].rate);
        let mut pacing: Pacing = rp.pacing();
        pacing.burst = flow.burst.unwrap_or(pacing.burst);
        let mut limiter = RateLimiter {
            pacer: Pacer::new(flow.frame, pacing),
            dice: Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Reaction),
            wake: Instant::NEVER,
            never_limits: !rp.capabilities().limits,
            saw_last: false,
            rate_step: flow.rate_step.map_or(1, BitRate::get).max(1),
            last_flow: id,
            queue: VecDeque::new(),
            at_adapter: false,
            rp,
        };
        limiter.pacer.set_rate(start, limiter.limit());
        limiter
    }

    /// A frame of `size` octets passes; `backlog` octets wait behind it.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self, now: Instant, size: Bytes, backlog: u64) -> Stamp {
        self.pacer.on_sent(now, size);
        let backlog = Bytes::new(backlog);
        self.saw_last = !self.rp.count_only(size, backlog);
        if self.saw_last { self.show_sent(now, size, backlog) } else { Stamp::default() }
    }

    /// Shows a frame to the reaction point.
    fn show_sent(&mut self, now: Instant, size: Bytes, backlog: Bytes) -> Stamp {
        let stamp = self.rp.on_sent(now, size, backlog, &mut self.dice);
        self.update_pacer(now);
        stamp
    }

    /// The rate to pace at: the reaction point's, in whole steps.
    #[inline(always)]
    fn limit(&self) -> Option<BitRate> {
        Some(in_whole_steps(self.rp.limit()?, self.rate_step))
    }

    /// Sets the pacer to the reaction point's rate; returns whether that changed it.
    #[inline(always)]
    pub(crate) fn update_pacer(&mut self, now: Instant) -> bool {
        let limit = self.limit();
        let changed = limit != self.pacer.rate();
        if changed {
            self.pacer.set_rate(now, limit);
        }
        changed
    }

    /// The wake-up that the reaction point asks for, if it is not the one that is pending.
    #[inline(always)]
    pub(crate) fn changed_wake(&mut self) -> Option<Instant> {
        if self.never_limits {
            return None;
        }
        let wake = self.rp.next_wake();
        if wake == self.wake {
            return None;
        }
        self.wake = wake;
        Some(wake)
    }
}

/// The rate in whole steps, rounded down, and one step at least; zero stays zero.
#[inline(always)]
fn in_whole_steps(rate: BitRate, step: u64) -> BitRate {
    if step == 1 || rate == BitRate::ZERO {
        return rate;
    }
    BitRate::bps((rate.get() / step).max(1) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of 9.6 Mb/s: 100 Mb/s are ten of them, 96; 1 Mb/s is one; nothing is none.
    #[test]
    fn rates_are_whole_steps_and_one_at_least() {
        let stepped = |bps| in_whole_steps(BitRate::bps(bps), 9_600_000).get();
        assert_eq!(stepped(100_000_000), 96_000_000);
        assert_eq!([stepped(96_000_000), stepped(95_999_999)], [96_000_000, 86_400_000]);
        assert_eq!([stepped(1_000_000), stepped(0)], [9_600_000, 0]);
        assert_eq!(in_whole_steps(BitRate::bps(7), 1), BitRate::bps(7));
    }
}
