//! Current and target rate: the rules that make a limiter search for its rate by halving.
//!
//! Deck 000, Rules for changing TR and CR, and Downward Transience.

use crate::params;
use crate::params::Range;
use qcnlab_units::BitRate;

params! {
    /// Parameters of a cut.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CutParams {
        /// Decrease per unit of quantized feedback.
        gd: f64, "rpgGd, GD, Gd", Range::between(0.0, 1.0);
        /// The least share of the rate that one message leaves.
        min_dec_fac: f64, "rpgMinDecFac", Range::above_zero_to(1.0);
        /// The rate is never cut below this.
        min_rate: BitRate, "rpgMinRate, MIN_RATE, Rmin", Range::POSITIVE;
    }
}

/// The rate a limiter lets pass, and the rate it climbs back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// CR.
    pub current: BitRate,
    /// TR: at or above the current rate after a cut.
    pub target: BitRate,
}

impl Rates {
    /// Both at `rate`.
    pub const fn at(rate: BitRate) -> Rates {
        Rates { current: rate, target: rate }
    }

    /// Takes `gd` off the current rate for each unit of quantized feedback: one message leaves at least the share
    /// `min_dec_fac`, and no cut goes below `min_rate`.
    pub fn cut(&mut self, fb: u8, params: &CutParams) {
        let CutParams { gd, min_dec_fac, min_rate } = *params;
        let factor = (1.0 - gd * f64::from(fb)).max(min_dec_fac);
        self.current = self.current.scaled_rounded_down(factor).max(min_rate);
    }

    /// The rate before a cut becomes the target.
    pub const fn aim_at_current(&mut self) {
        self.target = self.current;
    }

    /// Target-rate reduction: a target above ten times the current rate falls to an eighth.
    pub const fn reduce_target(&mut self) -> bool {
        let far = self.target.get() > 10 * self.current.get();
        if far {
            self.target = BitRate::bps(self.target.get() / 8);
        }
        far
    }

    /// Raises the target by `step`.
    pub fn raise_target(&mut self, step: BitRate) {
        self.target = self.target + step;
    }

    /// Adds a drift of `step`, never past `max_rate`; the target is never left behind.
    pub fn drift(&mut self, step: BitRate, max_rate: BitRate) {
        self.current = (self.current + step).min(max_rate);
        self.target = self.target.max(self.current);
    }

    /// Half the way to the target, never past `max_rate`.
    pub fn approach(&mut self, max_rate: BitRate) {
        self.current = self.current.midpoint_rounded_down(self.target).min(max_rate);
    }
}
