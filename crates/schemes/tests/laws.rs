//! Laws of every scheme in the registry, with every preset, under random steps.

use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use qcnlab_schemes::conformance::{self, CpStep, NpStep, RpStep, TransportStep};
use qcnlab_schemes::params::{Table, Value};
use qcnlab_schemes::registry::{Config, Listing, catalogue};
use qcnlab_schemes::{
    Acknowledgement, Answer, Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpId, Delivered, Dice, EventKind, Flight,
    FlowId, HopTelemetry, LossSign, Probe, ProbeKind, Purpose, Queue, QueueLen, ReactionPoint, Signal, SignalKind,
    SourcePause, TransportEvent,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Keeps the seeds of cases that failed beside this file, and reads them again first. Given the whole path, because a
/// test that is not part of the library is not found by its source file.
#[allow(clippy::unnecessary_wraps, reason = "what a configuration takes")]
fn kept() -> Option<Box<dyn FailurePersistence>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laws.proptest-regressions");
    Some(Box::new(FileFailurePersistence::Direct(path)))
}

const LINE_RATE: BitRate = BitRate::gbps(10);

/// Every scheme and preset.
fn configs() -> Vec<(Config, Listing)> {
    let mut all = Vec::new();
    for listing in catalogue() {
        for preset in listing.presets.iter().map(|preset| preset.name) {
            let of_name = catalogue().into_iter().find(|other| other.name == listing.name);
            let config = Config::find(listing.name, Some(preset)).expect("listed means found");
            all.push((config, of_name.expect("listed twice the same way")));
        }
    }
    all
}

/// The same with a drift of 100 Mb/s each millisecond, where there is a drift timer.
fn drifting(mut config: Config) -> Config {
    let table = config.rp_mut();
    for (index, field) in table.fields().iter().enumerate() {
        match field.name {
            "drift_every" => table.set(index, Some(Value::Time(Span::from_ms(1)))),
            "drift_step" => table.set(index, Some(Value::Rate(BitRate::mbps(100)))),
            _ => {}
        }
    }
    config
}

/// The same with an additive step of one octet where a window has one: PowerTCP's own is larger than what the least rate
/// sends in a round trip.
fn stepping_little(mut config: Config) -> Config {
    let table = config.rp_mut();
    if let Some(index) = table.fields().iter().position(|field| field.name == "beta" && field.optional) {
        table.set(index, Some(Value::Size(Bytes::new(1))));
    }
    config
}

fn probe() -> impl Strategy<Value = Probe> {
    (0..4u32, 0..100_000_000_000u64, 0..10_000_000u64, 0..20_000u64).prop_map(|(cp, at, sent, rate)| Probe {
        kind: cp.checked_sub(1).map_or(ProbeKind::Path, |cp| ProbeKind::Directed(CpId(cp))),
        asked_at: Instant::from_ps(at),
        sent: Bytes::new(sent),
        rate: BitRate::mbps(rate),
    })
}

fn signal() -> impl Strategy<Value = Signal> {
    let ids = (0..3u32).prop_map(CpId);
    let offset = -200_000..200_000i64;
    prop_oneof![
        (ids.clone(), any::<u8>(), offset.clone(), offset.clone()).prop_map(|(cp, quantized_fb, q_offset, q_delta)| {
            Signal::Cnm(Cnm { cp, quantized_fb, q_offset, q_delta })
        }),
        ids.clone().prop_map(Signal::Echo),
        ids.clone().prop_map(Signal::PushBack),
        (ids.clone(), offset.clone(), offset.clone(), prop::bool::weighted(0.1))
            .prop_map(|(cp, q_offset, q_delta, stop)| { Signal::Bcn(Bcn { cp, q_offset, q_delta, stop }) }),
        Just(Signal::Cnp),
        (ids.clone(), 0..150_000u64, 0..3000u64).prop_map(|(cp, len, arrived)| {
            Signal::QueueLen(QueueLen { cp, len: Bytes::new(len), arrived: Bytes::new(arrived) })
        }),
        (ids, 0..100_000_000_000u64, offset.clone(), offset, 1..20_000u64).prop_map(
            |(cp, at, q_offset, q_delta, capacity)| {
                let (asked_at, capacity) = (Instant::from_ps(at), BitRate::mbps(capacity));
                Signal::Answer(Answer { cp, asked_at, q_offset, q_delta, capacity })
            }
        ),
        probe().prop_map(Signal::Returned),
        (-255..=255i16).prop_map(Signal::Reflection),
        (0..20_000_000_000u64).prop_map(|bps| Signal::ReceivedRate(BitRate::bps(bps))),
        (0..10_000_000u64).prop_map(|octets| Signal::Credit(Bytes::new(octets))),
        (0..3u32, 0..2_000_000_000u64)
            .prop_map(|(cp, ps)| { Signal::SourcePause(SourcePause { cp: CpId(cp), time: Span::from_ps(ps) }) }),
    ]
}

fn hop() -> impl Strategy<Value = HopTelemetry> {
    (0..20_000_000_000u64, 0..100_000_000u64, 0..5_000_000u64, 1..400u64).prop_map(|(at, sent, queue, gbps)| {
        HopTelemetry {
            left_at: Instant::from_ps(at),
            sent: Bytes::new(sent),
            queue: Bytes::new(queue),
            rate: BitRate::gbps(gbps),
        }
    })
}

fn transport_step() -> impl Strategy<Value = RpStep> {
    let event = prop_oneof![
        6 => (1..9000u64, any::<bool>(), 0..2_000_000_000u64, hop()).prop_map(|(newly, marked, rtt, hop)| {
            TransportStep::Acknowledged(Bytes::new(newly), marked, Span::from_ps(rtt), hop)
        }),
        1 => Just(TransportStep::NegativelyAcknowledged),
        1 => any::<bool>().prop_map(|gap| TransportStep::Lost(if gap { LossSign::Gap } else { LossSign::Timeout })),
        1 => (1..9000u64).prop_map(|cut| TransportStep::Trimmed(Bytes::new(cut))),
        1 => any::<u32>().prop_map(|octets| TransportStep::Credited(Bytes::new(octets.into()))),
        1 => any::<bool>().prop_map(TransportStep::Paused),
        1 => any::<bool>().prop_map(TransportStep::FlowPaused),
    ];
    (event, 0..1_000_000u64, 0..1_000_000u64).prop_map(|(event, acknowledged, in_flight)| {
        RpStep::Transport(event, Bytes::new(acknowledged), Bytes::new(in_flight))
    })
}

fn rp_step() -> impl Strategy<Value = RpStep> {
    prop_oneof![
        4 => transport_step(),
        3 => (0..20_000_000_000u64).prop_map(|ps| RpStep::Pass(Span::from_ps(ps))),
        4 => (64..9000u64, 0..3u64).prop_map(|(size, waiting)| RpStep::Sent(Bytes::new(size), Bytes::new(size * waiting))),
        2 => (64_000..200_000u64).prop_map(|size| RpStep::Sent(Bytes::new(size), Bytes::new(1))),
        2 => signal().prop_map(RpStep::Hear),
        3 => Just(RpStep::Wake),
    ]
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let likely = prop::bool::weighted(0.9);
    (64..9000u64, likely, likely, any::<(bool, bool)>(), 0..4u32, 0..5u32, 0..128u8).prop_map(
        |(size, admitted, controlled, (cn_tagged, probe), limited_by, flow, mark)| Arrival {
            flow: FlowId(flow),
            size: Bytes::new(size),
            admitted,
            controlled,
            cn_tagged,
            limited_by: limited_by.checked_sub(1).map(CpId),
            probe,
            mark,
        },
    )
}

fn cp_step() -> impl Strategy<Value = CpStep> {
    let len = (0..150_000u64).prop_map(Bytes::new);
    prop_oneof![
        9 => (arrival(), len.clone()).prop_map(|(frame, len)| CpStep::Frame(frame, len)),
        1 => (probe(), len).prop_map(|(probe, len)| CpStep::Probe(probe, len)),
        1 => (any::<bool>(), 0..5u32).prop_map(|(paused, frames)| CpStep::Pause(paused, frames)),
    ]
}

fn np_step() -> impl Strategy<Value = NpStep> {
    prop_oneof![
        (0..200_000_000u64).prop_map(|ps| NpStep::Pass(Span::from_ps(ps))),
        (64..9000u64, any::<u8>(), prop::bool::weighted(0.3), prop::bool::weighted(0.9)).prop_map(
            |(size, mark, marked, controlled)| NpStep::Frame(Delivered {
                size: Bytes::new(size),
                mark: if marked { mark } else { 0 },
                controlled,
                sent_at: Instant::NEVER,
            })
        ),
        probe().prop_map(NpStep::Probe),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: kept(), ..ProptestConfig::default() })]

    #[test]
    fn reaction_points(steps in prop::collection::vec(rp_step(), 1..300)) {
        for (config, listing) in configs() {
            conformance::reaction_point(&config.reaction_point(LINE_RATE), LINE_RATE, listing.hears, &steps);
            let drifting = drifting(config);
            conformance::reaction_point(&drifting.reaction_point(LINE_RATE), LINE_RATE, listing.hears, &steps);
        }
    }

    #[test]
    fn congestion_points(steps in prop::collection::vec(cp_step(), 1..600)) {
        for (config, listing) in configs() {
            let id = CpId(1);
            conformance::congestion_point(&config.congestion_point(id), id, listing.cp_speaks, Bytes::new(150_000), &steps);
        }
    }

    /// Deck 000, Method 2: Fb < 0 implies BA = 0. Short and long queues, fast growth, every preset.
    #[test]
    fn congestion_means_no_bandwidth(
        steps in prop::collection::vec((arrival(), 0..150_000u64, 0..2_000u64, any::<bool>()), 1..400),
    ) {
        for (config, listing) in configs().into_iter().filter(|(_, l)| ["qcn_sonar", "fb99"].contains(&l.name)) {
            let mut cp = config.congestion_point(CpId(0));
            let mut dice = Dice::new(1, 0, "port", Purpose::Sampling);
            let mut now = Instant::ZERO;
            for (frame, len, pass, short) in &steps {
                now += Span::from_us(*pass);
                let len = Bytes::new(if *short { len % 16_000 } else { *len });
                // Large frames, so that a sample comes every second frame.
                let frame = Arrival { size: Bytes::new(100_000), ..*frame };
                let queue = Queue { len, capacity: Bytes::new(150_000), rate: LINE_RATE };
                let action = cp.on_arrival(now, &frame, queue, &mut dice);
                if let CpAction::Send(Signal::Cnm(cnm)) = action {
                    prop_assert!(cp.no_bandwidth_since(now).is_some(), "{}: {cnm:?} at {len}", listing.name);
                }
            }
        }
    }

    #[test]
    fn notification_points(steps in prop::collection::vec(np_step(), 1..600)) {
        for (config, listing) in configs() {
            if let Some(np) = config.notification_point() {
                conformance::notification_point(&np, listing.np_speaks, &steps);
            }
        }
    }
}

/// The value of a parameter, if the table has it and it is set.
fn value(table: &dyn Table, name: &str) -> Option<Value> {
    table.get(table.fields().iter().position(|field| field.name == name)?)
}

/// The worst that a signal of a kind can say, from congestion point `cp`.
fn worst(kind: SignalKind, cp: CpId) -> Signal {
    let (q_offset, q_delta) = (-150_000, 150_000);
    let rate = BitRate::bps(1);
    match kind {
        SignalKind::Cnm => Signal::Cnm(Cnm { cp, quantized_fb: u8::MAX, q_offset, q_delta }),
        SignalKind::Bcn => Signal::Bcn(Bcn { cp, q_offset, q_delta, stop: false }),
        SignalKind::Echo => Signal::Echo(cp),
        SignalKind::PushBack => Signal::PushBack(cp),
        SignalKind::Cnp => Signal::Cnp,
        SignalKind::QueueLen => {
            Signal::QueueLen(QueueLen { cp, len: Bytes::new(150_000), arrived: Bytes::new(150_000) })
        }
        SignalKind::Answer => Signal::Answer(Answer { cp, asked_at: Instant::ZERO, q_offset, q_delta, capacity: rate }),
        SignalKind::Returned => {
            Signal::Returned(Probe { kind: ProbeKind::Path, asked_at: Instant::ZERO, sent: Bytes::ZERO, rate })
        }
        SignalKind::Reflection => Signal::Reflection(-255),
        SignalKind::ReceivedRate => Signal::ReceivedRate(BitRate::ZERO),
        SignalKind::Credit => Signal::Credit(Bytes::ZERO),
        SignalKind::SourcePause => Signal::SourcePause(SourcePause { cp, time: Span::from_us(1_000_000) }),
    }
}

/// The lowest rate under the worst that acknowledgements can say: each marked, late, over a full path.
fn lowest_by_transport(config: &Config, least: BitRate) -> BitRate {
    let mut rolls = Dice::new(1, 0, "flow", Purpose::Reaction);
    let mut rp = config.reaction_point(LINE_RATE);
    let mut lowest = LINE_RATE;
    for packet in 1..9000u64 {
        let now = Instant::ZERO + Span::from_us(1000 + 10 * packet);
        let hop = HopTelemetry {
            left_at: now,
            sent: Bytes::new(12_500 * packet),
            queue: Bytes::new(10_000_000),
            rate: LINE_RATE,
        };
        let ack = Acknowledgement {
            newly: Bytes::new(100_000),
            packets: 1,
            marked: 1,
            sent_at: Instant::from_ps(now.ps() - 800_000_000),
            path: 0,
            code: u8::MAX,
            hops: &[hop],
        };
        let octets = Bytes::new(100_000 * packet);
        let flight = Flight { acknowledged: octets, sent: octets, in_flight: Bytes::ZERO, early: Bytes::ZERO };
        rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut rolls);
        if rp.next_wake() <= now {
            rp.on_wake(now, &mut rolls);
        }
        let rate = rp.gauge().current_rate;
        assert!(rate >= least, "{}: acknowledgements take it to {rate}", config.name());
        lowest = lowest.min(rate);
    }
    lowest
}

/// Reaction points that have a least rate come down to it under the worst that they can be told, and no further.
#[test]
fn the_minimum_rate_holds_and_is_reached() {
    let mut rolls = Dice::new(1, 0, "flow", Purpose::Reaction);
    let mut limited = 0;
    for (config, listing) in configs() {
        let config = stepping_little(config);
        let Some(Value::Rate(least)) = value(config.rp(), "min_rate") else { continue };
        let mut lowest = LINE_RATE;
        for kind in listing.hears {
            let mut rp = config.reaction_point(LINE_RATE);
            let mut now = Instant::ZERO;
            // A network card takes one message in 150 as a sample: 3000 are twenty.
            for _ in 0..3000 {
                rp.on_signal(now, &worst(*kind, CpId(0)), &mut rolls);
                now += Span::from_us(20);
                if rp.next_wake() <= now {
                    rp.on_wake(now, &mut rolls);
                }
                let rate = rp.gauge().current_rate;
                assert!(rate >= least, "{} {}: {kind:?} takes it to {rate}", listing.name, config.preset());
                assert!(rp.limit().is_none_or(|limit| limit >= least), "{}: {kind:?}", listing.name);
                lowest = lowest.min(rate);
            }
        }
        if config.reaction_point(LINE_RATE).capabilities().limits && !listing.events.is_empty() {
            lowest = lowest.min(lowest_by_transport(&config, least));
        }
        if !config.reaction_point(LINE_RATE).capabilities().limits {
            continue;
        }
        // What the last signals leave is cut from within a factor of two of it, and drift or a timer may have added.
        assert!(lowest.get() < 3 * least.get(), "{} {}: {lowest} is the lowest", listing.name, config.preset());
        limited += 1;
    }
    assert!(limited > 15, "{limited} presets have a least rate");
}

/// Where a congestion point can be told to count discarded frames it does, and answers them; otherwise they pass unseen.
#[test]
fn discarded_frames_are_treated_as_declared() {
    let frame = Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: false,
        controlled: true,
        cn_tagged: true,
        limited_by: Some(CpId(0)),
        probe: false,
        mark: 0,
    };
    let queue = Queue { len: Bytes::new(150_000), capacity: Bytes::new(150_000), rate: LINE_RATE };
    let mut told = 0;
    for (config, listing) in configs() {
        let Some(index) = listing.cp_fields.iter().position(|field| field.name == "count_discarded") else { continue };
        for counted in [false, true] {
            let mut config = config.clone();
            config.cp_mut().set(index, Some(Value::Flag(counted)));
            let mut cp = config.congestion_point(CpId(0));
            let mut dice = Dice::new(1, 0, "port", Purpose::Sampling);
            let action = |n: u64| cp.on_arrival(Instant::ZERO + Span::from_us(n), &frame, queue, &mut dice);
            let answered = (0..1000).map(action).filter(|action| matches!(action, CpAction::Send(_))).count();
            assert_eq!(answered > 0, counted, "{} {}: {answered} answers", listing.name, config.preset());
            told += 1;
        }
    }
    assert!(told >= 20, "{told} settings");
}

/// Feedback of 0 says nothing: a notification with it changes nothing, whatever else it carries.
#[test]
fn a_notification_without_feedback_changes_nothing() {
    let mut rolls = Dice::new(1, 0, "flow", Purpose::Reaction);
    let none = Signal::Cnm(Cnm { cp: CpId(0), quantized_fb: 0, q_offset: -150_000, q_delta: 150_000 });
    for (config, listing) in configs().into_iter().filter(|(_, listing)| listing.hears.contains(&SignalKind::Cnm)) {
        for limited in [false, true] {
            let mut rp = config.reaction_point(LINE_RATE);
            if limited {
                rp.on_signal(Instant::ZERO, &worst(SignalKind::Cnm, CpId(0)), &mut rolls);
            }
            let before = (rp.gauge(), rp.limit(), rp.next_wake());
            rp.on_signal(Instant::ZERO + Span::from_us(1), &none, &mut rolls);
            assert_eq!((rp.gauge(), rp.limit(), rp.next_wake()), before, "{} {}", listing.name, config.preset());
        }
    }
}

/// A mark or a probe that nobody answers is for nothing.
#[test]
fn who_marks_or_probes_has_somebody_who_answers() {
    let frame = Arrival {
        flow: FlowId(0),
        size: Bytes::new(1500),
        admitted: true,
        controlled: true,
        cn_tagged: true,
        limited_by: None,
        probe: false,
        mark: 0,
    };
    for (config, _) in configs() {
        let mut cp = config.congestion_point(CpId(0));
        let mut dice = Dice::new(1, 0, "port", Purpose::Sampling);
        let mut marks = |len| {
            let queue = Queue { len: Bytes::new(len), capacity: Bytes::new(3_000_000), rate: LINE_RATE };
            let arrival = cp.on_arrival(Instant::ZERO, &frame, queue, &mut dice);
            matches!(arrival, CpAction::Mark(_)) || cp.departure_mark(Instant::ZERO, true, queue, &mut dice) > 0
        };
        let marked = (0..2000).any(|frames| marks(frames * 1500));
        let capabilities = config.reaction_point(LINE_RATE).capabilities();
        let echoed = capabilities.events.contains(EventKind::Acknowledgement);
        let needed = marked && !echoed || capabilities.sends_probes;
        assert_eq!(needed, config.notification_point().is_some(), "{} {}", config.name(), config.preset());
    }
}

#[test]
fn every_default_is_within_its_own_range() {
    for listing in catalogue() {
        for preset in &listing.presets {
            let both = listing.cp_fields.iter().zip(&preset.cp).chain(listing.rp_fields.iter().zip(&preset.rp));
            for (field, value) in both {
                let x = match value {
                    Some(Value::Size(x)) => x.as_f64(),
                    Some(Value::Rate(x)) => x.as_f64(),
                    Some(Value::Time(x)) => x.ps() as f64,
                    Some(Value::Number(x)) => *x,
                    Some(Value::Integer(x)) => *x as f64,
                    Some(Value::Flag(_) | Value::Text(_)) => continue,
                    None => {
                        assert!(field.optional, "{} {}: {} is unset", listing.name, preset.name, field.name);
                        continue;
                    }
                };
                assert!(field.range.holds(x), "{} {}: {} = {x}", listing.name, preset.name, field.name);
            }
        }
    }
}

#[test]
fn names_are_unique_and_every_scheme_has_a_preset() {
    let all = catalogue();
    for (i, listing) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other.name != listing.name), "{} twice", listing.name);
        assert!(!listing.presets.is_empty(), "{} has no preset", listing.name);
    }
}
