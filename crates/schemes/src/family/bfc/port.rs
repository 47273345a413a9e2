//! An output port: which queue a flow joins, and which queues upstream stop.

use super::BfcCpParams;
use crate::backpressure::{BackpressurePoint, Held, QueuedFrame, QueuesNow, Upstream};
use crate::dice::{Dice, mix};
use crate::facts::FlowId;
use qcnlab_units::{Bytes, Instant, Span};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// An output port of a switch.
#[derive(Clone, Debug)]
pub struct BfcPort {
    params: BfcCpParams,
    /// Hashes that flows can have.
    hashes: u64,
    pub(super) queues: Vec<Assigned>,
    pub(super) flows: HashMap<u32, Entry>,
    /// Flows without frames, by when they lose their queue.
    idle: BinaryHeap<Reverse<(Instant, u32)>>,
    /// For each queue upstream that is stopped, the tagged frames that wait.
    tags: HashMap<Upstream, u32>,
}

/// A queue of the port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Assigned {
    /// Flows that have it.
    pub(super) flows: u32,
    /// Whether it is stopped from downstream.
    paused: bool,
}

/// A flow that has a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    queue: u16,
    /// Frames of it that wait.
    pub(super) frames: u32,
    /// When it loses its queue, if it has no frames.
    until: Instant,
}

impl BfcPort {
    pub(super) fn new(params: BfcCpParams, ports: u32) -> BfcPort {
        BfcPort {
            hashes: u64::from(params.table) * u64::from(params.queues) * u64::from(ports.max(1)),
            queues: (0..params.queues).map(|_| Assigned::default()).collect(),
            params,
            flows: HashMap::new(),
            idle: BinaryHeap::new(),
            tags: HashMap::new(),
        }
    }

    fn hash(&self, flow: FlowId) -> u32 {
        (mix(u64::from(flow.0)) % self.hashes) as u32
    }

    fn hop_rtt(&self, frame: &QueuedFrame) -> Span {
        self.params.hop_rtt.unwrap_or(frame.hop_rtt)
    }

    /// Takes their queues from the flows that have had no frames for long enough.
    fn expire(&mut self, now: Instant) {
        while let Some(Reverse((until, hash))) = self.idle.peek().copied().filter(|Reverse((until, _))| *until < now) {
            self.idle.pop();
            if let Some(entry) = self.flows.get(&hash).filter(|entry| entry.frames == 0 && entry.until == until) {
                self.queues[usize::from(entry.queue)].flows -= 1;
                self.flows.remove(&hash);
            }
        }
    }

    /// The first queue that no flow has and that may send, or else any, drawn.
    fn new_queue(&self, dice: &mut Dice) -> u16 {
        let unused = self.queues.iter().position(|queue| queue.flows == 0 && !queue.paused);
        unused.map_or_else(|| dice.below(self.params.queues) as u16, |queue| queue as u16)
    }

    /// Octets above which a frame's queue is long; one at least.
    fn threshold(&self, frame: &QueuedFrame, queues: QueuesNow) -> Bytes {
        let hop_bdp = queues.rate.bytes_in_rounded_down(self.hop_rtt(frame)).as_f64();
        Bytes::new(((self.params.threshold * hop_bdp / f64::from(queues.active.max(1))) as u64).max(1))
    }
}

impl BackpressurePoint for BfcPort {
    fn queues(&self) -> u16 {
        self.params.queues as u16
    }

    fn quantum(&self) -> Bytes {
        self.params.quantum
    }

    fn queue_for(&mut self, now: Instant, flow: FlowId, dice: &mut Dice) -> u16 {
        self.expire(now);
        let hash = self.hash(flow);
        if let Some(entry) = self.flows.get(&hash) {
            return entry.queue;
        }
        let queue = self.new_queue(dice);
        self.queues[usize::from(queue)].flows += 1;
        self.flows.insert(hash, Entry { queue, frames: 0, until: Instant::NEVER });
        queue
    }

    fn on_enqueue(&mut self, frame: &QueuedFrame, queues: QueuesNow) -> Held {
        let hash = self.hash(frame.flow);
        if let Some(entry) = self.flows.get_mut(&hash) {
            entry.frames += 1;
        }
        let Some(upstream) = frame.upstream.filter(|_| queues.len > self.threshold(frame, queues)) else {
            return Held::default();
        };
        let tags = self.tags.entry(upstream).or_default();
        *tags += 1;
        Held { tagged: true, stops: *tags == 1 }
    }

    fn on_dequeue(&mut self, now: Instant, frame: &QueuedFrame, tagged: bool) -> bool {
        let hash = self.hash(frame.flow);
        let until = now + self.hop_rtt(frame).scaled_rounded_down(self.params.sticky);
        if let Some(entry) = self.flows.get_mut(&hash) {
            entry.frames -= 1;
            if entry.frames == 0 {
                entry.until = until;
                self.idle.push(Reverse((until, hash)));
            }
        }
        let Some(upstream) = frame.upstream.filter(|_| tagged) else { return false };
        let Some(tags) = self.tags.get_mut(&upstream) else { return false };
        *tags -= 1;
        let last = *tags == 0;
        if last {
            self.tags.remove(&upstream);
        }
        last
    }

    fn stopped(&self) -> Vec<Upstream> {
        let mut stopped: Vec<Upstream> = self.tags.keys().copied().collect();
        stopped.sort_unstable();
        stopped
    }

    fn on_queue_pause(&mut self, queue: u16, paused: bool) {
        self.queues[usize::from(queue)].paused = paused;
    }
}
