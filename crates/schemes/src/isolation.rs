//! Congestion isolation: the role of an output port that has a second queue for congesting flows.
//!
//! Such a port has a monitored queue, and a congesting queue behind it that is another traffic class, so that PFC stops the two
//! by themselves. An [`IsolationPoint`] says in which of them a frame waits, which flows are congesting, and when the
//! neighbour that a frame came from is told of its flow. The driver owns the queues, sends the monitored one first where
//! classes are strict, and carries the message to the neighbour over the link, the other way.

use crate::dice::Dice;
use crate::facts::FlowId;
use qcnlab_units::{Bytes, Instant};
use std::fmt;

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationQueue {
    /// That of flows which are not known as congesting.
    Monitored,
    /// That of flows which are.
    Congesting,
}

/// A frame under control that one of the two queues took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsolatedFrame {
    /// Its flow.
    pub flow: FlowId,
    /// The queue that took it.
    pub queue: IsolationQueue,
    /// Whether it came from a neighbour that isolates flows, too, and had it in its monitored queue.
    pub from_monitored: bool,
}

/// Octets in the two queues, the arriving frame included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsolationQueues {
    /// In the monitored queue.
    pub monitored: Bytes,
    /// In the congesting queue.
    pub congesting: Bytes,
}

/// What a switch computes for an output port that isolates congesting flows.
pub trait IsolationPoint: fmt::Debug + Send {
    /// Returns the traffic class of the congesting queue, 0 to 7, where `monitored` is that of the monitored queue. The same
    /// all through a run.
    fn congesting_class(&self, monitored: u8) -> u8;

    /// Returns the octets of a message to a neighbour. The same all through a run.
    fn message_size(&self) -> Bytes;

    /// Returns the queue that a frame of `flow` joins, which has arrived.
    fn queue_for(&mut self, now: Instant, flow: FlowId) -> IsolationQueue;

    /// A queue took a frame. Returns whether the neighbour that it came from is told of its flow.
    #[must_use]
    fn on_enqueue(&mut self, now: Instant, frame: &IsolatedFrame, queues: IsolationQueues, dice: &mut Dice) -> bool;

    /// A frame of `flow` leaves `queue`: its transmission begins.
    fn on_dequeue(&mut self, now: Instant, flow: FlowId, queue: IsolationQueue);

    /// Returns whether the frame of `flow` that is the oldest of the congesting queue may leave; it waits for earlier frames of
    /// its flow, so that their order is kept.
    fn may_leave(&self, flow: FlowId) -> bool;

    /// A neighbour downstream, to which the port's link leads, tells of a congesting flow.
    fn on_message(&mut self, now: Instant, flow: FlowId);
}
