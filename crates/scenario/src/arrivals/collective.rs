//! Collective operations: ranks on hosts, and the messages between them.

use super::{Arriving, Offered};
use crate::entry::{HostPair, TrafficEntry, named_hosts};
use crate::fault::Fault;
use crate::fields::UP_TO_LONGEST;
use crate::located::LocatedFault;
use qcnlab_network::topology::NodeId;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{Dice, Purpose, choice, params};
use qcnlab_traffic::{Algorithm, Collective, CollectiveError, CollectiveMessage, Operation, read_rankfile};
use qcnlab_units::{Bytes, Id, Span};
use std::collections::BTreeMap;

/// The hosts that take part unless a scenario names others.
const EVERY_HOST: &str = "host*";

choice! {
    /// Which rank of a collective operation is on which host.
    pub enum Placement {
        /// Ranks follow the order of the hosts.
        Linear = "linear",
        /// The order of the hosts is drawn anew for each replication.
        Random = "random",
        /// Every stride-th host first, then their next neighbours, and so on: with as many hosts (rails) to a server as the
        /// stride, the first rail of all servers, then the second.
        Stride = "stride",
        /// As `rankfile` says.
        File = "file",
    }
}

params! {
    /// A collective operation among hosts, whose messages wait for one another.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CollectiveOperation {
        /// What the ranks do together.
        operation: Operation, "", Range::ANY;
        /// In which order they send to whom; left out, ring for all_reduce, reduce_scatter and all_gather, tree for
        /// broadcast, direct for all_to_all and moe, stages for pipeline.
        algorithm: Option<Algorithm>, "", Range::ANY;
        /// Octets of each rank's buffer: of what it puts in or, with all_gather, has in the end. Of a pipeline those of
        /// a micro-batch.
        size: Bytes, "", Range::POSITIVE;
        /// Hosts of the ranks: a pattern, or names with commas between them in the order of the ranks.
        ranks: String, "", Range::ANY, Fallback::Text(EVERY_HOST);
        /// Which rank is on which of these hosts; of placement file on which hosts at all.
        placement: Placement, "", Range::ANY, Fallback::Text("linear");
        /// Of placement stride: hosts from one rank to the next.
        stride: Option<u32>, "", Range::between(1.0, 1e6);
        /// Of placement file: a CSV file with the columns rank and host, as many lines as ranks; or such text itself.
        rankfile: Option<String>, "", Range::ANY;
        /// Shares of the buffer with messages of their own, at once: several queue pairs between two ranks.
        channels: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
        /// Messages that each one is cut into. A chunk leaves when the one before is acknowledged, and is passed on when
        /// it has come.
        chunks: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
        /// How often the operation is carried out. A rank begins the next round when it has completed the one before.
        rounds: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
        /// How long a rank computes: before each round but the first, before an expert sends its tokens back, and before a
        /// stage passes a micro-batch on.
        compute: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// How long a rank takes before it sends a message, from when what that waits for is complete: o of LogGOPS,
        /// AS_SEND_LAT of SimAI.
        overhead: Span, "o", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Of moe: the expert at rank r, from 0, is chosen in proportion to 1 / (r + 1)^skew; left out, all alike.
        skew: Option<f64>, "", Range::between(0.0, 10.0);
        /// Of a pipeline: how many micro-batches; left out, one.
        microbatches: Option<u32>, "", Range::between(1.0, 1e6);
    }
}

impl CollectiveOperation {
    /// Returns the operation among so many ranks.
    pub(crate) fn among(&self, ranks: u32) -> Collective {
        Collective {
            operation: self.operation,
            algorithm: self.algorithm.unwrap_or(self.operation.algorithms()[0]),
            ranks,
            octets: self.size.get(),
            channels: self.channels,
            chunks: self.chunks,
            rounds: self.rounds,
            skew: self.skew.unwrap_or(0.0),
            microbatches: self.microbatches.unwrap_or(1),
        }
    }
}

impl Arriving for CollectiveOperation {
    fn offered(&self) -> Offered {
        Offered::Sized
    }

    /// The messages among the hosts that `ranks` names, in its order.
    fn pairs(&self, entry: &TrafficEntry<'_>) -> Result<Vec<HostPair>, LocatedFault> {
        let mut hosts = match &self.rankfile {
            Some(text) => listed_hosts(entry, text)?,
            None => named_hosts(entry.network, &self.ranks, entry.number, "ranks")?,
        };
        let at = |fault, keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| entry.key(key)).collect();
            LocatedFault::new(fault, &keys)
        };
        let other =
            |key, owner, instead: &str| at(Fault::NotOfCollective { key, owner, instead: instead.to_owned() }, &[key]);
        if self.skew.is_some() && self.operation != Operation::Moe {
            return Err(other("skew", "operation = \"moe\"", "another operation"));
        }
        if self.microbatches.is_some() && self.operation != Operation::Pipeline {
            return Err(other("microbatches", "operation = \"pipeline\"", "another operation"));
        }
        if self.stride.is_some() && self.placement != Placement::Stride {
            return Err(other("stride", "placement = \"stride\"", "another placement"));
        }
        if self.rankfile.is_some() && self.placement != Placement::File {
            return Err(other("rankfile", "placement = \"file\"", "another placement"));
        }
        if self.rankfile.is_some() && self.ranks != EVERY_HOST {
            return Err(other("ranks", "another placement", "placement = \"file\""));
        }
        match (self.placement, self.stride) {
            (Placement::File, _) if self.rankfile.is_none() => return Err(at(Fault::NoRankfile, &["placement"])),
            (Placement::Linear | Placement::File, _) => {}
            (Placement::Random, _) => {
                let name = format!("placement of traffic{}", entry.number + 1);
                shuffle(&mut hosts, &mut Dice::new(entry.draw.seed, entry.draw.replication, &name, Purpose::Traffic));
            }
            (Placement::Stride, Some(stride)) => {
                let columns = (0..stride.position())
                    .flat_map(|first| hosts.iter().copied().skip(first).step_by(stride.position()));
                hosts = columns.collect();
            }
            (Placement::Stride, None) => return Err(at(Fault::NoStride, &["placement"])),
        }
        let messages = self.among(hosts.len() as u32).messages().map_err(|error| {
            let key = match error {
                CollectiveError::OtherAlgorithm { .. } | CollectiveError::NoPowerOfTwo { .. } => "algorithm",
                CollectiveError::NothingToSend { .. } => "size",
                _ => "ranks",
            };
            at(Fault::Collective(error), &[key, "operation"])
        })?;
        let pair = |message: CollectiveMessage| {
            let start = match (message.after.is_empty(), message.computes) {
                (true, _) => {
                    entry.start + Span::from_ps(entry.stagger.ps().saturating_mul(message.from.number().into()))
                }
                (false, true) => self.compute + self.overhead,
                (false, false) => self.overhead,
            };
            HostPair {
                from: hosts[message.from.position()],
                to: hosts[message.to.position()],
                start,
                size: Some(Bytes::new(message.part.end - message.part.start)),
                class: None,
                after: message.after.into_iter().map(|before| before.position()).collect(),
                delays: None,
            }
        };
        Ok(messages.into_iter().map(pair).collect())
    }

    fn differs_by_draw(&self) -> bool {
        self.placement == Placement::Random
    }

    fn ends(&self) -> bool {
        true
    }

    fn sheet(&mut self) -> Option<(&'static str, &mut String)> {
        self.rankfile.as_mut().map(|text| ("rankfile", text))
    }
}

/// The hosts of the ranks that a file lists, in the order of the ranks.
fn listed_hosts(entry: &TrafficEntry<'_>, text: &str) -> Result<Vec<NodeId>, LocatedFault> {
    let key = entry.key("rankfile");
    let by_name: BTreeMap<&str, NodeId> =
        entry.network.hosts().map(|host| (&*entry.network.nodes[host].name, host)).collect();
    let names: Vec<&str> = entry.network.hosts().map(|host| &*entry.network.nodes[host].name).collect();
    let listed = read_rankfile(text.as_bytes(), entry.file.unwrap_or(&key), &names);
    let listed = listed.map_err(|error| LocatedFault::new(Fault::Sheet(error), &[&key]))?;
    Ok(listed.iter().map(|name| by_name[&**name]).collect())
}

/// Fisher and Yates: each order is as likely as any other.
fn shuffle(hosts: &mut [NodeId], dice: &mut Dice) {
    for i in (1..hosts.len()).rev() {
        hosts.swap(i, dice.below(i as u32 + 1).position());
    }
}
