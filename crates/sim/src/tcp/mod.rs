//! TCP senders and receivers as pure state machines over segment numbers.

use qcnlab_units::{Bytes, Span};

/// How a connection behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The congestion control.
    pub flavour: Flavour,
    /// Octets of payload in a full segment.
    pub mss: Bytes,
    /// Octets of each frame on top of its payload.
    pub headers: Bytes,
    /// Size of the frame that carries an acknowledgement.
    pub ack_frame: Bytes,
    /// Segments sent before the first acknowledgement.
    pub initial_window: u32,
    /// The receiver's window: octets on their way at most.
    pub max_window: Bytes,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Span,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout.
    pub max_rto: Span,
    /// Granularity of the timer (G of RFC 6298).
    pub granularity: Span,
    /// How long a receiver waits for a second segment before it acknowledges the first; zero to acknowledge each.
    pub delayed_ack: Span,
}

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// Xu, Harfoush, Rhee, INFOCOM 2004.
    Bic,
}
