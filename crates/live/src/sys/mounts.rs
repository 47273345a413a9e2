//! Mounts that give a namespace a name.
#![allow(unsafe_code)]

use super::namespace::Namespace;
use super::{SysError, checked};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

fn text(path: &Path) -> Result<CString, SysError> {
    let invalid = |_| std::io::Error::from(std::io::ErrorKind::InvalidInput);
    CString::new(path.as_os_str().as_bytes()).map_err(|error| SysError::new("name a path", invalid(error)))
}

fn mount(source: &Path, target: &Path, flags: libc::c_ulong, what: &str) -> Result<(), SysError> {
    let (source, to) = (text(source)?, text(target)?);
    // SAFETY: both texts end with 0 and live through the call; a bind mount needs no type and no data.
    let result = unsafe { libc::mount(source.as_ptr(), to.as_ptr(), ptr::null(), flags, ptr::null()) };
    checked(result, what).map(drop)
}

/// Makes mounts under a folder be seen in other mount namespaces, as `ip netns add` does.
pub(crate) fn share(folder: &Path) -> Result<(), SysError> {
    let shared = |what| mount(Path::new("none"), folder, libc::MS_SHARED | libc::MS_REC, what);
    if shared("share").is_ok() {
        return Ok(());
    }
    // It is no mount of its own yet.
    mount(folder, folder, libc::MS_BIND | libc::MS_REC, &format!("mount {}", folder.display()))?;
    shared(&format!("share {}", folder.display()))
}

/// Mounts a namespace on a file.
pub(crate) fn mount_namespace(space: &Namespace, file: &Path) -> Result<(), SysError> {
    let of = format!("/proc/self/fd/{}", space.as_fd().as_raw_fd());
    mount(Path::new(&of), file, libc::MS_BIND, &format!("name a namespace {}", file.display()))
}

/// Takes a mount away; where there is none, nothing.
pub(crate) fn unmount(file: &Path) {
    let Ok(file) = text(file) else { return };
    // SAFETY: the text ends with 0 and lives through the call.
    unsafe { libc::umount2(file.as_ptr(), libc::MNT_DETACH) };
}
