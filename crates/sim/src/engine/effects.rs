//! What a part answers that others are to be told.

use crate::frame::Frame;
use crate::ids::{FlowId, PathId, PortId};
use qcnlab_schemes::driver::EndedPause;
use qcnlab_units::{Bytes, Instant};

/// One of the effects of a call that has several.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// There is one more of these.
    Count(Counted),
    /// A frame is lost at a port; if it was data, it is counted by this cause.
    Lost { port: PortId, frame: Frame, because: Option<Counted> },
    /// A pause of a port is over, or that of one of its classes.
    PauseEnds { port: PortId, class: Option<u8>, ended: EndedPause<PortId> },
}

/// What is only counted, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// An acknowledgement that a receiver sent.
    AckSent,
    /// An acknowledgement that reached its sender.
    AckHeard,
    /// An acknowledgement that was lost.
    AckLost,
    /// A message that reached a reaction point.
    MessageHeard,
    /// A message whose host has no reaction points.
    MessageIgnored,
    /// A message that was lost.
    MessageLost,
    /// A probe that a reaction point sent.
    ProbeSent,
    /// A probe that was answered, heard or lost.
    ProbeEnded,
    /// A reaction point that took silence for bandwidth.
    Alarm,
    /// An alarm although a congestion point had no bandwidth.
    FalseAlarm,
    /// A data frame lost because its link was down.
    LinkDrop,
    /// A data frame that a watchdog dropped.
    WatchdogDrop,
    /// A storm of pauses that a watchdog noticed.
    StormDetected,
    /// A storm that it took for over.
    StormEnded,
    /// A packet that was cut to its head.
    PacketTrimmed,
    /// A head that was received or lost.
    HeadEnded,
}

/// A frame finds no room in the queue of its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal {
    pub(super) at: Instant,
    pub(super) port: PortId,
    pub(super) flow: FlowId,
    pub(super) octets: u64,
}

/// An acknowledgement that starts at the end of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewAck {
    pub(super) path: PathId,
    /// The number acknowledged of a connection; of a queue pair the number of the packet that is answered.
    pub(super) tag: u32,
    pub(super) size: u16,
    pub(super) class: u8,
}

/// What a receiver does about what has reached it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// The acknowledgement that it sends.
    pub(super) ack: Option<NewAck>,
    /// Whether nothing is missing any more since then.
    pub(super) completes: bool,
}

/// Totals that the network's own parts count.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkTotals {
    pub(super) pause_frames: u64,
    pub(super) storm_frames: u64,
    pub(super) isolation_messages_sent: u64,
    pub(super) isolation_messages_heard: u64,
    pub(super) isolation_messages_lost: u64,
    pub(super) frame_hops: u64,
}

/// Paused links that wait for each other.
#[derive(Clone, Debug)]
pub(super) struct Circle {
    /// The paused ports, each waiting for the next, the last for the first.
    pub(super) ports: Vec<String>,
    /// When the last of them was paused.
    pub(super) closed: Instant,
}

/// What a receiver knows of a packet that has reached it, and of its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketFacts {
    /// Whether nothing of the message is missing any more.
    pub(super) whole: bool,
    pub(super) total: Option<Bytes>,
    pub(super) payload: Bytes,
}
