//! The reaction point: the power of the path, and the window or rate that is divided by it.

use super::PowertcpRpParams;
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::power::{PowerLaw, PowerNumbers};
use crate::parts::telemetry::LastTelemetry;
use crate::roles::{
    Acknowledgement, AddedHeaders, Endpoint, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp,
    TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct PowertcpRp {
    pub(super) law: PowerLaw,
    eta: f64,
    least_current: f64,
    added: AddedHeaders,
    seen: Box<LastTelemetry>,
}

impl PowertcpRp {
    pub(super) fn new(params: &PowertcpRpParams, endpoint: Endpoint) -> PowertcpRp {
        let numbers = PowerNumbers {
            form: params.form,
            gamma: params.gamma,
            beta: params.beta,
            expected_flows: params.expected_flows,
            ai_rate: params.ai_rate,
            min_rate: params.min_rate,
            window: params.window,
            old_window: params.old_window,
            first_power: params.first_power,
        };
        PowertcpRp {
            law: PowerLaw::new(&numbers, endpoint.with_base_rtt(params.base_rtt, params.base_rtt_of)),
            eta: params.eta,
            least_current: params.least_current,
            added: AddedHeaders { data: params.header, acknowledgement: params.ack_header },
            seen: Box::new(LastTelemetry::NONE),
        }
    }

    fn on_ack(&mut self, ack: &Acknowledgement<'_>, flight: &Flight) {
        if let Some((power, time)) = self.measure(ack) {
            self.law.smooth(power, time);
            self.law.recall(flight);
            self.law.update(self.eta);
        }
        self.law.note(flight);
        self.seen.keep(ack);
    }

    /// Returns the largest power of a hop and the time that it was measured over, ps; `None` if no hop tells anything new.
    fn measure(&self, ack: &Acknowledgement<'_>) -> Option<(f64, f64)> {
        let mut largest: Option<(f64, f64)> = None;
        for hop in self.seen.changes(ack) {
            let queue = hop.now.queue.as_f64();
            let arrived = queue - hop.before.queue.as_f64() + hop.sent();
            let current = (arrived / hop.carries(hop.time)).max(self.least_current);
            let power = current * (1.0 + queue / hop.carries(self.law.tau));
            if largest.is_none_or(|(most, _)| power > most) {
                largest = Some((power, hop.time));
            }
        }
        largest
    }
}

impl ReactionPoint for PowertcpRp {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities {
            events: EventKinds::ACKNOWLEDGEMENTS,
            permits_windows: self.law.permits_windows(),
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
        Some(self.law.rate())
    }

    #[inline]
    fn window(&self) -> Option<Bytes> {
        self.law.window()
    }

    fn added_headers(&self) -> AddedHeaders {
        self.added
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.law.rate())
    }
}

impl RpFastPath for PowertcpRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
