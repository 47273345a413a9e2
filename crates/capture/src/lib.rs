//! Captures of Ethernet frames: writes pcapng, reads pcapng and classic pcap, as a stream and in bounded memory.
//!
//! The crate knows files; of a frame it reads the [head](Header) alone, which may be all that was kept. What its other octets
//! mean is `qcnlab-wire`'s. It opens nothing; readers and writers are handed in.
//!
//! The formats are those of draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. No crate is used for them: `pcap-file`
//! 2.0 takes every stamp for nanoseconds whatever the interface says and needs two generations of syn; its 3.0 is a
//! release candidate for a newer compiler; `pcap-parser` 0.17 refuses binary resolutions, reads the offset of
//! big-endian stamps backwards and loses the cause of a failed read. Wireshark's tools check this one instead.

#![forbid(unsafe_code)]

mod blocks;
mod comments;
mod error;
mod header;
mod options;
mod reader;
mod source;
mod writer;

pub use comments::{LINK_COMMENT, STAMPS_COMMENT};
pub use error::CaptureError;
pub use header::{FrameKind, Header, HeaderCut};
pub use reader::{CaptureReader, CapturedFrame};
pub use writer::{CaptureWriter, FrameToWrite, Section, frame_block_len};

use qcnlab_units::BitRate;

/// An interface of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name; empty where the capture gives none.
    pub name: String,
    /// What it is; empty where the capture does not say.
    pub description: String,
    /// Its rate, where known.
    pub speed: Option<BitRate>,
    /// Octets kept of a frame; 0 for all.
    pub snap_len: u32,
    /// A comment; empty for none.
    pub comment: String,
    /// Frames that came to it and that were dropped before they were captured, by the last statistics that the reader
    /// met; `None` where the capture has none. Nothing writes them.
    pub statistics: Option<InterfaceStatistics>,
}

/// What an interface counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceStatistics {
    /// Frames that came to it; 0 where it does not say.
    pub received: u64,
    /// Frames that were dropped, by the interface or by the system behind it.
    pub dropped: u64,
}

/// An interface of a capture that is being written or read, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

/// Which way a frame went, seen from the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// It came in.
    Received,
    /// It went out.
    Sent,
}
