//! Frames, and the ring of frames a link keeps.

use crate::ids::{ControlFrameId, Id, PacketId, PathId};

/// A frame on its way: three words, copied from ring to ring.
///
/// The small fields share a word, so that a frame is always stored and loaded a whole word at a time: a
/// processor that loads more than it stored last has to wait for the store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    /// When its last bit reaches the far end of the link it queues for or is on, ps.
    pub(crate) arrival: u64,
    /// Path and tag.
    route: u64,
    /// Size, limiting congestion point, hop, class, flags and mark.
    word: u64,
}

/// What a frame is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The path it takes; for what travels in reverse, the path it takes backwards.
    pub(crate) path: PathId,
    /// For a control frame, the number of what it carries; for TCP, the segment's number or the number acknowledged;
    /// for RoCE, the number of what the packet or its acknowledgement carries.
    pub(crate) tag: u32,
    /// Octets.
    pub(crate) size: u16,
    /// The congestion point that holds its limiter, plus one; 0 for none.
    pub(crate) limited_by: u16,
    /// Position in its path: of the port it queues for or left last; in reverse, of the port it meets next, plus one.
    pub(crate) hop: u8,
    /// Class, 0 to 7.
    pub(crate) class: u8,
    /// See [`flag`].
    pub(crate) flags: u8,
}

/// What a source hands over for one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload {
    /// Octets of the frame.
    pub(crate) size: u16,
    /// Octets that still wait at the source.
    pub(crate) backlog: u64,
    /// The number of the TCP segment or RoCE packet that it carries.
    pub(crate) segment: Option<u32>,
}

const TAG: u32 = 32;
const LIMITED_BY: u32 = 16;
const HOP: u32 = 32;
const CLASS: u32 = 40;
const CLASS_CHANGE: u32 = 43;
const FLAGS: u32 = 48;
const MARK: u32 = 56;
/// In the number of a queue for flows: the frame was tagged in the queue that it waits in.
const TAGGED_IN_QUEUE: u16 = 1 << 15;

impl Frame {
    #[inline]
    pub(crate) fn new(parts: Parts) -> Frame {
        Frame {
            arrival: 0,
            route: u64::from(parts.path.number()) | (parts.tag as u64) << TAG,
            word: parts.size as u64
                | (parts.limited_by as u64) << LIMITED_BY
                | (parts.hop as u64) << HOP
                | (parts.class as u64) << CLASS
                | (parts.flags as u64) << FLAGS,
        }
    }

    #[inline]
    pub(crate) fn path(&self) -> PathId {
        PathId::new(self.route as u32)
    }

    /// Takes another path of its flow, which leads to where it is.
    pub(crate) fn set_path(&mut self, path: PathId) {
        self.route = u64::from(path.number()) | self.route >> TAG << TAG;
    }

    #[inline]
    pub(crate) const fn tag(&self) -> u32 {
        (self.route >> TAG) as u32
    }

    pub(crate) const fn set_tag(&mut self, tag: u32) {
        self.route = self.route as u32 as u64 | (tag as u64) << TAG;
    }

    /// For a control frame, what it carries.
    pub(crate) fn carries(&self) -> ControlFrameId {
        ControlFrameId::new(self.tag())
    }

    /// For RoCE, what it carries.
    #[inline]
    pub(crate) fn packet(&self) -> PacketId {
        PacketId::new(self.tag())
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
        (self.word >> CLASS) as u8 & 7
    }

    /// The class it had on the link it came in over: that of the input buffer that holds it.
    #[inline]
    pub(crate) const fn link_class(&self) -> u8 {
        ((self.word >> CLASS) ^ (self.word >> CLASS_CHANGE)) as u8 & 7
    }

    /// It is at a node that does not hold it yet, and has the class there that it had on the link.
    #[inline]
    pub(crate) const fn enter_node(&mut self) {
        self.word &= !((flag::BUFFERED as u64) << FLAGS | 7 << CLASS_CHANGE);
    }

    /// Sets the class at its present node, and takes the class so far as that of the link it came in over.
    pub(crate) const fn enter_with_class(&mut self, class: u8) {
        let change = self.class() ^ class;
        self.word = self.word & !(0x3f << CLASS) | (class as u64) << CLASS | (change as u64) << CLASS_CHANGE;
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

    /// All bits if it acknowledges segments or packets, none if not.
    #[inline(always)]
    pub(crate) const fn all_bits_if_ack(&self) -> u32 {
        let sign = self.word << (63 - FLAGS - flag::ACK.trailing_zeros());
        (sign as i64 >> 63) as u32
    }

    #[inline]
    pub(crate) const fn set(&mut self, flag: u8) {
        self.word |= (flag as u64) << FLAGS;
    }

    /// Sets flags that are where a frame has them.
    #[inline]
    pub(crate) const fn set_all(&mut self, flags: Flags) {
        self.word |= flags.0;
    }

    #[inline]
    pub(crate) const fn clear(&mut self, flag: u8) {
        self.word &= !((flag as u64) << FLAGS);
    }

    /// Moves it to the next port of its path, or back to the one before if it travels in reverse; returns whether it
    /// does. Without a branch: which way the next frame goes cannot be foreseen.
    #[inline]
    pub(crate) const fn move_on(&mut self) -> bool {
        let reverse = self.word >> (FLAGS + flag::REVERSE.trailing_zeros()) & 1;
        self.word = self.word.wrapping_add(1 << HOP).wrapping_sub(reverse << (HOP + 1));
        reverse != 0
    }

    /// Moves it to the next port of its path.
    #[inline]
    pub(crate) const fn advance_hop(&mut self) {
        self.word += 1 << HOP;
    }

    /// Moves it to the port before, as a frame that travels in reverse does.
    #[inline]
    pub(crate) const fn reverse_hop(&mut self) {
        self.word -= 1 << HOP;
    }

    /// The same frame at another position of its path.
    pub(crate) const fn at_hop(self, hop: u8) -> Frame {
        Frame { word: self.word & !(0xff << HOP) | (hop as u64) << HOP, ..self }
    }

    /// The queue for flows that it left last, or that it came from while it waits; `None` if it left none.
    pub(crate) fn left_queue(&self) -> Option<u16> {
        (self.limited_by() & !TAGGED_IN_QUEUE).checked_sub(1)
    }

    /// It leaves one of a port's queues for flows. The number stands where schemes that stop nobody have a frame say what
    /// limits it.
    pub(crate) const fn leave_queue(&mut self, queue: u16) {
        self.set_limited_by(queue + 1);
    }

    /// Whether it was tagged when it joined the queue that it waits in.
    pub(crate) const fn is_tagged_in_queue(&self) -> bool {
        self.limited_by() & TAGGED_IN_QUEUE != 0
    }

    /// Tags it in the queue that it joins, or not.
    pub(crate) const fn tag_in_queue(&mut self, tagged: bool) {
        let number = self.limited_by() & !TAGGED_IN_QUEUE;
        self.set_limited_by(if tagged { number | TAGGED_IN_QUEUE } else { number });
    }

    const fn set_limited_by(&mut self, number: u16) {
        self.word = self.word & !(0xffff << LIMITED_BY) | (number as u64) << LIMITED_BY;
    }

    /// Writes a mark on it, unless it has a larger one.
    pub(crate) fn write_mark(&mut self, mark: u8) {
        let mark = u64::from(mark.max(self.mark()));
        self.word = self.word & !(0xff << MARK) | mark << MARK;
    }
}

/// Flags, where a frame has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags(u64);

impl Flags {
    /// None.
    pub(crate) const NONE: Flags = Flags::of(0);

    pub(crate) const fn of(flags: u8) -> Flags {
        Flags((flags as u64) << FLAGS)
    }
}

/// Bits of a frame's flags.
pub(crate) mod flag {
    /// Its priority is under congestion control.
    pub(crate) const CONTROLLED: u8 = 1;
    /// It carries a CN-TAG.
    pub(crate) const CN_TAGGED: u8 = 2;
    /// It asks the congestion points on its path whether they have bandwidth left.
    pub(crate) const ASKS_BANDWIDTH: u8 = 4;
    /// It is a segment of a TCP connection or a RoCE packet.
    pub(crate) const SEGMENT: u8 = 8;
    /// It travels in reverse, to the source of its path.
    pub(crate) const REVERSE: u8 = 16;
    /// It is a control frame: it carries a signal in reverse or a probe forward.
    pub(crate) const CONTROL: u8 = 32;
    /// It acknowledges segments or packets.
    pub(crate) const ACK: u8 = 64;
    /// The node it is at holds it in the buffer of the input it arrived by.
    pub(crate) const BUFFERED: u8 = 128;
    /// Neither data of the flow nor a part of its tally.
    pub(crate) const NOT_DATA: u8 = CONTROL | ACK;
}

/// Frames of one link, oldest first: on the wire, then in transmission, then queued.
///
/// Grows by doubling and never shrinks, so a run settles to no allocation.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    frames: Box<[Frame]>,
    mask: u32,
    head: u32,
    tail: u32,
}

impl Ring {
    pub(crate) fn new() -> Ring {
        Ring { frames: vec![Frame::default(); 8].into(), mask: 7, head: 0, tail: 0 }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether one more frame would make it grow.
    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.tail.wrapping_sub(self.head) > self.mask
    }

    /// Empty, it puts the next frame at the beginning of its memory.
    #[inline]
    pub(crate) const fn restart(&mut self) {
        debug_assert!(self.is_empty());
        (self.head, self.tail) = (0, 0);
    }

    /// Grows unless more than half of it is free.
    pub(crate) fn reserve_half(&mut self) {
        if self.tail.wrapping_sub(self.head) > self.mask / 2 {
            self.grow();
        }
    }

    /// How many frames it holds without growing.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.frames.len()
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

    #[inline(always)]
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

    /// Removes the frames from number `from` on.
    pub(crate) const fn truncate(&mut self, from: u32) {
        self.tail = from;
    }

    /// Frames from number `from` to the newest.
    pub(crate) fn since(&self, from: u32) -> impl Iterator<Item = &Frame> {
        (0..self.tail.wrapping_sub(from)).map(move |i| self.at(from.wrapping_add(i)))
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let size = self.frames.len() as u32 * 2;
        let mut frames = vec![Frame::default(); size as usize];
        let mut number = self.head;
        while number != self.tail {
            frames[(number & (size - 1)) as usize] = *self.at(number);
            number = number.wrapping_add(1);
        }
        self.frames = frames.into();
        self.mask = size - 1;
    }
}

#[cfg(test)]
impl Frame {
    /// A data frame of the first path, for tests.
    pub(crate) fn of_class(class: u8, size: u16) -> Frame {
        Frame::new(Parts { path: PathId::new(0), tag: 0, size, limited_by: 0, hop: 0, class, flags: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_its_parts() {
        let path = PathId::new(7);
        let parts = Parts { path, tag: 8, size: 65_535, limited_by: 9, hop: 254, class: 7, flags: flag::ACK };
        let mut frame = Frame::new(parts);
        assert_eq!((frame.path(), frame.tag(), frame.octets(), frame.limited_by()), (path, 8, 65_535, 9));
        assert_eq!((frame.hop(), frame.class(), frame.mark()), (254, 7, 0));
        assert!(frame.is(flag::ACK) && !frame.is(flag::BUFFERED | flag::REVERSE));
        frame.reverse_hop();
        frame.set(flag::BUFFERED);
        frame.clear(flag::ACK);
        frame.write_mark(63);
        frame.write_mark(1);
        assert_eq!((frame.hop(), frame.mark(), frame.class()), (253, 63, 7));
        assert!(frame.is(flag::BUFFERED) && !frame.is(flag::ACK));
        assert_eq!(frame.at_hop(3).hop(), 3);
        assert_eq!(frame.link_class(), 7);
        frame.enter_with_class(2);
        assert_eq!((frame.class(), frame.link_class(), frame.hop(), frame.mark()), (2, 7, 253, 63));
        frame.enter_with_class(2);
        assert_eq!((frame.class(), frame.link_class()), (2, 2));
        frame.enter_with_class(3);
        assert_eq!((frame.class(), frame.link_class()), (3, 2));
        frame.set_tag(u32::MAX);
        assert_eq!((frame.path(), frame.tag()), (path, u32::MAX));
    }

    #[test]
    fn the_largest_mark_stays() {
        let mut frame = Frame::of_class(0, 64);
        let marks = [1, 2, 1, 7, 8].map(|mark| {
            frame.write_mark(mark);
            frame.mark()
        });
        assert_eq!((marks, frame.octets()), ([1, 2, 2, 7, 8], 64));
    }

    /// Of the flags beside it none makes a frame an acknowledgement.
    #[test]
    fn an_acknowledgement_is_known_by_its_flag_alone() {
        let mut frame = Frame::of_class(7, 64);
        frame.set(!flag::ACK);
        assert_eq!(frame.all_bits_if_ack(), 0);
        frame = Frame::of_class(0, 64);
        frame.set(flag::ACK);
        assert_eq!(frame.all_bits_if_ack(), u32::MAX);
    }

    #[test]
    fn control_frames_and_acknowledgements_are_not_data() {
        let is_data = [flag::CONTROL, flag::ACK, !(flag::CONTROL | flag::ACK)].map(|flags| {
            let mut frame = Frame::of_class(0, 64);
            frame.set(flags);
            !frame.is(flag::NOT_DATA)
        });
        assert_eq!(is_data, [false, false, true]);
    }

    #[test]
    fn what_is_set_twice_is_set() {
        let mut frame = Frame::of_class(0, 64);
        for _ in 0..2 {
            frame.set(flag::CONTROL);
            frame.set_all(Flags::of(flag::BUFFERED | flag::SEGMENT));
            assert!([flag::CONTROL, flag::BUFFERED, flag::SEGMENT].iter().all(|flag| frame.is(*flag)));
        }
        for _ in 0..2 {
            frame.clear(flag::BUFFERED);
            assert!(!frame.is(flag::BUFFERED) && frame.is(flag::CONTROL) && frame.is(flag::SEGMENT));
        }
    }

    #[test]
    fn a_frame_moves_along_its_path_or_back() {
        let mut frame = Frame::of_class(7, 64).at_hop(3);
        assert_eq!((frame.move_on(), frame.hop(), frame.class()), (false, 4, 7));
        frame.set(flag::REVERSE);
        assert_eq!((frame.move_on(), frame.hop(), frame.class()), (true, 3, 7));
        frame.advance_hop();
        assert_eq!(frame.hop(), 4);
        frame.reverse_hop();
        assert_eq!((frame.hop(), frame.at_hop(9).hop(), frame.at_hop(9).class()), (3, 9, 7));
    }

    /// Of eight places all are used before a ninth frame makes them sixteen.
    #[test]
    fn a_ring_grows_when_it_is_full() {
        let mut ring = Ring::new();
        let capacities: Vec<usize> = (0..9)
            .map(|size| {
                ring.push(Frame::of_class(0, size));
                ring.capacity()
            })
            .collect();
        assert_eq!(capacities, [8, 8, 8, 8, 8, 8, 8, 8, 16]);
    }

    /// Three of eight places are less than half of them, four are half, and four of sixteen are less again.
    #[test]
    fn half_a_ring_is_kept_free() {
        let mut ring = Ring::new();
        let mut capacity = |frames: u16| {
            (0..frames).for_each(|size| ring.push(Frame::of_class(0, size)));
            ring.reserve_half();
            ring.capacity()
        };
        assert_eq!([capacity(3), capacity(1), capacity(0), capacity(5), capacity(5)], [8, 16, 16, 32, 32]);
    }

    #[test]
    fn keeps_order_while_it_grows_and_wraps() {
        let mut ring = Ring::new();
        let mut taken = 0;
        for size in 0..1000u16 {
            ring.push(Frame::of_class(0, size));
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
