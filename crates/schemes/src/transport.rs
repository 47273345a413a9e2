//! What a transport tells the machines of a scheme: acknowledgements, losses, credit, and the telemetry of a path.
//!
//! A transport is what makes a stream of packets arrive: it numbers them, acknowledges them and repairs losses. It
//! owns sequence numbers, timers and retransmission. A reaction point hears of [`TransportEvent`]s and answers with
//! what it permits: a rate, a window, a gap, or any of them. It is told only of the [kinds](EventKind) that it declares
//! in [`RpCapabilities::events`](crate::roles::RpCapabilities).
//!
//! Octets are payload, counted from the start of the stream.

use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// What a reaction point knows of its host and its path from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The rate of the host's link.
    pub line_rate: BitRate,
    /// Round-trip time of a full packet and its acknowledgement where nothing queues; zero where it is not known.
    pub base_rtt: Span,
    /// The same on the longest way between two hosts of the network; at least `base_rtt`.
    pub longest_rtt: Span,
    /// Octets of payload in a full packet (MTU).
    pub mtu: Bytes,
    /// Switches on its path, the first where there are several; a host that reads slowly counts as one. 0 where they are
    /// not known.
    pub hops: u32,
}

impl Endpoint {
    /// Octets on their way at line rate for one base round-trip time, rounded down (BDP); one packet at least.
    pub fn bdp(&self) -> Bytes {
        self.line_rate.bytes_in_rounded_down(self.base_rtt).max(self.mtu)
    }
}

impl From<BitRate> for Endpoint {
    /// A host of which only the line rate is known, with packets of 1500 octets.
    fn from(line_rate: BitRate) -> Endpoint {
        Endpoint { line_rate, base_rtt: Span::ZERO, longest_rtt: Span::ZERO, mtu: Bytes::new(1500), hops: 0 }
    }
}

/// Where a stream stands, the event that is told of included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Octets acknowledged from the start without a gap.
    pub acknowledged: Bytes,
    /// Octets sent at least once: the first of the next packet that was never sent (`snd_nxt`).
    pub sent: Bytes,
    /// Octets sent, not acknowledged and not thought lost.
    pub in_flight: Bytes,
    /// Octets of those beyond the first that is missing that have arrived, as far as acknowledgements have told; they count
    /// as in flight, too.
    pub early: Bytes,
}

/// What a port writes on a packet that leaves it, for the sender (INT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopTelemetry {
    /// When the packet left the queue.
    pub left_at: Instant,
    /// Octets that the port had sent before it, of all packets.
    pub sent: Bytes,
    /// Octets that stayed in the queue.
    pub queue: Bytes,
    /// The rate of the port's link.
    pub rate: BitRate,
}

/// Hops of which a packet carries telemetry; what further ports write is lost.
pub const MOST_HOPS: usize = 8;

/// An acknowledgement, as it reaches the sender.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// Octets that it acknowledges for the first time.
    pub newly: Bytes,
    /// Packets that it answers: those that reached the receiver since its last one.
    pub packets: u32,
    /// How many of them carried a mark.
    pub marked: u32,
    /// When the newest of them was sent, echoed.
    pub sent_at: Instant,
    /// The path that packet took, as the driver numbers paths.
    pub path: u32,
    /// The largest code that the ports on its path wrote on it; 0 for none.
    pub code: u8,
    /// What the ports on its path wrote on it, in order; empty unless the congestion points stamp.
    pub hops: &'a [HopTelemetry],
}

/// How a sender concluded that packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossSign {
    /// Later packets were acknowledged.
    Gap,
    /// Nothing was acknowledged for the retransmission timeout.
    Timeout,
}

/// What a transport tells a reaction point.
#[derive(Clone, Copy, Debug)]
pub enum TransportEvent<'a> {
    /// Packets arrived.
    Acknowledged(Acknowledgement<'a>),
    /// The receiver misses a packet and says so.
    NegativelyAcknowledged,
    /// The sender concludes that packets are lost.
    Lost(LossSign),
    /// A switch cut so many octets of payload off a packet, and its head arrived.
    Trimmed(Bytes),
    /// The receiver permits so many octets from the start of the stream.
    Credited(Bytes),
    /// The link was paused in the flow's class, or may send again.
    Paused(bool),
    /// The next switch stops this flow alone, or lets it go on.
    FlowPaused(bool),
}

impl TransportEvent<'_> {
    /// Which kind it is.
    pub const fn kind(&self) -> EventKind {
        match self {
            TransportEvent::Acknowledged(_) => EventKind::Acknowledgement,
            TransportEvent::NegativelyAcknowledged => EventKind::NegativeAcknowledgement,
            TransportEvent::Lost(_) => EventKind::Loss,
            TransportEvent::Trimmed(_) => EventKind::Trim,
            TransportEvent::Credited(_) => EventKind::Credit,
            TransportEvent::Paused(_) => EventKind::Pause,
            TransportEvent::FlowPaused(_) => EventKind::FlowPause,
        }
    }
}

/// The kinds of [`TransportEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// Packets arrived.
    Acknowledgement = 1,
    /// The receiver misses a packet.
    NegativeAcknowledgement = 2,
    /// The sender concludes that packets are lost.
    Loss = 4,
    /// A packet was cut to its head.
    Trim = 8,
    /// The receiver permits octets.
    Credit = 16,
    /// The link was paused or may send again.
    Pause = 32,
    /// The next switch stops the flow alone, or lets it go on.
    FlowPause = 64,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [EventKind; 7] = [
        EventKind::Acknowledgement,
        EventKind::NegativeAcknowledgement,
        EventKind::Loss,
        EventKind::Trim,
        EventKind::Credit,
        EventKind::Pause,
        EventKind::FlowPause,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Acknowledgement => "acknowledgement",
            EventKind::NegativeAcknowledgement => "negative acknowledgement",
            EventKind::Loss => "loss",
            EventKind::Trim => "trim",
            EventKind::Credit => "credit",
            EventKind::Pause => "pause",
            EventKind::FlowPause => "pause of a flow",
        }
    }
}

/// A set of [`EventKind`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventKinds(u8);

impl EventKinds {
    /// None.
    pub const NONE: EventKinds = EventKinds(0);
    /// Acknowledgements alone.
    pub const ACKNOWLEDGEMENTS: EventKinds = EventKinds::NONE.with(EventKind::Acknowledgement);
    /// Acknowledgements, and every sign that packets are lost.
    pub const ARRIVALS_AND_LOSSES: EventKinds =
        EventKinds::ACKNOWLEDGEMENTS.with(EventKind::NegativeAcknowledgement).with(EventKind::Loss);

    /// Returns the set with `kind`.
    pub const fn with(self, kind: EventKind) -> EventKinds {
        EventKinds(self.0 | kind as u8)
    }

    /// Returns the kinds of either set.
    pub const fn union(self, other: EventKinds) -> EventKinds {
        EventKinds(self.0 | other.0)
    }

    /// Whether `kind` is one of them.
    #[inline]
    pub const fn contains(self, kind: EventKind) -> bool {
        self.0 & kind as u8 != 0
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns its kinds, in the order of [`EventKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = EventKind> {
        EventKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

/// Octets that a scheme adds to packets for what it carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedHeaders {
    /// To each data packet.
    pub data: Bytes,
    /// To each acknowledgement.
    pub acknowledgement: Bytes,
}

/// What a receiver is about to acknowledge. A notification point may change what is echoed, hold the acknowledgement
/// back, or grant credit with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Packets that reached the receiver since its last acknowledgement.
    pub packets: u32,
    /// How many of them carried a mark.
    pub marked: u32,
    /// How long the acknowledgement is held back.
    pub delay: Span,
    /// Octets from the start of the stream that the sender may send; `None` says nothing of credit.
    pub credit: Option<Bytes>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Gb/s for 13 us are 1.3 Mbit, 162 500 octets.
    #[test]
    fn a_window_at_line_rate_is_rate_times_round_trip() {
        let endpoint = Endpoint {
            line_rate: BitRate::gbps(100),
            base_rtt: Span::from_us(13),
            longest_rtt: Span::from_us(13),
            mtu: Bytes::new(1000),
            hops: 1,
        };
        assert_eq!(endpoint.bdp(), Bytes::new(162_500));
        assert_eq!(Endpoint::from(BitRate::gbps(100)).bdp(), Bytes::new(1500));
    }

    #[test]
    fn tables_name_each_kind_of_event() {
        let names = EventKind::ALL.map(EventKind::name);
        assert_eq!(
            names,
            ["acknowledgement", "negative acknowledgement", "loss", "trim", "credit", "pause", "pause of a flow"]
        );
    }

    #[test]
    fn a_set_of_kinds_holds_what_was_put_in() {
        let both = EventKinds::ACKNOWLEDGEMENTS.with(EventKind::Credit);
        assert_eq!(both.iter().collect::<Vec<_>>(), [EventKind::Acknowledgement, EventKind::Credit]);
        assert!(!both.contains(EventKind::Loss) && EventKinds::NONE.is_empty() && !both.is_empty());
        assert_eq!(EventKind::ALL.iter().fold(EventKinds::NONE, |all, kind| all.with(*kind)).iter().count(), 7);
    }
}
