//! RoCE: messages over queue pairs, as pure state machines over packet numbers.
//!
//! A [`QpSender`] says which packet to send next and takes acknowledgements; a [`QpReceiver`] takes packets and says
//! what to answer. Time is passed in and wake-ups are asked for; nothing is called back. Packets count up from 0 and are
//! full, except that the last may be shorter. Congestion control is not here: a scheme's reaction point permits rate
//! and window, and both ends only keep to them.
//!
//! Where implementations differ:
//! - A flow is one message on a queue pair of its own. It is complete when its last octet is acknowledged.
//! - Sequence numbers are 32 bits and do not wrap (InfiniBand: 24 bits).
//! - The retransmission timeout is fixed and there is no limit of retries (InfiniBand: seven). Progress starts it anew.
//! - Under go-back-N the receiver keeps nothing out of order, and says once what it misses: again after
//!   `nack_interval`, or when it misses another packet. With a reorder buffer it keeps as many packets as fit, and says what
//!   it misses when one does not fit, or when it has missed the packet for `reorder_wait`.
//! - Under selective repeat each packet out of order is answered with what is missing and what came (IRN). The sender
//!   repeats each missing packet once in a recovery, which ends when all that was sent before it is acknowledged.
//! - A packet is taken for lost when `reordering_threshold` packets that were sent after it have arrived, counted as RFC 6675
//!   counts (3 there, 1 in IRN), and is then waited for `reordering_window` longer, as RFC 8985 waits.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::{QpReceiver, ReceiverStats, Reply};
pub use sender::{QpPacket, QpSender, QpStats};

use qcnlab_units::{Bytes, Span};

/// How a queue pair behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QpConfig {
    /// How lost packets are repaired.
    pub recovery: QpRecovery,
    /// Octets of payload in a full packet (MTU), above zero.
    pub payload: Bytes,
    /// Octets of each packet on top of its payload.
    pub headers: Bytes,
    /// Size of the packet that acknowledges, positively or negatively.
    pub ack_frame: Bytes,
    /// Its class, 0 to 7; `None` for that of the data.
    pub ack_class: Option<u8>,
    /// Packets that one acknowledgement answers; the last of a message is answered at once.
    pub ack_every: u32,
    /// How long fewer packets wait for an acknowledgement.
    pub ack_delay: Span,
    /// The least time between two negative acknowledgements for the same packet, go-back-N.
    pub nack_interval: Span,
    /// Selective repeat: packets beyond a missing one that must have arrived before it is taken for lost; above zero.
    pub reordering_threshold: u32,
    /// Selective repeat: how much longer a packet is waited for that so many have overtaken.
    pub reordering_window: Span,
    /// Go-back-N: packets out of order that the receiver keeps.
    pub reorder_buffer: u32,
    /// Go-back-N: how long the receiver misses a packet before it says so, if it keeps those that came early.
    pub reorder_wait: Span,
    /// Octets in flight at most, whatever the scheme permits; `None` for any number.
    pub window: Option<Bytes>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Retransmission timeout while few packets are in flight: from the first that is not acknowledged to the last that was
    /// sent, as IRN counts them, whether or not some between them arrived.
    pub rto_low: Span,
    /// How many packets are few; 0 for none.
    pub rto_low_packets: u32,
}

/// How lost packets are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QpRecovery {
    /// Everything from the lost packet on goes again.
    GoBackN,
    /// The lost packets alone go again.
    SelectiveRepeat,
}
