//! Networks by parameters.
//!
//! Hosts come first, from `host1` on, then switches; the link of the i-th host is link i. Then follow
//! the links between switches, each from the switch nearer to the hosts, or earlier in a chain.

use super::{Cable, Link, MOST_LINKS, MOST_NODES, Network, Node, NodeId, Role, TopologyError, within};
use qcnlab_units::{Id, IdVec};

/// `hosts` hosts around one `switch`.
///
/// # Errors
/// No hosts, or too many.
pub fn single_switch(hosts: u32, link: Cable) -> Result<Network, TopologyError> {
    some("switch", &[("hosts", hosts)])?;
    let mut plan = Plan::new("switch", u128::from(hosts) + 1, hosts.into())?;
    plan.hosts(hosts);
    let switch = plan.switch("switch".to_owned());
    (0..hosts).for_each(|host| plan.join(host, switch, link));
    Ok(plan.0)
}

/// `switch1` to `switchS` in a row, each with `hosts` hosts: `host1` and so on at `switch1`, the next ones at
/// `switch2`. Deck 004, slide 25, has 20 switches of 3 hosts numbered in this way.
///
/// # Errors
/// None or too many of something.
pub fn chain(switches: u32, hosts: u32, link: Cable, trunk: Cable) -> Result<Network, TopologyError> {
    some("chain", &[("switches", switches), ("hosts", hosts)])?;
    let all = u128::from(switches) * u128::from(hosts);
    let mut plan = Plan::new("chain", all + u128::from(switches), all + u128::from(switches) - 1)?;
    let all = all as u32;
    plan.hosts(all);
    let first = plan.switches(switches, |i| format!("switch{i}"));
    (0..all).for_each(|host| plan.join(host, first + host / hosts, link));
    (1..switches).for_each(|i| plan.join(first + i - 1, first + i, trunk));
    Ok(plan.0)
}

/// A chain of `stages` trunks between `switch1` and the last switch, that `long` senders cross in full and
/// a sender for each trunk crosses alone.
///
/// Hosts, in order: `long1` to `longL` at `switch1`, which send to `sink`; `cross1` to `crossS`, where `crossI` sits
/// at `switchI` and sends to `exitI` at the next switch; `exit1` to `exitS`; and `sink` at the last switch. With
/// four long senders and two stages these are nodes 1 to 9 of deck 004, slide 29.
///
/// # Errors
/// None or too many of something.
pub fn parking_lot(stages: u32, long: u32, link: Cable, trunk: Cable) -> Result<Network, TopologyError> {
    some("parking_lot", &[("stages", stages), ("long", long)])?;
    let hosts = u128::from(long) + 2 * u128::from(stages) + 1;
    let mut plan = Plan::new("parking_lot", hosts + u128::from(stages) + 1, hosts + u128::from(stages))?;
    let mut switch_of_host = Vec::new();
    let mut host = |name: String, switch: u32| {
        plan.node(name, Role::Host);
        switch_of_host.push(switch);
    };
    (1..=long).for_each(|i| host(format!("long{i}"), 0));
    (1..=stages).for_each(|i| host(format!("cross{i}"), i - 1));
    (1..=stages).for_each(|i| host(format!("exit{i}"), i));
    host("sink".to_owned(), stages);
    let first = plan.switches(stages + 1, |i| format!("switch{i}"));
    (0..).zip(switch_of_host).for_each(|(host, switch)| plan.join(host, first + switch, link));
    (0..stages).for_each(|i| plan.join(first + i, first + i + 1, trunk));
    Ok(plan.0)
}

/// A tree of switches `depth` levels deep, each with `fanout` switches below it, and `hosts` hosts at each switch of
/// the lowest level. Switches are named by level from the root, `level1-switch1`, and counted within it.
///
/// # Errors
/// None or too many of something.
pub fn tree(depth: u32, fanout: u32, hosts: u32, link: Cable, trunk: Cable) -> Result<Network, TopologyError> {
    some("tree", &[("depth", depth), ("fanout", fanout), ("hosts", hosts)])?;
    let most = u128::from(MOST_NODES);
    let widths: Vec<u128> = std::iter::successors(Some(1), |width| Some(width * u128::from(fanout)))
        .take(depth.min(MOST_NODES as u32 + 1) as usize)
        .take_while(|width| *width <= most)
        .collect();
    if widths.len() < depth as usize {
        let count = widths.last().map_or(0, |width| width * u128::from(fanout)).max(depth.into());
        return within("tree", "nodes", count, MOST_NODES).map(|()| Network::default());
    }
    let (leaves, switches) = (widths[widths.len() - 1], widths.iter().sum::<u128>());
    let all = leaves * u128::from(hosts);
    let mut plan = Plan::new("tree", all + switches, all + switches - 1)?;
    let all = all as u32;
    plan.hosts(all);
    let firsts: Vec<u32> = (1..)
        .zip(&widths)
        .map(|(level, width)| plan.switches(*width as u32, |i| format!("level{level}-switch{i}")))
        .collect();
    (0..all).for_each(|host| plan.join(host, firsts[firsts.len() - 1] + host / hosts, link));
    for (level, width) in widths.iter().enumerate().skip(1) {
        (0..*width as u32).for_each(|i| plan.join(firsts[level] + i, firsts[level - 1] + i / fanout, trunk));
    }
    Ok(plan.0)
}

/// `leaf1` and so on with `hosts` hosts each, every leaf joined to every one of `spine1` and so on by an `uplink`.
///
/// # Errors
/// None or too many of something.
pub fn leaf_spine(leaves: u32, spines: u32, hosts: u32, link: Cable, uplink: Cable) -> Result<Network, TopologyError> {
    some("leaf_spine", &[("leaves", leaves), ("spines", spines), ("hosts", hosts)])?;
    let all = u128::from(leaves) * u128::from(hosts);
    let nodes = all + u128::from(leaves) + u128::from(spines);
    let mut plan = Plan::new("leaf_spine", nodes, all + u128::from(leaves) * u128::from(spines))?;
    let all = all as u32;
    plan.hosts(all);
    let leaf = plan.switches(leaves, |i| format!("leaf{i}"));
    let spine = plan.switches(spines, |i| format!("spine{i}"));
    (0..all).for_each(|host| plan.join(host, leaf + host / hosts, link));
    for l in 0..leaves {
        (0..spines).for_each(|s| plan.join(leaf + l, spine + s, uplink));
    }
    Ok(plan.0)
}

/// The fat-tree of k-port switches: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches and
/// k^3/4 hosts (Al-Fares et al., SIGCOMM 2008, section 3.2).
///
/// Switches are `pod1-edge1`, then `pod1-aggregation1`, then `core1`, each kind in order of pods. The i-th aggregation
/// switch of every pod has the i-th group of k/2 cores above it.
///
/// # Errors
/// k odd, zero or too large.
pub fn fat_tree(k: u32, link: Cable, trunk: Cable) -> Result<Network, TopologyError> {
    some("fat_tree", &[("k", k)])?;
    if !k.is_multiple_of(2) {
        return Err(TopologyError::OddArity { k });
    }
    let wide = u128::from(k);
    let all = wide * wide * wide / 4;
    let mut plan = Plan::new("fat_tree", all + 5 * wide * wide / 4, 3 * all)?;
    let (all, half) = (all as u32, k / 2);
    plan.hosts(all);
    let in_pod = |what: &'static str| move |i: u32| format!("pod{}-{what}{}", (i - 1) / half + 1, (i - 1) % half + 1);
    let edge = plan.switches(k * half, in_pod("edge"));
    let aggregation = plan.switches(k * half, in_pod("aggregation"));
    let core = plan.switches(half * half, |i| format!("core{i}"));
    (0..all).for_each(|host| plan.join(host, edge + host / half, link));
    for i in 0..k * half {
        let pod = i / half * half;
        (0..half).for_each(|j| plan.join(edge + i, aggregation + pod + j, trunk));
    }
    for i in 0..k * half {
        (0..half).for_each(|j| plan.join(aggregation + i, core + i % half * half + j, trunk));
    }
    Ok(plan.0)
}

fn some(topology: &'static str, counts: &[(&'static str, u32)]) -> Result<(), TopologyError> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some((what, _)) => Err(TopologyError::None { topology, what }),
        None => Ok(()),
    }
}

/// A network that grows.
struct Plan(Network);

impl Plan {
    fn new(topology: &'static str, nodes: u128, links: u128) -> Result<Plan, TopologyError> {
        within(topology, "nodes", nodes, MOST_NODES)?;
        within(topology, "links", links, MOST_LINKS)?;
        let (nodes, links) = (IdVec::with_capacity(nodes as usize), IdVec::with_capacity(links as usize));
        Ok(Plan(Network { nodes, links }))
    }

    fn node(&mut self, name: String, role: Role) -> u32 {
        self.0.nodes.push(Node { name, role }).number()
    }

    fn switch(&mut self, name: String) -> u32 {
        self.node(name, Role::Switch)
    }

    fn hosts(&mut self, count: u32) {
        (1..=count).for_each(|i| {
            self.node(format!("host{i}"), Role::Host);
        });
    }

    /// Switches 1 to `count` by name; the position of the first.
    fn switches(&mut self, count: u32, name: impl Fn(u32) -> String) -> u32 {
        let first = self.0.nodes.next_id().number();
        (1..=count).for_each(|i| {
            self.switch(name(i));
        });
        first
    }

    fn join(&mut self, a: u32, b: u32, Cable { rate, delay }: Cable) {
        self.0.links.push(Link { a: NodeId::new(a), b: NodeId::new(b), rate, delay });
    }
}

#[cfg(test)]
mod tests {
    use super::super::LinkId;
    use super::*;
    use qcnlab_units::{BitRate, Span};

    const LINK: Cable = Cable { rate: BitRate::gbps(10), delay: Span::from_us(1) };
    const TRUNK: Cable = Cable { rate: BitRate::gbps(40), delay: Span::from_us(2) };

    fn joins(network: &Network, a: &str, b: &str) -> bool {
        let name = |node: NodeId| &*network.nodes[node].name;
        network.links.iter().any(|link| name(link.a) == a && name(link.b) == b)
    }

    fn sizes(network: &Network) -> (usize, usize, usize) {
        network.check().unwrap();
        let hosts = network.hosts().count();
        (hosts, network.nodes.len() - hosts, network.links.len())
    }

    #[test]
    fn one_switch_has_all_hosts() {
        let network = single_switch(11, LINK).unwrap();
        assert_eq!(sizes(&network), (11, 1, 11));
        assert!(joins(&network, "host11", "switch"));
    }

    #[test]
    fn a_chain_counts_its_hosts_through() {
        // Deck 004: nodes 3 i + 1 to 3 i + 3 sit at stage i, from 0; the 59th at the last of 20.
        let network = chain(20, 3, LINK, TRUNK).unwrap();
        assert_eq!(sizes(&network), (60, 20, 79));
        assert!(joins(&network, "host3", "switch1") && joins(&network, "host4", "switch2"));
        assert!(joins(&network, "host59", "switch20") && joins(&network, "switch19", "switch20"));
        assert_eq!(network.links[LinkId::new(60)].rate, TRUNK.rate);
        assert_eq!(network.links[LinkId::new(59)].rate, LINK.rate);
    }

    #[test]
    fn a_parking_lot_is_numbered_like_the_deck() {
        let network = parking_lot(2, 4, LINK, TRUNK).unwrap();
        assert_eq!(sizes(&network), (9, 3, 11));
        let names: Vec<&str> = network.nodes.iter().map(|node| &*node.name).collect();
        assert_eq!(names[..5], ["long1", "long2", "long3", "long4", "cross1"]);
        assert_eq!(names[5..9], ["cross2", "exit1", "exit2", "sink"]);
        assert!(joins(&network, "cross2", "switch2") && joins(&network, "exit1", "switch2"));
        assert!(joins(&network, "exit2", "switch3") && joins(&network, "sink", "switch3"));
    }

    #[test]
    fn a_tree_has_its_hosts_at_the_lowest_level() {
        let network = tree(3, 2, 4, LINK, TRUNK).unwrap();
        // 1 + 2 + 4 switches, 4 leaves of 4 hosts, a link above each node but the root.
        assert_eq!(sizes(&network), (16, 7, 22));
        assert!(joins(&network, "host16", "level3-switch4") && joins(&network, "level3-switch3", "level2-switch2"));
        assert!(joins(&network, "level2-switch1", "level1-switch1"));
        assert_eq!(sizes(&tree(1, 9, 2, LINK, TRUNK).unwrap()), (2, 1, 2));
    }

    #[test]
    fn every_leaf_meets_every_spine() {
        let network = leaf_spine(3, 2, 4, LINK, TRUNK).unwrap();
        assert_eq!(sizes(&network), (12, 5, 18));
        assert!(joins(&network, "host5", "leaf2") && joins(&network, "leaf3", "spine2"));
        assert_eq!(network.links[LinkId::new(17)].rate, TRUNK.rate);
    }

    #[test]
    fn fat_trees_have_the_published_sizes() {
        // k^3/4 hosts, 5 k^2/4 switches, k^3/4 links on each of three levels.
        assert_eq!(sizes(&fat_tree(2, LINK, LINK).unwrap()), (2, 5, 6));
        assert_eq!(sizes(&fat_tree(4, LINK, LINK).unwrap()), (16, 20, 48));
        assert_eq!(sizes(&fat_tree(8, LINK, LINK).unwrap()), (128, 80, 384));
        let network = fat_tree(4, LINK, LINK).unwrap();
        assert!(joins(&network, "host5", "pod2-edge1") && joins(&network, "host16", "pod4-edge2"));
        assert!(joins(&network, "pod3-edge2", "pod3-aggregation1"));
        assert!(joins(&network, "pod3-aggregation2", "core3") && joins(&network, "pod1-aggregation1", "core2"));
        assert!(!joins(&network, "pod3-aggregation1", "core3"));
    }

    /// Links of hosts are slow and short, those between switches fast and long, on every level.
    #[test]
    fn links_between_switches_are_trunks() {
        for network in [
            chain(3, 2, LINK, TRUNK),
            parking_lot(3, 2, LINK, TRUNK),
            tree(3, 2, 2, LINK, TRUNK),
            leaf_spine(2, 3, 2, LINK, TRUNK),
            fat_tree(4, LINK, TRUNK),
        ] {
            let network = network.unwrap();
            let is_switch = |node: NodeId| network.is_switch(node);
            for (number, link) in network.links.iter().enumerate() {
                let cable = if is_switch(link.a) && is_switch(link.b) { TRUNK } else { LINK };
                assert_eq!(
                    (link.rate, link.delay),
                    (cable.rate, cable.delay),
                    "link {number} of {}",
                    network.links.len()
                );
            }
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let said = |error: Result<Network, TopologyError>| error.unwrap_err().to_string();
        assert_eq!(said(single_switch(0, LINK)), "switch: hosts must be 1 or more");
        assert_eq!(said(chain(2, 0, LINK, LINK)), "chain: hosts must be 1 or more");
        assert_eq!(said(parking_lot(0, 1, LINK, LINK)), "parking_lot: stages must be 1 or more");
        assert!(said(fat_tree(5, LINK, LINK)).ends_with("half go down"));
        let most = u32::MAX;
        for network in [
            single_switch(most, LINK),
            chain(most, most, LINK, LINK),
            parking_lot(most, most, LINK, LINK),
            tree(most, 1, 1, LINK, LINK),
            tree(most, most, most, LINK, LINK),
            tree(3, 2000, 1, LINK, LINK),
            leaf_spine(most, most, most, LINK, LINK),
            leaf_spine(3000, 3000, 1, LINK, LINK),
            fat_tree(most - 1, LINK, LINK),
        ] {
            assert!(said(network).contains("more than the"));
        }
    }
}
