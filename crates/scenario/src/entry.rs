//! One entry of `[[traffic]]` among the hosts of a network: who sends to whom, and from which random draws.

use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use qcnlab_network::Pattern;
use qcnlab_network::topology::{Network, NodeId, Role, TopologyError};
use qcnlab_schemes::{Dice, Purpose, choice};
use qcnlab_sim::WaitDelays;
use qcnlab_traffic::replay::CaptureSurvey;
use qcnlab_traffic::{Arrival, ArrivalsError};
use qcnlab_units::{Bytes, Id, Instant, Span};

/// Which random draws flows come from.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The seed of the run.
    pub seed: u64,
    /// Which replication.
    pub replication: u32,
}

/// A flow from one host to another, with what is its own if it is drawn at random or listed in a file.
pub(super) struct HostPair {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) start: Span,
    pub(super) size: Option<Bytes>,
    pub(super) class: Option<u8>,
    /// Positions among the pairs of the same entry of those that it waits for.
    pub(super) after: Vec<usize>,
    /// How long after these it may start, where that is not at once.
    pub(super) delays: Option<Box<WaitDelays>>,
}

choice! {
    /// How the hosts of `from` and `to` are brought together.
    pub enum Pairing {
        /// Every sender has a flow of its own to every receiver.
        Each = "each",
        /// The first sender has a flow to the first receiver, the second to the second, and so on.
        Paired = "paired",
        /// Every sender spreads one stream over all receivers: each frame goes to one of them at random.
        Uniform = "uniform",
    }
}

/// Flows one run may have.
pub(super) const MOST_FLOWS: usize = 1_000_000;

/// An entry of traffic over a network: what its arrivals are told.
pub(crate) struct TrafficEntry<'a> {
    pub(super) network: &'a Network,
    /// Its position in [`Scenario::traffic`](super::Scenario::traffic).
    pub(super) number: usize,
    pub(super) draw: Draw,
    /// How long the run lasts.
    pub(super) duration: Span,
    /// From when on no flow starts that is drawn or listed.
    pub(super) arrivals_end: Span,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) spread: Pairing,
    pub(super) start: Span,
    pub(super) stagger: Span,
    pub(super) stop: Option<Span>,
    /// Whether its frames come by themselves, so that each can go to another host.
    pub(super) is_stream: bool,
    /// Whether its transport says when a flow has completed.
    pub(super) tells_completion: bool,
    /// The word of its transport.
    pub(super) transport: &'static str,
    /// The file that flows, sizes or hosts were read from.
    pub(super) file: Option<&'a str>,
    /// What its capture holds.
    pub(super) survey: Option<&'a CaptureSurvey>,
}

impl TrafficEntry<'_> {
    /// The dotted key of one of its keys.
    pub(super) fn key(&self, name: &str) -> String {
        format!("traffic.{}.{name}", self.number)
    }

    /// The hosts that send and those that receive.
    pub(super) fn hosts(&self) -> Result<(Vec<NodeId>, Vec<NodeId>), LocatedFault> {
        let senders = named_hosts(self.network, self.from, self.number, "from")?;
        let receivers = named_hosts(self.network, self.to, self.number, "to")?;
        if self.spread == Pairing::Uniform && !self.is_stream {
            return Err(LocatedFault::new(Fault::NotSpread, &[self.key("spread")]));
        }
        Ok((senders, receivers))
    }

    /// The flows that `from`, `to` and `spread` say.
    pub(super) fn spread(&self) -> Result<Vec<HostPair>, LocatedFault> {
        let (senders, receivers) = self.hosts()?;
        let pairs: Vec<(NodeId, NodeId)> = if self.spread == Pairing::Paired {
            if senders.len() != receivers.len() {
                let fault = Fault::Unpaired { left: senders.len(), right: receivers.len(), shared: false };
                return Err(LocatedFault::new(fault, &[self.key("to"), self.key("from")]));
            }
            senders.iter().copied().zip(receivers).collect()
        } else {
            if senders.len().saturating_mul(receivers.len()) > MOST_FLOWS {
                return Err(too_many(senders.len().saturating_mul(receivers.len()), self.number));
            }
            let to_all = |from: NodeId| receivers.iter().map(move |to| (from, *to)).filter(|(from, to)| from != to);
            senders.iter().flat_map(|from| to_all(*from)).collect()
        };
        let itself = match pairs.first() {
            None => senders.first().copied(),
            Some(_) => pairs.iter().find(|(from, to)| from == to).map(|(from, _)| *from),
        };
        if let Some(host) = itself {
            let name = self.network.nodes[host].name.clone();
            let fault = Fault::Topology(TopologyError::ToItself { name });
            return Err(LocatedFault::new(fault, &[self.key("to"), self.key("from")]));
        }
        Ok(staggered(pairs, self.start, self.stagger))
    }

    /// The random draws of its flows.
    pub(super) fn dice(&self) -> Dice {
        let Draw { seed, replication } = self.draw;
        Dice::new(seed, replication, &format!("traffic{}", self.number + 1), Purpose::Traffic)
    }

    /// From when to when drawn flows start.
    pub(super) fn drawn_times(&self) -> (Instant, Instant) {
        let stop = self.stop.map_or(self.arrivals_end, |own| own.min(self.arrivals_end));
        (Instant::ZERO + self.start, Instant::ZERO + stop)
    }

    /// The flows that were drawn.
    pub(super) fn drawn(&self, flows: Result<Vec<Arrival>, ArrivalsError>) -> Result<Vec<HostPair>, LocatedFault> {
        let keys = ["load", "senders", "to", "from"].map(|name| self.key(name));
        let flows = flows.map_err(|error| LocatedFault::new(Fault::Arrivals(error), &keys))?;
        let pair = |flow: Arrival| HostPair {
            from: NodeId::new(flow.from),
            to: NodeId::new(flow.to),
            start: flow.start.since(Instant::ZERO),
            size: Some(flow.size),
            class: None,
            after: Vec::new(),
            delays: None,
        };
        Ok(flows.into_iter().map(pair).collect())
    }
}

/// The numbers of hosts, for what knows no network.
pub(super) fn numbers(hosts: &[NodeId]) -> Vec<u32> {
    hosts.iter().map(|host| host.number()).collect()
}

pub(super) fn too_many(flows: usize, traffic: usize) -> LocatedFault {
    let keys = ["to", "from"].map(|key| format!("traffic.{traffic}.{key}"));
    LocatedFault::new(Fault::TooManyFlows { flows, limit: MOST_FLOWS }, &keys)
}

/// Each sender but the first starts a stagger after the one before it.
fn staggered(pairs: Vec<(NodeId, NodeId)>, mut start: Span, stagger: Span) -> Vec<HostPair> {
    let mut sender = None;
    let at = |(from, to): (NodeId, NodeId)| {
        if sender.replace(from).is_some_and(|before| before != from) {
            start = start + stagger;
        }
        HostPair { from, to, start, size: None, class: None, after: Vec::new(), delays: None }
    };
    pairs.into_iter().map(at).collect()
}

/// The hosts that a key of an entry, `from` or `to`, names.
pub(super) fn named_hosts(
    network: &Network,
    text: &str,
    traffic: usize,
    key: &str,
) -> Result<Vec<NodeId>, LocatedFault> {
    let entry = format!("traffic.{traffic}");
    let key = format!("{entry}.{key}");
    let hosts = matching(network, &read_pattern(text, &key)?);
    if hosts.is_empty() {
        Err(LocatedFault::new(no_host(network, text), &[key, "topology.sources".to_owned(), entry]))
    } else {
        Ok(hosts)
    }
}

/// The hosts that a pattern matches: those of its first alternative in the order of the network, then those of the
/// second, and so on.
fn matching(network: &Network, wanted: &Pattern) -> Vec<NodeId> {
    let rank = |host: NodeId| Some((wanted.rank(&network.nodes[host].name)?, host));
    let mut hosts: Vec<(usize, NodeId)> = network.hosts().filter_map(rank).collect();
    hosts.sort_unstable();
    hosts.into_iter().map(|(_, host)| host).collect()
}

fn no_host(network: &Network, pattern: &str) -> Fault {
    let switch = network.nodes.iter().any(|node| node.role == Role::Switch && node.name == pattern);
    let hosts = network.hosts().map(|host| network.nodes[host].name.clone()).collect();
    Fault::NoHost { pattern: pattern.to_owned(), switch, hosts }
}
