//! Who sends to whom: the patterns of `[[traffic]]` over the hosts of a network.

use super::error::Fault;
use super::network::{Found, pattern};
use super::shapes::Topology;
use super::types::{Scenario, Spread, TrafficKind};
use crate::topology::{Network, Role, TopologyError};
use qcnlab_units::Span;
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
}

impl Scenario {
    /// Who sends what: patterns expanded, in the order of traffic entries, then of sources, then of receivers.
    pub fn flows(&self) -> Vec<FlowSpec> {
        let Ok(network) = super::network::network(self) else { unreachable!("a checked scenario has a network") };
        let Ok(flows) = flows(self, &network) else { unreachable!("a checked scenario has flows") };
        flows
    }
}

/// The flows of a scenario over its network.
pub(super) fn flows(scenario: &Scenario, network: &Network) -> Result<Vec<FlowSpec>, Found> {
    let mut flows: Vec<FlowSpec> = Vec::new();
    let mut of_pair: HashMap<(u32, u32), u32> = HashMap::new();
    let name = |node: u32| &network.nodes[node as usize].name;
    for (traffic, entry) in scenario.traffic.iter().enumerate() {
        let mut sender = None;
        let mut start = entry.start;
        for (from, to) in pairs(scenario, network, traffic)? {
            if sender.replace(from).is_some_and(|before| before != from) {
                start = start + entry.stagger;
            }
            let count = of_pair.entry((from, to)).or_insert(0);
            *count += 1;
            let name = match (&scenario.topology, *count) {
                (Topology::Star(_), 1) => name(from).clone(),
                (Topology::Star(_), _) => return Err(twice(&flows, from, traffic)),
                (_, 1) => format!("{}->{}", name(from), name(to)),
                (_, n) => format!("{}->{}#{n}", name(from), name(to)),
            };
            flows.push(FlowSpec {
                name,
                source_index: from as usize,
                source_name: network.nodes[from as usize].name.clone(),
                sink_index: to as usize,
                traffic,
                start,
            });
        }
        if flows.len() > MOST_FLOWS {
            return Err(too_many(flows.len(), traffic));
        }
    }
    Ok(flows)
}

fn twice(flows: &[FlowSpec], from: u32, traffic: usize) -> Found {
    let first = flows.iter().find(|flow| flow.source_index == from as usize);
    let (source_name, first) = first.map_or((String::new(), 0), |flow| (flow.source_name.clone(), flow.traffic));
    Found::new(Fault::TwoFlows { source_name, first }, &from_keys(traffic))
}

fn from_keys(traffic: usize) -> [String; 3] {
    [format!("traffic.{traffic}.from"), "topology.sources".to_owned(), format!("traffic.{traffic}")]
}

fn too_many(flows: usize, traffic: usize) -> Found {
    let keys = ["to", "from"].map(|key| format!("traffic.{traffic}.{key}"));
    Found::new(Fault::TooManyFlows { flows, limit: MOST_FLOWS }, &keys)
}

/// Senders and receivers of one entry, brought together.
fn pairs(scenario: &Scenario, network: &Network, traffic: usize) -> Result<Vec<(u32, u32)>, Found> {
    let entry = &scenario.traffic[traffic];
    let key = |name: &str| format!("traffic.{traffic}.{name}");
    let senders = senders(scenario, network, traffic)?;
    let receivers = receivers(scenario, network, traffic)?;
    let generated =
        matches!(entry.kind, TrafficKind::Constant { .. } | TrafficKind::Poisson { .. } | TrafficKind::OnOff { .. });
    if entry.spread == Spread::Uniform && !generated {
        return Err(Found::new(Fault::NotSpread, &[key("spread")]));
    }
    let pairs: Vec<(u32, u32)> = if entry.spread == Spread::Paired {
        if senders.len() != receivers.len() {
            let fault = Fault::Unpaired { left: senders.len(), right: receivers.len(), shared: false };
            return Err(Found::new(fault, &[key("to"), key("from")]));
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
    match itself {
        Some(host) => {
            let name = network.nodes[host as usize].name.clone();
            Err(Found::new(Fault::Topology(TopologyError::ToItself { name }), &[key("to"), key("from")]))
        }
        None => Ok(pairs),
    }
}

fn senders(scenario: &Scenario, network: &Network, traffic: usize) -> Result<Vec<u32>, Found> {
    let entry = &scenario.traffic[traffic];
    let wanted = pattern(&entry.from, &format!("traffic.{traffic}.from"))?;
    let star = match &scenario.topology {
        Topology::Star(star) => Some(star.sources),
        _ => None,
    };
    let hosts = network.hosts().filter(|host| star.is_none_or(|sources| *host < sources));
    let found: Vec<u32> = hosts.filter(|host| wanted.matches(&network.nodes[*host as usize].name)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let fault = match star {
        Some(sources) => Fault::NoSource { pattern: entry.from.clone(), sources },
        None => no_host(network, &entry.from),
    };
    Err(Found::new(fault, &from_keys(traffic)))
}

fn receivers(scenario: &Scenario, network: &Network, traffic: usize) -> Result<Vec<u32>, Found> {
    let entry = &scenario.traffic[traffic];
    let key = format!("traffic.{traffic}.to");
    let keys = [key.clone(), format!("traffic.{traffic}")];
    if let Topology::Star(star) = &scenario.topology {
        if entry.to == "sink" {
            return Ok(vec![star.sources + 1]);
        }
        let fault = Fault::NoPlace { what: "host", name: entry.to.clone(), known: vec!["sink".to_owned()] };
        return Err(Found::new(fault, &keys));
    }
    let wanted = pattern(&entry.to, &key)?;
    let found: Vec<u32> = network.hosts().filter(|host| wanted.matches(&network.nodes[*host as usize].name)).collect();
    if found.is_empty() { Err(Found::new(no_host(network, &entry.to), &keys)) } else { Ok(found) }
}

fn no_host(network: &Network, pattern: &str) -> Fault {
    let switch = network.nodes.iter().any(|node| node.role == Role::Switch && node.name == pattern);
    let hosts = network.hosts().map(|host| network.nodes[host as usize].name.clone()).collect();
    Fault::NoHost { pattern: pattern.to_owned(), switch, hosts }
}
