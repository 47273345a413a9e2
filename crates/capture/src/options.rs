//! The byte order of numbers, and the options of a block.

use crate::blocks::{OPT_END, padded};

/// The byte order of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) big_endian: bool,
}

impl Order {
    pub(crate) fn u16(self, octets: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(octets) } else { u16::from_le_bytes(octets) }
    }

    pub(crate) fn u32(self, octets: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) }
    }

    pub(crate) fn u64(self, octets: [u8; 8]) -> u64 {
        if self.big_endian { u64::from_be_bytes(octets) } else { u64::from_le_bytes(octets) }
    }

    pub(crate) fn u32_at(self, octets: &[u8], at: usize) -> u32 {
        self.u32([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
    }
}

/// The options of a block. An option that is not whole ends them.
pub(crate) struct Options<'a> {
    pub(crate) order: Order,
    pub(crate) octets: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let (&[a, b, c, d], rest) = self.octets.split_first_chunk()?;
        let (code, len) = (self.order.u16([a, b]), usize::from(self.order.u16([c, d])));
        if code == OPT_END {
            return None;
        }
        let value = rest.get(..len)?;
        self.octets = rest.get(padded(len)..).unwrap_or(&[]);
        Some((code, value))
    }
}
