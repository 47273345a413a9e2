//! Which port is judged: its interface, the links that lead to it, its CPID, and what the capture lacks of its frames.

use super::queue::PortQueue;
use crate::error::ConformError;
use crate::input::Survey;
use crate::sequence::Loss;
use crate::tolerances::ConformOptions;
use qcnlab_capture::InterfaceId;
use qcnlab_units::Span;
use qcnlab_wire::{Cpid, MacAddress};
use std::cmp::Reverse;
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

/// A congestion point: its CPID, and the address of its bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CongestionPointId {
    pub(super) cpid: Cpid,
    pub(super) bridge: MacAddress,
}

/// Bridges whose CNMs are held against a port's queue.
const MOST_BRIDGES: usize = 16;

/// The congestion points that a port may be: of each bridge that sends CNMs the CPID of its first, the bridge that sends
/// the most first.
pub(super) fn candidates(all: &BTreeMap<Cpid, SeenCpid>) -> Vec<CongestionPointId> {
    let mut bridges: HashMap<MacAddress, (u64, u64, Cpid)> = HashMap::new();
    for (cpid, seen) in all {
        let (count, first, own) = bridges.entry(seen.source).or_insert((0, u64::MAX, *cpid));
        *count += seen.count;
        if seen.first < *first {
            (*first, *own) = (seen.first, *cpid);
        }
    }
    let mut bridges: Vec<(MacAddress, (u64, u64, Cpid))> = bridges.into_iter().collect();
    bridges.sort_unstable_by_key(|(_, (count, first, _))| (Reverse(*count), *first));
    let ids = bridges.into_iter().map(|(bridge, (_, _, cpid))| CongestionPointId { cpid, bridge });
    ids.take(MOST_BRIDGES).collect()
}
