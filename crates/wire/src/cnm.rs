//! Congestion notification message (IEEE 802.1Q clauses 33.3 and 33.4).
//!
//! ```text
//! octet  0   4 bits  version          0
//!        0   6 bits  reserved         0 when sent
//!        1   6 bits  quantized Fb     0 to 63
//!        2   8       CPID
//!       10   2       offset           64-octet units, signed; negative above the set point
//!       12   2       delta            64-octet units, signed; positive when the queue grows
//!       14   3 bits  priority of the sampled frame; 13 bits reserved
//!       16   6       destination address of the sampled frame
//!       22   2       length of what follows, 0 to 64
//!       24   0..64   first octets of the sampled frame, from its EtherType on
//! ```
//!
//! Layout and sizes agree in four public places. The sign and unit of offset and delta, and that the sampled octets
//! start with the EtherType, are the common reading; the standard's text has not been seen.

use crate::address::MacAddress;
use crate::codec::{Codec, Reader, Writer, fits};
use crate::error::{Format, WireError};
use crate::quantize::{QuantizedFb, QueueUnits};
use std::fmt;

/// Congestion point identifier: 8 octets, unique in the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpid(pub [u8; 8]);

impl Cpid {
    /// The usual content: an address of the bridge, then two octets that tell its congestion points apart.
    pub const fn new(bridge: MacAddress, point: u16) -> Cpid {
        let [a, b, c, d, e, f] = bridge.0;
        let [high, low] = point.to_be_bytes();
        Cpid([a, b, c, d, e, f, high, low])
    }
}

impl fmt::Display for Cpid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// The PDU of a congestion notification message, behind EtherType 0x22E7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cnm<'a> {
    /// Version, 4 bits; 0 today. A receiver accepts any.
    pub version: u8,
    /// Reserved, 6 bits; sent 0, and a receiver ignores it.
    pub reserved: u8,
    /// Quantized feedback.
    pub quantized_fb: QuantizedFb,
    /// The congestion point that sends it.
    pub cpid: Cpid,
    /// Set point less queue length.
    pub q_offset: QueueUnits,
    /// Queue length less that at the sample before.
    pub q_delta: QueueUnits,
    /// Priority of the sampled frame, 0 to 7.
    pub priority: u8,
    /// 13 bits behind the priority; sent 0, and a receiver ignores them.
    pub priority_reserved: u16,
    /// Destination address of the sampled frame.
    pub destination: MacAddress,
    /// The sampled frame from its EtherType on, at most 64 octets.
    pub msdu: &'a [u8],
}

impl Cnm<'_> {
    /// Octets of the PDU before the octets of the sampled frame.
    pub const HEADER_LEN: usize = 24;
    /// Octets of a sampled frame that fit.
    pub const MAX_MSDU: usize = 64;
    /// Octets of the largest PDU.
    pub const MAX_LEN: usize = Self::HEADER_LEN + Self::MAX_MSDU;

    /// Returns the octets of a sampled frame that a CNM carries, of its MSDU (from the EtherType on).
    pub fn sample(msdu: &[u8]) -> &[u8] {
        &msdu[..msdu.len().min(Self::MAX_MSDU)]
    }
}

impl<'a> Codec<'a> for Cnm<'a> {
    const FORMAT: Format = Format::Cnm;

    fn read(from: &mut Reader<'a>) -> Result<Cnm<'a>, WireError> {
        let start = from.position();
        let mut header = Reader::new(from.take(Self::FORMAT, Self::HEADER_LEN)?);
        let version_and_fb = header.u16(Self::FORMAT)?;
        let cpid = Cpid(header.array(Self::FORMAT)?);
        let q_offset = QueueUnits(header.u16(Self::FORMAT)? as i16);
        let q_delta = QueueUnits(header.u16(Self::FORMAT)? as i16);
        let priority = header.u16(Self::FORMAT)?;
        let destination = MacAddress(header.array(Self::FORMAT)?);
        let length = header.u16(Self::FORMAT)?;
        if usize::from(length) > Self::MAX_MSDU {
            return Err(WireError::InvalidField {
                format: Self::FORMAT,
                field: "encapsulated MSDU length",
                at: start + 22,
                value: length.into(),
                allowed: "0 to 64",
            });
        }
        Ok(Cnm {
            version: (version_and_fb >> 12) as u8,
            reserved: (version_and_fb >> 6 & 0x3F) as u8,
            quantized_fb: QuantizedFb::from_low_bits(version_and_fb),
            cpid,
            q_offset,
            q_delta,
            priority: (priority >> 13) as u8,
            priority_reserved: priority & 0x1FFF,
            destination,
            msdu: from.take(Self::FORMAT, length.into())?,
        })
    }

    fn encoded_len(&self) -> usize {
        Self::HEADER_LEN + self.msdu.len()
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        fits(Self::FORMAT, "version", self.version.into(), 15)?;
        fits(Self::FORMAT, "reserved", self.reserved.into(), 63)?;
        fits(Self::FORMAT, "priority", self.priority.into(), 7)?;
        fits(Self::FORMAT, "reserved behind the priority", self.priority_reserved.into(), 0x1FFF)?;
        fits(Self::FORMAT, "length of the encapsulated MSDU", self.msdu.len() as u64, Self::MAX_MSDU as u64)?;
        let version_and_fb =
            u16::from(self.version) << 12 | u16::from(self.reserved) << 6 | u16::from(self.quantized_fb.get());
        to.put(Self::FORMAT, &version_and_fb.to_be_bytes())?;
        to.put(Self::FORMAT, &self.cpid.0)?;
        to.put(Self::FORMAT, &self.q_offset.0.to_be_bytes())?;
        to.put(Self::FORMAT, &self.q_delta.0.to_be_bytes())?;
        to.put(Self::FORMAT, &(u16::from(self.priority) << 13 | self.priority_reserved).to_be_bytes())?;
        to.put(Self::FORMAT, &self.destination.0)?;
        to.put(Self::FORMAT, &(self.msdu.len() as u16).to_be_bytes())?;
        to.put(Self::FORMAT, self.msdu)
    }
}

impl fmt::Display for Cnm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "CNM Fb {} CPID {} offset {} delta {} for priority {} to {}, {} octets of the frame",
            self.quantized_fb,
            self.cpid,
            self.q_offset,
            self.q_delta,
            self.priority,
            self.destination,
            self.msdu.len()
        )
    }
}
