//! How a window grows in congestion avoidance and shrinks at a loss.

use super::bic::Bic;
use super::cubic::Cubic;
use super::progress::{Loss, Progress};
use super::reno::Reno;
use super::{Config, Flavour};

/// A congestion control. Windows are octets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CongestionControl {
    Reno(Reno),
    Cubic(Cubic),
    Bic(Bic),
}

impl CongestionControl {
    pub(super) fn new(config: &Config) -> CongestionControl {
        let mss = config.mss.get().max(1);
        match config.flavour {
            Flavour::Reno | Flavour::NewReno => CongestionControl::Reno(Reno::new(mss, config.congestion_avoidance)),
            Flavour::Cubic => CongestionControl::Cubic(Cubic::new(mss)),
            Flavour::Bic => CongestionControl::Bic(Bic::new(config)),
        }
    }

    /// The window after an acknowledgement in congestion avoidance.
    #[inline]
    pub(super) fn grown(&mut self, ack: Progress) -> u64 {
        match self {
            CongestionControl::Reno(control) => control.grown(ack),
            CongestionControl::Cubic(control) => control.grown(ack),
            CongestionControl::Bic(control) => control.grown(ack),
        }
    }

    /// The slow start threshold after a loss that finds this window and `flight` octets outstanding.
    pub(super) fn on_loss(&mut self, loss: Loss, window: u64, flight: u64) -> u64 {
        match self {
            CongestionControl::Reno(control) => control.on_loss(flight),
            CongestionControl::Cubic(control) => control.on_loss(loss, window, flight),
            CongestionControl::Bic(control) => control.on_loss(window, flight),
        }
    }
}
