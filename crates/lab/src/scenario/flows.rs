//! Who sends to whom: applies the patterns of `[[traffic]]` to the hosts of a network.

use super::collectives::collective_pairs;
use super::drawing::{Draw, HostPair, drawn, listed};
use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use super::network::network;
use super::replaying;
use super::types::{Pairing, Placement, Scenario, TrafficKind};
use crate::pattern::Pattern;
use crate::replay::Replayed;
use crate::topology::{Network, Role, TopologyError};
use qcnlab_units::{Bytes, Span};
use std::collections::HashMap;

/// Flows one run may have.
const MOST_FLOWS: usize = 1_000_000;

/// One flow of a scenario's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Its name: `from->to`, or the source's alone if the topology is built around the receiver; with `#2` and so on
    /// for further flows of a pair.
    pub name: String,
    /// Position of the source among the nodes of the network, from 0.
    pub source_index: usize,
    /// The source's name.
    pub source_name: String,
    /// Position of the receiver among the nodes of the network.
    pub sink_index: usize,
    /// Position of the entry in [`Scenario::traffic`].
    pub traffic: usize,
    /// When it starts, before jitter.
    pub start: Span,
    /// Its octets, if it was drawn at random or listed.
    pub size: Option<Bytes>,
    /// Its class, if a file lists it.
    pub class: Option<u8>,
    /// Positions of the flows that it waits for. Where there are any, `start` is how long after they have completed it
    /// starts.
    pub after: Box<[u32]>,
}

impl Scenario {
    /// Return the flows, in the order of traffic entries, then of sources, then of receivers. Flows that are drawn at
    /// random are those of replication 0.
    pub fn flows(&self) -> Vec<FlowSpec> {
        let Ok(network) = network(self) else { unreachable!("a checked scenario has a network") };
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(flows) = flows(self, &network, draw) else { unreachable!("a checked scenario has flows") };
        flows
    }

    /// From when on no flow starts that is drawn or listed.
    pub(crate) fn arrivals_end(&self) -> Span {
        self.stop_arrivals.unwrap_or(self.duration)
    }

    /// Whether replications differ in their flows.
    pub(crate) fn draws_flows(&self) -> bool {
        let placed = |kind: &TrafficKind| matches!(kind, TrafficKind::Collective { placement: Placement::Random, .. });
        self.traffic.iter().any(|traffic| traffic.kind.is_drawn() || placed(&traffic.kind))
    }
}

impl TrafficKind {
    /// Whether its flows are drawn at random.
    pub(super) const fn is_drawn(&self) -> bool {
        use TrafficKind::{Flows, Incast, RoceFlows, RoceIncast, TcpFlows, TcpIncast};
        let plain = matches!(self, Flows { .. } | Incast { .. });
        plain || matches!(self, TcpFlows { .. } | TcpIncast { .. } | RoceFlows { .. } | RoceIncast { .. })
    }

    /// Whether its flows are drawn or listed.
    pub(super) const fn arrives(&self) -> bool {
        use TrafficKind::{Capture, List, RoceList, TcpList};
        let listed = matches!(self, List { .. } | TcpList { .. } | RoceList { .. });
        self.is_drawn() || listed || matches!(self, Capture { replay: Replayed::Flows, .. })
    }

    /// Whether its flows have a size.
    pub(super) const fn ends(&self) -> bool {
        use TrafficKind::{Collective, Roce, Saturated, Tcp};
        let sized =
            matches!(self, Saturated { size: Some(_), .. } | Tcp { size: Some(_), .. } | Roce { size: Some(_), .. });
        self.arrives() || sized || matches!(self, Collective { .. })
    }
}

/// The flows of a scenario over its network.
pub(super) fn flows(scenario: &Scenario, network: &Network, draw: Draw) -> Result<Vec<FlowSpec>, LocatedFault> {
    let mut flows: Vec<FlowSpec> = Vec::new();
    let mut of_pair: HashMap<(u32, u32), u32> = HashMap::new();
    let name = |node: u32| &network.nodes[node as usize].name;
    let sink = scenario.topology.built_in_bottleneck().map(|bottleneck| bottleneck.sink);
    for traffic in 0..scenario.traffic.len() {
        let first = flows.len();
        for pair in pairs(scenario, network, traffic, draw)? {
            let count = of_pair.entry((pair.from, pair.to)).or_insert(0);
            *count += 1;
            let (from, to) = (name(pair.from), name(pair.to));
            let hosts = if Some(pair.to) == sink { from.clone() } else { format!("{from}->{to}") };
            flows.push(FlowSpec {
                name: if *count == 1 { hosts } else { format!("{hosts}#{count}") },
                source_index: pair.from as usize,
                source_name: name(pair.from).clone(),
                sink_index: pair.to as usize,
                traffic,
                start: pair.start,
                size: pair.size,
                class: pair.class,
                after: pair.after.into_iter().map(|before| (first + before) as u32).collect(),
            });
        }
        if flows.len() > 2 * MOST_FLOWS {
            return Err(too_many(flows.len(), traffic));
        }
    }
    Ok(flows)
}

fn too_many(flows: usize, traffic: usize) -> LocatedFault {
    let keys = ["to", "from"].map(|key| format!("traffic.{traffic}.{key}"));
    LocatedFault::new(Fault::TooManyFlows { flows, limit: MOST_FLOWS }, &keys)
}

/// Pair the senders of one entry with its receivers.
fn pairs(scenario: &Scenario, network: &Network, traffic: usize, draw: Draw) -> Result<Vec<HostPair>, LocatedFault> {
    let entry = &scenario.traffic[traffic];
    if let TrafficKind::List { flows } | TrafficKind::TcpList { flows, .. } | TrafficKind::RoceList { flows, .. } =
        &entry.kind
    {
        return listed(scenario, network, flows, traffic);
    }
    let key = |name: &str| format!("traffic.{traffic}.{name}");
    if let TrafficKind::Collective { ranks, .. } = &entry.kind {
        let hosts = named_hosts(network, ranks, traffic, "ranks")?;
        return collective_pairs(entry, traffic, hosts, draw);
    }
    if let Some(table) = replaying::table(scenario, network, traffic)? {
        return replaying::pairs(scenario, network, traffic, Some(&table), (&[], &[]));
    }
    let senders = named_hosts(network, &entry.from, traffic, "from")?;
    let receivers = named_hosts(network, &entry.to, traffic, "to")?;
    let stream =
        matches!(entry.kind, TrafficKind::Constant { .. } | TrafficKind::Poisson { .. } | TrafficKind::OnOff { .. });
    if entry.spread == Pairing::Uniform && !stream {
        return Err(LocatedFault::new(Fault::NotSpread, &[key("spread")]));
    }
    if entry.survey.is_some() {
        return replaying::pairs(scenario, network, traffic, None, (&senders, &receivers));
    }
    if entry.kind.is_drawn() {
        return drawn(scenario, network, traffic, (&senders, &receivers), draw);
    }
    let pairs: Vec<(u32, u32)> = if entry.spread == Pairing::Paired {
        if senders.len() != receivers.len() {
            let fault = Fault::Unpaired { left: senders.len(), right: receivers.len(), shared: false };
            return Err(LocatedFault::new(fault, &[key("to"), key("from")]));
        }
        senders.iter().copied().zip(receivers).collect()
    } else {
        if senders.len().saturating_mul(receivers.len()) > MOST_FLOWS {
            return Err(too_many(senders.len().saturating_mul(receivers.len()), traffic));
        }
        let to_all = |from: u32| receivers.iter().map(move |to| (from, *to)).filter(|(from, to)| from != to);
        senders.iter().flat_map(|from| to_all(*from)).collect()
    };
    let itself = match pairs.first() {
        None => senders.first().copied(),
        Some(_) => pairs.iter().find(|(from, to)| from == to).map(|(from, _)| *from),
    };
    if let Some(host) = itself {
        let name = network.nodes[host as usize].name.clone();
        return Err(LocatedFault::new(Fault::Topology(TopologyError::ToItself { name }), &[key("to"), key("from")]));
    }
    Ok(staggered(pairs, entry.start, entry.stagger))
}

/// Each sender but the first starts a stagger after the one before it.
fn staggered(pairs: Vec<(u32, u32)>, mut start: Span, stagger: Span) -> Vec<HostPair> {
    let mut sender = None;
    let at = |(from, to): (u32, u32)| {
        if sender.replace(from).is_some_and(|before| before != from) {
            start = start + stagger;
        }
        HostPair { from, to, start, size: None, class: None, after: Vec::new() }
    };
    pairs.into_iter().map(at).collect()
}

/// The hosts that a key of an entry, `from` or `to`, names.
fn named_hosts(network: &Network, text: &str, traffic: usize, key: &str) -> Result<Vec<u32>, LocatedFault> {
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
fn matching(network: &Network, wanted: &Pattern) -> Vec<u32> {
    let rank = |host: u32| Some((wanted.rank(&network.nodes[host as usize].name)?, host));
    let mut hosts: Vec<(usize, u32)> = network.hosts().filter_map(rank).collect();
    hosts.sort_unstable();
    hosts.into_iter().map(|(_, host)| host).collect()
}

fn no_host(network: &Network, pattern: &str) -> Fault {
    let switch = network.nodes.iter().any(|node| node.role == Role::Switch && node.name == pattern);
    let hosts = network.hosts().map(|host| network.nodes[host as usize].name.clone()).collect();
    Fault::NoHost { pattern: pattern.to_owned(), switch, hosts }
}
