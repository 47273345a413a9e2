//! Rate limiters: what limits the rate of flows of a host.

use crate::ids::FlowId;
use crate::plan::{FlowPlan, Plan, Traffic};
use qcnlab_schemes::driver::Limiter;
use qcnlab_schemes::{Dice, Endpoint, Purpose, ReactionPoint};
use qcnlab_units::{Instant, Span};
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
        let rp = plan.scheme.reaction_point(endpoint(plan, flow));
        let frame = flow.frame + rp.added_headers().data;
        let dice = Dice::new(plan.seed, plan.replication, &flow.name, Purpose::Reaction);
        RateLimiter {
            driver: Limiter::new(rp, frame, flow.burst, flow.rate_step, dice, start),
            last_flow: id,
            queue: VecDeque::new(),
            at_adapter: false,
        }
    }
}

/// What the reaction point of a flow knows: its base round-trip time is twice the delay of its first path, and what a full
/// packet takes on each link; the acknowledgement counts for nothing, as in HPCC's simulator.
fn endpoint(plan: &Plan, flow: &FlowPlan) -> Endpoint {
    let line_rate = plan.ports[flow.paths[0][0] as usize].rate;
    let Traffic::Roce { config, .. } = &flow.traffic else { return Endpoint { mtu: flow.frame, ..line_rate.into() } };
    let base_rtt = flow.paths[0].iter().fold(Span::ZERO, |rtt, port| {
        let port = &plan.ports[*port as usize];
        let delay = port.delay + port.latency;
        rtt + delay + delay + port.rate.time_for_rounded_up(flow.frame + port.overhead)
    });
    Endpoint { line_rate, base_rtt, mtu: config.payload }
}
