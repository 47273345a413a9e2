//! TAP interfaces: the kernel's network stack on one side, a descriptor on the other.
#![allow(unsafe_code)]

use super::{SysError, checked};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/net/tun";

/// A TAP interface in the namespace of the thread that made it. It goes with the descriptor.
#[derive(Debug)]
pub(crate) struct Tap(File);

impl Tap {
    /// Makes the interface `name`, of 15 octets at most.
    pub(crate) fn create(name: &str) -> Result<Tap, SysError> {
        let open =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(DEVICE);
        let file = open.map_err(|error| SysError::new(format!("open {DEVICE}"), error))?;
        // SAFETY: an ifreq is plain data, for which all zeros are a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (slot, octet) in request.ifr_name.iter_mut().take(15).zip(name.bytes()) {
            *slot = octet as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the descriptor is open, and the request lives through the call and has a name that ends.
        let made = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
        checked(made, &format!("make the TAP interface {name}"))?;
        Ok(Tap(file))
    }

    /// Reads a frame that the stack sends; `None` when there is none.
    pub(crate) fn read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.0).read(room) {
            Ok(octets) => Ok(Some(octets)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a frame to the stack.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
        (&self.0).write(frame).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
