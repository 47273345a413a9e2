//! Signals to programs that were started.
#![allow(unsafe_code)]

use std::process::Child;

/// Asks a program to end.
pub(crate) fn ask_to_end(child: &Child) {
    let Ok(process) = libc::pid_t::try_from(child.id()) else { return };
    // SAFETY: plain numbers; the child has not been waited for, so that its number is no other process's.
    unsafe { libc::kill(process, libc::SIGTERM) };
}
