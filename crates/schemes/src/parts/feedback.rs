//! Feedback as a small number: its sign, and its size on the scale of negative feedback.

use crate::choice;
use qcnlab_units::Bytes;

choice! {
    /// How feedback becomes a small number.
    pub enum Quantizer {
        /// Linear over the whole range, rounded down.
        Floor = "floor",
        /// Linear over the whole range, rounded to nearest.
        Round = "round",
        /// The most significant bits of the feedback in octets; tops out early.
        MostSignificantBits = "msb",
    }
}

/// How a congestion point makes a small number of queue offset and growth.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Queue length the loop steers to.
    pub set_point: Bytes,
    /// Weight of growth against offset.
    pub w: f64,
    /// Bits of the number.
    pub bits: u32,
    /// How the range is divided.
    pub quantizer: Quantizer,
}

/// Quantized feedback of either sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// Whether the feedback tells of congestion.
    pub negative: bool,
    /// Its size; all bits set is full-scale negative feedback.
    pub size: u8,
}

impl Quantized {
    /// The size of feedback that tells of congestion; 0 for any other.
    pub const fn congestion(self) -> u8 {
        if self.negative { self.size } else { 0 }
    }
}

impl Scale {
    /// Fb = offset - w growth. Full scale is set point (2 w + 1), and larger feedback counts as that.
    pub fn quantize(&self, q_offset: i64, q_delta: i64) -> Quantized {
        self.quantize_weighted(q_offset, q_delta, self.w)
    }

    /// Feedback with another weight `w` of growth, on the scale of this one's.
    pub fn quantize_weighted(&self, q_offset: i64, q_delta: i64, w: f64) -> Quantized {
        let fb = q_offset as f64 - w * q_delta as f64;
        let largest = self.set_point.as_f64() * (2.0 * self.w + 1.0);
        let levels = f64::from((1u32 << self.bits) - 1);
        let size = fb.abs().min(largest);
        let quantized = match self.quantizer {
            Quantizer::Floor if size >= largest => levels,
            Quantizer::Floor => (size * levels / largest).floor(),
            Quantizer::Round => (size * levels / largest).round(),
            Quantizer::MostSignificantBits => {
                let spare = (largest as u64).ilog2() + 1 - self.bits;
                f64::from(size as u32 >> spare)
            }
        };
        Quantized { negative: fb < 0.0, size: quantized as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_signs_on_one_scale() {
        let scale = Scale { set_point: Bytes::new(33_000), w: 2.0, bits: 6, quantizer: Quantizer::Floor };
        let of = |q: i64, q_old: i64| scale.quantize(33_000 - q, q - q_old);
        // -(27 000 + 120 000) * 63 / 165 000 = -56.1
        assert_eq!(of(60_000, 0), Quantized { negative: true, size: 56 });
        // An empty queue that fell from the set point: +33 000 + 66 000 = 99 000: 37.8
        assert_eq!(of(0, 33_000), Quantized { negative: false, size: 37 });
        assert_eq!(of(33_000, 33_000), Quantized { negative: false, size: 0 });
        assert_eq!(of(150_000, 0).size, 63);
    }

    /// Set point 30 000, w 1: full scale is 30 000 * 3 = 90 000. Of -(45 000 + 1 * 15 000) = -60 000 that is
    /// 60 * 63 / 90 = 42; with growth weighed 2, 75 * 63 / 90 = 52.5 on the same scale.
    #[test]
    fn the_scale_is_that_of_its_own_weight() {
        let scale = Scale { set_point: Bytes::new(30_000), w: 1.0, bits: 6, quantizer: Quantizer::Floor };
        assert_eq!(scale.quantize(-45_000, 15_000), Quantized { negative: true, size: 42 });
        assert_eq!(scale.quantize_weighted(-45_000, 15_000, 2.0), Quantized { negative: true, size: 52 });
    }

    /// Full scale is 33 333 * 5.4 = 179 998.2 octets, which a floating-point number cannot hold: times 255 and divided
    /// by itself it gives a little less than 255. Feedback past it has all bits set, however it rounds.
    #[test]
    fn feedback_past_full_scale_has_all_bits_set() {
        let scale = Scale { set_point: Bytes::new(33_333), w: 2.2, bits: 8, quantizer: Quantizer::Floor };
        assert_eq!(scale.quantize(-200_000, 0), Quantized { negative: true, size: 255 });
        // 179 000 * 255 / 179 998.2 = 253.6
        assert_eq!(scale.quantize(-179_000, 0), Quantized { negative: true, size: 253 });
    }
}
