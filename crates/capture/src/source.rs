//! Reads ahead in a capture, and keeps one block.

use std::io::{self, Read};
use std::ops::Range;

/// The octets of the capture: a block that was taken, and behind it what was read ahead.
#[derive(Debug)]
pub(crate) struct Source<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The block that was taken.
    block: Range<usize>,
    position: u64,
}

impl<R: Read> Source<R> {
    /// Octets asked of the reader at a time.
    const CHUNK: usize = 64 << 10;

    pub(crate) fn new(reader: R) -> Source<R> {
        Source { reader, buffer: Vec::new(), block: 0..0, position: 0 }
    }

    /// Return where in the capture the octets behind the block stand.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Read until `len` octets stand behind the block, or the capture ends; return how many there are.
    pub(crate) fn fill(&mut self, len: usize) -> io::Result<usize> {
        if self.buffer.len() - self.block.end < len {
            self.buffer.drain(..self.block.start);
            self.block = 0..self.block.len();
        }
        while self.buffer.len() - self.block.end < len {
            let before = self.buffer.len();
            self.buffer.resize(before + Self::CHUNK, 0);
            let read = self.reader.read(&mut self.buffer[before..]);
            self.buffer.truncate(before + read.as_ref().map_or(0, |octets| *octets));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.buffer.len() - self.block.end)
    }

    /// The next `len` octets behind the block; [`Self::fill`] has said that they are there.
    pub(crate) fn ahead(&self, len: usize) -> &[u8] {
        &self.buffer[self.block.end..self.block.end + len]
    }

    /// Make the next `len` octets the block.
    pub(crate) fn take(&mut self, len: usize) {
        self.block = self.block.end..self.block.end + len;
        self.position += len as u64;
    }

    /// Forget the block.
    pub(crate) fn drop_block(&mut self) {
        self.block.start = self.block.end;
    }

    /// The block that was taken.
    pub(crate) fn block(&self) -> &[u8] {
        &self.buffer[self.block.clone()]
    }
}
