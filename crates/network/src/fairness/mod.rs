//! Fair shares of a network's links: the rate of each flow under two rules.
//!
//! **Max-min**: no flow can have a higher rate unless one with the same rate or less gets a lower one.
//! **Proportional**: the sum of the logarithms of the rates is as large as it can be (Kelly, 1997), so that a flow
//! that loads more bottlenecks gets less. Both hold each flow to a ceiling of its own, if it has one.

mod factor;
mod proportional;
#[cfg(test)]
mod tests;

pub use proportional::proportional;
use qcnlab_shares::max_min_rates;
pub use qcnlab_shares::{ActiveShares, Claim};

#[cfg(test)]
use qcnlab_units::BitRate;

/// Why shares cannot be worked out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FairnessError {
    /// A flow over a link that has no capacity given.
    #[error("flow {flow} uses link {link}, but capacities are given for {links} links, counted from 0")]
    UnknownLink {
        /// The flow, from 0.
        flow: usize,
        /// The link, from 0.
        link: u32,
        /// How many capacities there are.
        links: usize,
    },
    /// A number that is no capacity.
    #[error("link {link} has a capacity of {value} b/s; give a finite number, 0 or more")]
    Capacity {
        /// The link, from 0.
        link: usize,
        /// The number.
        value: f64,
    },
    /// A number that is no ceiling.
    #[error("flow {flow} has a ceiling of {value} b/s; give 0 or more, or leave it out")]
    Ceiling {
        /// The flow, from 0.
        flow: usize,
        /// The number.
        value: f64,
    },
    /// A number that is no part of a flow.
    #[error("flow {flow} puts {value} of its rate on link {link}; give a finite number above 0, once for each link")]
    Share {
        /// The flow, from 0.
        flow: usize,
        /// The link, from 0.
        link: u32,
        /// The number.
        value: f64,
    },
    /// A flow without any limit.
    #[error("flow {flow} crosses no link and has no ceiling: its share has no end")]
    Unbounded {
        /// The flow, from 0.
        flow: usize,
    },
    /// More links than can be solved for together.
    #[error(
        "{flows} flows over {links} links are too many for proportional shares: {most} links are the most; use max-min"
    )]
    TooLarge {
        /// Flows that share links with each other.
        flows: usize,
        /// The links.
        links: usize,
        /// How many can be solved for.
        most: usize,
    },
    /// The numbers are too far apart to be solved for.
    #[error(
        "shares of {flows} flows over {links} links were not found to 1e-9: bring rates and ceilings closer together"
    )]
    NotSolved {
        /// Flows that share links with each other.
        flows: usize,
        /// The links.
        links: usize,
    },
}

/// Max-min fair rates in bit/s, one for each claim, over links of the capacities given (bit/s, by number).
///
/// Progressive filling: all rates rise together; a flow stops at its ceiling, or when the first of its links is
/// full (Bertsekas and Gallager, *Data Networks*, 6.5.2). Takes time in proportion to the links on all ways, but for
/// a logarithm. A flow over a link of no capacity gets 0. [`ActiveShares`] is for flows that come and go.
///
/// # Errors
/// An unknown link, a number that is no capacity, ceiling or share, or a flow without any limit.
pub fn max_min(capacities_bps: &[f64], claims: &[Claim]) -> Result<Vec<f64>, FairnessError> {
    check(capacities_bps, claims)?;
    Ok(max_min_rates(capacities_bps, claims))
}

fn check(capacities_bps: &[f64], claims: &[Claim]) -> Result<(), FairnessError> {
    if let Some(link) = capacities_bps.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
        return Err(FairnessError::Capacity { link, value: capacities_bps[link] });
    }
    let mut last_user = vec![usize::MAX; capacities_bps.len()];
    for (flow, claim) in claims.iter().enumerate() {
        for &(link, value) in &claim.links {
            let Some(user) = last_user.get_mut(link as usize) else {
                return Err(FairnessError::UnknownLink { flow, link, links: capacities_bps.len() });
            };
            if !(value.is_finite() && value > 0.0) || std::mem::replace(user, flow) == flow {
                return Err(FairnessError::Share { flow, link, value });
            }
        }
        match claim.ceiling_bps {
            Some(value) if value.is_nan() || value < 0.0 => return Err(FairnessError::Ceiling { flow, value }),
            _ if claim.links.is_empty() && claim.ceiling().is_infinite() => {
                return Err(FairnessError::Unbounded { flow });
            }
            _ => {}
        }
    }
    Ok(())
}
