//! When finite flows start, and between whom.

use super::Sizes;
use qcnlab_schemes::dice::Dice;
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::collections::HashSet;

/// Most finite flows of a run.
pub const MOST_FLOWS: usize = 1_000_000;

/// A flow that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The host that sends it, by its number.
    pub from: u32,
    /// The host that receives it.
    pub to: u32,
    /// Its octets.
    pub size: Bytes,
    /// When it starts.
    pub start: Instant,
}

/// Why flows cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrivalsError {
    /// A load that a link cannot carry.
    #[error("a load of {load} must be above 0 and at most 1: it is the part of its link's rate that a host sends")]
    Load {
        /// The load.
        load: f64,
    },
    /// Nobody sends or nobody receives.
    #[error("there are no {what} to draw flows for")]
    Nobody {
        /// `"senders"` or `"receivers"`.
        what: &'static str,
    },
    /// A sender whose only receiver is itself.
    #[error("host number {host} has no receiver but itself")]
    Alone {
        /// The host.
        host: u32,
    },
    /// An incast of more senders than there are, or of none.
    #[error("an incast of {senders} at a time must have 1 to {most}, the senders there are besides the receiver")]
    FanIn {
        /// Senders at a time.
        senders: usize,
        /// How many there are.
        most: usize,
    },
    /// Times without end.
    #[error("the period must be above 0 s")]
    Period,
    /// A list of hosts that names one twice.
    #[error("host number {host} is named twice")]
    Twice {
        /// The host.
        host: u32,
    },
    /// More flows than a run can have.
    #[error(
        "{count:.0} flows are more than the {MOST_FLOWS} a run can have: send fewer, larger ones, or for less time"
    )]
    TooMany {
        /// How many are expected.
        count: f64,
    },
}

/// Flows that start at random, independently of each other, between random hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Part of its link's rate that each sender sends on average, above 0 and at most 1.
    pub load: f64,
    /// That rate.
    pub rate: BitRate,
    /// How large flows are.
    pub sizes: Sizes,
    /// The first flow starts an exponential time after this.
    pub start: Instant,
    /// No flow starts at this or later.
    pub stop: Instant,
}

impl Poisson {
    /// Flows in order of their start. Every sender starts load x rate / (8 x mean size) flows a second on average; each
    /// goes to one of the receivers but itself, all equally likely.
    ///
    /// # Errors
    /// A load out of range, nobody to send or receive, a host named twice, or more than [`MOST_FLOWS`] flows expected.
    pub fn draw(&self, from: &[u32], to: &[u32], dice: &mut Dice) -> Result<Vec<Arrival>, ArrivalsError> {
        if !(self.load > 0.0 && self.load <= 1.0) {
            return Err(ArrivalsError::Load { load: self.load });
        }
        check_pairs(from, to)?;
        let a_second = from.len() as f64 * self.load * self.rate.as_f64() / (8.0 * self.sizes.mean_bytes());
        let expected = a_second * self.stop.since(self.start).seconds();
        if expected > MOST_FLOWS as f64 {
            return Err(ArrivalsError::TooMany { count: expected });
        }
        let mut flows = Vec::new();
        let mut at = self.start;
        loop {
            at += Span::from_ps((dice.exponential() / a_second * 1e12) as u64);
            if at >= self.stop {
                return Ok(flows);
            }
            let (from, to) = (dice.pick(from), to);
            flows.push(Arrival { from, to: other(from, to, dice), size: self.sizes.sample(dice), start: at });
        }
    }
}

/// One of `hosts` but `host`.
fn other(host: u32, hosts: &[u32], dice: &mut Dice) -> u32 {
    loop {
        let drawn = dice.pick(hosts);
        if drawn != host {
            return drawn;
        }
    }
}

fn check_pairs(from: &[u32], to: &[u32]) -> Result<(), ArrivalsError> {
    for (hosts, what) in [(from, "senders"), (to, "receivers")] {
        if hosts.is_empty() {
            return Err(ArrivalsError::Nobody { what });
        }
        check_once(hosts)?;
    }
    match to {
        [host] if from.contains(host) => Err(ArrivalsError::Alone { host: *host }),
        _ => Ok(()),
    }
}

fn check_once(hosts: &[u32]) -> Result<(), ArrivalsError> {
    let mut seen = HashSet::with_capacity(hosts.len());
    hosts.iter().find(|host| !seen.insert(**host)).map_or(Ok(()), |host| Err(ArrivalsError::Twice { host: *host }))
}

/// Several hosts that send to one at the same time, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incast {
    /// How many send at a time.
    pub senders: usize,
    /// What each of them sends.
    pub size: Bytes,
    /// When they first do.
    pub start: Instant,
    /// Time from one burst to the next.
    pub period: Span,
    /// No burst at this or later.
    pub stop: Instant,
}

impl Incast {
    /// Flows in order of their start, those of a burst in order of `from`. Each burst has senders of its own, drawn
    /// without repetition from `from`, where `to` does not count.
    ///
    /// # Errors
    /// No senders or more than there are, a host named twice, a period of zero, or more than [`MOST_FLOWS`] flows.
    pub fn draw(&self, from: &[u32], to: u32, dice: &mut Dice) -> Result<Vec<Arrival>, ArrivalsError> {
        check_once(from)?;
        let candidates: Vec<u32> = from.iter().copied().filter(|host| *host != to).collect();
        let (senders, most) = (self.senders, candidates.len());
        if senders == 0 || senders > most {
            return Err(ArrivalsError::FanIn { senders, most });
        }
        if self.period == Span::ZERO {
            return Err(ArrivalsError::Period);
        }
        let bursts = self.stop.since(self.start).ps().div_ceil(self.period.ps());
        let count = bursts as f64 * senders as f64;
        if count > MOST_FLOWS as f64 {
            return Err(ArrivalsError::TooMany { count });
        }
        let mut flows = Vec::with_capacity(bursts as usize * senders);
        for burst in 0..bursts {
            let start = self.start + Span::from_ps(burst * self.period.ps());
            let chosen = choose(most, senders, dice).into_iter().map(|i| candidates[i]);
            flows.extend(chosen.map(|from| Arrival { from, to, size: self.size, start }));
        }
        Ok(flows)
    }
}

/// `some` of the numbers below `all`, in order (Knuth, *The Art of Computer Programming*, 3.4.2, algorithm S).
fn choose(all: usize, some: usize, dice: &mut Dice) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(some);
    for i in 0..all {
        if (dice.below((all - i) as u32) as usize) < some - chosen.len() {
            chosen.push(i);
        }
    }
    chosen
}

/// A pair (sender, receiver) for each host, in order of senders: every host sends to one other and receives from
/// one, in a single circle through all of them (Sattolo, 1986), so that nobody sends to itself.
///
/// # Errors
/// Fewer than two hosts, or one named twice.
pub fn permutation(hosts: &[u32], dice: &mut Dice) -> Result<Vec<(u32, u32)>, ArrivalsError> {
    check_once(hosts)?;
    match hosts {
        [] => return Err(ArrivalsError::Nobody { what: "senders" }),
        [host] => return Err(ArrivalsError::Alone { host: *host }),
        _ => {}
    }
    let mut receivers = hosts.to_vec();
    for i in (1..hosts.len()).rev() {
        receivers.swap(i, dice.below(i as u32) as usize);
    }
    Ok(hosts.iter().copied().zip(receivers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use qcnlab_schemes::dice::Purpose;
    use std::collections::HashMap;

    fn dice(seed: u64) -> Dice {
        Dice::new(seed, 0, "flows", Purpose::Traffic)
    }

    fn poisson(load: f64, size: u64, stop: Instant) -> Poisson {
        let sizes = Sizes::fixed(Bytes::new(size)).unwrap();
        Poisson { load, rate: BitRate::gbps(10), sizes, start: Instant::ZERO, stop }
    }

    #[test]
    fn poisson_flows_offer_the_load() {
        // 8 hosts at half of 10 Gb/s, 100 KB a flow: 8 x 5e9 / 8e5 = 50 000 flows a second, 10 000 in 200 ms.
        let stop = Instant::ZERO + Span::from_ms(200);
        let hosts: Vec<u32> = (0..8).collect();
        let flows = poisson(0.5, 100_000, stop).draw(&hosts, &hosts, &mut dice(1)).unwrap();
        // Standard deviation of the number: 100.
        assert!((9_600..10_400).contains(&flows.len()), "{}", flows.len());
        assert!(flows.is_sorted_by_key(|flow| flow.start) && flows.iter().all(|flow| flow.start < stop));
        let mut pairs = HashMap::new();
        flows.iter().for_each(|flow| *pairs.entry((flow.from, flow.to)).or_insert(0) += 1);
        // 56 pairs of some 179 flows each, standard deviation 13.
        assert!(pairs.len() == 56 && pairs.keys().all(|(from, to)| from != to));
        assert!(pairs.values().all(|count| (115..245).contains(count)), "{pairs:?}");
        // Distances between starts have the variance of the exponential: the square of their mean, 20 us.
        let gaps: Vec<f64> = flows.windows(2).map(|pair| pair[1].start.since(pair[0].start).seconds()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let spread = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((spread.sqrt() / mean - 1.0).abs() < 0.05 && (mean / 20e-6 - 1.0).abs() < 0.04);
        assert_eq!(flows, poisson(0.5, 100_000, stop).draw(&hosts, &hosts, &mut dice(1)).unwrap());
        assert_ne!(flows, poisson(0.5, 100_000, stop).draw(&hosts, &hosts, &mut dice(2)).unwrap());
    }

    #[test]
    fn incast_bursts_are_whole() {
        let stop = Instant::ZERO + Span::from_us(250);
        let start = Instant::ZERO + Span::from_us(50);
        let incast = Incast { senders: 3, size: Bytes::new(64_000), start, period: Span::from_us(100), stop };
        let flows = incast.draw(&[4, 5, 6, 7, 8], 6, &mut dice(1)).unwrap();
        let starts: Vec<u64> = flows.iter().map(|flow| flow.start.ps() / 1_000_000).collect();
        assert_eq!(starts, [50, 50, 50, 150, 150, 150]);
        assert!(flows.iter().all(|flow| flow.to == 6 && flow.from != 6 && flow.size == Bytes::new(64_000)));
        assert!(flows.chunks(3).all(|burst| burst.is_sorted_by(|a, b| a.from < b.from)));
        let all = Incast { senders: 4, ..incast }.draw(&[4, 5, 6, 7, 8], 6, &mut dice(1)).unwrap();
        assert_eq!(all[..4].iter().map(|flow| flow.from).collect::<Vec<_>>(), [4, 5, 7, 8]);
    }

    #[test]
    fn every_sender_is_as_likely() {
        let mut counts = [0; 10];
        let mut dice = dice(3);
        (0..10_000).flat_map(|_| choose(10, 3, &mut dice)).for_each(|i| counts[i] += 1);
        // 3000 each with a standard deviation of 46.
        assert!(counts.iter().all(|count| (2800..3200).contains(count)), "{counts:?}");
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let stop = Instant::ZERO + Span::from_ms(200);
        let said =
            |flows: Poisson, from: &[u32], to: &[u32]| flows.draw(from, to, &mut dice(1)).unwrap_err().to_string();
        let fair = poisson(0.5, 100_000, stop);
        for load in [0.0, 1.1, f64::NAN] {
            assert!(said(poisson(load, 1, stop), &[0], &[1]).starts_with(&format!("a load of {load} must be above 0")));
        }
        assert_eq!(said(fair.clone(), &[], &[1]), "there are no senders to draw flows for");
        assert_eq!(said(fair.clone(), &[1], &[]), "there are no receivers to draw flows for");
        assert_eq!(said(fair.clone(), &[0, 1], &[1]), "host number 1 has no receiver but itself");
        assert_eq!(said(fair, &[0, 0], &[1]), "host number 0 is named twice");
        assert!(said(poisson(1.0, 1, stop), &[0], &[1]).starts_with("250000000 flows are more than the 1000000"));
        let incast = Incast { senders: 3, size: Bytes::new(1), start: Instant::ZERO, period: Span::from_us(1), stop };
        let said = |incast: Incast| incast.draw(&[1, 2, 3], 3, &mut dice(1)).unwrap_err();
        assert_eq!(said(incast), ArrivalsError::FanIn { senders: 3, most: 2 });
        assert_eq!(said(Incast { senders: 0, ..incast }), ArrivalsError::FanIn { senders: 0, most: 2 });
        assert_eq!(said(Incast { senders: 1, period: Span::ZERO, ..incast }), ArrivalsError::Period);
        let often = Incast { senders: 2, period: Span::from_ps(1), ..incast };
        assert!(matches!(said(often), ArrivalsError::TooMany { .. }));
        assert_eq!(permutation(&[], &mut dice(1)), Err(ArrivalsError::Nobody { what: "senders" }));
        assert_eq!(permutation(&[7], &mut dice(1)), Err(ArrivalsError::Alone { host: 7 }));
        assert_eq!(permutation(&[7, 8, 7], &mut dice(1)), Err(ArrivalsError::Twice { host: 7 }));
    }

    proptest! {
        #[test]
        fn a_permutation_is_one_circle(count in 2..60u32, seed: u64) {
            let hosts: Vec<u32> = (0..count).map(|i| 3 * i + 1).collect();
            let next: HashMap<u32, u32> = permutation(&hosts, &mut dice(seed)).unwrap().into_iter().collect();
            let mut at = hosts[0];
            for left in (0..count).rev() {
                at = next[&at];
                prop_assert_eq!(at == hosts[0], left == 0);
            }
        }
    }
}
