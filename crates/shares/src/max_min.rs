//! Max-min shares of flows that are all there at once.

use crate::Claim;
use crate::filling::{Filling, Holder, Rising};
use crate::numbered::Numbered;

/// Max-min fair rates in bit/s, one for each claim, over links of the capacities given (bit/s, by number), by progressive
/// filling. A flow over a link of no capacity gets 0.
///
/// # Panics
/// If a claim has a link without a capacity.
pub fn max_min_rates(capacities_bps: &[f64], claims: &[Claim]) -> Vec<f64> {
    let mut filling = Filling::new(capacities_bps.len());
    (0..).zip(capacities_bps).for_each(|(link, capacity)| filling.open(link, *capacity));
    let mut members = Numbered::from(vec![Vec::new(); capacities_bps.len()]);
    for (flow, claim) in (0..).zip(claims) {
        filling.enter(flow, &claim.links, claim.ceiling());
        claim.links.iter().for_each(|(link, _)| members[*link].push(flow));
    }
    let mut all =
        All { claims: claims.iter().collect::<Vec<_>>().into(), members, rates: vec![None; claims.len()].into() };
    filling.fill(0..capacities_bps.len() as u32, &mut all);
    all.rates.iter().map(|rate| rate.unwrap_or(0.0)).collect()
}

struct All<'a> {
    claims: Numbered<&'a Claim>,
    members: Numbered<Vec<u32>>,
    rates: Numbered<Option<f64>>,
}

impl Rising for All<'_> {
    fn rises(&self, flow: u32) -> bool {
        self.rates[flow].is_none()
    }

    fn links(&self, flow: u32) -> &[(u32, f64)] {
        &self.claims[flow].links
    }

    fn on(&self, link: u32, position: usize) -> Option<u32> {
        self.members[link].get(position).copied()
    }

    fn stop(&mut self, flow: u32, rate: f64, _: Holder) {
        self.rates[flow] = Some(rate);
    }
}
