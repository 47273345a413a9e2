//! An output port: which flows are congesting, whom it tells, and for whom a frame waits.

use super::QczCpParams;
use crate::dice::Dice;
use crate::facts::FlowId;
use crate::isolation::{IsolatedFrame, IsolationPoint, IsolationQueue, IsolationQueues};
use qcnlab_units::{Bytes, Instant};
use std::collections::HashMap;

/// An output port of a switch.
#[derive(Clone, Debug)]
pub struct QczPort {
    params: QczCpParams,
    /// The flows that it isolates (the CI stream table).
    pub(super) streams: HashMap<FlowId, CongestingFlow>,
    /// Frames of each flow in the monitored queue, of flows that have some.
    pub(super) monitored: HashMap<FlowId, u32>,
    /// Frames in the congesting queue.
    congesting: u32,
    /// Since when the congesting queue is empty, if it is.
    empty_since: Instant,
}

/// A flow that is isolated.
#[derive(Clone, Copy, Debug)]
pub(super) struct CongestingFlow {
    created: Instant,
    /// Whether the port found it congesting itself.
    pub(super) local: bool,
    /// Whether a neighbour told of it.
    pub(super) by_message: bool,
    /// How often the port told a neighbour of it.
    pub(super) told: u32,
    /// When it may do so again.
    tell_from: Instant,
}

impl QczPort {
    pub(super) fn new(params: QczCpParams) -> QczPort {
        QczPort {
            params,
            streams: HashMap::new(),
            monitored: HashMap::new(),
            congesting: 0,
            empty_since: Instant::ZERO,
        }
    }

    /// Whether a flow is isolated no longer: the congesting queue has been empty for long enough.
    fn is_over(&self, now: Instant, stream: &CongestingFlow) -> bool {
        let life = if stream.by_message { self.params.max_flow_life } else { self.params.local_flow_life };
        self.congesting == 0 && now >= self.empty_since.max(stream.created) + life
    }

    /// Forgets all flows that are isolated no longer.
    fn forget(&mut self, now: Instant) {
        let mut streams = std::mem::take(&mut self.streams);
        streams.retain(|_, stream| !self.is_over(now, stream));
        self.streams = streams;
    }

    /// Whether a queue of `len` octets makes a flow a congesting one.
    fn finds(&self, len: Bytes, dice: &mut Dice) -> bool {
        let p = self.params.probability;
        len > self.params.threshold && (p >= 1.0 || dice.uniform(0.0, 1.0) < p)
    }

    /// Isolates a flow, if there is room for one more.
    fn isolate(&mut self, now: Instant, flow: FlowId) -> Option<&mut CongestingFlow> {
        let is_full = |port: &QczPort| port.streams.len() as u64 >= u64::from(port.params.max_streams);
        if is_full(self) && !self.streams.contains_key(&flow) {
            self.forget(now);
            if is_full(self) {
                return None;
            }
        }
        let new = CongestingFlow { created: now, local: false, by_message: false, told: 0, tell_from: now };
        Some(self.streams.entry(flow).or_insert(new))
    }

    /// Notes that a neighbour is told of a flow that the port found; returns whether it is.
    fn tell(&mut self, now: Instant, flow: FlowId) -> bool {
        let QczCpParams { max_cim_tx, cim_interval, .. } = self.params;
        let Some(stream) = self.streams.get_mut(&flow) else { return false };
        let tells = stream.local && stream.told < max_cim_tx && now >= stream.tell_from;
        if tells {
            stream.told += 1;
            stream.tell_from = now + cim_interval;
        }
        tells
    }
}

impl IsolationPoint for QczPort {
    fn congesting_class(&self, monitored: u8) -> u8 {
        self.params.congesting_priority.map_or_else(|| monitored.checked_sub(1).unwrap_or(1), |class| class as u8)
    }

    fn message_size(&self) -> Bytes {
        self.params.cim_size
    }

    fn queue_for(&mut self, now: Instant, flow: FlowId) -> IsolationQueue {
        match self.streams.get(&flow) {
            Some(stream) if self.is_over(now, stream) => {
                self.streams.remove(&flow);
                IsolationQueue::Monitored
            }
            Some(_) => IsolationQueue::Congesting,
            None => IsolationQueue::Monitored,
        }
    }

    fn on_enqueue(&mut self, now: Instant, frame: &IsolatedFrame, queues: IsolationQueues, dice: &mut Dice) -> bool {
        let congests = match frame.queue {
            IsolationQueue::Monitored => {
                *self.monitored.entry(frame.flow).or_default() += 1;
                self.finds(queues.monitored, dice)
            }
            IsolationQueue::Congesting => {
                if self.congesting == 0 {
                    self.forget(now);
                }
                self.congesting += 1;
                self.finds(queues.congesting, dice)
            }
        };
        if congests && let Some(stream) = self.isolate(now, frame.flow) {
            stream.local = true;
        }
        frame.from_monitored && self.tell(now, frame.flow)
    }

    fn on_dequeue(&mut self, now: Instant, flow: FlowId, queue: IsolationQueue) {
        match queue {
            IsolationQueue::Monitored => {
                if let Some(frames) = self.monitored.get_mut(&flow) {
                    *frames -= 1;
                    if *frames == 0 {
                        self.monitored.remove(&flow);
                    }
                }
            }
            IsolationQueue::Congesting => {
                self.congesting -= 1;
                if self.congesting == 0 {
                    self.empty_since = now;
                }
            }
        }
    }

    fn may_leave(&self, flow: FlowId) -> bool {
        !self.monitored.contains_key(&flow)
    }

    fn on_message(&mut self, now: Instant, flow: FlowId) {
        // One that is over begins anew.
        self.queue_for(now, flow);
        if let Some(stream) = self.isolate(now, flow) {
            stream.by_message = true;
        }
    }
}
