//! Random numbers, one independent stream for each (seed, replication, component, purpose).

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// What a component draws random numbers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When a congestion point samples.
    Sampling = 1,
    /// How a reaction point spreads its counters.
    Reaction = 2,
    /// When a source starts.
    Start = 3,
    /// When frames come and where they go.
    Traffic = 4,
    /// Which of several equal paths a frame takes.
    Path = 5,
    /// Who comes first at one instant.
    Order = 6,
    /// How far a clock is off.
    Clock = 7,
    /// Which frames a queue drops early.
    Discarding = 8,
    /// Which queue of a port a flow joins.
    Queueing = 9,
}

/// A stream of random numbers.
///
/// The key decides the stream, so a component added to a scenario, or another
/// scheme in the same scenario, disturbs no other component's numbers.
#[derive(Clone, Debug)]
pub struct Dice(Pcg64Mcg);

impl Dice {
    /// The stream of the component called `component` for one purpose.
    pub fn new(seed: u64, replication: u32, component: &str, purpose: Purpose) -> Dice {
        let mut key = mix(seed);
        key = mix(key ^ u64::from(replication));
        key = component.bytes().fold(key, |key, octet| mix(key ^ u64::from(octet)));
        key = mix(key ^ purpose as u64);
        Dice(Pcg64Mcg::new(u128::from(key) << 64 | u128::from(mix(key))))
    }

    /// A number from `low` to `high`, evenly spread, in steps of 2^-53 of the width.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        low + (high - low) * unit
    }

    /// A whole number below `n`, each as likely as the others to within n 2^-64.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u32
    }

    /// Returns one of several values, each as likely as the others.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u32) as usize]
    }

    /// An exponentially distributed number of mean 1; the same on every machine.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.uniform(0.0, 1.0))
    }

    /// A factor around 1 whose full width is `width`: 0.3 gives 0.85 to 1.15.
    #[inline]
    pub fn jitter(&mut self, width: f64) -> f64 {
        self.uniform(1.0 - width / 2.0, 1.0 + width / 2.0)
    }
}

/// The finaliser of SplitMix64: nearby keys give unrelated streams.
pub(crate) const fn mix(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned() {
        let mut dice = Dice::new(1, 0, "port", Purpose::Sampling);
        let drawn: Vec<u64> = (0..3).map(|_| (dice.uniform(0.0, 1.0) * 1e9) as u64).collect();
        assert_eq!(drawn, [143_925_526, 778_630_907, 575_816_585]);
    }

    #[test]
    fn a_key_decides_its_stream() {
        let first =
            |seed, replication, component, purpose| Dice::new(seed, replication, component, purpose).uniform(0.0, 1.0);
        let base = first(1, 0, "a", Purpose::Sampling);
        assert_eq!(base, first(1, 0, "a", Purpose::Sampling));
        assert_ne!(base, first(2, 0, "a", Purpose::Sampling));
        assert_ne!(base, first(1, 1, "a", Purpose::Sampling));
        assert_ne!(base, first(1, 0, "b", Purpose::Sampling));
        assert_ne!(base, first(1, 0, "a", Purpose::Reaction));
    }

    #[test]
    fn exponential_numbers_have_mean_and_variance_one() {
        let mut dice = Dice::new(7, 0, "source", Purpose::Traffic);
        let drawn: Vec<f64> = (0..100_000).map(|_| dice.exponential()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let square = drawn.iter().map(|x| x * x).sum::<f64>() / drawn.len() as f64;
        // Standard errors: 1 / sqrt(100000) = 0.003, and sqrt(20 / 100000) = 0.014.
        assert!((mean - 1.0).abs() < 0.013 && (square - 2.0).abs() < 0.06, "{mean} {square}");
    }

    #[test]
    fn whole_numbers_are_even() {
        let mut dice = Dice::new(7, 0, "source", Purpose::Path);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[dice.below(5) as usize] += 1;
        }
        // Standard deviation: sqrt(50000 * 0.2 * 0.8) = 89.
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 360), "{counts:?}");
    }

    #[test]
    fn one_of_several_is_that_at_a_whole_number() {
        let stream = || Dice::new(7, 0, "source", Purpose::Traffic);
        let (mut picks, mut numbers) = (stream(), stream());
        for several in [&[5][..], &[5, 7], &[3, 1, 4, 1, 5, 9, 2, 6, 5]].repeat(100) {
            assert_eq!(picks.pick(several), several[numbers.below(several.len() as u32) as usize]);
        }
    }

    #[test]
    fn jitter_stays_within_its_width() {
        let mut dice = Dice::new(7, 0, "port", Purpose::Reaction);
        let drawn: Vec<f64> = (0..10_000).map(|_| dice.jitter(0.3)).collect();
        assert!(drawn.iter().all(|x| (0.85..1.15).contains(x)));
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        // Standard error of the mean: 0.3 / sqrt(12 * 10000) = 0.00087.
        assert!((mean - 1.0).abs() < 0.004, "mean {mean}");
        // Of 10 000 none within 0.01 of an end has a chance of (29/30)^10 000.
        assert!(drawn.iter().any(|x| *x < 0.86) && drawn.iter().any(|x| *x > 1.14));
        assert_eq!(dice.jitter(0.0), 1.0);
    }
}
