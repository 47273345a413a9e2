//! Collective operations: ranks on hosts, and the messages between them.

use super::drawing::{Draw, HostPair};
use super::fault::Fault;
use super::located::LocatedFault;
use super::types::{Placement, Traffic, TrafficKind};
use crate::flows::{Collective, CollectiveError, CollectiveMessage, Operation};
use qcnlab_schemes::{Dice, Purpose};
use qcnlab_units::{Bytes, Span};

impl Traffic {
    /// Return the collective operation that this traffic is among so many ranks, if it is one.
    pub(crate) fn collective(&self, ranks: u32) -> Option<Collective> {
        let TrafficKind::Collective {
            operation, algorithm, size, channels, chunks, rounds, skew, microbatches, ..
        } = self.kind
        else {
            return None;
        };
        Some(Collective {
            operation,
            algorithm: algorithm.unwrap_or(operation.algorithms()[0]),
            ranks,
            octets: size.get(),
            channels,
            chunks,
            rounds,
            skew: skew.unwrap_or(0.0),
            microbatches: microbatches.unwrap_or(1),
        })
    }
}

/// The messages of one entry among `hosts`, which its pattern has in this order.
pub(super) fn collective_pairs(
    entry: &Traffic,
    traffic: usize,
    mut hosts: Vec<u32>,
    draw: Draw,
) -> Result<Vec<HostPair>, LocatedFault> {
    let at = |fault, keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|key| format!("traffic.{traffic}.{key}")).collect();
        LocatedFault::new(fault, &keys)
    };
    let (TrafficKind::Collective { operation, placement, stride, compute, skew, microbatches, .. }, Some(collective)) =
        (&entry.kind, entry.collective(hosts.len() as u32))
    else {
        unreachable!("the entry is a collective operation")
    };
    let other =
        |key, owner, instead: &str| at(Fault::NotOfCollective { key, owner, instead: instead.to_owned() }, &[key]);
    if skew.is_some() && *operation != Operation::Moe {
        return Err(other("skew", "operation = \"moe\"", "another operation"));
    }
    if microbatches.is_some() && *operation != Operation::Pipeline {
        return Err(other("microbatches", "operation = \"pipeline\"", "another operation"));
    }
    if stride.is_some() && *placement != Placement::Stride {
        return Err(other("stride", "placement = \"stride\"", "another placement"));
    }
    match (placement, stride) {
        (Placement::Linear, _) => {}
        (Placement::Random, _) => {
            let name = format!("placement of traffic{}", traffic + 1);
            shuffle(&mut hosts, &mut Dice::new(draw.seed, draw.replication, &name, Purpose::Traffic));
        }
        (Placement::Stride, Some(stride)) => {
            let columns =
                (0..*stride as usize).flat_map(|first| hosts.iter().copied().skip(first).step_by(*stride as usize));
            hosts = columns.collect();
        }
        (Placement::Stride, None) => return Err(at(Fault::NoStride, &["placement"])),
    }
    let messages = collective.messages().map_err(|error| {
        let key = match error {
            CollectiveError::OtherAlgorithm { .. } | CollectiveError::NoPowerOfTwo { .. } => "algorithm",
            CollectiveError::NothingToSend { .. } => "size",
            _ => "ranks",
        };
        at(Fault::Collective(error), &[key, "operation"])
    })?;
    let pair = |message: CollectiveMessage| {
        let start = match (message.after.is_empty(), message.computes) {
            (true, _) => entry.start + Span::from_ps(entry.stagger.ps().saturating_mul(message.from.into())),
            (false, true) => *compute,
            (false, false) => Span::ZERO,
        };
        HostPair {
            from: hosts[message.from as usize],
            to: hosts[message.to as usize],
            start,
            size: Some(Bytes::new(message.part.end - message.part.start)),
            class: None,
            after: message.after.into_iter().map(|before| before as usize).collect(),
        }
    };
    Ok(messages.into_iter().map(pair).collect())
}

/// Fisher and Yates: each order is as likely as any other.
fn shuffle(hosts: &mut [u32], dice: &mut Dice) {
    for i in (1..hosts.len()).rev() {
        hosts.swap(i, dice.below(i as u32 + 1) as usize);
    }
}
