//! Rate limiters: what limits the rate of flows of a host.

use crate::ids::{FlowId, Id, IdVec, LimiterId, PortId};
use crate::plan::{FlowPlan, LinkPlan, Plan, Traffic};
use qcnlab_schemes::driver::{Limiter, LimiterCount};
use qcnlab_schemes::registry::{AnyNp, Config};
use qcnlab_schemes::{Dice, Endpoint, Purpose, ReactionPoint};
use qcnlab_units::{Instant, Span};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// Limits the rate of one or several flows of a host.
///
/// A flow with a frame to send waits in the limiter's queue, once. When the pacer allows, the first of the queue moves
/// on to its adapter.
pub(crate) struct RateLimiter {
    /// The reaction point and its pacer.
    pub(crate) driver: Limiter,
    /// The flow whose frame passed last; at first, the first of its flows.
    pub(crate) last_flow: FlowId,
    /// Flows that wait, and whether the first of them waits at its adapter.
    pub(crate) queue: VecDeque<FlowId>,
    pub(crate) at_adapter: bool,
    /// Signals on their way to it in control frames.
    pub(crate) signals: u32,
}

impl RateLimiter {
    /// Whether nothing waits for it, nothing is on its way to it in a frame, and its reaction point asks for no wake-up.
    pub(crate) fn is_silent(&self) -> bool {
        let waits = !self.queue.is_empty() || self.at_adapter;
        !waits
            && self.signals == 0
            && self.driver.wake == Instant::NEVER
            && self.driver.rp.next_wake() == Instant::NEVER
    }
}

/// What rate limiters are made of, beside the plans of their flows.
#[derive(Clone, Debug)]
pub(crate) struct Materials {
    scheme: Config,
    links: IdVec<PortId, LinkPlan>,
    longest_way: Vec<LinkPlan>,
    seed: u64,
    replication: u32,
}

impl Materials {
    pub(crate) fn of(plan: &Plan) -> Materials {
        Materials {
            scheme: plan.scheme.clone(),
            links: plan.ports.iter().map(LinkPlan::from).collect(),
            longest_way: plan.longest_way.clone(),
            seed: plan.seed,
            replication: plan.replication,
        }
    }

    /// The limiter whose first flow this is.
    pub(crate) fn limiter(&self, flow: &FlowPlan, id: FlowId) -> RateLimiter {
        let rp = self.scheme.reaction_point(self.endpoint(flow));
        let frame = flow.frame + rp.added_headers().data;
        let dice = Dice::new(self.seed, self.replication, &flow.name, Purpose::Reaction);
        RateLimiter {
            driver: Limiter::new(rp, frame, flow.burst, flow.rate_step, dice, self.start(flow)),
            last_flow: id,
            queue: VecDeque::new(),
            at_adapter: false,
            signals: 0,
        }
    }

    /// The notification point of a flow, if the scheme has some.
    pub(crate) fn notification_point(&self) -> Option<AnyNp> {
        self.scheme.notification_point()
    }

    /// When a flow starts, its jitter drawn; of one that waits for others, how long after them.
    pub(crate) fn start(&self, flow: &FlowPlan) -> Instant {
        let mut dice = Dice::new(self.seed, self.replication, &flow.name, Purpose::Start);
        flow.start + flow.start_jitter.scaled_rounded_down(dice.uniform(0.0, 1.0))
    }

    /// What the reaction point of a flow knows: base round-trip times are those of full packets, of its first path and of
    /// the longest way of the network.
    pub(crate) fn endpoint(&self, flow: &FlowPlan) -> Endpoint {
        let line_rate = self.links[flow.paths[0][0]].rate;
        let Traffic::Roce { config, .. } = &flow.traffic else {
            return Endpoint { mtu: flow.frame, ..line_rate.into() };
        };
        let links = |sum: Span, link: LinkPlan| sum + link.round_trip(flow.frame);
        let base_rtt = flow.paths[0].iter().map(|port| self.links[*port]).fold(Span::ZERO, links);
        let longest_rtt = self.longest_way.iter().copied().fold(Span::ZERO, links).max(base_rtt);
        let hops = flow.paths[0].len() as u32 - 1;
        Endpoint { line_rate, base_rtt, longest_rtt, mtu: config.payload, hops }
    }
}

/// The rate limiters of a run. That of a message need not be there before it begins, nor for ever after it has ended.
#[derive(Default)]
pub(crate) struct RateLimiters {
    live: IdVec<LimiterId, Option<Box<RateLimiter>>>,
    /// What is known of each that is not there; empty if all are.
    absent: IdVec<LimiterId, Absent>,
    /// What those have counted that have ended and have counted something.
    ended: Vec<LimiterCount>,
}

/// A rate limiter that is not there.
#[derive(Clone, Copy)]
enum Absent {
    /// It is made when its only flow begins, which is this one.
    Planned(FlowId),
    /// It is over and has counted nothing.
    Idle,
    /// Nothing can change any more what it has counted: its position among those that have ended.
    Ended(u32),
}

impl RateLimiters {
    /// None, with room for so many.
    pub(crate) fn with_room(limiters: usize) -> RateLimiters {
        let mut all = RateLimiters::default();
        all.live.reserve(limiters);
        all
    }

    pub(crate) fn push(&mut self, limiter: RateLimiter) {
        if !self.absent.is_empty() {
            self.absent.push(Absent::Planned(limiter.last_flow));
        }
        self.live.push(Some(Box::new(limiter)));
    }

    /// Adds the limiter of a flow that has not begun.
    pub(crate) fn push_planned(&mut self, flow: FlowId) {
        if self.absent.is_empty() {
            let those_before = self.live.iter().flatten().map(|limiter| Absent::Planned(limiter.last_flow));
            self.absent = those_before.collect();
        }
        self.absent.push(Absent::Planned(flow));
        self.live.push(None);
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// The id of the next one that is added.
    pub(crate) fn next_id(&self) -> LimiterId {
        self.live.next_id()
    }

    /// Those that are there.
    pub(crate) fn live(&self) -> impl Iterator<Item = &RateLimiter> {
        self.live.iter().flatten().map(|limiter| &**limiter)
    }

    /// The first flow of a limiter, while none has begun.
    pub(crate) fn first_flow(&self, id: LimiterId) -> FlowId {
        match (self.get(id), self.absent.get(id)) {
            (Some(limiter), _) => limiter.last_flow,
            (None, Some(Absent::Planned(flow))) => *flow,
            (None, Some(Absent::Idle | Absent::Ended(_)) | None) => not_there(id),
        }
    }

    /// A limiter, if it is there.
    #[inline(always)]
    pub(crate) fn get(&self, id: LimiterId) -> Option<&RateLimiter> {
        self.live[id].as_deref()
    }

    /// The flow of a limiter begins: makes it, if it is not there.
    pub(crate) fn begin(&mut self, id: LimiterId, made: impl FnOnce() -> RateLimiter) {
        if self.live[id].is_none() {
            self.live[id] = Some(Box::new(made()));
        }
    }

    /// Keeps of a limiter only what it has counted.
    pub(crate) fn end(&mut self, id: LimiterId) {
        if let Some(limiter) = self.live[id].take() {
            let count = limiter.driver.count();
            self.absent[id] = match count.is_nothing() {
                true => Absent::Idle,
                false => Absent::Ended(self.ended.len() as u32),
            };
            self.ended.extend((!count.is_nothing()).then_some(count));
        }
    }

    /// What each has counted; `made` makes one whose flow has not begun.
    pub(crate) fn counts(&self, made: impl Fn(FlowId) -> RateLimiter) -> impl Iterator<Item = LimiterCount> {
        self.live.enumerate().map(move |(id, limiter)| match (limiter, self.absent.get(id)) {
            (Some(limiter), _) => limiter.driver.count(),
            (None, Some(Absent::Planned(flow))) => made(*flow).driver.count(),
            (None, Some(Absent::Idle)) => LimiterCount::default(),
            (None, Some(Absent::Ended(number))) => self.ended[*number as usize],
            (None, None) => not_there(id),
        })
    }
}

impl Index<LimiterId> for RateLimiters {
    type Output = RateLimiter;

    #[inline(always)]
    fn index(&self, id: LimiterId) -> &RateLimiter {
        match &self.live[id] {
            Some(limiter) => limiter,
            None => not_there(id),
        }
    }
}

impl IndexMut<LimiterId> for RateLimiters {
    #[inline(always)]
    fn index_mut(&mut self, id: LimiterId) -> &mut RateLimiter {
        match &mut self.live[id] {
            Some(limiter) => limiter,
            None => not_there(id),
        }
    }
}

#[cold]
#[inline(never)]
fn not_there(id: LimiterId) -> ! {
    unreachable!("limiter {} is used before its flow begins, or after it has ended", id.number())
}
