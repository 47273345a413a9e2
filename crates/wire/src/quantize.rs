//! What a CNM can carry of a congestion point's numbers: 6 bits of feedback, and queue lengths in 64-octet units.
//!
//! Everything here is a pure function of integers, so that a simulator, a capture and a data plane agree.

use crate::error::{Format, WireError};
use qcnlab_units::Bytes;
use std::fmt;

/// Quantized feedback, 0 to 63 (802.1Q clause 33.4.3): how bad congestion is. A message carries 1 or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantizedFb(u8);

impl QuantizedFb {
    /// The largest.
    pub const MAX: QuantizedFb = QuantizedFb(63);

    /// Returns `levels` as a field of 6 bits. Refuses more than 63, which schemes with 8 bits of feedback reach: they
    /// have no standard frame.
    pub const fn new(levels: u8) -> Result<QuantizedFb, WireError> {
        if levels > 63 {
            return Err(WireError::DoesNotFit {
                format: Format::Cnm,
                field: "quantized feedback",
                value: levels as u64,
                max: 63,
            });
        }
        Ok(QuantizedFb(levels))
    }

    /// The low 6 bits of a field.
    pub(crate) const fn from_low_bits(field: u16) -> QuantizedFb {
        QuantizedFb((field & 0x3F) as u8)
    }

    /// The number of levels.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for QuantizedFb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A difference of queue lengths in units of 64 octets, as cnmQOffset and cnmQDelta carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueUnits(pub i16);

impl QueueUnits {
    /// Octets in a unit.
    pub const OCTETS: i64 = 64;

    /// Returns `octets` in whole units, rounded towards zero: a receiver never sees more congestion, or more room, than
    /// there is. Beyond 2 097 088 octets above or 2 097 152 below zero the field holds its largest or smallest value.
    pub const fn from_octets_towards_zero(octets: i64) -> QueueUnits {
        let units = octets / Self::OCTETS;
        if units > i16::MAX as i64 {
            QueueUnits(i16::MAX)
        } else if units < i16::MIN as i64 {
            QueueUnits(i16::MIN)
        } else {
            QueueUnits(units as i16)
        }
    }

    /// The difference in octets, as a receiver reads it.
    pub const fn octets(self) -> i64 {
        self.0 as i64 * Self::OCTETS
    }
}

impl fmt::Display for QueueUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} B)", self.0, self.octets())
    }
}

/// Returns the feedback in octets that fills the scale: `set_point * (2 w + 1)`, saturating. For a fractional weight
/// hand [`quantize_feedback`] your own scale.
pub const fn full_scale(set_point: Bytes, w: u32) -> Bytes {
    Bytes::new(set_point.get().saturating_mul(2 * w as u64 + 1))
}

/// Returns the quantized feedback of `fb` octets (802.1Q clause 32.8.9, cpFb = offset - w * delta), or `None` where the
/// congestion point sends no CNM: feedback that is not negative, or less than one level of `full_scale / 63`.
pub fn quantize_feedback(fb: i64, full_scale: Bytes) -> Option<QuantizedFb> {
    let size = u128::from(if fb < 0 { fb.unsigned_abs() } else { 0 });
    let full = u128::from(full_scale.get()).max(1);
    let levels = (size * 63 / full).min(63) as u8;
    (levels > 0).then_some(QuantizedFb(levels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_64_octets() {
        for (octets, units) in [
            (0, 0),
            (63, 0),
            (64, 1),
            (-63, 0),
            (-64, -1),
            (-19_263, -300),       // -300.98
            (2_097_088, 32_767),   // 32 767 * 64, the largest
            (2_097_151, 32_767),   // 63 octets more
            (2_097_152, 32_767),   // one unit more: clamped
            (-2_097_088, -32_767), // one unit less than the smallest
            (-2_097_152, -32_768), // the smallest
            (-2_097_216, -32_768), // one unit more: clamped
            (i64::MIN, -32_768),
            (i64::MAX, 32_767),
        ] {
            assert_eq!(QueueUnits::from_octets_towards_zero(octets), QueueUnits(units), "{octets}");
        }
        assert_eq!(QueueUnits(-300).octets(), -19_200);
    }

    /// Set point 33 000 and w 2: full scale is 33 000 * 5 = 165 000, a level 165 000 / 63 = 2619.05 octets.
    #[test]
    fn six_bits_of_feedback() {
        let full = full_scale(Bytes::new(33_000), 2);
        assert_eq!(full, Bytes::new(165_000));
        for (fb, levels) in [
            (1, None),
            (0, None),
            (-2_619, None),       // 0.99998 levels
            (-2_620, Some(1)),    // 1.0004
            (-132_000, Some(50)), // 50.4
            (-164_999, Some(62)), // 62.9996
            (-165_000, Some(63)),
            (i64::MIN, Some(63)),
        ] {
            assert_eq!(quantize_feedback(fb, full).map(QuantizedFb::get), levels, "{fb}");
        }
        assert_eq!(quantize_feedback(-1, Bytes::ZERO), Some(QuantizedFb::MAX), "a scale of nothing is full at once");
    }

    /// 33 000 * (2 w + 1) for w of 0, 1, 2 and 4.
    #[test]
    fn the_scale_grows_with_twice_the_weight() {
        for (w, full) in [(0, 33_000), (1, 99_000), (2, 165_000), (4, 297_000)] {
            assert_eq!(full_scale(Bytes::new(33_000), w), Bytes::new(full), "{w}");
        }
        assert_eq!(full_scale(Bytes::new(1), u32::MAX), Bytes::new(8_589_934_591)); // 2 (2^32 - 1) + 1 = 2^33 - 1
        assert_eq!(full_scale(Bytes::new(u64::MAX), 1), Bytes::new(u64::MAX), "and stops where 64 bits end");
    }

    #[test]
    fn eight_bits_have_no_frame() {
        assert_eq!(QuantizedFb::new(63), Ok(QuantizedFb::MAX));
        assert_eq!(
            QuantizedFb::new(64).unwrap_err().to_string(),
            "CNM: quantized feedback is 64, and its field holds at most 63; give a smaller one"
        );
    }
}
