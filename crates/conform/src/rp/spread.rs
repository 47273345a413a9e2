//! The random lengths of cycles, of the byte counter and of the timer: whether they lie closer together than the law's spread leaves likely.

/// How much less likely than one in so many lengths are that break the law.
const UNLIKELY: f64 = 1e-6;

/// The cycles that ended so that the capture tells where, and that the law spreads, in shares of their nominal lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CycleLengths {
    pub(super) count: u32,
    /// Between these all of them lie.
    pub(super) least: f64,
    pub(super) most: f64,
}

impl CycleLengths {
    /// A cycle of this nominal length ended with a frame of `size` octets, after `counted` octets with it: its length lies
    /// within that frame. Of what is not known, `counted` leaves a range. Of a cycle of the timer `counted` is the time
    /// that it took, and `size` is 0.
    pub(super) fn add(&mut self, counted: (i64, i64), size: i64, nominal: i64) {
        let share = |octets: i64| octets as f64 / nominal.max(1) as f64;
        let (least, most) = (share(counted.0 - size), share(counted.1));
        *self = match self.count {
            0 => CycleLengths { count: 1, least, most },
            count => CycleLengths { count: count + 1, least: self.least.min(least), most: self.most.max(most) },
        };
    }

    /// What is true of both.
    pub(super) fn absorb(&mut self, other: &CycleLengths) {
        let count = self.count.min(other.count);
        *self = CycleLengths { count, least: self.least.min(other.least), most: self.most.max(other.most) };
    }

    /// The chance that so many lengths lie so close together, of a spread of this full width around 1. Messages may have
    /// ended all cycles that would have become longer than the longest, so the others are drawn from what is below it.
    pub(super) fn chance(&self, width: f64) -> f64 {
        let part = (self.most - self.least) / (self.most - (1.0 - width / 2.0));
        if self.count < 2 || !(0.0..1.0).contains(&part) {
            return 1.0;
        }
        part.powi(self.count as i32 - 1)
    }

    /// Whether they lie closer together than the law leaves likely.
    pub(super) fn are_too_close(&self, width: f64) -> bool {
        self.chance(width) < UNLIKELY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles of 100 KB that end with frames of 1 KB after so many octets.
    fn lengths(counted: &[i64]) -> CycleLengths {
        let mut all = CycleLengths::default();
        counted.iter().for_each(|octets| all.add((*octets, *octets), 1000, 100_000));
        all
    }

    /// With frames of 1 % they lie within 0.89 and 0.96; 0.85 to 0.96 is left by the longer one.
    #[test]
    fn two_lengths_by_hand() {
        let chance = lengths(&[90_000, 96_000]).chance(0.3);
        assert!((chance - 7.0 / 11.0).abs() < 1e-9, "{chance}");
    }

    /// Within one frame, 0.995 to 1.005 of what is above 0.85: (2/31)^5 = 1.1e-6 for six, 7.2e-8 for seven.
    #[test]
    fn seven_cycles_without_spread_are_too_many() {
        assert!(!lengths(&[100_500; 6]).are_too_close(0.3));
        assert!(lengths(&[100_500; 7]).are_too_close(0.3));
        let apart = [100_500, 100_500, 100_500, 100_500, 100_500, 100_500, 90_000];
        assert!(!lengths(&apart).are_too_close(0.3));
    }

    /// Messages come when a cycle is at its mean, so that no longer one shows: half of the spread is there.
    #[test]
    fn short_cycles_alone_are_likely_where_messages_end_the_long_ones() {
        let short: Vec<i64> = (0..100).map(|cycle| 86_000 + cycle * 140).collect();
        assert_eq!(lengths(&short).chance(0.3), 1.0);
    }

    #[test]
    fn few_cycles_and_wide_ones_say_nothing() {
        for all in [lengths(&[]), lengths(&[100_000]), lengths(&[85_000, 115_000, 100_000])] {
            assert_eq!(all.chance(0.3), 1.0, "{all:?}");
        }
    }

    #[test]
    fn what_is_true_of_both_is_the_wider() {
        let mut one = lengths(&[90_000; 8]);
        one.absorb(&lengths(&[110_000; 7]));
        assert_eq!((one.count, one.least, one.most), (7, 0.89, 1.1));
    }
}
