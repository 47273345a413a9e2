//! Shortest paths between hosts.

use super::{LinkId, Network, NodeId, PortId, TopologyError};
use qcnlab_units::{Id, IdVec, ids};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Most paths that [`Routes::all`] gives for a pair.
pub const MOST_PATHS: u64 = 64;

/// Switch-to-switch tables are dropped when they hold more entries than this together.
const MOST_ENTRIES: usize = 1 << 23;
/// The distance of what cannot be reached.
const FAR: u32 = u32::MAX;

/// Finds shortest paths, counted in links. Only switches forward.
///
/// A path is a list of ports (see [`Network`]) from the sender's to the one before the receiver. The equal
/// shortest paths of a pair stand in a fixed order: by the number of the first port in which they differ. They
/// are counted, and one is selected by its rank, without listing the others.
#[derive(Clone, Debug)]
pub struct Routes<'a> {
    network: &'a Network,
    /// Ports that lead out of each node to a switch, in order; `starts` has where each node's begin.
    out: Vec<PortId>,
    starts: IdVec<NodeId, usize>,
    /// The switch that each of these ports leads to.
    ahead: Vec<SwitchId>,
    /// The one port of each host that has one.
    adapters: IdVec<NodeId, Option<PortId>>,
    /// Shortest paths to each switch that was a destination so far.
    to_switch: HashMap<NodeId, PathsToSwitch>,
    /// Position of each node among the switches.
    ranks: IdVec<NodeId, SwitchId>,
    switches: IdVec<SwitchId, NodeId>,
}

ids! {
    /// A switch, by its position among the switches.
    struct SwitchId;
}

/// Shortest paths to one switch from every other.
#[derive(Clone, Debug)]
struct PathsToSwitch {
    /// Links of a shortest path, by switch.
    hops: IdVec<SwitchId, u32>,
    /// Number of shortest paths, up to 2^64 - 1, by switch.
    ways: IdVec<SwitchId, u64>,
}

impl<'a> Routes<'a> {
    /// Paths in a network.
    ///
    /// # Errors
    /// Whatever [`Network::check`] finds.
    pub fn new(network: &'a Network) -> Result<Routes<'a>, TopologyError> {
        Routes::avoiding(network, &IdVec::for_each_of(&network.links, false))
    }

    /// Paths in a network without some of its links, those that are `dead`.
    ///
    /// # Errors
    /// Whatever [`Network::check`] finds.
    pub fn avoiding(network: &'a Network, dead: &IdVec<LinkId, bool>) -> Result<Routes<'a>, TopologyError> {
        network.check()?;
        let alive = |port: &PortId| !dead[port.link()];
        let mut adapters = IdVec::for_each_of(&network.nodes, None);
        // One more than there are nodes: the last one's ports end there.
        let mut starts: IdVec<NodeId, usize> = IdVec::from(vec![0; network.nodes.len() + 1]);
        for port in network.ports().filter(alive) {
            let (from, to) = network.ends(port);
            if !network.is_switch(from) {
                adapters[from] = Some(port);
            }
            if network.is_switch(to) {
                starts[NodeId::new(from.number() + 1)] += 1;
            }
        }
        let mut all = 0;
        for start in starts.iter_mut() {
            all += *start;
            *start = all;
        }
        let mut out = vec![PortId::new(0); all];
        let mut next = starts.clone();
        for port in network.ports().filter(alive) {
            let (from, to) = network.ends(port);
            if network.is_switch(to) {
                out[next[from]] = port;
                next[from] += 1;
            }
        }
        let switches: IdVec<SwitchId, NodeId> = network.nodes.ids().filter(|node| network.is_switch(*node)).collect();
        let mut ranks = IdVec::for_each_of(&network.nodes, SwitchId::new(0));
        switches.enumerate().for_each(|(rank, node)| ranks[*node] = rank);
        let ahead = out.iter().map(|port| ranks[network.ends(*port).1]).collect();
        Ok(Routes { network, out, starts, ahead, adapters, to_switch: HashMap::new(), ranks, switches })
    }

    /// The switch that a host is linked to; `None` where it has no link, or one to another host.
    pub fn switch_of(&self, host: NodeId) -> Option<NodeId> {
        let port = self.adapters[host]?;
        Some(self.network.ends(port).1).filter(|node| self.network.is_switch(*node))
    }

    /// How many shortest paths lead from one host to another, up to 2^64 - 1.
    ///
    /// # Errors
    /// An end that is a switch, a host that sends to itself, or no path.
    pub fn count(&mut self, from: NodeId, to: NodeId) -> Result<u64, TopologyError> {
        Ok(self.way(from, to)?.1)
    }

    /// The first of the shortest paths.
    ///
    /// # Errors
    /// Those of [`Routes::count`].
    pub fn first(&mut self, from: NodeId, to: NodeId) -> Result<Vec<PortId>, TopologyError> {
        let (end, _) = self.way(from, to)?;
        Ok(self.ranked(from, to, end, 0))
    }

    /// The shortest path that the flow called `flow` takes: the one whose rank, from 0, is the whole part of
    /// h n / 2^64 for the flow's hash h (see [`flow_hash`]) and n paths.
    ///
    /// # Errors
    /// Those of [`Routes::count`].
    pub fn path_of_flow(
        &mut self,
        from: NodeId,
        to: NodeId,
        flow: &str,
        seed: u64,
    ) -> Result<Vec<PortId>, TopologyError> {
        let (end, count) = self.way(from, to)?;
        let rank = (u128::from(flow_hash(flow, seed)) * u128::from(count)) >> 64;
        Ok(self.ranked(from, to, end, rank as u64))
    }

    /// The shortest path that the switches on it choose for the flow called `flow`: each, of its n next links on shortest
    /// paths, the one whose rank, from 0, is the whole part of h n / 2^64 for the hash h of the flow and its seed.
    ///
    /// # Errors
    /// Those of [`Routes::count`].
    pub fn by_switch(
        &mut self,
        from: NodeId,
        to: NodeId,
        flow: &str,
        seed: impl Fn(NodeId) -> u64,
    ) -> Result<Vec<PortId>, TopologyError> {
        let (end, _) = self.way(from, to)?;
        let mut path = vec![self.adapter(from)];
        let Some(end) = end else { return Ok(path) };
        let hops = &self.to_switch[&end].hops;
        let left = |switch: NodeId| hops[self.rank(switch)];
        let mut at = self.network.ends(path[0]).1;
        while at != end {
            let next: Vec<PortId> =
                self.ports_of(at).filter(|port| left(self.network.ends(*port).1) + 1 == left(at)).collect();
            let rank = ((u128::from(flow_hash(flow, seed(at))) * next.len() as u128) >> 64) as u32;
            let port = next[rank.position()];
            path.push(port);
            at = self.network.ends(port).1;
        }
        path.push(self.adapter(to).reverse());
        Ok(path)
    }

    /// All shortest paths in order; of more than [`MOST_PATHS`], that many at equal distances of rank, which use
    /// every next switch equally often if their number allows it.
    ///
    /// # Errors
    /// Those of [`Routes::count`].
    pub fn all(&mut self, from: NodeId, to: NodeId) -> Result<Vec<Vec<PortId>>, TopologyError> {
        let (end, count) = self.way(from, to)?;
        let kept = count.min(MOST_PATHS);
        let rank = |i: u64| (u128::from(i) * u128::from(count) / u128::from(kept)) as u64;
        Ok((0..kept).map(|i| self.ranked(from, to, end, rank(i))).collect())
    }

    /// The longest way between two hosts, where each pair takes the first of its shortest paths and `time` says how long a
    /// link is; the first of equal ones, and none without two hosts that reach each other.
    pub fn longest(&mut self, time: impl Fn(PortId) -> u64) -> Vec<PortId> {
        // Of the hosts at a switch, two with the longest links stand for all: one may be the other end.
        let mut at_neighbour: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (host, port) in self.adapters.enumerate().filter_map(|(host, port)| Some((host, (*port)?))) {
            at_neighbour.entry(self.network.ends(port).1).or_default().push(host);
        }
        for hosts in at_neighbour.values_mut() {
            hosts.sort_by_key(|host| Reverse(time(self.adapter(*host))));
            hosts.truncate(2);
        }
        let hosts: Vec<NodeId> = at_neighbour.into_values().flatten().collect();
        let neighbours: Vec<NodeId> = hosts.iter().map(|host| self.network.ends(self.adapter(*host)).1).collect();
        let by_switch: Vec<(NodeId, usize)> = neighbours.iter().copied().zip(0..).collect();
        // The hosts at a switch stand side by side, so that the ways to it are found once.
        let mut best: Option<(u64, Reverse<(usize, usize)>)> = None;
        for group in by_switch.chunk_by(|a, b| a.0 == b.0) {
            let end = group[0].0;
            let times = self.is_switch(end).then(|| self.first_times(end, &time));
            for (from, to) in (0..).zip(&hosts).flat_map(|(from, _)| group.iter().map(move |(_, to)| (from, *to))) {
                let (sender, receiver) = (hosts[from], hosts[to]);
                let between = match &times {
                    Some(times) => times[self.rank(neighbours[from])],
                    None => (neighbours[from] == receiver).then_some(0),
                };
                let is_switch = self.is_switch(neighbours[from]);
                let Some(between) = between.filter(|_| sender != receiver && is_switch == times.is_some()) else {
                    continue;
                };
                let last = if times.is_some() { time(self.adapter(receiver).reverse()) } else { 0 };
                best = best.max(Some((time(self.adapter(sender)) + between + last, Reverse((from, to)))));
            }
        }
        let Some((_, Reverse((from, to)))) = best else { return Vec::new() };
        self.first(hosts[from], hosts[to]).unwrap_or_default()
    }

    /// The time that the first of the shortest ways takes from each switch to one; `None` where there is no way.
    fn first_times(&mut self, end: NodeId, time: impl Fn(PortId) -> u64) -> IdVec<SwitchId, Option<u64>> {
        self.grow(end);
        let hops = &self.to_switch[&end].hops;
        let left = |node: NodeId| hops[self.rank(node)];
        let reached = |node: &NodeId| self.is_switch(*node) && left(*node) != FAR;
        let mut nearest_first: Vec<NodeId> = self.network.nodes.ids().filter(reached).collect();
        nearest_first.sort_by_key(|node| left(*node));
        let mut times = IdVec::for_each_of(&self.switches, None);
        for node in nearest_first {
            let nearer = |port: &PortId| left(self.network.ends(*port).1).saturating_add(1) == left(node);
            times[self.rank(node)] = match self.ports_of(node).find(nearer) {
                Some(port) => {
                    let next = self.rank(self.network.ends(port).1);
                    times[next].map(|rest: u64| rest + time(port))
                }
                None => Some(0),
            };
        }
        times
    }

    /// The ports by which shortest paths lead from one switch to another, in order; none without a path.
    pub fn next_ports(&mut self, from: NodeId, to: NodeId) -> Vec<PortId> {
        self.grow(to);
        let hops = &self.to_switch[&to].hops;
        let left = |switch: NodeId| hops[self.rank(switch)];
        let nearer = |port: &PortId| left(self.network.ends(*port).1) < left(from);
        if left(from) == FAR { Vec::new() } else { self.ports_of(from).filter(nearer).collect() }
    }

    /// The last switch before `to`, none between two hosts on one link; and the number of paths.
    fn way(&mut self, from: NodeId, to: NodeId) -> Result<(Option<NodeId>, u64), TopologyError> {
        let name = |node: NodeId| self.network.nodes[node].name.clone();
        for end in [from, to] {
            if self.is_switch(end) {
                return Err(TopologyError::NotAHost { name: name(end) });
            }
        }
        if from == to {
            return Err(TopologyError::ToItself { name: name(from) });
        }
        let unreachable = || TopologyError::Unreachable { from: name(from), to: name(to) };
        let neighbour =
            |host: NodeId| self.adapters[host].map(|port| self.network.ends(port).1).ok_or_else(unreachable);
        let (start, end) = (neighbour(from)?, neighbour(to)?);
        if start == to {
            return Ok((None, 1));
        }
        if !self.is_switch(start) || !self.is_switch(end) {
            return Err(unreachable());
        }
        self.grow(end);
        let (paths, rank) = (&self.to_switch[&end], self.rank(start));
        if paths.hops[rank] == FAR { Err(unreachable()) } else { Ok((Some(end), paths.ways[rank])) }
    }

    /// The path of a rank; `end` is the last switch.
    fn ranked(&self, from: NodeId, to: NodeId, end: Option<NodeId>, mut rank: u64) -> Vec<PortId> {
        let mut path = vec![self.adapter(from)];
        let Some(end) = end else {
            return path;
        };
        let paths = &self.to_switch[&end];
        let mut at = self.network.ends(path[0]).1;
        while at != end {
            let hops = paths.hops[self.rank(at)];
            for port in self.ports_of(at) {
                let next = self.network.ends(port).1;
                let there = self.rank(next);
                if paths.hops[there] != hops - 1 {
                    continue;
                }
                if rank < paths.ways[there] {
                    path.push(port);
                    at = next;
                    break;
                }
                rank -= paths.ways[there];
            }
        }
        path.push(self.adapter(to).reverse());
        path
    }

    fn is_switch(&self, node: NodeId) -> bool {
        self.network.is_switch(node)
    }

    /// The one port of a host that is known to have one.
    fn adapter(&self, host: NodeId) -> PortId {
        self.adapters[host].unwrap_or_else(|| unreachable!("a host with a way has a port"))
    }

    /// The position of a node among the switches.
    fn rank(&self, node: NodeId) -> SwitchId {
        self.ranks[node]
    }

    fn ports_of(&self, node: NodeId) -> impl Iterator<Item = PortId> {
        self.out[self.ports_out(node)].iter().copied()
    }

    /// Where the ports of a node that lead to switches stand.
    fn ports_out(&self, node: NodeId) -> Range<usize> {
        self.starts[node]..self.starts[NodeId::new(node.number() + 1)]
    }

    /// Find the paths to a switch, unless they are known.
    fn grow(&mut self, end: NodeId) {
        if self.to_switch.contains_key(&end) {
            return;
        }
        if (self.to_switch.len() + 1) * self.switches.len() > MOST_ENTRIES {
            self.to_switch.clear();
        }
        let switches = &self.switches;
        let mut paths =
            PathsToSwitch { hops: IdVec::for_each_of(switches, FAR), ways: IdVec::for_each_of(switches, 0) };
        let end_rank = self.rank(end);
        (paths.hops[end_rank], paths.ways[end_rank]) = (0, 1);
        let (mut queue, mut done) = (vec![end_rank], 0);
        while let Some(&switch) = queue.get(done) {
            done += 1;
            let (hops, ways) = (paths.hops[switch] + 1, paths.ways[switch]);
            for &there in &self.ahead[self.ports_out(switches[switch])] {
                if paths.hops[there] == FAR {
                    paths.hops[there] = hops;
                    queue.push(there);
                }
                if paths.hops[there] == hops {
                    paths.ways[there] = paths.ways[there].saturating_add(ways);
                }
            }
        }
        self.to_switch.insert(end, paths);
    }
}

/// The hash by which a flow's path is chosen, the same on every machine and in every version: FNV-1a of 64 bits
/// over the octets of its name and the eight of the seed, lowest first, then the finaliser of MurmurHash3, because
/// the low bits of FNV-1a know only the low bits of what went in.
pub fn flow_hash(flow: &str, seed: u64) -> u64 {
    let step = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = flow.bytes().chain(seed.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, step);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::super::{Cable, NamedLink, Node, Role, chain, fat_tree, leaf_spine, single_switch, tree};
    use super::*;
    use proptest::prelude::*;
    use qcnlab_units::{BitRate, Span};
    use std::collections::{BTreeSet, HashSet};

    fn n(number: u32) -> NodeId {
        NodeId::new(number)
    }

    const CABLE: Cable = Cable { rate: BitRate::gbps(10), delay: Span::from_us(1) };

    fn names(network: &Network, path: &[PortId]) -> Vec<String> {
        path.iter().map(|port| network.port_name(*port)).collect()
    }

    /// Each port starts where the one before it ended, and no node is met twice.
    fn follows(network: &Network, path: &[PortId], from: NodeId, to: NodeId) -> bool {
        let met: HashSet<NodeId> = path.iter().map(|port| network.ends(*port).1).collect();
        network.ends(path[0]).0 == from
            && network.ends(path[path.len() - 1]).1 == to
            && path.windows(2).all(|pair| network.ends(pair[0]).1 == network.ends(pair[1]).0)
            && met.len() == path.len()
            && !met.contains(&from)
    }

    #[test]
    fn a_chain_has_one_way() {
        let network = chain(3, 2, CABLE, CABLE).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        let paths = routes.all(n(0), n(5)).unwrap();
        assert_eq!(paths.len(), 1);
        let expected = ["host1->switch1", "switch1->switch2", "switch2->switch3", "switch3->host6"];
        assert_eq!(names(&network, &paths[0]), expected);
        assert_eq!(names(&network, &routes.first(n(5), n(4)).unwrap()), ["host6->switch3", "switch3->host5"]);
    }

    /// In a fat-tree with k = 4, an edge switch reaches another pod by both aggregation switches, its own pod's other edge
    /// switch too, and itself by none. Without links it reaches nobody.
    #[test]
    fn next_ports_are_those_of_shortest_paths() {
        let network = fat_tree(4, CABLE, CABLE).unwrap();
        let node = |name: &str| network.node(name).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        let up = ["pod1-edge1->pod1-aggregation1", "pod1-edge1->pod1-aggregation2"];
        for to in ["pod1-edge2", "pod4-edge2"] {
            assert_eq!(names(&network, &routes.next_ports(node("pod1-edge1"), node(to))), up);
        }
        let down = routes.next_ports(node("pod1-aggregation2"), node("pod1-edge2"));
        assert_eq!(names(&network, &down), ["pod1-aggregation2->pod1-edge2"]);
        assert_eq!(routes.next_ports(node("core1"), node("core1")), Vec::<PortId>::new());
        let mut cut = Routes::avoiding(&network, &IdVec::for_each_of(&network.links, true)).unwrap();
        assert_eq!(cut.next_ports(node("pod1-edge1"), node("pod4-edge2")), Vec::<PortId>::new());
    }

    /// A chain of three switches with two hosts each: the way from the first switch's host with the longer link to the last
    /// switch's. And a switch alone, where one of the three hosts has a longer link than the others.
    #[test]
    fn the_longest_way_is_the_one_that_takes_longest() {
        let network = chain(3, 2, CABLE, CABLE).unwrap();
        let time = |port: PortId| match network.port_name(port).as_str() {
            "host6->switch3" | "switch3->host6" => 100,
            "host2->switch1" | "switch1->host2" => 10,
            _ => 1,
        };
        let longest = Routes::new(&network).unwrap().longest(time);
        let expected = ["host2->switch1", "switch1->switch2", "switch2->switch3", "switch3->host6"];
        assert_eq!(names(&network, &longest), expected);
        let star = chain(1, 3, CABLE, CABLE).unwrap();
        let longest = Routes::new(&star).unwrap().longest(|port| u64::from(star.port_name(port).contains("host2")) + 1);
        assert_eq!(names(&star, &longest), ["host2->switch1", "switch1->host1"]);
    }

    /// Links of many lengths: as long as the longest of the first ways of all pairs, in a fat-tree where ways differ in
    /// number of links, and in a tree.
    #[test]
    fn the_longest_way_is_that_of_all_pairs() {
        for (network, seed) in
            [fat_tree(6, CABLE, CABLE).unwrap(), tree(3, 3, 2, CABLE, CABLE).unwrap()].iter().zip(1u64..)
        {
            let time = |port: PortId| flow_hash(&network.port_name(port), seed) >> 44;
            let mut routes = Routes::new(network).unwrap();
            let hosts: Vec<NodeId> = network.hosts().collect();
            // Of a link the two directions are as long as each other, as those of cables are.
            let even = |port: PortId| time(port.link().there());
            let long = |path: &[PortId]| path.iter().map(|port| even(*port)).sum::<u64>();
            let pairs = hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to)));
            let most_even = pairs.filter_map(|(from, to)| Some(long(&routes.first(from, to).ok()?))).max();
            assert_eq!(Some(long(&routes.longest(even))), most_even);
        }
    }

    #[test]
    fn fat_trees_have_the_published_numbers_of_ways() {
        // (k/2)^2 between pods, k/2 within one, 1 at one edge switch.
        let network = fat_tree(8, CABLE, CABLE).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        assert_eq!(
            [routes.count(n(0), n(127)), routes.count(n(0), n(4)), routes.count(n(0), n(3))],
            [Ok(16), Ok(4), Ok(1)]
        );
        for (to, hops) in [(127, 6), (4, 4), (3, 2)] {
            let paths = routes.all(n(0), n(to)).unwrap();
            assert!(paths.iter().all(|path| path.len() == hops && follows(&network, path, n(0), n(to))));
            assert!(paths.is_sorted());
            assert_eq!(paths.iter().collect::<HashSet<_>>().len() as u64, routes.count(n(0), n(to)).unwrap());
        }
    }

    #[test]
    fn more_ways_than_are_kept_are_spread() {
        // 16 x 16 ways in a fat-tree of 32-port switches; 64 of them are 4 for each of 16 aggregation switches.
        let network = fat_tree(32, CABLE, CABLE).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        let to = network.hosts().count() as u32 - 1;
        assert_eq!(routes.count(n(0), n(to)), Ok(256));
        let paths = routes.all(n(0), n(to)).unwrap();
        assert_eq!(paths.len() as u64, MOST_PATHS);
        let mut uses = HashMap::new();
        paths.iter().for_each(|path| *uses.entry(path[1]).or_insert(0) += 1);
        assert!(uses.len() == 16 && uses.values().all(|n| *n == 4));
    }

    #[test]
    fn ways_are_counted_where_they_cannot_be_written_out() {
        // 70 squares in a row double the ways 70 times: 2^70 do not fit the count.
        let switch = |name: String| Node { name, role: Role::Switch };
        let mut nodes: Vec<Node> = ["a", "b"].map(|name| Node { name: name.to_owned(), role: Role::Host }).into();
        let mut links = vec![("a".to_owned(), "s0".to_owned()), ("b".to_owned(), "s70".to_owned())];
        nodes.push(switch("s0".to_owned()));
        for i in 0..70 {
            nodes.extend(["u", "v"].map(|side| switch(format!("{side}{i}"))));
            nodes.push(switch(format!("s{}", i + 1)));
            for side in ["u", "v"] {
                links.push((format!("s{i}"), format!("{side}{i}")));
                links.push((format!("{side}{i}"), format!("s{}", i + 1)));
            }
        }
        let links: Vec<_> = links.into_iter().map(|(a, b)| NamedLink { a, b, cable: CABLE }).collect();
        let network = Network::from_names(nodes, &links).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        assert_eq!(routes.count(n(0), n(1)), Ok(u64::MAX));
        assert!(
            routes.all(n(0), n(1)).unwrap().iter().all(|path| path.len() == 142 && follows(&network, path, n(0), n(1)))
        );
        assert!(follows(&network, &routes.path_of_flow(n(0), n(1), "a->b", 1).unwrap(), n(0), n(1)));
    }

    #[test]
    fn a_flow_keeps_its_way_and_flows_spread() {
        let network = leaf_spine(2, 8, 2, CABLE, CABLE).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        let mut uses = HashMap::new();
        for i in 0..8000 {
            let path = routes.path_of_flow(n(0), n(2), &format!("flow{i}"), 1).unwrap();
            assert!(i % 1000 != 0 || path == routes.clone().path_of_flow(n(0), n(2), &format!("flow{i}"), 1).unwrap());
            *uses.entry(path[1]).or_insert(0i64) += 1;
        }
        // 8000 draws of probability 1/8: 1000 with a standard deviation of 30.
        assert!(uses.len() == 8 && uses.values().all(|n| (n - 1000).abs() < 130), "{uses:?}");
        let spread: HashSet<u64> = (0..50).map(|seed| flow_hash("host1->host3", seed) >> 61).collect();
        assert!(spread.len() == 8, "seeds choose other ways");
    }

    /// Eight switches of a fat-tree with k = 8 choose among four aggregation switches, and these among four cores. With
    /// one seed for all, the same hash chooses twice: of sixteen ways four are used (polarisation).
    #[test]
    fn switches_with_one_seed_choose_alike() {
        let network = fat_tree(8, CABLE, CABLE).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        let mut used = |seed: &dyn Fn(NodeId) -> u64| {
            let path = |i| routes.by_switch(n(0), n(127), &format!("flow{i}"), seed).unwrap();
            let paths: HashSet<Vec<PortId>> = (0..1000).map(path).collect();
            assert!(paths.iter().all(|path| follows(&network, path, n(0), n(127)) && path.len() == 6));
            paths.len()
        };
        assert_eq!((used(&|node| u64::from(node.number())), used(&|_| 7)), (16, 4));
    }

    /// Of two spines one is dead: the other carries all. Without both links of leaf1 there is no way.
    #[test]
    fn dead_links_are_avoided() {
        let network = leaf_spine(2, 2, 1, CABLE, CABLE).unwrap();
        let dead = |names: &[&str]| -> IdVec<LinkId, bool> {
            network.links.ids().map(|link| names.contains(&&*network.port_name(link.there()))).collect()
        };
        let ways = |names: &[&str]| Routes::avoiding(&network, &dead(names)).unwrap().all(n(0), n(1));
        assert_eq!(ways(&[]).unwrap().len(), 2);
        let left = ways(&["leaf1->spine1"]).unwrap();
        assert_eq!(names(&network, &left[0])[1..3], ["leaf1->spine2", "spine2->leaf2"]);
        assert!(left.len() == 1 && ways(&["leaf1->spine1", "leaf1->spine2"]).is_err());
    }

    #[test]
    fn the_hash_is_pinned() {
        // FNV-1a of "a" and eight zero octets, finalised: worked out with independent code.
        assert_eq!(flow_hash("a", 0), 0xc068_191b_3174_6073);
        assert_eq!(flow_hash("host1->host2", 1), 0x09a9_53df_ef19_8448);
    }

    #[test]
    fn pairs_that_cannot_talk_are_refused() {
        let mut network = single_switch(3, CABLE).unwrap();
        let kept = network.links.len() - 1;
        network.links = network.links.into_iter().take(kept).collect();
        let mut routes = Routes::new(&network).unwrap();
        let said = |error: Result<u64, TopologyError>| error.unwrap_err().to_string();
        assert!(said(routes.count(n(0), n(2))).starts_with("no way leads from 'host1' to 'host3'"));
        assert!(said(routes.count(n(2), n(0))).starts_with("no way leads from 'host3' to 'host1'"));
        assert_eq!(said(routes.count(n(1), n(1))), "host 'host2' cannot send to itself");
        assert_eq!(said(routes.count(n(0), n(3))), "'switch' is a switch: only hosts send and receive");
        assert_eq!(routes.count(n(0), n(1)), Ok(1));
    }

    #[test]
    fn hosts_do_not_forward() {
        let host = |name: &str| Node { name: name.to_owned(), role: Role::Host };
        let link = |a, b| super::super::Link { a: n(a), b: n(b), rate: CABLE.rate, delay: CABLE.delay };
        let pairs = vec![host("a"), host("b"), host("c"), host("d")];
        let network = Network::new(pairs, vec![link(0, 1), link(2, 3)]).unwrap();
        let mut routes = Routes::new(&network).unwrap();
        assert_eq!(routes.all(n(1), n(0)), Ok(vec![vec![PortId::new(1)]]), "two hosts on one link");
        assert!(routes.count(n(0), n(3)).is_err());
    }

    /// All shortest paths, by walking every path without circles.
    fn walked(network: &Network, from: NodeId, to: NodeId) -> Vec<Vec<PortId>> {
        let mut done: Vec<Vec<PortId>> = Vec::new();
        let mut open: Vec<Vec<PortId>> = vec![Vec::new()];
        while done.is_empty() && !open.is_empty() {
            let mut longer = Vec::new();
            for path in open {
                let at = path.last().map_or(from, |port| network.ends(*port).1);
                let met = |node| node == from || path.iter().any(|port| network.ends(*port).1 == node);
                let forwards = at == from || network.is_switch(at);
                for port in network.ports().filter(|port| forwards && network.ends(*port).0 == at) {
                    let next = network.ends(port).1;
                    let path = [&path[..], &[port]].concat();
                    if next == to {
                        done.push(path);
                    } else if !met(next) {
                        longer.push(path);
                    }
                }
            }
            open = longer;
        }
        done.sort();
        done
    }

    proptest! {
        #[test]
        fn paths_are_those_that_walking_finds(
            joined in prop::collection::vec((0..7u32, 0..7u32), 0..14),
            switch_of_host in prop::collection::vec(0..7u32, 2..5),
        ) {
            let hosts = switch_of_host.len() as u32;
            let role = |i| if i < hosts { Role::Host } else { Role::Switch };
            let nodes = (0..hosts + 7).map(|i| Node { name: format!("n{i}"), role: role(i) }).collect();
            let pairs: BTreeSet<_> = joined.iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
            let ends = (0..hosts).zip(&switch_of_host).chain(pairs.into_iter().map(|(a, b)| (a + hosts, b)));
            let Cable { rate, delay } = CABLE;
            let link = |(a, b): (u32, &u32)| super::super::Link { a: n(a), b: n(b + hosts), rate, delay };
            let network = Network::new(nodes, ends.map(link).collect()).unwrap();
            let mut routes = Routes::new(&network).unwrap();
            for (from, to) in [(n(0), n(1)), (n(1), n(0))] {
                let expected = walked(&network, from, to);
                prop_assert_eq!(routes.count(from, to).unwrap_or(0), expected.len() as u64);
                prop_assert_eq!(routes.all(from, to).unwrap_or_default(), expected);
            }
        }
    }
}
