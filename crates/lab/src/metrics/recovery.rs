//! Recovery of throughput: the one definition that metrics, windows and the validation book share.
//!
//! Throughput has recovered at the start of the first bin from which on it is at a level on average over one
//! millisecond and over a longer hold. The first keeps the climb to the level out, the second keeps a lone burst out. It is
//! the start and not the end of the bin that counts: what a bin carries flows from its start on, and the end would add the
//! width of a bin to each time, so that the same run had another recovery for each width.

use std::collections::VecDeque;
use std::ops::Range;

/// The first of the two times for which the level must last, ps.
const AT_ONCE: u64 = 1_000_000_000;
/// Sums of octets are compared with the level up to this share of it, for what rounding makes of it.
const ROUNDING: f64 = 1e-9;

/// Searches bins, as they come, for the one that recovery begins with.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    indices: Range<u64>,
    /// What a bin carries at the level.
    level: f64,
    at_once: usize,
    hold: usize,
    /// What the newest bins carry; up to `hold` of them.
    newest: VecDeque<f64>,
    first: Option<u64>,
}

impl Recovery {
    /// Searches the bins of `indices`, each `bin` long; the level must last `hold`. Times in ps.
    pub(super) fn new(indices: Range<u64>, level: f64, bin: u64, hold: u64) -> Recovery {
        let at_once = ((AT_ONCE + bin / 2) / bin).max(1) as usize;
        let hold = (hold.div_ceil(bin) as usize).max(at_once);
        Recovery { indices, level, at_once, hold, newest: VecDeque::with_capacity(hold), first: None }
    }

    /// Takes what the bin of `index` carries; bins come in order. True if it decides that recovery began `hold` bins ago,
    /// this one included.
    pub(super) fn push(&mut self, index: u64, carried: f64) -> bool {
        if self.first.is_some() || !self.indices.contains(&index) {
            return false;
        }
        if self.newest.len() == self.hold {
            self.newest.pop_front();
        }
        self.newest.push_back(carried);
        let level = self.level * (1.0 - ROUNDING);
        let lasts = |bins: usize| self.newest.iter().take(bins).sum::<f64>() >= level * bins as f64;
        if self.newest.len() == self.hold && lasts(self.at_once) && lasts(self.hold) {
            self.first = Some(index + 1 - self.hold as u64);
        }
        self.first.is_some()
    }

    /// The bin that recovery begins with, if there is one.
    pub(super) const fn first(&self) -> Option<u64> {
        self.first
    }

    /// Number of bins for which the level must last.
    pub(super) const fn hold(&self) -> usize {
        self.hold
    }

    /// What the newest bins carry.
    pub(super) fn newest(&self) -> impl Iterator<Item = f64> + '_ {
        self.newest.iter().copied()
    }

    /// Whether bins from `next` on can still change the answer.
    pub(super) fn is_open(&self, next: u64) -> bool {
        self.first.is_none() && next < self.indices.end
    }
}

/// The bin from which on `carried` is at `level` over one millisecond and over `hold_s`; `None` if there is none.
///
/// All bins are `bin_s` long; their unit is that of the level.
#[must_use]
pub fn recovery_bin(carried: &[f64], level: f64, bin_s: f64, hold_s: f64) -> Option<usize> {
    let ps = |seconds: f64| (seconds * 1e12).round() as u64;
    let mut recovery = Recovery::new(0..carried.len() as u64, level, ps(bin_s).max(1), ps(hold_s));
    for (index, carried) in (0..).zip(carried) {
        recovery.push(index, *carried);
    }
    recovery.first().map(|bin| bin as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `parts`, each a number of bins and what they carry.
    fn at(level: f64, bin_ms: f64, parts: &[(usize, f64)]) -> Option<usize> {
        let carried: Vec<f64> = parts.iter().flat_map(|(bins, carried)| vec![*carried; *bins]).collect();
        recovery_bin(&carried, level, bin_ms * 1e-3, 10e-3)
    }

    /// Bins of 0.5 ms: two are the first millisecond, 20 are ten. The 20 from the fifth on have 19 x 8 / 20 = 7.6 on
    /// average, but its first two 4; from the sixth on all have 8.
    #[test]
    fn it_begins_with_the_first_good_millisecond_of_ten() {
        assert_eq!(at(7.6, 0.5, &[(5, 0.0), (40, 8.0)]), Some(5));
        // The first two have 6.5 on average, the next two 6.5 again.
        assert_eq!(at(7.6, 0.5, &[(1, 8.0), (1, 5.0), (40, 8.0)]), Some(2));
        // A bin of 7 lowers the ten around it to 7.9, and its own millisecond to 7.
        assert_eq!(at(7.6, 1.0, &[(3, 8.0), (1, 7.0), (20, 8.0)]), Some(0));
        assert_eq!(at(7.6, 1.0, &[(1, 7.0), (20, 8.0)]), Some(1));
        // A burst of one millisecond is none: the ten from it on have 0.8.
        assert_eq!(at(7.6, 1.0, &[(1, 0.0), (1, 8.0), (20, 0.0), (10, 8.0)]), Some(22));
    }

    /// 0.1 ms bins tell 1.8 ms where bins of 1 ms, of which the second is 20 % good, tell 2.
    #[test]
    fn finer_bins_tell_it_more_finely_and_not_earlier_by_a_bin() {
        assert_eq!(at(9.5, 0.1, &[(18, 1.0), (200, 10.0)]), Some(18));
        assert_eq!(at(9.5, 1.0, &[(1, 1.0), (1, 2.8), (20, 10.0)]), Some(2));
    }

    #[test]
    fn the_level_itself_is_enough_and_less_is_not() {
        assert_eq!(at(7.6, 1.0, &[(1, 0.0), (20, 7.6)]), Some(1));
        assert_eq!(at(7.6, 1.0, &[(1, 0.0), (20, 7.599)]), None);
    }

    #[test]
    fn ten_milliseconds_must_be_left() {
        assert_eq!([9, 10].map(|bins| at(7.6, 1.0, &[(bins, 8.0)])), [None, Some(0)]);
        assert_eq!(at(7.6, 1.0, &[(1, 0.0), (9, 8.0)]), None);
        // Bins of 20 ms are longer than both.
        assert_eq!(at(7.6, 20.0, &[(1, 0.0), (1, 8.0)]), Some(1));
        assert_eq!(at(7.6, 1.0, &[]), None);
    }

    /// Bins outside the indices do not count: the answer is that of the bins from the fourth on.
    #[test]
    fn other_bins_do_not_count() {
        let mut recovery = Recovery::new(4..8, 1.0, 1_000_000_000, 2_000_000_000);
        let decides: Vec<bool> =
            [9.0, 9.0, 9.0, 9.0, 0.0, 9.0, 9.0, 9.0].iter().zip(0..).map(|(c, i)| recovery.push(i, *c)).collect();
        assert_eq!(decides, [false, false, false, false, false, false, true, false]);
        assert_eq!((recovery.first(), recovery.hold()), (Some(5), 2));
        assert!(!recovery.is_open(7) && Recovery::new(4..8, 1.0, 1, 1).is_open(7));
        assert!(!Recovery::new(4..8, 1.0, 1, 1).is_open(8));
    }
}
