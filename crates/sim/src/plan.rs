//! What a run is made of: ports, flows, a schedule, a scheme.

use qcnlab_schemes::registry::Config;
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Everything an [`Engine`](crate::Engine) is built from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One entry for each direction of each link.
    pub ports: Vec<PortPlan>,
    /// Who sends what along which ports.
    pub flows: Vec<FlowPlan>,
    /// Changes of service rate, in order of time.
    pub services: Vec<ServiceChange>,
    /// How signals travel back.
    pub feedback: Feedback,
    /// The scheme at watched ports and at senders.
    pub scheme: Config,
    /// The run ends here; what is due at this instant does not happen.
    pub end: Instant,
    /// Seed of every random stream.
    pub seed: u64,
    /// Which replication this is; part of every stream's key.
    pub replication: u32,
    /// What is recorded.
    pub record: Record,
}

/// A queue and the link behind it.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Its name; the key of its random streams.
    pub name: String,
    /// Service rate at the start.
    pub rate: BitRate,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Octets the queue holds, the frame in transmission included; `None` for no limit.
    pub capacity: Option<Bytes>,
    /// Wire time spent on each frame beyond its own octets.
    pub overhead: Bytes,
    /// Whether a congestion point watches it and its queue is recorded.
    pub watched: bool,
    /// The port of the other direction of the same link; needed for feedback as frames.
    pub peer: Option<u32>,
}

/// A source, its limiter and its way to the sink.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The source's name; the key of its random streams.
    pub name: String,
    /// Ports from the source to the sink, in order; at least one.
    pub route: Vec<u32>,
    /// What the source wants to send.
    pub traffic: Traffic,
    /// Frame size.
    pub frame: Bytes,
    /// When it starts.
    pub start: Instant,
    /// A random time up to this is added to the start.
    pub start_jitter: Span,
    /// When it stops offering frames; what waits behind its limiter still leaves.
    pub stop: Instant,
    /// Whether its priority is under congestion control.
    pub controlled: bool,
    /// Whether its frames carry a CN-TAG.
    pub cn_tag: bool,
}

/// What a source wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Always one more frame, at most at `ceiling`.
    Saturated {
        /// The source's own limit; `None` for the link's rate.
        ceiling: Option<BitRate>,
    },
    /// A frame each 8 L / rate, exactly in the long run. Frames the limiter holds back wait.
    Constant {
        /// Offered rate, counted on frame octets.
        rate: BitRate,
    },
}

/// A port serves at another rate from some instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceChange {
    /// When.
    pub at: Instant,
    /// Which port.
    pub port: u32,
    /// The new rate, above zero.
    pub rate: BitRate,
}

/// How signals travel back to sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// After the propagation delay of the way back, and nothing else.
    Ideal,
    /// As frames of this size over the reverse links, where they queue and take time.
    Frames(Bytes),
}

/// What is recorded, and how finely. A span of zero records nothing of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Between samples of queue lengths.
    pub queue_every: Span,
    /// Between samples of rates.
    pub rates_every: Span,
    /// Width of throughput and drop bins.
    pub bin: Span,
    /// Whether each message is logged.
    pub messages: bool,
}
