//! What follows from a scenario's tables before time zero: its network, who sends to whom and how, what is
//! recorded, and how each node behaves.

use super::arrivals::Offered;
use super::defences::ResolvedDomain;
use super::devices::{Pause, PauseKind};
use super::entry::{Draw, Pairing};
use super::failing::{FailedLink, failed_links};
use super::fault::Fault;
use super::flows::{FlowSpec, flows};
use super::located::{LocatedFault, read_pattern};
use super::network::network;
use super::pause_fault::PauseFault;
use super::pausing::{Site, part, pause_plan};
use super::receiving::add_readers;
use super::replaying;
use super::routing::{NewPaths, paths, reroutes, take_same_ways};
use super::scheduling::quanta;
use super::shared_buffer::SharedBufferKind;
use super::sharing::{SharedSite, shared_plan};
use super::types::{Feedback, Scenario};
use super::watchdog::{StormAt, storms, watchdogs};
use super::wred::thresholds;
use super::{Adapters, Switches};
use qcnlab_network::topology::{LinkId, Network, Node, NodeId, PortId, Role};
use qcnlab_sim::{PausePlan, PauseRule, SharedBufferPlan, WatchdogPlan, WredPlan};
use qcnlab_units::{BitRate, Bytes, Id, IdVec, Paths, Span};
use std::collections::HashMap;

/// A scenario with everything that follows from its tables. Ports are numbered as [`Network`] numbers them.
#[derive(Clone, Debug)]
pub struct ResolvedScenario {
    /// Hosts and switches, the links between them and, after these, the links inside hosts.
    pub network: Network,
    /// Flows, by entry of traffic and then in its order.
    pub flows: Vec<FlowSpec>,
    /// Paths of each flow: ports from the source's on.
    pub paths: Vec<Paths<PortId>>,
    /// Other paths that flows take later, in order of time.
    pub reroutes: Vec<NewPaths>,
    /// When which link is down.
    pub failed: Vec<FailedLink>,
    /// Rate that each flow offers if nothing limits it, bit/s of frame octets.
    pub wanted_bps: Vec<f64>,
    /// Number of flows of each node, without those that are drawn or listed.
    pub(crate) sends: IdVec<NodeId, u32>,
    /// Whether any flow crosses a port.
    pub crossed: IdVec<PortId, bool>,
    /// The bottleneck: the port that metrics are about.
    pub bottleneck: PortId,
    /// Ports of hotspots, in the order of [`Scenario::hotspots`].
    pub hotspots: Vec<PortId>,
    /// Whether a port's queue is recorded.
    pub recorded: IdVec<PortId, bool>,
    /// For each node the index of its table in `[[switch]]` or `[[adapter]]`.
    tables: IdVec<NodeId, Option<usize>>,
    /// Number of links between nodes; after them come the links inside hosts.
    outside: usize,
    /// The links between nodes by node, in their order.
    links_of: IdVec<NodeId, Vec<LinkId>>,
    /// Who takes part in congestion notification; `None` without `[domain]`.
    pub domain: Option<ResolvedDomain>,
    /// When each node pauses the links into it.
    pub pauses: IdVec<NodeId, Option<PausePlan>>,
    /// For each node the index of its table in `[[shared_buffer]]`.
    shared: IdVec<NodeId, Option<usize>>,
    /// The shared buffer of each node that has one.
    pub shared_buffers: IdVec<NodeId, Option<SharedBufferPlan<PortId>>>,
    /// Octets that a turn of each class adds, for each switch whose classes take turns.
    pub quanta: IdVec<NodeId, Option<[Bytes; 8]>>,
    /// The watchdog of each switch that has one.
    pub watchdogs: IdVec<NodeId, Option<WatchdogPlan>>,
    /// Hosts that pause their links.
    pub storms: Vec<StormAt>,
    /// Thresholds of each port's queues.
    pub wred: IdVec<PortId, Vec<WredPlan>>,
}

impl ResolvedScenario {
    /// Resolves a scenario, with the flows of one draw. Between the same nodes flows take the ways that they take in
    /// `known`, which has the same tables of routing and switches.
    pub(super) fn of(
        scenario: &Scenario,
        draw: Draw,
        known: Option<ResolvedScenario>,
    ) -> Result<ResolvedScenario, LocatedFault> {
        let mut network = network(scenario)?;
        let domain = ResolvedDomain::of(scenario, &network)?;
        let mut tables = tables(scenario, &network)?;
        let flows = flows(scenario, &network, draw)?;
        let mut sends = IdVec::for_each_of(&network.nodes, 0);
        flows.iter().filter(|flow| flow.size.is_none()).for_each(|flow| sends[flow.source_index] += 1);
        let failed = failed_links(scenario, &network)?;
        let storms = storms(scenario, &network)?;
        let same = |known: &ResolvedScenario| take_same_ways((&known.network, &known.flows), (&network, &flows));
        let mut paths = match known.filter(same) {
            Some(known) => known.paths,
            None => paths(scenario, &network, &flows)?,
        };
        let mut reroutes = reroutes(scenario, &network, &flows, &paths, &failed)?;
        let wanted_bps = wanted(scenario, &network, &flows, &paths, &sends);
        let outside = network.links.len();
        let host = |node: NodeId| network.nodes[node].role == Role::Host;
        let hosts: IdVec<NodeId, bool> = network.nodes.ids().map(host).collect();
        let adapter = |node: NodeId| tables[node].filter(|_| hosts[node]);
        add_readers(&mut network, &mut paths, |node| adapter(node).map(|table| &scenario.adapters[table]));
        tables.extend(vec![None; network.nodes.len() - tables.len()]);
        let mut crossed = network.by_port(false);
        paths.iter().flatten().flatten().for_each(|port| crossed[*port] = true);
        for change in &mut reroutes {
            // What a host reads from is the same.
            let last = paths[change.flow][0].last().copied();
            let reader = last.filter(|last| last.link().position() >= outside);
            change.paths.iter_mut().for_each(|path| path.extend(reader));
            change.paths.iter().flatten().for_each(|port| crossed[*port] = true);
        }
        let usable = |port: PortId| crossed[port] || scenario.draws_flows();
        let named =
            !scenario.hotspots.is_empty() || scenario.record.bottleneck.is_some() || scenario.record.queues.is_some();
        let ports = Ports::new(&network, |port| named && usable(port));
        let hotspots = scenario.hotspots.iter().enumerate();
        let hotspots: Vec<PortId> = hotspots
            .map(|(i, hotspot)| ports.find(&hotspot.port, &format!("hotspot.{i}"), "port"))
            .collect::<Result<_, _>>()?;
        let bottleneck = match &scenario.record.bottleneck {
            Some(name) => ports.find(name, "record", "bottleneck")?,
            None => hotspots.first().copied().unwrap_or_else(|| most_offered(&network, &paths, &wanted_bps)),
        };
        let mut recorded = IdVec::for_each_of(&crossed, false);
        match &scenario.record.queues {
            Some(text) => ports.matching(text)?.into_iter().for_each(|port| recorded[port] = true),
            None => hotspots.iter().chain([&bottleneck]).for_each(|port| recorded[*port] = true),
        }
        let links_of = by_node(&network, outside);
        let mut resolved = ResolvedScenario {
            pauses: IdVec::new(),
            shared: IdVec::new(),
            shared_buffers: IdVec::new(),
            quanta: IdVec::new(),
            watchdogs: IdVec::new(),
            storms,
            wred: IdVec::new(),
            domain,
            network,
            flows,
            paths,
            reroutes,
            failed,
            wanted_bps,
            sends,
            crossed,
            bottleneck,
            hotspots,
            recorded,
            tables,
            outside,
            links_of,
        };
        resolved.plan(scenario)?;
        Ok(resolved)
    }

    /// Works out what is planned for queues: watchdogs, thresholds, pauses, shared buffers, turns of classes.
    pub(super) fn plan(&mut self, scenario: &Scenario) -> Result<(), LocatedFault> {
        self.watchdogs = watchdogs(scenario, &self.network)?;
        self.wred = thresholds(scenario, &self.network)?;
        self.shared = shared_tables(scenario, self)?;
        self.pauses = self.pausing(scenario)?;
        self.shared_buffers = self.sharing(scenario)?;
        self.quanta = self.weighted(scenario)?;
        Ok(())
    }

    /// What a turn of each class adds, for each switch whose classes take turns.
    fn weighted(&self, scenario: &Scenario) -> Result<IdVec<NodeId, Option<[Bytes; 8]>>, LocatedFault> {
        let longest = scenario.traffic.iter().map(|traffic| traffic.frame).max().unwrap_or_default();
        let of_table = |(number, table)| quanta(table, number, longest);
        let of_tables = scenario.switches.iter().enumerate().map(of_table).collect::<Result<Vec<_>, _>>()?;
        let of_node = |node| self.tables[node].filter(|_| self.is_switch(node)).and_then(|table| of_tables[table]);
        Ok(self.network.nodes.ids().map(of_node).collect())
    }

    /// The shared buffer of each node that has one.
    fn sharing(&self, scenario: &Scenario) -> Result<IdVec<NodeId, Option<SharedBufferPlan<PortId>>>, LocatedFault> {
        let tables = self.shared.enumerate();
        if scenario.shared_buffers.is_empty() {
            return Ok(IdVec::for_each_of(&self.shared, None));
        }
        let pausing = self.pause_tables(scenario)?;
        let used = self.classes(scenario);
        let links = self.network.links.iter().take(self.outside);
        let host = |node: NodeId| self.network.nodes[node].role == Role::Host;
        let of_host = links.clone().find(|link| host(link.a) || host(link.b)).or_else(|| links.clone().next());
        let one = |(node, table): (NodeId, &Option<usize>)| {
            let Some(table) = *table else { return Ok(None) };
            let into = |link: LinkId| match self.network.ends(link.there()).0 == node {
                true => link.back(),
                false => link.there(),
            };
            let ports = self.links_of(node).map(into);
            shared_plan(&SharedSite {
                table,
                shared: &scenario.shared_buffers[table],
                name: &self.network.nodes[node].name,
                links: ports.map(|port| (port, port.reverse(), self.network.link(port))).collect(),
                pause: self.pauses[node].as_ref(),
                site: pausing[node].map(|table| self.site(scenario, node, table, used)),
                used,
                host_rate: of_host.map_or(BitRate::gbps(10), |link| link.rate),
                longest: scenario.traffic.iter().map(|traffic| traffic.frame).max().unwrap_or_default(),
            })
            .map(Some)
        };
        tables.map(one).collect()
    }

    /// For each node the table of `[[pause]]` that applies to it.
    pub(super) fn pause_tables(&self, scenario: &Scenario) -> Result<IdVec<NodeId, Option<usize>>, LocatedFault> {
        let mut chosen = IdVec::for_each_of(&self.network.nodes, None);
        for (table, pause) in scenario.pauses.iter().enumerate() {
            let only = read_pattern(&pause.only, &format!("pause.{table}.only"))?;
            let mut any = false;
            for (node, chosen) in self.network.nodes.ids().zip(chosen.iter_mut()) {
                if self.can_pause(scenario, node) && only.matches(&self.network.nodes[node].name) {
                    any = true;
                    chosen.get_or_insert(table);
                }
            }
            if !any && pause.kind != PauseKind::None {
                return Err(self.nobody_pauses(pause, table));
            }
        }
        Ok(chosen)
    }

    fn pausing(&self, scenario: &Scenario) -> Result<IdVec<NodeId, Option<PausePlan>>, LocatedFault> {
        let chosen = self.pause_tables(scenario)?;
        let used = self.classes(scenario);
        let plan = |(node, table): (NodeId, &Option<usize>)| match *table {
            Some(table) => pause_plan(&self.site(scenario, node, table, used)),
            None => Ok(None),
        };
        chosen.enumerate().map(plan).collect()
    }

    /// Returns the nodes that pause by watermarks, with these watermarks in words.
    pub(super) fn watermarks<'a>(&'a self, scenario: &Scenario) -> impl Iterator<Item = (&'a str, String)> {
        let used = self.classes(scenario);
        self.pauses.enumerate().filter_map(move |(node, plan)| {
            let PausePlan { scope, rule: PauseRule::Watermarks { high, low, .. }, .. } = plan.as_ref()? else {
                return None;
            };
            let memory = match self.adapter(scenario, node) {
                Some(adapter) => adapter.receive_buffer,
                None => self.switch(scenario, node).and_then(|switch| switch.input_memory),
            };
            let headroom = memory.map(|memory| part(memory, *scope, used).saturating_sub(*high));
            let headroom = headroom.map_or_else(String::new, |headroom| format!(", headroom {headroom}"));
            Some((&*self.network.nodes[node].name, format!("high {high}, low {low}{headroom}")))
        })
    }

    /// Whether frames that arrived over a link wait at a node.
    fn can_pause(&self, scenario: &Scenario, node: NodeId) -> bool {
        let switch = self.network.nodes[node].role == Role::Switch;
        switch || self.adapter(scenario, node).is_some_and(Adapters::receives)
    }

    fn nobody_pauses(&self, pause: &Pause, table: usize) -> LocatedFault {
        let host = |node: &&Node| node.role == Role::Host && node.name == pause.only;
        if let Some(host) = self.network.nodes.iter().find(host) {
            let fault = Fault::Pause(PauseFault::Host { host: host.name.clone() });
            return LocatedFault::new(fault, &[format!("pause.{table}.only")]);
        }
        no_node(&self.network, Role::Switch, &pause.only, &format!("pause.{table}"))
    }

    /// A node with all that its table of `[[pause]]` and its links say.
    pub(super) fn site<'a>(&'a self, scenario: &'a Scenario, node: NodeId, table: usize, used: u8) -> Site<'a> {
        let links = self.links_of(node).map(|link| &self.network.links[link]);
        let switch = self.switch(scenario, node);
        let (memory, memory_key) = match self.adapter(scenario, node) {
            Some(adapter) => (adapter.receive_buffer, "receive_buffer"),
            None => (switch.and_then(|switch| switch.input_memory), "input_memory"),
        };
        Site {
            scenario,
            pause: &scenario.pauses[table],
            table,
            name: &self.network.nodes[node].name,
            links: links.collect(),
            memory,
            memory_key,
            shared: self.shared[node].is_some(),
            endless: self.shared[node].is_some_and(|table| {
                matches!(scenario.shared_buffers[table].kind, SharedBufferKind::HpccSimulator { .. })
            }),
            output_buffer: switch.and_then(|switch| switch.output_buffer),
            latency: switch.map_or(Span::ZERO, |switch| switch.latency),
            of_node: self.key(node, ""),
            used,
        }
    }

    /// Classes of the frames that travel, as bits.
    pub(super) fn classes(&self, scenario: &Scenario) -> u8 {
        let own = self.flows.iter().fold(0, |used, flow| used | 1 << self.class(scenario, flow));
        let own = scenario.with_congesting(own);
        let data = own | self.domain.as_ref().map_or(0, |domain| domain.alternates(own));
        match scenario.feedback {
            Feedback::Frames { priority, .. } => data | 1 << priority,
            Feedback::Ideal => data,
        }
    }

    /// The network without what is inside hosts.
    pub fn outside_network(&self) -> Network {
        let network = self.network.clone();
        let nodes = network.nodes.len() - (network.links.len() - self.outside);
        Network {
            nodes: network.nodes.into_iter().take(nodes).collect(),
            links: network.links.into_iter().take(self.outside).collect(),
        }
    }

    /// The links between a node and others.
    fn links_of(&self, node: NodeId) -> impl Iterator<Item = LinkId> {
        self.links_of[node].iter().copied()
    }

    /// The ports that lead from node to node; after them come those inside hosts.
    pub fn outside_ports(&self) -> impl DoubleEndedIterator<Item = PortId> + ExactSizeIterator + use<> {
        let outside = 2 * self.outside;
        self.network.ports().take(outside)
    }

    /// Whether a port leads from node to node, not inside a host.
    pub fn is_outside(&self, port: PortId) -> bool {
        port.link().position() < self.outside
    }

    /// The class of a flow's frames when they leave their host.
    pub fn class(&self, scenario: &Scenario, flow: &FlowSpec) -> u8 {
        flow.class.unwrap_or(scenario.traffic[flow.traffic].priority as u8)
    }

    /// Whether a flow's priority is under congestion control.
    pub fn controlled(&self, scenario: &Scenario, flow: usize) -> bool {
        let spec = &self.flows[flow];
        match &self.domain {
            Some(domain) => domain.cnpvs & 1 << self.class(scenario, spec) != 0,
            None => scenario.traffic[spec.traffic].controlled,
        }
    }

    /// Whether a flow has a reaction point that may slow it.
    pub fn reacts(&self, scenario: &Scenario, flow: usize) -> bool {
        let class = self.class(scenario, &self.flows[flow]);
        let reacts = |domain: &ResolvedDomain| domain.reacts(self.paths[flow][0][0], class);
        self.controlled(scenario, flow) && self.domain.as_ref().is_none_or(reacts)
    }

    /// Whether a flow's frames leave their host with a CN-TAG.
    pub fn cn_tagged(&self, scenario: &Scenario, flow: usize) -> bool {
        let spec = &self.flows[flow];
        let tags = |domain: &ResolvedDomain| domain.tags(self.paths[flow][0][0], self.class(scenario, spec));
        scenario.traffic[spec.traffic].cn_tag && self.domain.as_ref().is_none_or(tags)
    }

    /// Returns the table of `[[switch]]` that applies to the switch `node`.
    pub fn switch<'a>(&self, scenario: &'a Scenario, node: NodeId) -> Option<&'a Switches> {
        let is_switch = self.network.nodes[node].role == Role::Switch;
        self.tables[node].filter(|_| is_switch).map(|table| &scenario.switches[table])
    }

    /// Whether a node is a switch.
    pub(super) fn is_switch(&self, node: NodeId) -> bool {
        self.network.nodes[node].role == Role::Switch
    }

    /// Returns the size of the shared buffer of a node that has one.
    pub(super) fn shared_size(&self, scenario: &Scenario, node: NodeId) -> Option<Bytes> {
        self.shared[node].map(|table| scenario.shared_buffers[table].size)
    }

    /// Returns the table of `[[adapter]]` that applies to the host `node`.
    pub fn adapter<'a>(&self, scenario: &'a Scenario, node: NodeId) -> Option<&'a Adapters> {
        let is_host = self.network.nodes[node].role == Role::Host;
        self.tables[node].filter(|_| is_host).map(|table| &scenario.adapters[table])
    }

    /// Returns a key of the table that applies to `node`, for messages.
    pub(super) fn key(&self, node: NodeId, name: &str) -> String {
        let list = if self.network.nodes[node].role == Role::Host { "adapter" } else { "switch" };
        format!("{list}.{}.{name}", self.tables[node].unwrap_or(0))
    }

    /// Returns the octets that each class's queue of a port holds.
    pub fn capacity(&self, scenario: &Scenario, port: PortId) -> Option<Bytes> {
        let (from, _) = self.network.ends(port);
        match scenario.topology.built_in_bottleneck() {
            Some(bottleneck) if bottleneck.port == port => Some(bottleneck.buffer),
            _ => self.switch(scenario, from).and_then(|switch| switch.output_buffer),
        }
    }

    /// Returns the octets of wire time on top of each frame at a port; zero where a host reads what it received.
    pub fn overhead(&self, scenario: &Scenario, port: PortId) -> Bytes {
        if self.is_outside(port) { scenario.topology.frame_overhead() } else { Bytes::ZERO }
    }

    /// Returns the octets that may wait behind each limiter of a host.
    pub fn room(&self, scenario: &Scenario, host: NodeId) -> Option<Bytes> {
        let buffer = self.adapter(scenario, host).and_then(|adapter| adapter.input_buffer);
        buffer.map(|buffer| Bytes::new(buffer.get() / u64::from(self.sends[host].max(1))))
    }

    /// Whether a congestion point sits at a port: at outputs of switches that flows cross.
    pub fn watched(&self, scenario: &Scenario, port: PortId) -> bool {
        let (from, _) = self.network.ends(port);
        let switch = self.network.nodes[from].role == Role::Switch;
        let wanted = self.switch(scenario, from).is_none_or(|switch| switch.congestion_points);
        let points = self.domain.as_ref().is_none_or(|domain| domain.port_plan(port).points != 0);
        switch && wanted && self.crossed[port] && points
    }

    /// Whether flow `flow` crosses the bottleneck, on one of its paths at least.
    pub fn crosses_bottleneck(&self, flow: usize) -> bool {
        self.paths[flow].iter().any(|path| path.contains(&self.bottleneck))
    }

    /// Whether the bottleneck is on all paths that flow `flow` ever has, or on none. Otherwise only a part of its octets
    /// crosses the bottleneck.
    pub fn crosses_always_or_never(&self, flow: usize) -> bool {
        let changed = self.reroutes.iter().filter(|change| change.flow == flow).flat_map(|change| change.paths.iter());
        let crosses = self.crosses_bottleneck(flow);
        self.paths[flow].iter().chain(changed.map(Vec::as_slice)).all(|path| path.contains(&self.bottleneck) == crosses)
    }
}

/// The first `outside` links by node, in their order.
fn by_node(network: &Network, outside: usize) -> IdVec<NodeId, Vec<LinkId>> {
    let mut links_of = IdVec::for_each_of(&network.nodes, Vec::new());
    for (number, link) in network.links.enumerate().take(outside) {
        [link.a, link.b].into_iter().for_each(|node| links_of[node].push(number));
    }
    links_of
}

/// For each node the first table that fits it; every table must fit one.
fn tables(scenario: &Scenario, network: &Network) -> Result<IdVec<NodeId, Option<usize>>, LocatedFault> {
    let mut tables = IdVec::for_each_of(&network.nodes, None);
    let switches = scenario.switches.iter().map(|table| &table.only).enumerate();
    let adapters = scenario.adapters.iter().map(|table| &table.only).enumerate();
    let switches = switches.map(|(i, only)| (Role::Switch, "switch", i, only));
    for (role, list, i, only) in switches.chain(adapters.map(|(i, only)| (Role::Host, "adapter", i, only))) {
        let key = format!("{list}.{i}");
        let fits = read_pattern(only, &format!("{key}.only"))?;
        let mut any = false;
        for (node, table) in network.nodes.iter().zip(tables.iter_mut()).filter(|(node, _)| node.role == role) {
            if fits.matches(&node.name) {
                any = true;
                table.get_or_insert(i);
            }
        }
        if !any {
            return Err(no_node(network, role, only, &key));
        }
    }
    Ok(tables)
}

/// Returns the table of `[[shared_buffer]]` of each node, which only switches have.
fn shared_tables(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
) -> Result<IdVec<NodeId, Option<usize>>, LocatedFault> {
    let nodes = &resolved.network.nodes;
    let mut chosen = IdVec::for_each_of(nodes, None);
    for (table, shared) in scenario.shared_buffers.iter().enumerate() {
        let key = |name: &str| format!("shared_buffer.{table}.{name}");
        let fits = read_pattern(&shared.only, &key("only"))?;
        let mut any = false;
        for (node, chosen) in nodes.ids().zip(chosen.iter_mut()) {
            let Some(switch) = resolved.is_switch(node).then_some(&nodes[node]) else { continue };
            if !fits.matches(&switch.name) {
                continue;
            }
            any = true;
            chosen.get_or_insert(table);
            if resolved.switch(scenario, node).is_some_and(|table| table.input_memory.is_some()) {
                let fault = Fault::TwoMemories { switch: switch.name.clone() };
                return Err(LocatedFault::new(fault, &[resolved.key(node, "input_memory"), key("only")]));
            }
        }
        if !any {
            return Err(no_node(&resolved.network, Role::Switch, &shared.only, &format!("shared_buffer.{table}")));
        }
    }
    Ok(chosen)
}

fn no_node(network: &Network, role: Role, pattern: &str, table: &str) -> LocatedFault {
    let what = if role == Role::Host { "host" } else { "switch" };
    let known = network.nodes.iter().filter(|node| node.role == role).map(|node| node.name.clone()).collect();
    let fault = Fault::NoMatch { pattern: pattern.to_owned(), what, known };
    LocatedFault::new(fault, &[format!("{table}.only"), table.to_owned()])
}

/// Returns the rate that each flow offers, bit/s. Saturated flows and connections of one host share its link; a finite
/// flow counts as spread over the time in which flows start.
fn wanted(
    scenario: &Scenario,
    network: &Network,
    flows: &[FlowSpec],
    paths: &[Paths<PortId>],
    sends: &IdVec<NodeId, u32>,
) -> Vec<f64> {
    let mut of_stream: HashMap<(usize, NodeId), f64> = HashMap::new();
    flows.iter().for_each(|flow| *of_stream.entry((flow.traffic, flow.source_index)).or_default() += 1.0);
    let mut first: HashMap<usize, usize> = HashMap::new();
    for (number, flow) in flows.iter().enumerate() {
        first.entry(flow.traffic).or_insert(number);
    }
    let one = |(number, (flow, paths)): (usize, (&FlowSpec, &Paths<PortId>))| {
        if let Some(size) = flow.size {
            return size.bits() as f64 / scenario.arrivals_end().seconds();
        }
        let traffic = &scenario.traffic[flow.traffic];
        let link = network.link(paths[0][0]).rate.as_f64();
        let wanted = match traffic.offered() {
            Offered::AllItCan { ceiling: Some(rate), .. } => rate.as_f64(),
            Offered::AllItCan { ceiling: None, .. } => link / f64::from(sends[flow.source_index]),
            Offered::Stream(process) => process.mean_bps(),
            Offered::Replayed => {
                replaying::offered_bps(scenario, flow.traffic, number - first[&flow.traffic], flow.start)
            }
            Offered::Sized => 0.0,
        };
        let shared =
            if traffic.spread == Pairing::Uniform { of_stream[&(flow.traffic, flow.source_index)] } else { 1.0 };
        (wanted / shared).min(link)
    };
    flows.iter().zip(paths).enumerate().map(one).collect()
}

/// Returns the output port of a switch with the highest offered load, the first of several; any port if no flow crosses
/// a switch.
fn most_offered(network: &Network, paths: &[Paths<PortId>], wanted_bps: &[f64]) -> PortId {
    let mut load = network.by_port(0.0);
    for (ways, wanted) in paths.iter().zip(wanted_bps) {
        for port in ways.iter().flatten() {
            load[*port] += wanted / ways.len() as f64 / network.link(*port).rate.as_f64();
        }
    }
    let of_switch = |port: PortId| network.nodes[network.ends(port).0].role == Role::Switch;
    let ports = || network.ports().filter(|port| load[*port] > 0.0);
    let most = |best: PortId, port: PortId| if load[port] > load[best] * (1.0 + 1e-9) { port } else { best };
    ports().filter(|port| of_switch(*port)).reduce(most).or_else(|| ports().reduce(most)).unwrap_or(PortId::new(0))
}

/// The ports that flows cross, or may cross, by name.
struct Ports {
    names: Vec<(String, PortId)>,
}

impl Ports {
    fn new(network: &Network, usable: impl Fn(PortId) -> bool) -> Ports {
        let ports = network.ports().filter(|port| usable(*port));
        Ports { names: ports.map(|port| (network.port_name(port), port)).collect() }
    }

    fn find(&self, name: &str, table: &str, key: &str) -> Result<PortId, LocatedFault> {
        match self.names.iter().find(|(known, _)| known == name) {
            Some((_, port)) => Ok(*port),
            None => {
                let known = self.names.iter().map(|(name, _)| name.clone()).collect();
                let fault = Fault::NotInTopology { what: "port", name: name.to_owned(), known };
                Err(LocatedFault::new(fault, &[format!("{table}.{key}"), table.to_owned()]))
            }
        }
    }

    fn matching(&self, text: &str) -> Result<Vec<PortId>, LocatedFault> {
        let wanted = read_pattern(text, "record.queues")?;
        let ports: Vec<PortId> =
            self.names.iter().filter(|(name, _)| wanted.matches(name)).map(|(_, port)| *port).collect();
        if ports.is_empty() {
            let known = self.names.iter().map(|(name, _)| name.clone()).collect();
            let fault = Fault::NoMatch { pattern: text.to_owned(), what: "port", known };
            return Err(LocatedFault::new(fault, &["record.queues"]));
        }
        Ok(ports)
    }
}
