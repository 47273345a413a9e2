//! The reaction point: round-trip times, their slope, and the rate.

use super::{TimelyForm, TimelyRpParams};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::window::{WindowRule, step_at};
use crate::roles::{
    AddedHeaders, Endpoint, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct TimelyRp {
    params: TimelyRpParams,
    /// Its base round-trip time is the parameter's, where that is set.
    endpoint: Endpoint,
    pub(super) rate: BitRate,
    rhythm: Rhythm,
    /// The round-trip time of the last decision; `None` before the first sample.
    before: Option<Span>,
    /// Smoothed difference of round-trip times, ps.
    pub(super) slope: f64,
    /// Good decisions in a row.
    pub(super) good: u32,
}

/// What the next decision waits for.
#[derive(Clone, Copy, Debug)]
struct Rhythm {
    /// More than these octets acknowledged, once a round trip.
    until: Bytes,
    /// Octets acknowledged since the last, by segments.
    counted: u64,
    /// And not before this.
    not_before: Instant,
}

impl TimelyRp {
    pub(super) fn new(mut params: TimelyRpParams, endpoint: Endpoint) -> TimelyRp {
        let line_rate = endpoint.line_rate;
        params.ai_rate = step_at(params.ai_rate, params.steps_for, line_rate);
        params.hai_rate = step_at(params.hai_rate, params.steps_for, line_rate);
        let endpoint = endpoint.with_base_rtt(params.base_rtt, params.base_rtt_of);
        TimelyRp {
            params,
            endpoint,
            rate: params.first_rate.map_or(line_rate, |rate| rate.min(line_rate)),
            rhythm: Rhythm { until: Bytes::ZERO, counted: 0, not_before: Instant::ZERO },
            before: None,
            slope: 0.0,
            good: 0,
        }
    }

    /// Whether an acknowledgement of `newly` octets completes a segment or a round trip.
    fn is_due(&mut self, now: Instant, newly: Bytes, flight: &Flight) -> bool {
        let rhythm = &mut self.rhythm;
        match self.params.segment {
            Some(segment) => {
                rhythm.counted += newly.get();
                let due = rhythm.counted >= segment.get() && now >= rhythm.not_before;
                if due {
                    (rhythm.counted, rhythm.not_before) = (0, now + self.params.min_rtt);
                }
                due
            }
            None => {
                let due = flight.acknowledged > rhythm.until;
                if due {
                    rhythm.until = flight.sent;
                }
                due
            }
        }
    }

    /// A decision, by the round-trip time that is now known.
    fn decide(&mut self, rtt: Span) {
        let Some(before) = self.before.replace(rtt) else { return };
        let params = &self.params;
        let (rtt_ps, low, high) = (rtt.ps() as f64, params.t_low, params.t_high);
        let difference = rtt_ps - before.ps() as f64;
        self.slope = (1.0 - params.gain) * self.slope + params.gain * difference;
        let gradient = self.slope / params.min_rtt.ps() as f64;
        if rtt < low {
            self.rise(params.hai_below_low);
        } else if rtt > high {
            self.fall(1.0 - params.beta * (1.0 - high.ps() as f64 / rtt_ps));
        } else if params.form == TimelyForm::Patched {
            self.steer(gradient, rtt_ps);
        } else if gradient <= 0.0 {
            self.rise(true);
        } else {
            self.fall(1.0 - params.beta * gradient);
        }
    }

    /// A step up; a large one after enough good decisions, where `hyper` permits.
    fn rise(&mut self, hyper: bool) {
        let hyper = hyper && self.params.form == TimelyForm::Published && self.good >= self.params.hai_after;
        let step = if hyper { self.params.hai_rate } else { self.params.ai_rate };
        self.rate = (self.rate + step).min(self.endpoint.line_rate);
        self.good = self.good.saturating_add(1);
    }

    fn fall(&mut self, factor: f64) {
        self.set(self.rate.as_f64() * factor.max(0.0));
        self.good = 0;
    }

    /// The patched form's move between the thresholds.
    fn steer(&mut self, gradient: f64, rtt_ps: f64) {
        let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
        let reference = self.params.reference.unwrap_or(self.params.t_low).ps() as f64;
        let error = (rtt_ps - reference) / reference;
        let kept = self.rate.as_f64() * (1.0 - self.params.beta * weight * error);
        self.set(kept + self.params.ai_rate.as_f64() * (1.0 - weight));
    }

    fn set(&mut self, rate: f64) {
        let least = self.params.min_rate.min(self.endpoint.line_rate);
        self.rate = BitRate::bps(rate.max(0.0) as u64).max(least).min(self.endpoint.line_rate);
    }
}

impl ReactionPoint for TimelyRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities {
            events: EventKinds::ACKNOWLEDGEMENTS,
            permits_windows: self.params.window != WindowRule::Open,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    #[inline]
    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, _: &mut Dice) {
        if let TransportEvent::Acknowledged(ack) = event
            && self.is_due(now, ack.newly, flight)
        {
            self.decide(now.since(ack.sent_at));
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        Some(self.rate)
    }

    fn window(&self) -> Option<Bytes> {
        self.params.window.window(&self.endpoint, self.rate)
    }

    fn added_headers(&self) -> AddedHeaders {
        AddedHeaders { data: self.params.header, acknowledgement: Bytes::ZERO }
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate)
    }
}

impl RpFastPath for TimelyRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
