//! Ports whose frames take turns: several classes, strict priority, and PAUSE.
//!
//! Which frame goes next is not known when a frame arrives, so such a port has an
//! event at the end of each transmission. The frame in transmission stays at the
//! head of its queue until then: it is never broken off, and it counts.

use crate::frame::{Frame, Ring};
use crate::port::NONE;
use qcnlab_units::BitRate;
use std::collections::VecDeque;

/// What a pause frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// The classes that stop or go; all eight for 802.3x.
    pub(crate) classes: u8,
    /// For how long, in quanta of 512 bit times; 0 for go.
    pub(crate) quanta: u16,
    /// The port whose queue holds most of what led to it.
    pub(crate) because: u32,
}

/// The queue of one class.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) number: u8,
    pub(crate) frames: Ring,
    /// Octets of its frames, the one in transmission included.
    pub(crate) octets: u64,
    /// The congestion point that watches it, or [`NONE`].
    pub(crate) cp: u32,
    /// It is stopped before this time, ps.
    pub(crate) stopped_until: u64,
    /// When the stop that was last in force began, ps; and the port that led to it.
    pub(crate) stopped_since: u64,
    pub(crate) because: u32,
}

/// What is in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Nothing,
    /// The head of the queue at this place of [`Turns::classes`].
    Head(u8),
    Pause(Pause),
}

/// The queues of a port, and whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    pub(crate) port: u32,
    /// Highest class first.
    pub(crate) classes: Vec<Class>,
    place: [u8; 8],
    /// Pause frames that wait: they go before all classes and are never stopped.
    pub(crate) pauses: VecDeque<Pause>,
    pub(crate) sending: Sending,
    /// When the transmission ends, ps.
    pub(crate) ends: u64,
    /// The adapter behind it, or [`NONE`].
    pub(crate) adapter: u32,
    /// Pause frames on the wire: when they take effect, ps.
    pub(crate) under_way: VecDeque<(u64, Pause)>,
    /// The link's own rate: what a quantum is counted in.
    pub(crate) link: BitRate,
    /// Propagation to the far end, and the time a pause takes to work there, ps.
    pub(crate) pause_delay: u64,
    /// Pause frames sent.
    pub(crate) pause_frames: u64,
    /// The port's frames take turns only while something is stopped.
    pub(crate) while_stopped: bool,
}

impl Turns {
    /// `classes` has a bit for each class the port carries.
    pub(crate) fn new(port: u32, classes: u8, link: BitRate) -> Turns {
        let mut place = [u8::MAX; 8];
        let mut queues = Vec::new();
        for number in (0..8u8).rev().filter(|number| classes & 1 << number != 0) {
            place[usize::from(number)] = queues.len() as u8;
            queues.push(Class {
                number,
                frames: Ring::new(),
                octets: 0,
                cp: NONE,
                stopped_until: 0,
                stopped_since: 0,
                because: NONE,
            });
        }
        Turns {
            port,
            classes: queues,
            place,
            pauses: VecDeque::new(),
            sending: Sending::Nothing,
            ends: 0,
            adapter: NONE,
            under_way: VecDeque::new(),
            link,
            pause_delay: 0,
            pause_frames: 0,
            while_stopped: false,
        }
    }

    #[inline]
    pub(crate) fn class(&mut self, number: u8) -> &mut Class {
        &mut self.classes[usize::from(self.place[usize::from(number)])]
    }

    pub(crate) fn class_ref(&self, number: u8) -> &Class {
        &self.classes[usize::from(self.place[usize::from(number)])]
    }

    /// Queues a frame the port has counted in.
    pub(crate) fn push(&mut self, frame: Frame) {
        let class = self.class(frame.class());
        class.octets += frame.octets();
        class.frames.push(frame);
    }

    /// Takes the frame whose transmission ended out of its queue, and what it leaves there.
    pub(crate) fn take_sent(&mut self, place: u8) -> (Frame, u64, u32) {
        self.sending = Sending::Nothing;
        let class = &mut self.classes[usize::from(place)];
        let frame = class.frames.pop();
        class.octets -= frame.octets();
        (frame, class.octets, class.cp)
    }

    /// How long so many quanta last, ps.
    pub(crate) fn quanta_ps(&self, quanta: u16) -> u64 {
        let bit_ps = u128::from(quanta) * 512 * 1_000_000_000_000;
        (bit_ps / u128::from(self.link.get())) as u64
    }

    /// Every frame that has not left.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Frame> {
        self.classes.iter().flat_map(|class| class.frames.since(class.frames.head()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Parts;

    #[test]
    fn classes_are_kept_highest_first() {
        let mut turns = Turns::new(0, 0b1000_1001, BitRate::gbps(10));
        let numbers: Vec<u8> = turns.classes.iter().map(|class| class.number).collect();
        assert_eq!(numbers, [7, 3, 0]);
        turns.push(Frame::new(Parts { class: 3, size: 100, ..Parts::default() }));
        assert_eq!((turns.class(3).octets, turns.class(7).octets), (100, 0));
    }

    #[test]
    fn a_quantum_is_512_bit_times_of_the_link() {
        // 512 bit at 10 Gb/s take 51.2 ns; 1875 of them 96 us; 65535 of them 3.355392 ms.
        let turns = Turns::new(0, 1, BitRate::gbps(10));
        assert_eq!(turns.quanta_ps(1), 51_200);
        assert_eq!(turns.quanta_ps(1875), 96_000_000);
        assert_eq!(turns.quanta_ps(65_535), 3_355_392_000);
    }
}
