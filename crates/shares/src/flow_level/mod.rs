//! Flows that have so much to send and share links max-min fairly between one arrival or end and the next.

mod queue;

use crate::numbered::Numbered;
use crate::{ActiveShares, Claim};
use qcnlab_units::{Instant, Span};
use queue::{Event, Queue};
use std::collections::HashMap;

const PS: f64 = 1e12;
/// Events between two looks at whether to go on.
const POLL_EVERY: u64 = 256;

/// What a run is told of the flows of a network, which go by number.
pub trait FlowNetwork {
    /// Returns what a flow is. Asked when it starts.
    fn flow(&self, number: u32) -> FluidFlow;
}

/// A flow as it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct FluidFlow {
    /// The links it loads, and the most it wants.
    pub claim: Claim,
    /// What it sends, in the bits that `claim` counts.
    pub bits: f64,
    /// The time from its start until its sender knows that all has arrived, alone in the network.
    pub alone: Span,
    /// The part of it in which the sender is told; zero where nobody tells.
    pub back: Span,
}

/// A flow that starts when others have completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingFlow {
    /// Its number.
    pub flow: u32,
    /// What it waits for, each flow once, and where that has to be known.
    pub after: Vec<(u32, HeardAt)>,
    /// For each of these how long after it the flow may start; empty where it is at once.
    pub delays: Vec<Span>,
    /// Before that, and `delay` beyond, it does not start.
    pub not_before: Instant,
    /// From when the last of them is known to its start.
    pub delay: Span,
    /// From then on it does not start.
    pub until: Instant,
}

/// Where a flow's completion has to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeardAt {
    /// At its receiver.
    Receiver,
    /// At its sender.
    Sender,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// When it started; [`Instant::NEVER`] if it did not.
    pub started: Instant,
    /// When its last octet was there, and when its sender knew: maybe after the end of the run. [`Instant::NEVER`] if it
    /// still loaded its links at the end.
    pub received: Instant,
    /// See `received`.
    pub finished: Instant,
    /// The bits that its links had let through at the end of the run; of one that no longer loaded them, all.
    pub served_bits: f64,
}

/// A run without packets.
///
/// A flow loads its links from its start until its bits have gone over them at the rates that it had. It is complete when
/// that, and what it takes alone beyond the time for its bits on its slowest link, has passed: so a flow that nobody
/// disturbs takes what it takes alone.
///
/// At one instant ends come before completions, and these before starts, each in the order of numbers. Rates are worked
/// out once after all that happens at an instant.
pub struct FlowLevel<'a> {
    network: &'a dyn FlowNetwork,
    capacities_bps: Numbered<f64>,
    end: Instant,
    shares: ActiveShares,
    /// By the number that a flow has in `shares`.
    loads: Numbered<Load>,
    flows: Numbered<Passage>,
    queue: Queue,
    waiting: Numbered<WaitingFlow>,
    /// How many each still waits for.
    open: Numbered<usize>,
    /// For each flow that others wait for, who they are.
    waiters: HashMap<u32, Vec<(HeardAt, u32, Span)>>,
    ended: usize,
    events: u64,
}

/// A flow while it loads its links.
#[derive(Clone, Copy, Debug)]
struct Load {
    flow: u32,
    bits: f64,
    /// What is left of it at `at`, bits; from then on it has this rate, bit/s.
    left: f64,
    at: Instant,
    rate: f64,
    /// How often its rate has changed: an end that was foreseen before counts no more.
    changes: u32,
    /// What it takes alone, the part of that for its bits on its slowest link, and that in which its sender is told.
    alone: Span,
    on_links: Span,
    back: Span,
}

impl<'a> FlowLevel<'a> {
    /// A run up to `end`, over links of the capacities given (bit/s, by number), with a flow for each of `starts`. A flow
    /// in `waiting` starts when what it waits for is complete, and its delay has passed, whatever its entry in `starts`.
    /// `tolerance` is that of [`ActiveShares::new`].
    ///
    /// # Panics
    /// If there is a number of a flow that is not there.
    pub fn new(
        network: &'a dyn FlowNetwork,
        capacities_bps: Vec<f64>,
        starts: &[Instant],
        waiting: Vec<WaitingFlow>,
        end: Instant,
        tolerance: f64,
    ) -> FlowLevel<'a> {
        let never = Instant::NEVER;
        let passage = Passage { started: never, received: never, finished: never, served_bits: 0.0 };
        let mut waits = Numbered::from(vec![false; starts.len()]);
        let mut waiters: HashMap<u32, Vec<(HeardAt, u32, Span)>> = HashMap::new();
        for (number, each) in (0..).zip(&waiting) {
            waits[each.flow] = true;
            let delays = each.delays.iter().copied().chain(std::iter::repeat(Span::ZERO));
            for ((before, at), delay) in each.after.iter().zip(delays) {
                waiters.entry(*before).or_default().push((*at, number, delay));
            }
        }
        let free = (0..).zip(starts).filter(|(flow, _)| !waits[*flow]);
        FlowLevel {
            network,
            shares: ActiveShares::new(capacities_bps.clone(), tolerance),
            capacities_bps: capacities_bps.into(),
            end,
            loads: Numbered::default(),
            flows: vec![passage; starts.len()].into(),
            queue: Queue::new(free.map(|(flow, start)| (*start, flow)).collect()),
            open: waiting.iter().map(|each| each.after.len()).collect::<Vec<_>>().into(),
            waiting: waiting.into(),
            waiters,
            ended: 0,
            events: 0,
        }
    }

    /// Lets everything happen that is due before the end. `go_on` is told now and then how many flows have left their
    /// links, and ends the run by answering false; returns whether it came to its end.
    pub fn run(&mut self, go_on: &mut dyn FnMut(usize) -> bool) -> bool {
        let mut looked = 0;
        while let Some(now) = self.queue.next().filter(|now| *now < self.end) {
            while let Some(event) = self.queue.due(now) {
                self.happens(now, event);
            }
            self.share_anew(now);
            if self.events >= looked + POLL_EVERY {
                looked = self.events;
                if !go_on(self.ended) {
                    return false;
                }
            }
        }
        true
    }

    /// Returns what became of each flow.
    pub fn passages(&self) -> Vec<Passage> {
        let mut flows = self.flows.clone();
        for load in self.loads.iter() {
            let passage = &mut flows[load.flow];
            if passage.started != Instant::NEVER && passage.finished == Instant::NEVER {
                passage.served_bits = load.bits - load.left_at(self.end);
            }
        }
        flows.to_vec()
    }

    /// Whether flows still load links, or would start later.
    pub fn goes_on(&self) -> bool {
        let loads = |flow: &Passage| flow.started != Instant::NEVER && flow.finished == Instant::NEVER;
        self.queue.next().is_some() || self.flows.iter().any(loads)
    }

    /// Returns the number of starts, ends and completions that others waited for.
    pub const fn events(&self) -> u64 {
        self.events
    }

    fn happens(&mut self, now: Instant, event: Event) {
        match event {
            Event::End { slot, changes } if self.loads[slot].changes == changes => self.ends(now, slot),
            Event::End { .. } => return,
            Event::Complete { flow, at } => self.completes(now, flow, at),
            Event::Start { flow } => self.starts(now, flow),
        }
        self.events += 1;
    }

    fn starts(&mut self, now: Instant, flow: u32) {
        self.flows[flow].started = now;
        let FluidFlow { claim, bits, alone, back } = self.network.flow(flow);
        let most = |(link, share): &(u32, f64)| self.capacities_bps[*link] / share;
        let on_links = time_for(bits, claim.links.iter().map(most).fold(f64::INFINITY, f64::min));
        let slot = self.shares.add(claim);
        let load = Load { flow, bits, left: bits, at: now, rate: 0.0, changes: 0, alone, on_links, back };
        // An end that was foreseen for the flow that had the slot before does not count for this one.
        match slot == self.loads.len() as u32 {
            true => self.loads.push(load),
            false => self.loads[slot] = Load { changes: self.loads[slot].changes + 1, ..load },
        }
    }

    /// A flow loads its links no more: its last octets are on their way.
    fn ends(&mut self, now: Instant, slot: u32) {
        let load = &mut self.loads[slot];
        load.changes += 1;
        let Load { flow, bits, alone, on_links, back, .. } = *load;
        self.shares.remove(slot);
        let passage = &mut self.flows[flow];
        let took = (now.since(passage.started).ps() + alone.ps()).saturating_sub(on_links.ps());
        passage.finished = passage.started + Span::from_ps(took);
        passage.received = passage.started + Span::from_ps(took.saturating_sub(back.ps()));
        passage.served_bits = bits;
        if self.waiters.contains_key(&flow) {
            let Passage { received, finished, .. } = *passage;
            self.queue.push(received.max(now), Event::Complete { flow, at: HeardAt::Receiver });
            self.queue.push(finished.max(now), Event::Complete { flow, at: HeardAt::Sender });
        }
        self.ended += 1;
    }

    fn completes(&mut self, now: Instant, flow: u32, here: HeardAt) {
        for (at, number, delay) in self.waiters.get(&flow).into_iter().flatten() {
            let (open, each) = (&mut self.open[*number], &mut self.waiting[*number]);
            if *at != here {
                continue;
            }
            *open -= 1;
            each.not_before = each.not_before.max(now + *delay);
            let start = each.not_before + each.delay;
            if *open == 0 && start < each.until {
                self.queue.push(start, Event::Start { flow: each.flow });
            }
        }
    }

    /// Rates after all that happened at an instant, and when flows end with them.
    fn share_anew(&mut self, now: Instant) {
        self.shares.update();
        for slot in self.shares.changed() {
            let load = &mut self.loads[*slot];
            load.left = load.left_at(now);
            (load.at, load.rate) = (now, self.shares.rate_bps(*slot));
            load.changes += 1;
            if load.rate > 0.0 {
                let event = Event::End { slot: *slot, changes: load.changes };
                self.queue.push(now + time_for(load.left, load.rate), event);
            }
        }
    }
}

impl Load {
    fn left_at(&self, now: Instant) -> f64 {
        (self.left - self.rate * now.since(self.at).ps() as f64 / PS).max(0.0)
    }
}

/// The time for some bits at a rate in bit/s, rounded up to a picosecond, of which a thousandth is rounding.
fn time_for(bits: f64, rate: f64) -> Span {
    Span::from_ps((bits / rate * PS - 1e-3).ceil().max(0.0) as u64)
}
