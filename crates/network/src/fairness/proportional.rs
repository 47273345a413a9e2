//! Proportionally fair shares, by an interior-point method.
//!
//! Maximise the sum of log r over the rates r, with A r <= C on the links and r <= d for the ceilings. With prices
//! p of the links and v of the ceilings the optimum is where
//!
//! ```text
//! 1 / r = A' p + v,   p (C - A r) = 0,   v (d - r) = 0,   p, v >= 0.
//! ```
//!
//! Newton's method solves these with the products equal to some t instead of 0, for t that falls to nothing
//! (Boyd and Vandenberghe, *Convex Optimization*, 11.7; the choice of t is Mehrotra's, 1992). With h = 1/r^2 + v/u, and
//! slacks s = C - A r and u = d - r, each step solves one system with as many unknowns as there are links:
//!
//! ```text
//! (s/p + A h^-1 A') y = A h^-1 b,   b = 1/r - A' (t/s) - t/u,   dr = h^-1 (b - A' y).
//! ```
//!
//! Before that, links that limit no flow are left out, and each component of flows that share links is solved alone.

use super::factor::Symmetric;
use super::{Claim, FairnessError, check, max_min, members};

/// The products of prices and slacks that are left at the end, in all, for each flow. A rate is off by up to its
/// root where a price and its slack are both zero at the optimum.
const GAP: f64 = 1e-21;
/// Most links that are solved for together: a second or two for each of ten to forty rounds.
const MOST_JOINED: usize = 2048;
/// How far r (A' p + v) may be from 1 at the end.
const RESIDUAL: f64 = 1e-10;
/// Rounds before giving up. Ten to forty are usual.
const ROUNDS: usize = 200;
/// Part of the distance to the nearest bound that a step may go.
const SHORT_OF_BOUND: f64 = 0.995;

/// Proportionally fair rates in bit/s, one for each claim, over links of the capacities given (bit/s, by number); to
/// 1e-9 of each rate. A flow over a link of no capacity, or with a ceiling of 0, gets 0 and counts no further.
///
/// Time grows with the cube of the number of links that can be full and are joined by flows; 2048 of them are the
/// most.
///
/// # Errors
/// An unknown link, a number that is no capacity, ceiling or share, a flow without any limit, too many links, or
/// numbers too far apart.
pub fn proportional(capacities_bps: &[f64], claims: &[Claim]) -> Result<Vec<f64>, FairnessError> {
    check(capacities_bps, claims)?;
    Ok(priced(capacities_bps, claims)?.0)
}

/// Rates, and the prices of the links that are kept in the problem; other links have no price. Links with one flow
/// alone count as ceilings.
pub(super) fn priced(capacities: &[f64], claims: &[Claim]) -> Result<(Vec<f64>, Vec<f64>), FairnessError> {
    let (mut rates, mut prices) = (vec![0.0; claims.len()], vec![0.0; capacities.len()]);
    for component in Problem::reduced(capacities, claims).components() {
        let (flows, links) = (component.flows.len(), component.links.len());
        if links > MOST_JOINED {
            return Err(FairnessError::TooLarge { flows, links, most: MOST_JOINED });
        }
        let (component_rates, component_prices) = component.solve().ok_or(FairnessError::NotSolved { flows, links })?;
        for (flow, rate) in component.flows.iter().zip(component_rates) {
            rates[*flow as usize] = rate.min(claims[*flow as usize].ceiling());
        }
        component.links.iter().zip(component_prices).for_each(|(link, price)| prices[*link] = price);
    }
    Ok((rates, prices))
}

/// The problem without the links that limit no flow.
struct Problem<'a> {
    capacities: &'a [f64],
    /// Ceilings of all flows; links with one flow only have become part of them. 0 for flows that get nothing.
    ceilings: Vec<f64>,
    /// The flows on each link, none on a link left out.
    members: Vec<Vec<(u32, f64)>>,
}

impl<'a> Problem<'a> {
    fn reduced(capacities: &'a [f64], claims: &[Claim]) -> Problem<'a> {
        let dead = |claim: &Claim| claim.links.iter().any(|(link, _)| capacities[*link as usize] == 0.0);
        let mut ceilings: Vec<f64> =
            claims.iter().map(|claim| if dead(claim) { 0.0 } else { claim.ceiling() }).collect();
        let mut members = members(capacities.len(), claims);
        for (flows, capacity) in members.iter_mut().zip(capacities) {
            flows.retain(|(flow, _)| ceilings[*flow as usize] > 0.0);
            if let [(flow, share)] = flows[..] {
                let ceiling = &mut ceilings[flow as usize];
                *ceiling = ceiling.min(capacity / share);
                flows.clear();
            }
        }
        for (flows, capacity) in members.iter_mut().zip(capacities) {
            if flows.iter().map(|(flow, share)| share * ceilings[*flow as usize]).sum::<f64>() <= *capacity {
                flows.clear();
            }
        }
        let mut problem = Problem { capacities, ceilings, members };
        let covered: Vec<usize> = (0..capacities.len()).filter(|link| problem.covered(*link, claims)).collect();
        covered.into_iter().for_each(|link| problem.members[link].clear());
        problem
    }

    /// Whether another link is full no later than this one, whatever the rates. Of two alike the first stays.
    fn covered(&self, link: usize, claims: &[Claim]) -> bool {
        let flows = &self.members[link];
        let carries = |other: usize, flow: u32, share: f64| {
            let index = self.members[other].binary_search_by_key(&flow, |(flow, _)| *flow);
            index.is_ok_and(|at| self.members[other][at].1 >= share)
        };
        let Some((first, _)) = flows.first() else {
            return false;
        };
        claims[*first as usize].links.iter().any(|(other, _)| {
            let other = *other as usize;
            let (mine, its) = (self.capacities[link], self.capacities[other]);
            other != link
                && its <= mine
                && flows.len() <= self.members[other].len()
                && flows.iter().all(|(flow, share)| carries(other, *flow, *share))
                && (its < mine || self.members[other] != *flows || other < link)
        })
    }

    /// The components that share no link with each other.
    fn components(&mut self) -> Vec<Component> {
        let mut heads: Vec<u32> = (0..self.ceilings.len() as u32).collect();
        for flows in &self.members {
            for pair in flows.windows(2) {
                let (a, b) = (head(&mut heads, pair[0].0), head(&mut heads, pair[1].0));
                heads[a.max(b) as usize] = a.min(b);
            }
        }
        let mut components: Vec<Component> = Vec::new();
        let mut component_of = vec![usize::MAX; heads.len()];
        for flow in (0..heads.len() as u32).filter(|flow| self.ceilings[*flow as usize] > 0.0) {
            let head = head(&mut heads, flow) as usize;
            if component_of[head] == usize::MAX {
                component_of[head] = components.len();
                components.push(Component::default());
            }
            component_of[flow as usize] = component_of[head];
            let component = &mut components[component_of[head]];
            component.flows.push(flow);
            let ceiling = self.ceilings[flow as usize];
            component.claims.push(Claim { links: Vec::new(), ceiling_bps: ceiling.is_finite().then_some(ceiling) });
        }
        let mut links: Vec<usize> = (0..self.members.len()).filter(|link| !self.members[*link].is_empty()).collect();
        links.sort_by_key(|link| self.members[*link].len());
        for link in links {
            let component = &mut components[component_of[self.members[link][0].0 as usize]];
            let row = component.capacities.len() as u32;
            component.links.push(link);
            component.capacities.push(self.capacities[link]);
            for (flow, share) in &self.members[link] {
                let at = component.flows.binary_search(flow).expect("flows of one link are in one component");
                component.claims[at].links.push((row, *share));
            }
        }
        components
    }
}

/// The first flow of the component that a flow belongs to, as far as is known.
fn head(heads: &mut [u32], mut flow: u32) -> u32 {
    while heads[flow as usize] != flow {
        heads[flow as usize] = heads[heads[flow as usize] as usize];
        flow = heads[flow as usize];
    }
    flow
}

/// Flows joined by links, and those links.
#[derive(Default)]
struct Component {
    flows: Vec<u32>,
    claims: Vec<Claim>,
    links: Vec<usize>,
    capacities: Vec<f64>,
}

impl Component {
    /// Rates and prices; `None` when they cannot be found.
    fn solve(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        if self.links.is_empty() {
            return Some((self.claims.iter().map(Claim::ceiling).collect(), Vec::new()));
        }
        let unit = self.capacities.iter().copied().fold(0.0, f64::max);
        let capacities: Vec<f64> = self.capacities.iter().map(|capacity| capacity / unit).collect();
        let scaled = |claim: &Claim| Claim { ceiling_bps: claim.ceiling_bps.map(|c| c / unit), ..claim.clone() };
        let claims: Vec<Claim> = self.claims.iter().map(scaled).collect();
        let mut iterate = Iterate::start(&capacities, &claims)?;
        let mut matrix = Symmetric::zero(capacities.len());
        for _ in 0..ROUNDS {
            if iterate.is_optimal(&claims) {
                let rates = feasible(iterate.rates, &capacities, &claims).map(|rate| rate * unit).collect();
                return Some((rates, iterate.prices.into_iter().map(|price| price / unit).collect()));
            }
            iterate.advance(&claims, &mut matrix);
        }
        None
    }
}

/// Rates brought back by the last digits that they may be above a capacity or a ceiling.
fn feasible(rates: Vec<f64>, capacities: &[f64], claims: &[Claim]) -> impl Iterator<Item = f64> {
    let mut loads = vec![0.0; capacities.len()];
    for (claim, rate) in claims.iter().zip(&rates) {
        claim.links.iter().for_each(|(link, share)| loads[*link as usize] += share * rate);
    }
    let room: Vec<f64> = loads.iter().zip(capacities).map(|(load, capacity)| (capacity / load).min(1.0)).collect();
    rates.into_iter().zip(claims).map(move |(rate, claim)| {
        let least = claim.links.iter().map(|(link, _)| room[*link as usize]).fold(1.0, f64::min);
        (rate * least).min(claim.ceiling())
    })
}

/// Rates, prices and slacks after some rounds; all are above 0.
struct Iterate {
    rates: Vec<f64>,
    /// C - A r.
    slacks: Vec<f64>,
    prices: Vec<f64>,
    /// d - r; infinite without a ceiling.
    rooms: Vec<f64>,
    /// v; 0 without a ceiling.
    tolls: Vec<f64>,
}

/// A change of an [`Iterate`].
struct Step {
    rates: Vec<f64>,
    slacks: Vec<f64>,
    prices: Vec<f64>,
    tolls: Vec<f64>,
}

impl Iterate {
    /// Half the max-min shares, with prices to fit.
    fn start(capacities: &[f64], claims: &[Claim]) -> Option<Iterate> {
        let rates: Vec<f64> = max_min(capacities, claims).ok()?.into_iter().map(|rate| rate / 2.0).collect();
        let mut slacks = capacities.to_vec();
        for (claim, rate) in claims.iter().zip(&rates) {
            claim.links.iter().for_each(|(link, share)| slacks[*link as usize] -= share * rate);
        }
        let rooms: Vec<f64> = claims.iter().zip(&rates).map(|(claim, rate)| claim.ceiling() - rate).collect();
        let bounds = slacks.len() + rooms.iter().filter(|room| room.is_finite()).count();
        let product = claims.len() as f64 / bounds as f64;
        let prices = slacks.iter().map(|slack| product / slack).collect();
        let tolls = rooms.iter().map(|room| product / room).collect();
        let positive = rates.iter().chain(&slacks).chain(&rooms).all(|value| *value > 0.0);
        positive.then_some(Iterate { rates, slacks, prices, rooms, tolls })
    }

    /// Prices times slacks: their sum, and their number.
    fn gap(&self) -> (f64, f64) {
        let ceilings = self.tolls.iter().zip(&self.rooms).filter(|(_, room)| room.is_finite());
        let products = self.prices.iter().zip(&self.slacks).chain(ceilings);
        products.fold((0.0, 0.0), |(sum, count), (price, slack)| (sum + price * slack, count + 1.0))
    }

    fn is_optimal(&self, claims: &[Claim]) -> bool {
        let cost = |flow: usize| claims[flow].links.iter().map(|(link, share)| share * self.prices[*link as usize]);
        let off = |flow: usize| (self.rates[flow] * (self.tolls[flow] + cost(flow).sum::<f64>()) - 1.0).abs();
        self.gap().0 <= GAP * claims.len() as f64 && (0..claims.len()).all(|flow| off(flow) <= RESIDUAL)
    }

    /// One round of Newton's method: a trial step to products of 0 tells how small a t to aim at.
    fn advance(&mut self, claims: &[Claim], matrix: &mut Symmetric) {
        let stiffness: Vec<f64> =
            (0..claims.len()).map(|f| self.rates[f].powi(-2) + self.tolls[f] / self.rooms[f]).collect();
        matrix.clear();
        for (row, (slack, price)) in self.slacks.iter().zip(&self.prices).enumerate() {
            matrix.add(row, row, slack / price);
        }
        for (claim, h) in claims.iter().zip(&stiffness) {
            for (at, (i, a)) in claim.links.iter().enumerate() {
                claim.links[at..].iter().for_each(|(j, b)| matrix.add(*i as usize, *j as usize, a * b / h));
            }
        }
        matrix.factor();
        let (gap, bounds) = self.gap();
        let ahead = self.step(claims, &stiffness, matrix, 0.0);
        let (forth, up) = self.reach(&ahead);
        let left = self.moved(&ahead, forth, up).gap().0 / gap;
        let step = self.step(claims, &stiffness, matrix, left.powi(3) * gap / bounds);
        let (forth, up) = self.reach(&step);
        *self = self.moved(&step, (SHORT_OF_BOUND * forth).min(1.0), (SHORT_OF_BOUND * up).min(1.0));
    }

    /// The step that aims at products of `t`.
    fn step(&self, claims: &[Claim], stiffness: &[f64], matrix: &Symmetric, t: f64) -> Step {
        let pull = |flow: usize, prices: &dyn Fn(usize) -> f64| -> f64 {
            claims[flow].links.iter().map(|(link, share)| share * prices(*link as usize)).sum()
        };
        let force = |f: usize| 1.0 / self.rates[f] - pull(f, &|link| t / self.slacks[link]) - t / self.rooms[f];
        let forces: Vec<f64> = (0..claims.len()).map(force).collect();
        let mut y = vec![0.0; self.slacks.len()];
        for (flow, claim) in claims.iter().enumerate() {
            let move_alone = forces[flow] / stiffness[flow];
            claim.links.iter().for_each(|(link, share)| y[*link as usize] += share * move_alone);
        }
        matrix.solve(&mut y);
        let rates: Vec<f64> =
            (0..claims.len()).map(|f| (forces[f] - pull(f, &|link| y[link])) / stiffness[f]).collect();
        let links = 0..self.slacks.len();
        let toll = |f: usize| (t + self.tolls[f] * rates[f]) / self.rooms[f] - self.tolls[f];
        Step {
            slacks: links.clone().map(|l| -self.slacks[l] / self.prices[l] * y[l]).collect(),
            prices: links.map(|l| t / self.slacks[l] + y[l] - self.prices[l]).collect(),
            tolls: (0..claims.len()).map(toll).collect(),
            rates,
        }
    }

    /// How much of a step leaves rates and slacks, and prices, at 0 or above: up to 1 and a little.
    fn reach(&self, step: &Step) -> (f64, f64) {
        let most = 1.0 / SHORT_OF_BOUND;
        let bound = |values: &[f64], changes: &[f64], sign: f64| {
            let falls = values.iter().zip(changes).filter(|(_, change)| sign * **change < 0.0);
            falls.map(|(value, change)| -value / (sign * change)).fold(most, f64::min)
        };
        let forth = bound(&self.rates, &step.rates, 1.0).min(bound(&self.slacks, &step.slacks, 1.0));
        let forth = forth.min(bound(&self.rooms, &step.rates, -1.0));
        (forth, bound(&self.prices, &step.prices, 1.0).min(bound(&self.tolls, &step.tolls, 1.0)))
    }

    fn moved(&self, step: &Step, forth: f64, up: f64) -> Iterate {
        let plus = |values: &[f64], changes: &[f64], by: f64| -> Vec<f64> {
            values.iter().zip(changes).map(|(value, change)| value + by * change).collect()
        };
        Iterate {
            rates: plus(&self.rates, &step.rates, forth),
            slacks: plus(&self.slacks, &step.slacks, forth),
            prices: plus(&self.prices, &step.prices, up),
            rooms: plus(&self.rooms, &step.rates, -forth),
            tolls: plus(&self.tolls, &step.tolls, up),
        }
    }
}
