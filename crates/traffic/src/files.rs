//! The door to files beside the scenario's. Without the feature `files` it is closed.

use std::fs::File;
use std::io;
use std::path::Path;

/// The first octets of a file that gzip has packed.
pub const GZIP: &[u8] = &[0x1f, 0x8b];

/// Reads a file of UTF-8 text; one that gzip has packed is named as such.
#[cfg(feature = "files")]
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let invalid = |words: &str| io::Error::new(io::ErrorKind::InvalidData, words);
    let octets = std::fs::read(path)?;
    if octets.starts_with(GZIP) {
        return Err(invalid("this is gzip: unpack it first, with gunzip"));
    }
    String::from_utf8(octets).map_err(|error| {
        invalid(&format!("it is not UTF-8 text: octet {} cannot be read", error.utf8_error().valid_up_to()))
    })
}

#[cfg(feature = "files")]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Refuses to read one.
#[cfg(not(feature = "files"))]
pub fn read_to_string(_: &Path) -> io::Result<String> {
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
