//! ECN marking by queue length: a ramp of probability between two thresholds (RED, WRED), or a step where they meet.

use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use crate::params::Range;
use crate::roles::{Arrival, CongestionPoint, CpAction, CpCapabilities, Queue};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant};

choice! {
    /// When a port marks a frame.
    pub enum MarkAt {
        /// When it leaves, by what stays behind: the sender hears of a queue that is there now.
        Departure = "departure",
        /// When it arrives, by the queue with it: the mark then waits in that queue.
        Arrival = "arrival",
    }
}

params! {
    /// Parameters of a ramp.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RampParams {
        /// Up to this queue length nothing is marked.
        k_min: Bytes, "Kmin, green_min_threshold", Range::at_least(0.0);
        /// Above this queue length everything is marked; never less than `k_min`.
        k_max: Bytes, "Kmax, green_max_threshold", Range::at_least(0.0);
        /// Probability of a mark at `k_max`; the ramp from `k_min` leads there.
        p_max: f64, "Pmax, green_drop_probability", Range::between(0.0, 1.0);
        /// When a port marks a frame.
        mark_at: MarkAt, "", Range::ANY;
        /// The port's rate that the thresholds are for: at another they grow and shrink with it. Unset, they are the
        /// same at every port.
        thresholds_for: Option<BitRate>, "", Range::POSITIVE;
    }
}

/// A congestion point that marks by queue length and does nothing else.
#[derive(Clone, Debug)]
pub struct RampCp {
    params: RampParams,
}

impl RampCp {
    /// A congestion point with these thresholds.
    pub const fn new(params: RampParams) -> RampCp {
        RampCp { params }
    }

    /// Both thresholds at a port of `rate`, octets.
    fn thresholds(&self, rate: BitRate) -> (f64, f64) {
        let RampParams { k_min, k_max, thresholds_for, .. } = self.params;
        let scale = thresholds_for.map_or(1.0, |own| rate.as_f64() / own.as_f64());
        (k_min.as_f64() * scale, k_max.as_f64() * scale)
    }

    /// Probability of a mark.
    pub(crate) fn probability(&self, queue: Queue) -> f64 {
        let p_max = self.params.p_max;
        let (len, (low, high)) = (queue.len.as_f64(), self.thresholds(queue.rate));
        if len <= low {
            0.0
        } else if len > high {
            1.0
        } else {
            p_max * (len - low) / (high - low)
        }
    }

    /// Marks by other thresholds from now on.
    pub const fn set(&mut self, params: RampParams) {
        self.params = params;
    }

    /// Draws by the ramp.
    pub fn draws(&self, queue: Queue, dice: &mut Dice) -> bool {
        let p = self.probability(queue);
        p > 0.0 && (p >= 1.0 || dice.uniform(0.0, 1.0) < p)
    }
}

impl CongestionPoint for RampCp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        let looked_at = frame.controlled && frame.admitted && self.params.mark_at == MarkAt::Arrival;
        if looked_at && self.draws(queue, dice) { CpAction::Mark(1) } else { CpAction::Nothing }
    }

    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities {
            marks_departures: self.params.mark_at == MarkAt::Departure,
            marks_arrivals: self.params.mark_at == MarkAt::Arrival,
            ..CpCapabilities::ARRIVALS_ONLY
        }
    }

    #[inline]
    fn departure_mark(&mut self, _: Instant, controlled: bool, queue: Queue, dice: &mut Dice) -> u8 {
        u8::from(controlled && self.params.mark_at == MarkAt::Departure && self.draws(queue, dice))
    }
}

impl CpFastPath for RampCp {
    fn ignores_arrivals(&self) -> bool {
        self.params.mark_at == MarkAt::Departure
    }

    fn ignores_departures_up_to(&self, rate: BitRate) -> Option<Bytes> {
        Some(Bytes::new(self.thresholds(rate).0 as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Purpose;

    /// Thresholds of 400 and 1600 KB for 100 Gb/s: at 25 Gb/s 100 and 400 KB, half of the way at 250 KB.
    #[test]
    fn thresholds_scale_with_the_port() {
        let ramp = RampCp::new(RampParams {
            k_min: Bytes::new(400_000),
            k_max: Bytes::new(1_600_000),
            p_max: 0.2,
            mark_at: MarkAt::Departure,
            thresholds_for: Some(BitRate::gbps(100)),
        });
        let at = |len, gbps| {
            let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(1 << 25), rate: BitRate::gbps(gbps) };
            ramp.probability(queue)
        };
        for (len, gbps, p) in [(1_000_000, 100, 0.1), (250_000, 25, 0.1), (250_000, 100, 0.0), (400_001, 25, 1.0)] {
            assert!((at(len, gbps) - p).abs() < 1e-12, "{len} at {gbps} Gb/s");
        }
    }

    /// At the upper threshold the ramp ends, at 0.2, and above it all is marked; new thresholds hold from now on.
    #[test]
    fn the_ramp_ends_at_its_upper_threshold() {
        let params = RampParams {
            k_min: Bytes::new(10_000),
            k_max: Bytes::new(20_000),
            p_max: 0.2,
            mark_at: MarkAt::Departure,
            thresholds_for: None,
        };
        let mut ramp = RampCp::new(params);
        let at = |ramp: &RampCp, len| {
            let rate = BitRate::gbps(10);
            ramp.probability(Queue { len: Bytes::new(len), capacity: Bytes::new(1 << 25), rate })
        };
        assert_eq!([10_000, 20_000, 20_001].map(|len| at(&ramp, len)), [0.0, 0.2, 1.0]);
        ramp.set(RampParams { k_min: Bytes::new(20_000), k_max: Bytes::new(30_000), ..params });
        assert_eq!([20_000, 25_000, 30_001].map(|len| at(&ramp, len)), [0.0, 0.1, 1.0]);
    }

    /// Numbers are drawn from 0 to 1 without the 1, so that those below p are the share p of all: p itself marks nothing.
    #[test]
    fn a_draw_marks_below_the_probability() {
        let dice = Dice::new(1, 0, "ramp", Purpose::Sampling);
        let drawn = dice.clone().uniform(0.0, 1.0);
        for (p_max, marked) in [(drawn, false), (drawn * (1.0 + 1e-9), true)] {
            let (k_min, k_max) = (Bytes::ZERO, Bytes::new(1));
            let ramp =
                RampCp::new(RampParams { k_min, k_max, p_max, mark_at: MarkAt::Departure, thresholds_for: None });
            let queue = Queue { len: k_max, capacity: Bytes::new(1 << 25), rate: BitRate::gbps(10) };
            assert_eq!(ramp.draws(queue, &mut dice.clone()), marked, "{p_max} and a draw of {drawn}");
        }
    }

    /// 400 KB for 100 Gb/s are 100 KB at 25 Gb/s: up to there no departure is marked, and one octet more may be.
    #[test]
    fn departures_mean_nothing_up_to_the_lower_threshold_of_their_port() {
        let params = RampParams {
            k_min: Bytes::new(400_000),
            k_max: Bytes::new(400_000),
            p_max: 1.0,
            mark_at: MarkAt::Departure,
            thresholds_for: Some(BitRate::gbps(100)),
        };
        let mut cp = RampCp::new(params);
        assert_eq!(cp.ignores_departures_up_to(BitRate::gbps(100)), Some(Bytes::new(400_000)));
        assert_eq!(cp.ignores_departures_up_to(BitRate::gbps(25)), Some(Bytes::new(100_000)));
        let mut dice = Dice::new(1, 0, "ramp", Purpose::Sampling);
        let mut marked = |len| {
            let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(1 << 25), rate: BitRate::gbps(25) };
            cp.departure_mark(Instant::ZERO, true, queue, &mut dice)
        };
        assert_eq!([100_000, 100_001].map(&mut marked), [0, 1]);
    }
}
