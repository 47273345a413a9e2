//! Statistics of a stream of numbers that are not kept.

use std::ops::{Add, Range};

/// Count, mean, deviation and largest of whole numbers, exact until they are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleStats {
    count: u64,
    zeros: u64,
    largest: u64,
    sum: u128,
    squares: u128,
}

impl SampleStats {
    pub(super) fn push(&mut self, value: u64) {
        self.count += 1;
        self.zeros += u64::from(value == 0);
        self.largest = self.largest.max(value);
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// The root of the mean squared difference from the mean. Squares are taken from the whole number next to the
    /// mean, exactly; what that is off is at most half of them, so that nothing cancels.
    pub(super) fn deviation(&self) -> f64 {
        let count = u128::from(self.count);
        let middle = (self.sum + count / 2) / count;
        let squares = self.squares + count * middle * middle - 2 * middle * self.sum;
        let off = self.sum.abs_diff(count * middle) as f64;
        let count = self.count as f64;
        ((squares as f64 - off * off / count) / count).sqrt()
    }

    pub(super) fn largest(&self) -> f64 {
        self.largest as f64
    }

    pub(super) fn share_of_zeros(&self) -> f64 {
        self.zeros as f64 / self.count as f64
    }
}

impl Add for SampleStats {
    type Output = SampleStats;

    fn add(self, other: SampleStats) -> SampleStats {
        SampleStats {
            count: self.count + other.count,
            zeros: self.zeros + other.zeros,
            largest: self.largest.max(other.largest),
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }
}

/// A mean of real numbers, summed in their order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningMean {
    sum: f64,
    count: u64,
}

impl RunningMean {
    pub(super) fn push(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// `None` of nothing.
    pub(super) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The first streak: a number of consecutive indices at which a condition holds.
#[derive(Clone, Debug)]
pub(super) struct Streak {
    indices: Range<u64>,
    wanted: u64,
    length: u64,
    first: Option<u64>,
}

impl Streak {
    /// Searches `indices` for a streak of `wanted`, at least one.
    pub(super) fn new(indices: Range<u64>, wanted: u64) -> Streak {
        Streak { indices, wanted: wanted.max(1), length: 0, first: None }
    }

    /// Takes whether the condition holds at `index`; indices come in order.
    pub(super) fn push(&mut self, index: u64, holds: bool) {
        if self.first.is_some() || !self.indices.contains(&index) {
            return;
        }
        self.length = if holds { self.length + 1 } else { 0 };
        if self.length == self.wanted {
            self.first = Some(index + 1 - self.wanted);
        }
    }

    /// The first index of the streak, if there was one.
    pub(super) const fn first(&self) -> Option<u64> {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[u64]) -> SampleStats {
        let mut spread = SampleStats::default();
        values.iter().for_each(|value| spread.push(*value));
        spread
    }

    /// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared differences 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, 32 / 8 = 4.
    #[test]
    fn of_eight_numbers() {
        let all = spread(&[2, 4, 4, 4]) + spread(&[5, 5, 7, 9]);
        assert_eq!((all.mean(), all.deviation(), all.largest(), all.share_of_zeros()), (5.0, 2.0, 9.0, 0.0));
    }

    /// A million large numbers of which one differs by 1: the variance is (1 - 1/n) / n.
    #[test]
    fn nothing_cancels() {
        let mut all = SampleStats::default();
        (0..1_000_000u64).for_each(|i| all.push((1 << 40) + u64::from(i == 7)));
        let exact = ((1.0 - 1e-6) / 1e6_f64).sqrt();
        assert!((all.deviation() / exact - 1.0).abs() < 1e-15, "{}", all.deviation());
        assert_eq!(spread(&[u64::MAX >> 16; 9]).deviation(), 0.0);
        // One that is less than the others, so that the mean is just below a whole number.
        let mut all = SampleStats::default();
        (0..1_000_000u64).for_each(|i| all.push((1 << 40) + u64::from(i != 7)));
        assert!((all.deviation() / exact - 1.0).abs() < 1e-15, "{}", all.deviation());
        assert_eq!((spread(&[0; 4]).deviation(), spread(&[3]).deviation()), (0.0, 0.0));
    }

    #[test]
    fn empty_and_zero() {
        assert!(spread(&[]).is_empty());
        assert_eq!((spread(&[0, 0, 3, 1]).share_of_zeros(), RunningMean::default().value()), (0.5, None));
    }

    #[test]
    fn a_streak_begins_breaks_and_lasts() {
        let mut streak = Streak::new(2..9, 3);
        let holds = [true, true, true, true, false, true, true, true, true];
        (0..).zip(holds).for_each(|(index, holds)| streak.push(index, holds));
        assert_eq!(streak.first(), Some(5));
    }
}
