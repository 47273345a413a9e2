//! Rate limiters: what limits the rate of flows of a host.

use crate::ids::FlowId;
use crate::plan::{FlowPlan, LinkPlan, Plan, Traffic};
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

/// What the reaction point of a flow knows: base round-trip times are those of full packets, of its first path and of the
/// longest way of the network.
fn endpoint(plan: &Plan, flow: &FlowPlan) -> Endpoint {
    let line_rate = plan.ports[flow.paths[0][0] as usize].rate;
    let Traffic::Roce { config, .. } = &flow.traffic else { return Endpoint { mtu: flow.frame, ..line_rate.into() } };
    let links = |sum: Span, link: LinkPlan| sum + link.round_trip(flow.frame);
    let base_rtt = flow.paths[0].iter().map(|port| (&plan.ports[*port as usize]).into()).fold(Span::ZERO, links);
    let longest_rtt = plan.longest_way.iter().copied().fold(Span::ZERO, links).max(base_rtt);
    let hops = flow.paths[0].len() as u32 - 1;
    Endpoint { line_rate, base_rtt, longest_rtt, mtu: config.payload, hops }
}
