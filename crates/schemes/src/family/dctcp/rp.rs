//! The reaction point: alpha, and a window or a rate that it cuts.

use super::{DctcpForm, DctcpRpParams};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::window::{WindowRule, step_at};
use crate::roles::{
    Acknowledgement, Endpoint, EventKinds, Flight, Gauge, LossSign, ReactionPoint, RpCapabilities, Signal, Stamp,
    TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant};

/// The reaction point.
#[derive(Clone, Debug)]
pub struct DctcpRp {
    params: DctcpRpParams,
    /// Its base round-trip time is the parameter's, where that is set.
    endpoint: Endpoint,
    pub(super) alpha: f64,
    observed: Observed,
    /// A cut holds until more than these octets are acknowledged.
    cut_until: Option<Bytes>,
    pub(super) state: DctcpState,
}

/// What it controls.
#[derive(Clone, Debug)]
pub(super) enum DctcpState {
    /// A window, octets; below the threshold it is in slow start. `counted` octets count towards the next packet.
    Window { window: u64, threshold: u64, counted: u64 },
    /// A rate.
    Rate(BitRate),
}

/// The marks of the present window of data.
#[derive(Clone, Copy, Debug, Default)]
struct Observed {
    /// It ends when more than these octets are acknowledged.
    until: Bytes,
    /// Whether an acknowledgement has come at all.
    begun: bool,
    octets: u64,
    marked_octets: u64,
    marked: u32,
    /// Packets in flight when it began, form rate.
    batch: u64,
}

impl DctcpRp {
    pub(super) fn new(mut params: DctcpRpParams, endpoint: Endpoint) -> DctcpRp {
        let endpoint = endpoint.with_base_rtt(params.base_rtt, params.base_rtt_of);
        params.ai_rate = step_at(params.ai_rate, params.steps_for, endpoint.line_rate);
        let least = u64::from(params.min_window) * endpoint.mtu.get();
        let window = params.initial_window.unwrap_or(endpoint.bdp()).get().max(least);
        let state = match params.form {
            DctcpForm::Window => DctcpState::Window { window, threshold: window, counted: 0 },
            DctcpForm::Rate => DctcpState::Rate(endpoint.line_rate),
        };
        let alpha = params.alpha_initial;
        DctcpRp { params, endpoint, alpha, observed: Observed::default(), cut_until: None, state }
    }

    /// An acknowledgement: alpha first, then the cut, then the growth.
    fn on_ack(&mut self, ack: &Acknowledgement<'_>, flight: &Flight) {
        let round_trip = self.observe(ack, flight);
        if self.cut_until.is_some_and(|until| flight.acknowledged > until) {
            self.cut_until = None;
        }
        if ack.marked > 0 {
            self.cut(self.alpha / 2.0, flight);
        }
        if self.cut_until.is_none() {
            self.grow(ack.newly, round_trip);
        }
    }

    /// Counts marks, and takes them into alpha at the end of a window of data; returns whether this is one.
    fn observe(&mut self, ack: &Acknowledgement<'_>, flight: &Flight) -> bool {
        let seen = &mut self.observed;
        seen.octets += ack.newly.get();
        seen.marked_octets += ack.newly.get() * u64::from(ack.marked) / u64::from(ack.packets.max(1));
        seen.marked += ack.marked;
        if seen.begun && flight.acknowledged <= seen.until {
            return false;
        }
        let mtu = self.endpoint.mtu.get().max(1);
        let ended = match self.params.form {
            DctcpForm::Window => (seen.octets > 0).then(|| seen.marked_octets as f64 / seen.octets as f64),
            // The simulator leaves the first round trip out, and counts its marks in the next.
            DctcpForm::Rate => seen.begun.then(|| (f64::from(seen.marked) / seen.batch as f64).min(1.0)),
        };
        let marked = if ended.is_some() { 0 } else { seen.marked };
        if let Some(share) = ended {
            self.alpha = (1.0 - self.params.g) * self.alpha + self.params.g * share;
        }
        let first = self.params.form == DctcpForm::Rate && !seen.begun;
        let outstanding = if first { flight.sent } else { flight.sent.saturating_sub(flight.acknowledged) };
        let batch = outstanding.get() / mtu + 1;
        *seen = Observed { until: flight.sent, begun: true, octets: 0, marked_octets: 0, marked, batch };
        true
    }

    /// Takes a share off, once in a window of data.
    fn cut(&mut self, share: f64, flight: &Flight) {
        if self.cut_until.is_some() {
            return;
        }
        self.cut_until = Some(flight.sent);
        match &mut self.state {
            DctcpState::Window { window, threshold, counted } => {
                let least = u64::from(self.params.min_window) * self.endpoint.mtu.get();
                *window = ((*window as f64 * (1.0 - share)) as u64).max(least);
                (*threshold, *counted) = (*window, 0);
            }
            DctcpState::Rate(rate) => {
                let least = self.params.min_rate.min(self.endpoint.line_rate);
                *rate = rate.scaled_rounded_down(1.0 - share).max(least);
            }
        }
    }

    fn grow(&mut self, newly: Bytes, round_trip: bool) {
        let mtu = self.endpoint.mtu.get();
        match &mut self.state {
            DctcpState::Window { window, threshold, .. } if *window < *threshold => *window += newly.get(),
            DctcpState::Window { window, counted, .. } => {
                *counted += newly.get();
                if *counted >= *window {
                    *counted -= *window;
                    *window += mtu;
                }
            }
            DctcpState::Rate(rate) if round_trip => {
                *rate = (*rate + self.params.ai_rate).min(self.endpoint.line_rate);
            }
            DctcpState::Rate(_) => {}
        }
    }

    /// After a timeout the window is the least there is, and grows fast to half of what it was. The simulator of the
    /// other form has no timeout.
    fn on_timeout(&mut self, flight: &Flight) {
        if let DctcpState::Window { window, threshold, counted } = &mut self.state {
            *threshold = (*window / 2).max(2 * self.endpoint.mtu.get());
            *window = u64::from(self.params.min_window) * self.endpoint.mtu.get();
            *counted = 0;
            self.cut_until = Some(flight.sent);
        }
    }
}

impl ReactionPoint for DctcpRp {
    fn capabilities(&self) -> RpCapabilities {
        let by_rate = self.params.form == DctcpForm::Rate;
        RpCapabilities {
            limits: by_rate,
            events: if by_rate { EventKinds::ACKNOWLEDGEMENTS } else { EventKinds::ARRIVALS_AND_LOSSES },
            permits_windows: !by_rate || self.params.window != WindowRule::Open,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}

    fn on_transport(&mut self, _: Instant, event: &TransportEvent<'_>, flight: &Flight, _: &mut Dice) {
        match event {
            TransportEvent::Acknowledged(ack) => self.on_ack(ack, flight),
            _ if self.params.form == DctcpForm::Rate => {}
            TransportEvent::NegativelyAcknowledged | TransportEvent::Lost(LossSign::Gap) => self.cut(0.5, flight),
            TransportEvent::Lost(LossSign::Timeout) => self.on_timeout(flight),
            _ => {}
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match self.state {
            DctcpState::Window { .. } => None,
            DctcpState::Rate(rate) => Some(rate),
        }
    }

    #[inline]
    fn window(&self) -> Option<Bytes> {
        match self.state {
            DctcpState::Window { window, .. } => Some(Bytes::new(window)),
            DctcpState::Rate(rate) => self.params.window.window(&self.endpoint, rate),
        }
    }

    /// The rate, or what the window sends in a base round-trip time.
    fn gauge(&self) -> Gauge {
        match self.state {
            DctcpState::Rate(rate) => Gauge::at(rate),
            DctcpState::Window { window, .. } => {
                let share = window as f64 / self.endpoint.bdp().as_f64();
                Gauge::at(self.endpoint.line_rate.scaled_rounded_down(share.min(1.0)))
            }
        }
    }
}

impl RpFastPath for DctcpRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
