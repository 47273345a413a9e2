//! Which port is judged: its interface, the links that lead to it, its CPID, and what the capture lacks of its frames.

use super::queue::PortQueue;
use crate::error::ConformError;
use crate::input::Survey;
use crate::sequence::Loss;
use crate::tolerances::ConformOptions;
use qcnlab_capture::InterfaceId;
use qcnlab_units::Span;
use qcnlab_wire::{Cpid, MacAddress};
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) struct PortLinks {
    /// The port whose queue it is.
    pub(super) port: InterfaceId,
    /// Delay of each interface over which frames come.
    pub(super) inputs: HashMap<InterfaceId, i64>,
    /// Whether frames were captured as they came in at the node, and not as they were sent to it.
    pub(super) received: bool,
    pub(super) destinations: HashSet<MacAddress>,
    /// Addresses of frames that leave over other links.
    pub(super) elsewhere: HashSet<MacAddress>,
}

/// CNMs of one CPID: who sent the first of them, in which frame, and how many there are.
#[derive(Clone, Copy)]
pub(super) struct SeenCpid {
    pub(super) source: MacAddress,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// The port, and the interfaces from which frames come to it.
pub(super) fn ports(survey: &Survey, options: &ConformOptions) -> Result<PortLinks, ConformError> {
    let port = match &options.interface {
        Some(name) => survey.called(name)?,
        None => {
            let mut sampled: Vec<InterfaceId> =
                survey.sampled_at.iter().filter_map(|name| survey.called(name).ok()).collect();
            if sampled.is_empty() {
                sampled = survey.congested();
            }
            if sampled.is_empty() {
                sampled = survey.cnms_at.keys().copied().collect();
            }
            sampled.sort_unstable();
            sampled.dedup();
            match sampled[..] {
                [only] => only,
                _ => {
                    let ids = if sampled.is_empty() {
                        (0..survey.interfaces.len().min(12) as u32).map(InterfaceId).collect()
                    } else {
                        sampled
                    };
                    return Err(ConformError::Ambiguous {
                        what: "which port's congestion point is meant",
                        candidates: ids.into_iter().map(|id| survey.name(id)).collect(),
                    });
                }
            }
        }
    };
    let name = survey.name(port);
    let destinations: HashSet<MacAddress> =
        survey.destinations.get(&port).map(|all| all.keys().copied().collect()).unwrap_or_default();
    // By the names of our interfaces, from->to, only the links into the port's node lead to it.
    let node = name.split_once("->").map(|(node, _)| node.to_owned());
    let mut inputs = HashMap::new();
    let meets = |reached: &HashMap<MacAddress, u64>| {
        destinations.is_empty() || reached.keys().any(|to| destinations.contains(to))
    };
    // What came in at the node's other ports tells when it came, whatever it took on its way.
    for (id, reached) in &survey.received {
        let beside = match (&node, survey.name(*id).split_once("->")) {
            (Some(node), Some((from, _))) => from == node,
            _ => true,
        };
        if *id != port && beside && meets(reached) {
            inputs.insert(*id, 0);
        }
    }
    let received = !inputs.is_empty();
    for (id, reached) in survey.destinations.iter().filter(|_| !received) {
        let leads = match (&node, survey.name(*id).split_once("->")) {
            (Some(node), Some((_, to))) => to == node,
            _ => true,
        };
        if *id != port && leads && meets(reached) {
            let delay = options.delay.or(survey.delay(*id)).unwrap_or(Span::ZERO);
            inputs.insert(*id, delay.ps() as i64);
        }
    }
    Ok(PortLinks { port, inputs, received, destinations, elsewhere: survey.reached_beside(port) })
}

/// What the capture lacks, by all three ways of telling; and up to which length the queue surely has room, where it lacks
/// anything.
pub(super) fn loss(survey: &Survey, queue: &PortQueue, (cnms, unmatched_cnms): (u64, u64)) -> (Loss, Option<i64>) {
    // Frames that are missing make the reconstructed queue a little shorter than it was.
    let room = queue.longest / 10 * 9;
    let roomy = queue.overtaken.iter().filter(|len| **len <= room).count() as u64;
    let loss = Loss {
        matched: queue.matched_departures,
        unmatched: queue.unseen + roomy,
        cnms,
        unmatched_cnms,
        ..survey.loss
    };
    (loss, (loss.frames_rate() > 0.0).then_some(room))
}

/// The CPID of the first CNM of the bridge that sends the most. Where another sends as many, the user must say which is
/// meant.
pub(super) fn own_cpid(all: &BTreeMap<Cpid, SeenCpid>) -> Result<Option<Cpid>, ConformError> {
    let mut bridges: HashMap<MacAddress, u64> = HashMap::new();
    for seen in all.values() {
        *bridges.entry(seen.source).or_default() += seen.count;
    }
    let Some((bridge, most)) = bridges.iter().max_by_key(|(bridge, count)| (**count, bridge.0)) else {
        return Ok(None);
    };
    if bridges.iter().any(|(other, count)| other != bridge && count * 4 > *most) {
        return Err(ConformError::Ambiguous {
            what: "several congestion points send CNMs here",
            candidates: all.keys().map(ToString::to_string).collect(),
        });
    }
    let own = all.iter().filter(|(_, seen)| seen.source == *bridge).min_by_key(|(_, seen)| seen.first);
    Ok(own.map(|(cpid, _)| *cpid))
}
