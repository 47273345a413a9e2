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
use super::{Claim, FairnessError, check, max_min};
use qcnlab_units::{Id, IdVec, ids};

ids! {
    /// A flow, by its position among the claims.
    struct FlowId;
    /// A link, by its position among the capacities.
    struct LinkId;
}

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
    let claims: IdVec<FlowId, &Claim> = claims.iter().collect();
    let capacities: IdVec<LinkId, f64> = capacities.iter().copied().collect();
    let (mut rates, mut prices) = (IdVec::for_each_of(&claims, 0.0), IdVec::for_each_of(&capacities, 0.0));
    for component in Problem::reduced(&capacities, &claims).components() {
        let (flows, links) = (component.flows.len(), component.links.len());
        if links > MOST_JOINED {
            return Err(FairnessError::TooLarge { flows, links, most: MOST_JOINED });
        }
        let (component_rates, component_prices) = component.solve().ok_or(FairnessError::NotSolved { flows, links })?;
        for (flow, rate) in component.flows.iter().zip(component_rates) {
            rates[*flow] = rate.min(claims[*flow].ceiling());
        }
        component.links.iter().zip(component_prices).for_each(|(link, price)| prices[*link] = price);
    }
    Ok((rates.into(), prices.into()))
}

/// The links of a claim, and how much of its rate each one carries.
fn loads(claim: &Claim) -> impl Iterator<Item = (LinkId, f64)> {
    claim.links.iter().map(|(link, share)| (LinkId::new(*link), *share))
}

/// The flows on each link, and how much of each flow.
fn members(capacities: &IdVec<LinkId, f64>, claims: &IdVec<FlowId, &Claim>) -> IdVec<LinkId, Vec<(FlowId, f64)>> {
    let mut members = IdVec::for_each_of(capacities, Vec::new());
    for (flow, claim) in claims.enumerate() {
        loads(claim).for_each(|(link, share)| members[link].push((flow, share)));
    }
    members
}

/// The problem without the links that limit no flow.
struct Problem<'a> {
    capacities: &'a IdVec<LinkId, f64>,
    /// Ceilings of all flows; links with one flow only have become part of them. 0 for flows that get nothing.
    ceilings: IdVec<FlowId, f64>,
    /// The flows on each link, none on a link left out.
    members: IdVec<LinkId, Vec<(FlowId, f64)>>,
}

impl<'a> Problem<'a> {
    fn reduced(capacities: &'a IdVec<LinkId, f64>, claims: &IdVec<FlowId, &Claim>) -> Problem<'a> {
        let dead = |claim: &Claim| loads(claim).any(|(link, _)| capacities[link] == 0.0);
        let mut ceilings: IdVec<FlowId, f64> =
            claims.iter().map(|claim| if dead(claim) { 0.0 } else { claim.ceiling() }).collect();
        let mut members: IdVec<LinkId, Vec<(FlowId, f64)>> = members(capacities, claims);
        for (flows, capacity) in members.iter_mut().zip(capacities) {
            flows.retain(|(flow, _)| ceilings[*flow] > 0.0);
            if let [(flow, share)] = flows[..] {
                let ceiling = &mut ceilings[flow];
                *ceiling = ceiling.min(capacity / share);
                flows.clear();
            }
        }
        for (flows, capacity) in members.iter_mut().zip(capacities) {
            if flows.iter().map(|(flow, share)| share * ceilings[*flow]).sum::<f64>() <= *capacity {
                flows.clear();
            }
        }
        let mut problem = Problem { capacities, ceilings, members };
        let covered: Vec<LinkId> = capacities.ids().filter(|link| problem.covered(*link, claims)).collect();
        covered.into_iter().for_each(|link| problem.members[link].clear());
        problem
    }

    /// Whether another link is full no later than this one, whatever the rates. Of two alike the first stays.
    fn covered(&self, link: LinkId, claims: &IdVec<FlowId, &Claim>) -> bool {
        let flows = &self.members[link];
        let carries = |other: LinkId, flow: FlowId, share: f64| {
            let index = self.members[other].binary_search_by_key(&flow, |(flow, _)| *flow);
            index.is_ok_and(|at| self.members[other][at].1 >= share)
        };
        let Some((first, _)) = flows.first() else {
            return false;
        };
        loads(claims[*first]).any(|(other, _)| {
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
        let mut heads: IdVec<FlowId, FlowId> = self.ceilings.ids().collect();
        for flows in &self.members {
            for pair in flows.windows(2) {
                let (a, b) = (head(&mut heads, pair[0].0), head(&mut heads, pair[1].0));
                heads[a.max(b)] = a.min(b);
            }
        }
        let mut components: Vec<Component> = Vec::new();
        let mut component_of = IdVec::for_each_of(&heads, usize::MAX);
        for flow in self.ceilings.ids().filter(|flow| self.ceilings[*flow] > 0.0) {
            let head = head(&mut heads, flow);
            if component_of[head] == usize::MAX {
                component_of[head] = components.len();
                components.push(Component::default());
            }
            component_of[flow] = component_of[head];
            let component = &mut components[component_of[head]];
            component.flows.push(flow);
            let ceiling = self.ceilings[flow];
            component.claims.push(Claim { links: Vec::new(), ceiling_bps: ceiling.is_finite().then_some(ceiling) });
        }
        let mut links: Vec<LinkId> = self.members.ids().filter(|link| !self.members[*link].is_empty()).collect();
        links.sort_by_key(|link| self.members[*link].len());
        for link in links {
            let component = &mut components[component_of[self.members[link][0].0]];
            let row = component.capacities.next_id().number();
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
fn head(heads: &mut IdVec<FlowId, FlowId>, mut flow: FlowId) -> FlowId {
    while heads[flow] != flow {
        heads[flow] = heads[heads[flow]];
        flow = heads[flow];
    }
    flow
}

/// Flows joined by links, and those links.
#[derive(Default)]
struct Component {
    flows: Vec<FlowId>,
    claims: Vec<Claim>,
    links: Vec<LinkId>,
    /// Of those links, which its claims number anew.
    capacities: IdVec<LinkId, f64>,
}

impl Component {
    /// Rates and prices; `None` when they cannot be found.
    fn solve(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        if self.links.is_empty() {
            return Some((self.claims.iter().map(Claim::ceiling).collect(), Vec::new()));
        }
        let unit = self.capacities.iter().copied().fold(0.0, f64::max);
        let capacities: IdVec<LinkId, f64> = self.capacities.iter().map(|capacity| capacity / unit).collect();
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
fn feasible(rates: Vec<f64>, capacities: &IdVec<LinkId, f64>, claims: &[Claim]) -> impl Iterator<Item = f64> {
    let mut loaded = IdVec::for_each_of(capacities, 0.0);
    for (claim, rate) in claims.iter().zip(&rates) {
        loads(claim).for_each(|(link, share)| loaded[link] += share * rate);
    }
    let room: IdVec<LinkId, f64> =
        loaded.iter().zip(capacities).map(|(load, capacity): (&f64, &f64)| (capacity / load).min(1.0)).collect();
    rates.into_iter().zip(claims).map(move |(rate, claim)| {
        let least = loads(claim).map(|(link, _)| room[link]).fold(1.0, f64::min);
        (rate * least).min(claim.ceiling())
    })
}

/// Rates, prices and slacks after some rounds; all are above 0.
struct Iterate {
    rates: Vec<f64>,
    /// C - A r.
    slacks: IdVec<LinkId, f64>,
    prices: IdVec<LinkId, f64>,
    /// d - r; infinite without a ceiling.
    rooms: Vec<f64>,
    /// v; 0 without a ceiling.
    tolls: Vec<f64>,
}

/// A change of an [`Iterate`].
struct Step {
    rates: Vec<f64>,
    slacks: IdVec<LinkId, f64>,
    prices: IdVec<LinkId, f64>,
    tolls: Vec<f64>,
}

impl Iterate {
    /// Half the max-min shares, with prices to fit.
    fn start(capacities: &IdVec<LinkId, f64>, claims: &[Claim]) -> Option<Iterate> {
        let rates: Vec<f64> = max_min(capacities, claims).ok()?.into_iter().map(|rate| rate / 2.0).collect();
        let mut slacks = capacities.clone();
        for (claim, rate) in claims.iter().zip(&rates) {
            loads(claim).for_each(|(link, share)| slacks[link] -= share * rate);
        }
        let rooms: Vec<f64> = claims.iter().zip(&rates).map(|(claim, rate)| claim.ceiling() - rate).collect();
        let bounds = slacks.len() + rooms.iter().filter(|room| room.is_finite()).count();
        let product = claims.len() as f64 / bounds as f64;
        let prices = slacks.iter().map(|slack| product / slack).collect();
        let tolls = rooms.iter().map(|room| product / room).collect();
        let positive = rates.iter().chain(slacks.iter()).chain(&rooms).all(|value| *value > 0.0);
        positive.then_some(Iterate { rates, slacks, prices, rooms, tolls })
    }

    /// Prices times slacks: their sum, and their number.
    fn gap(&self) -> (f64, f64) {
        let ceilings = self.tolls.iter().zip(&self.rooms).filter(|(_, room)| room.is_finite());
        let products = self.prices.iter().zip(self.slacks.iter()).chain(ceilings);
        products.fold((0.0, 0.0), |(sum, count), (price, slack)| (sum + price * slack, count + 1.0))
    }

    fn is_optimal(&self, claims: &[Claim]) -> bool {
        let cost = |flow: usize| loads(&claims[flow]).map(|(link, share)| share * self.prices[link]);
        let off = |flow: usize| (self.rates[flow] * (self.tolls[flow] + cost(flow).sum::<f64>()) - 1.0).abs();
        self.gap().0 <= GAP * claims.len() as f64 && (0..claims.len()).all(|flow| off(flow) <= RESIDUAL)
    }

    /// One round of Newton's method: a trial step to products of 0 tells how small a t to aim at.
    fn advance(&mut self, claims: &[Claim], matrix: &mut Symmetric) {
        let stiffness: Vec<f64> =
            (0..claims.len()).map(|f| self.rates[f].powi(-2) + self.tolls[f] / self.rooms[f]).collect();
        matrix.clear();
        for (row, (slack, price)) in self.slacks.iter().zip(self.prices.iter()).enumerate() {
            matrix.add(row, row, slack / price);
        }
        for (claim, h) in claims.iter().zip(&stiffness) {
            for (at, (i, a)) in loads(claim).enumerate() {
                loads(claim).skip(at).for_each(|(j, b)| matrix.add(i.position(), j.position(), a * b / h));
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
        let pull = |flow: usize, prices: &dyn Fn(LinkId) -> f64| -> f64 {
            loads(&claims[flow]).map(|(link, share)| share * prices(link)).sum()
        };
        let force = |f: usize| 1.0 / self.rates[f] - pull(f, &|link| t / self.slacks[link]) - t / self.rooms[f];
        let forces: Vec<f64> = (0..claims.len()).map(force).collect();
        let mut y = IdVec::for_each_of(&self.slacks, 0.0);
        for (flow, claim) in claims.iter().enumerate() {
            let move_alone = forces[flow] / stiffness[flow];
            loads(claim).for_each(|(link, share)| y[link] += share * move_alone);
        }
        matrix.solve(&mut y);
        let rates: Vec<f64> =
            (0..claims.len()).map(|f| (forces[f] - pull(f, &|link| y[link])) / stiffness[f]).collect();
        let links = || self.slacks.ids();
        let toll = |f: usize| (t + self.tolls[f] * rates[f]) / self.rooms[f] - self.tolls[f];
        Step {
            slacks: links().map(|l| -self.slacks[l] / self.prices[l] * y[l]).collect(),
            prices: links().map(|l| t / self.slacks[l] + y[l] - self.prices[l]).collect(),
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
            slacks: plus(&self.slacks, &step.slacks, forth).into(),
            prices: plus(&self.prices, &step.prices, up).into(),
            rooms: plus(&self.rooms, &step.rates, -forth),
            tolls: plus(&self.tolls, &step.tolls, up),
        }
    }
}
