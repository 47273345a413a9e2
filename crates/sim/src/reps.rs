//! REPS, recycled entropies: a packet takes the way of one that was acknowledged without a mark.
//!
//! ```text
//!   acknowledged, no mark      its way enters the ring of eight, over the oldest if all are fresh
//!   a packet leaves            it takes the oldest fresh way of the ring, which is used once; a drawn one if there is none
//!   the timer runs out         frozen for `freeze`: the ring's ways in turn, used or not, and none is drawn
//!   the first news after that  the ring is empty, and the next `explore` packets take drawn ways
//! ```
//!
//! On a real network an entropy value is a field of the header, such as a UDP source port, of which switches make their
//! choice. Here the value is the number of one of the flow's ways. It is drawn evenly.

use qcnlab_units::{Instant, Span};

/// Ways that the ring holds.
const SLOTS: usize = 8;

/// When recycling stops and begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepsPlan {
    /// How long the ring is frozen after a timeout.
    pub freeze: Span,
    /// Packets that take drawn ways after that.
    pub explore: u32,
}

/// The ring of one flow.
#[derive(Clone, Debug)]
pub(crate) struct RecycledEntropies {
    plan: RepsPlan,
    ring: [u32; SLOTS],
    /// The slot that the next way takes.
    head: usize,
    /// Slots that hold a way.
    filled: usize,
    /// Those of them whose way has not been used again.
    fresh: usize,
    /// Packets that still take drawn ways.
    exploring: u32,
    frozen: Option<Frozen>,
}

/// A ring that is frozen.
#[derive(Clone, Copy, Debug)]
struct Frozen {
    until: Instant,
    /// The slot whose way is next.
    next: usize,
}

impl RecycledEntropies {
    pub(crate) const fn new(plan: RepsPlan) -> RecycledEntropies {
        RecycledEntropies { plan, ring: [0; SLOTS], head: 0, filled: 0, fresh: 0, exploring: 0, frozen: None }
    }

    /// The way that the next packet takes; `None` for one drawn at random.
    pub(crate) fn next_way(&mut self) -> Option<u32> {
        if self.exploring > 0 {
            self.exploring -= 1;
            return None;
        }
        if let Some(frozen) = &mut self.frozen
            && self.filled > 0
        {
            let slot = frozen.next % self.filled;
            frozen.next = slot + 1;
            return Some(self.ring[slot]);
        }
        let oldest = (self.head + SLOTS - self.fresh) % SLOTS;
        self.fresh = self.fresh.checked_sub(1)?;
        Some(self.ring[oldest])
    }

    /// A packet that took this way is acknowledged.
    pub(crate) fn acknowledged(&mut self, now: Instant, way: u32, marked: bool) {
        self.thaw(now);
        if marked {
            return;
        }
        self.ring[self.head] = way;
        self.head = (self.head + 1) % SLOTS;
        self.filled = (self.filled + 1).min(SLOTS);
        self.fresh = (self.fresh + 1).min(SLOTS);
    }

    /// The retransmission timer ran out.
    pub(crate) fn timed_out(&mut self, now: Instant) {
        if !self.thaw(now) && self.frozen.is_none() && self.exploring == 0 {
            let next = self.head % self.filled.max(1);
            self.frozen = Some(Frozen { until: now + self.plan.freeze, next });
        }
    }

    /// Begins anew if the time of freezing is over; returns whether it does.
    fn thaw(&mut self, now: Instant) -> bool {
        let over = self.frozen.is_some_and(|frozen| now > frozen.until);
        if over {
            *self = RecycledEntropies { exploring: self.plan.explore, ..RecycledEntropies::new(self.plan) };
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    fn ring() -> RecycledEntropies {
        RecycledEntropies::new(RepsPlan { freeze: Span::from_us(100), explore: 3 })
    }

    fn next(ring: &mut RecycledEntropies, packets: usize) -> Vec<Option<u32>> {
        (0..packets).map(|_| ring.next_way()).collect()
    }

    /// Nothing is acknowledged yet: the first packets explore. Then ways come again in the order of their
    /// acknowledgements, each once.
    #[test]
    fn ways_come_again_in_order_and_once() {
        let mut ring = ring();
        assert_eq!(next(&mut ring, 5), [None; 5]);
        for way in [4, 2, 4] {
            ring.acknowledged(us(1), way, false);
        }
        assert_eq!(next(&mut ring, 4), [Some(4), Some(2), Some(4), None]);
        ring.acknowledged(us(2), 6, false);
        assert_eq!(next(&mut ring, 2), [Some(6), None]);
    }

    #[test]
    fn a_marked_way_does_not_come_again() {
        let mut ring = ring();
        for (way, marked) in [(1, false), (2, true), (3, false)] {
            ring.acknowledged(us(1), way, marked);
        }
        assert_eq!(next(&mut ring, 3), [Some(1), Some(3), None]);
    }

    /// Of eleven ways the last eight are there: 3 to 10. Two of them are used and two come: 5 to 12.
    #[test]
    fn the_ring_holds_eight() {
        let mut ring = ring();
        (0..11).for_each(|way| ring.acknowledged(us(1), way, false));
        assert_eq!(next(&mut ring, 2), [Some(3), Some(4)]);
        (11..13).for_each(|way| ring.acknowledged(us(1), way, false));
        let expected: Vec<Option<u32>> = (5..13).map(Some).chain([None]).collect();
        assert_eq!(next(&mut ring, 9), expected);
    }

    /// Frozen at 10 us until 110 us: what the ring holds goes round, the oldest first, used or not. An acknowledgement
    /// adds to it. The first news after 110 us empties it, and what that news tells is the first to come again after
    /// three packets.
    #[test]
    fn a_timeout_freezes_the_ring() {
        let mut ring = ring();
        for way in [7, 8, 9] {
            ring.acknowledged(us(1), way, false);
        }
        assert_eq!(next(&mut ring, 1), [Some(7)]);
        ring.timed_out(us(10));
        assert_eq!(next(&mut ring, 4), [Some(7), Some(8), Some(9), Some(7)]);
        ring.acknowledged(us(20), 5, false);
        ring.timed_out(us(30));
        assert_eq!(next(&mut ring, 4), [Some(8), Some(9), Some(5), Some(7)]);
        ring.acknowledged(us(110), 8, true);
        assert_eq!(next(&mut ring, 1), [Some(8)], "until 110 us, that included");
        ring.acknowledged(us(111), 6, false);
        assert_eq!(next(&mut ring, 5), [None, None, None, Some(6), None]);
    }

    /// Frozen with 7, 8 and 9; before a packet leaves, 5 is acknowledged. The oldest still goes first and the newest last.
    #[test]
    fn what_comes_while_frozen_comes_last() {
        let mut ring = ring();
        for way in [7, 8, 9] {
            ring.acknowledged(us(1), way, false);
        }
        ring.timed_out(us(10));
        ring.acknowledged(us(11), 5, false);
        assert_eq!(next(&mut ring, 5), [7, 8, 9, 5, 7].map(Some));
    }

    /// A timeout while packets still explore says nothing about the ring; one after the time of freezing ends it.
    #[test]
    fn a_timeout_does_not_freeze_what_explores() {
        let mut ring = ring();
        ring.acknowledged(us(1), 7, false);
        ring.timed_out(us(10));
        ring.timed_out(us(111));
        ring.timed_out(us(112));
        ring.acknowledged(us(113), 3, false);
        assert_eq!(next(&mut ring, 5), [None, None, None, Some(3), None]);
        ring.timed_out(us(200));
        assert_eq!(next(&mut ring, 2), [Some(3), Some(3)]);
    }

    /// Full and then frozen, the oldest is the one that the next acknowledgement replaces.
    #[test]
    fn a_full_ring_freezes_from_its_oldest_on() {
        let mut ring = ring();
        (0..10).for_each(|way| ring.acknowledged(us(1), way, false));
        ring.timed_out(us(10));
        let expected: Vec<Option<u32>> = (2..10).chain([2]).map(Some).collect();
        assert_eq!(next(&mut ring, 9), expected);
        let mut empty = self::ring();
        empty.timed_out(us(10));
        assert_eq!(next(&mut empty, 2), [None, None], "nothing was ever acknowledged");
    }
}
