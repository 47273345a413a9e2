//! Why a capture cannot be started.

use std::path::PathBuf;

/// What is wrong with a capture that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureFault {
    /// The pattern of ports cannot be read.
    #[error("capture '{pattern}': {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong.
        why: String,
    },
    /// No port matches.
    #[error("capture '{pattern}': no port has such a name; there {}", listed(some, *all))]
    NoPort {
        /// The pattern.
        pattern: String,
        /// The names of some ports.
        some: Vec<String>,
        /// How many there are.
        all: usize,
    },
    /// The snap length cuts headers.
    #[error(
        "a snap length of {snap_len} octets cuts the headers of these frames, which take {needed}; give {needed} or more, or leave it out"
    )]
    SnapLength {
        /// What was asked for.
        snap_len: u32,
        /// Octets of the longest headers.
        needed: u32,
    },
    /// It ends before it begins.
    #[error("the capture ends at {until_s} s, before it begins at {from_s} s")]
    Window {
        /// When it begins.
        from_s: String,
        /// When it ends.
        until_s: String,
    },
    /// The run has messages that no frame is known for.
    #[error("a run of scheme '{scheme}' is not captured: its messages from hop to hop have no published format")]
    NoFormat {
        /// The scheme.
        scheme: String,
    },
    /// The file cannot be written.
    #[error("the capture {} cannot be written: {why}", file.display())]
    Create {
        /// The file.
        file: PathBuf,
        /// What the system said.
        why: String,
    },
}

impl CaptureFault {
    /// Ports that a message names.
    pub(crate) const MOST_NAMED: usize = 12;
}

fn listed(some: &[String], all: usize) -> String {
    let names = some.join(", ");
    match all - some.len() {
        0 if all == 1 => format!("is {names}"),
        0 => format!("are {names}"),
        more => format!("are {names} and {more} more"),
    }
}
