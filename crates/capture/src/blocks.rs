//! Numbers of the formats that reader and writer share.

pub(crate) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
pub(crate) const PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const INTERFACE_STATISTICS: u32 = 5;
pub(crate) const ENHANCED_PACKET: u32 = 6;

pub(crate) const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
pub(crate) const ETHERNET: u32 = 1;

pub(crate) const OPT_END: u16 = 0;
pub(crate) const OPT_COMMENT: u16 = 1;
pub(crate) const SHB_HARDWARE: u16 = 2;
pub(crate) const SHB_USER_APPLICATION: u16 = 4;
pub(crate) const IF_NAME: u16 = 2;
pub(crate) const IF_DESCRIPTION: u16 = 3;
pub(crate) const IF_SPEED: u16 = 8;
pub(crate) const IF_TSRESOL: u16 = 9;
pub(crate) const IF_FCSLEN: u16 = 13;
pub(crate) const IF_TSOFFSET: u16 = 14;
pub(crate) const EPB_FLAGS: u16 = 2;
/// The lowest of the four bits of a frame's flags that count the octets of its FCS.
pub(crate) const FLAGS_FCS: u32 = 5;
/// Whether a classic pcap says how long the FCS of its frames is.
pub(crate) const PCAP_FCS: u32 = 1 << 26;
pub(crate) const ISB_RECEIVED: u16 = 4;
pub(crate) const ISB_DROPPED: u16 = 5;
pub(crate) const ISB_DROPPED_BY_SYSTEM: u16 = 7;

/// Round up to whole words of 4 octets.
pub(crate) const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}
