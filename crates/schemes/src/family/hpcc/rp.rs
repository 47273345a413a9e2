//! The reaction point: how full the path is, and the window or rate that fills it to eta.

use super::{HpccForm, HpccRpParams};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::telemetry::LastTelemetry;
use crate::parts::window::{WindowRule, step_at};
use crate::roles::{
    Acknowledgement, AddedHeaders, Endpoint, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp,
    TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct HpccRp {
    params: HpccRpParams,
    /// Its base round-trip time is the parameter's, where that is set.
    endpoint: Endpoint,
    /// T, ps.
    base_rtt: f64,
    /// What is controlled, in its unit: octets or bit/s.
    pub(super) unit: ControlUnit,
    /// W, or R.
    pub(super) current: f64,
    /// Wc, or Rc: the value at the last update of a round trip.
    pub(super) reference: f64,
    /// U.
    pub(super) load: f64,
    stage: u32,
    /// More than these octets acknowledged are a round trip (lastUpdateSeq).
    until: Bytes,
    /// L.
    seen: Box<LastTelemetry>,
}

/// What is controlled, from its least value to its largest, and its additive step.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlUnit {
    pub(super) step: f64,
    least: f64,
    most: f64,
}

impl HpccRp {
    pub(in crate::family) fn new(params: HpccRpParams, endpoint: Endpoint) -> HpccRp {
        let endpoint = endpoint.with_base_rtt(params.base_rtt, params.base_rtt_of);
        let line_rate = endpoint.line_rate.as_f64();
        let bdp = endpoint.bdp().as_f64();
        let least_rate = params.min_rate.as_f64().min(line_rate);
        let additive = || bdp * (1.0 - params.eta) / f64::from(params.expected_flows);
        let unit = match params.form {
            HpccForm::Window => ControlUnit {
                step: params.additive_window.map_or_else(additive, Bytes::as_f64),
                least: bdp * least_rate / line_rate,
                most: bdp,
            },
            HpccForm::Rate => ControlUnit {
                step: step_at(params.ai_rate, params.steps_for, endpoint.line_rate).as_f64(),
                least: least_rate,
                most: line_rate,
            },
        };
        HpccRp {
            params,
            endpoint,
            // Where it is not known, what a packet takes at line rate stands in.
            base_rtt: bdp * 8.0e12 / line_rate,
            unit,
            current: unit.most,
            reference: unit.most,
            load: 1.0,
            stage: 0,
            until: Bytes::ZERO,
            seen: Box::new(LastTelemetry::NONE),
        }
    }

    fn on_ack(&mut self, ack: &Acknowledgement<'_>, flight: &Flight) {
        if self.measure(ack) {
            self.update(flight.acknowledged > self.until);
        }
        if flight.acknowledged > self.until {
            self.until = flight.sent;
        }
        self.seen.keep(ack);
    }

    /// Takes a load that was measured elsewhere; the first begins a round trip, and changes nothing.
    pub(in crate::family) fn on_load(&mut self, load: f64, flight: &Flight) {
        let round_trip = flight.acknowledged > self.until;
        if self.until > Bytes::ZERO {
            self.load = load;
            self.update(round_trip);
        }
        if round_trip {
            self.until = flight.sent;
        }
    }

    /// Takes the load of the fullest hop into U; returns false if no hop tells anything new.
    fn measure(&mut self, ack: &Acknowledgement<'_>) -> bool {
        let (mut largest, mut tau) = (f64::NEG_INFINITY, 0.0);
        for hop in self.seen.changes(ack) {
            let queue = hop.now.queue.min(hop.before.queue).as_f64();
            let load = queue / hop.carries(self.base_rtt) + hop.sent() / hop.carries(hop.time);
            if load > largest {
                (largest, tau) = (load, hop.time);
            }
        }
        if tau == 0.0 {
            return false;
        }
        let share = (tau / self.base_rtt).min(1.0);
        self.load = (1.0 - share) * self.load + share * largest;
        true
    }

    /// Algorithm 1's ComputeWind.
    fn update(&mut self, round_trip: bool) {
        let factor = self.load / self.params.eta;
        let multiplicative = factor >= 1.0 || self.stage >= self.params.max_stage;
        let base = if multiplicative { self.reference / factor } else { self.reference };
        self.current = (base + self.unit.step).clamp(self.unit.least, self.unit.most);
        if round_trip {
            self.stage = if multiplicative { 0 } else { self.stage + 1 };
            self.reference = self.current;
        }
    }

    fn rate(&self) -> BitRate {
        BitRate::bps((self.endpoint.line_rate.as_f64() * self.current / self.unit.most) as u64)
    }
}

impl ReactionPoint for HpccRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities {
            events: EventKinds::ACKNOWLEDGEMENTS,
            permits_windows: self.params.form == HpccForm::Window || self.params.window != WindowRule::Open,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    #[inline]
    fn on_transport(&mut self, _: Instant, event: &TransportEvent<'_>, flight: &Flight, _: &mut Dice) {
        if let TransportEvent::Acknowledged(ack) = event {
            self.on_ack(ack, flight);
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        Some(self.rate())
    }

    #[inline]
    fn window(&self) -> Option<Bytes> {
        match self.params.form {
            HpccForm::Window => Some(Bytes::new((self.current as u64).max(1))),
            HpccForm::Rate => self.params.window.window(&self.endpoint, self.rate()),
        }
    }

    fn added_headers(&self) -> AddedHeaders {
        AddedHeaders { data: self.params.header, acknowledgement: self.params.ack_header }
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate())
    }
}

impl RpFastPath for HpccRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
