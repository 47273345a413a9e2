//! Frames, and the ring of frames a link keeps.

/// A frame on its way: a small plain record, copied from ring to ring.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    /// When its last bit reaches the far end of the link it queues for or is on, ps.
    pub(crate) arrival: u64,
    /// The path it takes; for what travels back, the path it takes backwards.
    pub(crate) path: u32,
    /// For a letter, the place of what it says; for TCP, the segment's number or the number acknowledged.
    pub(crate) tag: u32,
    /// Octets.
    pub(crate) size: u16,
    /// The congestion point that holds its limiter, plus one; 0 for none.
    pub(crate) limited_by: u16,
    /// Position in its path: of the port it queues for or left last; going back, of the port it meets next, plus one.
    pub(crate) hop: u8,
    /// Class, 0 to 7.
    pub(crate) class: u8,
    /// See [`flag`].
    pub(crate) flags: u8,
    /// The largest mark a congestion point wrote on it.
    pub(crate) mark: u8,
}

impl Frame {
    #[inline]
    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) const fn octets(&self) -> u64 {
        self.size as u64
    }
}

/// Bits of [`Frame::flags`].
pub(crate) mod flag {
    /// Its priority is under congestion control.
    pub(crate) const CONTROLLED: u8 = 1;
    /// It carries a CN-TAG.
    pub(crate) const CN_TAGGED: u8 = 2;
    /// It asks if there is bandwidth.
    pub(crate) const SPECIAL: u8 = 4;
    /// It is a segment of a TCP connection.
    pub(crate) const SEGMENT: u8 = 8;
    /// It travels back to the source.
    pub(crate) const BACK: u8 = 16;
    /// It carries a letter: a signal on its way back, or a probe on its way ahead.
    pub(crate) const LETTER: u8 = 32;
    /// It acknowledges segments.
    pub(crate) const ACK: u8 = 64;
    /// The node it is at counts it against the memory of the input it came in by.
    pub(crate) const HELD: u8 = 128;
    /// Neither data of the flow nor a part of its tally.
    pub(crate) const NOT_DATA: u8 = LETTER | ACK;
}

/// Frames of one link, oldest first: on the wire, then in transmission, then queued.
///
/// Grows by doubling and never shrinks, so a run settles to no allocation.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    frames: Vec<Frame>,
    mask: u32,
    head: u32,
    tail: u32,
}

impl Ring {
    pub(crate) fn new() -> Ring {
        Ring { frames: vec![Frame::default(); 8], mask: 7, head: 0, tail: 0 }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Number of the oldest frame; numbers count up for ever and wrap.
    #[inline]
    pub(crate) const fn head(&self) -> u32 {
        self.head
    }

    /// Number the next frame will have.
    #[inline]
    pub(crate) const fn tail(&self) -> u32 {
        self.tail
    }

    #[inline]
    pub(crate) fn at(&self, number: u32) -> &Frame {
        &self.frames[(number & self.mask) as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, number: u32) -> &mut Frame {
        &mut self.frames[(number & self.mask) as usize]
    }

    #[inline]
    pub(crate) fn push(&mut self, frame: Frame) {
        if self.tail.wrapping_sub(self.head) > self.mask {
            self.grow();
        }
        *self.at_mut(self.tail) = frame;
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Frame {
        debug_assert!(!self.is_empty());
        let frame = *self.at(self.head);
        self.head = self.head.wrapping_add(1);
        frame
    }

    /// Frames from number `from` to the newest.
    pub(crate) fn since(&self, from: u32) -> impl Iterator<Item = &Frame> {
        (0..self.tail.wrapping_sub(from)).map(move |i| self.at(from.wrapping_add(i)))
    }

    #[cold]
    fn grow(&mut self) {
        let size = self.frames.len() as u32 * 2;
        let mut frames = vec![Frame::default(); size as usize];
        let mut number = self.head;
        while number != self.tail {
            frames[(number & (size - 1)) as usize] = *self.at(number);
            number = number.wrapping_add(1);
        }
        self.frames = frames;
        self.mask = size - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_while_it_grows_and_wraps() {
        let mut ring = Ring::new();
        let mut taken = 0;
        for size in 0..1000u16 {
            ring.push(Frame { size, ..Frame::default() });
            if size % 3 == 0 {
                assert_eq!(ring.pop().size, taken);
                taken += 1;
            }
        }
        while !ring.is_empty() {
            assert_eq!(ring.pop().size, taken);
            taken += 1;
        }
        assert_eq!(taken, 1000);
    }
}
