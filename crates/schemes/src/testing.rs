//! What tests of several schemes need.

mod fabric;

pub(crate) use fabric::Fabric;

use crate::dice::{Dice, Purpose};
use crate::roles::{Arrival, Delivered, Flight, FlowId, Queue};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

pub(crate) const LINE: BitRate = BitRate::gbps(10);
pub(crate) const FRAME: Bytes = Bytes::new(1500);

pub(crate) fn dice() -> Dice {
    Dice::new(1, 0, "test", Purpose::Reaction)
}

pub(crate) fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

pub(crate) fn ms(n: u64) -> Instant {
    us(1000 * n)
}

/// A frame of 1500 octets that a queue took.
pub(crate) fn frame() -> Arrival {
    Arrival {
        flow: FlowId(0),
        size: FRAME,
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: false,
        mark: 0,
    }
}

/// A queue of 150 KB at 10 Gb/s with `len` octets in it.
pub(crate) fn queue(len: u64) -> Queue {
    Queue { len: Bytes::new(len), capacity: Bytes::new(150_000), rate: LINE }
}

/// The same frame at its destination.
pub(crate) fn delivered(mark: u8) -> Delivered {
    Delivered { size: FRAME, mark, controlled: true, sent_at: Instant::NEVER }
}

/// Flows of equal round trip over one link of 100 Gb/s with 8 us of round trip, 16 steps to each. A window reaches the link
/// after a round trip, and what then exceeds the 100 000 octets of the link queues.
pub(crate) struct Windows {
    /// The sums of windows that have not reached the link yet, the oldest first.
    on_their_way: std::collections::VecDeque<f64>,
    /// Octets queued.
    pub(crate) queue: f64,
    /// Octets the link has sent.
    pub(crate) sent: f64,
    step: u64,
}

impl Windows {
    const STEPS: u64 = 16;

    pub(crate) fn new() -> Windows {
        Windows { on_their_way: std::collections::VecDeque::new(), queue: 0.0, sent: 0.0, step: 0 }
    }

    /// Lets a sixteenth of a round trip pass, with these windows together; returns the time and where each stream stands.
    pub(crate) fn pass(&mut self, sum: f64) -> (Instant, Flight) {
        self.on_their_way.push_back(sum);
        let steps = Self::STEPS;
        let there = if self.on_their_way.len() as u64 > steps { self.on_their_way.pop_front() } else { Some(sum) };
        let there = there.unwrap_or(sum);
        self.queue = (there - 100_000.0).max(0.0);
        self.sent += there.min(100_000.0) / steps as f64;
        self.step += 1;
        let octets = |step: u64| Bytes::new(100 * step);
        let flight = Flight {
            acknowledged: octets(self.step),
            sent: octets(self.step + steps),
            in_flight: octets(steps),
            early: Bytes::ZERO,
        };
        (Instant::ZERO + Span::from_ns(500 * self.step), flight)
    }
}
