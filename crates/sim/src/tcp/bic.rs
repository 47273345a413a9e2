//! BIC: Xu, Harfoush, Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks", INFOCOM 2004.
//!
//! After a loss the window searches the one it had: each round trip it goes half of the way, at most S_max
//! and at least S_min segments. Beyond, the same steps come in reverse order: S_min, then as far as it has
//! come, so doubling, up to S_max. Below `LOW_WINDOW` it is Reno.

use super::CongestionAvoidance;
use super::progress::Progress;
use super::reno::Reno;

/// Largest step a round trip, segments.
const S_MAX: f64 = 32.0;
/// Smallest step a round trip, segments.
const S_MIN: f64 = 0.01;
/// What a loss takes off the window.
const BETA: f64 = 0.125;
/// Windows below this many segments are Reno's.
const LOW_WINDOW: u64 = 14;

/// The congestion control of BIC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bic {
    mss: u64,
    /// The window the search looks for, octets; `None` before the first loss.
    w_max: Option<f64>,
    /// The present round trip.
    round: Option<Round>,
    reno: Reno,
}

/// A window's worth of acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round {
    /// The window at its start, octets and a fraction.
    base: f64,
    /// How far the window goes, octets.
    step: f64,
    /// Octets acknowledged so far.
    acked: f64,
}

impl Round {
    fn window(&self) -> f64 {
        self.base + self.step * (self.acked / self.base)
    }
}

impl Bic {
    pub(super) fn new(mss: u64) -> Bic {
        Bic { mss, w_max: None, round: None, reno: Reno::new(mss, CongestionAvoidance::ByteCounting) }
    }

    /// A step is chosen when a round begins and spread over its acknowledgements.
    pub(super) fn grown(&mut self, ack: Progress) -> u64 {
        if ack.window < LOW_WINDOW * self.mss {
            return self.reno.grown(ack);
        }
        let mut round = self.round.unwrap_or_else(|| self.begin(ack.window as f64));
        round.acked += ack.octets as f64;
        if round.acked >= round.base {
            round = self.begin(round.base + round.step);
        }
        self.round = Some(round);
        round.window() as u64
    }

    fn begin(&self, window: f64) -> Round {
        let mss = self.mss as f64;
        let way = match self.w_max {
            Some(w_max) if window < w_max => (w_max - window) / 2.0,
            Some(w_max) => window - w_max,
            None => f64::INFINITY,
        };
        Round { base: window, step: way.clamp(S_MIN * mss, S_MAX * mss), acked: 0.0 }
    }

    /// Takes beta off the window, and looks for less than before when the loss came earlier (fast convergence).
    /// A timeout is a loss like any other.
    pub(super) fn on_loss(&mut self, window: u64, flight: u64) -> u64 {
        self.round = None;
        let halved = self.reno.on_loss(flight);
        if window < LOW_WINDOW * self.mss {
            return halved;
        }
        let window = window as f64;
        let converging = self.w_max.is_some_and(|w_max| window < w_max);
        self.w_max = Some(if converging { window * (2.0 - BETA) / 2.0 } else { window });
        ((window * (1.0 - BETA)) as u64).max(2 * self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_units::{Instant, Span};

    const MSS: u64 = 1000;

    /// Windows after each of `rounds` round trips, in octets.
    fn rounds(bic: &mut Bic, mut window: u64, rounds: usize) -> Vec<u64> {
        (0..rounds)
            .map(|_| {
                for _ in 0..window.div_ceil(MSS) {
                    window = bic.grown(Progress { now: Instant::ZERO, octets: MSS, window, rtt: Span::ZERO });
                }
                window
            })
            .collect()
    }

    #[test]
    fn the_search_halves_the_way() {
        let mut bic = Bic::new(MSS);
        // 80 segments: ssthresh 80 * 7/8 = 70, the way is 10: 75, 77.5, 78.75, 79.375.
        let window = bic.on_loss(80_000, 80_000);
        assert_eq!(window, 70_000);
        assert_eq!(rounds(&mut bic, window, 4), [75_000, 77_500, 78_750, 79_375]);
    }

    #[test]
    fn far_away_it_goes_the_largest_step() {
        let mut bic = Bic::new(MSS);
        // 1024 segments: 896, the way is 128: half is 64 > 32, so 928, 960 (way 64, half 32: 992), then
        // 16, 8, 4.
        let window = bic.on_loss(1_024_000, 1_024_000);
        assert_eq!(window, 896_000);
        assert_eq!(rounds(&mut bic, window, 6), [928_000, 960_000, 992_000, 1_008_000, 1_016_000, 1_020_000]);
    }

    #[test]
    fn past_the_old_window_the_steps_double() {
        let mut bic = Bic::new(MSS);
        bic.on_loss(100_000, 100_000);
        // From the old window itself: 0.01, then 0.01, 0.02, 0.04, ... segments: 100 + 0.01 * 2^n.
        let windows = rounds(&mut bic, 100_000, 14);
        assert_eq!(windows[..4], [100_010, 100_020, 100_040, 100_080]);
        // 2^12 * 10 = 40.96 segments out; the next step would be 40.96 > 32.
        assert_eq!(windows[12..], [140_960, 172_960]);
    }

    #[test]
    fn near_the_old_window_it_goes_the_smallest_step() {
        let mut bic = Bic::new(MSS);
        bic.on_loss(100_000, 100_000);
        // A way of 16 octets: half is 8 < 10.
        assert_eq!(rounds(&mut bic, 99_984, 2), [99_994, 100_004]);
    }

    #[test]
    fn an_earlier_loss_converges_fast() {
        let mut bic = Bic::new(MSS);
        bic.on_loss(100_000, 100_000);
        // 96 < 100: looks for 96 * 1.875 / 2 = 90; falls to 84, goes 3, then 1.5.
        let window = bic.on_loss(96_000, 96_000);
        assert_eq!(window, 84_000);
        assert_eq!(rounds(&mut bic, window, 2), [87_000, 88_500]);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut bic = Bic::new(MSS);
        assert_eq!(bic.on_loss(13_000, 12_000), 6000);
        assert_eq!(rounds(&mut bic, 6000, 3), [7000, 8000, 9000]);
    }
}
