//! A scheme that does nothing to traffic and keeps what its reaction points are told.

use super::TEN;
use super::net::Net;
use qcnlab_schemes::foreign::{Foreign, ForeignCp, ForeignNp, ForeignRp, ForeignScheme, Parameters};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::transport::{EventKinds, Flight, TransportEvent};
use qcnlab_schemes::{
    Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, Dice, Echo, Endpoint, Gauge, NotificationPoint, Queue,
    QueueLen, ReactionPoint, RpCapabilities, Signal, SignalKind, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// What is kept of an event.
type Hear<T> = fn(Instant, &TransportEvent<'_>, &mut Vec<T>);

/// A frame that a port was shown: when, of which flow, whether it was admitted, and the octets queued.
pub(super) type Shown = (Instant, u32, bool, u64);

/// What is kept, by all machines of a scheme.
pub(super) type Kept<T> = Arc<Mutex<Vec<T>>>;

/// The scheme, and all its machines.
#[derive(Clone, Debug)]
pub(super) struct Listener<T> {
    /// What reaction points hear of.
    events: EventKinds,
    hear: Hear<T>,
    heard: Kept<T>,
    /// Whether ports write telemetry.
    pub(super) stamps: bool,
    /// What is kept of departures: when, ps, and how many octets each left behind.
    pub(super) departures: Option<Kept<(u64, u64)>>,
    /// What is kept of frames that ports may mark as they leave: whether each is under congestion control.
    pub(super) offered: Option<Kept<bool>>,
    /// Whether ports mark each frame.
    pub(super) marks: bool,
    /// The least time from packet to packet.
    pub(super) gap: Span,
    /// How long receivers hold an acknowledgement back, if they do.
    pub(super) holds: Option<Span>,
    /// Whether ports ask for a mark on frames that found no room.
    pub(super) marks_discarded: bool,
    /// Whether ports answer each frame with the length of their queue.
    pub(super) tells: bool,
    /// What ports were shown, in order.
    shown: Kept<Shown>,
    parameters: Parameters,
}

impl<T: Clone + Debug + Send + 'static> Listener<T> {
    pub(super) fn new(events: EventKinds, hear: Hear<T>) -> Listener<T> {
        let heard = Arc::default();
        Listener {
            events,
            hear,
            heard,
            stamps: false,
            departures: None,
            offered: None,
            marks: false,
            gap: Span::ZERO,
            holds: None,
            marks_discarded: false,
            tells: false,
            shown: Arc::default(),
            parameters: Parameters::default(),
        }
    }

    /// Makes it the scheme of a network.
    pub(super) fn listen(&self, net: &mut Net) {
        net.plan.scheme = Config::Foreign(Foreign::from(Arc::new(self.clone()) as Arc<dyn ForeignScheme>));
    }

    /// What was kept so far, in the order in which it was heard.
    pub(super) fn heard(&self) -> Vec<T> {
        self.heard.lock().unwrap().clone()
    }

    /// What ports were shown so far.
    pub(super) fn shown(&self) -> Vec<Shown> {
        self.shown.lock().unwrap().clone()
    }
}

impl<T: Clone + Debug + Send + 'static> ForeignScheme for Listener<T> {
    fn name(&self) -> &str {
        "test:listener"
    }
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    fn fingerprint(&self) -> &str {
        "listener 1"
    }
    fn hears(&self) -> &[SignalKind] {
        self.speaks()
    }
    fn speaks(&self) -> &[SignalKind] {
        if self.tells { &[SignalKind::QueueLen] } else { &[] }
    }
    fn congestion_point(&self, _: CpId) -> Box<dyn ForeignCp> {
        Box::new(self.clone())
    }
    fn reaction_point(&self, _: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(self.clone())
    }
    fn notification_point(&self) -> Option<Box<dyn ForeignNp>> {
        // Marks that nobody hears of break the contract of a congestion point.
        let hears = self.holds.is_some() || self.marks || self.marks_discarded;
        hears.then(|| Box::new(self.clone()) as Box<dyn ForeignNp>)
    }
}

impl<T> CongestionPoint for Listener<T> {
    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities {
            stamps_departures: self.stamps,
            sees_departures: self.departures.is_some(),
            marks_departures: self.offered.is_some(),
            marks_arrivals: self.marks || self.marks_discarded,
            ..CpCapabilities::ARRIVALS_ONLY
        }
    }
    fn on_departure(&mut self, now: Instant, len: Bytes) {
        if let Some(departures) = &self.departures {
            departures.lock().unwrap().push((now.ps(), len.get()));
        }
    }
    fn departure_mark(&mut self, _: Instant, controlled: bool, _: Queue, _: &mut Dice) -> u8 {
        if let Some(offered) = &self.offered {
            offered.lock().unwrap().push(controlled);
        }
        0
    }
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, _: &mut Dice) -> CpAction {
        self.shown.lock().unwrap().push((now, frame.flow.0, frame.admitted, queue.len.get()));
        if self.tells {
            CpAction::Send(Signal::QueueLen(QueueLen { cp: CpId(0), len: queue.len, arrived: frame.size }))
        } else if self.marks {
            CpAction::Mark(1)
        } else if self.marks_discarded && !frame.admitted {
            CpAction::Mark(9)
        } else {
            CpAction::Nothing
        }
    }
}

impl<T> ReactionPoint for Listener<T> {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities { events: self.events, permits_windows: self.gap > Span::ZERO, ..RpCapabilities::LIMITER }
    }
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}
    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, _: &Flight, _: &mut Dice) {
        (self.hear)(now, event, &mut self.heard.lock().unwrap());
    }
    fn on_wake(&mut self, _: Instant, _: &mut Dice) {}
    fn next_wake(&self) -> Instant {
        Instant::NEVER
    }
    fn limit(&self) -> Option<BitRate> {
        None
    }
    fn gap(&self) -> Span {
        self.gap
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(TEN)
    }
}

impl<T> NotificationPoint for Listener<T> {
    fn shapes_acknowledgements(&self) -> bool {
        self.holds.is_some()
    }
    fn on_acknowledging(&mut self, _: Instant, echo: &mut Echo) {
        echo.delay = self.holds.unwrap_or(Span::ZERO);
    }
}
