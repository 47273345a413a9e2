//! Sampling by octets: an event after so many have arrived, spread by jitter.

use crate::choice;
use crate::dice::Dice;
use crate::roles::Arrival;
use qcnlab_units::Bytes;

choice! {
    /// Which arriving frames a congestion point samples.
    pub enum Sampling {
        /// One for each interval of octets, which is spread by jitter.
        Octets = "octets",
        /// Each by itself, whatever was sampled before: one of L octets with probability 1 - exp(-L / interval), which
        /// is L / interval but for a small part.
        EachFrame = "each_frame",
    }
}

impl Sampling {
    /// What an interval is multiplied by, 1 in the mean.
    fn spread(self, jitter_width: f64, dice: &mut Dice) -> f64 {
        match self {
            Sampling::Octets => dice.jitter(jitter_width),
            // Octets between independent samples are exponentially distributed.
            Sampling::EachFrame => dice.exponential(),
        }
    }
}

/// Counts octets down to the next sampling event.
#[derive(Clone, Debug)]
pub struct Countdown {
    left: i64,
}

impl Countdown {
    /// The first interval, without jitter (deck 001's pseudo code: the first event after reset is not spread).
    pub const fn new(interval: Bytes) -> Countdown {
        Countdown { left: interval.signed() }
    }

    /// Counts a frame; true when more octets have passed than the interval holds.
    #[inline]
    pub const fn passed(&mut self, size: Bytes) -> bool {
        self.left -= size.signed();
        self.left < 0
    }

    /// Octets to the end of the interval; negative past it.
    pub const fn left(&self) -> i64 {
        self.left
    }

    /// Counts a frame and gives true if the interval holds it; if not it is not counted.
    #[inline]
    pub const fn holds(&mut self, size: Bytes) -> bool {
        let left = self.left - size.signed();
        if left >= 0 {
            self.left = left;
        }
        left >= 0
    }

    /// Starts the next interval; what the last one ran over is discarded.
    pub fn restart(&mut self, interval: f64, jitter_width: f64, dice: &mut Dice) {
        self.left = (interval * dice.jitter(jitter_width)) as i64;
    }

    /// Starts the next interval without jitter.
    pub const fn restart_exactly(&mut self, interval: Bytes) {
        self.left = interval.signed();
    }
}

/// Samples a queue by octets, and remembers how long it was.
#[derive(Clone, Debug)]
pub struct Sampler {
    next: Countdown,
    /// Octets queued at the last sample; 0 before the first.
    last_len: i64,
}

impl Sampler {
    /// The first interval, without jitter, over an empty queue.
    pub const fn new(interval: Bytes) -> Sampler {
        Sampler { next: Countdown::new(interval), last_len: 0 }
    }

    /// Whether this frame is a sample. Frames outside congestion control never count; discarded ones do
    /// with `count_discarded`.
    #[inline]
    pub const fn takes(&mut self, frame: &Arrival, count_discarded: bool) -> bool {
        frame.controlled && (frame.admitted || count_discarded) && self.next.passed(frame.size)
    }

    /// Counts a frame and gives true if [`takes`](Sampler::takes) would not take it; if it would it is not counted.
    #[inline]
    pub const fn count_only(&mut self, controlled: bool, admitted: bool, size: Bytes, count_discarded: bool) -> bool {
        !controlled || !(admitted || count_discarded) || self.next.holds(size)
    }

    /// Whether a sample is due once `octets` more have arrived.
    pub const fn counts(&mut self, octets: Bytes) -> bool {
        self.next.passed(octets)
    }

    /// How much a queue of `len` octets has grown since the last sample; `len` is remembered, whatever follows.
    pub const fn growth(&mut self, len: i64) -> i64 {
        let growth = len - self.last_len;
        self.last_len = len;
        growth
    }

    /// Octets queued at the last sample.
    pub const fn last_len(&self) -> i64 {
        self.last_len
    }

    /// Starts the next interval.
    pub fn restart(&mut self, interval: f64, jitter_width: f64, dice: &mut Dice) {
        self.next.restart(interval, jitter_width, dice);
    }

    /// Starts the next interval, or draws when the next frame is sampled.
    pub fn restart_by(&mut self, sampling: Sampling, interval: f64, jitter_width: f64, dice: &mut Dice) {
        self.next.left = (interval * sampling.spread(jitter_width, dice)) as i64;
    }
}

/// The sampling table: what the base interval is divided by, chosen by the three
/// upper bits of the quantized feedback. In KB for a base of 150 KB:
/// 150, 75, 50, 37.5, 30, 25, 21.5, 18.5.
const SHARES: [f64; 8] =
    [1.0, 75.0 / 150.0, 50.0 / 150.0, 37.5 / 150.0, 30.0 / 150.0, 25.0 / 150.0, 21.5 / 150.0, 18.5 / 150.0];

/// The interval to the next sample after quantized feedback `fb` of `bits` bits, octets.
pub fn interval(base: Bytes, fb: u8, bits: u32) -> f64 {
    base.as_f64() * share(fb, bits)
}

/// The share of the base interval that the table has for quantized feedback `fb` of `bits` bits.
pub fn share(fb: u8, bits: u32) -> f64 {
    SHARES[usize::from(fb >> (bits - 3)) & 7]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Purpose;

    #[test]
    fn the_table_of_six_bits() {
        let base = Bytes::new(150_000);
        let kb: Vec<f64> = (0..8).map(|i| interval(base, i * 8, 6) / 1000.0).collect();
        assert_eq!(kb, [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5]);
        // Within a row the interval does not change: 7 is in the first row, 63 in the last.
        assert_eq!(interval(base, 7, 6), 150_000.0);
        assert_eq!(interval(base, 63, 6), 18_500.0);
        // Eight bits use the same rows: 255 >> 5 = 7.
        assert_eq!(interval(base, 255, 8), 18_500.0);
    }

    /// The first three bits choose the row: of 3 bits each value has its own, of 4 and 5 bits two and four values share one.
    #[test]
    fn the_table_of_fewer_bits() {
        for (bits, alike) in [(3, 1), (4, 2), (5, 4)] {
            let shares: Vec<f64> = (0..8 * alike).map(|fb| share(fb, bits)).collect();
            let rows: Vec<f64> = SHARES.iter().flat_map(|row| vec![*row; usize::from(alike)]).collect();
            assert_eq!(shares, rows, "{bits} bits");
        }
    }

    #[test]
    fn an_event_needs_more_than_the_interval() {
        // 100 frames of 1500 octets are exactly 150 000: the 101st frame is the event.
        let mut countdown = Countdown::new(Bytes::new(150_000));
        let frame = Bytes::new(1500);
        assert_eq!((1..).find(|_| countdown.passed(frame)), Some(101));
    }

    /// Frames of 1500 octets and 15 000 octets in the mean: each is sampled with probability 1 - exp(-0.1) = 0.0952, and
    /// as often after a sample as at any other time.
    #[test]
    fn each_frame_is_sampled_by_itself() {
        let mut dice = Dice::new(3, 0, "port", Purpose::Sampling);
        let mut sampler = Sampler::new(Bytes::ZERO);
        let (mut sampled, mut just_before, mut both) = (0, false, 0);
        for _ in 0..100_000 {
            let now = sampler.counts(Bytes::new(1500));
            if now {
                sampler.restart_by(Sampling::EachFrame, 15_000.0, 0.3, &mut dice);
            }
            sampled += u32::from(now);
            both += u32::from(now && just_before);
            just_before = now;
        }
        // Standard deviations: sqrt(100 000 * 0.0952 * 0.9048) = 93, and sqrt(906) = 30 about 100 000 * 0.0952^2 = 906.
        assert!(sampled.abs_diff(9516) < 400, "{sampled}");
        assert!(both.abs_diff(906) < 120, "{both}");
    }

    #[test]
    fn octets_are_spread_by_jitter() {
        let (mut one, mut other) =
            (Dice::new(1, 0, "port", Purpose::Sampling), Dice::new(1, 0, "port", Purpose::Sampling));
        let mut sampler = Sampler::new(Bytes::ZERO);
        sampler.restart_by(Sampling::Octets, 150_000.0, 0.3, &mut one);
        let mut plain = Sampler::new(Bytes::ZERO);
        plain.restart(150_000.0, 0.3, &mut other);
        assert_eq!(sampler.next.left, plain.next.left);
    }

    #[test]
    fn jitter_spreads_the_next_interval() {
        let mut dice = Dice::new(1, 0, "port", Purpose::Sampling);
        let mut countdown = Countdown::new(Bytes::ZERO);
        for _ in 0..1000 {
            countdown.restart(150_000.0, 0.3, &mut dice);
            assert!((127_500..=172_500).contains(&countdown.left));
        }
    }
}
