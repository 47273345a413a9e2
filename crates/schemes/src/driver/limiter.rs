//! A limiter: a reaction point and the pacer that it sets.

use super::pacer::Pacer;
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::registry::AnyRp;
use crate::roles::{Pacing, ReactionPoint, Signal, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Limits a rate: tells a reaction point of frames, signals and time, and paces at the rate that it sets.
#[derive(Clone, Debug)]
pub struct Limiter {
    /// The reaction point.
    pub rp: AnyRp,
    /// When the next frame may pass.
    pub pacer: Pacer,
    /// The reaction point's random numbers.
    pub dice: Dice,
    /// When the reaction point's pending wake-up is.
    pub wake: Instant,
    /// The reaction point limits nothing: it need not be asked.
    pub never_limits: bool,
    /// The reaction point saw the last frame that passed, and may want another wake-up.
    pub saw_last: bool,
    rate_step: u64,
    tally: LimiterTally,
    /// Since when it limits, if it does.
    limits_since: Instant,
}

/// How often a reaction point began to limit, and for how long it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimiterTally {
    /// How often it began: each time a reaction point of 802.1Q is created.
    pub created: u64,
    /// For how long it limited, all times together.
    pub limited: Span,
    /// Whether it limits at the end.
    pub limits: bool,
}

/// What a limiter has counted, from which its totals at any later time follow if nothing happens to it any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimiterCount {
    tally: LimiterTally,
    limits_since: Instant,
}

impl LimiterCount {
    /// Whether it never limited, so that its totals are zero at any time.
    pub fn is_nothing(&self) -> bool {
        self.tally == LimiterTally::default()
    }

    /// Returns the totals up to `end`.
    pub fn until(&self, end: Instant) -> LimiterTally {
        let open = if self.tally.limits { end.since(self.limits_since.min(end)) } else { Span::ZERO };
        LimiterTally { limited: self.tally.limited + open, ..self.tally }
    }
}

impl Limiter {
    /// A limiter of frames that mostly have `frame` octets. Its rates are whole multiples of `rate_step`; it sends
    /// `burst` octets back to back instead of as many as the reaction point says.
    pub fn new(
        rp: AnyRp,
        frame: Bytes,
        burst: Option<Bytes>,
        rate_step: Option<BitRate>,
        dice: Dice,
        start: Instant,
    ) -> Limiter {
        let mut pacing: Pacing = rp.pacing();
        pacing.burst = burst.unwrap_or(pacing.burst);
        let mut limiter = Limiter {
            pacer: Pacer::new(frame, pacing),
            dice,
            wake: Instant::NEVER,
            never_limits: !rp.capabilities().limits,
            saw_last: false,
            rate_step: rate_step.map_or(1, BitRate::get).max(1),
            tally: LimiterTally::default(),
            limits_since: start,
            rp,
        };
        let limit = limiter.limit();
        limiter.count_limit(start, limit.is_some());
        limiter.pacer.set_rate(start, limit);
        limiter
    }

    /// A frame of `size` octets passes; `backlog` octets wait behind it.
    #[inline(always)]
    pub fn on_sent(&mut self, now: Instant, size: Bytes, backlog: u64) -> Stamp {
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

    /// A signal arrived.
    #[inline(always)]
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        self.rp.on_signal(now, signal, &mut self.dice);
    }

    /// The pending wake-up is due.
    #[inline(always)]
    pub fn on_wake(&mut self, now: Instant) {
        self.wake = Instant::NEVER;
        self.rp.on_wake(now, &mut self.dice);
    }

    /// The rate to pace at: the reaction point's, in whole steps.
    #[inline(always)]
    fn limit(&self) -> Option<BitRate> {
        Some(in_whole_steps(self.rp.limit()?, self.rate_step))
    }

    /// Sets the pacer to the reaction point's rate; returns whether that changed it.
    #[inline(always)]
    pub fn update_pacer(&mut self, now: Instant) -> bool {
        let limit = self.limit();
        let changed = limit != self.pacer.rate();
        if changed {
            self.count_limit(now, limit.is_some());
            self.pacer.set_rate(now, limit);
        }
        changed
    }

    /// Counts when the reaction point begins and ends to limit.
    fn count_limit(&mut self, now: Instant, limits: bool) {
        if limits == self.tally.limits {
            return;
        }
        self.tally.limits = limits;
        if limits {
            self.tally.created += 1;
            self.limits_since = now;
        } else {
            self.tally.limited = self.tally.limited + now.since(self.limits_since);
        }
    }

    /// Returns its totals up to `end`.
    pub fn tally(&self, end: Instant) -> LimiterTally {
        self.count().until(end)
    }

    /// Returns what it has counted so far.
    pub const fn count(&self) -> LimiterCount {
        LimiterCount { tally: self.tally, limits_since: self.limits_since }
    }

    /// The wake-up that the reaction point asks for, if it is not the one that is pending.
    #[inline(always)]
    pub fn changed_wake(&mut self) -> Option<Instant> {
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
    use crate::dice::Purpose;
    use crate::registry::Config;
    use crate::roles::{Bcn, CpId};

    /// Steps of 9.6 Mb/s: 100 Mb/s are ten of them, 96; 1 Mb/s is one; nothing is none.
    #[test]
    fn rates_are_whole_steps_and_one_at_least() {
        let stepped = |bps| in_whole_steps(BitRate::bps(bps), 9_600_000).get();
        assert_eq!(stepped(100_000_000), 96_000_000);
        assert_eq!([stepped(96_000_000), stepped(95_999_999)], [96_000_000, 86_400_000]);
        assert_eq!([stepped(1_000_000), stepped(0)], [9_600_000, 0]);
        assert_eq!(in_whole_steps(BitRate::bps(7), 1), BitRate::bps(7));
    }

    /// ECM's reaction point limits at negative feedback. Of 1 page that is next to nothing, so that 1875 pages of positive
    /// feedback, a tenth of 10 Gb/s, end it.
    #[test]
    fn it_counts_how_often_and_for_how_long_it_limits() {
        let us = |n| Instant::ZERO + Span::from_us(n);
        let rp = Config::find("ecm", None).expect("listed").reaction_point(BitRate::gbps(10));
        let dice = Dice::new(1, 0, "limiter", Purpose::Reaction);
        let mut limiter = Limiter::new(rp, Bytes::new(1500), None, None, dice, us(0));
        let mut hear = |at, pages: i64| {
            let bcn = Bcn { cp: CpId(1), q_offset: 64 * pages, q_delta: 0, stop: false };
            limiter.on_signal(us(at), &Signal::Bcn(bcn));
            (limiter.update_pacer(us(at)), limiter.tally(us(at + 5)))
        };
        let tally = |created, limited, limits| LimiterTally { created, limited: Span::from_us(limited), limits };
        assert_eq!(hear(2, 1), (false, tally(0, 0, false)));
        assert_eq!(hear(10, -1), (true, tally(1, 5, true)));
        // A second cut is of the same limiter: 25 us since 10 us.
        assert_eq!(hear(30, -1), (true, tally(1, 25, true)));
        assert_eq!(hear(40, 1875), (true, tally(1, 30, false)));
        assert_eq!(hear(60, -1), (true, tally(2, 35, true)));
        // 30 us of the first limiter and 20 of the second.
        assert_eq!(hear(80, 1875), (true, tally(2, 50, false)));
        assert_eq!(hear(90, -1), (true, tally(3, 55, true)));
        // Asked for a time before it began, it has not limited again yet.
        assert_eq!(limiter.tally(us(85)), tally(3, 50, true));
    }

    /// A rate of the reaction point that does not change leaves the pacer as it is.
    #[test]
    fn a_rate_that_stays_is_no_change() {
        let rp = Config::find("none", None).expect("listed").reaction_point(BitRate::gbps(10));
        let dice = Dice::new(1, 0, "limiter", Purpose::Reaction);
        let mut limiter = Limiter::new(rp, Bytes::new(1500), None, None, dice, Instant::ZERO);
        assert!(!limiter.update_pacer(Instant::ZERO));
        assert_eq!((limiter.never_limits, limiter.changed_wake()), (true, None));
    }

    /// ECM's reaction point names its congestion point on frames, and drifts by 1 Mb/s each 1 ms. 1500 octets at 5 Gb/s take
    /// 2.4 us.
    #[test]
    fn it_shows_frames_to_its_reaction_point_and_wakes_it() {
        let us = |n| Instant::ZERO + Span::from_us(n);
        let frame = Bytes::new(1500);
        let rp = Config::find("ecm", None).expect("listed").reaction_point(BitRate::gbps(10));
        let dice = Dice::new(1, 0, "limiter", Purpose::Reaction);
        let mut limiter = Limiter::new(rp, frame, None, None, dice, us(0));
        assert_eq!((limiter.on_sent(us(1), frame, 0), limiter.saw_last), (Stamp::default(), false));
        assert_eq!(limiter.changed_wake(), None);
        let bcn = Bcn { cp: CpId(1), q_offset: -64 * 1875, q_delta: 0, stop: false };
        limiter.on_signal(us(5), &Signal::Bcn(bcn));
        assert!(limiter.update_pacer(us(5)));
        assert_eq!((limiter.changed_wake(), limiter.changed_wake()), (Some(us(1005)), None));
        let stamp = Stamp { limited_by: Some(CpId(1)), probe: false };
        assert_eq!((limiter.on_sent(us(10), frame, 0), limiter.saw_last), (stamp, true));
        assert_eq!(limiter.pacer.next(), us(10) + Span::from_ns(2400));
        limiter.on_wake(us(1005));
        assert_eq!((limiter.wake, limiter.rp.limit()), (Instant::NEVER, Some(BitRate::mbps(5001))));
        assert_eq!(limiter.changed_wake(), Some(us(2005)));
    }
}
