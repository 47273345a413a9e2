//! Senders: flows, the limiters they pass, and the adapter that serves them in turn.
//!
//! A flow that wants to send stands in line at its limiter, once. When the limiter
//! lets it go it stands in line at its adapter, and when the link is free the
//! adapter takes a frame from the first in line of the highest class: round robin
//! over flows. A flow that is alone on its host's link needs no line.

use crate::frame::{Frame, Parts, flag};
use crate::limiter::Limiter;
use crate::plan::{FlowPlan, Plan};
use crate::port::Port;
use crate::source::Source;
use crate::wheel::{Entity, Wheel};
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{Dice, Pacing, Purpose, ReactionPoint, RpFastPath, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant};
use std::collections::VecDeque;

/// What sends a flow's frames.
pub(crate) struct Sender {
    pub(crate) source: Source,
    pub(crate) stop: Instant,
    pub(crate) start: Instant,
    pub(crate) limiter: u32,
    /// The first port of the way.
    pub(crate) port: u32,
    /// The adapter that serves it, or [`NONE`](crate::port::NONE) when it is alone on its link.
    pub(crate) adapter: u32,
    pub(crate) first_path: u32,
    pub(crate) paths: u16,
    pub(crate) frame: u16,
    pub(crate) class: u8,
    flags: u8,
    /// Whether it stands in line.
    pub(crate) in_line: bool,
    /// Whether it lets frames go without an event for each.
    pub(crate) quiet: bool,
    /// Frames that may wait.
    pub(crate) room: u64,
    /// Draws the path of each frame where there are several.
    dice: Option<Box<Dice>>,
}

/// A limiter and the reaction point that sets it.
pub(crate) struct Reaction {
    pub(crate) rp: AnyRp,
    pub(crate) limiter: Limiter,
    pub(crate) dice: Dice,
    pub(crate) wake: Instant,
    /// It never limits: it need not be asked.
    deaf: bool,
    /// It was told of the frame that passed last, and may want another wake-up.
    told: bool,
    rate_step: u64,
    /// The flow whose frame passed last; at first, the first of its flows.
    pub(crate) flow: u32,
    /// Flows in line, and whether the first of them stands at the adapter.
    pub(crate) line: VecDeque<u32>,
    pub(crate) at_adapter: bool,
}

/// Serves the flows of a host in turn.
#[derive(Debug, Default)]
pub(crate) struct Adapter {
    pub(crate) port: u32,
    /// Flows it serves.
    pub(crate) flows: u32,
    lines: [VecDeque<u32>; 8],
    /// Classes with a flow in line.
    pub(crate) ready: u8,
}

impl Sender {
    pub(crate) fn new(plan: &Plan, flow: &FlowPlan, start: Instant, first_path: u32) -> Sender {
        let mut flags = 0;
        flags |= if flow.controlled { flag::CONTROLLED } else { 0 };
        flags |= if flow.cn_tag { flag::CN_TAGGED } else { 0 };
        let spread = flow.paths.len() > 1;
        let dice = || Box::new(Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Path));
        Sender {
            source: Source::new(flow, start),
            stop: flow.stop,
            start,
            limiter: flow.limiter,
            port: flow.paths[0][0],
            adapter: crate::port::NONE,
            first_path,
            paths: flow.paths.len() as u16,
            frame: u16::try_from(flow.frame.get()).expect("a frame has at most 65 535 octets"),
            class: flow.class,
            flags,
            in_line: false,
            quiet: false,
            room: flow.room.map_or(u64::MAX, |room| room.get() / flow.frame.get()),
            dice: spread.then(dice),
        }
    }

    /// When the flow starts, its jitter drawn.
    pub(crate) fn start(plan: &Plan, flow: &FlowPlan) -> Instant {
        let mut dice = Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Start);
        flow.start + flow.start_jitter.scaled_rounded_down(dice.uniform(0.0, 1.0))
    }

    /// When the next frame of a flow that is alone on its link goes: wanted, let go by the limiter, the link free.
    #[inline(always)]
    pub(crate) fn next_release(&self, now: Instant, reaction: &Reaction, port: &Port) -> Option<Instant> {
        let wanted = self.source.wanted(now, self.stop)?;
        Some(wanted.max(reaction.limiter.next()).max(port.busy_until()).max(now))
    }

    /// Takes a frame past the limiter.
    #[inline(always)]
    pub(crate) fn take_frame(&mut self, now: Instant, flow: u32, reaction: &mut Reaction) -> Frame {
        let (taken, segment) = self.source.take(now, self.frame);
        let size = Bytes::new(u64::from(taken.size));
        reaction.flow = flow;
        let stamp = if reaction.deaf { Stamp::default() } else { reaction.on_sent(now, size, taken.backlog) };
        let path = match &mut self.dice {
            None => self.first_path,
            Some(dice) => self.first_path + dice.below(u32::from(self.paths)),
        };
        let special = if stamp.probe { flag::SPECIAL } else { 0 };
        let carries = if segment.is_some() { flag::SEGMENT } else { 0 };
        Frame::new(Parts {
            path,
            size: taken.size,
            limited_by: stamp.limited_by.map_or(0, |cp| cp.0 as u16 + 1),
            class: self.class,
            tag: segment.unwrap_or(0),
            flags: self.flags | special | carries,
            hop: 0,
        })
    }
}

impl Reaction {
    pub(crate) fn new(plan: &Plan, flow: &FlowPlan, index: u32, start: Instant) -> Reaction {
        let rp = plan.scheme.reaction_point(plan.ports[flow.paths[0][0] as usize].rate);
        let mut pacing: Pacing = rp.pacing();
        pacing.burst = flow.burst.unwrap_or(pacing.burst);
        let mut reaction = Reaction {
            limiter: Limiter::new(flow.frame, pacing),
            dice: Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Reaction),
            wake: Instant::NEVER,
            deaf: !rp.capabilities().limits,
            told: false,
            rate_step: flow.rate_step.map_or(1, BitRate::get).max(1),
            flow: index,
            line: VecDeque::new(),
            at_adapter: false,
            rp,
        };
        reaction.limiter.set_rate(start, reaction.limit());
        reaction
    }

    /// A frame passes.
    #[inline(always)]
    fn on_sent(&mut self, now: Instant, size: Bytes, backlog: u64) -> Stamp {
        self.limiter.on_sent(now, size);
        let backlog = Bytes::new(backlog);
        self.told = !self.rp.count_only(size, backlog);
        if self.told { self.tell(now, size, backlog) } else { Stamp::default() }
    }

    /// Tells the reaction point of a frame.
    fn tell(&mut self, now: Instant, size: Bytes, backlog: Bytes) -> Stamp {
        let stamp = self.rp.on_sent(now, size, backlog, &mut self.dice);
        self.follow_limit(now);
        stamp
    }

    /// The rate the limiter is set to: the reaction point's, in whole steps.
    #[inline(always)]
    fn limit(&self) -> Option<BitRate> {
        let rate = self.rp.limit()?;
        if self.rate_step == 1 || rate == BitRate::ZERO {
            return Some(rate);
        }
        let steps = (rate.get() / self.rate_step).max(1);
        Some(BitRate::bps(steps * self.rate_step))
    }

    /// Carries the reaction point's rate over to the limiter; says whether it changed.
    #[inline(always)]
    pub(crate) fn follow_limit(&mut self, now: Instant) -> bool {
        let limit = self.limit();
        let changed = limit != self.limiter.rate();
        if changed {
            self.limiter.set_rate(now, limit);
        }
        changed
    }

    /// As [`follow_wake`](Reaction::follow_wake), after a frame has passed.
    #[inline(always)]
    pub(crate) fn follow_sent(&mut self, wheel: &mut Wheel, entity: Entity) {
        if self.told {
            self.follow_wake(wheel, entity);
        }
    }

    /// Keeps the wake-up in the wheel the one the reaction point asks for.
    #[inline]
    pub(crate) fn follow_wake(&mut self, wheel: &mut Wheel, entity: Entity) {
        if self.deaf {
            return;
        }
        let wake = self.rp.next_wake();
        if wake != self.wake {
            self.wake = wake;
            wheel.set(entity, wake.ps());
        }
    }
}

impl Adapter {
    pub(crate) fn new(port: u32) -> Adapter {
        Adapter { port, ..Adapter::default() }
    }

    pub(crate) fn push(&mut self, class: u8, flow: u32) {
        self.lines[usize::from(class)].push_back(flow);
        self.ready |= 1 << class;
    }

    /// The first in line of the highest of `classes`.
    pub(crate) fn pop(&mut self, classes: u8) -> Option<u32> {
        let class = (self.ready & classes).checked_ilog2()? as usize;
        let flow = self.lines[class].pop_front();
        if self.lines[class].is_empty() {
            self.ready &= !(1 << class);
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_class_goes_first_and_flows_in_turn() {
        let mut adapter = Adapter::new(0);
        for (class, flow) in [(0, 1), (0, 2), (5, 3), (0, 4)] {
            adapter.push(class, flow);
        }
        assert_eq!(adapter.pop(0b0001_1111), Some(1));
        let order: Vec<u32> = std::iter::from_fn(|| adapter.pop(0xff)).collect();
        assert_eq!(order, [3, 2, 4]);
        assert_eq!(adapter.ready, 0);
    }
}
