//! ETS configuration and recommendation TLVs (IEEE 802.1Q clauses D.2.9 and D.2.10): traffic classes, their shares of
//! bandwidth and how each is selected.

use super::{FORMAT, write_8021};
use crate::codec::{Reader, Writer, fits};
use crate::error::WireError;
use std::fmt;

/// What the first octet of an ETS TLV says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EtsKind {
    /// Subtype 9: what the port does.
    Configuration {
        /// Whether the port takes over its neighbour's recommendation.
        willing: bool,
        /// Whether it has the credit-based shaper.
        credit_based_shaper: bool,
        /// Reserved, 3 bits; sent 0.
        reserved: u8,
        /// Traffic classes it can have, 3 bits; 0 means 8.
        max_classes: u8,
    },
    /// Subtype 10: what it would have its neighbour do.
    Recommendation {
        /// Reserved octet; sent 0.
        reserved: u8,
    },
}

/// An ETS TLV: 00-80-C2, subtype 9 or 10, 21 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtsTlv {
    /// Configuration or recommendation.
    pub kind: EtsKind,
    /// Traffic class of each priority, 4 bits each.
    pub class_of_priority: [u8; 8],
    /// Share of bandwidth of each traffic class, percent.
    pub bandwidth_percent: [u8; 8],
    /// How each traffic class is selected: 0 strict priority, 1 credit-based shaper, 2 ETS, 255 as the vendor likes.
    pub selection: [u8; 8],
}

impl EtsTlv {
    pub(super) const CONFIGURATION: u8 = 9;
    pub(super) const RECOMMENDATION: u8 = 10;

    /// Read what follows `subtype`.
    pub(super) fn read(from: &mut Reader<'_>, subtype: u8) -> Result<EtsTlv, WireError> {
        let first = from.u8(FORMAT)?;
        let kind = if subtype == Self::CONFIGURATION {
            EtsKind::Configuration {
                willing: first & 0x80 != 0,
                credit_based_shaper: first & 0x40 != 0,
                reserved: first >> 3 & 0x07,
                max_classes: first & 0x07,
            }
        } else {
            EtsKind::Recommendation { reserved: first }
        };
        let mut class_of_priority = [0; 8];
        for (pair, octet) in class_of_priority.chunks_exact_mut(2).zip(from.array::<4>(FORMAT)?) {
            pair.copy_from_slice(&[octet >> 4, octet & 0x0F]);
        }
        Ok(EtsTlv { kind, class_of_priority, bandwidth_percent: from.array(FORMAT)?, selection: from.array(FORMAT)? })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError> {
        let first = match self.kind {
            EtsKind::Configuration { willing, credit_based_shaper, reserved, max_classes } => {
                fits(FORMAT, "reserved bits of the ETS TLV", reserved.into(), 7)?;
                fits(FORMAT, "number of traffic classes", max_classes.into(), 7)?;
                write_8021(to, Self::CONFIGURATION)?;
                u8::from(willing) << 7 | u8::from(credit_based_shaper) << 6 | reserved << 3 | max_classes
            }
            EtsKind::Recommendation { reserved } => {
                write_8021(to, Self::RECOMMENDATION)?;
                reserved
            }
        };
        to.put(FORMAT, &[first])?;
        for pair in self.class_of_priority.chunks_exact(2) {
            fits(FORMAT, "traffic class", pair[0].max(pair[1]).into(), 15)?;
            to.put(FORMAT, &[pair[0] << 4 | pair[1]])?;
        }
        to.put(FORMAT, &self.bandwidth_percent)?;
        to.put(FORMAT, &self.selection)
    }
}

impl fmt::Display for EtsTlv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            EtsKind::Configuration { .. } => "ETS configuration, classes",
            EtsKind::Recommendation { .. } => "ETS recommendation, classes",
        })?;
        self.class_of_priority.iter().try_for_each(|class| write!(f, " {class}"))?;
        f.write_str(" percent")?;
        self.bandwidth_percent.iter().try_for_each(|share| write!(f, " {share}"))
    }
}
