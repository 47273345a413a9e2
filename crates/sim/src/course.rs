//! The course of messages: when their packets might go, when they went, and the links that they crossed.

use crate::ids::{FlowId, PortId};
use qcnlab_units::{Instant, Span};

/// A message whose course is asked for: a flow over RoCE with an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The flow.
    pub flow: FlowId,
    /// When it starts.
    pub from: Instant,
    /// What reaches the far end of a link after this is left out.
    pub until: Instant,
}

/// What became of the packets of a followed message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// The packets that passed its limiter, in order.
    pub passed: Vec<PassedPacket>,
    /// The links that they crossed, in the order in which they reached far ends.
    pub crossed: Vec<CrossedLink>,
}

/// A packet that passed the limiter of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedPacket {
    /// From when on window, credit and pacer let it go; it waited for its host's link after that.
    pub permitted: Instant,
    /// When it passed.
    pub passed: Instant,
    /// Whether it had been sent before.
    pub again: bool,
}

/// A packet that crossed a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossedLink {
    /// When it passed its limiter, which tells the packets of a flow apart.
    pub passed: Instant,
    /// The port before the link.
    pub port: PortId,
    /// How many links it had crossed before.
    pub hop: u8,
    /// The class that it had there.
    pub class: u8,
    /// When its last octet left the port.
    pub left: Instant,
    /// How long the port takes to transmit it, at its rate then.
    pub takes: Span,
    /// When it reached the far end.
    pub arrived: Instant,
}
