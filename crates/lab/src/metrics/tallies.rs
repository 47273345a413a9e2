//! What a stream of numbers comes to, without the numbers.

use std::ops::{Add, Range};

/// Count, mean, deviation and largest of whole numbers, exact until they are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    count: u64,
    zeros: u64,
    largest: u64,
    sum: u128,
    squares: u128,
}

impl Spread {
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

impl Add for Spread {
    type Output = Spread;

    fn add(self, other: Spread) -> Spread {
        Spread {
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
pub(super) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    pub(super) fn push(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// `None` of nothing.
    pub(super) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// Looks for the first of a number of places in a row at which something holds.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    places: Range<u64>,
    wanted: u64,
    row: u64,
    first: Option<u64>,
}

impl Hold {
    /// Looks among `places` for `wanted` in a row, at least one.
    pub(super) fn new(places: Range<u64>, wanted: u64) -> Hold {
        Hold { places, wanted: wanted.max(1), row: 0, first: None }
    }

    /// Whether it holds at `place`; places come in order. True if a row begins here.
    pub(super) fn push(&mut self, place: u64, holds: bool) -> bool {
        if self.first.is_some() || !self.places.contains(&place) {
            return false;
        }
        self.row = if holds { self.row + 1 } else { 0 };
        if self.row == self.wanted {
            self.first = Some(place + 1 - self.wanted);
        }
        self.row == 1
    }

    /// The first place of the row, if there was one.
    pub(super) const fn first(&self) -> Option<u64> {
        self.first
    }

    /// Whether places from `next` on can still change the answer.
    pub(super) fn is_open(&self, next: u64) -> bool {
        self.first.is_none() && next < self.places.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[u64]) -> Spread {
        let mut spread = Spread::default();
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
        let mut all = Spread::default();
        (0..1_000_000u64).for_each(|i| all.push((1 << 40) + u64::from(i == 7)));
        let exact = ((1.0 - 1e-6) / 1e6_f64).sqrt();
        assert!((all.deviation() / exact - 1.0).abs() < 1e-15, "{}", all.deviation());
        assert_eq!(spread(&[u64::MAX >> 16; 9]).deviation(), 0.0);
    }

    #[test]
    fn empty_and_zero() {
        assert!(spread(&[]).is_empty());
        assert_eq!((spread(&[0, 0, 3, 1]).share_of_zeros(), Mean::default().value()), (0.5, None));
    }

    #[test]
    fn a_row_begins_breaks_and_holds() {
        let mut hold = Hold::new(2..9, 3);
        let holds = [true, true, true, true, false, true, true, true, true];
        let begins: Vec<bool> = (0..).zip(holds).map(|(place, holds)| hold.push(place, holds)).collect();
        assert_eq!(begins, [false, false, true, false, false, true, false, false, false]);
        assert_eq!((hold.first(), hold.is_open(8)), (Some(5), false));
        assert!(Hold::new(2..9, 3).is_open(8) && !Hold::new(2..9, 3).is_open(9));
    }
}
