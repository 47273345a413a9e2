//! Congestion management schemes as pure state machines.
//!
//! A scheme is a set of machines. A congestion point in a switch port sees frames arrive and answers with signals or
//! marks. A reaction point at a source's rate limiter hears signals and sets the rate. Where receivers take part, a
//! notification point there answers marks and probes. None owns a queue, a clock or a socket: time, dice, queue length
//! and the facts of a frame are passed in, so that the same code runs in the simulator, in tests and beside real frames.
//!
//! * [`roles`]: the traits, and what a machine and its driver count on; [`facts`] and [`signal`]: what passes between;
//!   [`transport`]: what the transport of a flow tells its machines; [`backpressure`]: ports that stop flows hop by hop;
//!   [`isolation`]: ports that isolate congesting flows.
//! * [`fast_path`]: what serves an engine's speed alone.
//! * [`driver`]: what stands beside machines wherever they run: limiter, pacer, pauses.
//! * [`definition`]: what the file of a scheme declares.
//! * [`family`]: one file a scheme.
//! * [`parts`]: what several schemes share.
//! * [`registry`]: the one list of schemes; everything that goes through all schemes goes through it.
//! * [`foreign`]: schemes from outside this crate.
//! * [`params`]: parameters declared once.
//! * [`conformance`]: the laws every scheme keeps.
//!
//! A type name stands once in this crate: the machines of a scheme and their parameters carry its name, as `QcnCp` and
//! `QcnCpParams` do.

pub mod backpressure;
pub mod conformance;
pub mod definition;
pub mod dice;
pub mod driver;
pub mod facts;
pub mod family;
pub mod fast_path;
pub mod foreign;
pub mod isolation;
pub mod params;
pub mod parts;
pub mod registry;
pub mod roles;
pub mod signal;
#[cfg(test)]
pub(crate) mod testing;
pub mod transport;

pub use backpressure::{BackpressurePoint, Held, QueuedFrame, QueuesNow, Upstream};
pub use dice::{Dice, Purpose};
pub use fast_path::{CpFastPath, RpFastPath};
pub use foreign::{Foreign, ForeignScheme};
pub use isolation::{IsolatedFrame, IsolationPoint, IsolationQueue, IsolationQueues};
pub use roles::{
    Acknowledgement, AddedHeaders, Answer, Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpCapabilities, CpId,
    CreditPoint, Delivered, Echo, Endpoint, EventKind, EventKinds, Flight, FlowId, Gauge, Grant, HopTelemetry,
    LossSign, MOST_HOPS, NoCongestionPoint, NoNotification, NotificationPoint, Observation, Pacing, Probe, ProbeAction,
    ProbeKind, Queue, QueueLen, Reached, ReactionPoint, RpCapabilities, Signal, SignalKind, SonarObservation,
    SourcePause, Stamp, TransportEvent,
};
