//! What every format can do, and the two cursors it does it with.

use crate::error::{Format, WireError};

/// A format: a value that octets decode to and that encodes to octets.
pub trait Codec<'a>: Sized {
    /// Its name in errors.
    const FORMAT: Format;

    /// Read a value where the reader stands, and move the reader behind it.
    fn read(from: &mut Reader<'a>) -> Result<Self, WireError>;

    /// Returns the number of octets [`Self::write`] writes.
    fn encoded_len(&self) -> usize;

    /// Write the value where the writer stands.
    fn write(&self, to: &mut Writer<'_>) -> Result<(), WireError>;

    /// Decode the value that `octets` start with; also return the octets behind it.
    fn decode(octets: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        let mut reader = Reader::new(octets);
        let value = Self::read(&mut reader)?;
        Ok((value, reader.rest()))
    }

    /// Encode into the start of `out`; return the number of octets written.
    fn encode(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let (needed, available) = (self.encoded_len(), out.len());
        if needed > available {
            return Err(WireError::BufferTooSmall { format: Self::FORMAT, needed, available });
        }
        let mut writer = Writer::new(out);
        self.write(&mut writer)?;
        Ok(writer.position())
    }

    /// Encode into new octets.
    fn to_vec(&self) -> Result<Vec<u8>, WireError> {
        let mut out = vec![0; self.encoded_len()];
        let written = self.encode(&mut out)?;
        out.truncate(written);
        Ok(out)
    }
}

/// A cursor over the octets of a frame.
///
/// The frame may have been longer on the wire than what was captured of it. Lengths inside the frame are held against
/// the wire, contents against what is there.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    /// Start at the first of `octets`, which are whole.
    pub fn new(octets: &'a [u8]) -> Reader<'a> {
        Reader { octets, at: 0, end: octets.len() }
    }

    /// Start at the first of `octets`, which are what was captured of `wire_len` octets.
    pub fn captured(octets: &'a [u8], wire_len: usize) -> Reader<'a> {
        Reader { octets, at: 0, end: wire_len.max(octets.len()) }
    }

    /// The number of octets read, from the start of the frame.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Octets there are from here on.
    pub fn remaining(&self) -> usize {
        self.octets.len().min(self.end).saturating_sub(self.at)
    }

    /// Octets there were on the wire from here on.
    pub fn remaining_on_wire(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// Octets from here on, without moving.
    pub(crate) fn ahead(&self) -> &'a [u8] {
        self.octets.get(self.at..self.at + self.remaining()).unwrap_or(&[])
    }

    /// Take the next `needed` octets.
    pub fn take(&mut self, format: Format, needed: usize) -> Result<&'a [u8], WireError> {
        let available = self.remaining();
        match self.octets.get(self.at..self.at.saturating_add(needed)) {
            Some(taken) if needed <= available => {
                self.at += needed;
                Ok(taken)
            }
            _ => Err(WireError::Truncated { format, at: self.at, needed, available }),
        }
    }

    /// Take the next `N` octets as an array.
    pub fn array<const N: usize>(&mut self, format: Format) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(format, N)?);
        Ok(array)
    }

    /// Take an octet.
    pub fn u8(&mut self, format: Format) -> Result<u8, WireError> {
        Ok(self.array::<1>(format)?[0])
    }

    /// Take two octets, the high one first.
    pub fn u16(&mut self, format: Format) -> Result<u16, WireError> {
        self.array(format).map(u16::from_be_bytes)
    }

    /// Take four octets, the highest first.
    pub fn u32(&mut self, format: Format) -> Result<u32, WireError> {
        self.array(format).map(u32::from_be_bytes)
    }

    /// Take eight octets, the highest first.
    pub fn u64(&mut self, format: Format) -> Result<u64, WireError> {
        self.array(format).map(u64::from_be_bytes)
    }

    /// Take all octets that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.ahead();
        self.at += rest.len();
        rest
    }

    /// Split off a reader of the next `needed` octets of the wire, and move behind them.
    pub fn part(&mut self, format: Format, needed: usize) -> Result<Reader<'a>, WireError> {
        let available = self.remaining_on_wire();
        if needed > available {
            return Err(WireError::Truncated { format, at: self.at, needed, available });
        }
        let part = Reader { octets: self.octets, at: self.at, end: self.at + needed };
        self.at += needed;
        Ok(part)
    }
}

/// A cursor over the octets to write.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut [u8],
    at: usize,
}

impl<'b> Writer<'b> {
    /// Start at the first octet of `out`.
    pub fn new(out: &'b mut [u8]) -> Writer<'b> {
        Writer { out, at: 0 }
    }

    /// The number of octets written.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Write `octets`.
    pub fn put(&mut self, format: Format, octets: &[u8]) -> Result<(), WireError> {
        let available = self.out.len() - self.at;
        let Some(room) = self.out.get_mut(self.at..self.at + octets.len()) else {
            return Err(WireError::BufferTooSmall { format, needed: octets.len(), available });
        };
        room.copy_from_slice(octets);
        self.at += octets.len();
        Ok(())
    }
}

/// Refuse a value that has more bits than its field.
pub(crate) fn fits(format: Format, field: &'static str, value: u64, max: u64) -> Result<(), WireError> {
    if value > max { Err(WireError::DoesNotFit { format, field, value, max }) } else { Ok(()) }
}
