//! Max-min shares of links, and flows that come and go at such rates.
//!
//! [`max_min_rates`] is for flows that are all there at once, [`ActiveShares`] for flows that come and go, and
//! [`FlowLevel`] a run in which each has so much to send.

mod active;
mod filling;
mod flow_level;
mod max_min;
mod numbered;

pub use active::ActiveShares;
pub use flow_level::{FlowLevel, FlowNetwork, FluidFlow, HeardAt, Passage, WaitingFlow};
pub use max_min::max_min_rates;

use qcnlab_units::{BitRate, Id};
use std::collections::BTreeMap;

/// The links that one flow loads, and the most it wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// The links it loads, each once, and how much of its rate each one carries, above 0.
    pub links: Vec<(u32, f64)>,
    /// The most it wants, bit/s; `None` for all it can get.
    pub ceiling_bps: Option<f64>,
}

impl Claim {
    /// A flow on a single path, which has each link once.
    pub fn along<I: Id>(path: &[I], ceiling: Option<BitRate>) -> Claim {
        Claim::split([path].into_iter(), ceiling)
    }

    /// A flow that is split evenly over several paths, as when each frame takes one at random: a link on k of n paths
    /// carries k/n of its rate.
    pub fn split<'a, I: Id + 'a>(paths: impl ExactSizeIterator<Item = &'a [I]>, ceiling: Option<BitRate>) -> Claim {
        let mut uses: BTreeMap<u32, u32> = BTreeMap::new();
        let count = paths.len() as f64;
        for link in paths.flatten() {
            *uses.entry(link.number()).or_default() += 1;
        }
        let share = |uses: u32| f64::from(uses) / count;
        Claim {
            links: uses.into_iter().map(|(link, uses)| (link, share(uses))).collect(),
            ceiling_bps: ceiling.map(BitRate::as_f64),
        }
    }

    /// Returns the most it wants, bit/s; infinite without a ceiling.
    pub fn ceiling(&self) -> f64 {
        self.ceiling_bps.unwrap_or(f64::INFINITY)
    }
}
