//! Bit rates.

use crate::text::{self, Quantity, UnitError};
use crate::{Bytes, Span};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// Picoseconds in a second.
const PS_PER_S: u64 = 1_000_000_000_000;

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Nothing moves.
    pub const ZERO: BitRate = BitRate(0);

    /// `n` bit/s.
    pub const fn bps(n: u64) -> BitRate {
        BitRate(n)
    }

    /// `n` Mb/s.
    pub const fn mbps(n: u64) -> BitRate {
        BitRate(n * 1_000_000)
    }

    /// `n` Gb/s.
    pub const fn gbps(n: u64) -> BitRate {
        BitRate(n * 1_000_000_000)
    }

    /// The rate in bit/s.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The rate in bit/s as a real number.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The rate times a gain, rounded down to a whole bit/s; negative products give zero.
    #[inline]
    pub fn scaled_rounded_down(self, gain: f64) -> BitRate {
        BitRate((self.0 as f64 * gain) as u64)
    }

    /// The mean of two rates, rounded down to a whole bit/s.
    #[inline]
    pub const fn midpoint_rounded_down(self, other: BitRate) -> BitRate {
        BitRate(self.0.midpoint(other.0))
    }

    /// The time `size` takes at this rate, rounded up to a whole picosecond,
    /// so that a sender never beats its rate. A rate of zero gives [`Span::MAX`].
    #[inline]
    pub fn time_for_rounded_up(self, size: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        match size.get().checked_mul(8 * PS_PER_S) {
            Some(bit_ps) => Span::from_ps(bit_ps.div_ceil(self.0)),
            None => {
                let wide = u128::from(size.get()) * u128::from(8 * PS_PER_S);
                let ps = wide.div_ceil(u128::from(self.0));
                Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
            }
        }
    }

    /// Picoseconds an octet, when that is a whole number.
    pub const fn ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && (8 * PS_PER_S).is_multiple_of(self.0) { Some(8 * PS_PER_S / self.0) } else { None }
    }

    /// Octets that pass in `span` at this rate, rounded down.
    pub fn bytes_in_rounded_down(self, span: Span) -> Bytes {
        let bits = u128::from(self.0) * u128::from(span.ps()) / u128::from(PS_PER_S);
        Bytes::new(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

impl Add for BitRate {
    type Output = BitRate;
    #[inline]
    fn add(self, other: BitRate) -> BitRate {
        BitRate(self.0.saturating_add(other.0))
    }
}

impl Sub for BitRate {
    type Output = BitRate;
    #[inline]
    fn sub(self, other: BitRate) -> BitRate {
        BitRate(self.0 - other.0)
    }
}

impl FromStr for BitRate {
    type Err = UnitError;
    fn from_str(s: &str) -> Result<BitRate, UnitError> {
        text::parse(s, Quantity::Rate).map(BitRate)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&text::show(self.0, Quantity::Rate))
    }
}
