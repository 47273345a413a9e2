//! The drift timer: a rate that rises by itself, so that no limiter is stranded at a low rate.

use qcnlab_units::{BitRate, Instant, Span};

/// Adds a step to the rate every so often while a limiter is active.
#[derive(Clone, Debug)]
pub struct Drift {
    every: Span,
    step: BitRate,
    next: Instant,
}

impl Drift {
    /// A drift of `step` each `every`, not running. A span of zero never runs.
    pub const fn new(every: Span, step: BitRate) -> Drift {
        Drift { every, step, next: Instant::NEVER }
    }

    /// Starts the timer.
    pub fn start(&mut self, now: Instant) {
        if self.every > Span::ZERO {
            self.next = now + self.every;
        }
    }

    /// Stops the timer.
    pub const fn stop(&mut self) {
        self.next = Instant::NEVER;
    }

    /// When it is due next.
    #[inline]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// What to add if it is due: a step for each period that has passed. Feedback does not reset it.
    pub fn due(&mut self, now: Instant) -> Option<BitRate> {
        if now < self.next {
            return None;
        }
        let periods = 1 + now.since(self.next).ps() / self.every.ps();
        self.next += Span::from_ps(periods * self.every.ps());
        Some(BitRate::bps(self.step.get().saturating_mul(periods)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_megabit_each_millisecond() {
        let mut drift = Drift::new(Span::from_ms(1), BitRate::mbps(1));
        assert_eq!(drift.next(), Instant::NEVER);
        let start = Instant::ZERO + Span::from_ms(5);
        drift.start(start);
        assert_eq!(drift.due(start), None);
        assert_eq!(drift.due(start + Span::from_ms(1)), Some(BitRate::mbps(1)));
        assert_eq!(drift.next(), start + Span::from_ms(2));
        // Woken late, at 4.5 ms: the steps of 2, 3 and 4 ms.
        assert_eq!(drift.due(start + Span::from_us(4500)), Some(BitRate::mbps(3)));
        assert_eq!(drift.next(), start + Span::from_ms(5));
    }
}
