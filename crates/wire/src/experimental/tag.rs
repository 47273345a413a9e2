//! Scheme tag: what a scheme writes on a data frame (experimental, EtherType 0x88B6).
//!
//! ```text
//! octet  0  4  "QLAB"
//!        4  1  flags: 0x01 probe, 0x02 limited; others 0
//!        5  1  mark
//!        6  8  CPID of the limiting congestion point; zeros unless limited
//! ```
//!
//! It stands behind the CN-TAG and before the EtherType of the data. `limited` is the rate-limited tag of BCN and ECM,
//! `probe` the special frame of SONAR, `mark` what congestion points write for the receiver. Marks of one bit travel as
//! ECN in the IP header instead.

use super::SIGNATURE;
use crate::cnm::Cpid;
use crate::codec::{Codec, Reader, Writer};
use crate::error::{Format, WireError};
use std::fmt;

/// What a scheme writes on a data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SchemeTag {
    /// Whether the frame asks if there is bandwidth.
    pub probe: bool,
    /// The largest mark that congestion points wrote; 0 is none.
    pub mark: u8,
    /// The congestion point whose limiter paced the frame.
    pub limited_by: Option<Cpid>,
}

const PROBE: u8 = 0x01;
const LIMITED: u8 = 0x02;

impl Codec<'_> for SchemeTag {
    const FORMAT: Format = Format::SchemeTag;

    fn read(from: &mut Reader<'_>) -> Result<SchemeTag, WireError> {
        let at = from.position();
        let invalid = |field, at, value, allowed| {
            Err(WireError::InvalidField { format: Self::FORMAT, field, at, value, allowed })
        };
        let signature = from.array(Self::FORMAT)?;
        if signature != SIGNATURE {
            return invalid("signature", at, u32::from_be_bytes(signature).into(), "0x514c4142, \"QLAB\"");
        }
        let [flags, mark] = from.array(Self::FORMAT)?;
        let cpid = Cpid(from.array(Self::FORMAT)?);
        if flags & !(PROBE | LIMITED) != 0 {
            return invalid("flags", at + 4, flags.into(), "0 to 3");
        }
        let limited = flags & LIMITED != 0;
        if !limited && cpid != Cpid::default() {
            return invalid("CPID", at + 6, u64::from_be_bytes(cpid.0), "0 where the frame is not limited");
        }
        Ok(SchemeTag { probe: flags & PROBE != 0, mark, limited_by: limited.then_some(cpid) })
    }

    fn encoded_len(&self) -> usize {
        14
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        let flags = if self.probe { PROBE } else { 0 } | if self.limited_by.is_some() { LIMITED } else { 0 };
        to.put(Self::FORMAT, &SIGNATURE)?;
        to.put(Self::FORMAT, &[flags, self.mark])?;
        to.put(Self::FORMAT, &self.limited_by.unwrap_or_default().0)
    }
}

impl fmt::Display for SchemeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scheme tag mark {}", self.mark)?;
        if self.probe {
            f.write_str(" probe")?;
        }
        self.limited_by.map_or(Ok(()), |cpid| write!(f, " limited by {cpid}"))
    }
}
