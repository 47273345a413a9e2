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

#[cfg(test)]
mod tests {
    use super::super::params::{QcnRpParams, RP_DECK001};
    use super::*;
    use crate::roles::{Cnm, CpId, ReactionPoint, Signal};
    use crate::testing::{FRAME, LINE, dice, ms};

    const EXACT: QcnRpParams = QcnRpParams { jitter_width: 0.0, ..RP_DECK001 };

    /// 10 Gb/s less 32/128: 7500 Mb/s.
    fn limited(params: QcnRpParams) -> QcnRp {
        let mut rp = QcnRp::new(params, LINE);
        let cnm = Cnm { cp: CpId(0), quantized_fb: 32, q_offset: -10_000, q_delta: 0 };
        rp.on_signal(ms(0), &Signal::Cnm(cnm), &mut dice());
        assert_eq!(rp.gauge().current_rate, BitRate::mbps(7500));
        rp
    }

    fn rates(rp: &QcnRp) -> (BitRate, BitRate) {
        (rp.gauge().current_rate, rp.gauge().target_rate)
    }

    /// A limiter counts, unless it has no byte counter or is at line rate and waits to be released.
    #[test]
    fn who_counts_octets() {
        assert!(!QcnRp::new(EXACT, LINE).counts_octets());
        assert!(limited(EXACT).counts_octets());
        assert!(!limited(QcnRpParams { clock: Clock::Timer, ..EXACT }).counts_octets());
        let mut rp = limited(EXACT);
        rp.set_target_rate(BitRate::gbps(20));
        rp.on_time_cycle_observed(ms(1), false, &mut dice());
        // Half the way from 7.5 to 20 Gb/s is 13.75.
        assert_eq!((rates(&rp).0, rp.is_limiting(), rp.counts_octets()), (LINE, true, false));
    }

    /// 150 000 octets less a frame of 1500, and again; the cycle ends when it is said to, and a new one has all octets. The
    /// rate goes half the way to 10 Gb/s.
    #[test]
    fn a_byte_cycle_ends_when_it_is_said_to() {
        let mut rp = limited(EXACT);
        assert_eq!((rp.byte_cycle_left(), QcnRp::new(EXACT, LINE).byte_cycle_left()), (Some(150_000), None));
        rp.on_sent_observed(FRAME, FRAME, false, &mut dice());
        assert_eq!((rp.byte_cycle_left(), rp.byte_stage()), (Some(148_500), 0));
        rp.on_sent_observed(FRAME, FRAME, true, &mut dice());
        assert_eq!((rp.byte_cycle_left(), rp.byte_stage()), (Some(150_000), 1));
        assert_eq!(rates(&rp), (BitRate::mbps(8750), LINE));
        let mut free = QcnRp::new(EXACT, LINE);
        free.on_sent_observed(FRAME, FRAME, true, &mut dice());
        assert!(!free.is_limiting());
    }

    /// A timer that is alone has no byte cycle to end, whatever is said.
    #[test]
    fn a_timer_alone_ends_no_byte_cycle() {
        let mut rp = limited(QcnRpParams { clock: Clock::Timer, ..EXACT });
        rp.on_sent_observed(FRAME, FRAME, true, &mut dice());
        assert_eq!((rp.byte_stage(), rates(&rp).0), (0, BitRate::mbps(7500)));
    }

    /// 7.5, 8.75, 9.375 Gb/s, one timer cycle each, long before 15 ms.
    #[test]
    fn a_timer_cycle_ends_when_it_is_said_to() {
        let mut rp = limited(EXACT);
        assert_eq!((rp.time_stage(), QcnRp::new(EXACT, LINE).time_stage()), (0, 0));
        for (stage, rate) in [(1, 8750), (2, 9375)] {
            rp.on_time_cycle_observed(ms(u64::from(stage)), false, &mut dice());
            assert_eq!((rp.time_stage(), rates(&rp).0), (stage, BitRate::mbps(rate)));
        }
        assert_eq!(rp.time_end(), ms(17), "the third ends 15 ms after the second");
    }

    /// At line rate it is released if nothing waits behind it, at a frame or at a timer cycle.
    #[test]
    fn it_is_released_at_line_rate_if_nothing_waits() {
        for (nothing_waits, limits) in [(false, true), (true, false)] {
            let mut rp = limited(EXACT);
            rp.set_target_rate(BitRate::gbps(20));
            rp.on_time_cycle_observed(ms(1), nothing_waits, &mut dice());
            assert_eq!((rates(&rp).0, rp.is_limiting()), (LINE, limits));
            rp.on_sent_observed(FRAME, Bytes::ZERO, false, &mut dice());
            assert!(!rp.is_limiting(), "the last frame left nothing behind");
        }
    }

    /// A device that breaks the law of the target: 7.5 Gb/s go half the way to 8.
    #[test]
    fn the_target_may_be_set() {
        let mut rp = limited(EXACT);
        rp.set_target_rate(BitRate::gbps(8));
        assert_eq!(rates(&rp).1, BitRate::gbps(8));
        rp.on_sent_observed(FRAME, FRAME, true, &mut dice());
        assert_eq!(rates(&rp).0, BitRate::mbps(7750));
    }
}
