//! A scheme from outside, behind the registry's types: what it answers comes through, and what it breaks ends the run.

use qcnlab_schemes::foreign::{Foreign, ForeignCp, ForeignNp, ForeignRp, ForeignScheme, Parameters, guard, quantity};
use qcnlab_schemes::params::{Scalar, Value};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{
    AddedHeaders, Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, Delivered, Dice, Echo, Endpoint, EventKind,
    EventKinds, Flight, FlowId, Gauge, HopTelemetry, NotificationPoint, Observation, Pacing, Probe, ProbeAction,
    ProbeKind, Purpose, Queue, ReactionPoint, RpCapabilities, Signal, SignalKind, SonarObservation, Stamp,
    TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::sync::Arc;

/// What each method of its machines gives; `late` makes a wake-up ask for the past.
#[derive(Clone, Debug, Default)]
struct Fixed {
    late: bool,
    silent: bool,
    mark: Option<u8>,
    wake: Option<Instant>,
    events: Option<EventKinds>,
    speaks_for: Option<CpId>,
}

const RATE: BitRate = BitRate::gbps(3);
const PROBE: Probe = Probe { kind: ProbeKind::Path, asked_at: Instant::ZERO, sent: Bytes::new(7), rate: RATE };
const CAPABILITIES: RpCapabilities =
    RpCapabilities { events: EventKinds::ARRIVALS_AND_LOSSES, ..RpCapabilities::PROBING_LIMITER };

const OBSERVATION: Observation = Observation::Sonar(SonarObservation { alarms: 3, asked_at: Instant::ZERO });

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

impl CongestionPoint for Fixed {
    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities { sees_departures: true, ..CpCapabilities::ARRIVALS_ONLY }
    }
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        self.mark.map_or(CpAction::Send(Signal::Echo(CpId(4))), CpAction::Mark)
    }
    fn on_departure(&mut self, now: Instant, _: Bytes) {
        self.wake = Some(now);
    }
    fn departure_mark(&mut self, _: Instant, _: bool, _: Queue, _: &mut Dice) -> u8 {
        9
    }
    fn departure_stamp(&mut self, now: Instant, sent: Bytes, queue: Queue) -> HopTelemetry {
        HopTelemetry { left_at: now + Span::from_us(1), sent, queue: queue.len, rate: RATE }
    }
    fn on_probe(&mut self, _: Instant, _: &mut Probe, _: Queue) -> ProbeAction {
        ProbeAction::Answer(Signal::Echo(CpId(4)))
    }
    fn no_bandwidth_since(&self, _: Instant) -> Option<Instant> {
        self.wake
    }
}

impl ReactionPoint for Fixed {
    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities { events: self.events.unwrap_or(CAPABILITIES.events), ..CAPABILITIES }
    }
    fn on_sent(&mut self, now: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        self.wake = Some(now + Span::from_us(10));
        Stamp { limited_by: Some(CpId(6)), probe: true }
    }
    fn on_signal(&mut self, now: Instant, _: &Signal, _: &mut Dice) {
        self.wake = Some(now + Span::from_us(20));
    }
    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        self.wake = (!self.late).then_some(now + Span::from_us(30)).or(Some(now));
    }
    fn next_wake(&self) -> Instant {
        self.wake.unwrap_or(Instant::NEVER)
    }
    fn take_probe(&mut self, _: Instant) -> Option<Probe> {
        Some(PROBE)
    }
    fn limit(&self) -> Option<BitRate> {
        self.wake.map(|_| RATE)
    }
    fn on_transport(&mut self, now: Instant, _: &TransportEvent<'_>, _: &Flight, _: &mut Dice) {
        self.wake = Some(now + Span::from_us(40));
    }
    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new(12_000))
    }
    fn gap(&self) -> Span {
        Span::from_us(3)
    }
    fn added_headers(&self) -> AddedHeaders {
        AddedHeaders { data: Bytes::new(8), acknowledgement: Bytes::new(4) }
    }
    fn pacing(&self) -> Pacing {
        Pacing { overhead: Bytes::new(20), burst: Bytes::new(1500) }
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(RATE)
    }
    fn observation(&self) -> Option<Observation> {
        Some(OBSERVATION)
    }
}

impl NotificationPoint for Fixed {
    fn shapes_acknowledgements(&self) -> bool {
        !self.silent
    }
    fn on_acknowledging(&mut self, now: Instant, echo: &mut Echo) {
        echo.delay = now.since(us(1));
    }
    fn on_frame(&mut self, _: Instant, _: &Delivered) -> Option<Signal> {
        Some(self.speaks_for.map_or(Signal::Cnp, Signal::Echo))
    }
    fn on_probe(&mut self, _: Instant, probe: &Probe) -> Option<Signal> {
        Some(Signal::Returned(*probe))
    }
}

#[derive(Debug, Default)]
struct Outside {
    machine: Fixed,
    parameters: Parameters,
    fingerprint: &'static str,
}

impl ForeignScheme for Outside {
    fn name(&self) -> &str {
        "outside:fixed"
    }
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    fn fingerprint(&self) -> &str {
        self.fingerprint
    }
    fn hears(&self) -> &[SignalKind] {
        SignalKind::ALL
    }
    fn speaks(&self) -> &[SignalKind] {
        if self.machine.silent { &[] } else { SignalKind::ALL }
    }
    fn set_point(&self) -> Option<Bytes> {
        Some(Bytes::new(33_000))
    }
    fn congestion_point(&self, _: CpId) -> Box<dyn ForeignCp> {
        Box::new(self.machine.clone())
    }
    fn reaction_point(&self, _: Endpoint) -> Box<dyn ForeignRp> {
        Box::new(self.machine.clone())
    }
    fn notification_point(&self) -> Option<Box<dyn ForeignNp>> {
        Some(Box::new(self.machine.clone()))
    }
}

fn config(machine: Fixed) -> Config {
    let scheme: Arc<dyn ForeignScheme> = Arc::new(Outside { machine, ..Outside::default() });
    Config::Foreign(Foreign::from(scheme))
}

fn dice() -> Dice {
    Dice::new(1, 0, "foreign", Purpose::Reaction)
}

const FRAME: Arrival = Arrival {
    flow: FlowId(0),
    size: Bytes::new(1500),
    admitted: true,
    controlled: true,
    cn_tagged: true,
    limited_by: None,
    probe: false,
    mark: 0,
};
const QUEUE: Queue = Queue { len: Bytes::new(1500), capacity: Bytes::new(150_000), rate: BitRate::gbps(10) };
const DELIVERED: Delivered = Delivered { size: Bytes::new(1500), mark: 1, controlled: true, sent_at: Instant::NEVER };

#[test]
fn a_reaction_point_is_asked_anew_after_each_call() {
    let mut rp = config(Fixed::default()).reaction_point(BitRate::gbps(10));
    assert_eq!((rp.next_wake(), rp.limit()), (Instant::NEVER, None));
    let stamp = rp.on_sent(us(1), Bytes::new(1500), Bytes::ZERO, &mut dice());
    assert_eq!(stamp, Stamp { limited_by: Some(CpId(6)), probe: true });
    assert_eq!((rp.next_wake(), rp.limit()), (us(11), Some(RATE)));
    rp.on_signal(us(2), &Signal::Cnp, &mut dice());
    assert_eq!(rp.next_wake(), us(22));
    rp.on_wake(us(22), &mut dice());
    assert_eq!(rp.next_wake(), us(52));
    assert_eq!((rp.take_probe(us(23)), rp.capabilities()), (Some(PROBE), CAPABILITIES));
    assert_eq!(rp.pacing(), Pacing { overhead: Bytes::new(20), burst: Bytes::new(1500) });
    assert_eq!((rp.gauge(), rp.observation()), (Gauge::at(RATE), Some(OBSERVATION)));
    let flight = Flight { acknowledged: Bytes::ZERO, sent: Bytes::ZERO, in_flight: Bytes::ZERO, early: Bytes::ZERO };
    rp.on_transport(us(24), &TransportEvent::NegativelyAcknowledged, &flight, &mut dice());
    assert_eq!((rp.next_wake(), rp.limit()), (us(64), Some(RATE)));
    assert_eq!((rp.window(), rp.gap()), (Some(Bytes::new(12_000)), Span::from_us(3)));
    assert_eq!(rp.added_headers(), AddedHeaders { data: Bytes::new(8), acknowledgement: Bytes::new(4) });
}

#[test]
fn ports_and_receivers_answer_through_the_registry() {
    let config = config(Fixed::default());
    assert_eq!((config.name(), config.preset(), config.set_point()), ("outside:fixed", "", Some(Bytes::new(33_000))));
    let mut cp = config.congestion_point(CpId(4));
    assert!(cp.capabilities().sees_departures);
    assert_eq!(cp.on_arrival(us(1), &FRAME, QUEUE, &mut dice()), CpAction::Send(Signal::Echo(CpId(4))));
    assert_eq!((cp.no_bandwidth_since(us(1)), cp.departure_mark(us(1), true, QUEUE, &mut dice())), (None, 9));
    let stamp = HopTelemetry { left_at: us(2), sent: Bytes::new(9), queue: Bytes::new(1500), rate: RATE };
    assert_eq!(cp.departure_stamp(us(1), Bytes::new(9), QUEUE), stamp);
    cp.on_departure(us(2), Bytes::ZERO);
    assert_eq!(cp.no_bandwidth_since(us(3)), Some(us(2)));
    assert_eq!(cp.on_probe(us(3), &mut PROBE.clone(), QUEUE), ProbeAction::Answer(Signal::Echo(CpId(4))));
    let mut np = config.notification_point().expect("it has one");
    assert_eq!(np.on_frame(us(1), &DELIVERED), Some(Signal::Cnp));
    assert_eq!(np.on_probe(us(1), &PROBE), Some(Signal::Returned(PROBE)));
    let mut echo = Echo { packets: 2, marked: 1, delay: Span::ZERO, credit: None };
    np.on_acknowledging(us(6), &mut echo);
    assert_eq!((np.shapes_acknowledgements(), echo.delay, echo.packets), (true, Span::from_us(5), 2));
}

/// Name and parameters may be the same where the source text is not.
#[test]
fn two_are_equal_when_name_parameters_and_fingerprint_are() {
    let of = |fingerprint, gains: &[f64]| {
        let cp = gains.iter().map(|gain| ("gain".to_owned(), Scalar::Real(*gain))).collect();
        let parameters = Parameters { cp, ..Parameters::default() };
        let scheme: Arc<dyn ForeignScheme> = Arc::new(Outside { machine: Fixed::default(), parameters, fingerprint });
        Foreign::from(scheme)
    };
    assert_eq!(of("a", &[0.5]), of("a", &[0.5]));
    assert_ne!(of("a", &[0.5]), of("b", &[0.5]));
    assert_ne!(of("a", &[0.5]), of("a", &[0.25]));
    assert_ne!(of("a", &[0.5]), of("a", &[]));
}

/// What `act` says when it breaks a contract.
fn broken(act: impl FnOnce()) -> String {
    guard(act).expect_err("it breaks a contract").to_string()
}

#[test]
fn what_breaks_the_contract_of_its_role_ends_the_run() {
    let late = broken(|| {
        let mut rp = config(Fixed { late: true, ..Fixed::default() }).reaction_point(BitRate::gbps(10));
        rp.on_wake(us(5), &mut dice());
    });
    assert!(late.contains("outside:fixed', next_wake: after a wake-up at 5 us"), "{late}");
    let silent = config(Fixed { silent: true, ..Fixed::default() });
    let said = broken(|| {
        let _ = silent.congestion_point(CpId(0)).on_arrival(us(1), &FRAME, QUEUE, &mut dice());
    });
    assert!(said.contains("echo, which it does not say it speaks"), "{said}");
    let said = broken(|| {
        let _ = silent.congestion_point(CpId(0)).on_probe(us(1), &mut PROBE.clone(), QUEUE);
    });
    assert!(said.contains("echo, which"), "{said}");
    for asked in [true, false] {
        let said = broken(|| {
            let mut np = silent.notification_point().expect("it has one");
            let _ = if asked { np.on_probe(us(1), &PROBE) } else { np.on_frame(us(1), &DELIVERED) };
        });
        assert!(said.contains("which it does not say it speaks"), "{said}");
    }
}

/// A scheme that does not say which events of a transport it hears of hears of those that its reaction points name.
#[test]
fn its_events_are_those_of_its_reaction_points() {
    assert_eq!(config(Fixed::default()).events(), EventKinds::ARRIVALS_AND_LOSSES);
}

#[test]
fn a_port_may_mark_and_must_leave_frames_outside_congestion_control_alone() {
    let arrival = |mark, controlled| {
        let mut cp = config(Fixed { mark, ..Fixed::default() }).congestion_point(CpId(0));
        cp.on_arrival(us(1), &Arrival { controlled, ..FRAME }, QUEUE, &mut dice())
    };
    assert_eq!(arrival(Some(1), true), CpAction::Mark(1));
    let said = broken(|| {
        let _ = arrival(Some(0), true);
    });
    assert!(said.contains("on_arrival: a mark of 0 is none"), "{said}");
    for mark in [None, Some(1)] {
        let said = broken(|| {
            let _ = arrival(mark, false);
        });
        assert!(said.contains("on_arrival: acts on a frame outside congestion control"), "{said}");
    }
}

/// The port was made with the number 3, and speaks for point 4.
#[test]
fn a_port_answers_with_its_own_number() {
    for probed in [true, false] {
        let said = broken(|| {
            let mut cp = config(Fixed::default()).congestion_point(CpId(3));
            if probed {
                let _ = cp.on_probe(us(1), &mut PROBE.clone(), QUEUE);
            } else {
                let _ = cp.on_arrival(us(1), &FRAME, QUEUE, &mut dice());
            }
        });
        let method = if probed { "on_probe" } else { "on_arrival" };
        assert!(
            said.contains(&format!("{method}: answers as congestion point 4; it was made with the number 3")),
            "{said}"
        );
    }
}

/// A receiver that speaks for point 4.
#[test]
fn a_receiver_answers_for_points_that_exist() {
    let answer = |points: &[u32]| {
        let config = config(Fixed { speaks_for: Some(CpId(4)), ..Fixed::default() });
        points.iter().for_each(|point| drop(config.congestion_point(CpId(*point))));
        config.notification_point().expect("it has one").on_frame(us(1), &DELIVERED)
    };
    assert_eq!(answer(&[0, 4, 1]), Some(Signal::Echo(CpId(4))));
    for (points, there) in
        [(&[][..], "there is none"), (&[0], "the only one has number 0"), (&[3, 1], "they have the numbers 0 to 3")]
    {
        let said = broken(|| {
            let _ = answer(points);
        });
        assert!(said.contains("on_frame: answers for congestion point 4, which does not exist"), "{said}");
        assert!(said.contains(there), "{said}");
    }
}

/// Without receivers that answer, marks are heard of by acknowledgements alone.
#[test]
fn a_scheme_that_marks_has_somebody_who_hears_of_it() {
    let port = |events, mark| {
        let machine = Fixed { mark, events: Some(events), ..Fixed::default() };
        let scheme: Arc<dyn ForeignScheme> = Arc::new(Least(Outside { machine, ..Outside::default() }));
        Config::Foreign(Foreign::from(scheme)).congestion_point(CpId(4))
    };
    let heard = EventKinds::NONE.with(EventKind::Acknowledgement);
    let action = port(heard, Some(7)).on_arrival(us(1), &FRAME, QUEUE, &mut dice());
    assert_eq!(action, CpAction::Mark(7));
    assert_eq!(port(heard, None).departure_mark(us(1), true, QUEUE, &mut dice()), 9);
    let losses = EventKinds::NONE.with(EventKind::Loss);
    // A signal is no mark.
    let action = port(losses, None).on_arrival(us(1), &FRAME, QUEUE, &mut dice());
    assert_eq!(action, CpAction::Send(Signal::Echo(CpId(4))));
    for leaving in [true, false] {
        let said = broken(|| {
            let mut cp = port(losses, Some(7));
            if leaving {
                let _ = cp.departure_mark(us(1), true, QUEUE, &mut dice());
            } else {
                let _ = cp.on_arrival(us(1), &FRAME, QUEUE, &mut dice());
            }
        });
        assert!(said.contains("marks a frame, and nobody hears of it"), "{said}");
        assert!(said.contains(if leaving { "departure_mark:" } else { "on_arrival:" }), "{said}");
    }
    let said = broken(|| {
        let _ = port(heard, None).departure_mark(us(1), false, QUEUE, &mut dice());
    });
    assert!(said.contains("departure_mark: acts on a frame outside congestion control"), "{said}");
}

#[test]
fn a_receiver_need_not_shape_acknowledgements() {
    let np = config(Fixed { silent: true, ..Fixed::default() }).notification_point().expect("it has one");
    assert!(!np.shapes_acknowledgements());
}

/// A scheme that says no more than it must.
#[derive(Debug, Default)]
struct Least(Outside);

impl ForeignScheme for Least {
    fn name(&self) -> &str {
        "outside:least"
    }
    fn parameters(&self) -> &Parameters {
        self.0.parameters()
    }
    fn fingerprint(&self) -> &str {
        self.0.fingerprint()
    }
    fn hears(&self) -> &[SignalKind] {
        self.0.hears()
    }
    fn speaks(&self) -> &[SignalKind] {
        self.0.speaks()
    }
    fn congestion_point(&self, id: CpId) -> Box<dyn ForeignCp> {
        self.0.congestion_point(id)
    }
    fn reaction_point(&self, endpoint: Endpoint) -> Box<dyn ForeignRp> {
        self.0.reaction_point(endpoint)
    }
}

#[test]
fn what_a_scheme_leaves_out_is_not_there_and_work_is_done_as_it_is() {
    let scheme: Arc<dyn ForeignScheme> = Arc::new(Least::default());
    let config = Config::Foreign(Foreign::from(scheme.clone()));
    assert_eq!((config.set_point(), config.notification_point().is_none()), (None, true));
    let mut done = 0;
    scheme.on_thread(&mut || done += 1);
    assert_eq!(done, 1);
}

/// 1 KB are 1000 octets, 1 us a million picoseconds.
#[test]
fn text_with_a_unit_is_a_quantity_and_nothing_else_is() {
    let of = |text: &str| quantity(&Scalar::Text(text.to_owned()));
    assert_eq!(of("150 KB"), Some(Value::Size(Bytes::new(150_000))));
    assert_eq!(of("10 Gb/s"), Some(Value::Rate(BitRate::bps(10_000_000_000))));
    assert_eq!(of("15 us"), Some(Value::Time(Span::from_ps(15_000_000))));
    assert_eq!((of("fast"), quantity(&Scalar::Real(1.0))), (None, None));
}
