//! What a scheme declares to hear and to send is what its machines hear and send.

use qcnlab_schemes::conformance::{self, CpStep, RpStep};
use qcnlab_schemes::registry::{AnyRp, Config, Listing, catalogue};
use qcnlab_schemes::{
    Answer, Arrival, Bcn, Cnm, CongestionPoint, CpAction, CpFastPath, CpId, Delivered, Dice, FlowId, Gauge,
    NotificationPoint, Probe, ProbeAction, ProbeKind, Purpose, Queue, QueueLen, ReactionPoint, RpFastPath, Signal,
    SignalKind, SourcePause, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

const LINE_RATE: BitRate = BitRate::gbps(10);
const FRAME: Bytes = Bytes::new(1500);
const CP: CpId = CpId(0);

fn dice() -> Dice {
    Dice::new(1, 0, "signals", Purpose::Reaction)
}

fn configs() -> Vec<(Config, Listing)> {
    let with_preset = |preset: usize| {
        let chosen = catalogue().into_iter().filter(move |listing| listing.presets.len() > preset);
        chosen.map(move |listing| {
            let name = listing.presets[preset].name;
            (Config::find(listing.name, Some(name)).expect("it is listed"), listing)
        })
    };
    // A preset whose sender learns of marks from acknowledgements leaves the scheme's signals aside.
    let by_signals = |(config, listing): &(Config, Listing)| config.events().is_empty() || listing.hears.is_empty();
    (0..8).flat_map(with_preset).filter(by_signals).collect()
}

/// Signals of one kind, of congestion first, and then of room. Those about probes answer `probe`.
fn signals(kind: SignalKind, probe: Probe) -> Vec<Signal> {
    let queues = [(-10_000, 0), (10_000, 0)];
    let asked_at = probe.asked_at;
    match kind {
        SignalKind::Cnm => vec![Signal::Cnm(Cnm { cp: CP, quantized_fb: 32, q_offset: -10_000, q_delta: 0 })],
        SignalKind::Bcn => {
            queues.map(|(q_offset, q_delta)| Signal::Bcn(Bcn { cp: CP, q_offset, q_delta, stop: false })).to_vec()
        }
        SignalKind::Echo => vec![Signal::Echo(CP)],
        SignalKind::PushBack => vec![Signal::PushBack(CP)],
        SignalKind::Cnp => vec![Signal::Cnp],
        SignalKind::QueueLen => vec![Signal::QueueLen(QueueLen { cp: CP, len: Bytes::new(60_000), arrived: FRAME })],
        SignalKind::Answer => queues
            .map(|(q_offset, q_delta)| {
                Signal::Answer(Answer { cp: CP, asked_at, q_offset, q_delta, capacity: LINE_RATE })
            })
            .to_vec(),
        SignalKind::Returned => vec![Signal::Returned(Probe { rate: BitRate::gbps(1), ..probe })],
        SignalKind::Reflection => vec![Signal::Reflection(-32), Signal::Reflection(32)],
        SignalKind::ReceivedRate => vec![Signal::ReceivedRate(BitRate::gbps(1))],
        SignalKind::Credit => vec![Signal::Credit(Bytes::new(1_000_000))],
        SignalKind::SourcePause => {
            vec![Signal::SourcePause(SourcePause { cp: CP, time: Span::from_us(10) })]
        }
    }
}

/// States of a reaction point on its way through 60 ms with congestion at the start, and the last probe before each.
fn states(config: &Config, hears: &[SignalKind]) -> Vec<(Instant, AnyRp, Probe)> {
    let mut rp = config.reaction_point(LINE_RATE);
    let mut probe = Probe { kind: ProbeKind::Path, asked_at: Instant::ZERO, sent: Bytes::ZERO, rate: LINE_RATE };
    let mut all = vec![(Instant::ZERO, rp.clone(), probe)];
    for kind in hears {
        // The network card of deck 002 takes one message in a hundred as a sample.
        for _ in 0..200 {
            rp.on_signal(Instant::ZERO, &signals(*kind, probe)[0], &mut dice());
        }
    }
    for step in 1..=600 {
        let now = Instant::ZERO + Span::from_us(100 * step);
        if rp.next_wake() <= now {
            rp.on_wake(now, &mut dice());
        }
        let _ = rp.on_sent(now, FRAME, FRAME, &mut dice());
        probe = rp.take_probe(now).unwrap_or(probe);
        all.push((now, rp.clone(), probe));
    }
    all
}

/// Whether signals of `kind` change any of the states.
fn changes(states: &[(Instant, AnyRp, Probe)], kind: SignalKind) -> bool {
    states.iter().any(|(now, rp, probe)| {
        signals(kind, *probe).iter().any(|signal| {
            let mut told = rp.clone();
            told.on_signal(*now, signal, &mut dice());
            format!("{told:?}") != format!("{rp:?}")
        })
    })
}

#[test]
fn a_reaction_point_hears_exactly_the_kinds_its_scheme_declares() {
    for (config, listing) in configs() {
        let states = states(&config, listing.hears);
        let heard: Vec<SignalKind> = SignalKind::ALL.iter().copied().filter(|kind| changes(&states, *kind)).collect();
        assert_eq!(sorted(&heard), sorted(listing.hears), "{} {}", config.name(), config.preset());
    }
}

#[test]
fn ports_and_receivers_send_exactly_the_kinds_their_scheme_declares() {
    for (config, listing) in configs() {
        let (ports, receivers) = sent(&config);
        let name = format!("{} {}", config.name(), config.preset());
        assert_eq!(sorted(&ports), sorted(listing.cp_speaks), "{name}: ports");
        assert_eq!(sorted(&receivers), sorted(listing.np_speaks), "{name}: receivers");
        assert_eq!(config.check_signals(), Ok(()), "{name}");
    }
}

/// The kinds that a port and a receiver send while a queue fills to 1 MB and drains, four times.
fn sent(config: &Config) -> (Vec<SignalKind>, Vec<SignalKind>) {
    let (mut cp, mut np) = (config.congestion_point(CP), config.notification_point());
    let (mut ports, mut receivers) = (Vec::new(), Vec::new());
    let mut dice = dice();
    for step in 0..4 * 1334u64 {
        let now = Instant::ZERO + Span::from_us(step);
        let frames = 667u64.abs_diff(step % 1334);
        let queue = Queue { len: Bytes::new(1500 * (667 - frames)), capacity: Bytes::new(2_000_000), rate: LINE_RATE };
        // Every frame carries what any source may write on it.
        let frame = Arrival {
            flow: FlowId(0),
            size: FRAME,
            admitted: true,
            controlled: true,
            cn_tagged: true,
            limited_by: Some(CP),
            probe: true,
            mark: 0,
        };
        let mut mark = cp.departure_mark(now, true, queue, &mut dice);
        match cp.on_arrival(now, &frame, queue, &mut dice) {
            CpAction::Nothing => {}
            CpAction::Send(signal) => ports.push(signal.kind()),
            CpAction::Mark(written) => mark = mark.max(written),
        }
        let delivered = Delivered { size: FRAME, mark, controlled: true, sent_at: Instant::NEVER };
        receivers.extend(np.as_mut().and_then(|np| np.on_frame(now, &delivered)).map(|signal| signal.kind()));
        for kind in [ProbeKind::Path, ProbeKind::Directed(CP)] {
            let mut probe = Probe { kind, asked_at: now, sent: Bytes::ZERO, rate: LINE_RATE };
            match cp.on_probe(now, &mut probe, queue) {
                ProbeAction::Answer(signal) => ports.push(signal.kind()),
                ProbeAction::Pass => {
                    receivers.extend(np.as_mut().and_then(|np| np.on_probe(now, &probe)).map(|signal| signal.kind()));
                }
            }
        }
    }
    (ports, receivers)
}

/// Each kind once, in the order of [`SignalKind::ALL`].
fn sorted(kinds: &[SignalKind]) -> Vec<SignalKind> {
    SignalKind::ALL.iter().copied().filter(|kind| kinds.contains(kind)).collect()
}

/// A port that sends an echo for each frame, and a source that halves its rate at any signal.
#[derive(Clone, Debug)]
struct Abrupt {
    rate: BitRate,
}

impl CongestionPoint for Abrupt {
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Send(Signal::Echo(CP))
    }
}

impl CpFastPath for Abrupt {}

impl ReactionPoint for Abrupt {
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, _: &mut Dice) {
        self.rate = BitRate::bps(self.rate.get() / 2);
    }
    fn on_wake(&mut self, _: Instant, _: &mut Dice) {}
    fn next_wake(&self) -> Instant {
        Instant::NEVER
    }
    fn limit(&self) -> Option<BitRate> {
        Some(self.rate)
    }
    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate)
    }
}

impl RpFastPath for Abrupt {}

#[test]
#[should_panic(expected = "Echo(CpId(0)) is not a kind it declares")]
fn a_port_that_sends_an_undeclared_kind_breaks_a_law() {
    let frame = Arrival {
        flow: FlowId(0),
        size: FRAME,
        admitted: true,
        controlled: true,
        cn_tagged: false,
        limited_by: None,
        probe: false,
        mark: 0,
    };
    let steps = [CpStep::Frame(frame, Bytes::new(60_000))];
    conformance::congestion_point(&Abrupt { rate: LINE_RATE }, CP, &[SignalKind::Cnp], Bytes::new(150_000), &steps);
}

#[test]
#[should_panic(expected = "Echo(CpId(0)) is not a kind it hears, and changed it")]
fn a_source_that_hears_an_undeclared_kind_breaks_a_law() {
    let steps = [RpStep::Hear(Signal::Cnp), RpStep::Hear(Signal::Echo(CP))];
    conformance::reaction_point(&Abrupt { rate: LINE_RATE }, LINE_RATE, &[SignalKind::Cnp], &steps);
}

/// What is said of schemes: what their ports send, then what their receivers send; some send nothing. A new scheme is held by
/// its own tests.
#[test]
fn a_listing_says_what_ports_and_receivers_send() {
    use SignalKind::Answer;
    use SignalKind::{
        Bcn, Cnm, Cnp, Credit, Echo, PushBack, QueueLen, ReceivedRate, Reflection, Returned, SourcePause,
    };
    let said: Vec<(&str, Vec<SignalKind>)> = catalogue()
        .iter()
        .map(|listing| (listing.name, listing.speaks()))
        .filter(|(_, kinds)| !kinds.is_empty())
        .collect();
    let expected = vec![
        ("qcn", vec![Cnm]),
        ("qcn_byte_counter", vec![Cnm]),
        ("qcn_timer", vec![Cnm]),
        ("af_qcn", vec![Cnm]),
        // Ports echo special frames, and push back.
        ("qcn_sonar", vec![Cnm, Echo]),
        ("fb99", vec![Cnm, PushBack]),
        ("ecm", vec![Bcn]),
        ("ecm_q", vec![Bcn]),
        ("ecm_plus", vec![Cnm]),
        // Receivers answer marked frames and probes, and reflect what ports wrote on frames.
        ("dcqcn", vec![Cnp]),
        ("qcn_plus", vec![Cnm, Answer, Returned]),
        ("nic_fb", vec![QueueLen]),
        ("fecn", vec![Returned]),
        ("qcn_three_point", vec![Reflection]),
        ("qcn_fb_hat", vec![Cnm]),
        ("e2cm", vec![Bcn, Returned]),
        ("pcn", vec![ReceivedRate]),
        ("rccc", vec![Credit]),
        ("sfc", vec![SourcePause]),
    ];
    for one in expected {
        assert!(said.contains(&one), "{one:?} is not in {said:?}");
    }
    for silent in ["none", "dctcp", "timely", "hpcc", "hpcc_pint"] {
        assert!(said.iter().all(|(name, _)| *name != silent), "{silent} in {said:?}");
    }
}
