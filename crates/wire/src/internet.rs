//! IPv4 (RFC 791), UDP (RFC 768) and TCP (RFC 9293) as far as a fabric needs them: addresses, DSCP and ECN (RFC 3168),
//! ports, lengths, sequence numbers, checksums.
//!
//! The headers stand in `headers.rs`. What is reserved in them, a flag of IPv4 and three bits of TCP, stands beside them.

use crate::codec::{Codec, Reader, Writer, fits};
use crate::error::{Format, WireError};
use crate::headers::{HeaderOctets, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader, checksum};
use crate::roce::RocePacket;
use std::fmt;
use std::net::Ipv4Addr;

/// An IPv4 packet, behind EtherType 0x0800.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv4Packet<'a> {
    /// Header, options included.
    pub header: Ipv4Header,
    /// Reserved flag; sent as not set.
    pub reserved: bool,
    /// What it carries.
    pub segment: Segment<'a>,
    /// Octets that IPv4 counts and the layer above does not; none in frames of ours.
    pub trailer: &'a [u8],
}

/// What an IPv4 packet carries. Fragments other than the first are [`Segment::Other`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// TCP.
    Tcp {
        /// Header, options included.
        header: TcpHeader,
        /// Reserved, 3 bits behind the data offset; sent 0.
        reserved: u8,
        /// Octets of the stream.
        payload: &'a [u8],
    },
    /// UDP.
    Udp {
        /// Header.
        header: UdpHeader,
        /// What it carries.
        payload: UdpPayload<'a>,
    },
    /// Another protocol.
    Other(&'a [u8]),
}

/// What a UDP datagram carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UdpPayload<'a> {
    /// RoCEv2: the destination port is 4791.
    Roce(RocePacket<'a>),
    /// Anything else.
    Other(&'a [u8]),
}

impl UdpPayload<'_> {
    fn len(&self) -> usize {
        match self {
            UdpPayload::Roce(packet) => packet.encoded_len(),
            UdpPayload::Other(octets) => octets.len(),
        }
    }
}

impl Segment<'_> {
    fn len(&self) -> usize {
        match self {
            Segment::Tcp { header, payload, .. } => header.header_len() + payload.len(),
            Segment::Udp { payload, .. } => UdpHeader::LEN + payload.len(),
            Segment::Other(octets) => octets.len(),
        }
    }
}

impl<'a> Ipv4Packet<'a> {
    /// Returns the packet with its protocol, lengths and checksums set to what it carries, and reserved bits to 0. Over
    /// RoCE the UDP checksum is 0 (none), as RoCEv2 allows (Annex A17.3.1), and the invariant CRC is set.
    pub fn sealed(mut self) -> Result<Ipv4Packet<'a>, WireError> {
        let total = self.encoded_len();
        fits(Format::Ipv4, "total length", total as u64, u16::MAX.into())?;
        self.header.total_len = total as u16;
        self.reserved = false;
        let addresses = (self.header.source, self.header.destination);
        match &mut self.segment {
            Segment::Tcp { header, reserved, payload } => {
                self.header.protocol = IpNumber::TCP;
                *reserved = 0;
                header.checksum = header.calc_checksum(addresses, payload);
            }
            Segment::Udp { header, payload } => {
                self.header.protocol = IpNumber::UDP;
                header.length = (UdpHeader::LEN + payload.len()) as u16;
                header.checksum = match payload {
                    UdpPayload::Roce(_) => 0,
                    UdpPayload::Other(octets) => header.calc_checksum(addresses, octets),
                };
            }
            Segment::Other(_) => {}
        }
        self.header.header_checksum = self.header.calc_header_checksum();
        if let Segment::Udp { header, payload: UdpPayload::Roce(packet) } = &mut self.segment {
            let headers_only = Ipv4Packet {
                header: self.header.clone(),
                reserved: false,
                segment: Segment::Udp {
                    header: header.clone(),
                    payload: UdpPayload::Roce(RocePacket { payload: &[], ..*packet }),
                },
                trailer: &[],
            };
            let mut room = [0; Ipv4Header::MAX_LEN + UdpHeader::LEN + RocePacket::MAX_HEADERS];
            let before_crc = headers_only.encode(&mut room)? - 4;
            packet.icrc = RocePacket::invariant_crc_of(&room[..before_crc], packet.payload);
        }
        Ok(self)
    }

    /// Whether the checksum of the header is that of its octets.
    pub fn checksum_is_valid(&self) -> bool {
        // A sum of words that includes its own complement is all ones, which turns into 0.
        checksum(&[&self.header_octets()]) == 0
    }

    fn header_octets(&self) -> HeaderOctets {
        let mut octets = self.header.octets();
        octets[6] |= u8::from(self.reserved) << 7;
        octets
    }
}

impl<'a> Codec<'a> for Ipv4Packet<'a> {
    const FORMAT: Format = Format::Ipv4;

    fn read(from: &mut Reader<'a>) -> Result<Ipv4Packet<'a>, WireError> {
        let start = from.position();
        let (header, reserved) = Ipv4Header::read(&mut from.clone())?;
        let header_len = header.header_len();
        if usize::from(header.total_len) < header_len {
            return Err(WireError::InvalidField {
                format: Self::FORMAT,
                field: "total length",
                at: start + 2,
                value: header.total_len.into(),
                allowed: "the header's length or more",
            });
        }
        let mut packet = from.part(Self::FORMAT, header.total_len.into())?;
        packet.take(Self::FORMAT, header_len)?;
        let segment = match header.protocol {
            _ if header.fragment_offset.value() > 0 => Segment::Other(packet.rest()),
            IpNumber::TCP => read_tcp(&mut packet)?,
            // Of a fragmented datagram there is less than its length says.
            IpNumber::UDP if !header.more_fragments => read_udp(&mut packet)?,
            _ => Segment::Other(packet.rest()),
        };
        Ok(Ipv4Packet { header, reserved, segment, trailer: packet.rest() })
    }

    fn encoded_len(&self) -> usize {
        self.header.header_len() + self.segment.len() + self.trailer.len()
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        to.put(Self::FORMAT, &self.header_octets())?;
        match &self.segment {
            Segment::Tcp { header, reserved, payload } => {
                fits(Format::Tcp, "reserved behind the data offset", (*reserved).into(), 7)?;
                let mut octets = header.octets();
                octets[12] |= reserved << 1;
                to.put(Format::Tcp, &octets)?;
                to.put(Format::Tcp, payload)?;
            }
            Segment::Udp { header, payload } => {
                to.put(Format::Udp, &header.octets())?;
                match payload {
                    UdpPayload::Roce(packet) => packet.write(to)?,
                    UdpPayload::Other(octets) => to.put(Format::Udp, octets)?,
                }
            }
            Segment::Other(octets) => to.put(Self::FORMAT, octets)?,
        }
        to.put(Self::FORMAT, self.trailer)
    }
}

fn read_tcp<'a>(from: &mut Reader<'a>) -> Result<Segment<'a>, WireError> {
    let (header, reserved) = TcpHeader::read(from)?;
    Ok(Segment::Tcp { header, reserved, payload: from.rest() })
}

fn read_udp<'a>(from: &mut Reader<'a>) -> Result<Segment<'a>, WireError> {
    let start = from.position();
    let header = UdpHeader::from_octets(from.array(Format::Udp)?);
    let Some(length) = usize::from(header.length).checked_sub(UdpHeader::LEN) else {
        return Err(WireError::InvalidField {
            format: Format::Udp,
            field: "length",
            at: start + 4,
            value: header.length.into(),
            allowed: "8 or more",
        });
    };
    let mut datagram = from.part(Format::Udp, length)?;
    let payload = if header.destination_port == RocePacket::UDP_PORT {
        UdpPayload::Roce(RocePacket::read(&mut datagram)?)
    } else {
        UdpPayload::Other(datagram.rest())
    };
    Ok(Segment::Udp { header, payload })
}

impl fmt::Display for Ipv4Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (Ipv4Addr::from(self.header.source), Ipv4Addr::from(self.header.destination));
        // What a frame carried, also where a capture kept less of it.
        let carried = |before: usize, kept: usize| {
            usize::from(self.header.total_len).saturating_sub(self.header.header_len() + before).max(kept)
        };
        match &self.segment {
            Segment::Tcp { header, payload, .. } => {
                write!(f, "TCP {source}:{} > {destination}:{}", header.source_port, header.destination_port)?;
                for (set, name) in [
                    (header.syn, "SYN"),
                    (header.fin, "FIN"),
                    (header.rst, "RST"),
                    (header.ack, "ACK"),
                    (header.ece, "ECE"),
                    (header.cwr, "CWR"),
                ] {
                    if set {
                        write!(f, " {name}")?;
                    }
                }
                write!(
                    f,
                    " seq {} ack {}, {} octets",
                    header.sequence_number,
                    header.acknowledgment_number,
                    carried(header.header_len(), payload.len())
                )?;
            }
            Segment::Udp { header, payload } => {
                write!(f, "UDP {source}:{} > {destination}:{}", header.source_port, header.destination_port)?;
                match payload {
                    UdpPayload::Roce(packet) => write!(f, " {packet}")?,
                    UdpPayload::Other(octets) => write!(f, ", {} octets", carried(UdpHeader::LEN, octets.len()))?,
                }
            }
            Segment::Other(octets) => {
                write!(
                    f,
                    "IPv4 {source} > {destination} protocol {}, {} octets",
                    self.header.protocol.0,
                    carried(0, octets.len())
                )?;
            }
        }
        match self.header.ecn {
            IpEcn::ZERO => Ok(()),
            IpEcn::ONE => f.write_str(", ECT(1)"),
            IpEcn::TWO => f.write_str(", ECT(0)"),
            _ => f.write_str(", CE"),
        }
    }
}
