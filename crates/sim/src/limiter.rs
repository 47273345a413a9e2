//! A rate limiter: spaces the frames of one flow.

use qcnlab_schemes::Pacing;
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Lets a frame go no earlier than the last one's octets take at the rate.
///
/// Credit does not pile up. With a burst, frames go back to back until the burst is
/// used up, and the limiter waits for all of them. A rate that changes while it waits
/// stretches or shortens what is left of the wait.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    /// `None`: not limiting.
    rate: Option<BitRate>,
    pacing: Pacing,
    /// The earliest time for the next frame.
    next: Instant,
    /// When the last run of back-to-back frames began, and its octets.
    run_start: Instant,
    run: Bytes,
    /// Time a frame of the usual size takes at the rate.
    frame: Bytes,
    gap: Span,
}

impl Limiter {
    pub(crate) fn new(frame: Bytes, pacing: Pacing) -> Limiter {
        Limiter {
            rate: None,
            pacing,
            next: Instant::ZERO,
            run_start: Instant::ZERO,
            run: Bytes::ZERO,
            frame: frame + pacing.overhead,
            gap: Span::ZERO,
        }
    }

    /// The earliest time for the next frame; [`Instant::NEVER`] while stopped.
    #[inline]
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    #[inline]
    pub(crate) const fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// A frame of `size` octets goes now.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, size: Bytes) {
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
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Option<BitRate>) {
        let before = self.rate;
        self.rate = rate;
        self.gap = rate.map_or(Span::ZERO, |rate| rate.time_for_rounded_up(self.frame));
        self.next = match (before, rate) {
            (_, Some(BitRate::ZERO)) => Instant::NEVER,
            (_, None) | (Some(BitRate::ZERO), _) => now,
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

    fn limiter(burst: u64) -> Limiter {
        Limiter::new(FRAME, Pacing { overhead: Bytes::ZERO, burst: Bytes::new(burst) })
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    #[test]
    fn spaces_frames_by_their_octets() {
        // 12 000 bits at 1 Gb/s take 12 us.
        let mut limiter = limiter(0);
        limiter.set_rate(us(0), Some(BitRate::gbps(1)));
        limiter.on_sent(us(0), FRAME);
        assert_eq!(limiter.next(), us(12));
        // A late frame earns no credit.
        limiter.on_sent(us(50), FRAME);
        assert_eq!(limiter.next(), us(62));
    }

    #[test]
    fn a_new_rate_scales_what_is_left_of_the_wait() {
        let mut limiter = limiter(0);
        limiter.set_rate(us(0), Some(BitRate::gbps(1)));
        limiter.on_sent(us(0), FRAME);
        // At 4 us, 8 us are left at 1 Gb/s: 16 us at half of it.
        limiter.set_rate(us(4), Some(BitRate::mbps(500)));
        assert_eq!(limiter.next(), us(20));
        limiter.set_rate(us(10), None);
        assert_eq!(limiter.next(), us(10));
    }

    #[test]
    fn a_limiter_that_starts_counts_from_the_last_frame() {
        let mut limiter = limiter(0);
        limiter.on_sent(us(3), FRAME);
        limiter.set_rate(us(5), Some(BitRate::gbps(1)));
        assert_eq!(limiter.next(), us(15));
    }

    #[test]
    fn stopped_means_stopped() {
        let mut limiter = limiter(0);
        limiter.set_rate(us(0), Some(BitRate::ZERO));
        assert_eq!(limiter.next(), Instant::NEVER);
        limiter.set_rate(us(7), Some(BitRate::mbps(1)));
        assert_eq!(limiter.next(), us(7));
    }

    #[test]
    fn a_burst_keeps_the_mean_rate() {
        // Three frames back to back, then the time of all three since the first: 36 us at 1 Gb/s.
        let mut limiter = limiter(4500);
        limiter.set_rate(us(0), Some(BitRate::gbps(1)));
        limiter.on_sent(us(0), FRAME);
        assert_eq!(limiter.next(), us(0));
        limiter.on_sent(us(1), FRAME);
        limiter.on_sent(us(2), FRAME);
        assert_eq!(limiter.next(), us(36));
    }
}
