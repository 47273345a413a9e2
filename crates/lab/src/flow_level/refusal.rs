//! What a run without packets cannot answer.

use crate::fabric::Fabric;
use crate::flow_level_fault::NoFlowLevel;
use qcnlab_scenario::Scenario;
use qcnlab_schemes::params::Variants;
use qcnlab_sim::Traffic;
use qcnlab_units::Id;

/// Refuses what a run without packets has no answer to.
pub(super) fn check(scenario: &Scenario, fabric: &Fabric) -> Result<(), NoFlowLevel> {
    let changing = [
        ("hotspot", !scenario.hotspots.is_empty()),
        ("failure", !scenario.failures.is_empty()),
        ("pause_storm", !scenario.pause_storms.is_empty()),
    ];
    if let Some((table, _)) = changing.into_iter().find(|(_, there)| *there) {
        return Err(NoFlowLevel::Changing { table });
    }
    if scenario.record.waits {
        return Err(NoFlowLevel::Waits);
    }
    if scenario.adapters.iter().any(|adapter| adapter.max_rps.is_some()) {
        return Err(NoFlowLevel::Limiters);
    }
    for (flow, entry) in fabric.flows.iter().zip(&fabric.entries) {
        let traffic = entry.position();
        if matches!(flow.traffic, Traffic::Tcp { .. }) {
            return Err(NoFlowLevel::Windows { traffic });
        }
        if flow.traffic.total().is_none() {
            return Err(NoFlowLevel::NoSize { traffic, arrivals: scenario.traffic[traffic].arrivals.word() });
        }
    }
    let mut classes = fabric.flows.iter().map(|flow| flow.class);
    let first = classes.next().unwrap_or(0);
    match classes.find(|class| *class != first) {
        Some(other) => Err(NoFlowLevel::Priorities(first, other)),
        None => Ok(()),
    }
}
