//! Programs that are started, and signals to them.
#![allow(unsafe_code)]

use std::io::Error;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Has a program end with the thread that starts it, however that ends.
pub(crate) fn end_with_us(command: &mut Command) {
    let ask = || {
        // SAFETY: plain numbers, about the calling process alone.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) } == 0 {
            Ok(())
        } else {
            Err(Error::last_os_error())
        }
    };
    // SAFETY: between fork and exec it makes one call of the system, which takes no lock and no memory.
    unsafe { command.pre_exec(ask) };
}

/// Asks a program to end.
pub(crate) fn ask_to_end(child: &Child) {
    let Ok(process) = libc::pid_t::try_from(child.id()) else { return };
    // SAFETY: plain numbers; the child has not been waited for, so that its number is no other process's.
    unsafe { libc::kill(process, libc::SIGTERM) };
}
