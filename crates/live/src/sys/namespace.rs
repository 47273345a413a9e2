//! Network namespaces without names: they are held by descriptors and go with them.
#![allow(unsafe_code)]

use super::{SysError, checked};
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace(File);

impl Namespace {
    /// The namespace of the calling thread.
    pub(crate) fn current() -> Result<Namespace, SysError> {
        File::open(OWN).map(Namespace).map_err(|error| SysError::new(format!("open {OWN}"), error))
    }

    /// Makes a namespace and moves the calling thread into it.
    pub(crate) fn create_and_enter() -> Result<Namespace, SysError> {
        // SAFETY: a plain number; it changes the namespace of the calling thread alone.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }, "make a network namespace")?;
        Namespace::current()
    }

    /// Moves the calling thread into it.
    pub(crate) fn enter(&self) -> Result<(), SysError> {
        // SAFETY: the descriptor is open for as long as `self` lives.
        checked(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) }, "enter a network namespace").map(drop)
    }

    /// Which namespace it is: two descriptors of one namespace have the same number.
    pub(crate) fn number(&self) -> Result<u64, SysError> {
        self.0.metadata().map(|data| data.ino()).map_err(|error| SysError::new("stat a network namespace", error))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether the process runs as root, of its user namespace at least.
pub(crate) fn is_root() -> bool {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Moves the process into a user namespace of its own, in which it is root. The process must have one thread.
pub(crate) fn become_root_of_user_namespace() -> Result<(), SysError> {
    // SAFETY: the calls have no arguments and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: a plain number; refused for a process of several threads.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, "make a user namespace")?;
    let write = |path: &str, text: String| {
        let written =
            fs::OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| SysError::new(format!("write {path}"), error))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Number of threads of the process.
pub(crate) fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(1, |entries| entries.count())
}
