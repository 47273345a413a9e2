//! Frames of schemes that no standard or public deck gives a layout: ours, under the EtherTypes that IEEE 802 keeps for
//! local experiments. Other experiments may use those too, so both formats start with the octets "QLAB"; a frame
//! without them is not read as ours.

mod message;
mod tag;

pub use message::{Bcn, Probe, ProbeAnswer, QueueReport, SchemeBody, SchemeMessage};
pub use tag::SchemeTag;

/// What both formats start with.
pub(crate) const SIGNATURE: [u8; 4] = *b"QLAB";
