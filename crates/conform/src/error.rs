//! Why a capture cannot be judged at all.

use qcnlab_capture::CaptureError;
use qcnlab_capture::HeaderCut;
use std::io;

/// What is wrong with a capture or with what was asked of it.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// The file cannot be opened.
    #[error("it cannot be opened: {0}")]
    Open(io::Error),
    /// It is no regular file.
    #[error("it is no regular file, and it is read more than once; write it to a file first")]
    NotAFile,
    /// It is no capture, or damaged.
    #[error("{0}")]
    Capture(#[from] CaptureError),
    /// A frame has no time.
    #[error("frame {frame} has no time stamp; without times nothing can be judged")]
    NoStamp {
        /// The frame.
        frame: u64,
    },
    /// The snap length cut what is needed.
    #[error(
        "frame {frame} is cut: {kept} of its octets were kept, and its {what} take{} {needed}; capture with a snap length of {needed} or more",
        if *needed == 1 { "s" } else { "" }
    )]
    SnapLength {
        /// The frame.
        frame: u64,
        /// Octets that were kept.
        kept: usize,
        /// What is cut.
        what: &'static str,
        /// Octets that it takes.
        needed: usize,
    },
    /// The scheme, preset or change is not known.
    #[error("{0}")]
    Law(String),
    /// Another scheme than QCN.
    #[error(
        "the scheme {0} sends no CNMs of 802.1Q or reacts by other rules; conform knows qcn, qcn_byte_counter and qcn_timer"
    )]
    NotQcn(String),
    /// No interface has this name.
    #[error("no interface is called {name}; there {}", if all.len() == 1 { format!("is {}", all.join(", ")) } else { format!("are {}", all.join(", ")) })]
    NoInterface {
        /// What was asked for.
        name: String,
        /// What there is.
        all: Vec<String>,
    },
    /// Several interfaces could be meant.
    #[error("{what}: {}; choose one with --interface", candidates.join(", "))]
    Ambiguous {
        /// Which interface is unclear.
        what: &'static str,
        /// Those that could be.
        candidates: Vec<String>,
    },
    /// The rate of the link is not known.
    #[error("the capture does not say the rate of interface {interface}; give it with --rate \"10 Gb/s\"")]
    NoRate {
        /// The interface.
        interface: String,
    },
    /// The capture has too many senders.
    #[error("the capture has more than {limit} {what}; choose some with a filter, for example tshark -Y ... -w")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most that are kept.
        limit: usize,
    },
}

impl From<HeaderCut> for ConformError {
    fn from(HeaderCut { frame, kept, needed }: HeaderCut) -> ConformError {
        ConformError::SnapLength { frame, kept, what: "addresses and tags", needed }
    }
}
