//! The ways that flows take: shortest ones, those that `[[route]]` gives, and other ones while links are down.

use super::companions::{stray, word};
use super::devices::{Multipath, Route, Routing};
use super::failing::FailedLink;
use super::fault::Fault;
use super::flows::FlowSpec;
use super::located::{LocatedFault, read_pattern};
use super::types::Scenario;
use qcnlab_network::Pattern;
use qcnlab_network::topology::{Link, LinkId, Network, NodeId, PortId, Role, Routes, TopologyError};
use qcnlab_schemes::params::Variants;
use qcnlab_units::{Id, IdVec, Paths, PathsOfFlows, Span};
use std::borrow::Cow;
use std::collections::HashMap;

/// Seed of the hash that chooses a flow's path: the same in every replication, so that what a scenario's
/// metrics speak of is one thing.
const PATH_SEED: u64 = 0;

/// A flow's paths from some time on.
#[derive(Clone, Debug)]
pub struct NewPaths {
    /// When routes have changed.
    pub at: Span,
    /// The flow, from 0.
    pub flow: usize,
    /// Its paths from then on, as ports.
    pub paths: Vec<Vec<PortId>>,
}

/// The paths of all flows while all links are up.
pub(super) fn paths(
    scenario: &Scenario,
    network: &Network,
    flows: &[FlowSpec],
) -> Result<Vec<Paths<PortId>>, LocatedFault> {
    let written = written(scenario, network)?;
    let mut ways = Ways::new(scenario, network, &IdVec::for_each_of(&network.links, false))?;
    let path =
        |ways: &mut Ways, flow: &FlowSpec| match written_out(&written, network, flow.source_index, flow.sink_index)? {
            Some(paths) => Ok(ways.chosen(flow, paths)),
            None => ways.of(flow).map_err(|error| no_way(flow, error)),
        };
    // In large networks ways to a switch are forgotten for those to others: the flows to one are looked at together. So
    // are those of two hosts, of which many take the same paths.
    let hosts = |flow: usize| (flows[flow].sink_index, flows[flow].source_index);
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|flow| {
        let (to, from) = hosts(flow.position());
        (ways.routes.switch_of(to), to, from)
    });
    let mut paths = PathsOfFlows::new(flows.len());
    let mut first_fault: Option<(usize, LocatedFault)> = None;
    let (mut of_hosts, mut known) = (None, Vec::new());
    for flow in order.into_iter().map(Id::position) {
        if of_hosts.replace(hosts(flow)) != Some(hosts(flow)) {
            known.clear();
        }
        match path(&mut ways, &flows[flow]) {
            Ok(ways) => match known.iter().find(|before| paths.of(**before).eq(ways.iter().map(|path| &**path))) {
                Some(before) => paths.share(flow, *before),
                None => {
                    paths.add(flow, &ways);
                    known.push(flow);
                }
            },
            Err(fault) => first_fault = first_fault.filter(|(before, _)| *before < flow).or(Some((flow, fault))),
        }
    }
    first_fault.map_or_else(|| Ok(paths.finish()), |(_, fault)| Err(fault))
}

/// Whether flows take the ways that others take under the same tables of routing and switches: they have the same names
/// and hosts, and links join the same nodes.
pub(super) fn take_same_ways(before: (&Network, &[FlowSpec]), now: (&Network, &[FlowSpec])) -> bool {
    let ends = |link: &Link| (link.a, link.b);
    let hosts = |flow: &FlowSpec| (flow.source_index, flow.sink_index);
    let (links, flows) = ((&before.0.links, &now.0.links), (before.1, now.1));
    before.0.nodes == now.0.nodes
        && links.0.iter().map(ends).eq(links.1.iter().map(ends))
        && flows.0.iter().map(hosts).eq(flows.1.iter().map(hosts))
        && flows.0.iter().map(|flow| &flow.name).eq(flows.1.iter().map(|flow| &flow.name))
}

/// Keys belong to the rule that has them, and ways are recycled where each packet of each flow is acknowledged by itself.
pub(super) fn check_rule(scenario: &Scenario) -> Result<(), LocatedFault> {
    let routing = &scenario.routing;
    let keys = [
        ("reps_freeze", routing.reps_freeze.is_some()),
        ("reps_explore", routing.reps_explore.is_some()),
        ("drill_samples", routing.drill_samples.is_some()),
        ("drill_memory", routing.drill_memory.is_some()),
        ("queue_pairs", routing.queue_pairs.is_some()),
    ];
    if let Some(key) = stray("routing", &word(&routing.multipath), &keys) {
        let rule = match key {
            "queue_pairs" => "flow",
            key if key.starts_with("reps") => "reps",
            _ => "drill",
        };
        return Err(LocatedFault::new(Fault::OfOtherMultipath { key, rule }, &[format!("routing.{key}")]));
    }
    if routing.multipath != Multipath::Reps {
        return Ok(());
    }
    for (entry, traffic) in scenario.traffic.iter().enumerate() {
        let (fault, key) = match traffic.queue_pair() {
            None => (Fault::NotAcknowledged { traffic: entry, transport: traffic.transport.word() }, "transport"),
            Some(config) if config.ack_every > 1 => (Fault::Coalesced { every: config.ack_every }, "ack_every"),
            Some(_) => continue,
        };
        return Err(LocatedFault::new(fault, &[format!("traffic.{entry}.{key}"), "routing.multipath".to_owned()]));
    }
    Ok(())
}

/// What changes when links fail and come back, if routes ever hear of it. A flow that has no other way keeps its own.
pub(super) fn reroutes(
    scenario: &Scenario,
    network: &Network,
    flows: &[FlowSpec],
    paths: &[Paths<PortId>],
    failed: &[FailedLink],
) -> Result<Vec<NewPaths>, LocatedFault> {
    let Some(delay) = scenario.routing.converges_after else { return Ok(Vec::new()) };
    let mut times: Vec<Span> = failed.iter().flat_map(|each| [Some(each.from), each.until]).flatten().collect();
    times.sort_unstable();
    times.dedup();
    let mut now: Vec<Paths<PortId>> = paths.to_vec();
    let mut changes = Vec::new();
    for time in times {
        let down = |each: &&FailedLink| each.from <= time && each.until.is_none_or(|until| time < until);
        let mut dead = IdVec::for_each_of(&network.links, false);
        failed.iter().filter(down).for_each(|each| dead[each.link] = true);
        for (number, paths) in repaired(scenario, network, flows, &dead)?.into_iter().enumerate() {
            if let Some(paths) = paths.filter(|paths| !now[number].iter().eq(paths.iter().map(|path| &**path))) {
                changes.push(NewPaths { at: time + delay, flow: number, paths: paths.clone() });
                now[number] = paths.into();
            }
        }
    }
    Ok(changes)
}

/// The paths of each flow once routes have heard that links are `dead`. `None` where it keeps its own: no other way is
/// left, or `[[route]]` says which it takes.
pub(super) fn repaired(
    scenario: &Scenario,
    network: &Network,
    flows: &[FlowSpec],
    dead: &IdVec<LinkId, bool>,
) -> Result<Vec<Option<Vec<Vec<PortId>>>>, LocatedFault> {
    let written = written(scenario, network)?;
    let mut ways = Ways::new(scenario, network, dead)?;
    let one = |flow: &FlowSpec| match written.iter().any(|each| each.fits(network, flow.source_index, flow.sink_index))
    {
        true => None,
        false => ways.of(flow).ok(),
    };
    Ok(flows.iter().map(one).collect())
}

/// As [`repaired`], of a scenario that was checked.
pub fn repaired_paths(
    scenario: &Scenario,
    network: &Network,
    flows: &[FlowSpec],
    dead: &IdVec<LinkId, bool>,
) -> Vec<Option<Vec<Vec<PortId>>>> {
    let Ok(paths) = repaired(scenario, network, flows, dead) else { unreachable!("the routes of a checked scenario") };
    paths
}

/// The ways that `[[route]]` gives pairs of hosts, in a scenario that was checked; without those pairs that no table fits.
pub fn written_paths(scenario: &Scenario, network: &Network) -> HashMap<(NodeId, NodeId), Vec<Vec<PortId>>> {
    let Ok(written) = written(scenario, network) else { unreachable!("the routes of a checked scenario") };
    let pairs = network.hosts().flat_map(|from| network.hosts().map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to && !written.is_empty());
    // A table may fit pairs that no flow has, and give them a way that is none.
    let paths = |(from, to)| Some(((from, to), written_out(&written, network, from, to).ok()??));
    pairs.filter_map(paths).collect()
}

fn no_way(flow: &FlowSpec, error: TopologyError) -> LocatedFault {
    let keys = ["to", "from"].map(|key| format!("traffic.{}.{key}", flow.traffic));
    LocatedFault::new(Fault::Topology(error), &keys)
}

/// Shortest ways, chosen as a scenario says.
struct Ways<'a> {
    routes: Routes<'a>,
    multipath: Multipath,
    /// Queue pairs of two hosts, if their messages share some.
    queue_pairs: Option<u32>,
    /// By node, the seed of the hash by which a switch chooses.
    seeds: IdVec<NodeId, u64>,
}

impl<'a> Ways<'a> {
    fn new(scenario: &Scenario, network: &'a Network, dead: &IdVec<LinkId, bool>) -> Result<Ways<'a>, LocatedFault> {
        let seeds = match scenario.routing.multipath {
            Multipath::Switch => seeds(scenario, network)?,
            _ => IdVec::new(),
        };
        let routes = Routes::avoiding(network, dead)
            .map_err(|error| LocatedFault::new(Fault::Topology(error), &["traffic.0.to", "traffic.0.from"]))?;
        let Routing { multipath, queue_pairs, .. } = scenario.routing;
        Ok(Ways { routes, multipath, queue_pairs, seeds })
    }

    /// The ways of a flow.
    fn of(&mut self, flow: &FlowSpec) -> Result<Vec<Vec<PortId>>, TopologyError> {
        let (from, to) = (flow.source_index, flow.sink_index);
        match self.multipath {
            Multipath::Flow => {
                let hashed = hashed(flow, self.queue_pairs);
                self.routes.path_of_flow(from, to, &hashed, PATH_SEED).map(|path| vec![path])
            }
            Multipath::Single => self.routes.first(from, to).map(|path| vec![path]),
            Multipath::Switch => {
                let hashed = hashed(flow, self.queue_pairs);
                self.routes.by_switch(from, to, &hashed, |switch| self.seeds[switch]).map(|path| vec![path])
            }
            Multipath::Frame
            | Multipath::RoundRobin
            | Multipath::Flowlet
            | Multipath::Reps
            | Multipath::Drill
            | Multipath::Adaptive => self.routes.all(from, to),
        }
    }

    /// Those of the ways given that a flow uses.
    fn chosen(&self, flow: &FlowSpec, mut paths: Vec<Vec<PortId>>) -> Vec<Vec<PortId>> {
        match self.multipath {
            Multipath::Frame
            | Multipath::RoundRobin
            | Multipath::Flowlet
            | Multipath::Reps
            | Multipath::Drill
            | Multipath::Adaptive => paths,
            Multipath::Single => paths.drain(..1).collect(),
            Multipath::Flow | Multipath::Switch => {
                let hashed = hashed(flow, self.queue_pairs);
                let hash = qcnlab_network::topology::flow_hash(&hashed, PATH_SEED);
                let rank = ((u128::from(hash) * paths.len() as u128) >> 64) as u32;
                vec![paths.swap_remove(rank.position())]
            }
        }
    }
}

/// The name by which the way of a flow is chosen: its own, or that of the first flow of its queue pair.
fn hashed(flow: &FlowSpec, queue_pairs: Option<u32>) -> Cow<'_, str> {
    let queue_pair = queue_pairs.map_or(flow.of_pair, |pairs| (flow.of_pair - 1) % pairs + 1);
    if queue_pair == flow.of_pair {
        return Cow::Borrowed(&flow.name);
    }
    let hosts = flow.name.strip_suffix(&format!("#{}", flow.of_pair)).unwrap_or(&flow.name);
    if queue_pair == 1 { Cow::Borrowed(hosts) } else { Cow::Owned(format!("{hosts}#{queue_pair}")) }
}

/// The seed of each switch: what its table of `[[switch]]` says, or a hash of its name.
fn seeds(scenario: &Scenario, network: &Network) -> Result<IdVec<NodeId, u64>, LocatedFault> {
    let mut tables = Vec::new();
    for (number, switch) in scenario.switches.iter().enumerate() {
        tables.push((read_pattern(&switch.only, &format!("switch.{number}.only"))?, switch.hash_seed));
    }
    let seed = |name: &str| {
        let own = tables.iter().find(|(only, _)| only.matches(name)).and_then(|(_, seed)| *seed);
        own.map_or_else(|| qcnlab_network::topology::flow_hash(name, PATH_SEED), u64::from)
    };
    Ok(network.nodes.iter().map(|node| seed(&node.name)).collect())
}

/// A table of `[[route]]`: whose frames, and the switches as nodes.
struct Written {
    number: usize,
    from: Pattern,
    to: Pattern,
    via: Vec<NodeId>,
}

impl Written {
    fn fits(&self, network: &Network, from: NodeId, to: NodeId) -> bool {
        let name = |node: NodeId| &network.nodes[node].name;
        self.from.matches(name(from)) && self.to.matches(name(to))
    }
}

fn written(scenario: &Scenario, network: &Network) -> Result<Vec<Written>, LocatedFault> {
    let switches = || network.nodes.iter().filter(|node| node.role == Role::Switch).map(|node| node.name.clone());
    let one = |(number, route): (usize, &Route)| {
        let key = |name: &str| format!("route.{number}.{name}");
        let node = |name: &str| {
            let node = network.node(name).filter(|node| network.nodes[*node].role == Role::Switch);
            node.ok_or_else(|| {
                let fault = Fault::NoSuchSwitch { name: name.to_owned(), known: switches().collect() };
                LocatedFault::new(fault, &[key("via")])
            })
        };
        let via: Vec<NodeId> = route.via.split(',').map(|name| node(name.trim())).collect::<Result<_, _>>()?;
        let (from, to) = (read_pattern(&route.from, &key("from"))?, read_pattern(&route.to, &key("to"))?);
        Ok(Written { number, from, to, via })
    };
    scenario.routes.iter().enumerate().map(one).collect()
}

/// The ways that `[[route]]` gives from one host to another; `None` if no table fits them.
fn written_out(
    written: &[Written],
    network: &Network,
    from: NodeId,
    to: NodeId,
) -> Result<Option<Vec<Vec<PortId>>>, LocatedFault> {
    let fitting = written.iter().filter(|each| each.fits(network, from, to));
    let path = |each: &Written| {
        let nodes = [&[from][..], &each.via, &[to]].concat();
        let port = |(from, to): (NodeId, NodeId)| {
            let ports = network.ports().find(|port| network.ends(*port) == (from, to));
            ports.ok_or_else(|| {
                let name = |node: NodeId| network.nodes[node].name.clone();
                let fault = Fault::NoLinkOnRoute { from: name(from), to: name(to) };
                LocatedFault::new(fault, &[format!("route.{}.via", each.number)])
            })
        };
        nodes.windows(2).map(|pair| port((pair[0], pair[1]))).collect::<Result<Vec<PortId>, _>>()
    };
    let paths = fitting.map(path).collect::<Result<Vec<_>, _>>()?;
    debug_assert!(paths.iter().flatten().all(|port| port.reverse().reverse() == *port));
    Ok((!paths.is_empty()).then_some(paths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Messages between hosts of two leaves, over any of sixteen spines.
    fn ways(pairs: usize, keys: &str) -> Vec<Vec<PortId>> {
        ways_with(pairs, keys, "")
    }

    /// The same, with tables of routes.
    fn ways_with(pairs: usize, keys: &str, routes: &str) -> Vec<Vec<PortId>> {
        let traffic = |sink: usize| {
            format!(
                "[[traffic]]\narrivals = \"saturated\"\ntransport = \"roce\"\nfrom = \"host1\"\nto = \"host{sink}\"\nsize = \"1 KB\"\nframe = \"1 KB\"\n"
            )
        };
        // Twelve messages for each pair, one after the other.
        let traffic: String = (0..12 * pairs).map(|message| traffic(65 + message % pairs)).collect();
        let text = format!(
            "duration = \"1 ms\"\n[topology]\nkind = \"leaf_spine\"\nleaves = 2\nspines = 16\nhosts = 64\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n[routing]\n{keys}\n{routes}{traffic}[scheme]\nname = \"none\"\n"
        );
        let scenario = Scenario::parse(&text, "file.toml").unwrap();
        let Ok(network) = super::super::network::network(&scenario) else { panic!("a network") };
        let ways = paths(&scenario, &network, &scenario.flows()).unwrap_or_else(|_| panic!("ways"));
        ways.iter().flat_map(|ways| ways.iter().map(<[PortId]>::to_vec)).collect()
    }

    /// How many ways the messages of each pair take.
    fn used(pairs: usize, keys: &str) -> Vec<usize> {
        let all = ways(pairs, keys);
        let of = |pair: usize| all.iter().skip(pair).step_by(pairs).collect::<HashSet<_>>().len();
        (0..pairs).map(of).collect()
    }

    /// A message of a pair takes the way of the one that many queue pairs before.
    #[test]
    fn messages_of_a_queue_pair_take_one_way() {
        for multipath in ["flow", "switch"] {
            let keys = format!("multipath = \"{multipath}\"\nqueue_pairs = 5");
            let (all, own) = (ways(1, &keys), ways(1, &format!("multipath = \"{multipath}\"")));
            assert_eq!((&all[..5], &all[5..10], &all[10..]), (&own[..5], &own[..5], &own[..2]), "{multipath}");
            assert_ne!(all, own);
        }
    }

    /// So it is where the ways are written out.
    #[test]
    fn messages_of_a_queue_pair_take_one_way_of_those_that_are_written() {
        let route =
            |spine| format!("[[route]]\nfrom = \"host*\"\nto = \"host*\"\nvia = \"leaf1, spine{spine}, leaf2\"\n");
        let routes: String = (1..=8).map(route).collect();
        let [all, own] = ["queue_pairs = 5", ""].map(|keys| ways_with(1, keys, &routes));
        assert_eq!((&all[..5], &all[5..10], &all[10..]), (&own[..5], &own[..5], &own[..2]));
        assert_ne!(all, own);
    }

    /// Of 16 ways m hashes leave 16 (15/16)^m unused: 1 of 1 is used, of 4 on average 3.64, of 12 8.63. Over 64 pairs the
    /// standard deviations are 0, 0.07 and 0.13.
    #[test]
    fn more_queue_pairs_use_more_ways() {
        let mean = |keys: &str| used(64, keys).iter().sum::<usize>() as f64 / 64.0;
        assert_eq!(mean("queue_pairs = 1"), 1.0);
        assert!((mean("queue_pairs = 4") - 3.64).abs() < 0.3, "{}", mean("queue_pairs = 4"));
        assert!((mean("") - 8.63).abs() < 0.5, "{}", mean(""));
        assert_eq!(used(64, "queue_pairs = 12"), used(64, ""));
    }
}
