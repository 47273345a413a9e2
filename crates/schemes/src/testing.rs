//! What tests of several schemes need.

mod fabric;

pub(crate) use fabric::Fabric;

use crate::dice::{Dice, Purpose};
use crate::roles::{Arrival, Delivered, FlowId, Queue};
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
