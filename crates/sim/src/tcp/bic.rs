//! BIC: Xu, Harfoush, Rhee, "Binary Increase Congestion Control for Fast Long-Distance Networks", INFOCOM 2004.
//!
//! After a loss the window searches the one it had: it goes half of the way a round trip, at most S_max and at least
//! S_min segments. Beyond that window it probes, with steps that double up to S_max. Below `LOW_WINDOW` it is Reno.
//! [`BicStep`] says when a step is chosen, [`BicProbing`] which is the first beyond the old window.

use super::progress::Progress;
use super::reno::Reno;
use super::{BicProbing, BicStep, Config, CongestionAvoidance};

/// Largest step a round trip, segments.
const S_MAX: f64 = 32.0;
/// Smallest step a round trip, segments.
const S_MIN: f64 = 0.01;
/// First step beyond the old window if the steps double from a segment on.
const FIRST_PROBE: f64 = 1.0;
/// What a loss takes off the window.
const BETA: f64 = 0.125;
/// Windows below this many segments are Reno's.
const LOW_WINDOW: u64 = 14;

/// The congestion control of BIC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bic {
    mss: u64,
    chosen: BicStep,
    probing: BicProbing,
    /// The window the search looks for, octets; `None` before the first loss.
    w_max: Option<f64>,
    /// The present step; `None` after a loss, until the window grows.
    step: Option<SearchStep>,
    reno: Reno,
}

/// A step on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SearchStep {
    /// The window at its start, octets and a fraction.
    base: f64,
    /// How far the window goes in a round trip, octets.
    length: f64,
    /// Octets acknowledged so far.
    acked: f64,
    /// The window now.
    window: f64,
}

impl Bic {
    pub(super) fn new(config: &Config) -> Bic {
        let mss = config.mss.get().max(1);
        Bic {
            mss,
            chosen: config.bic_step,
            probing: config.bic_probing,
            w_max: None,
            step: None,
            reno: Reno::new(mss, CongestionAvoidance::ByteCounting),
        }
    }

    /// A step is spread over the acknowledgements of a window of octets.
    pub(super) fn grown(&mut self, ack: Progress) -> u64 {
        if ack.window < LOW_WINDOW * self.mss {
            return self.reno.grown(ack);
        }
        let mut step = self.step.unwrap_or_else(|| self.begin(ack.window as f64, None));
        step.acked += ack.octets as f64;
        let over = match self.chosen {
            BicStep::EachRound => {
                step.window = step.base + step.length * (step.acked / step.base).min(1.0);
                step.acked >= step.base
            }
            BicStep::EachAck => {
                step.window += step.length * ack.octets as f64 / step.window;
                let doubles = self.probing == BicProbing::Doubling && self.is_beyond(step.base);
                !doubles || step.window >= step.base + step.length
            }
        };
        self.step = Some(if over { self.begin(step.window, Some(step)) } else { step });
        step.window as u64
    }

    fn is_beyond(&self, window: f64) -> bool {
        self.w_max.is_some_and(|w_max| window >= w_max)
    }

    fn begin(&self, window: f64, before: Option<SearchStep>) -> SearchStep {
        let mss = self.mss as f64;
        let way = match (self.w_max, self.probing) {
            (None, _) => f64::INFINITY,
            (Some(w_max), _) if window < w_max => (w_max - window) / 2.0,
            (Some(w_max), BicProbing::Mirrored) => window - w_max,
            (Some(_), BicProbing::Doubling) => match before {
                Some(step) if self.is_beyond(step.base) => 2.0 * step.length,
                _ => FIRST_PROBE * mss,
            },
        };
        SearchStep { base: window, length: way.clamp(S_MIN * mss, S_MAX * mss), acked: 0.0, window }
    }

    /// Takes beta off the window, and looks for less than before when the loss came earlier (fast convergence).
    /// A timeout is a loss like any other.
    pub(super) fn on_loss(&mut self, window: u64, flight: u64) -> u64 {
        self.step = None;
        let halved = self.reno.on_loss(flight);
        if window < LOW_WINDOW * self.mss {
            return halved;
        }
        let window = window as f64;
        let converging = self.w_max.is_some_and(|w_max| window < w_max);
        self.w_max = Some(if converging { window * (2.0 - BETA) / 2.0 } else { window });
        (window * (1.0 - BETA)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Flavour;
    use crate::testing;
    use qcnlab_units::{Bytes, Instant, Span};

    const MSS: u64 = 1000;

    fn bic(bic_step: BicStep, bic_probing: BicProbing) -> Bic {
        Bic::new(&Config { mss: Bytes::new(MSS), bic_step, bic_probing, ..testing::connection(Flavour::Bic) })
    }

    /// Windows after each of `rounds` round trips, in octets.
    fn rounds(bic: &mut Bic, mut window: u64, rounds: usize) -> Vec<u64> {
        (0..rounds)
            .map(|_| {
                for _ in 0..window.div_ceil(MSS) {
                    window = acked(bic, window);
                }
                window
            })
            .collect()
    }

    /// The window after the acknowledgement of a segment.
    fn acked(bic: &mut Bic, window: u64) -> u64 {
        bic.grown(Progress { now: Instant::ZERO, octets: MSS, window, rtt: Span::ZERO })
    }

    #[test]
    fn each_acknowledgement_goes_its_part_of_half_the_way() {
        let mut bic = bic(BicStep::EachAck, BicProbing::Doubling);
        // 80 segments: 70, the way is 10. The first acknowledgement: 70 + 5 / 70 = 70.071428. The second: half the way
        // is 4.964286; 70.071428 + 4.964286 / 70.071428 = 70.142275. The third: 4.928863 / 70.142275 = 0.070269.
        let mut window = bic.on_loss(80_000, 80_000);
        assert_eq!(window, 70_000);
        for expected in [70_071, 70_142, 70_212] {
            window = acked(&mut bic, window);
            assert_eq!(window, expected);
        }
    }

    #[test]
    fn each_acknowledgement_goes_its_part_of_the_largest_step() {
        let mut bic = bic(BicStep::EachAck, BicProbing::Doubling);
        // 1024 segments: 896, half of the way is 64 > 32: 896 + 32 / 896 = 896.035714, + 32 / 896.035714 = 896.071427.
        let mut window = bic.on_loss(1_024_000, 1_024_000);
        for expected in [896_035, 896_071] {
            window = acked(&mut bic, window);
            assert_eq!(window, expected);
        }
    }

    #[test]
    fn an_acknowledgement_of_two_segments_goes_twice_as_far() {
        let mut bic = bic(BicStep::EachAck, BicProbing::Doubling);
        // 5 of 70 segments for two of them: 70 + 10 / 70 = 70.142857.
        let window = bic.on_loss(80_000, 80_000);
        let two = Progress { now: Instant::ZERO, octets: 2 * MSS, window, rtt: Span::ZERO };
        assert_eq!(bic.grown(two), 70_142);
    }

    #[test]
    fn past_the_old_window_it_goes_a_segment_then_two_then_four() {
        let mut each = bic(BicStep::EachRound, BicProbing::Doubling);
        each.on_loss(100_000, 100_000);
        // 1, 2, 4, 8, 16, 32, 32 segments.
        let expected = [101_000, 103_000, 107_000, 115_000, 131_000, 163_000, 195_000];
        assert_eq!(rounds(&mut each, 100_000, 7), expected);
        // At each acknowledgement: 1 / 100, 1 / 100.01, ..., until 101 segments; then 2 / 101 and so on. The first 100
        // give 100 + 0.995, 0.01 less for each that came before; the 101st passes 101.
        let mut each = bic(BicStep::EachAck, BicProbing::Doubling);
        each.on_loss(100_000, 100_000);
        let mut window = 100_000;
        for _ in 0..100 {
            window = acked(&mut each, window);
        }
        assert_eq!(window, 100_995);
        // 100.995062 + 1 / 100.995062 = 101.004964; + 2 / 101.004964 = 101.024765.
        for expected in [101_004, 101_024] {
            window = acked(&mut each, window);
            assert_eq!(window, expected);
        }
    }

    #[test]
    fn the_search_halves_the_way() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        // 80 segments: ssthresh 80 * 7/8 = 70, the way is 10: 75, 77.5, 78.75, 79.375.
        let window = bic.on_loss(80_000, 80_000);
        assert_eq!(window, 70_000);
        assert_eq!(rounds(&mut bic, window, 4), [75_000, 77_500, 78_750, 79_375]);
    }

    /// From 70 segments on, 5 in the round: 5 / 70 after one acknowledgement, 2.5 after half of them.
    #[test]
    fn a_step_is_spread_over_its_round() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        bic.on_loss(80_000, 80_000);
        let windows: Vec<u64> = (0..35).map(|_| acked(&mut bic, 70_000)).collect();
        assert_eq!((windows[0], windows[34]), (70_071, 72_500));
    }

    #[test]
    fn far_away_it_goes_the_largest_step() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        // 1024 segments: 896, the way is 128: half is 64 > 32, so 928, 960 (way 64, half 32: 992), then
        // 16, 8, 4.
        let window = bic.on_loss(1_024_000, 1_024_000);
        assert_eq!(window, 896_000);
        assert_eq!(rounds(&mut bic, window, 6), [928_000, 960_000, 992_000, 1_008_000, 1_016_000, 1_020_000]);
    }

    #[test]
    fn past_the_old_window_mirrored_steps_come_in_reverse_order() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Mirrored);
        bic.on_loss(100_000, 100_000);
        // From the old window itself: 0.01, then 0.01, 0.02, 0.04, ... segments: 100 + 0.01 * 2^n.
        let windows = rounds(&mut bic, 100_000, 14);
        assert_eq!(windows[..4], [100_010, 100_020, 100_040, 100_080]);
        // 2^12 * 10 = 40.96 segments out; the next step would be 40.96 > 32.
        assert_eq!(windows[12..], [140_960, 172_960]);
    }

    #[test]
    fn near_the_old_window_it_goes_the_smallest_step() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        bic.on_loss(100_000, 100_000);
        // A way of 16 octets: half is 8 < 10. Past the old window probing begins anew, with a segment, whatever step led there.
        assert_eq!(rounds(&mut bic, 99_984, 4), [99_994, 100_004, 101_004, 103_004]);
    }

    #[test]
    fn an_earlier_loss_converges_fast() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        bic.on_loss(100_000, 100_000);
        // 96 < 100: looks for 96 * 1.875 / 2 = 90; falls to 84, goes 3, then 1.5.
        let window = bic.on_loss(96_000, 96_000);
        assert_eq!(window, 84_000);
        assert_eq!(rounds(&mut bic, window, 2), [87_000, 88_500]);
    }

    /// A loss at the old window is not an earlier one: from 87.5 the search looks for 100 again, half of the way is 6.25.
    #[test]
    fn a_loss_at_the_old_window_looks_for_it_again() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        bic.on_loss(100_000, 100_000);
        let window = bic.on_loss(100_000, 100_000);
        assert_eq!(window, 87_500);
        assert_eq!(rounds(&mut bic, window, 1), [93_750]);
    }

    /// From 14 segments on windows are BIC's: 14 * 7/8 = 12.25 after a loss, where Reno would halve the flight; and without
    /// an old window 32 more in a round.
    #[test]
    fn fourteen_segments_are_not_a_small_window() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        assert_eq!(rounds(&mut bic, 14_000, 1), [46_000]);
        assert_eq!([bic.on_loss(13_999, 12_000), bic.on_loss(14_000, 12_000)], [6000, 12_250]);
    }

    /// Reno counted 12 of 13 segments when a window of BIC's met a loss: from 12.25 on it counts anew, 13 of one segment.
    #[test]
    fn a_loss_has_reno_count_anew() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        assert!((0..12).all(|_| acked(&mut bic, 13_000) == 13_000));
        assert_eq!(bic.on_loss(14_000, 14_000), 12_250);
        assert!((0..12).all(|_| acked(&mut bic, 12_250) == 12_250));
        assert_eq!(acked(&mut bic, 12_250), 13_250);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut bic = bic(BicStep::EachRound, BicProbing::Doubling);
        assert_eq!(bic.on_loss(13_000, 12_000), 6000);
        assert_eq!(rounds(&mut bic, 6000, 3), [7000, 8000, 9000]);
    }
}
