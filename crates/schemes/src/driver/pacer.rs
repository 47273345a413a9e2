//! A pacer: spaces the frames that a limiter lets pass.

use crate::roles::Pacing;
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Releases a frame no earlier than the octets of the last one take at the rate.
///
/// Time in which nothing is sent earns no credit. With a burst, frames go back to back until the burst is
/// used up, and then the pacer waits for all of them. A rate that changes during the wait
/// stretches or shortens what is left of it.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// `None`: not limiting.
    rate: Option<BitRate>,
    pacing: Pacing,
    /// The earliest time for the next frame.
    next: Instant,
    /// When the last run of back-to-back frames began, [`Instant::NEVER`] before the first, and its octets.
    run_start: Instant,
    run: Bytes,
    /// Time a frame of the usual size takes at the rate.
    frame: Bytes,
    gap: Span,
}

impl Pacer {
    /// A pacer without a limit; frames mostly have `frame` octets, and others may come.
    pub fn new(frame: Bytes, pacing: Pacing) -> Pacer {
        Pacer {
            rate: None,
            pacing,
            next: Instant::ZERO,
            run_start: Instant::NEVER,
            run: Bytes::ZERO,
            frame: frame + pacing.overhead,
            gap: Span::ZERO,
        }
    }

    /// The earliest time for the next frame; [`Instant::NEVER`] while stopped.
    #[inline]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// The rate it paces at; `None` for no limit.
    #[inline]
    pub const fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// A frame of `size` octets goes now.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, size: Bytes) {
        if self.run == Bytes::ZERO {
            self.run_start = now;
            if size + self.pacing.overhead == self.frame && self.pacing.burst == Bytes::ZERO {
                // The gap is 0 without a limit.
                self.next = now + self.gap;
                return;
            }
        }
        self.run += size + self.pacing.overhead;
        if self.run < self.pacing.burst {
            self.next = now;
            return;
        }
        self.next = self.run_start + self.time_for_run();
        self.run = Bytes::ZERO;
    }

    #[inline]
    fn time_for_run(&self) -> Span {
        match self.rate {
            None => Span::ZERO,
            Some(_) if self.run == self.frame => self.gap,
            Some(rate) => rate.time_for_rounded_up(self.run),
        }
    }

    /// Limits to `rate` from now on; `None` for no limit, zero for stop.
    pub fn set_rate(&mut self, now: Instant, rate: Option<BitRate>) {
        let before = self.rate;
        self.rate = rate;
        self.gap = rate.map_or(Span::ZERO, |rate| rate.time_for_rounded_up(self.frame));
        self.next = match (before, rate) {
            (_, Some(BitRate::ZERO)) => Instant::NEVER,
            (_, None) | (Some(BitRate::ZERO), _) => now,
            // Nothing has left yet that a first frame would have to wait for.
            (None, Some(_)) if self.run_start == Instant::NEVER => now,
            (None, Some(_)) => now.max(self.run_start + self.gap),
            (Some(old), Some(new)) if self.next > now => {
                let left = u128::from(self.next.since(now).ps()) * u128::from(old.get());
                let scaled = left.div_ceil(u128::from(new.get()));
                now + Span::from_ps(u64::try_from(scaled).unwrap_or(u64::MAX))
            }
            _ => self.next,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Bytes = Bytes::new(1500);

    fn pacer(burst: u64) -> Pacer {
        Pacer::new(FRAME, Pacing { overhead: Bytes::ZERO, burst: Bytes::new(burst) })
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    #[test]
    fn the_first_frame_waits_for_none() {
        // 12 000 bits at 5 Mb/s take 2400 us: after the first frame, not before it.
        let mut pacer = pacer(0);
        pacer.set_rate(us(0), Some(BitRate::mbps(5)));
        assert_eq!(pacer.next(), us(0));
        pacer.on_sent(us(1000), FRAME);
        assert_eq!(pacer.next(), us(3400));
    }

    #[test]
    fn spaces_frames_by_their_octets() {
        // 12 000 bits at 1 Gb/s take 12 us.
        let mut pacer = pacer(0);
        pacer.set_rate(us(0), Some(BitRate::gbps(1)));
        pacer.on_sent(us(0), FRAME);
        assert_eq!(pacer.next(), us(12));
        // A late frame earns no credit.
        pacer.on_sent(us(50), FRAME);
        assert_eq!(pacer.next(), us(62));
    }

    #[test]
    fn a_new_rate_scales_what_is_left_of_the_wait() {
        let mut pacer = pacer(0);
        pacer.set_rate(us(0), Some(BitRate::gbps(1)));
        pacer.on_sent(us(0), FRAME);
        // At 4 us, 8 us are left at 1 Gb/s: 16 us at half of it.
        pacer.set_rate(us(4), Some(BitRate::mbps(500)));
        assert_eq!(pacer.next(), us(20));
        pacer.set_rate(us(10), None);
        assert_eq!(pacer.next(), us(10));
    }

    #[test]
    fn a_limiter_that_starts_counts_from_the_last_frame() {
        let mut pacer = pacer(0);
        pacer.on_sent(us(3), FRAME);
        pacer.set_rate(us(5), Some(BitRate::gbps(1)));
        assert_eq!(pacer.next(), us(15));
    }

    #[test]
    fn stopped_means_stopped() {
        let mut pacer = pacer(0);
        pacer.set_rate(us(0), Some(BitRate::ZERO));
        assert_eq!(pacer.next(), Instant::NEVER);
        pacer.set_rate(us(7), Some(BitRate::mbps(1)));
        assert_eq!(pacer.next(), us(7));
    }

    /// 1500 + 20 octets at 1 Gb/s take 12.16 us, 64 + 20 take 0.672 us, and with a limit of none nothing waits.
    #[test]
    fn each_frame_waits_for_its_own_octets_and_overhead() {
        let mut pacer = Pacer::new(FRAME, Pacing { overhead: Bytes::new(20), burst: Bytes::ZERO });
        pacer.on_sent(us(1), Bytes::new(64));
        assert_eq!(pacer.next(), us(1));
        pacer.set_rate(us(10), Some(BitRate::gbps(1)));
        pacer.on_sent(us(10), FRAME);
        assert_eq!(pacer.next(), us(10) + Span::from_ns(12_160));
        pacer.on_sent(us(30), Bytes::new(64));
        assert_eq!(pacer.next(), us(30) + Span::from_ns(672));
        // The next run begins anew.
        pacer.on_sent(us(40), FRAME);
        assert_eq!(pacer.next(), us(40) + Span::from_ns(12_160));
    }

    /// A burst of 3000 octets counts the overhead too: two frames of 1480 + 20.
    #[test]
    fn a_burst_counts_overhead_and_restarts() {
        let mut pacer = Pacer::new(Bytes::new(1480), Pacing { overhead: Bytes::new(20), burst: Bytes::new(3000) });
        pacer.set_rate(us(0), Some(BitRate::gbps(1)));
        pacer.on_sent(us(5), Bytes::new(1480));
        assert_eq!(pacer.next(), us(5));
        pacer.on_sent(us(6), Bytes::new(1480));
        assert_eq!(pacer.next(), us(29), "24 us after the first of the two");
        pacer.on_sent(us(29), Bytes::new(1480));
        assert_eq!(pacer.next(), us(29), "a burst begins anew");
    }

    #[test]
    fn a_new_rate_after_the_wait_changes_nothing_past() {
        let mut pacer = pacer(0);
        pacer.set_rate(us(0), Some(BitRate::gbps(1)));
        pacer.on_sent(us(0), FRAME);
        pacer.set_rate(us(20), Some(BitRate::mbps(1)));
        assert_eq!(pacer.next(), us(12), "the frame may go at once");
        // From 12 us on the rate is 1 Mb/s: 12 000 bits take 12 ms.
        pacer.on_sent(us(20), FRAME);
        assert_eq!(pacer.next(), us(12_020));
    }

    #[test]
    fn a_burst_keeps_the_mean_rate() {
        // Three frames back to back, then the time of all three since the first: 36 us at 1 Gb/s.
        let mut pacer = pacer(4500);
        pacer.set_rate(us(0), Some(BitRate::gbps(1)));
        pacer.on_sent(us(0), FRAME);
        assert_eq!(pacer.next(), us(0));
        pacer.on_sent(us(1), FRAME);
        pacer.on_sent(us(2), FRAME);
        assert_eq!(pacer.next(), us(36));
    }

    /// 1540 + 20 octets at 1 Gb/s take 12.48 us: not the time of the usual 1500 + 20.
    #[test]
    fn a_frame_that_is_longer_by_twice_the_overhead_is_not_the_usual_one() {
        let mut pacer = Pacer::new(FRAME, Pacing { overhead: Bytes::new(20), burst: Bytes::ZERO });
        pacer.set_rate(us(0), Some(BitRate::gbps(1)));
        pacer.on_sent(us(10), Bytes::new(1540));
        assert_eq!(pacer.next(), us(10) + Span::from_ns(12_480));
    }
}
