//! MAC addresses and EtherTypes.

use std::fmt;

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Where PAUSE and PFC frames go (802.3 Annex 31A); bridges do not forward it.
    pub const MAC_CONTROL: MacAddress = MacAddress([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
    /// Where LLDP frames go (802.1AB, nearest bridge).
    pub const LLDP: MacAddress = MacAddress([0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E]);

    /// Returns the locally administered unicast address 02:00 followed by `n`.
    pub const fn local(n: u32) -> MacAddress {
        let [a, b, c, d] = n.to_be_bytes();
        MacAddress([0x02, 0x00, a, b, c, d])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// An EtherType; below 0x0600 it is a length (802.3 clause 3.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: EtherType = EtherType(0x0800);
    /// C-TAG of 802.1Q.
    pub const C_TAG: EtherType = EtherType(0x8100);
    /// S-TAG of 802.1Q.
    pub const S_TAG: EtherType = EtherType(0x88A8);
    /// Congestion notification message.
    pub const CNM: EtherType = EtherType(0x22E7);
    /// Congestion notification tag.
    pub const CN_TAG: EtherType = EtherType(0x22E9);
    /// MAC control: PAUSE and PFC.
    pub const MAC_CONTROL: EtherType = EtherType(0x8808);
    /// LLDP.
    pub const LLDP: EtherType = EtherType(0x88CC);
    /// Local experimental 1 (IEEE 802): messages of the laboratory's schemes.
    pub const SCHEME_MESSAGE: EtherType = EtherType(0x88B5);
    /// Local experimental 2 (IEEE 802): tags of the laboratory's schemes.
    pub const SCHEME_TAG: EtherType = EtherType(0x88B6);
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}
