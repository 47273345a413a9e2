//! RoCEv2: InfiniBand transport over UDP port 4791 (IBTA Annex A17; headers of IBTA volume 1 clauses 9.2 and 9.3).
//!
//! ```text
//! octet  0  1        opcode: 3 bits of service, 5 of operation; 0x81 is a CNP
//!        1  1 1 2 4 bits   solicited event, migration request, pad count, header version
//!        2  2        partition key
//!        4  1 1 6 bits     FECN, BECN, reserved
//!        5  3        destination queue pair
//!        8  1 7 bits       acknowledge request, reserved
//!        9  3        packet sequence number
//!       12  4        AETH, behind acknowledgements and read responses: syndrome, message sequence number
//!       12  16       reserved octets, in a CNP
//!       ..           other extended headers and data
//!       end 4        invariant CRC
//! ```

use crate::codec::{Codec, Reader, Writer, fits};
use crate::error::{Format, WireError};
use std::fmt;

const FORMAT: Format = Format::Roce;

/// Operation code of a base transport header: service in the high 3 bits, operation in the low 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RoceOpcode(pub u8);

impl RoceOpcode {
    /// Reliable connection, first packet of a SEND.
    pub const RC_SEND_FIRST: RoceOpcode = RoceOpcode(0x00);
    /// Reliable connection, middle packet of a SEND.
    pub const RC_SEND_MIDDLE: RoceOpcode = RoceOpcode(0x01);
    /// Reliable connection, last packet of a SEND.
    pub const RC_SEND_LAST: RoceOpcode = RoceOpcode(0x02);
    /// Reliable connection, only packet of a SEND.
    pub const RC_SEND_ONLY: RoceOpcode = RoceOpcode(0x04);
    /// Reliable connection, acknowledgement.
    pub const RC_ACKNOWLEDGE: RoceOpcode = RoceOpcode(0x11);
    /// Congestion notification packet.
    pub const CNP: RoceOpcode = RoceOpcode(0x81);

    /// Whether an AETH follows the base header: read responses (first, last, only) and acknowledgements of a reliable
    /// connection (0x0D, 0x0F, 0x10, 0x11, 0x12) and of its extended form (0xA0 more).
    pub const fn has_aeth(self) -> bool {
        matches!(self.0 & 0xE0, 0x00 | 0xA0) && matches!(self.0 & 0x1F, 0x0D | 0x0F | 0x10 | 0x11 | 0x12)
    }

    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::RC_SEND_FIRST => "SEND first",
            Self::RC_SEND_MIDDLE => "SEND middle",
            Self::RC_SEND_LAST => "SEND last",
            Self::RC_SEND_ONLY => "SEND only",
            Self::RC_ACKNOWLEDGE => "acknowledge",
            Self::CNP => "CNP",
            _ => return None,
        })
    }
}

/// Base transport header, 12 octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bth {
    /// What the packet is.
    pub opcode: RoceOpcode,
    /// Whether the receiver is to raise an event.
    pub solicited_event: bool,
    /// State of path migration.
    pub migration: bool,
    /// Octets of padding behind the data, 0 to 3.
    pub pad: u8,
    /// Version of the transport header, 4 bits; 0 today.
    pub version: u8,
    /// Partition key; 0xFFFF is the default partition.
    pub partition: u16,
    /// Forward congestion.
    pub fecn: bool,
    /// Backward congestion; set in a CNP.
    pub becn: bool,
    /// Reserved, 6 bits behind BECN; sent 0.
    pub reserved: u8,
    /// Queue pair at the destination, 24 bits.
    pub destination_qp: u32,
    /// Whether an acknowledgement is wanted.
    pub ack_request: bool,
    /// Reserved, 7 bits before the sequence number; sent 0.
    pub psn_reserved: u8,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Octets of it.
    pub const LEN: usize = 12;

    fn read(from: &mut Reader<'_>) -> Result<Bth, WireError> {
        let [opcode, flags, p1, p0, congestion, q2, q1, q0, ack, s2, s1, s0] = from.array::<12>(FORMAT)?;
        Ok(Bth {
            opcode: RoceOpcode(opcode),
            solicited_event: flags & 0x80 != 0,
            migration: flags & 0x40 != 0,
            pad: flags >> 4 & 0x03,
            version: flags & 0x0F,
            partition: u16::from_be_bytes([p1, p0]),
            fecn: congestion & 0x80 != 0,
            becn: congestion & 0x40 != 0,
            reserved: congestion & 0x3F,
            destination_qp: u32::from_be_bytes([0, q2, q1, q0]),
            ack_request: ack & 0x80 != 0,
            psn_reserved: ack & 0x7F,
            psn: u32::from_be_bytes([0, s2, s1, s0]),
        })
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        fits(FORMAT, "pad count", self.pad.into(), 3)?;
        fits(FORMAT, "header version", self.version.into(), 15)?;
        fits(FORMAT, "reserved behind BECN", self.reserved.into(), 63)?;
        fits(FORMAT, "destination queue pair", self.destination_qp.into(), 0xFF_FFFF)?;
        fits(FORMAT, "reserved before the sequence number", self.psn_reserved.into(), 127)?;
        fits(FORMAT, "packet sequence number", self.psn.into(), 0xFF_FFFF)?;
        let bit = |set: bool, n: u8| u8::from(set) << n;
        to.put(
            FORMAT,
            &[self.opcode.0, bit(self.solicited_event, 7) | bit(self.migration, 6) | self.pad << 4 | self.version],
        )?;
        to.put(FORMAT, &self.partition.to_be_bytes())?;
        let congestion = bit(self.fecn, 7) | bit(self.becn, 6) | self.reserved;
        to.put(FORMAT, &(u32::from(congestion) << 24 | self.destination_qp).to_be_bytes())?;
        let ack = bit(self.ack_request, 7) | self.psn_reserved;
        to.put(FORMAT, &(u32::from(ack) << 24 | self.psn).to_be_bytes())
    }
}

/// ACK extended transport header, 4 octets: what the receiver makes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// Acknowledgement or refusal (the syndrome).
    pub kind: AethKind,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

/// The syndrome of an [`Aeth`], 8 bits: 3 bits of kind, 5 of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AethKind {
    /// 000: positive; credit count, 5 bits, 31 for none.
    Ack {
        /// Encoded credit count.
        credits: u8,
    },
    /// 001: the receiver is not ready; code of the time to wait, 5 bits.
    ReceiverNotReady {
        /// Encoded time.
        timer: u8,
    },
    /// 011: negative.
    Nak(NakCode),
    /// A syndrome that is reserved.
    Reserved(u8),
}

/// Why a packet is refused, 5 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NakCode(pub u8);

impl NakCode {
    /// A packet before this one is missing: go back to the sequence number of the header.
    pub const SEQUENCE_ERROR: NakCode = NakCode(0);
    /// The request is not valid.
    pub const INVALID_REQUEST: NakCode = NakCode(1);
    /// Access to the memory is not allowed.
    pub const REMOTE_ACCESS_ERROR: NakCode = NakCode(2);
    /// The receiver failed.
    pub const REMOTE_OPERATIONAL_ERROR: NakCode = NakCode(3);
}

impl Aeth {
    fn read(from: &mut Reader<'_>) -> Result<Aeth, WireError> {
        let [syndrome, m2, m1, m0] = from.array(FORMAT)?;
        let value = syndrome & 0x1F;
        let kind = match syndrome >> 5 {
            0b000 => AethKind::Ack { credits: value },
            0b001 => AethKind::ReceiverNotReady { timer: value },
            0b011 => AethKind::Nak(NakCode(value)),
            _ => AethKind::Reserved(syndrome),
        };
        Ok(Aeth { kind, msn: u32::from_be_bytes([0, m2, m1, m0]) })
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        let (high, value) = match self.kind {
            AethKind::Ack { credits } => (0b000, credits),
            AethKind::ReceiverNotReady { timer } => (0b001, timer),
            AethKind::Nak(NakCode(code)) => (0b011, code),
            AethKind::Reserved(syndrome) => (syndrome >> 5, syndrome & 0x1F),
        };
        fits(FORMAT, "value of a syndrome", value.into(), 31)?;
        fits(FORMAT, "message sequence number", self.msn.into(), 0xFF_FFFF)?;
        to.put(FORMAT, &(u32::from(high << 5 | value) << 24 | self.msn).to_be_bytes())
    }
}

/// The header behind the base header, as far as congestion management knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoceExtension {
    /// None, or one of another layer of RDMA, which then starts the payload.
    None,
    /// Of acknowledgements and read responses.
    Aeth(Aeth),
    /// 16 reserved octets of a CNP; sent 0.
    Cnp([u8; 16]),
}

/// A RoCEv2 packet, behind the UDP header.
///
/// The invariant CRC is kept as it stands and not checked when decoding: a fabric changes nothing that it covers, and
/// captures made on a sender may be older than its adapter's CRC. [`RocePacket::invariant_crc`] computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RocePacket<'a> {
    /// Base transport header.
    pub bth: Bth,
    /// What follows it.
    pub extension: RoceExtension,
    /// Other headers, data and padding.
    pub payload: &'a [u8],
    /// Invariant CRC as it stands in the packet; `None` where the capture is cut before it.
    pub icrc: Option<[u8; 4]>,
}

impl RocePacket<'_> {
    /// The destination port of RoCEv2.
    pub const UDP_PORT: u16 = 4791;
    /// Octets of everything but data: base header, the longer extension, CRC.
    pub(crate) const MAX_HEADERS: usize = Bth::LEN + 16 + 4;

    /// Returns a congestion notification packet to `destination_qp`; [`Ipv4Packet::sealed`](crate::Ipv4Packet::sealed)
    /// sets its CRC.
    pub fn cnp(destination_qp: u32) -> RocePacket<'static> {
        RocePacket {
            bth: Bth { opcode: RoceOpcode::CNP, partition: 0xFFFF, becn: true, destination_qp, ..Bth::default() },
            extension: RoceExtension::Cnp([0; 16]),
            payload: &[],
            icrc: Some([0; 4]),
        }
    }

    /// Returns the invariant CRC of an IPv4 packet that carries RoCEv2, as its last 4 octets should be.
    ///
    /// It is the CRC of Ethernet over 8 octets of ones and the packet without its last 4 octets, where type of
    /// service, time to live, both checksums and octet 4 of the base header (FECN, BECN) count as ones (Annex A17.3.3).
    /// `None` where `packet` is too short.
    pub fn invariant_crc(packet: &[u8]) -> Option<[u8; 4]> {
        let before_crc = packet.len().checked_sub(4)?;
        Self::invariant_crc_of(&packet[..before_crc], &[])
    }

    /// The invariant CRC of a packet whose headers are `headers`, and what follows them `data`, without the CRC.
    pub(crate) fn invariant_crc_of(headers: &[u8], data: &[u8]) -> Option<[u8; 4]> {
        let udp = usize::from(headers.first()? & 0x0F) * 4;
        let bth = udp + 8;
        if udp < 20 || headers.len() < bth + Bth::LEN {
            return None;
        }
        let mut crc = [0xFF; 8].iter().fold(u32::MAX, |crc, octet| crc_step(crc, *octet));
        for (at, octet) in headers.iter().enumerate() {
            let changes = matches!(at, 1 | 8 | 10 | 11) || at == udp + 6 || at == udp + 7 || at == bth + 4;
            crc = crc_step(crc, if changes { 0xFF } else { *octet });
        }
        crc = data.iter().fold(crc, |crc, octet| crc_step(crc, *octet));
        Some((!crc).to_le_bytes())
    }
}

/// One octet into the CRC of IEEE 802.3 clause 3.2.9, bits reflected.
fn crc_step(crc: u32, octet: u8) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut crc = n as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
                bit += 1;
            }
            table[n] = crc;
            n += 1;
        }
        table
    };
    crc >> 8 ^ TABLE[usize::from(crc as u8 ^ octet)]
}

impl<'a> Codec<'a> for RocePacket<'a> {
    const FORMAT: Format = FORMAT;

    fn read(from: &mut Reader<'a>) -> Result<RocePacket<'a>, WireError> {
        let on_wire = from.remaining_on_wire();
        let Some(before_crc) = on_wire.checked_sub(4) else {
            return Err(WireError::Truncated {
                format: FORMAT,
                at: from.position(),
                needed: Bth::LEN + 4,
                available: on_wire,
            });
        };
        let mut body = from.part(FORMAT, before_crc)?;
        let bth = Bth::read(&mut body)?;
        let extension = if bth.opcode == RoceOpcode::CNP {
            RoceExtension::Cnp(body.array(FORMAT)?)
        } else if bth.opcode.has_aeth() {
            RoceExtension::Aeth(Aeth::read(&mut body)?)
        } else {
            RoceExtension::None
        };
        Ok(RocePacket { bth, extension, payload: body.rest(), icrc: from.array(FORMAT).ok() })
    }

    fn encoded_len(&self) -> usize {
        let extension = match self.extension {
            RoceExtension::None => 0,
            RoceExtension::Aeth(_) => 4,
            RoceExtension::Cnp(_) => 16,
        };
        Bth::LEN + extension + self.payload.len() + 4
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        let opcode = self.bth.opcode;
        let fitting = match self.extension {
            RoceExtension::None => opcode != RoceOpcode::CNP && !opcode.has_aeth(),
            RoceExtension::Aeth(_) => opcode.has_aeth(),
            RoceExtension::Cnp(_) => opcode == RoceOpcode::CNP,
        };
        if !fitting {
            let rule =
                "the opcode decides what follows the base header: 16 octets in a CNP, an AETH in acknowledgements";
            return Err(WireError::Misplaced { format: FORMAT, rule });
        }
        self.bth.write(to)?;
        match &self.extension {
            RoceExtension::None => {}
            RoceExtension::Aeth(aeth) => aeth.write(to)?,
            RoceExtension::Cnp(reserved) => to.put(FORMAT, reserved)?,
        }
        to.put(FORMAT, self.payload)?;
        to.put(FORMAT, &self.icrc.unwrap_or_default())
    }
}

impl fmt::Display for RocePacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bth.opcode.name() {
            Some(name) => write!(f, "RoCEv2 {name}")?,
            None => write!(f, "RoCEv2 opcode {:#04x}", self.bth.opcode.0)?,
        }
        write!(f, " queue pair {:#x} sequence {}", self.bth.destination_qp, self.bth.psn)?;
        if let RoceExtension::Aeth(aeth) = self.extension {
            match aeth.kind {
                AethKind::Ack { .. } => write!(f, " ACK")?,
                AethKind::ReceiverNotReady { timer } => write!(f, " receiver not ready, timer {timer}")?,
                AethKind::Nak(NakCode::SEQUENCE_ERROR) => write!(f, " NAK sequence error")?,
                AethKind::Nak(NakCode(code)) => write!(f, " NAK code {code}")?,
                AethKind::Reserved(syndrome) => write!(f, " syndrome {syndrome:#04x}")?,
            }
            write!(f, " message {}", aeth.msn)?;
            if self.bth.becn {
                write!(f, " BECN")?;
            }
        }
        write!(f, ", {} octets", self.payload.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32/ISO-HDLC.
    #[test]
    fn crc_of_the_nine_digits() {
        assert_eq!(!b"123456789".iter().fold(u32::MAX, |crc, octet| crc_step(crc, *octet)), 0xCBF4_3926);
    }
}
