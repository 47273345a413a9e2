//! How a window grows in congestion avoidance and shrinks at a loss.

use super::bic::Bic;
use super::cubic::Cubic;
use super::{Config, Flavour};
use qcnlab_units::{Instant, Span};

/// New data was acknowledged in congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// When.
    pub(super) now: Instant,
    /// Octets acknowledged.
    pub(super) octets: u64,
    /// The window before, in octets.
    pub(super) window: u64,
    /// Smoothed round-trip time; zero when unknown.
    pub(super) rtt: Span,
}

/// How a loss showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Three duplicate acknowledgements.
    Duplicates,
    /// The timer expired.
    Timeout,
}

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
            Flavour::Reno | Flavour::NewReno => CongestionControl::Reno(Reno::new(mss)),
            Flavour::Cubic => CongestionControl::Cubic(Cubic::new(mss)),
            Flavour::Bic => CongestionControl::Bic(Bic::new(mss)),
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

/// RFC 5681: one segment more for each window acknowledged, half of it after a loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reno {
    mss: u64,
    /// Octets acknowledged since the window last grew.
    counted: u64,
}

impl Reno {
    pub(super) const fn new(mss: u64) -> Reno {
        Reno { mss, counted: 0 }
    }

    /// Section 3.1, counting octets.
    #[inline]
    pub(super) fn grown(&mut self, ack: Progress) -> u64 {
        self.counted += ack.octets;
        if self.counted < ack.window {
            return ack.window;
        }
        self.counted -= ack.window;
        ack.window + self.mss
    }

    /// Equation 4.
    pub(super) fn on_loss(&mut self, flight: u64) -> u64 {
        self.counted = 0;
        (flight / 2).max(2 * self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reno_adds_a_segment_a_window() {
        // A window of 4 segments: 3 acknowledgements of one segment change nothing, the fourth adds one;
        // then 5 are needed.
        let mut reno = Reno::new(1000);
        let mut window = 4000;
        let mut grown = Vec::new();
        for _ in 0..9 {
            window = reno.grown(Progress { now: Instant::ZERO, octets: 1000, window, rtt: Span::ZERO });
            grown.push(window);
        }
        assert_eq!(grown, [4000, 4000, 4000, 5000, 5000, 5000, 5000, 5000, 6000]);
        // Acknowledgements of two segments: 2 + 2 + 2 = 6 segments make the next.
        for expected in [6000, 6000, 7000] {
            window = reno.grown(Progress { now: Instant::ZERO, octets: 2000, window, rtt: Span::ZERO });
            assert_eq!(window, expected);
        }
    }

    #[test]
    fn reno_halves_what_is_in_flight() {
        let mut reno = Reno::new(1460);
        assert_eq!(reno.on_loss(64_240), 32_120);
        assert_eq!(reno.on_loss(4380), 2920);
    }
}
