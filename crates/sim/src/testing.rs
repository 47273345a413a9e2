//! Configurations that tests of transports start from.

use crate::roce::{QpConfig, QpRecovery};
use crate::tcp::{self, BicProbing, BicStep, CongestionAvoidance, Flavour, RecoverGuard, RttFrom};
use qcnlab_units::{Bytes, Span};

/// A connection as deck 003 has it: frames of 1518 octets, one segment at first, 65 536 octets at most, retransmission
/// timeouts of 0.6 s at first and 0.1 s at least; the rest as is usual.
pub fn connection(flavour: Flavour) -> tcp::Config {
    tcp::Config {
        flavour,
        mss: Bytes::new(1460),
        headers: Bytes::new(58),
        ack_frame: Bytes::new(64),
        initial_window: 1,
        max_window: Bytes::new(65_536),
        initial_rto: Span::from_ms(600),
        min_rto: Span::from_ms(100),
        max_rto: Span::from_ms(60_000),
        granularity: Span::from_ms(1),
        delayed_ack: Span::ZERO,
        congestion_avoidance: CongestionAvoidance::ByteCounting,
        recover_guard: RecoverGuard::ByFlavour,
        rtt_from: RttFrom::Handover,
        bic_step: BicStep::EachAck,
        bic_probing: BicProbing::Doubling,
    }
}

/// A queue pair: packets of 1000 octets and 48 of headers, each acknowledged at once with 60 octets, without a window;
/// a retransmission timeout of 320 us.
pub fn queue_pair(recovery: QpRecovery) -> QpConfig {
    QpConfig {
        recovery,
        payload: Bytes::new(1000),
        headers: Bytes::new(48),
        ack_frame: Bytes::new(60),
        ack_class: None,
        ack_every: 1,
        ack_delay: Span::from_us(10),
        nack_interval: Span::from_us(500),
        reordering_threshold: 1,
        reordering_window: Span::ZERO,
        reorder_buffer: 0,
        reorder_wait: Span::ZERO,
        window: None,
        rto: Span::from_us(320),
        rto_low: Span::from_us(100),
        rto_low_packets: 0,
    }
}
