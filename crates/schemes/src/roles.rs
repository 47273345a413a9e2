//! The three roles of a congestion management scheme, and what a machine and its driver owe each other.
//!
//! * [`CongestionPoint`] (CP): what a switch computes for one queue of an output port. It samples arriving frames and
//!   sends signals to their sources, or marks frames.
//! * [`ReactionPoint`] (RP): what a source computes for one rate limiter. It hears signals and sets the rate.
//! * [`NotificationPoint`] (NP): what a receiver computes for one flow that ends there. It answers marks and probes.
//! * [`CreditPoint`]: what a receiving host computes for all flows that end there, where it says how much each may send.
//!
//! The driver (the simulator, a test, a program beside a real port) owns queues, clocks and links. It calls a machine
//! with all that the machine may know, and does what the machine answers. Both sides count on six rules:
//!
//! 1. Time never runs backwards: `now` is never before an earlier `now`.
//! 2. A machine asks to be woken by [`next_wake`](ReactionPoint::next_wake). The wake-up may come late. A wake-up
//!    before the time asked for changes nothing.
//! 3. A machine changes nothing but itself. What else it wants done it returns as a small value, which must be used.
//! 4. Every random number comes from the dice passed in.
//! 5. Congestion points may mark a frame. The frame keeps the largest mark; later congestion points and the
//!    destination see it.
//! 6. A probe waits in the queues of its path as its flow's data frames do. Each congestion point sees it before it is
//!    enqueued. The first that answers takes it off the path; a probe that none answers reaches the destination's
//!    notification point.
//!
//! Where a transport carries a flow, its machines may take part in more: a reaction point hears of acknowledgements and
//! losses and permits a window or a gap beside its rate, a congestion point stamps telemetry on packets that leave, and a
//! notification point changes what an acknowledgement carries ([`transport`](crate::transport)). Each declares what it
//! takes part in, and is told of nothing else.
//!
//! A scheme also declares the kinds of signal that its reaction point hears and that its other two machines send;
//! [`check_signals`] compares the two before a run begins.
//!
//! Only what a scheme's rules say stands here. What serves nothing but the speed of an engine stands in
//! [`fast_path`](crate::fast_path).

use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::fmt;

pub use crate::facts::{Arrival, CpId, Delivered, FlowId, Probe, ProbeKind, Queue, Stamp};
pub use crate::signal::{Answer, Bcn, Cnm, QueueLen, Signal, SignalKind, SourcePause};
pub use crate::transport::{
    Acknowledgement, AddedHeaders, Echo, Endpoint, EventKind, EventKinds, Flight, HopTelemetry, LossSign, MOST_HOPS,
    TransportEvent,
};

/// What a congestion point wants done about an arriving frame: one thing. A scheme that has both to send and to mark
/// sends now, and marks the next frame.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum CpAction {
    /// Nothing.
    Nothing,
    /// Send this signal to the source of the frame.
    Send(Signal),
    /// Mark the frame with this number, from 1 up; a larger mark that it carries stays. What the number means is the
    /// scheme's: DCQCN's 1 is ECN's "congestion experienced".
    Mark(u8),
}

/// What a congestion point does with a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum ProbeAction {
    /// Forward it as it is now.
    Pass,
    /// Take it off its path, and send this signal to its source.
    Answer(Signal),
}

/// How a limiter spaces frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Octets counted for each frame on top of its own.
    pub overhead: Bytes,
    /// Octets that may leave back to back before the limiter spaces frames.
    pub burst: Bytes,
}

impl Pacing {
    /// Each frame by its own octets, none back to back.
    pub const PLAIN: Pacing = Pacing { overhead: Bytes::ZERO, burst: Bytes::ZERO };
}

/// The rates of a reaction point, for observers. Every scheme has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// The rate at which frames may leave now; the line rate without a limiter.
    pub current_rate: BitRate,
    /// The rate that the current rate climbs back to; the current rate where a scheme has no target.
    pub target_rate: BitRate,
}

impl Gauge {
    /// Current and target rate both at `rate`.
    pub const fn at(rate: BitRate) -> Gauge {
        Gauge { current_rate: rate, target_rate: rate }
    }
}

/// What only some schemes' reaction points have to show, for observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// What QCN-SONAR has concluded.
    Sonar(SonarObservation),
}

/// What a limiter of QCN-SONAR has concluded about its path from the echoes that did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SonarObservation {
    /// How often it has concluded from silence that the path has bandwidth to spare.
    pub alarms: u32,
    /// When its last special frame left, the one that asks; time zero before the first.
    pub asked_at: Instant,
}

/// The optional events that a congestion point takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpCapabilities {
    /// Whether it is told of departures, by [`CongestionPoint::on_departure`].
    pub sees_departures: bool,
    /// Whether it may mark departing frames, by [`CongestionPoint::departure_mark`].
    pub marks_departures: bool,
    /// Whether it marks frames at their arrival.
    pub marks_arrivals: bool,
    /// Whether it stamps telemetry on departing packets, by [`CongestionPoint::departure_stamp`].
    pub stamps_departures: bool,
    /// Whether it writes a code on departing packets, by [`CongestionPoint::departure_code`].
    pub codes_departures: bool,
    /// Whether it is told when its queue is paused and may send again, by [`CongestionPoint::on_pause`].
    pub sees_pauses: bool,
}

impl CpCapabilities {
    /// It acts on arrivals and probes alone.
    pub const ARRIVALS_ONLY: CpCapabilities = CpCapabilities {
        sees_departures: false,
        marks_departures: false,
        marks_arrivals: false,
        stamps_departures: false,
        codes_departures: false,
        sees_pauses: false,
    };
}

/// The optional abilities of a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpCapabilities {
    /// Whether it ever limits or asks to be woken. One that does not is told nothing.
    pub limits: bool,
    /// Whether it sends probes, by [`ReactionPoint::take_probe`].
    pub sends_probes: bool,
    /// The events of its flow's transport that it hears of, by [`ReactionPoint::on_transport`].
    pub events: EventKinds,
    /// Whether it permits a window or a gap, by [`ReactionPoint::window`] and [`ReactionPoint::gap`].
    pub permits_windows: bool,
    /// Whether its flow sends by credit, which [`ReactionPoint::credit`] counts.
    pub sends_by_credit: bool,
}

impl RpCapabilities {
    /// It limits, and sends no probes.
    pub const LIMITER: RpCapabilities = RpCapabilities {
        limits: true,
        sends_probes: false,
        events: EventKinds::NONE,
        permits_windows: false,
        sends_by_credit: false,
    };
    /// It limits, and sends probes.
    pub const PROBING_LIMITER: RpCapabilities = RpCapabilities { sends_probes: true, ..RpCapabilities::LIMITER };
    /// It never limits.
    pub const UNLIMITED: RpCapabilities = RpCapabilities { limits: false, ..RpCapabilities::LIMITER };
}

/// What a switch computes for one queue of an output port.
pub trait CongestionPoint {
    /// Returns the optional events it takes part in. The same all through a run.
    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities::ARRIVALS_ONLY
    }

    /// A frame arrived, and was admitted or discarded as `frame.admitted` says.
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction;

    /// A frame left at `now`; `len` octets stay queued. Called with [`CpCapabilities::sees_departures`] only.
    fn on_departure(&mut self, now: Instant, len: Bytes) {
        let _ = (now, len);
    }

    /// Returns the mark for a data frame that left at `now`, as [`CpAction::Mark`] does; 0 for none. `controlled` says
    /// whether the frame is under congestion control; `queue` is what stays. Called with
    /// [`CpCapabilities::marks_departures`] only.
    fn departure_mark(&mut self, now: Instant, controlled: bool, queue: Queue, dice: &mut Dice) -> u8 {
        let _ = (now, controlled, queue, dice);
        0
    }

    /// Returns what to write on a packet that leaves its queue at `now`, when its transmission starts; the port has sent
    /// `sent` octets before it, and `queue` is what stays. Called with [`CpCapabilities::stamps_departures`] only.
    fn departure_stamp(&mut self, now: Instant, sent: Bytes, queue: Queue) -> HopTelemetry {
        HopTelemetry { left_at: now, sent, queue: queue.len, rate: queue.rate }
    }

    /// Returns the code to write on a packet that leaves its queue at `now`, as [`departure_stamp`](Self::departure_stamp)
    /// does; 0 for none. A packet keeps the largest, and its acknowledgement brings it to the sender. Called with
    /// [`CpCapabilities::codes_departures`] only.
    fn departure_code(&mut self, now: Instant, sent: Bytes, queue: Queue, dice: &mut Dice) -> u8 {
        let _ = (now, sent, queue, dice);
        0
    }

    /// The class of its queue is `paused` from now on, or may send again; `frames` data frames are in the queue. A pause
    /// that runs out has ended when the next frame starts. Called with [`CpCapabilities::sees_pauses`] only.
    fn on_pause(&mut self, now: Instant, paused: bool, frames: u32) {
        let _ = (now, paused, frames);
    }

    /// A probe arrived and is not yet enqueued; `queue` is what it finds. The congestion point may lower its rate.
    fn on_probe(&mut self, now: Instant, probe: &mut Probe, queue: Queue) -> ProbeAction {
        let _ = (now, probe, queue);
        ProbeAction::Pass
    }

    /// Returns since when the port has had no bandwidth to spare, for observers; `None` while it has some, and for
    /// schemes that do not measure it.
    fn no_bandwidth_since(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }
}

/// What a source computes for one rate limiter.
pub trait ReactionPoint {
    /// Returns its optional abilities. The same all through a run.
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities::LIMITER
    }

    /// A frame of `sent` octets leaves; `backlog` octets wait behind the limiter. Returns what to write on the frame.
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp;

    /// A signal arrived. A reaction point ignores the kinds that its scheme does not declare to hear.
    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice);

    /// Something happened to the octets of its flow; `flight` is where the stream stands then. Called for the kinds of
    /// [`RpCapabilities::events`] only.
    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, flight: &Flight, dice: &mut Dice) {
        let _ = (now, event, flight, dice);
    }

    /// The time asked for by [`next_wake`](Self::next_wake) has come.
    #[inline]
    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        let _ = (now, dice);
    }

    /// Returns when to be woken; [`Instant::NEVER`] for not at all.
    #[inline]
    fn next_wake(&self) -> Instant {
        Instant::NEVER
    }

    /// Returns a probe to send now, if one is due. Called with [`RpCapabilities::sends_probes`] only, after each of the
    /// calls above that take a `now`. The probe leaves before the frames that wait behind the limiter.
    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        let _ = now;
        None
    }

    /// Returns the rate at which frames may leave; `None` while no limiter is installed.
    fn limit(&self) -> Option<BitRate>;

    /// Returns how many octets may be in flight: a packet may leave while fewer are. `None` for any number. Asked with
    /// [`RpCapabilities::permits_windows`] only.
    fn window(&self) -> Option<Bytes> {
        None
    }

    /// Returns the least time between the starts of two packets. Asked with [`RpCapabilities::permits_windows`] only.
    fn gap(&self) -> Span {
        Span::ZERO
    }

    /// Returns the octets of payload that its flow may send in all, counted from the start, what goes again counted anew: a
    /// packet may leave while fewer have. Asked with [`RpCapabilities::sends_by_credit`] only.
    fn credit(&self) -> Bytes {
        Bytes::new(u64::MAX)
    }

    /// Returns the octets that its scheme adds to packets. The same all through a run.
    fn added_headers(&self) -> AddedHeaders {
        AddedHeaders::default()
    }

    /// Returns how the limiter spaces frames. The same all through a run.
    fn pacing(&self) -> Pacing {
        Pacing::PLAIN
    }

    /// Returns its rates, for observers.
    fn gauge(&self) -> Gauge;

    /// Returns what its scheme alone has to show, for observers.
    fn observation(&self) -> Option<Observation> {
        None
    }
}

/// What a receiver computes for one flow that ends there.
pub trait NotificationPoint {
    /// Whether it takes part in acknowledgements, by [`on_acknowledging`](Self::on_acknowledging). The same all through
    /// a run.
    fn shapes_acknowledgements(&self) -> bool {
        false
    }

    /// The receiver's transport is about to acknowledge; what the notification point writes into `echo` is what the
    /// acknowledgement carries. Called with [`shapes_acknowledgements`](Self::shapes_acknowledgements) only.
    fn on_acknowledging(&mut self, now: Instant, echo: &mut Echo) {
        let _ = (now, echo);
    }

    /// A data frame arrived. What is returned goes to its source.
    #[must_use]
    fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
        let _ = (now, frame);
        None
    }

    /// A probe arrived that no congestion point has answered. What is returned goes to its source.
    #[must_use]
    fn on_probe(&mut self, now: Instant, probe: &Probe) -> Option<Signal> {
        let _ = (now, probe);
        None
    }
}

/// A packet of a flow that reached a receiving host that gives credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Its flow.
    pub flow: FlowId,
    /// Octets of the flow's message in all; `None` for a stream without end.
    pub total: Option<Bytes>,
    /// Its payload, octets.
    pub payload: Bytes,
    /// Whether a switch cut it to its head, so that its payload has to come again.
    pub cut: bool,
}

/// Credit for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Grant {
    /// The flow.
    pub flow: FlowId,
    /// Octets that it may send in all, counted as [`ReactionPoint::credit`] counts.
    pub credit: Bytes,
}

/// What a receiving host computes for all flows that end there: how much each may send.
pub trait CreditPoint: fmt::Debug + Send {
    /// A packet reached the host.
    fn on_packet(&mut self, now: Instant, packet: &Reached);

    /// All of a flow's message has come.
    fn on_whole(&mut self, flow: FlowId);

    /// Returns when to be woken; [`Instant::NEVER`] for not at all.
    fn next_wake(&self) -> Instant;

    /// The time asked for has come, or not. What is returned goes to the flow's source.
    #[must_use]
    fn on_wake(&mut self, now: Instant) -> Option<Grant>;
}

/// The congestion point of schemes whose ports mark nothing and tell senders nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoCongestionPoint;

impl CongestionPoint for NoCongestionPoint {
    #[inline]
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl CpFastPath for NoCongestionPoint {
    fn ignores_arrivals(&self) -> bool {
        true
    }
}

/// The notification point of schemes whose receivers answer nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoNotification;

impl NotificationPoint for NoNotification {}

/// Why the machines of a scheme do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalMismatch {
    /// A congestion point or a notification point sends a kind that the reaction point does not hear.
    Unheard(SignalKind),
    /// The reaction point hears a kind that no congestion point and no notification point sends.
    Unsent(SignalKind),
}

impl fmt::Display for SignalMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignalMismatch::Unheard(kind) => {
                let kind = kind.name();
                write!(f, "its ports or receivers send a signal of kind {kind}, which its reaction point does not hear")
            }
            SignalMismatch::Unsent(kind) => {
                let kind = kind.name();
                write!(f, "its reaction point hears signals of kind {kind}, which none of its ports or receivers sends")
            }
        }
    }
}

impl std::error::Error for SignalMismatch {}

/// Checks that a reaction point hears exactly the kinds of signal that can reach it.
///
/// # Errors
/// The first kind that is sent and not heard, else the first that is heard and not sent.
pub const fn check_signals(hears: &[SignalKind], sent: &[&[SignalKind]]) -> Result<(), SignalMismatch> {
    let mut who = 0;
    while who < sent.len() {
        if let Some(kind) = first_missing(sent[who], &[hears]) {
            return Err(SignalMismatch::Unheard(kind));
        }
        who += 1;
    }
    match first_missing(hears, sent) {
        Some(kind) => Err(SignalMismatch::Unsent(kind)),
        None => Ok(()),
    }
}

/// The first of `kinds` that stands in none of `lists`.
const fn first_missing(kinds: &[SignalKind], lists: &[&[SignalKind]]) -> Option<SignalKind> {
    let mut index = 0;
    while index < kinds.len() {
        let mut known = false;
        let mut list = 0;
        while list < lists.len() {
            let mut other = 0;
            while other < lists[list].len() {
                known |= lists[list][other] as u8 == kinds[index] as u8;
                other += 1;
            }
            list += 1;
        }
        if !known {
            return Some(kinds[index]);
        }
        index += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use SignalKind::{Bcn, Cnm, Returned};

    #[test]
    fn a_scheme_hears_exactly_what_can_reach_it() {
        assert_eq!(check_signals(&[], &[&[], &[]]), Ok(()));
        assert_eq!(check_signals(&[Bcn, Returned], &[&[Bcn], &[Returned]]), Ok(()));
        assert_eq!(check_signals(&[Bcn], &[&[Bcn], &[Returned]]), Err(SignalMismatch::Unheard(Returned)));
        assert_eq!(check_signals(&[Bcn, Cnm], &[&[Bcn], &[]]), Err(SignalMismatch::Unsent(Cnm)));
    }
}
