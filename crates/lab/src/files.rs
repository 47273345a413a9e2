//! The door to files beside the scenario's. Without the feature `files` it is closed.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(feature = "files")]
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

#[cfg(feature = "files")]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(feature = "files"))]
pub(crate) fn read_to_string(_: &Path) -> io::Result<String> {
    Err(closed())
}

#[cfg(not(feature = "files"))]
pub(crate) fn open(_: &Path) -> io::Result<File> {
    Err(closed())
}

#[cfg(not(feature = "files"))]
fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "there are no files here; write what it holds into the scenario")
}
