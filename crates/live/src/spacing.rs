//! How far apart frames leave their limiters, beside the distances that the limiters' rates ask for.

use serde_json::{Value, json};

/// Bins of a doubling.
const BINS: f64 = 32.0;
/// Doublings on each side of 1 that are told apart.
const DOUBLINGS: f64 = 12.0;
const COUNT: usize = (2.0 * BINS * DOUBLINGS) as usize + 1;

/// A frame that a limiter let pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spaced {
    /// The limiter's position at its host.
    pub(crate) limiter: u16,
    /// The distance from the frame before that the rate asks for, ps; 0 where it asks for none.
    pub(crate) after: u64,
}

/// Distances between frames that followed each other at a limiter, each divided by what the rate asked for: 1 for a
/// frame that left when the law says, near 0 for one of a burst.
#[derive(Clone, Debug)]
pub(crate) struct Spacing {
    counts: Vec<u32>,
    frames: u64,
    sum: f64,
    squares: f64,
}

impl Default for Spacing {
    fn default() -> Spacing {
        Spacing { counts: vec![0; COUNT], frames: 0, sum: 0.0, squares: 0.0 }
    }
}

impl Spacing {
    /// A frame left `gap` after the one before it, where `asked` would have been right; both in ps.
    pub(crate) fn count(&mut self, gap: u64, asked: u64) {
        let ratio = gap as f64 / asked as f64;
        let bin = ((ratio.log2().max(-DOUBLINGS) + DOUBLINGS) * BINS).round() as usize;
        self.counts[bin.min(COUNT - 1)] += 1;
        self.frames += 1;
        self.sum += ratio;
        self.squares += ratio * ratio;
    }

    pub(crate) fn add(&mut self, other: &Spacing) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
        self.frames += other.frames;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    fn mean(&self) -> f64 {
        self.sum / self.frames.max(1) as f64
    }

    /// Standard deviation.
    fn deviation(&self) -> f64 {
        (self.squares / self.frames.max(1) as f64 - self.mean().powi(2)).max(0.0).sqrt()
    }

    /// The ratio that so many of a hundred frames do not exceed, within 1.1 %.
    fn percentile(&self, percent: u64) -> f64 {
        let wanted = (self.frames * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        (reached.unwrap_or(0) as f64 / BINS - DOUBLINGS).exp2()
    }

    /// Frames counted, mean and standard deviation of the ratio, and its percentiles from the 0th to the 100th; `null`
    /// without frames.
    pub(crate) fn to_json(&self) -> Value {
        if self.frames == 0 {
            return Value::Null;
        }
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        json!({
            "frames": self.frames,
            "mean": rounded(self.mean()),
            "std": rounded(self.deviation()),
            "percentiles": (0..=100).map(|percent| rounded(self.percentile(percent))).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 frames at their distance of 100, nine at a quarter of it and one 7.75 times as late: mean (90 + 2.25 + 7.75) /
    /// 100 = 1, mean square (90 + 0.5625 + 60.0625) / 100 = 1.50625, standard deviation the root of 0.50625.
    #[test]
    fn ratios_are_counted() {
        let mut one = Spacing::default();
        (0..90).for_each(|_| one.count(100, 100));
        let mut other = Spacing::default();
        (0..9).for_each(|_| other.count(25, 100));
        other.count(775, 100);
        one.add(&other);
        assert!((one.mean() - 1.0).abs() < 1e-9 && (one.deviation() - 0.50625f64.sqrt()).abs() < 1e-9);
        assert_eq!([0, 9, 10, 50, 99].map(|percent| one.percentile(percent)), [0.25, 0.25, 1.0, 1.0, 1.0]);
        assert!((one.percentile(100) / 7.75 - 1.0).abs() < 0.011, "{}", one.percentile(100));
        assert_eq!(Spacing::default().to_json(), Value::Null);
    }

    /// Two frames at the same instant, and one an hour late.
    #[test]
    fn what_is_beyond_the_bins_is_counted_at_their_ends() {
        let mut spacing = Spacing::default();
        spacing.count(0, 100);
        spacing.count(3_600_000_000_000_000, 1000);
        assert_eq!([0, 100].map(|percent| spacing.percentile(percent)), [1.0 / 4096.0, 4096.0]);
    }
}
