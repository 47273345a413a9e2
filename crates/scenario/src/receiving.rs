//! Hosts that keep what they receive until they have read it.
//!
//! Such a host is two nodes: one with memory, and an inner node for what the host has read. A link without propagation
//! delay joins them. Paths that end at the host go on over that link; a receiver's answers start at the inner node.

use super::Adapters;
use qcnlab_network::topology::{Link, Network, Node, NodeId, PortId, Role};
use qcnlab_units::{IdVec, Paths, Span};

/// Suffix of an inner node's name, after its host's. Names in files have no slash.
const READER: &str = "/reader";

impl Adapters {
    /// Whether hosts of this table keep what they receive.
    pub(super) const fn receives(&self) -> bool {
        self.receive_buffer.is_some() || self.receive_rate.is_some()
    }
}

/// Add an inner node to each host whose table, which `adapter` returns, receives; append its port to every path that
/// ends at the host.
pub(super) fn add_readers<'a>(
    network: &mut Network,
    paths: &mut Vec<Paths<PortId>>,
    adapter: impl Fn(NodeId) -> Option<&'a Adapters>,
) {
    let mut inside = IdVec::for_each_of(&network.nodes, None);
    for host in inside.ids() {
        let Some(table) = adapter(host).filter(|table| table.receives()) else { continue };
        let Some(link) = network.links.iter().find(|link| link.a == host || link.b == host) else { continue };
        let rate = table.receive_rate.unwrap_or(link.rate);
        inside[host] = Some(network.links.next_id().there());
        let name = format!("{}{READER}", network.nodes[host].name);
        network.links.push(Link { a: host, b: network.nodes.next_id(), rate, delay: Span::ZERO });
        network.nodes.push(Node { name, role: Role::Host });
    }
    if inside.iter().any(Option::is_some) {
        *paths = Paths::changed(paths, |path| {
            let last = path.last().map(|port| network.ends(*port).1);
            path.iter().copied().chain(last.and_then(|host| inside[host])).collect::<Vec<_>>()
        });
    }
}
