//! Congestion notification TLV (IEEE 802.1Q clause D.2.7; 33.5 in draft 2.4): which priorities are under congestion
//! control at a port, and which of them it is ready for.

use super::{FORMAT, priorities, write_8021};
use crate::codec::{Reader, Writer};
use crate::error::WireError;
use std::fmt;

/// The congestion notification TLV: 00-80-C2, subtype 8, two octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CnTlv {
    /// Congestion notification priority values: bit n for priority n.
    pub cnpv: u8,
    /// Priorities this port no longer remaps, so that the neighbour may send CN-TAGs: bit n for priority n.
    pub ready: u8,
}

impl CnTlv {
    pub(super) const SUBTYPE: u8 = 8;

    pub(super) fn read(from: &mut Reader<'_>) -> Result<CnTlv, WireError> {
        let [cnpv, ready] = from.array(FORMAT)?;
        Ok(CnTlv { cnpv, ready })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        write_8021(to, Self::SUBTYPE)?;
        to.put(FORMAT, &[self.cnpv, self.ready])
    }
}

impl fmt::Display for CnTlv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("congestion notification priorities")?;
        priorities(f, self.cnpv)?;
        f.write_str(" ready")?;
        priorities(f, self.ready)
    }
}
