//! What machines are told of frames and queues, and what a source writes on its frames.

use qcnlab_units::{BitRate, Bytes, Instant};

/// Which congestion point a signal comes from (the CPID of 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpId(pub u32);

/// Which flow a frame belongs to. The driver numbers flows from 0, without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId(pub u32);

/// The queue of a congestion point.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Octets in the queue, the arriving frame included if it was admitted.
    pub len: Bytes,
    /// Octets the queue holds at most.
    pub capacity: Bytes,
    /// The rate its port is served at now.
    pub rate: BitRate,
}

/// A frame that arrives at a congestion point.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its flow.
    pub flow: FlowId,
    /// Its size.
    pub size: Bytes,
    /// Whether the queue took it; otherwise it was discarded.
    pub admitted: bool,
    /// Whether its priority is under congestion control (a CNPV of 802.1Q).
    pub controlled: bool,
    /// Whether it carries a CN-TAG.
    pub cn_tagged: bool,
    /// The congestion point whose limiter paced it, where frames say so (the rate-limited tag of BCN).
    pub limited_by: Option<CpId>,
    /// Whether its source asks with it for bandwidth (the special frame of SONAR).
    pub probe: bool,
    /// The largest mark that congestion points have written on it so far; 0 is none.
    pub mark: u8,
}

/// A frame that reaches its destination.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Its size.
    pub size: Bytes,
    /// The largest mark that congestion points wrote on it; 0 is none.
    pub mark: u8,
    /// Whether its priority is under congestion control.
    pub controlled: bool,
    /// When its source sent it, where a transport carries it; [`Instant::NEVER`] otherwise.
    pub sent_at: Instant,
}

/// Whom a probe asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Every congestion point on the way, and the destination.
    Path,
    /// This congestion point; where the probe does not meet it, the destination.
    Directed(CpId),
}

/// A small frame that a reaction point sends along its flow's path to learn something. It is not data:
/// no congestion point samples it, and the limiter does not count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whom it asks.
    pub kind: ProbeKind,
    /// When it was sent.
    pub asked_at: Instant,
    /// Octets of data its source had sent before it; where the count starts is the scheme's.
    pub sent: Bytes,
    /// A rate that congestion points may lower; it starts at the source's line rate.
    pub rate: BitRate,
}

/// What a reaction point writes on a frame that leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Stamp {
    /// The congestion point that holds its limiter, where the scheme tags frames.
    pub limited_by: Option<CpId>,
    /// Whether the frame asks for bandwidth (the special frame of SONAR).
    pub probe: bool,
}
