//! CUBIC: RFC 9438. Windows are segments inside, octets outside.

use super::progress::{Loss, Progress};
use qcnlab_units::Instant;

/// C, segments per second cubed (section 5.1).
const C: f64 = 0.4;
/// What is left of the window after a loss (section 4.6): seven tenths.
const BETA: f64 = 0.7;
/// Additive step of a Reno that shrinks by beta and yet keeps Reno's mean window (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The congestion control of CUBIC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cubic {
    /// Octets of a segment.
    mss: f64,
    /// The window before the last reduction, less with fast convergence; zero before the first.
    w_max: f64,
    /// The window before the last reduction.
    prior: f64,
    /// Whether the last reduction was a timeout's.
    timed_out: bool,
    /// The present stage of congestion avoidance; it begins with its first acknowledgement.
    stage: Option<Stage>,
    /// Part of an octet that the window outside cannot show.
    fraction: f64,
}

/// A stage of congestion avoidance.
#[derive(Clone, Debug, PartialEq)]
struct Stage {
    /// When it began.
    epoch: Instant,
    /// Where the cubic is flat.
    origin: f64,
    /// Seconds from the start to there.
    k: f64,
    /// The window Reno would have.
    w_est: f64,
}

impl Stage {
    /// Figures 1 and 2. After a timeout, and where there is no higher window to return to, K is zero and the
    /// window itself the origin (section 4.8).
    fn new(epoch: Instant, window: f64, origin: f64) -> Stage {
        let origin = origin.max(window);
        Stage { epoch, origin, k: cube_root((origin - window) / C), w_est: window }
    }

    /// Figure 1: the window after `t` seconds.
    fn cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * d * d * d + self.origin
    }
}

impl Cubic {
    pub(super) fn new(mss: u64) -> Cubic {
        Cubic { mss: mss as f64, w_max: 0.0, prior: 0.0, timed_out: false, stage: None, fraction: 0.0 }
    }

    /// Sections 4.2 to 4.5. The window never shrinks at an acknowledgement.
    pub(super) fn grown(&mut self, ack: Progress) -> u64 {
        let window = (ack.window as f64 + self.fraction) / self.mss;
        if self.stage.is_none() && self.timed_out {
            self.w_max = window;
        }
        let stage = self.stage.get_or_insert_with(|| Stage::new(ack.now, window, self.w_max));
        let alpha = if stage.w_est >= self.prior { 1.0 } else { ALPHA };
        stage.w_est += alpha * (ack.octets as f64 / self.mss) / window;
        let t = ack.now.since(stage.epoch).seconds();
        let grown = if stage.cubic(t) < stage.w_est {
            stage.w_est.max(window)
        } else {
            let target = stage.cubic(t + ack.rtt.seconds()).clamp(window, 1.5 * window);
            window + (target - window) / window
        };
        let octets = grown * self.mss;
        self.fraction = octets - octets.floor();
        octets as u64
    }

    /// Sections 4.6 to 4.8. The window before is that of the sender, the reduction is of what is in flight.
    pub(super) fn on_loss(&mut self, loss: Loss, window: u64, flight: u64) -> u64 {
        let window = window as f64 / self.mss;
        self.prior = window;
        self.timed_out = loss == Loss::Timeout;
        self.stage = None;
        self.fraction = 0.0;
        if loss == Loss::Duplicates {
            self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        }
        (flight * 7 / 10).max(2 * self.mss as u64)
    }
}

/// Newton's method in plain arithmetic, the same on every machine. For numbers from zero up.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent, within 6 %: of its bias, 1023 * 2^52, two thirds are then missing.
    let mut root = f64::from_bits(x.to_bits() / 3 + 682 * (1 << 52));
    for _ in 0..5 {
        root -= (root - x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_units::Span;

    const MSS: u64 = 1000;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Span::from_ps((seconds * 1e12) as u64)
    }

    fn progress(seconds: f64, window: u64, rtt_ms: u64) -> Progress {
        Progress { now: at(seconds), octets: MSS, window, rtt: Span::from_ms(rtt_ms) }
    }

    #[track_caller]
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} against {b}");
    }

    #[test]
    fn cube_roots() {
        for x in [1e-9, 0.001, 0.125, 1.0, 2.0, 27.0, 75.0, 1e6, 1e300] {
            let root = cube_root(x);
            close(root * root * root / x, 1.0, 1e-15);
        }
        assert_eq!(cube_root(0.0), 0.0);
    }

    #[test]
    fn k_and_the_cubic_at_stated_times() {
        // W_max 1000, window 700: K = cbrt(300 / 0.4) = cbrt(750) = 9.0856 s.
        let stage = Stage::new(at(0.0), 700.0, 1000.0);
        close(stage.k, 9.0856, 5e-5);
        close(stage.cubic(0.0), 700.0, 1e-9);
        // 3 s: 0.4 (3 - 9.0856)^3 = 0.4 * -225.38 = -90.15.
        close(stage.cubic(3.0), 909.85, 0.01);
        close(stage.cubic(stage.k), 1000.0, 1e-9);
        // Odd around K: W(2K) = 1000 + 300.
        close(stage.cubic(2.0 * stage.k), 1300.0, 1e-9);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_remembers_the_window() {
        let mut cubic = Cubic::new(MSS);
        // 100 segments, 90 of them in flight: ssthresh 63.
        assert_eq!(cubic.on_loss(Loss::Duplicates, 100_000, 90_000), 63_000);
        assert_eq!((cubic.w_max, cubic.prior), (100.0, 100.0));
        // Fast convergence: a loss at 80 < 100 remembers 80 * 1.7 / 2 = 68; the prior window stays 80.
        cubic.on_loss(Loss::Duplicates, 80_000, 80_000);
        assert_eq!((cubic.w_max, cubic.prior), (68.0, 80.0));
        // 75 > 68: no fast convergence.
        cubic.on_loss(Loss::Duplicates, 75_000, 75_000);
        assert_eq!(cubic.w_max, 75.0);
        // 75 is not less than 75 (section 4.7).
        cubic.on_loss(Loss::Duplicates, 75_000, 75_000);
        assert_eq!(cubic.w_max, 75.0);
        // Two segments at least.
        assert_eq!(cubic.on_loss(Loss::Duplicates, 2000, 2000), 2000);
    }

    #[test]
    fn concave_growth_takes_the_step_to_the_target() {
        let mut cubic = Cubic::new(MSS);
        cubic.on_loss(Loss::Duplicates, 1_000_000, 1_000_000);
        // At the epoch W(RTT 1 s) = 1000 + 0.4 (1 - 9.0856)^3 = 1000 - 211.446 = 788.554;
        // W_est = 700 + 0.5294 / 700 < W(0)? No: W(0) = 700 < 700.00076, so the first acknowledgement is Reno's.
        assert_eq!(cubic.grown(progress(0.0, 700_000, 1000)), 700_000);
        close(cubic.fraction, 0.756, 0.001);
        // 0.1 s later W(0.1) = 1000 + 0.4 (-8.9856)^3 = 709.80 > W_est; W(1.1) = 1000 + 0.4 (-7.9856)^3 = 796.30:
        // the step is (796.30 - 700.00) / 700.00 = 0.13757 segments.
        assert_eq!(cubic.grown(progress(0.1, 700_000, 1000)), 700_138);
    }

    #[test]
    fn the_target_is_at_most_half_a_window_away() {
        let mut cubic = Cubic::new(MSS);
        cubic.on_loss(Loss::Duplicates, 100_000, 100_000);
        cubic.grown(progress(0.0, 70_000, 0));
        // 20 s later W = 100 + 0.4 (20 - 4.217)^3 = 1672; the target is 105: a step of 35 / 70 = 0.5 segments.
        assert_eq!(cubic.grown(progress(20.0, 70_000, 0)), 70_500);
    }

    #[test]
    fn the_window_of_reno_leads_where_the_cubic_is_flat() {
        // 10 segments at the loss: window 7, K = cbrt(7.5) = 1.957 s, so within 100 ms the cubic rises to 7.44 only.
        let mut cubic = Cubic::new(MSS);
        cubic.on_loss(Loss::Duplicates, 10_000, 10_000);
        let mut window = 7000;
        let mut until = |target: u64| {
            (1..).find(|n| {
                window = cubic.grown(progress(f64::from(*n) * 1e-4, window, 1));
                window >= target
            })
        };
        // Each acknowledgement adds alpha / W, so W^2 grows by 2 alpha + alpha^2 / W^2, with alpha = 9/17 up to the
        // prior 10: 51 / (1.0588 + 0.0040) = 47.99. Then alpha = 1: 300 / (2 + 0.0046) = 149.7 up to 20.
        assert_eq!(until(10_000), Some(48));
        assert_eq!(until(20_000), Some(150));
    }

    /// Section 4.3 follows Reno where W_cubic is less than W_est. Fifty of 50 segments are acknowledged: W_est = 99 + 50 / 50
    /// = 100. The cubic is flat there, at 100: it leads, and its target is 1.5 * 50 = 75, a step of 25 / 50 segments.
    #[test]
    fn where_both_windows_are_equal_the_cubic_leads() {
        let mut cubic = Cubic::new(MSS);
        cubic.stage = Some(Stage { epoch: at(0.0), origin: 100.0, k: 0.0, w_est: 99.0 });
        assert_eq!(cubic.grown(Progress { octets: 50 * MSS, ..progress(0.0, 50_000, 0) }), 50_500);
    }

    /// The cubic is at 40 segments and Reno's window at 44 + 50 / 50 = 45: it leads, but a window of 50 does not shrink.
    #[test]
    fn a_window_does_not_shrink_to_renos() {
        let mut cubic = Cubic::new(MSS);
        cubic.stage = Some(Stage { epoch: at(0.0), origin: 40.0, k: 0.0, w_est: 44.0 });
        assert_eq!(cubic.grown(Progress { octets: 50 * MSS, ..progress(0.0, 50_000, 0) }), 50_000);
    }

    #[test]
    fn after_a_timeout_the_cubic_starts_where_slow_start_ended() {
        let mut cubic = Cubic::new(MSS);
        cubic.on_loss(Loss::Duplicates, 1_000_000, 1_000_000);
        assert_eq!(cubic.on_loss(Loss::Timeout, 800_000, 800_000), 560_000);
        cubic.grown(progress(5.0, 560_000, 10));
        let stage = cubic.stage.as_ref().unwrap();
        assert_eq!((stage.k, stage.origin, cubic.w_max), (0.0, 560.0, 560.0));
        // 10 s on: W = 560 + 0.4 * 1000 = 960.
        close(stage.cubic(10.0), 960.0, 1e-9);
    }
}
