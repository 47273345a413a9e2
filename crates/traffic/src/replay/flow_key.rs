//! What tells the flows of a capture apart: addresses, ports, RPIDs.

use super::FlowsBy;
use crate::address::Address;
use qcnlab_capture::CapturedFrame;
use qcnlab_capture::{Header, HeaderCut};
use qcnlab_wire::EtherType;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IPV6: EtherType = EtherType(0x86DD);
/// Protocols whose headers begin with the ports of source and destination: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// IPv6 extension headers that say how long they are: hop-by-hop options, routing, destination options, mobility, HIP,
/// shim6.
const EXTENSIONS: [u8; 6] = [0, 43, 60, 135, 139, 140];
const IPV6_FRAGMENT: u8 = 44;

/// What tells a flow apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FlowKey {
    pub(super) from: Address,
    pub(super) to: Address,
    within: Within,
    /// The priority of its frames, where it counts and they have a tag.
    pub(super) class: Option<u8>,
}

/// What tells flows between the same addresses apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Within {
    Nothing,
    Rpid(u16),
    /// Protocol, and the ports of source and destination; 0 where there are none.
    Ports(u8, u16, u16),
}

impl FlowKey {
    /// The key of a data frame; `None` if it has not what keys are made of.
    pub(super) fn of(
        frame: &CapturedFrame<'_>,
        header: &Header,
        by: FlowsBy,
        keep_priority: bool,
    ) -> Result<Option<FlowKey>, HeaderCut> {
        let class = header.tag_priority.filter(|_| keep_priority);
        let on_ethernet = |within| {
            let [from, to] = [header.source, header.destination].map(Address::Mac);
            FlowKey { from, to, within, class }
        };
        Ok(match by {
            FlowsBy::Addresses => Some(on_ethernet(Within::Nothing)),
            FlowsBy::Rpid => header.rpid.map(|rpid| on_ethernet(Within::Rpid(rpid))),
            FlowsBy::FiveTuple => {
                let packet = Packet { frame, at: header.msdu + 2 };
                let tuple = match header.ether_type {
                    EtherType::IPV4 => packet.ipv4()?,
                    IPV6 => packet.ipv6()?,
                    _ => return Ok(None),
                };
                let (from, to, protocol, [source, destination]) = tuple;
                let within = Within::Ports(protocol, source, destination);
                Some(FlowKey { from: Address::Ip(from), to: Address::Ip(to), within, class })
            }
        })
    }
}

type FiveTuple = (IpAddr, IpAddr, u8, [u16; 2]);

/// An IP packet in a frame that may be cut.
struct Packet<'a> {
    frame: &'a CapturedFrame<'a>,
    at: usize,
}

impl Packet<'_> {
    /// `N` octets from `offset` of the packet on.
    fn octets<const N: usize>(&self, offset: usize) -> Result<[u8; N], HeaderCut> {
        let (from, kept) = (self.at + offset, self.frame.octets.len());
        let part = self.frame.octets.get(from..from + N).and_then(|part| part.try_into().ok());
        part.ok_or(HeaderCut { frame: self.frame.number, kept, needed: from + N })
    }

    fn ipv4(&self) -> Result<FiveTuple, HeaderCut> {
        let [first] = self.octets(0)?;
        let fragment = u16::from_be_bytes(self.octets(6)?) & 0x1FFF;
        let [protocol] = self.octets(9)?;
        let [from, to] = [self.octets::<4>(12)?, self.octets(16)?].map(|ip| IpAddr::V4(Ipv4Addr::from(ip)));
        let behind = usize::from(first & 0x0F).max(5) * 4;
        Ok((from, to, protocol, self.ports(protocol, behind, fragment == 0)?))
    }

    fn ipv6(&self) -> Result<FiveTuple, HeaderCut> {
        let [mut protocol] = self.octets(6)?;
        let [from, to] = [self.octets::<16>(8)?, self.octets(24)?].map(|ip| IpAddr::V6(Ipv6Addr::from(ip)));
        let (mut behind, mut first) = (40, true);
        loop {
            if EXTENSIONS.contains(&protocol) {
                let [next, eights] = self.octets(behind)?;
                (protocol, behind) = (next, behind + 8 + 8 * usize::from(eights));
            } else if protocol == IPV6_FRAGMENT {
                let [next, _, high, low] = self.octets(behind)?;
                first &= u16::from_be_bytes([high, low]) >> 3 == 0;
                (protocol, behind) = (next, behind + 8);
            } else {
                return Ok((from, to, protocol, self.ports(protocol, behind, first)?));
            }
            if !first {
                return Ok((from, to, protocol, [0; 2]));
            }
        }
    }

    /// The ports, `behind` octets into the packet; 0 in all fragments but the first.
    fn ports(&self, protocol: u8, behind: usize, first: bool) -> Result<[u16; 2], HeaderCut> {
        if !first || !WITH_PORTS.contains(&protocol) {
            return Ok([0; 2]);
        }
        let [a, b, c, d] = self.octets(behind)?;
        Ok([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
    }
}
