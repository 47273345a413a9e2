//! From a plan to what is built of it: which nodes are hosts and switches, the links between them, how flows are told
//! apart on the wire, and the way to each host.

use crate::defence::DefendedPort;
use crate::error::Unsupported;
use crate::head::Conversation;
use crate::port::PortShape;
use qcnlab_scenario::PortDefence;
use qcnlab_schemes::SignalKind;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{FlowId, LimiterId, NodeId, Plan, PortId, Traffic};
use qcnlab_units::{Bytes, Id, IdVec};
use qcnlab_wire::MacAddress;
use std::collections::HashMap;

/// The VLAN of all frames.
pub(crate) const VLAN: u16 = 1;
/// Ports of senders start here; with the flow's number added.
pub(crate) const FIRST_PORT: u16 = 49_152;
/// The port of UDP receivers: the discard service.
pub(crate) const DISCARD: u16 = 9;
/// The port of TCP receivers.
pub(crate) const TCP_PORT: u16 = 5001;
/// Octets that a queue without a limit of its own holds.
pub(crate) const MOST_QUEUED: u64 = 16 << 20;
/// TCP connections of a run: each is two threads.
const MOST_CONNECTIONS: usize = 400;
/// The longest frame.
const LONGEST_FRAME: u64 = 9216;
/// How the lab calls what reads from the receive buffer of a host, behind the host's name.
const READER: &str = "/reader";
/// Octets before the IPv4 packet of a frame with an 802.1Q tag, and of a CN-TAG.
pub(crate) const TAGGED_HEADER: u64 = 18;
pub(crate) const CN_TAG: u64 = 4;

/// The MAC address of a node: 02:00 and its number, from 1.
pub(crate) fn mac(node: NodeId) -> MacAddress {
    MacAddress::local(node.number() + 1)
}

/// The IPv4 address of a node in 10.0.0.0/8: its number, from 1.
pub(crate) fn ip(node: NodeId) -> [u8; 4] {
    let [_, b, c, d] = (node.number() + 1).to_be_bytes();
    [10, b, c, d]
}

/// The address of the end of a link at the node that a port belongs to; no host's.
pub(crate) fn wire_mac(port: PortId) -> MacAddress {
    let [a, b, c, d] = port.number().to_be_bytes();
    MacAddress([0x06, 0x00, a, b, c, d])
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) name: String,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) shape: PortShape,
    pub(crate) recorded: bool,
    /// The other direction.
    pub(crate) reverse: PortId,
}

/// A flow on the wire.
#[derive(Clone, Debug)]
pub(crate) struct FlowEnds {
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    /// The port of its sender.
    pub(crate) port: u16,
    /// The identifier of its reaction point in its host, from 1.
    pub(crate) rpid: u16,
    pub(crate) class: u8,
    pub(crate) tcp: bool,
}

/// What is built of a plan.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) ways: IdVec<PortId, Way>,
    pub(crate) flows: IdVec<FlowId, FlowEnds>,
    /// For each node, whether it is a host, a switch, or not in use.
    pub(crate) roles: IdVec<NodeId, Role>,
    /// For each switch and destination the port to send over.
    pub(crate) table: HashMap<(NodeId, MacAddress), PortId>,
    /// Octets of the longest frame on a link.
    pub(crate) mtu: u32,
    /// Names of the nodes.
    pub(crate) systems: IdVec<NodeId, String>,
    /// For each way, how the node that it leaves defends the domain; empty without a domain.
    pub(crate) defences: IdVec<PortId, Option<PortDefence>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Host,
    Switch,
    Unused,
}

impl Layout {
    /// Lays out a plan.
    ///
    /// # Errors
    /// When the plan has what the data plane does not.
    pub(crate) fn new(plan: &Plan) -> Result<Layout, Unsupported> {
        check_scheme(&plan.scheme)?;
        if plan.flows.iter().any(|flow| matches!(flow.traffic, Traffic::Roce { .. })) {
            return Err(Unsupported::Roce);
        }
        let connections = plan.flows.iter().filter(|flow| matches!(flow.traffic, Traffic::Tcp { .. })).count();
        if connections > MOST_CONNECTIONS {
            return Err(Unsupported::Connections { connections, most: MOST_CONNECTIONS });
        }
        if let Some(switch) = plan.nodes.iter().find(|node| node.shared_buffer.is_some()) {
            return Err(Unsupported::SharedBuffer { switch: switch.name.clone() });
        }
        if let Some(switch) = plan.nodes.iter().find(|node| node.quanta.is_some()) {
            return Err(Unsupported::Weights { switch: switch.name.clone() });
        }
        if !plan.storms.is_empty() || plan.nodes.iter().any(|node| node.watchdog.is_some()) {
            return Err(Unsupported::Storm);
        }
        if !plan.failures.is_empty() {
            return Err(Unsupported::Failure);
        }
        if plan.ports.iter().any(|port| !port.wred.is_empty()) {
            return Err(Unsupported::Wred);
        }
        if !plan.replays.is_empty() {
            return Err(Unsupported::Capture);
        }
        let mut ways = ways(plan);
        for way in ways.ids() {
            if ways[way].reverse == PortId::MAX {
                let other = &ways[way];
                let (from, to) = (&plan.nodes[other.to].name, &plan.nodes[other.from].name);
                let back = Way {
                    name: format!("{from}->{to}"),
                    from: other.to,
                    to: other.from,
                    reverse: way,
                    recorded: false,
                    shape: PortShape { capacity: MOST_QUEUED, ..other.shape },
                };
                ways[way].reverse = ways.push(back);
            }
        }
        if plan.domain.is_some() && ways.len() > plan.ports.len() {
            return Err(Unsupported::DomainFeedback);
        }
        let flows = flows(plan)?;
        let roles = roles(plan, &flows, &ways)?;
        let mut layout = Layout {
            ways,
            flows,
            roles,
            table: HashMap::new(),
            mtu: mtu(plan)?,
            systems: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            defences: IdVec::new(),
        };
        layout.find_ways(plan)?;
        Ok(layout)
    }

    /// The layout with what its ports do for the domain.
    pub(crate) fn defended(mut self, defences: IdVec<PortId, Option<PortDefence>>) -> Layout {
        self.defences = defences;
        self
    }

    /// What the node that a way leaves does for the domain; `None` where it takes no part, and without a domain.
    pub(crate) fn defended_port(&self, way: PortId) -> Option<DefendedPort> {
        self.defences.get(way)?.clone().map(DefendedPort::new)
    }

    /// Enters the way of each flow and the way back into the switches' tables.
    fn find_ways(&mut self, plan: &Plan) -> Result<(), Unsupported> {
        for (flow, ends) in plan.flows.iter().zip(&self.flows) {
            for port in &flow.paths[0] {
                let way = &self.ways[*port];
                for (from, to, by) in [(way.from, ends.destination, *port), (way.to, ends.source, way.reverse)] {
                    if self.table.insert((from, mac(to)), by).is_some_and(|other| other != by) {
                        let name = |node: NodeId| plan.nodes[node].name.clone();
                        return Err(Unsupported::Ways { host: name(to), switch: name(from) });
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn is_host(&self, node: NodeId) -> bool {
        self.roles[node] == Role::Host
    }

    /// Hosts, by node.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.roles.ids().filter(|node| self.is_host(*node))
    }

    /// The port that a host sends over.
    pub(crate) fn uplink(&self, host: NodeId) -> PortId {
        let uplink = self.ways.find_id(|way| way.from == host);
        uplink.unwrap_or_else(|| unreachable!("a host has a link"))
    }

    /// The flow that a frame is data of.
    pub(crate) fn flow_of(&self, of: &Conversation) -> Option<FlowId> {
        let id = FlowId::new(of.source_port.checked_sub(FIRST_PORT)?.into());
        let flow = self.flows.get(id)?;
        let fits = ip(flow.source) == of.source && ip(flow.destination) == of.destination;
        fits.then_some(id)
    }

    /// The flow that a frame is data of, by its addresses of both layers.
    pub(crate) fn flow_of_frame(&self, source: MacAddress, of: &Conversation) -> Option<FlowId> {
        self.flow_of(of).filter(|flow| mac(self.flows[*flow].source) == source)
    }

    /// Whether an address is that of a node other than `host`.
    pub(crate) fn is_of_another(&self, address: MacAddress, host: NodeId) -> bool {
        address != mac(host) && self.roles.ids().map(mac).any(|node| node == address)
    }

    /// The flow that a frame acknowledges.
    pub(crate) fn acknowledged_flow(&self, of: &Conversation) -> Option<FlowId> {
        let back = Conversation {
            source: of.destination,
            destination: of.source,
            source_port: of.destination_port,
            destination_port: of.source_port,
            ..*of
        };
        self.flow_of(&back)
    }
}

/// Refuses schemes whose signals or marks the data plane does not carry.
fn check_scheme(scheme: &Config) -> Result<(), Unsupported> {
    if let Config::Foreign(foreign) = scheme {
        return Err(Unsupported::ForeignScheme { name: foreign.name().to_owned() });
    }
    let carried = [SignalKind::Cnm, SignalKind::QueueLen];
    if let Some(kind) = scheme.hears().iter().find(|kind| !carried.contains(kind)) {
        return Err(Unsupported::Signal { scheme: scheme.name().to_owned(), kind: kind.name() });
    }
    if !scheme.events().is_empty() {
        return Err(Unsupported::Acknowledgements { scheme: scheme.name().to_owned() });
    }
    if scheme.isolation_point().is_some() {
        return Err(Unsupported::Isolation { scheme: scheme.name().to_owned() });
    }
    Ok(())
}

fn ways(plan: &Plan) -> IdVec<PortId, Way> {
    let way = |port: &qcnlab_sim::PortPlan| Way {
        name: port.name.clone(),
        from: port.from,
        to: port.to,
        shape: PortShape {
            rate: port.rate,
            delay: port.delay.ps() + port.latency.ps(),
            capacity: port.capacity.map_or(MOST_QUEUED, Bytes::get).min(MOST_QUEUED),
            overhead: port.overhead.get(),
        },
        recorded: port.recorded,
        reverse: port.peer.unwrap_or(PortId::MAX),
    };
    plan.ports.iter().map(way).collect()
}

fn flows(plan: &Plan) -> Result<IdVec<FlowId, FlowEnds>, Unsupported> {
    let most = usize::from(u16::MAX - FIRST_PORT) + 1;
    if plan.flows.len() > most {
        return Err(Unsupported::Flows { flows: plan.flows.len(), most });
    }
    let mut rpids: HashMap<LimiterId, u16> = HashMap::new();
    let mut of_host: HashMap<NodeId, u16> = HashMap::new();
    let mut all = IdVec::new();
    for (index, flow) in (0u16..).zip(&plan.flows) {
        if flow.paths.len() > 1 {
            return Err(Unsupported::Paths { flow: flow.name.to_string() });
        }
        let path = &flow.paths[0];
        let source = plan.ports[path[0]].from;
        let destination = plan.ports[path[path.len() - 1]].to;
        let rpid = *rpids.entry(flow.limiter).or_insert_with(|| {
            let next = of_host.entry(source).or_insert(0);
            *next = next.wrapping_add(1);
            *next
        });
        let tcp = matches!(flow.traffic, Traffic::Tcp { .. });
        all.push(FlowEnds { source, destination, port: FIRST_PORT + index, rpid, class: flow.class, tcp });
    }
    Ok(all)
}

fn roles(plan: &Plan, flows: &[FlowEnds], ways: &[Way]) -> Result<IdVec<NodeId, Role>, Unsupported> {
    let mut roles = IdVec::for_each_of(&plan.nodes, Role::Unused);
    for way in ways {
        roles[way.from] = Role::Switch;
    }
    for flow in flows {
        roles[flow.source] = Role::Host;
        roles[flow.destination] = Role::Host;
    }
    let mut readers = flows.iter().filter_map(|flow| plan.nodes[flow.destination].name.strip_suffix(READER));
    if let Some(host) = readers.next() {
        return Err(Unsupported::ReceiveBuffer { host: host.to_owned() });
    }
    Ok(roles)
}

fn mtu(plan: &Plan) -> Result<u32, Unsupported> {
    let longest = plan.flows.iter().map(|flow| flow.frame.get()).max().unwrap_or(0).max(1522);
    if longest > LONGEST_FRAME {
        return Err(Unsupported::Frame { octets: longest, most: LONGEST_FRAME });
    }
    Ok(longest as u32 + 64)
}
