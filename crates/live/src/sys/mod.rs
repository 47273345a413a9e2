//! What the data plane asks of Linux, one file for each kind of call. All `unsafe` code of the workspace stands here;
//! what these files hand out is safe to use.

pub(crate) mod mounts;
pub(crate) mod namespace;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod scheduling;
pub(crate) mod socket;
pub(crate) mod tap;
pub(crate) mod time;
pub(crate) mod usage;

use std::io;

/// A call that failed: what was asked for, and what the system said.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct SysError {
    /// What was asked for, in words.
    pub what: String,
    /// What the system said.
    pub source: io::Error,
}

impl SysError {
    /// The failure of the call just made, which was to do `what`.
    pub(crate) fn last(what: impl Into<String>) -> SysError {
        SysError { what: what.into(), source: io::Error::last_os_error() }
    }

    pub(crate) fn new(what: impl Into<String>, source: io::Error) -> SysError {
        SysError { what: what.into(), source }
    }
}

/// The result of a call that returns a negative number when it fails.
pub(crate) fn checked(result: libc::c_int, what: &str) -> Result<libc::c_int, SysError> {
    if result < 0 { Err(SysError::last(what)) } else { Ok(result) }
}
