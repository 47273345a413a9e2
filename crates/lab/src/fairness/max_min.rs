//! Max-min shares by progressive filling.

use super::{Claim, FairnessError, check, members};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Max-min fair rates in bit/s, one for each claim, over links of the capacities given (bit/s, by number).
///
/// Progressive filling: all rates rise together; a flow stops at its ceiling, or when the first of its links is
/// full (Bertsekas and Gallager, *Data Networks*, 6.5.2). Takes time in proportion to the links on all ways, but for
/// a logarithm. A flow over a link of no capacity gets 0.
///
/// # Errors
/// An unknown link, a number that is no capacity, ceiling or share, or a flow without any limit.
pub fn max_min(capacities_bps: &[f64], claims: &[Claim]) -> Result<Vec<f64>, FairnessError> {
    check(capacities_bps, claims)?;
    let members = members(capacities_bps.len(), claims);
    let mut filling = Filling::new(capacities_bps, &members, claims);
    let links = (0..).zip(&members).filter(|(_, flows)| !flows.is_empty()).map(|(i, _)| i);
    let links = links.map(|link: u32| Stop { level: filling.level(link), holder: Holder::Link(link) });
    let ceilings = (0..).zip(claims).filter(|(_, claim)| claim.ceiling().is_finite());
    let ceilings = ceilings.map(|(flow, claim)| Stop { level: claim.ceiling(), holder: Holder::Ceiling(flow) });
    let mut stops: BinaryHeap<Stop> = links.chain(ceilings).collect();
    while let Some(stop) = stops.pop() {
        match stop.holder {
            Holder::Ceiling(flow) => filling.stop(flow, stop.level),
            Holder::Link(link) if filling.open[link as usize] == 0 => {}
            Holder::Link(link) => {
                let level = filling.level(link);
                if level > stop.level {
                    stops.push(Stop { level, ..stop });
                } else {
                    members[link as usize].iter().for_each(|(flow, _)| filling.stop(*flow, stop.level));
                }
            }
        }
    }
    Ok(filling.rates.into_iter().map(|rate| rate.unwrap_or(0.0)).collect())
}

/// A level at which flows stop to rise. The lowest comes first out of a heap.
#[derive(Clone, Copy, PartialEq)]
struct Stop {
    level: f64,
    holder: Holder,
}

/// What stops them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Ceiling(u32),
    Link(u32),
}

impl Eq for Stop {}

impl Ord for Stop {
    fn cmp(&self, other: &Stop) -> Ordering {
        other.level.total_cmp(&self.level).then(other.holder.cmp(&self.holder))
    }
}

impl PartialOrd for Stop {
    fn partial_cmp(&self, other: &Stop) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Filling<'a> {
    claims: &'a [Claim],
    rates: Vec<Option<f64>>,
    /// What each link has left for the flows that still rise,
    left: Vec<f64>,
    /// the sum of their parts on it,
    parts: Vec<f64>,
    /// and their number.
    open: Vec<usize>,
}

impl<'a> Filling<'a> {
    fn new(capacities: &[f64], members: &[Vec<(u32, f64)>], claims: &'a [Claim]) -> Filling<'a> {
        Filling {
            claims,
            rates: vec![None; claims.len()],
            left: capacities.to_vec(),
            parts: members.iter().map(|flows| flows.iter().map(|(_, share)| share).sum()).collect(),
            open: members.iter().map(Vec::len).collect(),
        }
    }

    /// The rate at which a link is full.
    fn level(&self, link: u32) -> f64 {
        (self.left[link as usize] / self.parts[link as usize]).max(0.0)
    }

    fn stop(&mut self, flow: u32, rate: f64) {
        if self.rates[flow as usize].is_some() {
            return;
        }
        self.rates[flow as usize] = Some(rate);
        for (link, share) in &self.claims[flow as usize].links {
            let link = *link as usize;
            self.left[link] -= share * rate;
            self.parts[link] -= share;
            self.open[link] -= 1;
        }
    }
}
