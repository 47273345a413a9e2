//! A reaction point under observation: its driver sees rates rise, and not the random lengths of cycles.
//!
//! The engine lets the machine count and draw. Who holds a capture against the law knows only in which window a cycle
//! may end, and says here when it does. What a cut, an increase or a release then does is the same code.

use super::QcnRp;
use super::params::Clock;
use super::rp::QcnState;
use crate::dice::Dice;
use qcnlab_units::{BitRate, Bytes, Instant};

impl QcnRp {
    /// Returns whether the next frame counts towards a byte-counter cycle.
    pub fn counts_octets(&self) -> bool {
        match &self.state {
            QcnState::Free => false,
            QcnState::Limiting(limiter) => self.params.clock != Clock::Timer && limiter.rates.current != self.max_rate,
        }
    }

    /// As [`on_sent`](crate::ReactionPoint::on_sent), but the byte-counter cycle ends with this frame exactly if
    /// `ends` says so.
    pub fn on_sent_observed(&mut self, sent: Bytes, backlog: Bytes, ends: bool, dice: &mut Dice) {
        let counts = self.counts_octets();
        let QcnState::Limiting(limiter) = &mut self.state else { return };
        limiter.backlog_empty = backlog == Bytes::ZERO;
        limiter.sent_since_timer = true;
        if counts {
            // Whether it has passed is the caller's to say.
            let _ = limiter.byte_count.passed(sent);
            if ends {
                limiter.end_byte_cycle(&self.params, self.max_rate, dice);
            }
        }
        self.release_if_done();
    }

    /// The timer cycle ends now, whatever its length was; nothing waits behind the limiter if `nothing_waits`.
    pub fn on_time_cycle_observed(&mut self, now: Instant, nothing_waits: bool, dice: &mut Dice) {
        if let QcnState::Limiting(limiter) = &mut self.state {
            limiter.backlog_empty = nothing_waits;
        }
        if self.time_cycle_ended(now, dice) {
            self.release_if_done();
        }
    }

    /// Returns the octets to the end of the byte-counter cycle, negative past it; `None` without a limiter.
    pub const fn byte_cycle_left(&self) -> Option<i64> {
        match &self.state {
            QcnState::Free => None,
            QcnState::Limiting(limiter) => Some(limiter.byte_count.left()),
        }
    }

    /// Returns the timer cycles that have ended since the last cut; 0 without a limiter.
    pub const fn time_stage(&self) -> u32 {
        match &self.state {
            QcnState::Free => 0,
            QcnState::Limiting(limiter) => limiter.time_stage,
        }
    }

    /// Sets the target rate, as a device does that breaks the law of it.
    pub const fn set_target_rate(&mut self, rate: BitRate) {
        if let QcnState::Limiting(limiter) = &mut self.state {
            limiter.rates.target = rate;
        }
    }
}
