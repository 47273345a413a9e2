//! Who sends to whom: the patterns of `[[traffic]]` over the hosts of a network.

use super::drawing::{Draw, HostPair, drawn, listed};
use super::fault::Fault;
use super::located::{LocatedFault, read_pattern};
use super::network::network;
use super::pattern::Pattern;
use super::shapes::Topology;
use super::types::{Scenario, Spread, TrafficKind};
use crate::topology::{Network, Role, TopologyError};
use qcnlab_units::{Bytes, Span};
use std::collections::HashMap;

/// Flows one run may have.
const MOST_FLOWS: usize = 1_000_000;

/// One flow of a scenario's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Its name: the source's in a star, `from->to` elsewhere, with `#2` and so on for further flows of a pair.
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
    /// Its class, if a list gives it.
    pub class: Option<u8>,
}

impl Scenario {
    /// Who sends what: patterns expanded, in the order of traffic entries, then of sources, then of receivers. Flows
    /// that are drawn at random are those of replication 0.
    pub fn flows(&self) -> Vec<FlowSpec> {
        let Ok(network) = network(self) else { unreachable!("a checked scenario has a network") };
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(flows) = flows(self, &network, draw) else { unreachable!("a checked scenario has flows") };
        flows
    }

    /// Whether replications differ in their flows.
    pub(crate) fn draws_flows(&self) -> bool {
        self.traffic.iter().any(|traffic| traffic.kind.is_drawn())
    }
}

impl TrafficKind {
    /// Whether its flows are drawn at random.
    pub(super) const fn is_drawn(&self) -> bool {
        use TrafficKind::{Flows, Incast, TcpFlows, TcpIncast};
        matches!(self, Flows { .. } | Incast { .. } | TcpFlows { .. } | TcpIncast { .. })
    }
}

/// The flows of a scenario over its network.
pub(super) fn flows(scenario: &Scenario, network: &Network, draw: Draw) -> Result<Vec<FlowSpec>, LocatedFault> {
    let mut flows: Vec<FlowSpec> = Vec::new();
    let mut of_pair: HashMap<(u32, u32), u32> = HashMap::new();
    let name = |node: u32| &network.nodes[node as usize].name;
    let star = matches!(scenario.topology, Topology::Star(_));
    for traffic in 0..scenario.traffic.len() {
        for pair in pairs(scenario, network, traffic, draw)? {
            let count = of_pair.entry((pair.from, pair.to)).or_insert(0);
            *count += 1;
            if star && *count > 1 && pair.size.is_none() {
                return Err(twice(&flows, pair.from, traffic));
            }
            let ways = if star { name(pair.from).clone() } else { format!("{}->{}", name(pair.from), name(pair.to)) };
            flows.push(FlowSpec {
                name: if *count == 1 { ways } else { format!("{ways}#{count}") },
                source_index: pair.from as usize,
                source_name: name(pair.from).clone(),
                sink_index: pair.to as usize,
                traffic,
                start: pair.start,
                size: pair.size,
                class: pair.class,
            });
        }
        if flows.len() > 2 * MOST_FLOWS {
            return Err(too_many(flows.len(), traffic));
        }
    }
    Ok(flows)
}

fn twice(flows: &[FlowSpec], from: u32, traffic: usize) -> LocatedFault {
    let first = flows.iter().find(|flow| flow.source_index == from as usize);
    let (source_name, first) = first.map_or((String::new(), 0), |flow| (flow.source_name.clone(), flow.traffic));
    LocatedFault::new(Fault::TwoFlows { source_name, first }, &from_keys(traffic))
}

fn from_keys(traffic: usize) -> [String; 3] {
    [format!("traffic.{traffic}.from"), "topology.sources".to_owned(), format!("traffic.{traffic}")]
}

fn too_many(flows: usize, traffic: usize) -> LocatedFault {
    let keys = ["to", "from"].map(|key| format!("traffic.{traffic}.{key}"));
    LocatedFault::new(Fault::TooManyFlows { flows, limit: MOST_FLOWS }, &keys)
}

/// Senders and receivers of one entry, brought together.
fn pairs(scenario: &Scenario, network: &Network, traffic: usize, draw: Draw) -> Result<Vec<HostPair>, LocatedFault> {
    let entry = &scenario.traffic[traffic];
    if let TrafficKind::List { flows } | TrafficKind::TcpList { flows, .. } = &entry.kind {
        return listed(network, flows, entry.file.as_deref(), traffic);
    }
    let key = |name: &str| format!("traffic.{traffic}.{name}");
    let senders = senders(scenario, network, traffic)?;
    let receivers = receivers(scenario, network, traffic)?;
    let stream =
        matches!(entry.kind, TrafficKind::Constant { .. } | TrafficKind::Poisson { .. } | TrafficKind::OnOff { .. });
    if entry.spread == Spread::Uniform && !stream {
        return Err(LocatedFault::new(Fault::NotSpread, &[key("spread")]));
    }
    if entry.kind.is_drawn() {
        return drawn(scenario, network, traffic, (&senders, &receivers), draw);
    }
    let pairs: Vec<(u32, u32)> = if entry.spread == Spread::Paired {
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
        HostPair { from, to, start, size: None, class: None }
    };
    pairs.into_iter().map(at).collect()
}

fn senders(scenario: &Scenario, network: &Network, traffic: usize) -> Result<Vec<u32>, LocatedFault> {
    let entry = &scenario.traffic[traffic];
    let wanted = read_pattern(&entry.from, &format!("traffic.{traffic}.from"))?;
    let star = match &scenario.topology {
        Topology::Star(star) => Some(star.sources),
        _ => None,
    };
    let hosts = network.hosts().filter(|host| star.is_none_or(|sources| *host < sources));
    let found = matching(network, hosts, &wanted);
    if !found.is_empty() {
        return Ok(found);
    }
    let fault = match star {
        Some(sources) => Fault::NoSource { pattern: entry.from.clone(), sources },
        None => no_host(network, &entry.from),
    };
    Err(LocatedFault::new(fault, &from_keys(traffic)))
}

fn receivers(scenario: &Scenario, network: &Network, traffic: usize) -> Result<Vec<u32>, LocatedFault> {
    let entry = &scenario.traffic[traffic];
    let key = format!("traffic.{traffic}.to");
    let keys = [key.clone(), format!("traffic.{traffic}")];
    if let Topology::Star(star) = &scenario.topology {
        if entry.to == "sink" {
            return Ok(vec![star.sources + 1]);
        }
        let fault = Fault::NotInTopology { what: "host", name: entry.to.clone(), known: vec!["sink".to_owned()] };
        return Err(LocatedFault::new(fault, &keys));
    }
    let wanted = read_pattern(&entry.to, &key)?;
    let found = matching(network, network.hosts(), &wanted);
    if found.is_empty() { Err(LocatedFault::new(no_host(network, &entry.to), &keys)) } else { Ok(found) }
}

/// The hosts that a pattern matches: those of its first alternative in the order of the network, then those of the
/// second, and so on.
fn matching(network: &Network, hosts: impl Iterator<Item = u32>, wanted: &Pattern) -> Vec<u32> {
    let rank = |host: u32| Some((wanted.rank(&network.nodes[host as usize].name)?, host));
    let mut found: Vec<(usize, u32)> = hosts.filter_map(rank).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, host)| host).collect()
}

fn no_host(network: &Network, pattern: &str) -> Fault {
    let switch = network.nodes.iter().any(|node| node.role == Role::Switch && node.name == pattern);
    let hosts = network.hosts().map(|host| network.nodes[host as usize].name.clone()).collect();
    Fault::NoHost { pattern: pattern.to_owned(), switch, hosts }
}
