//! What a machine does that leaves a method of its role out.

use qcnlab_schemes::{
    AddedHeaders, Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, Delivered, Dice, Echo, Gauge, HopTelemetry,
    NoNotification, NotificationPoint, Pacing, Probe, ProbeAction, ProbeKind, Purpose, Queue, ReactionPoint,
    RpCapabilities, Signal, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// What a role asks of every machine, and no more.
struct Bare;

impl CongestionPoint for Bare {
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }
}

impl ReactionPoint for Bare {
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp { limited_by: Some(CpId(1)), probe: false }
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {}
    fn on_wake(&mut self, _: Instant, _: &mut Dice) {}
    fn next_wake(&self) -> Instant {
        Instant::NEVER
    }
    fn limit(&self) -> Option<BitRate> {
        None
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(RATE)
    }
}

const RATE: BitRate = BitRate::gbps(10);
const QUEUE: Queue = Queue { len: Bytes::new(4_500), capacity: Bytes::new(150_000), rate: RATE };
const PROBE: Probe = Probe { kind: ProbeKind::Path, asked_at: Instant::ZERO, sent: Bytes::new(7), rate: RATE };

fn at() -> Instant {
    Instant::ZERO + Span::from_us(83)
}

fn dice() -> Dice {
    Dice::new(1, 0, "defaults", Purpose::Sampling)
}

/// Telemetry is what the port knows: the time, what it has sent, what stays, and the rate of its link.
#[test]
fn a_congestion_point_acts_on_arrivals_alone_and_stamps_what_the_port_knows() {
    let mut cp = Bare;
    assert_eq!(CongestionPoint::capabilities(&cp), CpCapabilities::ARRIVALS_ONLY);
    assert_eq!(cp.departure_mark(at(), true, QUEUE, &mut dice()), 0);
    let stamp = HopTelemetry { left_at: at(), sent: Bytes::new(10_001), queue: Bytes::new(4_500), rate: RATE };
    assert_eq!(cp.departure_stamp(at(), Bytes::new(10_001), QUEUE), stamp);
    let mut probe = PROBE;
    assert_eq!((cp.on_probe(at(), &mut probe, QUEUE), probe), (ProbeAction::Pass, PROBE));
    assert_eq!(cp.no_bandwidth_since(at()), None);
}

#[test]
fn a_reaction_point_limits_a_rate_and_adds_nothing() {
    let mut rp = Bare;
    assert_eq!(ReactionPoint::capabilities(&rp), RpCapabilities::LIMITER);
    assert_eq!((rp.take_probe(at()), rp.window(), rp.gap()), (None, None, Span::ZERO));
    assert_eq!(rp.added_headers(), AddedHeaders { data: Bytes::ZERO, acknowledgement: Bytes::ZERO });
    assert_eq!((rp.pacing(), rp.observation()), (Pacing::PLAIN, None));
}

#[test]
fn a_receiver_answers_nothing() {
    let mut np = NoNotification;
    let frame = Delivered { size: Bytes::new(1500), mark: 1, controlled: true, sent_at: Instant::ZERO };
    assert_eq!((np.on_frame(at(), &frame), np.on_probe(at(), &PROBE)), (None, None));
    let before = Echo { packets: 2, marked: 1, delay: Span::ZERO, credit: None };
    let mut echo = before;
    np.on_acknowledging(at(), &mut echo);
    assert_eq!((np.shapes_acknowledgements(), echo), (false, before));
}
