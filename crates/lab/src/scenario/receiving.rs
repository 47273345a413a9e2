//! Hosts that hold what they receive until they have read it.
//!
//! Such a host is a node with memory and, behind it, a link of no length to an inner node that takes what the host
//! has read. Ways that end at the host go on over that link, and what a receiver answers starts at the inner node.

use super::Adapters;
use crate::topology::{Link, Network, Node, Role};
use qcnlab_units::Span;

/// What follows the name of a host in that of its inner node. No name in a file has the slash.
const READER: &str = "/reader";

impl Adapters {
    /// Whether hosts that go by it hold what they receive.
    pub(super) const fn receives(&self) -> bool {
        self.receive_buffer.is_some() || self.receive_rate.is_some()
    }
}

/// Adds an inner node to each host for which `adapter` gives a table that receives, and its port to every way that
/// ends at the host.
pub(super) fn add_readers<'a>(
    network: &mut Network,
    paths: &mut [Vec<Vec<u32>>],
    adapter: impl Fn(u32) -> Option<&'a Adapters>,
) {
    let mut inside = vec![None; network.nodes.len()];
    for host in 0..inside.len() as u32 {
        let Some(table) = adapter(host).filter(|table| table.receives()) else { continue };
        let Some(link) = network.links.iter().find(|link| link.a == host || link.b == host) else { continue };
        let rate = table.receive_rate.unwrap_or(link.rate);
        inside[host as usize] = Some(network.ports());
        let name = format!("{}{READER}", network.nodes[host as usize].name);
        network.links.push(Link { a: host, b: network.nodes.len() as u32, rate, delay: Span::ZERO });
        network.nodes.push(Node { name, role: Role::Host });
    }
    for path in paths.iter_mut().flatten() {
        let last = path.last().map(|port| network.ends(*port).1);
        path.extend(last.and_then(|host| inside[host as usize]));
    }
}
