//! What can be run, but may not mean what its author thinks.

use super::drawing::Draw;
use super::resolved::ResolvedScenario;
use super::types::{Scenario, Traffic};

impl Scenario {
    /// Return what a reader of its results should know beforehand, a sentence or two each.
    pub fn warnings(&self) -> Vec<String> {
        let entries: Vec<usize> =
            (0..self.traffic.len()).filter(|entry| repairs_no_loss(&self.traffic[*entry])).collect();
        if entries.is_empty() {
            return Vec::new();
        }
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(resolved) = self.resolve(draw) else { unreachable!("a checked scenario can be resolved") };
        entries.into_iter().filter_map(|entry| loss_without_repair(self, &resolved, entry)).collect()
    }
}

/// Whether it has flows of a size whose frames nothing sends again.
fn repairs_no_loss(traffic: &Traffic) -> bool {
    traffic.kind.ends() && traffic.transport_headers().is_none()
}

/// Says of an entry that repairs no loss where on its flows' ways frames can be lost.
fn loss_without_repair(scenario: &Scenario, resolved: &ResolvedScenario, entry: usize) -> Option<String> {
    let flows = resolved.flows.iter().zip(&resolved.paths).filter(|(flow, _)| flow.traffic == entry);
    let mut lossy: Vec<u32> = flows.flat_map(|(_, paths)| paths.iter().flatten().copied()).collect();
    lossy.sort_unstable();
    lossy.dedup();
    lossy.retain(|port| loses(scenario, resolved, *port));
    let first = resolved.network.port_name(*lossy.first()?);
    let where_ = match lossy.len() {
        1 => first,
        2 => format!("{first} and one other port"),
        more => format!("{first} and {} other ports", more - 1),
    };
    Some(format!(
        "traffic.{entry} sends nothing again, and frames can be lost at {where_}: a flow that loses a frame never \
         finishes, and counts as unfinished; let TCP or RoCE carry its flows, take the limits off the buffers, or add [pause]"
    ))
}

/// Whether frames can be lost at a port: its queue or the memory of its node is limited, and the node never pauses.
fn loses(scenario: &Scenario, resolved: &ResolvedScenario, port: u32) -> bool {
    let (from, _) = resolved.network.ends(port);
    let memory = resolved.switch(scenario, from).and_then(|switch| switch.input_memory);
    let memory = memory.or_else(|| resolved.shared_size(scenario, from));
    let limited = resolved.capacity(scenario, port).is_some() || memory.is_some();
    limited && resolved.pauses[from as usize].is_none()
}
