//! Transport tcp: connections whose acknowledgements travel back as frames.

use crate::fields::{FRAME, POSITIVE_UP_TO_LONGEST, UP_TO_LONGEST};
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{choice, params};
use qcnlab_sim::tcp::{self, Config, Flavour};
use qcnlab_units::{Bytes, Span};

choice! {
    /// Congestion control of a TCP sender.
    pub enum TcpFlavour {
        /// RFC 5681.
        Reno = "reno",
        /// RFC 6582.
        NewReno = "newreno",
        /// RFC 9438.
        Cubic = "cubic",
        /// Binary increase, of Xu, Harfoush and Rhee, INFOCOM 2004.
        Bic = "bic",
    }
}

choice! {
    /// How the window of Reno and NewReno grows in congestion avoidance (RFC 5681, 3.1). CUBIC and BIC have their own
    /// growth.
    pub enum CongestionAvoidance {
        /// A segment more when a whole window of octets has been acknowledged, which RFC 5681 recommends.
        ByteCounting = "byte_counting",
        /// SMSS * SMSS / cwnd octets more at each acknowledgement of new data: equation 3 of RFC 5681.
        PerAck = "per_ack",
    }
}

choice! {
    /// Whether three duplicate acknowledgements start fast recovery when they ask for what a timeout or a recovery has
    /// already sent again.
    pub enum RecoverGuard {
        /// As the flavour's document says: off for reno (RFC 5681 has no such guard), rfc6582 for the others.
        ByFlavour = "by_flavour",
        /// No, until an acknowledgement covers more than `recover`, the highest segment that had been sent then.
        Rfc6582 = "rfc6582",
        /// Yes: any three do.
        Off = "off",
    }
}

choice! {
    /// From when the round trip of a segment is counted, for the retransmission timeout.
    pub enum RttFrom {
        /// When TCP hands the segment to the adapter: the wait at the rate limiter and for the link counts.
        Handover = "handover",
        /// When its first octet leaves the host.
        Departure = "departure",
    }
}

choice! {
    /// When BIC chooses how far its window goes in a round trip.
    pub enum BicStep {
        /// At each acknowledgement, as the paper's pseudo code has it and Linux does.
        EachAck = "each_ack",
        /// Once a round trip, as the paper's words have it.
        EachRound = "each_round",
    }
}

choice! {
    /// How BIC goes beyond the window that it had at the last loss.
    pub enum BicProbing {
        /// By one segment in a round trip, then two, four and so on, as in the paper.
        Doubling = "doubling",
        /// By the steps of the search in reverse order, from the smallest on; Linux does so, with other numbers.
        Mirrored = "mirrored",
    }
}

params! {
    /// TCP connections, one for each flow.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TcpTransport {
        /// Congestion control of the sender.
        flavour: TcpFlavour, "", Range::ANY, Fallback::Text("reno");
        /// Octets of each frame that are not payload.
        headers: Bytes, "", Range::between(0.0, 256.0), Fallback::Text("40 B");
        /// Length of the frame that carries an acknowledgement.
        ack_frame: Bytes, "", FRAME, Fallback::Text("64 B");
        /// Segments sent before the first acknowledgement.
        initial_window: u32, "IW", Range::between(1.0, 1000.0), Fallback::Text("3");
        /// Octets on their way at most: the receiver's window.
        max_window: Bytes, "", Range::POSITIVE, Fallback::Text("65536 B");
        /// Retransmission timeout before the first measurement.
        initial_rto: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 s");
        /// Smallest retransmission timeout.
        min_rto: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 s");
        /// Largest retransmission timeout.
        max_rto: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("60 s");
        /// Granularity of the timer.
        granularity: Span, "G", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 ms");
        /// How long a receiver waits for a second segment before it acknowledges the first; 0 s to
        /// acknowledge each at once.
        delayed_ack: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// How the window of Reno and NewReno grows in congestion avoidance.
        congestion_avoidance: CongestionAvoidance, "", Range::ANY, Fallback::Text("byte_counting");
        /// Whether duplicates of what was already sent again start fast recovery.
        recover_guard: RecoverGuard, "recover", Range::ANY, Fallback::Text("by_flavour");
        /// From when the round trip of a segment is counted.
        rtt_from: RttFrom, "RTT", Range::ANY, Fallback::Text("handover");
        /// When BIC chooses how far its window goes in a round trip.
        bic_step: BicStep, "", Range::ANY, Fallback::Text("each_ack");
        /// How BIC goes beyond the window that it had at the last loss.
        bic_probing: BicProbing, "", Range::ANY, Fallback::Text("doubling");
    }
}

impl TcpTransport {
    /// Returns the configuration of a connection with frames of this length. If a frame has no room for payload, the
    /// segment is empty.
    pub(crate) fn config(&self, frame: Bytes) -> Config {
        Config {
            flavour: self.flavour.into(),
            mss: frame.saturating_sub(self.headers),
            headers: self.headers,
            ack_frame: self.ack_frame,
            initial_window: self.initial_window,
            max_window: self.max_window,
            initial_rto: self.initial_rto,
            min_rto: self.min_rto,
            max_rto: self.max_rto,
            granularity: self.granularity,
            delayed_ack: self.delayed_ack,
            congestion_avoidance: self.congestion_avoidance.into(),
            recover_guard: self.recover_guard.into(),
            rtt_from: self.rtt_from.into(),
            bic_step: self.bic_step.into(),
            bic_probing: self.bic_probing.into(),
        }
    }
}

impl From<TcpFlavour> for Flavour {
    fn from(flavour: TcpFlavour) -> Flavour {
        match flavour {
            TcpFlavour::Reno => Flavour::Reno,
            TcpFlavour::NewReno => Flavour::NewReno,
            TcpFlavour::Cubic => Flavour::Cubic,
            TcpFlavour::Bic => Flavour::Bic,
        }
    }
}

impl From<CongestionAvoidance> for tcp::CongestionAvoidance {
    fn from(growth: CongestionAvoidance) -> tcp::CongestionAvoidance {
        match growth {
            CongestionAvoidance::ByteCounting => tcp::CongestionAvoidance::ByteCounting,
            CongestionAvoidance::PerAck => tcp::CongestionAvoidance::PerAck,
        }
    }
}

impl From<RecoverGuard> for tcp::RecoverGuard {
    fn from(guard: RecoverGuard) -> tcp::RecoverGuard {
        match guard {
            RecoverGuard::ByFlavour => tcp::RecoverGuard::ByFlavour,
            RecoverGuard::Rfc6582 => tcp::RecoverGuard::Rfc6582,
            RecoverGuard::Off => tcp::RecoverGuard::Off,
        }
    }
}

impl From<RttFrom> for tcp::RttFrom {
    fn from(from: RttFrom) -> tcp::RttFrom {
        match from {
            RttFrom::Handover => tcp::RttFrom::Handover,
            RttFrom::Departure => tcp::RttFrom::Departure,
        }
    }
}

impl From<BicStep> for tcp::BicStep {
    fn from(step: BicStep) -> tcp::BicStep {
        match step {
            BicStep::EachAck => tcp::BicStep::EachAck,
            BicStep::EachRound => tcp::BicStep::EachRound,
        }
    }
}

impl From<BicProbing> for tcp::BicProbing {
    fn from(probing: BicProbing) -> tcp::BicProbing {
        match probing {
            BicProbing::Doubling => tcp::BicProbing::Doubling,
            BicProbing::Mirrored => tcp::BicProbing::Mirrored,
        }
    }
}
