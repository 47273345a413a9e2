//! The receiving end: which segment is missing first, and when to say so.

use super::Config;
use crate::arrived::Arrived;
use qcnlab_units::{Instant, Span};

/// Acknowledges segments, each or every second one.
///
/// RFC 5681, 4.2: with a delay, the second segment of a pair is acknowledged, or the first once the delay is
/// over; a segment out of order, a repeated one, and one that fills a hole wholly or in part are acknowledged
/// at once. The last segment counts as a full one.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpReceiver {
    delay: Span,
    arrived: Arrived,
    /// When an acknowledgement held back must go; [`Instant::NEVER`] when there is none.
    held: Instant,
}

impl TcpReceiver {
    /// Nothing has arrived. Uses `delayed_ack` alone.
    pub fn new(config: &Config) -> TcpReceiver {
        TcpReceiver { delay: config.delayed_ack, arrived: Arrived::default(), held: Instant::NEVER }
    }

    /// A segment arrives. What to acknowledge now: the next segment expected; `None` to say nothing yet.
    ///
    /// Numbers end below `u32::MAX`.
    #[must_use]
    pub fn on_segment(&mut self, now: Instant, number: u32) -> Option<u32> {
        let (in_order, hole) = (number == self.arrived.expected(), self.arrived.has_hole());
        self.arrived.insert(number);
        if !in_order {
            return Some(self.acknowledgement());
        }
        if hole || self.delay == Span::ZERO || self.held != Instant::NEVER {
            return Some(self.acknowledgement());
        }
        self.held = now + self.delay;
        None
    }

    /// When to be woken; [`Instant::NEVER`] if no acknowledgement is held back.
    #[inline]
    pub const fn next_wake(&self) -> Instant {
        self.held
    }

    /// The time asked for has come, or not: what to acknowledge now.
    #[must_use]
    pub fn on_wake(&mut self, now: Instant) -> Option<u32> {
        (self.held != Instant::NEVER && now >= self.held).then(|| self.acknowledgement())
    }

    /// The first segment that is missing: as many are delivered in order.
    #[inline]
    pub const fn next_expected(&self) -> u32 {
        self.arrived.expected()
    }

    fn acknowledgement(&mut self) -> u32 {
        self.held = Instant::NEVER;
        self.arrived.expected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::tests::config;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_ms(n)
    }

    fn delayed() -> TcpReceiver {
        TcpReceiver::new(&Config { delayed_ack: Span::from_ms(200), ..config() })
    }

    #[test]
    fn each_segment_is_acknowledged_without_a_delay() {
        let mut receiver = TcpReceiver::new(&config());
        assert_eq!(receiver.on_segment(ms(0), 0), Some(1));
        assert_eq!(receiver.on_segment(ms(0), 2), Some(1));
        assert_eq!(receiver.on_segment(ms(0), 4), Some(1));
        assert_eq!(receiver.on_segment(ms(0), 1), Some(3));
        assert_eq!(receiver.on_segment(ms(0), 3), Some(5));
        assert_eq!(receiver.on_segment(ms(0), 3), Some(5));
        assert_eq!(receiver.next_wake(), Instant::NEVER);
    }

    #[test]
    fn every_second_segment_is_acknowledged_with_a_delay() {
        let mut receiver = delayed();
        assert_eq!(receiver.on_segment(ms(10), 0), None);
        assert_eq!(receiver.next_wake(), ms(210));
        assert_eq!(receiver.on_segment(ms(20), 1), Some(2));
        assert_eq!(receiver.next_wake(), Instant::NEVER);
        assert_eq!(receiver.on_wake(ms(210)), None);
        assert_eq!(receiver.on_segment(ms(300), 2), None);
        assert_eq!(receiver.on_wake(ms(499)), None);
        assert_eq!(receiver.on_wake(ms(500)), Some(3));
        assert_eq!(receiver.on_wake(ms(501)), None);
    }

    #[test]
    fn holes_are_reported_and_their_ends_too_at_once() {
        let mut receiver = delayed();
        assert_eq!(receiver.on_segment(ms(0), 0), None);
        // Out of order: at once, and the held one goes with it.
        assert_eq!(receiver.on_segment(ms(1), 2), Some(1));
        assert_eq!(receiver.next_wake(), Instant::NEVER);
        assert_eq!(receiver.on_segment(ms(2), 4), Some(1));
        // Fills a part of the gap, then the rest.
        assert_eq!(receiver.on_segment(ms(3), 1), Some(3));
        assert_eq!(receiver.on_segment(ms(4), 3), Some(5));
        // A repeated one: at once.
        assert_eq!(receiver.on_segment(ms(5), 0), Some(5));
        assert_eq!(receiver.on_segment(ms(6), 5), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn any_order_is_sorted(numbers in prop::collection::vec(0..60u32, 0..200)) {
            let mut receiver = TcpReceiver::new(&config());
            let mut here = BTreeSet::new();
            for number in numbers {
                here.insert(number);
                let expected = (0..).find(|n| !here.contains(n)).expect("there is always a next");
                prop_assert_eq!(receiver.on_segment(ms(0), number), Some(expected));
                let kept: Vec<u32> = receiver.arrived.beyond().iter().cloned().flatten().collect();
                prop_assert!(here.range(expected..).copied().eq(kept));
                prop_assert!(receiver.arrived.beyond().windows(2).all(|pair| pair[0].end < pair[1].start));
            }
        }
    }
}
