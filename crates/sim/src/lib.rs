//! The simulator: a fabric of hosts, switches and links as an event engine sees it.
//!
//! A frame's way through the code is its way through the fabric: a [`source`]
//! has it, a [`sender`] sends it when its [`rate_limiter`] releases it and its [`adapter`] serves
//! it, it queues at a [`port`], crosses the link, is admitted by an [`input_buffer`] or a [`shared_buffer`] where there is
//! one, and queues at the next port of its path, until it reaches its sink.
//! Congestion points see it where it queues; their signals travel back.
//!
//! What is promised:
//! 1. Time is a whole number of picoseconds. Events of one instant happen in an
//!    order that is written or drawn from the seed (see [`engine`]), so a run is
//!    the same on every machine.
//! 2. A link has one pending event, however many frames are on it, and a
//!    frame costs one event a hop; two at ports with [`priority_queues`].
//! 3. Frames and octets are conserved at every node: every run is audited, and an
//!    audit that does not close is an error. So is a circle of pauses.
//! 4. Random numbers come from streams keyed by seed, replication, component
//!    and purpose.

// Networks are built for tests of the engine's parts as for those of whole runs.
#[cfg(test)]
extern crate self as qcnlab_sim;
#[cfg(test)]
#[path = "../tests/net/mod.rs"]
mod net;

pub mod adapter;
mod arrived;
pub mod audit;
pub mod connection;
mod course;
mod deficit_round_robin;
mod departure;
pub mod engine;
pub mod flow_queues;
mod frame;
mod heads_share;
mod ids;
pub mod input_buffer;
mod isolation;
mod packets;
mod path;
mod path_choice;
pub mod plan;
pub mod port;
pub mod priority_queues;
mod queue_pair;
pub mod rate_limiter;
pub mod recorder;
pub mod replay;
mod reps;
pub mod roce;
pub mod sender;
pub mod shared_buffer;
pub mod source;
pub mod tcp;
pub mod testing;
pub mod trace;
mod watchdog;
pub mod wheel;
mod wred;

pub use audit::Violation;
pub use course::{Course, CrossedLink, Followed, PassedPacket};
pub use departure::{DataFacts, Departure, FrameFacts, SignalFacts};
pub use engine::{Control, Ending, Engine, Finished, Halt, Sink, SoFar, run_following};
pub use ids::{FlowId, LimiterId, NodeId, PortId};
pub use path_choice::{PathChoice, QueueChoice};
pub use plan::{
    CompletesAt, DependencyPlan, DomainPlan, DomainPort, Events, Feedback, FlowPlan, FlowPlans, FlowSettings,
    GeneratorPlan, LinkFailure, LinkPlan, NodePlan, PausePlan, PauseRule, PauseScope, PauseStorm, PauseTarget, Plan,
    PortPlan, Process, Record, ReplayPlan, Reroute, ServiceChange, Ties, Traffic, TrimPlan, WaitDelays,
};
pub use replay::{ReplayError, ReplaySource, ReplayStream, ReplayedFrame};
pub use reps::RepsPlan;
pub use shared_buffer::{Alpha, SharedBufferPlan, SharedInputPlan, SharedQueuePlan};
pub use trace::{Counters, DropKind, FlowTally, PauseRows, PointTally, PortState, RoceTally, TcpTally, Trace};
pub use watchdog::{WatchdogAction, WatchdogPlan};
pub use wred::WredPlan;
