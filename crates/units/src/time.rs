//! Instants and spans, in whole picoseconds.

use crate::text::{self, Quantity, UnitError};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A point in simulated time, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything: "no wake-up wanted".
    pub const NEVER: Instant = Instant(u64::MAX);

    /// `n` picoseconds after the start.
    #[inline]
    pub const fn from_ps(n: u64) -> Instant {
        Instant(n)
    }

    /// Picoseconds since the start.
    #[inline]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, as a real number for tables and plots.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The span since `earlier`, or zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// `n` picoseconds.
    #[inline]
    pub const fn from_ps(n: u64) -> Span {
        Span(n)
    }

    /// `n` nanoseconds.
    pub const fn from_ns(n: u64) -> Span {
        Span(n * 1_000)
    }

    /// `n` microseconds.
    pub const fn from_us(n: u64) -> Span {
        Span(n * 1_000_000)
    }

    /// `n` milliseconds.
    pub const fn from_ms(n: u64) -> Span {
        Span(n * 1_000_000_000)
    }

    /// The number of picoseconds.
    #[inline]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Seconds, as a real number for tables and plots.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// The span times a factor, rounded down to a whole picosecond.
    #[inline]
    pub fn scaled_rounded_down(self, factor: f64) -> Span {
        Span((self.0 as f64 * factor) as u64)
    }

    /// Half the span, rounded down to a whole picosecond.
    #[inline]
    pub const fn half_rounded_down(self) -> Span {
        Span(self.0 / 2)
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    /// Saturates at [`Instant::NEVER`].
    #[inline]
    fn add(self, span: Span) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(s: &str) -> Result<Span, UnitError> {
        text::parse(s, Quantity::Time).map(Span)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&text::show(self.0, Quantity::Time))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&text::show(self.0, Quantity::Time))
    }
}
