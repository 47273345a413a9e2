//! Networks as plain graphs: hosts, switches and full-duplex links.
//!
//! A link has two directions, each with a queue of its own in front. They are called ports and are
//! numbered like this: link `l` gives port `2 l` from its end `a` to its end `b`, and port `2 l + 1` back.

mod error;
mod generators;
mod ids;
mod routes;

pub use error::TopologyError;
pub use generators::{chain, fat_tree, leaf_spine, parking_lot, single_switch, tree};
pub use ids::{LinkId, NodeId, PortId};
pub use routes::{MOST_PATHS, Routes, flow_hash};

use qcnlab_units::{BitRate, Id, IdVec, Span, nearest};
use std::collections::{HashMap, HashSet};

/// Most nodes of a network.
pub const MOST_NODES: u64 = 1 << 20;
/// Most links of a network.
pub const MOST_LINKS: u64 = 1 << 22;

/// Hosts and switches, and the links between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Hosts and switches; links name them by position.
    pub nodes: IdVec<NodeId, Node>,
    /// Links; ports are numbered after them.
    pub links: IdVec<LinkId, Link>,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name: letters, digits, `-`, `_` and `.`, like no other node's.
    pub name: String,
    /// What it is.
    pub role: Role,
}

/// What a node does with frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sends and receives over one link, and never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate of each direction.
    pub rate: BitRate,
    /// Propagation delay, one way.
    pub delay: Span,
}

/// Rate and one-way delay of links of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Rate of each direction.
    pub rate: BitRate,
    /// Propagation delay, one way.
    pub delay: Span,
}

/// A link between two nodes called by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLink {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate and delay.
    pub cable: Cable,
}

impl Network {
    /// A checked network of the nodes and links given.
    ///
    /// # Errors
    /// Whatever [`Network::check`] finds.
    pub fn new(nodes: Vec<Node>, links: Vec<Link>) -> Result<Network, TopologyError> {
        let network = Network { nodes: nodes.into(), links: links.into() };
        network.check()?;
        Ok(network)
    }

    /// A checked network of links that call their ends by name.
    ///
    /// # Errors
    /// A link to a name that no node has, and whatever [`Network::check`] finds.
    pub fn from_names(nodes: Vec<Node>, links: &[NamedLink]) -> Result<Network, TopologyError> {
        let index: HashMap<&str, NodeId> =
            (0..).map(NodeId::new).zip(&nodes).map(|(i, node)| (&*node.name, i)).collect();
        let find = |name: &String| {
            let unknown = || TopologyError::UnknownNode {
                name: name.clone(),
                nearest: nearest(name, nodes.iter().map(|node| &*node.name)),
            };
            index.get(&**name).copied().ok_or_else(unknown)
        };
        let join = |link: &NamedLink| {
            Ok(Link { a: find(&link.a)?, b: find(&link.b)?, rate: link.cable.rate, delay: link.cable.delay })
        };
        let links = links.iter().map(join).collect::<Result<_, _>>()?;
        Network::new(nodes, links)
    }

    /// Whether names, links and sizes are in order. Parts that no link joins are allowed: only a pair
    /// that talks needs a path.
    ///
    /// # Errors
    /// A bad or repeated name, a link to an unknown node or to its own start, a second link between one
    /// pair or at one host, a link without rate, too many nodes or links.
    pub fn check(&self) -> Result<(), TopologyError> {
        within("graph", "nodes", self.nodes.len() as u128, MOST_NODES)?;
        within("graph", "links", self.links.len() as u128, MOST_LINKS)?;
        let mut names = HashSet::with_capacity(self.nodes.len());
        for Node { name, .. } in &self.nodes {
            if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
                return Err(TopologyError::BadName { name: name.clone() });
            }
            if !names.insert(&**name) {
                return Err(TopologyError::DuplicateName { name: name.clone() });
            }
        }
        self.check_links()
    }

    fn check_links(&self) -> Result<(), TopologyError> {
        let name = |node: NodeId| self.nodes[node].name.clone();
        let mut pairs = HashSet::with_capacity(self.links.len());
        let mut linked = IdVec::for_each_of(&self.nodes, false);
        for (i, link) in self.links.enumerate() {
            if let Some(&node) = [link.a, link.b].iter().find(|node| **node >= self.nodes.next_id()) {
                return Err(TopologyError::NoSuchNode {
                    link: i.position(),
                    node: node.number(),
                    nodes: self.nodes.len(),
                });
            }
            let (a, b) = (link.a, link.b);
            if a == b {
                return Err(TopologyError::SelfLink { name: name(a) });
            }
            if !pairs.insert((a.min(b), a.max(b))) {
                return Err(TopologyError::TwinLinks { a: name(a), b: name(b) });
            }
            if link.rate == BitRate::ZERO {
                return Err(TopologyError::NoRate { a: name(a), b: name(b) });
            }
            for end in [a, b] {
                let second = std::mem::replace(&mut linked[end], true);
                if second && self.nodes[end].role == Role::Host {
                    return Err(TopologyError::SecondLink { name: name(end) });
                }
            }
        }
        Ok(())
    }

    /// The node called `name`.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.find_id(|node| node.name == name)
    }

    /// The hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.enumerate().filter(|(_, node)| node.role == Role::Host).map(|(host, _)| host)
    }

    /// Whether a node is a switch.
    pub fn is_switch(&self, node: NodeId) -> bool {
        self.nodes[node].role == Role::Switch
    }

    /// All ports, in order: two for each link.
    pub fn ports(&self) -> impl DoubleEndedIterator<Item = PortId> + ExactSizeIterator + use<> {
        (0..2 * self.links.next_id().number()).map(PortId::new)
    }

    /// A value for each port.
    pub fn by_port<T: Clone>(&self, value: T) -> IdVec<PortId, T> {
        IdVec::from(vec![value; 2 * self.links.len()])
    }

    /// The nodes a port leads from and to.
    pub fn ends(&self, port: PortId) -> (NodeId, NodeId) {
        let link = self.link(port);
        if port.is_there() { (link.a, link.b) } else { (link.b, link.a) }
    }

    /// The link a port is one direction of.
    pub fn link(&self, port: PortId) -> &Link {
        &self.links[port.link()]
    }

    /// A port's name, written from->to.
    pub fn port_name(&self, port: PortId) -> String {
        let (from, to) = self.ends(port);
        format!("{}->{}", self.nodes[from].name, self.nodes[to].name)
    }

    /// Rates of all ports in bit/s, by port: the capacities that fair shares are worked out from.
    pub fn capacities_bps(&self) -> IdVec<PortId, f64> {
        self.ports().map(|port| self.link(port).rate.as_f64()).collect()
    }
}

fn within(topology: &'static str, what: &'static str, count: u128, most: u64) -> Result<(), TopologyError> {
    if count > u128::from(most) { Err(TopologyError::TooMany { topology, what, count, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CABLE: Cable = Cable { rate: BitRate::gbps(10), delay: Span::from_us(1) };

    fn node(name: &str, role: Role) -> Node {
        Node { name: name.to_owned(), role }
    }

    fn graph(hosts: &[&str], switches: &[&str], links: &[(&str, &str)]) -> Result<Network, TopologyError> {
        let hosts = hosts.iter().map(|name| node(name, Role::Host));
        let nodes = hosts.chain(switches.iter().map(|name| node(name, Role::Switch))).collect();
        let named = |(a, b): &(&str, &str)| NamedLink { a: (*a).to_owned(), b: (*b).to_owned(), cable: CABLE };
        Network::from_names(nodes, &links.iter().map(named).collect::<Vec<_>>())
    }

    fn refusal(hosts: &[&str], switches: &[&str], links: &[(&str, &str)]) -> String {
        graph(hosts, switches, links).unwrap_err().to_string()
    }

    #[test]
    fn ports_come_in_pairs() {
        let network = graph(&["a", "b"], &["s"], &[("a", "s"), ("s", "b")]).unwrap();
        let names: Vec<String> = network.ports().map(|port| network.port_name(port)).collect();
        assert_eq!(names, ["a->s", "s->a", "s->b", "b->s"]);
        let port = PortId::new;
        assert_eq!((port(2).reverse(), port(3).reverse(), port(3).link().there()), (port(3), port(2), port(2)));
        assert_eq!(network.hosts().collect::<Vec<_>>(), [NodeId::new(0), NodeId::new(1)]);
        assert_eq!((network.node("s"), network.node("t")), (Some(NodeId::new(2)), None));
        assert_eq!(*network.capacities_bps(), [1e10; 4]);
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(refusal(&["a", "a"], &[], &[]), "two nodes are called 'a'");
        assert_eq!(refusal(&["a"], &["a"], &[]), "two nodes are called 'a'");
        assert!(refusal(&["a->b"], &[], &[]).starts_with("'a->b' cannot name a node"));
        assert!(refusal(&[""], &[], &[]).starts_with("'' cannot name a node"));
        let misspelt = refusal(&["host1"], &["switch"], &[("host1", "swich")]);
        assert_eq!(misspelt, "a link goes to 'swich', which is no node; did you mean 'switch'?");
        assert_eq!(refusal(&[], &["s"], &[("s", "s")]), "a link goes from 's' to itself");
        assert!(refusal(&[], &["s", "t"], &[("s", "t"), ("t", "s")]).starts_with("two links join 't' and 's'"));
        assert!(refusal(&["a"], &["s", "t"], &[("a", "s"), ("t", "a")]).starts_with("host 'a' has more than one link"));
        let still = Link { a: NodeId::new(0), b: NodeId::new(1), rate: BitRate::ZERO, delay: Span::ZERO };
        let pair = vec![node("a", Role::Host), node("b", Role::Host)];
        assert_eq!(
            Network::new(pair.clone(), vec![still]).unwrap_err(),
            TopologyError::NoRate { a: "a".to_owned(), b: "b".to_owned() }
        );
        let away = Link { a: NodeId::new(0), b: NodeId::new(2), rate: BitRate::gbps(1), delay: Span::ZERO };
        let fault = Network::new(pair, vec![away]).unwrap_err();
        assert_eq!(fault, TopologyError::NoSuchNode { link: 0, node: 2, nodes: 2 });
    }
}
