//! What is due when: ends of flows before completions, these before starts, each in the order of numbers.

use super::HeardAt;
use qcnlab_units::Instant;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// What happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The last octets of the flow in a slot have left, unless its rate has changed since this was foreseen.
    End { slot: u32, changes: u32 },
    /// A flow that others wait for is complete at one of its ends.
    Complete { flow: u32, at: HeardAt },
    /// A flow starts.
    Start { flow: u32 },
}

impl Event {
    /// The order within an instant.
    fn rank(self) -> (u64, u32) {
        let of_kind = |kind: u64, number: u32| kind << 32 | u64::from(number);
        match self {
            Event::End { slot, changes } => (of_kind(0, slot), changes),
            Event::Complete { flow, at: HeardAt::Receiver } => (of_kind(1, flow), 0),
            Event::Complete { flow, at: HeardAt::Sender } => (of_kind(1, flow), 1),
            Event::Start { flow } => (of_kind(2, flow), 0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at: Instant,
    event: Event,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        match self.at.ps().cmp(&other.at.ps()) {
            Ordering::Equal => self.event.rank().cmp(&other.event.rank()),
            earlier => earlier,
        }
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Events by time. Starts that are known from the beginning are sorted once.
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Due>>,
    /// The last is due first.
    starts: Vec<(Instant, u32)>,
}

impl Queue {
    pub(super) fn new(mut starts: Vec<(Instant, u32)>) -> Queue {
        starts.sort_unstable_by(|a, b| b.cmp(a));
        Queue { heap: BinaryHeap::new(), starts }
    }

    pub(super) fn push(&mut self, at: Instant, event: Event) {
        self.heap.push(Reverse(Due { at, event }));
    }

    /// When the next event is due.
    pub(super) fn next(&self) -> Option<Instant> {
        let (first, start) = (self.heap.peek().map(|Reverse(due)| due.at), self.starts.last().map(|(at, _)| *at));
        match (first, start) {
            (Some(first), Some(start)) => Some(first.min(start)),
            (first, start) => first.or(start),
        }
    }

    /// Takes an event that is due at `now`.
    pub(super) fn due(&mut self, now: Instant) -> Option<Event> {
        if self.heap.peek().is_some_and(|Reverse(due)| due.at == now) {
            return self.heap.pop().map(|Reverse(due)| due.event);
        }
        let start = self.starts.pop_if(|(at, _)| *at == now);
        start.map(|(_, flow)| Event::Start { flow })
    }
}
