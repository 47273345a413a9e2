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
    /// Parameters of the detector.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BandwidthParams {
        /// Bandwidth may be available while the queue is shorter than this.
        available_below: Bytes, "not-congested threshold, BA threshold", Range::POSITIVE;
        /// It is available once the queue has been that short for this long.
        available_after: Span, "congestion timer", Range::at_least(0.0);
    }
}

impl BandwidthParams {
    /// What deck 000 says of the detector: 6 frames of 1500 octets, for 10 ms.
    pub const DECK000: BandwidthParams =
        BandwidthParams { available_below: Bytes::new(9_000), available_after: Span::from_ms(10) };
}

/// Tells from the length of a queue whether its port has bandwidth to spare.
#[derive(Clone, Debug)]
pub struct BandwidthDetector {
    params: BandwidthParams,
    state: BandwidthState,
}

/// How long the queue has been short.
#[derive(Clone, Copy, Debug)]
enum BandwidthState {
    /// It has been below the threshold from the start, and no sample found congestion: there is bandwidth.
    ShortFromStart,
    /// It is at the threshold or above: there is no bandwidth, since `gone_since`.
    Long { gone_since: Instant },
    /// It has been below the threshold since `short_since`, and no sample found congestion. There is bandwidth again
    /// once that has lasted long enough; until then there is none, since `gone_since`.
    Short { short_since: Instant, gone_since: Instant },
}

impl BandwidthDetector {
    /// Returns the detector of a port whose queue is empty, and which so has bandwidth to spare.
    pub const fn new(params: BandwidthParams) -> BandwidthDetector {
        BandwidthDetector { params, state: BandwidthState::ShortFromStart }
    }

    /// The queue has this length from `now` on.
    #[inline]
    pub fn on_len(&mut self, now: Instant, len: Bytes) {
        if len >= self.params.available_below {
            self.state = BandwidthState::Long { gone_since: self.gone_since(now).unwrap_or(now) };
        } else if let BandwidthState::Long { gone_since } = self.state {
            self.state = BandwidthState::Short { short_since: now, gone_since };
        }
    }

    /// A sample found congestion: there is no bandwidth, and the wait for it starts anew.
    pub fn on_congestion(&mut self, now: Instant) {
        if !matches!(self.state, BandwidthState::Long { .. }) {
            let gone_since = self.gone_since(now).unwrap_or(now);
            self.state = BandwidthState::Short { short_since: now, gone_since };
        }
    }

    /// Returns whether bandwidth is available.
    pub fn available(&self, now: Instant) -> bool {
        self.gone_since(now).is_none()
    }

    /// Returns since when there has been no bandwidth; `None` while there is some.
    pub fn gone_since(&self, now: Instant) -> Option<Instant> {
        match self.state {
            BandwidthState::ShortFromStart => None,
            BandwidthState::Long { gone_since } => Some(gone_since),
            BandwidthState::Short { short_since, gone_since } => {
                (now.since(short_since) < self.params.available_after).then_some(gone_since)
            }
        }
    }
}

/// The part that a congestion point with a detector forwards to it.
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
        // The threshold is six frames of 1500 octets: 9000.
        let mut detector = BandwidthDetector::new(BandwidthParams::DECK000);
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
        let mut detector = BandwidthDetector::new(BandwidthParams::DECK000);
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
    /// Congested at 5 ms and, while bandwidth is waited for, at 12 ms: there is none until 22 ms, and none since 5 ms. So
    /// is a queue that is long in between, from 14 to 16 ms: none until 26 ms.
    #[test]
    fn congestion_while_waiting_starts_the_wait_anew() {
        let mut detector = BandwidthDetector::new(BandwidthParams::DECK000);
        detector.on_len(ms(0), Bytes::new(6000));
        detector.on_congestion(ms(5));
        detector.on_congestion(ms(12));
        assert_eq!(detector.gone_since(ms(21)), Some(ms(5)));
        assert!(!detector.available(ms(21)) && detector.available(ms(22)));
        detector.on_len(ms(14), Bytes::new(9000));
        assert_eq!(detector.gone_since(ms(14)), Some(ms(5)));
        detector.on_len(ms(16), Bytes::new(8999));
        detector.on_len(ms(20), Bytes::new(1500));
        assert_eq!(detector.gone_since(ms(25)), Some(ms(5)));
        assert!(detector.available(ms(26)));
        // Congestion after that is new.
        detector.on_congestion(ms(40));
        assert_eq!(detector.gone_since(ms(41)), Some(ms(40)));
    }
}
