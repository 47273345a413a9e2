//! Reno: how its window grows in congestion avoidance and shrinks at a loss.

use super::CongestionAvoidance;
use super::progress::Progress;

/// RFC 5681: one segment more for each window acknowledged, half of it after a loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reno {
    mss: u64,
    growth: CongestionAvoidance,
    /// Octets acknowledged since the window last grew.
    counted: u64,
}

impl Reno {
    pub(super) const fn new(mss: u64, growth: CongestionAvoidance) -> Reno {
        Reno { mss, growth, counted: 0 }
    }

    /// Section 3.1. Equation 3 is rounded down, to one octet at least.
    #[inline]
    pub(super) fn grown(&mut self, ack: Progress) -> u64 {
        if self.growth == CongestionAvoidance::PerAck {
            return ack.window + (self.mss * self.mss / ack.window).max(1);
        }
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
    use qcnlab_units::{Instant, Span};

    #[test]
    fn reno_adds_a_segment_a_window() {
        // A window of 4 segments: 3 acknowledgements of one segment change nothing, the fourth adds one;
        // then 5 are needed.
        let mut reno = Reno::new(1000, CongestionAvoidance::ByteCounting);
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
    fn equation_3_adds_a_part_of_a_segment_each_acknowledgement() {
        // 1000 * 1000 / 4000 = 250; / 4250 = 235.3; / 4485 = 222.97; / 4707 = 212.4; / 4919 = 203.3. After the four
        // acknowledgements of a window it is 81 octets short of a segment more.
        let mut reno = Reno::new(1000, CongestionAvoidance::PerAck);
        let mut window = 4000;
        for expected in [4250, 4485, 4707, 4919, 5122] {
            window = reno.grown(Progress { now: Instant::ZERO, octets: 1000, window, rtt: Span::ZERO });
            assert_eq!(window, expected);
        }
        // An acknowledgement of two segments adds what one of one segment does: 1000 * 1000 / 5122 = 195.2.
        assert_eq!(reno.grown(Progress { now: Instant::ZERO, octets: 2000, window, rtt: Span::ZERO }), 5317);
        // A million over two millions is rounded up to an octet.
        assert_eq!(
            reno.grown(Progress { now: Instant::ZERO, octets: 1000, window: 2_000_000, rtt: Span::ZERO }),
            2_000_001
        );
    }

    #[test]
    fn reno_halves_what_is_in_flight() {
        let mut reno = Reno::new(1460, CongestionAvoidance::ByteCounting);
        assert_eq!(reno.on_loss(64_240), 32_120);
        assert_eq!(reno.on_loss(4380), 2920);
    }
}
