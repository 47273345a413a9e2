//! The drift timer: while a limiter is installed its rate rises by a small step each period, so that a limiter that
//! hears nothing does not stay at a low rate.

use crate::params;
use crate::params::Range;
use qcnlab_units::{BitRate, Instant, Span};

params! {
    /// Parameters of the drift timer.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DriftParams {
        /// How often the rate drifts up by itself, whatever is heard; 0 s for never.
        drift_every: Span, "drift interval, Td, rp_td", Range::at_least(0.0);
        /// How far it drifts each time.
        drift_step: BitRate, "drift increase, Rd, rp_rd", Range::at_least(0.0);
        /// Whether feedback restarts the drift timer; otherwise it runs on, whatever is heard.
        drift_restart: bool, "", Range::ANY;
    }
}

impl DriftParams {
    /// No drift.
    pub const OFF: DriftParams = DriftParams::each(Span::ZERO, BitRate::ZERO);

    /// A drift of `step` each `every`, whatever is heard.
    pub const fn each(every: Span, step: BitRate) -> DriftParams {
        DriftParams { drift_every: every, drift_step: step, drift_restart: false }
    }
}

/// Adds a step to the rate every so often while a limiter is active.
#[derive(Clone, Debug)]
pub struct Drift {
    params: DriftParams,
    next: Instant,
}

impl Drift {
    /// Returns a timer that is not running. A period of zero never runs.
    pub const fn new(params: DriftParams) -> Drift {
        Drift { params, next: Instant::NEVER }
    }

    /// Starts the timer.
    pub fn start(&mut self, now: Instant) {
        if self.params.drift_every > Span::ZERO {
            self.next = now + self.params.drift_every;
        }
    }

    /// Takes note of feedback, which may restart the timer.
    pub fn heard(&mut self, now: Instant) {
        if self.params.drift_restart {
            self.start(now);
        }
    }

    /// Stops the timer.
    pub const fn stop(&mut self) {
        self.next = Instant::NEVER;
    }

    /// Returns when it is due next.
    #[inline]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Returns what to add if it is due: a step for each period that has passed.
    pub fn due(&mut self, now: Instant) -> Option<BitRate> {
        if now < self.next {
            return None;
        }
        let DriftParams { drift_every, drift_step, .. } = self.params;
        let periods = 1 + now.since(self.next).ps() / drift_every.ps();
        self.next += Span::from_ps(periods * drift_every.ps());
        Some(BitRate::bps(drift_step.get().saturating_mul(periods)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Due at 1 ms; feedback at 0.4 ms puts it off to 1.4 ms, if it restarts the timer.
    #[test]
    fn feedback_restarts_the_timer_only_if_asked_to() {
        let at = |us| Instant::ZERO + Span::from_us(us);
        for (drift_restart, next) in [(false, at(1000)), (true, at(1400))] {
            let each = DriftParams::each(Span::from_ms(1), BitRate::mbps(1));
            let mut drift = Drift::new(DriftParams { drift_restart, ..each });
            drift.start(at(0));
            drift.heard(at(400));
            assert_eq!(drift.next(), next);
        }
    }

    #[test]
    fn one_megabit_each_millisecond() {
        let mut drift = Drift::new(DriftParams::each(Span::from_ms(1), BitRate::mbps(1)));
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

    #[test]
    fn a_period_of_zero_never_runs_and_a_stopped_timer_is_not_due() {
        let mut off = Drift::new(DriftParams::OFF);
        off.start(Instant::ZERO);
        assert_eq!((off.next(), off.due(Instant::ZERO)), (Instant::NEVER, None));
        let mut drift = Drift::new(DriftParams::each(Span::from_ms(1), BitRate::mbps(1)));
        drift.start(Instant::ZERO);
        drift.stop();
        assert_eq!((drift.next(), drift.due(Instant::ZERO + Span::from_ms(2))), (Instant::NEVER, None));
    }
}
