//! CN-TAG: names the reaction point that paced a frame (IEEE 802.1Q clause 33.2).
//!
//! It stands behind the 802.1Q tag and before the EtherType of the data. Its own EtherType, 0x22E9, is not part of
//! the value. Only the sending end station knows what the identifier means; a congestion point copies it into the
//! CN-TAG of the CNM.

use crate::codec::{Codec, Reader, Writer};
use crate::error::{Format, WireError};
use std::fmt;

/// The congestion notification tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CnTag {
    /// Identifier of the reaction point in its end station.
    pub rpid: u16,
}

impl Codec<'_> for CnTag {
    const FORMAT: Format = Format::CnTag;

    fn read(from: &mut Reader<'_>) -> Result<CnTag, WireError> {
        Ok(CnTag { rpid: from.u16(Self::FORMAT)? })
    }

    fn encoded_len(&self) -> usize {
        2
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        to.put(Self::FORMAT, &self.rpid.to_be_bytes())
    }
}

impl fmt::Display for CnTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CN-TAG RPID {:#06x}", self.rpid)
    }
}
