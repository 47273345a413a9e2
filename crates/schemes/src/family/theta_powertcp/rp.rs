//! The reaction point: the power of the path by its round-trip times, and the window or rate that is divided by it.

use super::{PowerRhythm, ThetaPowertcpRpParams};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::power::{OldWindow, PowerLaw, PowerNumbers};
use crate::roles::{
    AddedHeaders, Endpoint, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct ThetaPowertcpRp {
    params: ThetaPowertcpRpParams,
    pub(super) law: PowerLaw,
    /// The last round-trip time that was measured, and when.
    before: Option<(Span, Instant)>,
}

impl ThetaPowertcpRp {
    pub(super) fn new(params: ThetaPowertcpRpParams, endpoint: Endpoint) -> ThetaPowertcpRp {
        let numbers = PowerNumbers {
            form: params.form,
            gamma: params.gamma,
            beta: params.beta,
            expected_flows: params.expected_flows,
            ai_rate: params.ai_rate,
            min_rate: params.min_rate,
            window: params.window,
            // The window moves once a round trip: one that is noted then is that of what is acknowledged.
            old_window: OldWindow::RoundTrip,
            first_power: params.first_power,
        };
        let law = PowerLaw::new(&numbers, endpoint.with_base_rtt(params.base_rtt, params.base_rtt_of));
        ThetaPowertcpRp { params, law, before: None }
    }

    pub(super) fn on_ack(&mut self, now: Instant, rtt: Span, flight: &Flight) {
        let round_trip = self.law.is_round_trip(flight);
        let is_due = |rhythm| round_trip || rhythm == PowerRhythm::Acknowledgement;
        if is_due(self.params.measures) && self.measure(now, rtt) && is_due(self.params.updates) {
            self.law.update(1.0);
        }
        self.law.note(flight);
    }

    /// Takes a round-trip time into the smoothed power; returns false if it is the first, or no time has passed since the
    /// last.
    fn measure(&mut self, now: Instant, rtt: Span) -> bool {
        let Some((before, at)) = self.before else {
            self.before = Some((rtt, now));
            return false;
        };
        let time = now.since(at).ps() as f64;
        if time <= 0.0 {
            return false;
        }
        self.before = Some((rtt, now));
        let rtt = rtt.ps() as f64;
        let current = ((rtt - before.ps() as f64) / time + 1.0).max(self.params.least_current);
        self.law.smooth(current * rtt / (self.params.tau_factor * self.law.tau), time);
        true
    }
}

impl ReactionPoint for ThetaPowertcpRp {
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
    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, _: &mut Dice) {
        if let TransportEvent::Acknowledged(ack) = event {
            self.on_ack(now, now.since(ack.sent_at), flight);
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
        AddedHeaders { data: self.params.header, acknowledgement: Bytes::ZERO }
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.law.rate())
    }
}

impl RpFastPath for ThetaPowertcpRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
