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

    /// The step to add if it is due. Feedback does not reset it.
    pub fn due(&mut self, now: Instant) -> Option<BitRate> {
        if now < self.next {
            return None;
        }
        self.next += self.every;
        Some(self.step)
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
    }
}
