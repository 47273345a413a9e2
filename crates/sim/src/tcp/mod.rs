//! TCP senders and receivers as pure state machines over segment numbers.
//!
//! A [`TcpSender`] says which segment to send next and takes acknowledgements; a [`TcpReceiver`] takes segments and
//! says what to acknowledge. Time is passed in and wake-ups are asked for; nothing is called back. Segments
//! count up from 0 and are full, except that the last may be shorter. Connections are open from the start
//! and never close.
//!
//! Where the standards leave a choice:
//! - Congestion avoidance counts octets, as RFC 5681, 3.1, recommends, or adds a part of a segment at each
//!   acknowledgement ([`CongestionAvoidance`]). The window never grows beyond the receiver's.
//! - FlightSize is what was sent and not acknowledged since the last timeout; what a timeout gives up counts
//!   as lost. After a timeout everything unacknowledged is sent again in order, as the window allows.
//! - Limited transmit (RFC 3042), window validation after idle times and SACK are off.
//! - [`Flavour::Reno`] leaves fast recovery at the first new acknowledgement. The others recover as RFC 6582 does:
//!   partial acknowledgements, the timer restarted by the first partial acknowledgement only, and
//!   min(ssthresh, FlightSize + SMSS) at the end. RFC 5681 has no guard against duplicates of what a timeout or a
//!   recovery repeated, RFC 6582 has one ([`RecoverGuard`]).
//! - One segment is timed at a time, from when the sender hands it over or from when it leaves the host
//!   ([`RttFrom`]); the measurement is given up at any retransmission. A doubled timeout stays until the next measurement (RFC 6298, 5.7). A fast retransmission
//!   starts the timer anew, so that the repair has a whole timeout to arrive in; RFC 6298 does not say.

mod bic;
mod control;
mod cubic;
mod progress;
mod receiver;
mod reno;
mod sender;
#[cfg(test)]
mod tests;
mod timer;

pub use receiver::TcpReceiver;
pub use sender::{Segment, Stats, TcpSender};

use qcnlab_units::{Bytes, Span};

/// How a connection behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The congestion control.
    pub flavour: Flavour,
    /// Octets of payload in a full segment (SMSS), above zero.
    pub mss: Bytes,
    /// Octets of each frame on top of its payload.
    pub headers: Bytes,
    /// Size of the frame that carries an acknowledgement.
    pub ack_frame: Bytes,
    /// Segments sent before the first acknowledgement.
    pub initial_window: u32,
    /// The receiver's window: octets on their way at most. Below a segment it counts as one.
    pub max_window: Bytes,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Span,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout.
    pub max_rto: Span,
    /// Granularity of the timer (G of RFC 6298): timeouts are whole multiples of it; zero for any timeout.
    pub granularity: Span,
    /// How long a receiver waits for a second segment before it acknowledges the first; zero to acknowledge each.
    pub delayed_ack: Span,
    /// How the window of Reno and NewReno grows in congestion avoidance.
    pub congestion_avoidance: CongestionAvoidance,
    /// Whether duplicates of what was repeated start a recovery.
    pub recover_guard: RecoverGuard,
    /// From when a segment's round trip is counted.
    pub rtt_from: RttFrom,
    /// When BIC chooses a step.
    pub bic_step: BicStep,
    /// How BIC goes beyond the window that it had.
    pub bic_probing: BicProbing,
}

/// When BIC chooses how far its window goes in a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BicStep {
    /// At each acknowledgement, as the paper's pseudo code has it and Linux does.
    EachAck,
    /// Once a round trip, as the paper's words have it.
    EachRound,
}

/// How BIC goes beyond the window that it had at the last loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BicProbing {
    /// By one segment in a round trip, then two, four and so on, as in the paper.
    Doubling,
    /// By the steps of the search in reverse order, from the smallest on; Linux does so, with other numbers.
    Mirrored,
}

/// How the window of Reno and NewReno grows in congestion avoidance (RFC 5681, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionAvoidance {
    /// By a segment for each window of octets acknowledged.
    ByteCounting,
    /// By SMSS * SMSS / cwnd octets at each acknowledgement of new data (equation 3).
    PerAck,
}

/// Whether three duplicates start a recovery that a timeout or another recovery has already repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoverGuard {
    /// As the flavour's document says: [`Off`](RecoverGuard::Off) for Reno, else [`Rfc6582`](RecoverGuard::Rfc6582).
    ByFlavour,
    /// Only duplicates of an acknowledgement that covers more than `recover` (RFC 6582, 3.2).
    Rfc6582,
    /// Any three duplicates.
    Off,
}

/// From when a segment's round trip is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttFrom {
    /// When TCP hands it to the adapter; the wait at the rate limiter and for the link counts.
    Handover,
    /// When its first octet leaves the host.
    Departure,
}

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 9438, with the loss recovery of RFC 6582.
    Cubic,
    /// Xu, Harfoush, Rhee, INFOCOM 2004, with the loss recovery of RFC 6582.
    Bic,
}
