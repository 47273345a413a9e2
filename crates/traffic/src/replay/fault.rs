//! What can be wrong with a capture that is to be replayed.

use qcnlab_capture::CaptureError;
use qcnlab_capture::HeaderCut;
use qcnlab_units::{Bytes, Span};

/// Why a capture cannot be replayed. Frames are counted from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayFault {
    /// The file cannot be opened.
    #[error("it cannot be opened: {why}")]
    Open {
        /// What the system said.
        why: String,
    },
    /// It is no regular file.
    #[error("it is no regular file, and it is read more than once")]
    NotAFile,
    /// It is no capture, cut or damaged.
    #[error("{what}")]
    Capture {
        /// What is wrong, with the number of the last frame that is whole.
        what: String,
        /// Whether frames before it are whole, and the time of the last, from the first frame on.
        whole_until: Option<Span>,
    },
    /// Too few octets of a frame were kept.
    #[error("frame {frame} is cut: {kept} of its octets were kept, and what tells flows apart takes {needed}")]
    SnapLength {
        /// The frame.
        frame: u64,
        /// Octets that were kept.
        kept: usize,
        /// Octets that are needed.
        needed: usize,
    },
    /// A frame has no time.
    #[error("frame {frame} has no time stamp")]
    NoStamp {
        /// The frame.
        frame: u64,
    },
    /// A frame is stamped long before the frame before it.
    #[error("frame {frame} is stamped {back} before a frame that stands before it; {most} is the most that is mended")]
    OutOfOrder {
        /// The frame.
        frame: u64,
        /// How long before.
        back: Span,
        /// The most that is mended.
        most: Span,
    },
    /// A frame is longer than the scenario says.
    #[error("frame {frame} has {size}, and the longest frame of this traffic is {longest}")]
    TooLong {
        /// The frame.
        frame: u64,
        /// Its octets.
        size: Bytes,
        /// The key `frame`.
        longest: Bytes,
    },
    /// More flows than a run can have.
    #[error("frame {frame} begins flow {}, and a run can have {most}", most + 1)]
    TooManyFlows {
        /// The frame.
        frame: u64,
        /// The most.
        most: usize,
    },
    /// One flow was captured at several interfaces.
    #[error("frame {frame} at interface {second} belongs to a flow that was seen at interface {first}, too")]
    SeenTwice {
        /// The frame.
        frame: u64,
        /// Where the flow was seen first.
        first: String,
        /// Where the frame was seen.
        second: String,
    },
    /// No interface has a name that fits.
    #[error("no frame is left to be replayed of {frames}: {passed}")]
    Nothing {
        /// Frames that were read.
        frames: u64,
        /// Why they were passed over.
        passed: String,
    },
    /// The file has other content than the scenario says.
    #[error("its SHA-256 is {actual}, and the scenario says {expected}")]
    Changed {
        /// What the scenario says.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// An address that no host has.
    #[error("the address {address} of frame {frame} is not in the table of hosts")]
    NoHost {
        /// The address.
        address: String,
        /// The first frame with it.
        frame: u64,
    },
    /// Both ends of a flow are one host.
    #[error("{from} and {to} of frame {frame} are both {host}, which cannot send to itself")]
    ToItself {
        /// The sender's address.
        from: String,
        /// The receiver's address.
        to: String,
        /// The host.
        host: String,
        /// The first frame between them.
        frame: u64,
    },
}

impl ReplayFault {
    pub(super) fn of_capture(error: &CaptureError, whole_until: Option<Span>) -> ReplayFault {
        ReplayFault::Capture { what: error.to_string(), whole_until }
    }

    /// What to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            ReplayFault::NotAFile => "write it to a file first".to_owned(),
            ReplayFault::Capture { whole_until: Some(until), .. } => {
                format!("what comes before can be replayed with window_end = \"{until}\"")
            }
            ReplayFault::SnapLength { needed, .. } => {
                format!(
                    "capture with a snap length of {needed} or more, or tell flows apart by flows_by = \"addresses\""
                )
            }
            ReplayFault::NoStamp { .. } => "capture with time stamps, or replay a list of flows".to_owned(),
            ReplayFault::OutOfOrder { .. } => "sort the frames first: reordercap IN OUT".to_owned(),
            ReplayFault::TooLong { size, .. } => format!(
                "set frame = \"{size}\" or more, or capture with segmentation left to nobody: ethtool -K DEV tso off gso \
                 off gro off"
            ),
            ReplayFault::TooManyFlows { .. } => {
                "choose fewer with window_end or interfaces, or tell flows apart by flows_by = \"addresses\"".to_owned()
            }
            ReplayFault::SeenTwice { first, .. } => {
                format!("name the interfaces whose frames count: interfaces = \"{first}\"")
            }
            ReplayFault::Changed { .. } => "take the file of before, or leave sha256 out".to_owned(),
            ReplayFault::NoHost { .. } => "add a line for it, or one for all others with the address *".to_owned(),
            ReplayFault::ToItself { .. } => "say which address is which host with hosts, or take more hosts".to_owned(),
            _ => return None,
        })
    }
}

impl From<HeaderCut> for ReplayFault {
    fn from(HeaderCut { frame, kept, needed }: HeaderCut) -> ReplayFault {
        ReplayFault::SnapLength { frame, kept, needed }
    }
}
