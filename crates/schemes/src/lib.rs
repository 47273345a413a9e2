//! Congestion management schemes as pure state machines.
//!
//! A scheme is a set of machines: a congestion point in a switch port, which
//! sees frames arrive and answers with signals or marks, a reaction point at a
//! sender's rate limiter, which hears signals and says how fast it may send,
//! and, where receivers take part, a notification point there, which answers
//! marks and probes. None owns a queue, a clock or a socket: time, dice, queue length and
//! frame facts are passed in, so the same code runs in the simulator, in tests
//! and beside real frames.
//!
//! * [`roles`]: the traits and what both sides may count on.
//! * [`family`]: one file a scheme.
//! * [`parts`]: what several schemes share.
//! * [`conformance`]: the laws every scheme keeps.
//! * [`registry`]: the one list of schemes; everything that walks schemes walks it.
//! * [`foreign`]: schemes from outside this crate.
//! * [`params`]: parameters declared once.

pub mod conformance;
pub mod definition;
pub mod dice;
pub mod facts;
pub mod family;
pub mod fast_path;
pub mod foreign;
pub mod params;
pub mod parts;
pub mod registry;
pub mod roles;
pub mod signal;
#[cfg(test)]
pub(crate) mod testing;

pub use dice::{Dice, Purpose};
pub use fast_path::{CpFastPath, RpFastPath};
pub use foreign::{Foreign, ForeignScheme};
pub use roles::{
    Answer, Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpCapabilities, CpId, Delivered, FlowId, Gauge,
    NoNotification, NotificationPoint, Observation, Pacing, Probe, ProbeAction, ProbeKind, Queue, QueueLen,
    ReactionPoint, RpCapabilities, Signal, SignalKind, SonarObservation, Stamp,
};
