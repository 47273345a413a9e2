//! How frames leave an adapter: from the limiter that may send next to the port, and from there to the link.

use super::Adapter;
use crate::spacing::Spaced;
use crate::switch::Due;
use qcnlab_capture::Direction;
use qcnlab_units::Instant;

impl Adapter {
    /// Releases and transmits what can go by `until`, which lies at `now` or before.
    pub(super) fn transmit(&mut self, until: u64, now: u64) {
        loop {
            let counters = &mut self.records.counters;
            self.port.advance(until, |_| counters.frame_hops += 1);
            if self.port.is_busy() {
                return;
            }
            let Some((position, at)) = self.next_release().filter(|(_, at)| *at <= until) else { return };
            self.release(position, at.max(now.saturating_sub(self.most_catch_up)));
        }
    }

    /// Which limiter releases next, and when: the first that may; of equals that of the highest class, then in turn.
    pub(super) fn next_release(&self) -> Option<(usize, u64)> {
        let free = self.port.free_at();
        let count = self.limiters.len();
        let mut best: Option<(usize, u64)> = None;
        for offset in 0..count {
            let position = (self.next_turn + offset) % count;
            let limiter = &self.limiters[position];
            let Some(first) = limiter.waiting.front() else { continue };
            let next = limiter.next();
            if next == Instant::NEVER {
                continue;
            }
            let at = next.ps().max(first.arrived).max(free).max(self.port.paused_until(limiter.class));
            let better = best.is_none_or(|(other, earliest)| {
                at < earliest || (at == earliest && limiter.class > self.limiters[other].class)
            });
            if better {
                best = Some((position, at));
            }
        }
        best
    }

    fn release(&mut self, position: usize, at: u64) {
        self.next_turn = position + 1;
        let limiter = &mut self.limiters[position];
        let Some(mut frame) = limiter.waiting.pop_front() else { return };
        let size = frame.len();
        limiter.octets -= size;
        frame.spaced = Some(Spaced { limiter: position as u16, after: limiter.on_sent(at, size) });
        if let Some(flow) = frame.flow {
            self.waiting_of[flow] -= 1;
            let count = &mut self.records.flows[flow];
            count.sent += 1;
            count.sent_octets += size;
        }
        // The port is free, so that there is room.
        let _ = self.port.enqueue(at, frame);
    }

    /// Takes a frame that has to be put on the link by `now`.
    pub(crate) fn take_due(&mut self, now: u64) -> Option<Due> {
        let (at, frame) = self.port.take_arrived(now)?;
        // When its last octet left the port.
        let left = at.saturating_sub(self.layout.ways[self.uplink].shape.delay);
        self.records.capture(left, self.uplink, Direction::Sent, &frame.octets, self.capture);
        Some(Due { way: self.uplink, at, octets: frame.octets, spaced: frame.spaced })
    }

    /// A frame of a limiter was put on the link at `now`.
    pub(crate) fn left(&mut self, now: u64, spaced: Spaced) {
        let Some(limiter) = self.limiters.get_mut(usize::from(spaced.limiter)) else { return };
        if spaced.after > 0 && limiter.left > 0 {
            self.records.spacing.count(now.saturating_sub(limiter.left), spaced.after);
        }
        limiter.left = now;
    }
}
