//! Frames, and the ring of frames a link keeps.

/// A frame on its way: three words, copied from ring to ring.
///
/// The small fields share a word, so that a frame is always stored and loaded a whole word at a time: a
/// processor that loads more than it stored last has to wait for the store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    /// When its last bit reaches the far end of the link it queues for or is on, ps.
    pub(crate) arrival: u64,
    /// Path and tag.
    way: u64,
    /// Size, limiter, hop, class, flags and mark.
    word: u64,
}

/// What a frame is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
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
}

const TAG: u32 = 32;
const LIMITED_BY: u32 = 16;
const HOP: u32 = 32;
const CLASS: u32 = 40;
const FLAGS: u32 = 48;
const MARK: u32 = 56;

impl Frame {
    #[inline]
    pub(crate) const fn new(parts: Parts) -> Frame {
        Frame {
            arrival: 0,
            way: parts.path as u64 | (parts.tag as u64) << TAG,
            word: parts.size as u64
                | (parts.limited_by as u64) << LIMITED_BY
                | (parts.hop as u64) << HOP
                | (parts.class as u64) << CLASS
                | (parts.flags as u64) << FLAGS,
        }
    }

    #[inline]
    pub(crate) const fn path(&self) -> u32 {
        self.way as u32
    }

    #[inline]
    pub(crate) const fn tag(&self) -> u32 {
        (self.way >> TAG) as u32
    }

    /// Its size.
    #[inline]
    pub(crate) const fn octets(&self) -> u64 {
        self.word as u16 as u64
    }

    #[inline]
    pub(crate) const fn limited_by(&self) -> u16 {
        (self.word >> LIMITED_BY) as u16
    }

    #[inline]
    pub(crate) const fn hop(&self) -> u8 {
        (self.word >> HOP) as u8
    }

    #[inline]
    pub(crate) const fn class(&self) -> u8 {
        (self.word >> CLASS) as u8
    }

    /// The largest mark a congestion point wrote on it.
    #[inline]
    pub(crate) const fn mark(&self) -> u8 {
        (self.word >> MARK) as u8
    }

    /// Whether it has any of these flags.
    #[inline]
    pub(crate) const fn is(&self, flags: u8) -> bool {
        self.word & (flags as u64) << FLAGS != 0
    }

    #[inline]
    pub(crate) const fn set(&mut self, flag: u8) {
        self.word |= (flag as u64) << FLAGS;
    }

    #[inline]
    pub(crate) const fn clear(&mut self, flag: u8) {
        self.word &= !((flag as u64) << FLAGS);
    }

    /// Moves it one port ahead.
    #[inline]
    pub(crate) const fn go_ahead(&mut self) {
        self.word += 1 << HOP;
    }

    /// Moves it one port back.
    #[inline]
    pub(crate) const fn go_back(&mut self) {
        self.word -= 1 << HOP;
    }

    /// It, at another place of its path.
    pub(crate) const fn at_hop(self, hop: u8) -> Frame {
        Frame { word: self.word & !(0xff << HOP) | (hop as u64) << HOP, ..self }
    }

    /// Writes a mark on it, unless it has a larger one.
    pub(crate) fn write_mark(&mut self, mark: u8) {
        let mark = u64::from(mark.max(self.mark()));
        self.word = self.word & !(0xff << MARK) | mark << MARK;
    }
}

/// Bits of a frame's flags.
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

    /// Whether one more frame makes it grow.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.tail.wrapping_sub(self.head) > self.mask
    }

    /// Grows unless half of it is free.
    pub(crate) fn make_room(&mut self) {
        if self.tail.wrapping_sub(self.head) > self.mask / 2 {
            self.grow();
        }
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
        if self.is_full() {
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

    /// Forgets the frames from number `from` on.
    pub(crate) const fn cut(&mut self, from: u32) {
        self.tail = from;
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
    fn a_frame_keeps_its_parts() {
        let parts = Parts { path: 7, tag: 8, size: 65_535, limited_by: 9, hop: 254, class: 7, flags: flag::ACK };
        let mut frame = Frame::new(parts);
        assert_eq!((frame.path(), frame.tag(), frame.octets(), frame.limited_by()), (7, 8, 65_535, 9));
        assert_eq!((frame.hop(), frame.class(), frame.mark()), (254, 7, 0));
        assert!(frame.is(flag::ACK) && !frame.is(flag::HELD | flag::BACK));
        frame.go_back();
        frame.set(flag::HELD);
        frame.clear(flag::ACK);
        frame.write_mark(63);
        frame.write_mark(1);
        assert_eq!((frame.hop(), frame.mark(), frame.class()), (253, 63, 7));
        assert!(frame.is(flag::HELD) && !frame.is(flag::ACK));
        assert_eq!(frame.at_hop(3).hop(), 3);
    }

    #[test]
    fn keeps_order_while_it_grows_and_wraps() {
        let mut ring = Ring::new();
        let mut taken = 0;
        for size in 0..1000u16 {
            ring.push(Frame::new(Parts { size, ..Parts::default() }));
            if size % 3 == 0 {
                assert_eq!(ring.pop().octets(), taken);
                taken += 1;
            }
        }
        while !ring.is_empty() {
            assert_eq!(ring.pop().octets(), taken);
            taken += 1;
        }
        assert_eq!(taken, 1000);
    }
}
