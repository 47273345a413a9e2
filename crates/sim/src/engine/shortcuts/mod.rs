//! Shortcuts for speed: what needs no event is computed when somebody needs to know.
//!
//! Each has a file with the condition under which it is taken and the reason why the run is the same. Those that work on the
//! network alone (`allowances`, `computed_departures`, `ignored_departures`) are modules of that. All are left out where
//! a plan wants [events everywhere](crate::plan::Events::Everywhere); a property test over random fabrics holds one way
//! against the other.

pub(super) mod counting_sinks;
pub(super) mod on_demand;
pub(super) mod own_links;

use super::network::Network;
use crate::ids::{FlowId, IdVec, PortId};
use crate::plan::{Feedback, Plan};
use std::collections::HashMap;

/// Who uses a port.
#[derive(Clone, Default)]
pub(super) struct PortUse {
    /// Flows that pass it.
    flows: u32,
    /// It is the last of every path it is on; nobody answers segments behind it.
    only_last: bool,
    /// Something other than data may pass it: signals, acknowledgements, probes; or it may fail or be
    /// paused.
    pub(super) by_others: bool,
}

pub(super) fn uses(plan: &Plan) -> IdVec<PortId, PortUse> {
    let mut uses = IdVec::for_each_of(&plan.ports, PortUse { only_last: true, ..PortUse::default() });
    let signals = plan.signal_class() != 0;
    let probes = plan.feedback != Feedback::Ideal && plan.sends_probes();
    let mut later: HashMap<FlowId, Vec<PortId>> = HashMap::new();
    for each in &plan.reroutes {
        later.entry(each.flow).or_default().extend(each.paths.iter().flatten());
    }
    for (number, flow) in plan.flows.enumerate() {
        let acknowledged = flow.traffic.acknowledged();
        let others = later.get(&number).into_iter().flatten();
        let mut ports: Vec<PortId> = flow.paths.iter().flatten().chain(others).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        let last = flow.paths[0][flow.paths[0].len() - 1];
        for number in ports {
            let used = &mut uses[number];
            used.flows += 1;
            used.only_last &= number == last && !acknowledged;
            used.by_others |= probes;
            if let Some(peer) = plan.ports[number].peer.filter(|_| signals || acknowledged) {
                uses[peer].by_others = true;
            }
        }
    }
    let fail_or_storm = plan.failing_ports().into_iter().zip(plan.storming_ports());
    for (used, (fails, storms)) in uses.iter_mut().zip(fail_or_storm) {
        used.by_others |= fails || storms;
    }
    uses
}

/// Whether one flow alone has a link to itself, and nothing watches, limits or counts the queue of its port.
fn has_own_link(plan: &Plan, uses: &IdVec<PortId, PortUse>, network: &Network, id: PortId) -> bool {
    let planned = &plan.ports[id];
    let used = &uses[id];
    used.flows == 1
        && !used.by_others
        && planned.capacity.is_none()
        && !network.has_cp(id)
        && !plan.nodes[planned.from].counts()
}
