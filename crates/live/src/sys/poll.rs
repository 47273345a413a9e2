//! Waiting for descriptors or a deadline.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd};

/// Most descriptors that one call waits for.
pub(crate) const MOST: usize = 8;

/// Waits until one of the descriptors can be read or so many nanoseconds are over. Returns which are readable, a bit
/// each. A signal ends the wait early.
pub(crate) fn wait(descriptors: &[BorrowedFd<'_>], timeout_ns: u64) -> u8 {
    debug_assert!(descriptors.len() <= MOST);
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; MOST];
    for (slot, descriptor) in polled.iter_mut().zip(descriptors) {
        slot.fd = descriptor.as_raw_fd();
    }
    let timeout = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
    };
    let count = descriptors.len().min(MOST) as libc::nfds_t;
    // SAFETY: the array has `count` entries or more and lives through the call, as does the timeout; no signal mask.
    let ready = unsafe { libc::ppoll(polled.as_mut_ptr(), count, &raw const timeout, std::ptr::null()) };
    if ready <= 0 {
        return 0;
    }
    polled.iter().enumerate().fold(0, |bits, (index, slot)| bits | u8::from(slot.revents != 0) << index)
}
