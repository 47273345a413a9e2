//! PFC configuration TLV (IEEE 802.1Q clause D.2.11): for which priorities a port obeys and sends PFC.

use super::{FORMAT, priorities, write_8021};
use crate::codec::{Reader, Writer, fits};
use crate::error::WireError;
use std::fmt;

/// The PFC configuration TLV: 00-80-C2, subtype 11, two octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PfcTlv {
    /// Whether the port takes over what its neighbour says.
    pub willing: bool,
    /// Whether MACsec keeps the port from using PFC (MACsec bypass capability).
    pub macsec_bypass: bool,
    /// Reserved, 2 bits; sent 0.
    pub reserved: u8,
    /// How many priorities the port can do PFC for, 0 to 15.
    pub capability: u8,
    /// Priorities with PFC: bit n for priority n.
    pub enabled: u8,
}

impl PfcTlv {
    pub(super) const SUBTYPE: u8 = 11;

    pub(super) fn read(from: &mut Reader<'_>) -> Result<PfcTlv, WireError> {
        let [flags, enabled] = from.array(FORMAT)?;
        Ok(PfcTlv {
            willing: flags & 0x80 != 0,
            macsec_bypass: flags & 0x40 != 0,
            reserved: flags >> 4 & 0x03,
            capability: flags & 0x0F,
            enabled,
        })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        fits(FORMAT, "reserved bits of the PFC TLV", self.reserved.into(), 3)?;
        fits(FORMAT, "PFC capability", self.capability.into(), 15)?;
        write_8021(to, Self::SUBTYPE)?;
        let flags =
            u8::from(self.willing) << 7 | u8::from(self.macsec_bypass) << 6 | self.reserved << 4 | self.capability;
        to.put(FORMAT, &[flags, self.enabled])
    }
}

impl fmt::Display for PfcTlv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PFC priorities")?;
        priorities(f, self.enabled)?;
        if self.willing { f.write_str(" willing") } else { Ok(()) }
    }
}
