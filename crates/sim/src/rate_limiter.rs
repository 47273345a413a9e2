//! Rate limiters: what limits the rate of flows of a host.

use crate::ids::FlowId;
use crate::plan::{FlowPlan, Plan};
use qcnlab_schemes::driver::Limiter;
use qcnlab_schemes::{Dice, Purpose};
use qcnlab_units::Instant;
use std::collections::VecDeque;

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
}

impl RateLimiter {
    pub(crate) fn new(plan: &Plan, flow: &FlowPlan, id: FlowId, start: Instant) -> RateLimiter {
        let rp = plan.scheme.reaction_point(plan.ports[flow.paths[0][0] as usize].rate);
        let dice = Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Reaction);
        RateLimiter {
            driver: Limiter::new(rp, flow.frame, flow.burst, flow.rate_step, dice, start),
            last_flow: id,
            queue: VecDeque::new(),
            at_adapter: false,
        }
    }
}
