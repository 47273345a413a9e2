//! The bandwidth-available detector of a switch port.
//!
//! Deck 000, At the Switch: bandwidth is available when the queue has been shorter than a threshold
//! for long enough. A queue that reaches the threshold takes it back at once, and so does congestion
//! (Fb < 0 implies BA = 0).

use crate::dice::Dice;
use crate::params;
use crate::params::Range;
use crate::roles::{Arrival, CongestionPoint, CpAction, CpCapabilities, Queue};
use qcnlab_units::{Bytes, Instant, Span};

params! {
    /// Parameters of a congestion point with two sensors: sampled feedback, and the detector.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SensorParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "Q_EQ, Qeq", Range::at_least(100.0);
        /// Weight of queue growth against queue offset in the feedback.
        w: f64, "W", Range::between(0.000_976_562_5, 1024.0);
        /// Octets between samples while there is no congestion.
        sample_base: Bytes, "base marking", Range::at_least(1.0);
        /// Full width of the random spread of the sampling interval: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// Whether discarded frames count towards the sampling interval and may be sampled.
        count_discarded: bool, "", Range::ANY;
        /// Bandwidth may be available while the queue is shorter than this.
        available_below: Bytes, "not-congested threshold, BA threshold", Range::POSITIVE;
        /// It is available once the queue has been that short for this long.
        available_after: Span, "congestion timer", Range::at_least(0.0);
    }
}

/// What deck 000 says of both sensors: set point 22 frames, threshold 6 frames for 10 ms.
pub const TWO_SENSORS_DECK000: SensorParams = SensorParams {
    set_point: Bytes::new(33_000),
    w: 2.0,
    sample_base: Bytes::new(150_000),
    jitter_width: 0.3,
    count_discarded: false,
    available_below: Bytes::new(9_000),
    available_after: Span::from_ms(10),
};

impl SensorParams {
    /// The detector.
    pub const fn detector(&self) -> BandwidthDetector {
        BandwidthDetector::new(self.available_below, self.available_after)
    }
}

/// Watches a queue's length.
#[derive(Clone, Debug)]
pub struct BandwidthDetector {
    threshold: Bytes,
    hold: Span,
    short_since: Option<Instant>,
    gone_since: Instant,
}

impl BandwidthDetector {
    /// Bandwidth is available once the queue has been below `threshold` for `hold`. A port that
    /// starts empty has it.
    pub const fn new(threshold: Bytes, hold: Span) -> BandwidthDetector {
        BandwidthDetector { threshold, hold, short_since: None, gone_since: Instant::ZERO }
    }

    /// The queue has this length from `now` on.
    #[inline]
    pub fn on_len(&mut self, now: Instant, len: Bytes) {
        if len >= self.threshold {
            if self.available(now) {
                self.gone_since = now;
            }
            self.short_since = Some(Instant::NEVER);
        } else if self.short_since == Some(Instant::NEVER) {
            self.short_since = Some(now);
        }
    }

    /// A sample found congestion: no bandwidth, and the wait for it starts anew.
    pub fn on_congestion(&mut self, now: Instant) {
        if self.available(now) {
            self.gone_since = now;
        }
        if self.short_since != Some(Instant::NEVER) {
            self.short_since = Some(now);
        }
    }

    /// Whether bandwidth is available.
    pub fn available(&self, now: Instant) -> bool {
        match self.short_since {
            None => true,
            Some(Instant::NEVER) => false,
            Some(since) => now.since(since) >= self.hold,
        }
    }

    /// Since when there has been no bandwidth; `None` while there is some.
    pub fn gone_since(&self, now: Instant) -> Option<Instant> {
        (!self.available(now)).then_some(self.gone_since)
    }
}

/// A congestion point that only watches: those with two sensors have it inside.
impl CongestionPoint for BandwidthDetector {
    #[inline]
    fn on_arrival(&mut self, now: Instant, _: &Arrival, queue: Queue, _: &mut Dice) -> CpAction {
        self.on_len(now, queue.len);
        CpAction::Nothing
    }

    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities { sees_departures: true, ..CpCapabilities::ARRIVALS_ONLY }
    }

    #[inline]
    fn on_departure(&mut self, now: Instant, len: Bytes) {
        self.on_len(now, len);
    }

    fn no_bandwidth_since(&self, now: Instant) -> Option<Instant> {
        self.gone_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_ms(n)
    }

    #[test]
    fn short_for_ten_milliseconds() {
        // Six frames of 1500 octets.
        let mut detector = BandwidthDetector::new(Bytes::new(9000), Span::from_ms(10));
        detector.on_len(ms(0), Bytes::new(1500));
        assert!(detector.available(ms(0)), "a port starts with bandwidth");
        detector.on_len(ms(1), Bytes::new(9000));
        assert!(!detector.available(ms(1)));
        assert_eq!(detector.gone_since(ms(11)), Some(ms(1)));
        detector.on_len(ms(2), Bytes::new(7500));
        assert!(!detector.available(ms(11)));
        assert!(detector.available(ms(12)));
        // Reaching the threshold again takes it back, and the wait starts anew.
        detector.on_len(ms(13), Bytes::new(9000));
        detector.on_len(ms(14), Bytes::new(0));
        assert!(!detector.available(ms(23)));
        assert!(detector.available(ms(24)));
    }

    #[test]
    fn congestion_takes_it_back_whatever_the_queue() {
        let mut detector = BandwidthDetector::new(Bytes::new(9000), Span::from_ms(10));
        detector.on_len(ms(0), Bytes::new(6000));
        detector.on_congestion(ms(5));
        assert_eq!(detector.gone_since(ms(5)), Some(ms(5)));
        assert!(!detector.available(ms(14)));
        assert!(detector.available(ms(15)));
        // With the queue above the threshold it stays gone until the queue is short.
        detector.on_len(ms(20), Bytes::new(12_000));
        detector.on_congestion(ms(21));
        assert_eq!(detector.gone_since(ms(90)), Some(ms(20)));
    }
}
