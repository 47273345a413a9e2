//! The reaction point: down to what arrives, and up again towards the line rate.

use super::PcnRpParams;
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::drift::Drift;
use crate::roles::{Gauge, ReactionPoint, Signal, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct PcnRp {
    params: PcnRpParams,
    line_rate: BitRate,
    pub(super) rate: BitRate,
    /// The weight of the line rate in the next increase.
    pub(super) w: f64,
    /// When the current period ends; [`Instant::NEVER`] at line rate.
    ends: Instant,
    /// Whether a CNP came in it.
    heard: bool,
    drift: Drift,
}

impl PcnRp {
    pub(super) const fn new(params: PcnRpParams, line_rate: BitRate) -> PcnRp {
        let drift = Drift::new(params.drift);
        PcnRp { params, line_rate, rate: line_rate, w: params.w_min, ends: Instant::NEVER, heard: false, drift }
    }

    fn on_cnp(&mut self, now: Instant, received: BitRate) {
        self.w = self.params.w_min;
        self.heard = true;
        if self.rate <= received {
            return;
        }
        let left = received.scaled_rounded_down(1.0 - self.params.w_min).max(self.params.min_rate);
        self.rate = self.rate.min(left);
        if self.ends == Instant::NEVER {
            self.ends = now + self.params.period;
            self.drift.start(now);
        }
    }

    fn increase(&mut self) {
        let PcnRpParams { w_max, .. } = self.params;
        let (rate, line, w) = (self.rate.as_f64(), self.line_rate.as_f64(), self.w);
        // Rounded up, so that it reaches the line rate.
        self.rate = BitRate::bps((rate * (1.0 - w) + line * w).ceil() as u64).min(self.line_rate);
        self.w = w * (1.0 - w) + w_max * w;
    }
}

impl ReactionPoint for PcnRp {
    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        if let Signal::ReceivedRate(received) = signal {
            self.on_cnp(now, *received);
        }
    }

    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        if now >= self.ends {
            self.ends = now + self.params.period;
            if !std::mem::take(&mut self.heard) {
                self.increase();
            }
        }
        if let Some(step) = self.drift.due(now) {
            self.rate = (self.rate + step).min(self.line_rate);
        }
        if self.rate == self.line_rate {
            self.ends = Instant::NEVER;
            self.drift.stop();
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        self.ends.min(self.drift.next())
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        (self.rate < self.line_rate).then_some(self.rate)
    }

    fn gauge(&self) -> Gauge {
        Gauge { current_rate: self.rate, target_rate: self.line_rate }
    }
}

impl RpFastPath for PcnRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
