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

    /// Returns where in the capture the octets behind the block stand.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out `octets`, at most so many at a time.
    struct Drip {
        octets: Vec<u8>,
        at_a_time: usize,
    }

    impl Read for Drip {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let some = self.octets.len().min(self.at_a_time).min(out.len());
            out[..some].copy_from_slice(&self.octets[..some]);
            self.octets.drain(..some);
            Ok(some)
        }
    }

    fn dripping(octets: usize, at_a_time: usize) -> Source<Drip> {
        Source::new(Drip { octets: (0..octets).map(|n| n as u8).collect(), at_a_time })
    }

    /// Ten octets, three at a time.
    #[test]
    fn a_block_stays_while_more_is_read() {
        let mut source = dripping(10, 3);
        assert_eq!(source.fill(4).unwrap(), 6, "two reads of 3");
        assert_eq!(source.ahead(4), [0, 1, 2, 3]);
        source.take(4);
        assert_eq!((source.block(), source.position()), (&[0, 1, 2, 3][..], 4));
        assert_eq!(source.fill(2).unwrap(), 2, "4 and 5 are there already");
        assert_eq!(source.fill(3).unwrap(), 5, "a third read: 6, 7 and 8");
        assert_eq!((source.block(), source.ahead(5)), (&[0, 1, 2, 3][..], &[4, 5, 6, 7, 8][..]));
        assert_eq!(source.fill(99).unwrap(), 6, "and 9, the last");
        source.take(6);
        assert_eq!((source.block(), source.position()), (&[4, 5, 6, 7, 8, 9][..], 10));
        assert_eq!(source.fill(1).unwrap(), 0);
        source.drop_block();
        assert_eq!((source.block(), source.position()), (&[][..], 10));
    }

    /// Blocks of 24 KiB: more is read where fewer are left, 64 KiB at a time, so at most 24 + 64 = 88 KiB are kept.
    #[test]
    fn what_was_taken_is_not_kept() {
        let block = 24 << 10;
        let mut source = dripping(1 << 20, usize::MAX);
        for n in 0..(1 << 20) / block {
            source.drop_block();
            assert!(source.fill(block).unwrap() >= block);
            source.take(block);
            assert_eq!(source.position(), ((n + 1) * block) as u64);
            assert!(source.buffer.len() <= 88 << 10, "{} octets are kept", source.buffer.len());
        }
    }
}
