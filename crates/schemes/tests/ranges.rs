//! What is outside its documented range is refused or clamped, on both sides, by every scheme; and what every scheme must
//! have, so that no new one escapes the laws.

use qcnlab_schemes::params::{Table, Value};
use qcnlab_schemes::registry::{AnyRp, Config, Listing, catalogue};
use qcnlab_schemes::{
    Answer, Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpId, Dice, FlowId, Probe, ProbeKind, Purpose, Queue,
    QueueLen, ReactionPoint, Signal, SignalKind, SourcePause,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

const LINE_RATE: BitRate = BitRate::gbps(10);
const CP: CpId = CpId(0);
/// Octets beyond any queue.
const HUGE: i64 = 1 << 50;

fn dice() -> Dice {
    Dice::new(1, 0, "ranges", Purpose::Reaction)
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

fn configs() -> Vec<(Config, Listing)> {
    let of = |listing: &Listing, preset| (Config::find(listing.name, Some(preset)).expect("it is listed"), preset);
    let all = catalogue().into_iter().flat_map(|listing| {
        let presets: Vec<Config> = listing.presets.iter().map(|preset| of(&listing, preset.name).0).collect();
        presets.into_iter().map(move |config| (config, listing.name))
    });
    let listing = |name| catalogue().into_iter().find(|listing| listing.name == name).expect("it is listed");
    all.map(|(config, name)| (config, listing(name))).collect()
}

fn value(table: &dyn Table, name: &str) -> Option<Value> {
    table.get(table.fields().iter().position(|field| field.name == name)?)
}

fn number(table: &dyn Table, name: &str) -> Option<f64> {
    match value(table, name)? {
        Value::Number(x) => Some(x),
        Value::Integer(x) => Some(x as f64),
        other => panic!("{name} is {other:?}"),
    }
}

fn rate(table: &dyn Table, name: &str) -> Option<BitRate> {
    match value(table, name)? {
        Value::Rate(rate) => Some(rate),
        other => panic!("{name} is {other:?}"),
    }
}

fn bcn(q_offset: i64, q_delta: i64) -> Signal {
    Signal::Bcn(Bcn { cp: CP, q_offset, q_delta, stop: false })
}

fn cnm(quantized_fb: u8, q_offset: i64) -> Signal {
    Signal::Cnm(Cnm { cp: CP, quantized_fb, q_offset, q_delta: 0 })
}

fn answer(q_offset: i64, capacity: u64) -> Signal {
    Signal::Answer(Answer { cp: CP, asked_at: us(0), q_offset, q_delta: -q_offset, capacity: BitRate::bps(capacity) })
}

/// A probe of path and time `asked_at`, with a rate on it.
fn returned(asked_at: Instant, sent: u64, bps: u64) -> Signal {
    Signal::Returned(Probe { kind: ProbeKind::Path, asked_at, sent: Bytes::new(sent), rate: BitRate::bps(bps) })
}

/// Signals at and beyond both ends of what their fields document: the least feedback and the most.
fn extremes(kind: SignalKind) -> Vec<Signal> {
    match kind {
        SignalKind::Cnm => vec![cnm(0, -HUGE), cnm(0, HUGE), cnm(u8::MAX, -HUGE), cnm(u8::MAX, HUGE)],
        SignalKind::Bcn => vec![bcn(-HUGE, HUGE), bcn(HUGE, -HUGE), bcn(-HUGE, -HUGE), bcn(HUGE, HUGE), bcn(0, 0)],
        SignalKind::QueueLen => [0, 1 << 50]
            .map(|octets| Signal::QueueLen(QueueLen { cp: CP, len: Bytes::new(octets), arrived: Bytes::new(octets) }))
            .to_vec(),
        SignalKind::Answer => {
            vec![answer(-HUGE, 0), answer(HUGE, 0), answer(-HUGE, u64::MAX), answer(HUGE, u64::MAX)]
        }
        SignalKind::Returned => vec![
            returned(us(0), 0, 0),
            returned(us(0), 0, u64::MAX),
            returned(us(0), 1 << 50, u64::MAX),
            returned(us(1 << 30), 0, u64::MAX),
        ],
        SignalKind::Reflection => [i16::MIN, -256, 0, i16::MAX].map(Signal::Reflection).to_vec(),
        SignalKind::ReceivedRate => [0, 1, u64::MAX].map(|bps| Signal::ReceivedRate(BitRate::bps(bps))).to_vec(),
        SignalKind::Credit => [0, u64::MAX].map(|octets| Signal::Credit(Bytes::new(octets))).to_vec(),
        SignalKind::SourcePause => {
            [0, u64::MAX >> 1].map(|ps| Signal::SourcePause(SourcePause { cp: CP, time: Span::from_ps(ps) })).to_vec()
        }
        // Nothing in them has a range.
        SignalKind::Echo => vec![Signal::Echo(CP)],
        SignalKind::PushBack => vec![Signal::PushBack(CP)],
        SignalKind::Cnp => vec![Signal::Cnp],
    }
}

/// Fresh, and after each kind of congestion that it hears.
fn states(config: &Config, listing: &Listing) -> Vec<AnyRp> {
    let fresh = config.reaction_point(LINE_RATE);
    let mut all = vec![fresh.clone()];
    for kind in listing.hears {
        let mut rp = fresh.clone();
        let congestion = match kind {
            SignalKind::Cnm => cnm(20, -10_000),
            SignalKind::Bcn => bcn(-10_000, 0),
            SignalKind::QueueLen => {
                Signal::QueueLen(QueueLen { cp: CP, len: Bytes::new(60_000), arrived: Bytes::new(1000) })
            }
            SignalKind::Reflection => Signal::Reflection(-20),
            SignalKind::Returned => returned(us(0), 0, 1_000_000_000),
            SignalKind::Cnp => Signal::Cnp,
            SignalKind::ReceivedRate => Signal::ReceivedRate(BitRate::gbps(1)),
            SignalKind::SourcePause => Signal::SourcePause(SourcePause { cp: CP, time: Span::from_us(10) }),
            SignalKind::Echo | SignalKind::PushBack | SignalKind::Answer | SignalKind::Credit => continue,
        };
        // The network card of deck 002 takes one message in 150 as a sample.
        for _ in 0..151 {
            rp.on_signal(us(0), &congestion, &mut dice());
        }
        all.push(rp);
    }
    all
}

/// The share of its rate that one signal leaves at least, as the scheme's parameters declare it.
fn least_share(config: &Config, kind: SignalKind) -> Option<f64> {
    match kind {
        SignalKind::Bcn => number(config.rp(), "max_decrease").map(|most| 1.0 - most),
        SignalKind::Cnm | SignalKind::Reflection => number(config.rp(), "min_dec_fac"),
        _ => None,
    }
}

/// However far feedback is beyond its range, one signal cuts no more than the scheme declares, never below the minimum
/// rate and never raises a rate above the line rate; a CNM of 0 changes nothing.
#[test]
fn feedback_outside_its_range_is_clamped_on_both_sides() {
    for (config, listing) in configs() {
        let name = format!("{} {}", config.name(), config.preset());
        for kind in listing.hears {
            let share = least_share(&config, *kind);
            if matches!(kind, SignalKind::Cnm | SignalKind::Bcn | SignalKind::Reflection) {
                assert!(share.is_some(), "{name} hears {} and declares no largest cut", kind.name());
            }
            for rp in states(&config, &listing) {
                for signal in extremes(*kind) {
                    let (mut told, before) = (rp.clone(), rp.gauge().current_rate);
                    told.on_signal(us(1), &signal, &mut dice());
                    let after = told.gauge().current_rate;
                    let least = rate(config.rp(), "min_rate").unwrap_or(BitRate::ZERO);
                    assert!(
                        after >= least.min(before) && after <= LINE_RATE,
                        "{name}: {signal:?}: {before} to {after}"
                    );
                    if let Some(share) = share {
                        let floor = before.as_f64() * share - 1.0;
                        assert!(after.as_f64() >= floor, "{name}: {signal:?} cuts {before} to {after}");
                    }
                    if let Signal::Cnm(Cnm { quantized_fb: 0, .. }) = signal {
                        assert_eq!((after, told.next_wake()), (before, rp.next_wake()), "{name}: {signal:?}");
                    }
                }
            }
        }
    }
}

/// The ends of the range are good, what lies beyond is refused, with the field in the message. Every kind of signal
/// stands here.
#[test]
fn a_signal_is_checked_against_what_its_fields_document() {
    for kind in SignalKind::ALL {
        let (good, bad) = match kind {
            SignalKind::Cnm => (vec![cnm(1, 0), cnm(u8::MAX, 0)], vec![(cnm(0, -1), "quantized_fb of 0")]),
            SignalKind::Answer => (vec![answer(0, 1), answer(0, u64::MAX)], vec![(answer(0, 0), "capacity of 0 b/s")]),
            other => (extremes(*other), vec![]),
        };
        for signal in good {
            assert_eq!(signal.check(), Ok(()), "{signal:?}");
        }
        for (signal, words) in bad {
            let said = signal.check().expect_err("it is out of range");
            assert!(said.contains(words), "{signal:?}: {said}");
        }
    }
}

/// Queues that grow from nothing to a thousand times the set point and fall back: feedback never has more bits than the
/// congestion point declares, and none without a declaration more than the six of 802.1Q.
#[test]
fn feedback_has_the_bits_that_are_declared() {
    let mut heard = 0;
    for (config, listing) in configs() {
        let name = format!("{} {}", config.name(), config.preset());
        let bits = number(config.cp(), "fb_bits").unwrap_or(6.0) as u32;
        let mut cp = config.congestion_point(CP);
        let mut largest = 0;
        for step in 0..4000u64 {
            let frame = Arrival {
                flow: FlowId(0),
                size: Bytes::new(9000),
                admitted: true,
                controlled: true,
                cn_tagged: true,
                limited_by: None,
                probe: false,
                mark: 0,
            };
            let len = Bytes::new(9000 * 2000u64.abs_diff(step));
            let queue = Queue { len, capacity: Bytes::new(1 << 40), rate: LINE_RATE };
            if let CpAction::Send(Signal::Cnm(cnm)) = cp.on_arrival(us(step), &frame, queue, &mut dice()) {
                largest = largest.max(cnm.quantized_fb);
            }
        }
        assert!(u32::from(largest) < 1 << bits, "{name}: feedback of {largest} has more than {bits} bits");
        // A queue so far above the set point has the largest feedback that there is.
        if listing.cp_speaks.contains(&SignalKind::Cnm) && config.name() != "af_qcn" {
            assert_eq!(u32::from(largest), (1 << bits) - 1, "{name}");
            heard += 1;
        }
    }
    assert!(heard >= 10, "{heard} presets send CNMs");
}

/// Of the schemes that hear anything each has a minimum rate; of those that hear signals each drifts, and each whose ports send messages says whether discarded
/// frames count. What does not is named here, with the reason.
#[test]
fn no_scheme_escapes_the_laws_by_lacking_a_parameter() {
    for listing in catalogue() {
        let has = |fields: &[qcnlab_schemes::params::Field], name| fields.iter().any(|field| field.name == name);
        // Credit says how much may go, and a pause for how long nothing: neither says how fast.
        let other = [SignalKind::Credit, SignalKind::SourcePause];
        let limits = listing.hears.iter().any(|kind| !other.contains(kind));
        let hears = !listing.hears.is_empty() || !listing.events.is_empty();
        // Swift controls packets in flight, down to a hundredth: its own tests hold it to its least window.
        // NSCC's least window is a packet.
        let least = match listing.name {
            "swift" => "min_window",
            "nscc" => "max_window",
            "rccc" => "first_window",
            // A host of BFC sends at line rate, or not at all while it is told to stop.
            "bfc" => continue,
            "sfc" => "longest_pause",
            _ => "min_rate",
        };
        assert_eq!(hears, has(listing.rp_fields, least), "{}: {least}", listing.name);
        for drift in ["drift_every", "drift_step"] {
            assert_eq!(limits, has(listing.rp_fields, drift), "{}: {drift}", listing.name);
        }
        let counts = match listing.name {
            // Ports that only write on frames: what is discarded carries nothing. FECN counts what is offered to it.
            "none" | "dcqcn" | "qcn_three_point" | "fecn" | "dctcp" | "timely" | "hpcc" | "swift" | "powertcp"
            | "theta_powertcp" | "nscc" | "pcn" | "hpcc_pint" | "rccc" | "bfc" | "qcz" => false,
            _ => true,
        };
        assert_eq!(counts, has(listing.cp_fields, "count_discarded"), "{}: count_discarded", listing.name);
        assert_eq!(counts, !listing.cp_speaks.is_empty(), "{}: who sends messages says so", listing.name);
    }
}

/// Ports without `count_discarded` do nothing about a discarded frame.
#[test]
fn ports_that_only_write_on_frames_leave_discarded_ones_alone() {
    for (config, listing) in configs().into_iter().filter(|(_, listing)| listing.cp_speaks.is_empty()) {
        let mut cp = config.congestion_point(CP);
        for step in 0..2000u64 {
            let frame = Arrival {
                flow: FlowId(0),
                size: Bytes::new(1500),
                admitted: false,
                controlled: true,
                cn_tagged: true,
                limited_by: None,
                probe: true,
                mark: 1,
            };
            let queue = Queue { len: Bytes::new(3_000_000), capacity: Bytes::new(3_000_000), rate: LINE_RATE };
            let action = cp.on_arrival(us(step), &frame, queue, &mut dice());
            assert_eq!(action, CpAction::Nothing, "{} {}", listing.name, config.preset());
        }
    }
}

/// The set point that metrics take is the parameter of that name, wherever it stands.
#[test]
fn the_set_point_of_a_scheme_is_its_parameter() {
    let mut steered = 0;
    for (config, listing) in configs() {
        let parameter = value(config.cp(), "set_point").or_else(|| value(config.rp(), "set_point"));
        assert_eq!(config.set_point().map(Value::Size), parameter, "{} {}", listing.name, config.preset());
        steered += usize::from(parameter.is_some());
    }
    assert!(steered > 15, "{steered} presets have a set point");
}

/// A catalogue shows each preset's values in the order of the fields. DCQCN as published marks from 5 KB to 200 KB at 1 %,
/// and its first parameter of the host is the form.
#[test]
fn a_catalogue_shows_the_values_of_each_preset() {
    let dcqcn = catalogue().into_iter().find(|listing| listing.name == "dcqcn").expect("it is listed");
    let published = &dcqcn.presets[0];
    let marking = [Value::Size(Bytes::new(5_000)), Value::Size(Bytes::new(200_000)), Value::Number(0.01)];
    assert_eq!((published.name, &published.cp[..3]), ("SIGCOMM2015", &marking.map(Some)[..]));
    assert_eq!(published.rp[0], Some(Value::Text("published".to_owned())));
    for listing in catalogue() {
        for preset in &listing.presets {
            let values = (preset.cp.len(), preset.rp.len());
            assert_eq!(values, (listing.cp_fields.len(), listing.rp_fields.len()), "{} {}", listing.name, preset.name);
        }
    }
}
