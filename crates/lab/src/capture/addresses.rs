//! Addresses of a scenario's nodes and flows.

use crate::fabric::Fabric;
use qcnlab_scenario::Scenario;
use qcnlab_schemes::SignalKind;
use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_sim::{FlowId, FlowPlan, LimiterId, NodeId, Traffic};
use qcnlab_units::{Bytes, Id, IdVec};
use qcnlab_wire::{Cpid, MacAddress};
use std::collections::HashMap;

/// Octets of the headers of a data frame without tags beside the 802.1Q tag: addresses, tag, EtherType, IPv4.
pub(super) const TO_IPV4: u64 = 12 + 4 + 2 + 20;
/// Octets of a CN-TAG with its EtherType.
pub(super) const CN_TAG: u64 = 4;
/// Octets of a scheme tag with its EtherType.
pub(super) const SCHEME_TAG: u64 = 16;
const TCP: u64 = 20;
const UDP: u64 = 8;
/// The base header and the invariant CRC of RoCEv2.
const ROCE: u64 = 12 + 4;
/// Octets of a frame's number, at the start of a UDP payload.
pub(super) const NUMBER: u64 = 8;

/// The address of a node: 02:00 and its number in the scenario, from 1.
pub(super) fn mac(node: NodeId) -> MacAddress {
    MacAddress::local(node.number() + 1)
}

/// The address of a node, as text.
pub(crate) fn mac_address(node: NodeId) -> String {
    mac(node).to_string()
}

/// The CPID of a bridge's congestion point, whose number in the run counts from 0, as 16 hexadecimal digits.
pub(crate) fn cpid(bridge: NodeId, point: u32) -> String {
    Cpid::new(mac(bridge), point.wrapping_add(1) as u16).to_string()
}

/// The address of a node in 10.0.0.0/8: its number in the scenario, from 1.
pub(super) fn ip(node: NodeId) -> [u8; 4] {
    let [_, b, c, d] = (node.number() + 1).to_be_bytes();
    [10, b, c, d]
}

/// What carries a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// UDP to the discard port; the payload starts with the frame's number.
    Udp,
    /// RoCEv2: messages over queue pairs, and schemes whose receivers answer with CNPs.
    Roce(Messages),
    /// TCP.
    Tcp {
        /// Octets of the stream in a full frame.
        full: u64,
        /// Segments before the last, and octets of the last; `None` for a stream without end.
        last: Option<(u32, u64)>,
    },
}

/// How packets of RoCE make up messages. A message has at most 2^31 octets (IBTA volume 1, chapter 9): what is longer,
/// or has no end, is several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Messages {
    /// Packets of the longest message.
    longest: u32,
    /// Packets in all; `None` for no end.
    end: Option<u32>,
}

impl Messages {
    /// Of packets with `payload` octets, `total` octets in all.
    fn new(payload: Bytes, total: Option<Bytes>) -> Messages {
        let payload = payload.get().max(1);
        let packets = |total: Bytes| u32::try_from(total.get().div_ceil(payload)).ok().map(|packets| packets.max(1));
        Messages { longest: ((1 << 31) / payload).max(1) as u32, end: total.and_then(packets) }
    }

    /// Whether this packet is the first of a message, and whether it is the last.
    pub(super) fn first_and_last(&self, number: u32) -> (bool, bool) {
        let position = number % self.longest;
        (position == 0, position == self.longest - 1 || self.end == number.checked_add(1))
    }

    /// Messages that are whole before this packet.
    pub(super) fn whole_before(&self, number: u32) -> u32 {
        number / self.longest + u32::from(self.end == Some(number) && !number.is_multiple_of(self.longest))
    }
}

/// How a flow looks on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowOnWire {
    pub(super) source: NodeId,
    pub(super) destination: NodeId,
    /// Number of its reaction point in its host, from 1.
    pub(super) rpid: u16,
    /// Port of the sender, and the queue pair.
    pub(super) port: u16,
    pub(super) protocol: Protocol,
}

impl FlowOnWire {
    /// Octets of a data frame before its data.
    pub(super) fn headers(&self, cn_tagged: bool, scheme_tagged: bool) -> u64 {
        let transport = match self.protocol {
            Protocol::Udp => UDP + NUMBER,
            Protocol::Roce(_) => UDP + ROCE,
            Protocol::Tcp { .. } => TCP,
        };
        TO_IPV4 + transport + if cn_tagged { CN_TAG } else { 0 } + if scheme_tagged { SCHEME_TAG } else { 0 }
    }

    /// The position in the stream at which segment `number` starts.
    pub(super) fn stream_position(&self, number: u32) -> u64 {
        match self.protocol {
            Protocol::Tcp { full, last: Some((before, last)) } if number > before => u64::from(before) * full + last,
            Protocol::Tcp { full, .. } => u64::from(number) * full,
            Protocol::Udp | Protocol::Roce(_) => 0,
        }
    }
}

/// All flows of a fabric, as they look on the wire.
pub(super) fn flows(scenario: &Scenario, fabric: &Fabric) -> IdVec<FlowId, FlowOnWire> {
    let roce = answers_with_cnps(scenario);
    let mut limiters: HashMap<LimiterId, (NodeId, u16)> = HashMap::new();
    let mut of_host: HashMap<NodeId, u16> = HashMap::new();
    let each = (0u32..).zip(&fabric.flows).map(|(index, flow)| {
        let path = &flow.paths[0];
        let source = fabric.ports[path[0]].from;
        let destination = fabric.ports[path[path.len() - 1]].to;
        let (_, rpid) = *limiters.entry(flow.limiter).or_insert_with(|| {
            let next = of_host.entry(source).or_insert(0);
            *next = next.wrapping_add(1);
            (source, *next)
        });
        let port = 49_152 + (index % 16_384) as u16;
        let mut on_wire = FlowOnWire { source, destination, rpid, port, protocol: Protocol::Udp };
        match &flow.traffic {
            Traffic::Tcp { .. } => on_wire.protocol = tcp(flow),
            Traffic::Roce { config, total } => {
                on_wire.protocol = Protocol::Roce(Messages::new(config.payload, *total));
            }
            other if roce => on_wire.protocol = Protocol::Roce(Messages::new(flow.frame, other.total())),
            _ => {}
        }
        on_wire
    });
    each.collect()
}

/// Whether receivers answer marked frames with CNPs, as those of RoCEv2 do.
fn answers_with_cnps(scenario: &Scenario) -> bool {
    if let Config::Foreign(scheme) = &scenario.scheme {
        return scheme.speaks().contains(&SignalKind::Cnp);
    }
    let name = scenario.scheme.name();
    catalogue().iter().any(|listing| listing.name == name && listing.speaks().contains(&SignalKind::Cnp))
}

fn tcp(flow: &FlowPlan) -> Protocol {
    let Traffic::Tcp { config, total } = &flow.traffic else { return Protocol::Udp };
    let headers = TO_IPV4 + TCP + if flow.cn_tag { CN_TAG } else { 0 };
    let full = flow.frame.get().saturating_sub(headers).max(1);
    let last = total.map(|total| {
        let before = total.get().div_ceil(config.mss.get()).saturating_sub(1);
        let size = total.get() - before * config.mss.get() + config.headers.get();
        (u32::try_from(before).unwrap_or(u32::MAX), size.saturating_sub(headers).max(1))
    });
    Protocol::Tcp { full, last }
}
