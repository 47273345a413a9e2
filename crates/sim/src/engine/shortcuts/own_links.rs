//! Senders that wait at their source while their link is paused.
//!
//! **When**: a flow is alone on its link and at its limiter, nothing watches, limits or counts the queue of its port, and the link
//! carries one class and can be paused. **Why the run is the same**: nothing but this flow's frames is ever at the port, and
//! which of them leaves when does not depend on where they wait. So the flow sends when the link is neither busy nor paused,
//! and no transmission needs an event for its end; the port's priority queues keep the state of its pauses, and no frame
//! waits there. **Switch**: [`Events::Everywhere`].

use super::super::network::Network;
use super::super::senders::{Outlet, Senders};
use super::{PortUse, has_own_link};
use crate::ids::{IdVec, PortId};
use crate::plan::{Events, Plan};

/// Finds the flows that have a link that can be paused to themselves, of those whose frames are not sent on demand.
pub(in crate::engine) fn choose(plan: &Plan, uses: &IdVec<PortId, PortUse>, network: &mut Network, senders: &Senders) {
    if plan.events == Events::Everywhere {
        return;
    }
    for (flow, own_limiter) in senders.flows().zip(senders.have_own_limiters()) {
        let id = senders.port(flow);
        if own_limiter && senders.outlet(flow) != Outlet::OnDemand && has_own_link(plan, uses, network, id) {
            network.carry_alone(id, flow);
        }
    }
}
