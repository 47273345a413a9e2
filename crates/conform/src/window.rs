//! Windows of time: when something that a capture does not show exactly can have happened.

use qcnlab_units::BitRate;

/// From the earliest to the latest instant that is possible, in picoseconds from the capture's first stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

impl Window {
    pub(super) const fn new(lo: i64, hi: i64) -> Window {
        Window { lo, hi }
    }

    pub(super) const fn at(instant: i64) -> Window {
        Window { lo: instant, hi: instant }
    }

    /// The instants in both; `None` if there are none.
    pub(super) fn and(self, other: Window) -> Option<Window> {
        let both = Window { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        (both.lo <= both.hi).then_some(both)
    }

    /// The smallest window around both.
    pub(super) fn hull(self, other: Window) -> Window {
        Window { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    pub(super) const fn widened(self, early: i64, late: i64) -> Window {
        Window { lo: self.lo.saturating_sub(early), hi: self.hi.saturating_add(late) }
    }

    pub(super) const fn after(self, earliest: i64, latest: i64) -> Window {
        Window { lo: self.lo.saturating_add(earliest), hi: self.hi.saturating_add(latest) }
    }

    /// No earlier than `instant`.
    pub(super) fn from(self, instant: i64) -> Window {
        Window { lo: self.lo.max(instant), hi: self.hi.max(instant) }
    }

    pub(super) const fn middle(self) -> i64 {
        self.lo + (self.hi - self.lo) / 2
    }
}

/// Picoseconds that `octets` take at `rate`.
pub(super) fn takes(octets: f64, rate: BitRate) -> f64 {
    octets * 8e12 / rate.as_f64()
}
