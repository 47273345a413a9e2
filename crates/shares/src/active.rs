//! Max-min shares of flows that come and go.
//!
//! After a change only those flows are filled anew whose share it may reach. Rates are max-min fair if no link is
//! overfull and each flow is held by a bottleneck: a link that is full and gives no flow more, or its own ceiling. So
//! the flows that came, and those that were held by a link where one came or went, rise anew beside all others, which
//! keep their rates. Then the links that they cross are looked at. A flow that kept its rate joins those that rise if
//! the link that held it no longer does, or if it has more than flows that are held by a full link which both cross.
//! When nobody joins, every flow has a bottleneck: the rates are those of [`max_min_rates`](crate::max_min_rates) over all.
//!
//! In a loaded network every flow reaches every other through bottlenecks that they share, and a change is felt by all,
//! by most of them a little. So there is a tolerance: a flow keeps its rate while the link that holds it is full, and its
//! rate is the highest there, but for so small a part. No link is ever overfull, and shares where a flow came or went are
//! worked out in any case.

use crate::Claim;
use crate::filling::{Filling, Holder, Rising};
use crate::numbered::Numbered;

/// The bottleneck of a flow that its ceiling holds, or that has no rate yet.
const NONE: u32 = u32::MAX;

/// Flows that share links, of which some come and some go.
#[derive(Debug)]
pub struct ActiveShares {
    capacities_bps: Numbered<f64>,
    tolerance: f64,
    flows: Flows,
    /// Places of flows that have gone.
    free: Vec<u32>,
    /// Flows that came, and links where one came or went, since rates were last worked out.
    came: Vec<u32>,
    touched: Vec<u32>,
    filling: Filling,
    /// Links of the flows that rise; `marks` has the round in which each was last added.
    links: Vec<u32>,
    marks: Numbered<u32>,
    round: u32,
    rising: Vec<u32>,
    changed: Vec<u32>,
    filled: u64,
}

#[derive(Debug, Default)]
struct Flows {
    all: Numbered<ActiveFlow>,
    /// The flows on each link: the flow, and which of its links this is.
    members: Numbered<Numbered<(u32, u32)>>,
}

#[derive(Clone, Debug)]
struct ActiveFlow {
    links: Numbered<(u32, f64)>,
    /// Its position among the members of each of them.
    positions: Numbered<u32>,
    ceiling: f64,
    rate: f64,
    bottleneck: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Keeps its rate and its bottleneck.
    Keeps,
    /// Rises, and has not stopped.
    Rises,
    /// Has risen to this rate, where this link, or its ceiling, stopped it.
    Stopped(f64, u32),
}

impl ActiveFlow {
    /// Its rate and its bottleneck, as they are now or have risen to.
    fn now(&self) -> (f64, u32) {
        match self.state {
            State::Stopped(rate, bottleneck) => (rate, bottleneck),
            State::Keeps | State::Rises => (self.rate, self.bottleneck),
        }
    }
}

impl Rising for Flows {
    fn rises(&self, flow: u32) -> bool {
        self.all[flow].state == State::Rises
    }

    fn links(&self, flow: u32) -> &[(u32, f64)] {
        &self.all[flow].links
    }

    fn on(&self, link: u32, position: usize) -> Option<u32> {
        self.members[link].get(position).map(|(flow, _)| *flow)
    }

    fn stop(&mut self, flow: u32, rate: f64, holder: Holder) {
        let bottleneck = match holder {
            Holder::Link(link) => link,
            Holder::Ceiling(_) => NONE,
        };
        self.all[flow].state = State::Stopped(rate, bottleneck);
    }
}

impl ActiveShares {
    /// Shares that are exact but for the rounding of numbers.
    pub const EXACT: f64 = 1e-9;

    /// No flows yet, over links of the capacities given (bit/s, by number). By up to a part `tolerance` a flow's rate may
    /// stay below others at the link that holds it, and that link below its capacity; [`Self::EXACT`] for neither.
    ///
    /// # Panics
    /// Unless the tolerance is above 0 and below 1.
    pub fn new(capacities_bps: Vec<f64>, tolerance: f64) -> ActiveShares {
        assert!(tolerance > 0.0 && tolerance < 1.0, "a tolerance is a part");
        let links = capacities_bps.len();
        ActiveShares {
            capacities_bps: capacities_bps.into(),
            tolerance,
            flows: Flows { all: Numbered::default(), members: vec![Numbered::default(); links].into() },
            free: Vec::new(),
            came: Vec::new(),
            touched: Vec::new(),
            filling: Filling::new(links),
            links: Vec::new(),
            marks: vec![0; links].into(),
            round: 0,
            rising: Vec::new(),
            changed: Vec::new(),
            filled: 0,
        }
    }

    /// A flow comes; returns its number, which is free again when it has gone. It has no rate before
    /// [`Self::update`].
    ///
    /// # Panics
    /// If it crosses a link that is not there, or none and has no ceiling.
    pub fn add(&mut self, claim: Claim) -> u32 {
        assert!(!claim.links.is_empty() || claim.ceiling_bps.is_some(), "a flow has a limit");
        let flow = self.free.pop().unwrap_or(self.flows.all.len() as u32);
        let mut positions = Numbered::default();
        for (which, (link, _)) in (0..).zip(&claim.links) {
            let members = &mut self.flows.members[*link];
            positions.push(members.len() as u32);
            members.push((flow, which));
            self.touched.push(*link);
        }
        let ceiling = claim.ceiling();
        let came = ActiveFlow {
            links: claim.links.into(),
            positions,
            ceiling,
            rate: 0.0,
            bottleneck: NONE,
            state: State::Keeps,
        };
        match flow == self.flows.all.len() as u32 {
            true => self.flows.all.push(came),
            false => self.flows.all[flow] = came,
        }
        self.came.push(flow);
        flow
    }

    /// A flow goes.
    ///
    /// # Panics
    /// If there is none of this number.
    pub fn remove(&mut self, flow: u32) {
        let gone = &mut self.flows.all[flow];
        let (links, positions) = (std::mem::take(&mut gone.links), std::mem::take(&mut gone.positions));
        (gone.rate, gone.bottleneck) = (0.0, NONE);
        self.came.retain(|came| *came != flow);
        for ((link, _), position) in links.iter().zip(positions.iter().copied()) {
            let members = &mut self.flows.members[*link];
            members.swap_remove(position as usize);
            if position < members.len() as u32 {
                let (moved, which) = members[position];
                self.flows.all[moved].positions[which] = position;
            }
            self.touched.push(*link);
        }
        self.free.push(flow);
    }

    /// Works out the rates after the changes since the last call; returns the flows whose rate is another, those that
    /// came among them.
    pub fn update(&mut self) -> &[u32] {
        self.changed.clear();
        self.choose();
        while !self.rising.is_empty() {
            self.fill();
            let before = self.rising.len();
            self.join();
            if self.rising.len() == before {
                break;
            }
        }
        for flow in self.rising.drain(..) {
            let each = &mut self.flows.all[flow];
            let (rate, bottleneck) = each.now();
            each.state = State::Keeps;
            if rate != each.rate {
                self.changed.push(flow);
            }
            (each.rate, each.bottleneck) = (rate, bottleneck);
        }
        &self.changed
    }

    /// Returns what the last [`Self::update`] returned.
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// Returns the rate of a flow after the last update, bit/s.
    ///
    /// # Panics
    /// If there is no flow of this number.
    pub fn rate_bps(&self, flow: u32) -> f64 {
        self.flows.all[flow].rate
    }

    /// Returns how many rates have been worked out so far, those of repeated rounds included.
    pub const fn filled(&self) -> u64 {
        self.filled
    }

    /// The flows that rise first: those that came, and those held by a link where one came or went.
    fn choose(&mut self) {
        self.rising.append(&mut self.came);
        for flow in &self.rising {
            self.flows.all[*flow].state = State::Rises;
        }
        for link in self.touched.drain(..) {
            for position in 0..self.flows.members[link].len() as u32 {
                let (flow, _) = self.flows.members[link][position];
                let each = &mut self.flows.all[flow];
                if each.state == State::Keeps && each.bottleneck == link {
                    each.state = State::Rises;
                    self.rising.push(flow);
                }
            }
        }
    }

    /// Fills the flows that rise beside the others.
    fn fill(&mut self) {
        self.round += 1;
        self.links.clear();
        for flow in &self.rising {
            self.flows.all[*flow].state = State::Rises;
            for (link, _) in self.flows.all[*flow].links.iter() {
                if std::mem::replace(&mut self.marks[*link], self.round) != self.round {
                    self.links.push(*link);
                }
            }
        }
        for link in &self.links {
            let mut left = self.capacities_bps[*link];
            for (flow, which) in self.flows.members[*link].iter() {
                let each = &self.flows.all[*flow];
                if each.state == State::Keeps {
                    left -= each.links[*which].1 * each.rate;
                }
            }
            self.filling.open(*link, left.max(0.0));
        }
        for flow in &self.rising {
            let each = &self.flows.all[*flow];
            self.filling.enter(*flow, &each.links, each.ceiling);
        }
        self.filled += self.rising.len() as u64;
        self.filling.fill(self.links.iter().copied(), &mut self.flows);
    }

    /// Flows that kept their rates join those that rise, where a link that these cross says so.
    fn join(&mut self) {
        for link in &self.links {
            let (mut load, mut most, mut level) = (0.0, 0.0, f64::INFINITY);
            for (flow, which) in self.flows.members[*link].iter() {
                let each = &self.flows.all[*flow];
                let (rate, bottleneck) = each.now();
                load += each.links[*which].1 * rate;
                most = f64::max(most, rate);
                if bottleneck == *link && matches!(each.state, State::Stopped(..)) {
                    level = rate;
                }
            }
            let full = load >= self.capacities_bps[*link] * (1.0 - self.tolerance);
            for (flow, _) in self.flows.members[*link].iter() {
                let each = &mut self.flows.all[*flow];
                if each.state != State::Keeps {
                    continue;
                }
                let freed = each.bottleneck == *link && (!full || each.rate < most * (1.0 - self.tolerance));
                if freed || each.rate > level * (1.0 + self.tolerance) {
                    each.state = State::Rises;
                    self.rising.push(*flow);
                }
            }
        }
    }
}
