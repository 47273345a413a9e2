//! From the tables of a scenario to its network.

use super::fault::Fault;
use super::located::{LocatedFault, bad_pattern, read_pattern};
use super::shapes::{Chain, FatTree, Graph, LeafSpine, Links, OneSwitch, ParkingLot, Star, Topology, Tree};
use super::types::Scenario;
use qcnlab_network::topology::{self, Cable, Link, NamedLink, Network, Node, NodeId, Role, TopologyError};
use qcnlab_units::Id;
use std::collections::HashMap;

/// The network that a scenario's `[topology]` and `[[link]]` describe.
pub(super) fn network(scenario: &Scenario) -> Result<Network, LocatedFault> {
    let Topology::Graph(graph) = &scenario.topology else {
        if !scenario.links.is_empty() {
            return Err(LocatedFault::new(Fault::LinksOfOtherKind, &["link.0", "topology.kind"]));
        }
        return generated(&scenario.topology)
            .map_err(|error| LocatedFault::new(Fault::Topology(error), &["topology.k", "topology"]));
    };
    if scenario.links.is_empty() {
        return Err(LocatedFault::new(Fault::NoLinks, &["topology.kind", "topology"]));
    }
    let mut links = Vec::new();
    let mut entries = Vec::new();
    for (i, entry) in scenario.links.iter().enumerate() {
        links.extend(expand(graph, entry, i)?);
        entries.resize(links.len(), i);
    }
    Network::from_names(nodes(&scenario.links, &links, &entries), &links).map_err(|error| {
        let (entry, end) = culprit(&error, &links).map_or((0, "from"), |(link, end)| (entries[link], end));
        LocatedFault::new(Fault::Topology(error), &[format!("link.{entry}.{end}"), format!("link.{entry}")])
    })
}

fn generated(topology: &Topology) -> Result<Network, TopologyError> {
    let cable = |rate, delay| Cable { rate, delay };
    match *topology {
        Topology::Star(ref star) => Ok(around(star)),
        Topology::Switch(OneSwitch { hosts, rate, delay, .. }) => topology::single_switch(hosts, cable(rate, delay)),
        Topology::Chain(Chain { switches, hosts, rate, delay, trunk_rate, trunk_delay, .. }) => {
            topology::chain(switches, hosts, cable(rate, delay), cable(trunk_rate, trunk_delay))
        }
        Topology::ParkingLot(ParkingLot { stages, long, rate, delay, trunk_rate, trunk_delay, .. }) => {
            topology::parking_lot(stages, long, cable(rate, delay), cable(trunk_rate, trunk_delay))
        }
        Topology::Tree(Tree { depth, fanout, hosts, rate, delay, trunk_rate, trunk_delay, .. }) => {
            topology::tree(depth, fanout, hosts, cable(rate, delay), cable(trunk_rate, trunk_delay))
        }
        Topology::LeafSpine(LeafSpine { leaves, spines, hosts, rate, delay, trunk_rate, trunk_delay, .. }) => {
            topology::leaf_spine(leaves, spines, hosts, cable(rate, delay), cable(trunk_rate, trunk_delay))
        }
        Topology::FatTree(FatTree { k, rate, delay, trunk_rate, trunk_delay, .. }) => {
            topology::fat_tree(k, cable(rate, delay), cable(trunk_rate, trunk_delay))
        }
        Topology::Graph(_) => unreachable!("a graph's links are written out"),
    }
}

/// A star: the sources, the switch, the sink, in this order.
fn around(star: &Star) -> Network {
    let node = |name: String, role| Node { name, role };
    let mut nodes: Vec<Node> = (1..=star.sources).map(|i| node(format!("source{i}"), Role::Host)).collect();
    nodes.push(node("switch".to_owned(), Role::Switch));
    nodes.push(node("sink".to_owned(), Role::Host));
    let switch = NodeId::new(star.sources);
    let source = |a| Link { a: NodeId::new(a), b: switch, rate: star.rate, delay: star.rtt.half_rounded_down() };
    let sink = Link { a: switch, b: NodeId::new(star.sources + 1), rate: star.bottleneck_rate, delay: star.sink_delay };
    Network { nodes: nodes.into(), links: (0..star.sources).map(source).chain([sink]).collect() }
}

/// The links of one entry.
fn expand(graph: &Graph, entry: &Links, index: usize) -> Result<Vec<NamedLink>, LocatedFault> {
    let key = |name: &str| format!("link.{index}.{name}");
    let names = |text: &str, name: &str| {
        let key = key(name);
        read_pattern(text, &key)?.names().map_err(|error| bad_pattern(text, error, &key))
    };
    let (from, to) = (names(&entry.from, "from")?, names(&entry.to, "to")?);
    let missing = |name: &'static str, example: &str| {
        let fault = Fault::MissingKey { key: name, table: "[[link]]".to_owned(), example: example.to_owned() };
        LocatedFault::new(fault, &[format!("link.{index}"), "link".to_owned()])
    };
    let rate = entry.rate.or(graph.rate).ok_or_else(|| missing("rate", "rate = \"10 Gb/s\", here or in [topology]"))?;
    let delay =
        entry.delay.or(graph.delay).ok_or_else(|| missing("delay", "delay = \"1 us\", here or in [topology]"))?;
    let count = from.len().max(to.len());
    if !count.is_multiple_of(from.len().min(to.len())) {
        let fault = Fault::Unpaired { left: from.len(), right: to.len(), shared: true };
        return Err(LocatedFault::new(fault, &[key("to"), key("from")]));
    }
    let end = |names: &[String], i: usize| names[i * names.len() / count].clone();
    let cable = Cable { rate, delay };
    Ok((0..count).map(|i| NamedLink { a: end(&from, i), b: end(&to, i), cable }).collect())
}

/// Nodes in the order entries name them, of one entry first those of `from`; a node with one link is a host.
fn nodes(tables: &[Links], links: &[NamedLink], entries: &[usize]) -> Vec<Node> {
    let mut order: Vec<&str> = Vec::new();
    let mut degrees: HashMap<&str, usize> = HashMap::new();
    for index in 0..tables.len() {
        let of_entry = || links.iter().zip(entries).filter(|(_, entry)| **entry == index).map(|(link, _)| link);
        for name in of_entry().map(|link| &*link.a).chain(of_entry().map(|link| &*link.b)) {
            let degree = degrees.entry(name).or_insert(0);
            if *degree == 0 {
                order.push(name);
            }
            *degree += 1;
        }
    }
    let role = |name: &str| if degrees[name] == 1 { Role::Host } else { Role::Switch };
    order.into_iter().map(|name| Node { name: name.to_owned(), role: role(name) }).collect()
}

/// Returns the link that an error is about, the later one of two, and the key of the end at fault.
fn culprit(error: &TopologyError, links: &[NamedLink]) -> Option<(usize, &'static str)> {
    let speaks_of = |link: &NamedLink| match error {
        TopologyError::BadName { name } if link.a == *name => Some("from"),
        TopologyError::BadName { name } => (link.b == *name).then_some("to"),
        TopologyError::SelfLink { name } => (link.a == *name && link.b == *name).then_some("to"),
        TopologyError::TwinLinks { a, b } => {
            ((&link.a, &link.b) == (a, b) || (&link.a, &link.b) == (b, a)).then_some("to")
        }
        _ => None,
    };
    links.iter().enumerate().rev().find_map(|(index, link)| Some((index, speaks_of(link)?)))
}
