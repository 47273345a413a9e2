//! LLDP data unit (IEEE 802.1AB clause 8): what a port tells its neighbour, as a list of TLVs.
//!
//! A TLV starts with 7 bits of type and 9 bits of length. Chassis ID, port ID and time to live come first, in that
//! order; the end TLV last. TLVs of type 127 carry an organization's identifier and subtype; those of 802.1
//! (00-80-C2) with subtypes 8 to 11 are ours.

mod congestion;
mod ets;
mod pfc;

pub use congestion::CnTlv;
pub use ets::{EtsKind, EtsTlv};
pub use pfc::PfcTlv;

use crate::codec::{Codec, Reader, Writer, fits};
use crate::error::{Format, WireError};
use std::fmt;

const FORMAT: Format = Format::Lldp;
const OUI_8021: [u8; 3] = [0x00, 0x80, 0xC2];

/// A TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tlv<'a> {
    /// Type 1: who sends.
    ChassisId {
        /// What kind of identifier it is; 4 is a MAC address.
        subtype: u8,
        /// The identifier.
        id: &'a [u8],
    },
    /// Type 2: from which port.
    PortId {
        /// What kind of identifier it is; 5 is an interface name.
        subtype: u8,
        /// The identifier.
        id: &'a [u8],
    },
    /// Type 3: for how many seconds it holds.
    TimeToLive(u16),
    /// Type 5: name of the system.
    SystemName(&'a [u8]),
    /// Type 127, 802.1, subtype 8.
    CongestionNotification(CnTlv),
    /// Type 127, 802.1, subtypes 9 and 10.
    Ets(EtsTlv),
    /// Type 127, 802.1, subtype 11.
    Pfc(PfcTlv),
    /// Type 127 of another organization or subtype.
    Organization {
        /// Organizationally unique identifier.
        oui: [u8; 3],
        /// Subtype.
        subtype: u8,
        /// What follows.
        value: &'a [u8],
    },
    /// Another type.
    Other {
        /// The type, 4 to 126.
        kind: u8,
        /// The value.
        value: &'a [u8],
    },
}

const CHASSIS_ID: u8 = 1;
const PORT_ID: u8 = 2;
const TIME_TO_LIVE: u8 = 3;
const SYSTEM_NAME: u8 = 5;
const ORGANIZATION: u8 = 127;

impl<'a> Tlv<'a> {
    /// Read a TLV; `None` is the end TLV.
    fn read(from: &mut Reader<'a>) -> Result<Option<Tlv<'a>>, WireError> {
        let at = from.position();
        let header = from.u16(FORMAT)?;
        let (kind, length) = ((header >> 9) as u8, header & 0x1FF);
        let mut value = from.part(FORMAT, length.into())?;
        if value.remaining() < length.into() {
            return Err(WireError::Truncated {
                format: FORMAT,
                at: at + 2,
                needed: length.into(),
                available: value.remaining(),
            });
        }
        let tlv = match kind {
            0 if length == 0 => return Ok(None),
            0 => return Err(wrong("length of the end TLV", at, length, "0")),
            CHASSIS_ID if (2..=256).contains(&length) => {
                Tlv::ChassisId { subtype: value.u8(FORMAT)?, id: value.rest() }
            }
            PORT_ID if (2..=256).contains(&length) => Tlv::PortId { subtype: value.u8(FORMAT)?, id: value.rest() },
            CHASSIS_ID | PORT_ID => return Err(wrong("length of an identifier TLV", at, length, "2 to 256")),
            TIME_TO_LIVE if length == 2 => Tlv::TimeToLive(value.u16(FORMAT)?),
            TIME_TO_LIVE => return Err(wrong("length of the time-to-live TLV", at, length, "2")),
            SYSTEM_NAME => Tlv::SystemName(value.rest()),
            ORGANIZATION if length >= 4 => {
                let oui = value.array(FORMAT)?;
                match (oui, value.u8(FORMAT)?, length) {
                    (OUI_8021, CnTlv::SUBTYPE, 6) => Tlv::CongestionNotification(CnTlv::read(&mut value)?),
                    (OUI_8021, subtype @ (EtsTlv::CONFIGURATION | EtsTlv::RECOMMENDATION), 25) => {
                        Tlv::Ets(EtsTlv::read(&mut value, subtype)?)
                    }
                    (OUI_8021, PfcTlv::SUBTYPE, 6) => Tlv::Pfc(PfcTlv::read(&mut value)?),
                    (OUI_8021, CnTlv::SUBTYPE | PfcTlv::SUBTYPE, _) => {
                        return Err(wrong("length of a congestion notification or PFC TLV", at, length, "6"));
                    }
                    (OUI_8021, EtsTlv::CONFIGURATION | EtsTlv::RECOMMENDATION, _) => {
                        return Err(wrong("length of an ETS TLV", at, length, "25"));
                    }
                    (oui, subtype, _) => Tlv::Organization { oui, subtype, value: value.rest() },
                }
            }
            ORGANIZATION => return Err(wrong("length of an organization's TLV", at, length, "4 to 511")),
            kind => Tlv::Other { kind, value: value.rest() },
        };
        Ok(Some(tlv))
    }

    /// Octets of its value.
    fn value_len(&self) -> usize {
        match self {
            Tlv::ChassisId { id, .. } | Tlv::PortId { id, .. } => 1 + id.len(),
            Tlv::TimeToLive(_) => 2,
            Tlv::SystemName(name) => name.len(),
            Tlv::CongestionNotification(_) | Tlv::Pfc(_) => 6,
            Tlv::Ets(_) => 25,
            Tlv::Organization { value, .. } => 4 + value.len(),
            Tlv::Other { value, .. } => value.len(),
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Tlv::ChassisId { .. } => CHASSIS_ID,
            Tlv::PortId { .. } => PORT_ID,
            Tlv::TimeToLive(_) => TIME_TO_LIVE,
            Tlv::SystemName(_) => SYSTEM_NAME,
            Tlv::CongestionNotification(_) | Tlv::Ets(_) | Tlv::Pfc(_) | Tlv::Organization { .. } => ORGANIZATION,
            Tlv::Other { kind, .. } => *kind,
        }
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        let length = self.value_len();
        fits(FORMAT, "length of a TLV", length as u64, 511)?;
        fits(FORMAT, "type of a TLV", self.kind().into(), 127)?;
        to.put(FORMAT, &(u16::from(self.kind()) << 9 | length as u16).to_be_bytes())?;
        match self {
            Tlv::ChassisId { subtype, id } | Tlv::PortId { subtype, id } => {
                to.put(FORMAT, &[*subtype])?;
                to.put(FORMAT, id)
            }
            Tlv::TimeToLive(seconds) => to.put(FORMAT, &seconds.to_be_bytes()),
            Tlv::SystemName(octets) | Tlv::Other { value: octets, .. } => to.put(FORMAT, octets),
            Tlv::CongestionNotification(tlv) => tlv.write(to),
            Tlv::Ets(tlv) => tlv.write(to),
            Tlv::Pfc(tlv) => tlv.write(to),
            Tlv::Organization { oui, subtype, value } => {
                to.put(FORMAT, oui)?;
                to.put(FORMAT, &[*subtype])?;
                to.put(FORMAT, value)
            }
        }
    }
}

fn wrong(field: &'static str, at: usize, length: u16, allowed: &'static str) -> WireError {
    WireError::InvalidField { format: FORMAT, field, at, value: length.into(), allowed }
}

/// Write `OUI, subtype` of an 802.1 TLV.
fn write_8021(to: &mut Writer<'_>, subtype: u8) -> Result<(), WireError> {
    to.put(FORMAT, &OUI_8021)?;
    to.put(FORMAT, &[subtype])
}

/// An LLDP data unit, behind EtherType 0x88CC. Its octets have been checked: TLVs, their order and their lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lldp<'a> {
    octets: &'a [u8],
}

impl<'a> Lldp<'a> {
    /// Write `tlvs` and the end TLV into the start of `out`. Chassis ID, port ID and time to live come first.
    pub fn build(tlvs: &[Tlv<'_>], out: &'a mut [u8]) -> Result<Lldp<'a>, WireError> {
        let mut writer = Writer::new(out);
        tlvs.iter().try_for_each(|tlv| tlv.write(&mut writer))?;
        writer.put(FORMAT, &[0, 0])?;
        let length = writer.position();
        let (unit, _) = Lldp::decode(&out[..length])?;
        Ok(unit)
    }

    /// Walk the TLVs, without the end TLV.
    pub fn tlvs(&self) -> Tlvs<'a> {
        Tlvs { reader: Reader::new(self.octets) }
    }
}

/// The TLVs of an [`Lldp`] data unit, in their order.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        // The unit was checked when it was made, so an error cannot come up here.
        Tlv::read(&mut self.reader).ok().flatten()
    }
}

impl<'a> Codec<'a> for Lldp<'a> {
    const FORMAT: Format = FORMAT;

    fn read(from: &mut Reader<'a>) -> Result<Lldp<'a>, WireError> {
        let octets = from.ahead();
        let start = from.position();
        for (kind, allowed) in [
            (CHASSIS_ID, "1, the chassis ID, as the first"),
            (PORT_ID, "2, the port ID, as the second"),
            (TIME_TO_LIVE, "3, the time to live, as the third"),
        ] {
            let at = from.position();
            let actual = Tlv::read(from)?.map_or(0, |tlv| tlv.kind());
            if actual != kind {
                return Err(WireError::InvalidField {
                    format: FORMAT,
                    field: "type of a mandatory TLV",
                    at,
                    value: actual.into(),
                    allowed,
                });
            }
        }
        loop {
            let at = from.position();
            match Tlv::read(from)? {
                None => break,
                Some(tlv) if tlv.kind() <= TIME_TO_LIVE => {
                    return Err(WireError::InvalidField {
                        format: FORMAT,
                        field: "type of an optional TLV",
                        at,
                        value: tlv.kind().into(),
                        allowed: "4 to 127",
                    });
                }
                Some(_) => {}
            }
        }
        Ok(Lldp { octets: &octets[..from.position() - start] })
    }

    fn encoded_len(&self) -> usize {
        self.octets.len()
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        to.put(FORMAT, self.octets)
    }
}

impl fmt::Display for Tlv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tlv::ChassisId { subtype: 4, id: [a, b, c, d, e, g] } => {
                write!(f, "chassis {}", crate::MacAddress([*a, *b, *c, *d, *e, *g]))
            }
            Tlv::ChassisId { id, .. } => write!(f, "chassis {}", id.escape_ascii()),
            Tlv::PortId { id, .. } => write!(f, "port {}", id.escape_ascii()),
            Tlv::TimeToLive(seconds) => write!(f, "for {seconds} s"),
            Tlv::SystemName(name) => write!(f, "system {}", name.escape_ascii()),
            Tlv::CongestionNotification(tlv) => tlv.fmt(f),
            Tlv::Ets(tlv) => tlv.fmt(f),
            Tlv::Pfc(tlv) => tlv.fmt(f),
            Tlv::Organization { oui: [a, b, c], subtype, value } => {
                write!(f, "organization {a:02x}-{b:02x}-{c:02x} subtype {subtype}, {} octets", value.len())
            }
            Tlv::Other { kind, value } => write!(f, "type {kind}, {} octets", value.len()),
        }
    }
}

impl fmt::Display for Lldp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LLDP")?;
        self.tlvs().enumerate().try_for_each(|(i, tlv)| write!(f, "{} {tlv}", if i > 0 { "," } else { "" }))
    }
}

/// Priorities whose bits are set, as in "3 4", or "none".
fn priorities(f: &mut fmt::Formatter<'_>, bits: u8) -> fmt::Result {
    if bits == 0 {
        return f.write_str(" none");
    }
    (0..8).filter(|n| bits >> n & 1 == 1).try_for_each(|n| write!(f, " {n}"))
}
