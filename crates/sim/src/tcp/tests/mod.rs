//! Connections over links that lose, reorder and queue.

mod bottleneck;
mod lossy;

use super::{Config, CongestionAvoidance, Flavour, RecoverGuard, RttFrom};
use qcnlab_units::{Bytes, Span};

/// Deck 003's: Reno, 1460 octets, one segment at first, 65 536 at most, 0.6 s and 0.1 s.
pub(super) fn config() -> Config {
    Config {
        flavour: Flavour::Reno,
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
    }
}

/// Every congestion control.
pub(super) const FLAVOURS: [Flavour; 4] = [Flavour::Reno, Flavour::NewReno, Flavour::Cubic, Flavour::Bic];
