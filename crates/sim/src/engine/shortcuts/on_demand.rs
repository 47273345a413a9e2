//! Senders whose frames are sent on demand.
//!
//! **When**: a flow is alone on its link and at its limiter, it has frames by itself, nothing watches, limits, records or
//! counts the queue of its port, and its reaction point may be told late of what passed. **Why the run is the same**: what it
//! sends follows from what it knew at the last signal. Its frames are sent when somebody needs to know: when the oldest of
//! them reaches the far end, and before a signal, a timer or a change of the link takes effect. Each still leaves at its own
//! time. The link's one event stands for the next arrival, of a frame that need not have been sent yet. **Switch**:
//! [`Events::Everywhere`].

use super::super::hosts::Hosts;
use super::super::network::Network;
use super::super::schedule::{Event, Schedule};
use super::super::senders::{Outlet, Senders};
use super::{PortUse, has_own_link};
use crate::frame::Frame;
use crate::ids::{FlowId, IdVec, LimiterId, PortId};
use crate::plan::{Events, Plan};
use qcnlab_units::Instant;

/// Finds the flows whose frames are sent on demand.
pub(in crate::engine) fn choose(
    plan: &Plan,
    uses: &IdVec<PortId, PortUse>,
    network: &mut Network,
    senders: &mut Senders,
) {
    if plan.events == Events::Everywhere {
        return;
    }
    for (flow, own_limiter) in senders.flows().zip(senders.have_own_limiters()) {
        let id = senders.port(flow);
        let recorded = plan.ports[id].recorded;
        if own_limiter && !recorded && has_own_link(plan, uses, network, id) && senders.may_send_on_demand(flow) {
            senders.send_on_demand(flow);
            network.carry_on_demand(id, flow);
        }
    }
}

impl Hosts<'_> {
    /// Sends what a flow has to send on demand before `until`.
    pub(in crate::engine) fn send_on_demand(&mut self, until: Instant, flow: FlowId) {
        let Hosts { network, senders, recording, schedule } = self;
        let port = network.port_on_demand(senders.port(flow));
        while let Some(at) = senders.next_on_demand(flow, port).filter(|at| *at < until) {
            let frame = senders.pass_plain(at, flow, schedule, |each| recording.on_refusal(each));
            recording.on_sent(flow, frame.octets());
            port.enqueue_plain(at, frame);
        }
    }

    /// The frame that arrives now over an empty link, when it left the port, and whether the far end has admitted it without
    /// a look; sets the event for the next.
    #[inline(always)]
    pub(in crate::engine) fn cross_empty_link(self, now: Instant, id: PortId, flow: FlowId) -> (Frame, u64, bool) {
        let Hosts { network, senders, recording, schedule } = self;
        let port = network.port_on_demand(id);
        let (mut frame, next) = senders.cross_empty_link(now, flow, port, schedule, |each| recording.on_refusal(each));
        recording.on_sent(flow, frame.octets());
        match next {
            Some(next) => schedule.set(Event::Arrival(id), next),
            None => schedule.cancel(Event::Arrival(id)),
        }
        let left = now.ps() - port.delay().ps();
        let admitted = port.admit_by_allowance(&mut frame);
        (frame, left, admitted)
    }

    /// As [`send_on_demand`](Hosts::send_on_demand), of the flow at a limiter, if it is one that does so.
    #[inline(always)]
    pub(in crate::engine) fn update_limiter(&mut self, until: Instant, limiter: LimiterId) {
        let flow = self.senders.last_flow(limiter);
        if self.senders.outlet(flow) == Outlet::OnDemand {
            self.send_on_demand(until, flow);
        }
    }

    /// As [`send_on_demand`](Hosts::send_on_demand), of all flows that do so.
    pub(in crate::engine) fn update_senders(&mut self, until: Instant) {
        for flow in self.senders.flows() {
            if self.senders.outlet(flow) == Outlet::OnDemand {
                self.send_on_demand(until, flow);
            }
        }
    }

    /// Sets the event for the next arrival of a flow's frames over its link.
    #[inline(always)]
    pub(in crate::engine) fn schedule_on_demand(self, flow: FlowId) {
        schedule_next(flow, self.network, self.senders, self.schedule);
    }
}

#[inline(never)]
fn schedule_next(flow: FlowId, network: &mut Network, senders: &Senders, schedule: &mut Schedule) {
    let id = senders.port(flow);
    let port = network.port_on_demand(id);
    match port.next_arrival().or_else(|| senders.next_over_empty_link(flow, port)) {
        Some(at) => schedule.set(Event::Arrival(id), at),
        None => schedule.cancel(Event::Arrival(id)),
    }
}
