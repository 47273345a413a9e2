//! Progressive filling: all rates rise together, and a flow stops at its ceiling or when the first of its links is full
//! (Bertsekas and Gallager, *Data Networks*, 6.5.2). Of all flows at once, or of some beside others that keep their rates.

use crate::numbered::Numbered;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The flows whose rates rise.
pub(crate) trait Rising {
    /// Whether a flow still rises.
    fn rises(&self, flow: u32) -> bool;
    /// The links of a flow, and how much of its rate each one carries.
    fn links(&self, flow: u32) -> &[(u32, f64)];
    /// The flow at a position on a link, from 0; `None` behind the last.
    fn on(&self, link: u32, position: usize) -> Option<u32>;
    /// A flow stops at a rate, and what stops it.
    fn stop(&mut self, flow: u32, rate: f64, holder: Holder);
}

/// What stops a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holder {
    Ceiling(u32),
    Link(u32),
}

/// A level at which flows stop to rise, at least 0. Of equal levels ceilings come before links, each by number: as one
/// number, because all of the time goes into the heap that they are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stop(u128);

const OF_LINK: u64 = 1 << 32;

impl Stop {
    fn new(level: f64, holder: Holder) -> Stop {
        let holder = match holder {
            Holder::Ceiling(flow) => u64::from(flow),
            Holder::Link(link) => OF_LINK | u64::from(link),
        };
        // The bits of numbers from 0 on are in the order of the numbers; adding 0 makes one of -0.
        Stop(u128::from((level + 0.0).to_bits()) << 64 | u128::from(holder))
    }

    fn level(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    fn holder(self) -> Holder {
        let holder = self.0 as u64;
        if holder & OF_LINK == 0 { Holder::Ceiling(holder as u32) } else { Holder::Link(holder as u32) }
    }
}

/// What links have left while rates rise. A link is opened, the flows that rise on it enter, and all are filled; then
/// it can be opened again.
#[derive(Debug)]
pub(crate) struct Filling {
    /// What each link has left for the flows that still rise,
    left: Numbered<f64>,
    /// the sum of their parts on it,
    parts: Numbered<f64>,
    /// and their number.
    open: Numbered<u32>,
    stops: BinaryHeap<Reverse<Stop>>,
}

impl Filling {
    pub(crate) fn new(links: usize) -> Filling {
        Filling {
            left: vec![0.0; links].into(),
            parts: vec![0.0; links].into(),
            open: vec![0; links].into(),
            stops: BinaryHeap::new(),
        }
    }

    /// Opens a link, with what it has left for those that rise.
    pub(crate) fn open(&mut self, link: u32, left: f64) {
        (self.left[link], self.parts[link], self.open[link]) = (left, 0.0, 0);
    }

    /// A flow enters its links, which are open.
    pub(crate) fn enter(&mut self, flow: u32, links: &[(u32, f64)], ceiling: f64) {
        for (link, share) in links {
            self.parts[*link] += share;
            self.open[*link] += 1;
        }
        if ceiling.is_finite() {
            self.stops.push(Reverse(Stop::new(ceiling, Holder::Ceiling(flow))));
        }
    }

    /// All flows have entered: lets them rise over `links` until each is stopped.
    pub(crate) fn fill(&mut self, links: impl Iterator<Item = u32>, flows: &mut impl Rising) {
        for link in links.filter(|link| self.open[*link] > 0).collect::<Vec<_>>() {
            self.stops.push(Reverse(Stop::new(self.level(link), Holder::Link(link))));
        }
        while let Some(Reverse(stop)) = self.stops.pop() {
            match stop.holder() {
                Holder::Ceiling(flow) => self.stop(flow, stop, flows),
                Holder::Link(link) if self.open[link] == 0 => {}
                Holder::Link(link) => {
                    let level = self.level(link);
                    if level > stop.level() {
                        self.stops.push(Reverse(Stop::new(level, stop.holder())));
                        continue;
                    }
                    let mut position = 0;
                    while let Some(flow) = flows.on(link, position) {
                        self.stop(flow, stop, flows);
                        position += 1;
                    }
                }
            }
        }
    }

    /// The rate at which a link is full.
    fn level(&self, link: u32) -> f64 {
        (self.left[link] / self.parts[link]).max(0.0)
    }

    fn stop(&mut self, flow: u32, at: Stop, flows: &mut impl Rising) {
        if !flows.rises(flow) {
            return;
        }
        for (link, share) in flows.links(flow) {
            let link = *link;
            self.left[link] -= share * at.level();
            self.parts[link] -= share;
            self.open[link] -= 1;
        }
        flows.stop(flow, at.level(), at.holder());
    }
}
