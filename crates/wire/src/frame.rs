//! A whole Ethernet frame (IEEE 802.3 clause 3.2, without preamble and FCS): addresses, tags, and what they announce.

use crate::address::{EtherType, MacAddress};
use crate::cn_tag::CnTag;
use crate::cnm::Cnm;
use crate::codec::{Codec, Reader, Writer};
use crate::error::{Format, WireError};
use crate::experimental::{SIGNATURE, SchemeMessage, SchemeTag};
use crate::internet::Ipv4Packet;
use crate::lldp::Lldp;
use crate::mac_control::MacControl;
use crate::vlan::VlanTag;
use std::fmt;

const FORMAT: Format = Format::Ethernet;

/// An Ethernet frame without its FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Destination address.
    pub destination: MacAddress,
    /// Source address.
    pub source: MacAddress,
    /// Outer tag, of a provider's bridges (0x88A8).
    pub s_tag: Option<VlanTag>,
    /// 802.1Q tag (0x8100); carries the priority.
    pub c_tag: Option<VlanTag>,
    /// Congestion notification tag (0x22E9).
    pub cn_tag: Option<CnTag>,
    /// What a scheme wrote on the frame (0x88B6, experimental).
    pub scheme_tag: Option<SchemeTag>,
    /// What it carries.
    pub payload: Payload<'a>,
    /// Octets behind what the payload counts: padding to the minimum, as a rule.
    pub padding: &'a [u8],
}

/// What a frame carries, by its EtherType.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Congestion notification message.
    Cnm(Cnm<'a>),
    /// PAUSE, PFC and other MAC control.
    MacControl(MacControl<'a>),
    /// LLDP.
    Lldp(Lldp<'a>),
    /// IPv4.
    Ipv4(Ipv4Packet<'a>),
    /// Control frame of a scheme (experimental).
    SchemeMessage(SchemeMessage),
    /// Anything else.
    Other {
        /// Its EtherType, or its length.
        ether_type: EtherType,
        /// All octets behind it.
        octets: &'a [u8],
    },
}

impl Payload<'_> {
    /// Returns the EtherType that announces it.
    pub const fn ether_type(&self) -> EtherType {
        match self {
            Payload::Cnm(_) => EtherType::CNM,
            Payload::MacControl(_) => EtherType::MAC_CONTROL,
            Payload::Lldp(_) => EtherType::LLDP,
            Payload::Ipv4(_) => EtherType::IPV4,
            Payload::SchemeMessage(_) => EtherType::SCHEME_MESSAGE,
            Payload::Other { ether_type, .. } => *ether_type,
        }
    }
}

impl<'a> Frame<'a> {
    /// Octets of the smallest frame that a link carries, without FCS.
    pub const MIN_LEN: usize = 60;
    /// Octets on the link beside those of the frame: FCS, preamble and the gap between frames.
    pub const LINK_OVERHEAD: usize = 24;

    /// Returns an untagged frame.
    pub const fn new(destination: MacAddress, source: MacAddress, payload: Payload<'a>) -> Frame<'a> {
        Frame { destination, source, s_tag: None, c_tag: None, cn_tag: None, scheme_tag: None, payload, padding: &[] }
    }

    /// Decode what was captured of a frame of `wire_len` octets. Data may be cut; the headers must be there.
    pub fn decode_captured(octets: &'a [u8], wire_len: usize) -> Result<Frame<'a>, WireError> {
        Frame::read(&mut Reader::captured(octets, wire_len))
    }

    /// Encode into the start of `out` and pad with zeros to [`Frame::MIN_LEN`]; return the number of octets written.
    pub fn encode_padded(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let (needed, available) = (self.encoded_len().max(Self::MIN_LEN), out.len());
        if needed > available {
            return Err(WireError::BufferTooSmall { format: FORMAT, needed, available });
        }
        let written = self.encode(out)?;
        out[written..needed].fill(0);
        Ok(needed)
    }

    /// Returns the CNM that a congestion point sends to the source of `sampled` (802.1Q clause 33.3): in its VLAN, with
    /// its CN-TAG, at `priority`, from the congestion point's own address `from`.
    ///
    /// `cnm` has the congestion point's fields: feedback, CPID, offset, delta. What it carries of the sampled frame is
    /// filled in; `sampled_octets` are those of the frame, or as many as a CNM can carry.
    pub fn notification(
        cnm: Cnm<'_>,
        from: MacAddress,
        priority: u8,
        sampled: &Frame<'_>,
        sampled_octets: &'a [u8],
    ) -> Frame<'a> {
        let Cnm { version, reserved, quantized_fb, cpid, q_offset, q_delta, priority_reserved, .. } = cnm;
        let payload = Payload::Cnm(Cnm {
            version,
            reserved,
            quantized_fb,
            cpid,
            q_offset,
            q_delta,
            priority: sampled.priority(),
            priority_reserved,
            destination: sampled.destination,
            msdu: Cnm::sample(sampled_octets.get(sampled.msdu_offset()..).unwrap_or(&[])),
        });
        let tag = |tag: VlanTag| VlanTag { priority, drop_eligible: false, ..tag };
        Frame {
            s_tag: sampled.s_tag.map(tag),
            c_tag: sampled.c_tag.map(tag),
            cn_tag: sampled.cn_tag,
            ..Frame::new(sampled.source, from, payload)
        }
    }

    /// Returns the frame's priority: that of its outer tag, or 0.
    pub fn priority(&self) -> u8 {
        self.s_tag.or(self.c_tag).map_or(0, |tag| tag.priority)
    }

    /// Returns where the frame's own EtherType starts, behind addresses and tags: what a CNM carries of a sampled frame
    /// starts there.
    pub fn msdu_offset(&self) -> usize {
        let tags = [self.s_tag.is_some(), self.c_tag.is_some(), self.cn_tag.is_some()];
        let scheme_tag = self.scheme_tag.map_or(0, |tag| 2 + tag.encoded_len());
        12 + 4 * tags.into_iter().filter(|present| *present).count() + scheme_tag
    }
}

/// Read the tag whose EtherType is `tag`, and the EtherType behind it.
fn read_tag<'a, T: Codec<'a>>(
    from: &mut Reader<'a>,
    ether_type: &mut EtherType,
    tag: EtherType,
) -> Result<Option<T>, WireError> {
    if *ether_type != tag {
        return Ok(None);
    }
    let value = T::read(from)?;
    *ether_type = EtherType(from.u16(FORMAT)?);
    Ok(Some(value))
}

fn write_tag<'a, T: Codec<'a>>(to: &mut Writer<'_>, ether_type: EtherType, tag: &Option<T>) -> Result<(), WireError> {
    let Some(tag) = tag else { return Ok(()) };
    to.put(FORMAT, &ether_type.0.to_be_bytes())?;
    tag.write(to)
}

impl<'a> Codec<'a> for Frame<'a> {
    const FORMAT: Format = FORMAT;

    fn read(from: &mut Reader<'a>) -> Result<Frame<'a>, WireError> {
        let destination = MacAddress(from.array(FORMAT)?);
        let source = MacAddress(from.array(FORMAT)?);
        let mut ether_type = EtherType(from.u16(FORMAT)?);
        let s_tag = read_tag(from, &mut ether_type, EtherType::S_TAG)?;
        let c_tag = read_tag(from, &mut ether_type, EtherType::C_TAG)?;
        let cn_tag = read_tag(from, &mut ether_type, EtherType::CN_TAG)?;
        let ours = |from: &Reader<'_>| from.ahead().starts_with(&SIGNATURE);
        let scheme_tag = if ours(from) { read_tag(from, &mut ether_type, EtherType::SCHEME_TAG)? } else { None };
        let payload = match ether_type {
            EtherType::CNM => Payload::Cnm(Cnm::read(from)?),
            EtherType::MAC_CONTROL => Payload::MacControl(MacControl::read(from)?),
            EtherType::LLDP => Payload::Lldp(Lldp::read(from)?),
            EtherType::IPV4 => Payload::Ipv4(Ipv4Packet::read(from)?),
            EtherType::SCHEME_MESSAGE if ours(from) => Payload::SchemeMessage(SchemeMessage::read(from)?),
            ether_type => Payload::Other { ether_type, octets: from.rest() },
        };
        Ok(Frame { destination, source, s_tag, c_tag, cn_tag, scheme_tag, payload, padding: from.rest() })
    }

    fn encoded_len(&self) -> usize {
        let payload = match &self.payload {
            Payload::Cnm(cnm) => cnm.encoded_len(),
            Payload::MacControl(control) => control.encoded_len(),
            Payload::Lldp(unit) => unit.encoded_len(),
            Payload::Ipv4(packet) => packet.encoded_len(),
            Payload::SchemeMessage(message) => message.encoded_len(),
            Payload::Other { octets, .. } => octets.len(),
        };
        self.msdu_offset() + 2 + payload + self.padding.len()
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        to.put(FORMAT, &self.destination.0)?;
        to.put(FORMAT, &self.source.0)?;
        write_tag(to, EtherType::S_TAG, &self.s_tag)?;
        write_tag(to, EtherType::C_TAG, &self.c_tag)?;
        write_tag(to, EtherType::CN_TAG, &self.cn_tag)?;
        write_tag(to, EtherType::SCHEME_TAG, &self.scheme_tag)?;
        to.put(FORMAT, &self.payload.ether_type().0.to_be_bytes())?;
        match &self.payload {
            Payload::Cnm(cnm) => cnm.write(to)?,
            Payload::MacControl(control) => control.write(to)?,
            Payload::Lldp(unit) => unit.write(to)?,
            Payload::Ipv4(packet) => packet.write(to)?,
            Payload::SchemeMessage(message) => message.write(to)?,
            Payload::Other { octets, .. } => to.put(FORMAT, octets)?,
        }
        to.put(FORMAT, self.padding)
    }
}

impl fmt::Display for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Payload::Cnm(cnm) => cnm.fmt(f),
            Payload::MacControl(control) => control.fmt(f),
            Payload::Lldp(unit) => unit.fmt(f),
            Payload::Ipv4(packet) => packet.fmt(f),
            Payload::SchemeMessage(message) => message.fmt(f),
            Payload::Other { ether_type, octets } => write!(f, "EtherType {ether_type}, {} octets", octets.len()),
        }
    }
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.source, self.destination)?;
        for tag in [self.s_tag, self.c_tag].into_iter().flatten() {
            write!(f, ", {tag}")?;
        }
        if let Some(tag) = self.cn_tag {
            write!(f, ", {tag}")?;
        }
        if let Some(tag) = self.scheme_tag {
            write!(f, ", {tag}")?;
        }
        write!(f, ": {}", self.payload)
    }
}
