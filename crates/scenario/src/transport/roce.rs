//! Transport roce: queue pairs whose acknowledgements travel back as frames.

use crate::fields::{POSITIVE_UP_TO_LONGEST, UP_TO_LONGEST};
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::{choice, params};
use qcnlab_sim::roce::{QpConfig, QpRecovery};
use qcnlab_units::{Bytes, Span};

choice! {
    /// How a RoCE transport repairs lost packets.
    pub enum Recovery {
        /// Everything from the lost packet on goes again.
        GoBackN = "go_back_n",
        /// The lost packets alone go again (IRN).
        SelectiveRepeat = "selective_repeat",
    }
}

params! {
    /// RoCE queue pairs, one for each message.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RoceTransport {
        /// How lost packets are repaired.
        recovery: Recovery, "", Range::ANY, Fallback::Text("go_back_n");
        /// Octets of each frame that are not payload: Ethernet with FCS 18, IPv4 20, UDP 8, BTH 12,
        /// ICRC 4. What a scheme adds comes on top.
        headers: Bytes, "", Range::between(0.0, 256.0), Fallback::Text("62 B");
        /// Length of the frame that carries an acknowledgement: the same with AETH 4.
        ack_frame: Bytes, "", Range::between(40.0, 65535.0), Fallback::Text("66 B");
        /// Class of that frame; left out, that of the data.
        ack_priority: Option<u32>, "", Range::between(0.0, 7.0);
        /// Packets that one acknowledgement answers.
        ack_every: u32, "", Range::between(1.0, 10000.0), Fallback::Text("1");
        /// How long fewer packets wait for an acknowledgement.
        ack_delay: Span, "", UP_TO_LONGEST, Fallback::Text("10 us");
        /// The least time between two negative acknowledgements for the same packet, go_back_n.
        nack_interval: Span, "", UP_TO_LONGEST, Fallback::Text("500 us");
        /// Packets beyond a missing one that must have arrived before it is taken for lost. Where packets of a flow
        /// take several ways, as many as may overtake one.
        reordering_threshold: u32, "DupThresh", Range::between(1.0, 1e6), Fallback::Text("1");
        /// How much longer a packet is waited for that so many have overtaken.
        reordering_window: Span, "RACK.reo_wnd", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Packets out of order that the receiver keeps, go_back_n; with selective_repeat it keeps all.
        reorder_buffer: u32, "", Range::between(0.0, 1e6), Fallback::Text("0");
        /// How long a receiver with a reorder buffer misses a packet before it says so; left out, nack_interval.
        reorder_wait: Option<Span>, "", UP_TO_LONGEST;
        /// Octets in flight at most, whatever the scheme permits; left out, any number.
        window_limit: Option<Bytes>, "", Range::POSITIVE;
        /// Retransmission timeout.
        rto: Span, "RTO_high", POSITIVE_UP_TO_LONGEST, Fallback::Text("16 ms");
        /// Retransmission timeout while few packets are in flight.
        rto_low: Span, "RTO_low", POSITIVE_UP_TO_LONGEST, Fallback::Text("100 us");
        /// How many packets are few; 0 for none.
        rto_low_packets: u32, "N", Range::between(0.0, 10000.0), Fallback::Text("0");
    }
}

impl RoceTransport {
    /// Returns how a queue pair with frames of this length behaves. If a frame has no room for payload, the packet is
    /// empty.
    pub(crate) fn config(&self, frame: Bytes) -> QpConfig {
        QpConfig {
            recovery: self.recovery.into(),
            payload: frame.saturating_sub(self.headers),
            headers: self.headers,
            ack_frame: self.ack_frame,
            ack_class: self.ack_priority.map(|class| class as u8),
            ack_every: self.ack_every,
            ack_delay: self.ack_delay,
            nack_interval: self.nack_interval,
            reordering_threshold: self.reordering_threshold,
            reordering_window: self.reordering_window,
            reorder_buffer: self.reorder_buffer,
            reorder_wait: self.reorder_wait.unwrap_or(self.nack_interval),
            window: self.window_limit,
            rto: self.rto,
            rto_low: self.rto_low,
            rto_low_packets: self.rto_low_packets,
        }
    }
}

impl From<Recovery> for QpRecovery {
    fn from(recovery: Recovery) -> QpRecovery {
        match recovery {
            Recovery::GoBackN => QpRecovery::GoBackN,
            Recovery::SelectiveRepeat => QpRecovery::SelectiveRepeat,
        }
    }
}
