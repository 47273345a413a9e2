//! 802.1Q tag: priority, drop eligibility and VLAN of a frame (IEEE 802.1Q clause 9.6).
//!
//! The EtherType before it, 0x8100 or 0x88A8, is not part of the value.

use crate::codec::{Codec, Reader, Writer, fits};
use crate::error::{Format, WireError};
use std::fmt;

/// The tag control information of an 802.1Q tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Whether the frame is eligible to be dropped first.
    pub drop_eligible: bool,
    /// VLAN, 0 to 4095; 0 says that the tag carries a priority only.
    pub vlan: u16,
}

impl Codec<'_> for VlanTag {
    const FORMAT: Format = Format::Vlan;

    fn read(from: &mut Reader<'_>) -> Result<VlanTag, WireError> {
        let tci = from.u16(Self::FORMAT)?;
        Ok(VlanTag { priority: (tci >> 13) as u8, drop_eligible: tci & 0x1000 != 0, vlan: tci & 0x0FFF })
    }

    fn encoded_len(&self) -> usize {
        2
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        fits(Self::FORMAT, "priority", self.priority.into(), 7)?;
        fits(Self::FORMAT, "VLAN", self.vlan.into(), 0x0FFF)?;
        let tci = u16::from(self.priority) << 13 | u16::from(self.drop_eligible) << 12 | self.vlan;
        to.put(Self::FORMAT, &tci.to_be_bytes())
    }
}

impl fmt::Display for VlanTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VLAN {} priority {}", self.vlan, self.priority)?;
        if self.drop_eligible { f.write_str(" drop eligible") } else { Ok(()) }
    }
}
