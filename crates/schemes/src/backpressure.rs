//! Backpressure by flow: the role of an output port that keeps flows in queues of their own, and stops queues one hop
//! upstream.
//!
//! Such a port has several queues for the frames under control, which take turns. A [`BackpressurePoint`] says in which of
//! them a frame waits, and when the queue that the frame came from has to stop or may send again. That queue is one of the
//! port before on the frame's path, or the flow itself where that is its host's. The driver owns the queues, carries the
//! number of a frame's queue with the frame over one link, and carries the message to stop over the same link, the other way.

use crate::dice::Dice;
use crate::facts::FlowId;
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::fmt;

/// A queue one hop upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Upstream {
    /// The link that leads from there, as the driver numbers links.
    pub link: u32,
    /// The queue's number at its port; at a host, the flow's.
    pub queue: u32,
}

/// A frame in a queue of such a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedFrame {
    /// Its flow.
    pub flow: FlowId,
    /// The queue that it waits in.
    pub queue: u16,
    /// Where it waited before; `None` where that cannot be stopped.
    pub upstream: Option<Upstream>,
    /// Twice the delay of the link that it came over: how long a message to stop takes to show.
    pub hop_rtt: Span,
}

/// The queues of such a port, the arriving frame included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuesNow {
    /// Octets that wait in the frame's queue.
    pub len: Bytes,
    /// How many queues have frames and are not stopped from downstream.
    pub active: u32,
    /// The rate of the port's link.
    pub rate: BitRate,
}

/// What is done about a frame that was queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Held {
    /// Whether the frame is tagged: as long as it waits, its upstream queue is to be stopped.
    pub tagged: bool,
    /// Whether that queue is sent a message to stop.
    pub stops: bool,
}

/// What a switch computes for an output port that keeps flows apart.
pub trait BackpressurePoint: fmt::Debug + Send {
    /// Returns how many queues the port has for frames under control. The same all through a run.
    fn queues(&self) -> u16;

    /// Returns the octets that each queue may send in its turn. The same all through a run.
    fn quantum(&self) -> Bytes;

    /// Returns the queue that a frame of `flow` joins, which has arrived and will be queued.
    fn queue_for(&mut self, now: Instant, flow: FlowId, dice: &mut Dice) -> u16;

    /// A frame was queued.
    fn on_enqueue(&mut self, frame: &QueuedFrame, queues: QueuesNow) -> Held;

    /// A frame leaves its queue, which it was tagged in or not. Returns whether its upstream queue is sent a message to go on.
    #[must_use]
    fn on_dequeue(&mut self, now: Instant, frame: &QueuedFrame, tagged: bool) -> bool;

    /// Returns the queues upstream that were sent a message to stop and none to go on since, in their order.
    fn stopped(&self) -> Vec<Upstream>;

    /// One of the port's queues is stopped from downstream, or may send again.
    fn on_queue_pause(&mut self, queue: u16, paused: bool);
}
