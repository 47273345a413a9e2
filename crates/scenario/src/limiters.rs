//! Which rate limiter each flow goes through.

use super::resolved::ResolvedScenario;
use super::types::Scenario;
use qcnlab_network::topology::NodeId;
use qcnlab_sim::{FlowId, LimiterId};
use qcnlab_units::{Id, IdVec};
use std::collections::HashMap;

/// The limiter of each flow.
pub fn limiters(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<LimiterId> {
    let mut limiters = Limiters::default();
    (0..resolved.flows.len()).map(|flow| limiters.next(scenario, resolved, flow)).collect()
}

/// For each flow the limiter that hears a message without CN-TAG: the first of its host and priority. `None` where the
/// host has no reaction points for it.
pub fn untagged_limiters(scenario: &Scenario, resolved: &ResolvedScenario) -> IdVec<FlowId, Option<LimiterId>> {
    let mut first: HashMap<(NodeId, u8), LimiterId> = HashMap::new();
    let limiters = limiters(scenario, resolved);
    let each = resolved.flows.iter().zip(&limiters).enumerate().map(|(number, (flow, limiter))| {
        let of = (flow.source_index, resolved.class(scenario, flow));
        resolved.reacts(scenario, number).then(|| *first.entry(of).or_insert(*limiter))
    });
    each.collect()
}

/// Numbers limiters: each flow has its own, or flows take the limiters of the host's adapter in turn. In a domain each
/// priority has its own limiters, and flows whose frames leave without CN-TAG share one: nobody could tell several
/// apart.
#[derive(Default)]
struct Limiters {
    /// Flows of each host, and in a domain of each priority, so far.
    flows: HashMap<(NodeId, u8), u32>,
    ids: HashMap<(NodeId, u8, u32), LimiterId>,
}

impl Limiters {
    fn next(&mut self, scenario: &Scenario, resolved: &ResolvedScenario, number: usize) -> LimiterId {
        let spec = &resolved.flows[number];
        let host = spec.source_index;
        let class = if resolved.domain.is_some() { resolved.class(scenario, spec) } else { 0 };
        let flow = self.flows.entry((host, class)).or_insert(0);
        let most = resolved.adapter(scenario, host).and_then(|adapter| adapter.max_rps);
        let alike =
            resolved.domain.is_some() && resolved.reacts(scenario, number) && !resolved.cn_tagged(scenario, number);
        let slot = if alike { 0 } else { most.map_or(*flow, |most| *flow % most) };
        *flow += 1;
        let fresh = LimiterId::at(self.ids.len());
        *self.ids.entry((host, class, slot)).or_insert(fresh)
    }
}
