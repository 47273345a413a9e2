//! Whole runs of a star: counts that other simulators agree on, and laws that hold in any run.

mod net;

use proptest::prelude::*;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{
    Control, Engine, Events, Feedback, Finished, FlowPlan, FlowSettings, LimiterId, NodeId, NodePlan, PathChoice, Plan,
    PortId, PortPlan, Record, ServiceChange, Ties, Traffic,
};
use qcnlab_units::{BitRate, Bytes, Id, IdVec, Instant, Span};

/// `sources` hosts, a switch and a sink; 10 Gb/s links of `delay`.
fn star(sources: usize, delay: Span, traffic: Traffic, scheme: &str) -> Plan {
    let switch = NodeId::at(sources);
    let sink = NodeId::at(sources + 1);
    let host = NodeId::at;
    let port = |name: String, (from, to), capacity, watched, peer| PortPlan {
        name,
        from,
        to,
        latency: Span::ZERO,
        rate: BitRate::gbps(10),
        delay,
        capacity,
        overhead: Bytes::ZERO,
        watched,
        wred: Vec::new(),
        recorded: watched,
        peer: Some(PortId::at(peer)),
    };
    let mut ports: IdVec<PortId, PortPlan> = (0..sources)
        .map(|i| port(format!("source{i}->switch"), (host(i), switch), None, false, sources + 1 + i))
        .collect();
    ports.push(port("switch->sink".to_owned(), (switch, sink), Some(Bytes::new(150_000)), true, 2 * sources + 1));
    ports.extend((0..sources).map(|i| port(format!("switch->source{i}"), (switch, host(i)), None, false, i)));
    ports.push(port("sink->switch".to_owned(), (sink, switch), None, false, sources));
    let flows = (0..sources)
        .map(|i| FlowPlan {
            name: format!("source{i}").into(),
            paths: vec![[i, sources].map(PortId::at).to_vec()].into(),
            traffic: traffic.clone(),
            start: Instant::ZERO,
            limiter: LimiterId::at(i),
            settings: FlowSettings::default().into(),
        })
        .collect();
    let nodes = (0..sources + 2).map(|i| NodePlan { name: format!("node{i}"), ..NodePlan::default() }).collect();
    Plan {
        nodes,
        ports,
        flows,
        generators: Vec::new(),
        replays: Vec::new(),
        events: Events::WhereNeeded,
        ties: Ties::Drawn,
        services: Vec::new(),
        failures: Vec::new(),
        storms: Vec::new(),
        reroutes: Vec::new(),
        dependencies: Vec::new(),
        longest_way: Vec::new(),
        path_choice: PathChoice::Random,
        domain: None,
        feedback: Feedback::Ideal,
        scheme: Config::find(scheme, None).unwrap(),
        end: Instant::ZERO + Span::from_ms(20),
        drains: false,
        seed: 1,
        replication: 0,
        record: Record {
            queue_every: Span::from_us(100),
            rates_every: Span::from_ms(1),
            bin: Span::from_ms(1),
            messages: true,
            kept: true,
        },
    }
}

fn run(plan: &Plan) -> Finished {
    Engine::new(plan).run(&Control::default()).unwrap()
}

/// Ten senders of 1.05 Gb/s into 10 Gb/s: ns-2, csg-htsim and OMNeT++ count the same drops.
#[test]
fn ten_senders_drop_41567_frames_in_a_second() {
    let mut plan = star(10, Span::from_us(20), Traffic::Constant { rate: BitRate::mbps(1050) }, "none");
    for (i, flow) in plan.flows.iter_mut().enumerate() {
        flow.start = Instant::from_ps(i as u64 * 1_142_857);
    }
    plan.end = Instant::ZERO + Span::from_ms(1000);
    // Their starts are staggered, so no two frames arrive at one instant, and the order of ties makes no difference.
    for ties in [Ties::PortOrder, Ties::Drawn] {
        plan.ties = ties;
        let counters = run(&plan).counters;
        assert_eq!(counters.frames_dropped, 41_567);
        // 875 000 frames offered in a second, all but the newest across the first link.
        assert_eq!(counters.frames_sent, 875_000);
    }
}

/// Four saturated sources in step: four frames arrive while one leaves, so a full queue has room for one of the four.
#[test]
fn of_frames_of_one_instant_each_is_first_equally_often() {
    let mut plan = star(4, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "none");
    plan.end = Instant::ZERO + Span::from_ms(100);
    let delivered = |plan: &Plan| -> Vec<u64> { run(plan).flows.iter().map(|flow| flow.delivered).collect() };
    // In 100 ms at 1.2 us a frame some 83 300 frames pass, a quarter of each source: 20 830, standard deviation
    // sqrt(83 300 * 1/4 * 3/4) = 125.
    let drawn = delivered(&plan);
    assert!(drawn.iter().all(|n| n.abs_diff(20_830) < 500), "{drawn:?}");
    plan.seed = 2;
    assert_ne!(delivered(&plan), drawn);
    // By number, the first takes every place but those of the first 100 frames, which the empty queue admitted of all.
    plan.ties = Ties::PortOrder;
    let numbered = delivered(&plan);
    assert!(numbered[0] > 83_100 && numbered[1..].iter().all(|n| *n <= 34), "{numbered:?}");
}

#[test]
fn a_saturated_source_fills_its_link() {
    let plan = star(1, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "none");
    let done = run(&plan);
    // 20 ms at 1.2 us a frame; the newest frame is sent at 20 ms less 1.2 us or earlier.
    assert_eq!(done.counters.frames_sent, 16_667);
    assert_eq!(done.counters.frames_dropped, 0);
    // The first frame is through at 1.2 + 5 + 1.2 = 7.4 us, so floor((t - 7.4) / 1.2) + 1 are through
    // at t us: 828, 1661, 2494 and 3328 at the ends of the first four bins.
    let first: Vec<u64> = done.trace.throughput.bytes[..4].to_vec();
    assert_eq!(first, [828 * 1500, 833 * 1500, 833 * 1500, 834 * 1500]);
}

#[test]
fn a_ceiling_holds() {
    let plan = star(1, Span::from_us(5), Traffic::Saturated { ceiling: Some(BitRate::gbps(1)), total: None }, "none");
    // 12 us a frame: sent at 0, 12, ... 19 992 us.
    assert_eq!(run(&plan).counters.frames_sent, 1667);
}

#[test]
fn service_changes_show_in_the_throughput() {
    let mut plan = star(2, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "none");
    let change = |ms, rate| ServiceChange { at: Instant::ZERO + Span::from_ms(ms), port: PortId::new(2), rate };
    plan.services = vec![change(5, BitRate::mbps(500)), change(10, BitRate::gbps(10))];
    let done = run(&plan);
    let rate_in_bin = |bin: u64| -> u64 {
        let rows = &done.trace.throughput;
        let in_bin = rows.time.iter().zip(&rows.bytes).filter(|(t, _)| **t == bin * 1_000_000_000);
        in_bin.map(|(_, bytes)| bytes * 8 * 1000).sum()
    };
    // A 1 ms bin at 0.5 Gb/s holds 41.7 frames, at 10 Gb/s 833.3.
    for bin in 6..9 {
        assert!((492_000_000..=504_000_000).contains(&rate_in_bin(bin)), "bin {bin}: {}", rate_in_bin(bin));
    }
    for bin in [2, 3, 12, 15] {
        assert!((9_990_000_000..=10_010_000_000).contains(&rate_in_bin(bin)), "bin {bin}: {}", rate_in_bin(bin));
    }
}

#[test]
fn feedback_frames_and_ideal_feedback_differ_by_their_serialisation() {
    // The rate of the source that the first message is about, each 1.6 ns: when it is cut, after the message was sent.
    let cut_after = |feedback| {
        let mut plan = star(2, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "qcn");
        plan.feedback = feedback;
        plan.record.rates_every = Span::from_ps(1600);
        plan.end = Instant::ZERO + Span::from_us(300);
        let trace = run(&plan).trace;
        let (sent, about) = (trace.messages.time[0], trace.messages.flow[0]);
        let rows = trace.rates.time.iter().zip(&trace.rates.flow).zip(&trace.rates.current);
        let line_rate = BitRate::gbps(10).get();
        let mut cut = rows.filter(|((_, flow), rate)| **flow == about && **rate < line_rate);
        (sent, cut.next().expect("the first message cuts").0.0 - sent)
    };
    let (ideal_sent, ideal) = cut_after(Feedback::Ideal);
    let (sent, framed) = cut_after(Feedback::Frames { size: Bytes::new(64), class: 7 });
    assert_eq!(ideal_sent, sent, "nothing has been fed back yet");
    // The link's 5 us; and 512 bits at 10 Gb/s, 51.2 ns, where the signal is a frame.
    assert!((5_000_000..5_001_600).contains(&ideal), "{ideal} ps");
    assert!((5_051_200..5_052_800).contains(&framed), "{framed} ps");
}

/// Each message is recorded and counted, at the point that sent it too. Above one port alone there is a queue.
#[test]
fn a_congestion_point_counts_its_messages() {
    let done = run(&star(2, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "qcn"));
    let sent: Vec<u64> = done.points.iter().map(|point| point.sent).filter(|sent| *sent > 0).collect();
    assert!(done.counters.messages_sent > 10, "{:?}", done.counters);
    assert_eq!(sent, [done.counters.messages_sent]);
    assert_eq!(done.trace.messages.time.len() as u64, done.counters.messages_sent);
}

#[test]
fn a_run_can_be_stopped() {
    let plan = star(2, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "none");
    let control = Control::default();
    control.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(Engine::new(&plan).run(&control), Err(qcnlab_sim::Halt::Cancelled));
}

#[test]
fn adding_a_source_leaves_other_streams_alone() {
    let starts = |sources| -> Vec<u64> {
        let mut plan = star(sources, Span::from_us(5), Traffic::Saturated { ceiling: None, total: None }, "qcn");
        for flow in &mut plan.flows {
            flow.start_jitter = Span::from_us(12);
        }
        run(&plan).flows.iter().map(|flow| flow.started.ps()).collect()
    };
    let (two, three) = (starts(2), starts(3));
    assert_eq!(two, three[..2]);
    assert!(two[0] != two[1] && three[2] != two[0] && three.iter().all(|start| (1..12_000_000).contains(start)));
}

/// The first table, column and row in which two runs differ.
fn first_difference(a: &Finished, b: &Finished) -> Option<String> {
    fn column<T: PartialEq + std::fmt::Debug>(name: &str, a: &[T], b: &[T]) -> Option<String> {
        let row = (0..a.len().max(b.len())).find(|row| a.get(*row) != b.get(*row))?;
        Some(format!("{name}, row {row}: {:?} and {:?}", a.get(row), b.get(row)))
    }
    let (x, y) = (&a.trace, &b.trace);
    column("message times", &x.messages.time, &y.messages.time)
        .or_else(|| column("messages", &x.messages.signal, &y.messages.signal))
        .or_else(|| column("queues", &x.queues.bytes, &y.queues.bytes))
        .or_else(|| column("rates", &x.rates.current, &y.rates.current))
        .or_else(|| column("throughput", &x.throughput.bytes, &y.throughput.bytes))
        .or_else(|| column("flows", &a.flows, &b.flows))
        .or_else(|| (a != b).then(|| format!("{:?} and {:?}", a.counters, b.counters)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: net::kept("star"), ..ProptestConfig::default() })]

    /// Every run audits itself; here the audits of many odd runs have to close, a rerun has to be the same, and so
    /// has a run with an event for every release, end of transmission and arrival.
    #[test]
    fn conservation_and_repeatability(
        sources in 1..6u32,
        delay in 0..200u64,
        rate in 50..12_000u64,
        saturated: bool,
        total in prop::option::of(1..20_000_000u64),
        room in prop::option::of(1..40u64),
        stop in prop::option::of(1..20u64),
        scheme in prop::sample::select(vec!["none", "qcn", "qcn_byte_counter", "ecm", "qcn_sonar", "fb99", "qcn_three_point", "dcqcn", "qcn_plus", "fecn", "nic_fb"]),
        frames: bool,
        frame in 64..9000u64,
        overhead in prop::sample::select(vec![0u64, 20]),
        dip in 1..10u64,
        low in 1..2000u64,
        seed: u64,
    ) {
        let traffic = if saturated { Traffic::Saturated { ceiling: Some(BitRate::mbps(rate)), total: total.map(Bytes::new) } } else { Traffic::Constant { rate: BitRate::mbps(rate) } };
        let sources = sources as usize;
        let mut plan = star(sources, Span::from_us(delay), traffic, scheme);
        plan.seed = seed;
        plan.feedback = if frames { Feedback::Frames { size: Bytes::new(64), class: 7 } } else { Feedback::Ideal };
        for flow in &mut plan.flows {
            flow.frame = Bytes::new(frame);
            flow.start_jitter = Span::from_us(30);
            flow.room = room.map(|frames| Bytes::new(frames * frame));
            flow.stop = stop.map_or(Instant::NEVER, |ms| Instant::ZERO + Span::from_ms(ms));
        }
        for port in &mut plan.ports { port.overhead = Bytes::new(overhead); }
        plan.services = vec![
            ServiceChange { at: Instant::ZERO + Span::from_ms(dip), port: PortId::at(sources), rate: BitRate::mbps(low) },
            ServiceChange { at: Instant::ZERO + Span::from_ms(dip + 2), port: PortId::at(0), rate: BitRate::mbps(low) },
            ServiceChange { at: Instant::ZERO + Span::from_ms(dip + 4), port: PortId::at(sources), rate: BitRate::gbps(10) },
        ];
        let done = run(&plan);
        // Probes have a class, and so a queue of their own, where they travel as frames.
        let queues = if frames && matches!(scheme, "qcn_plus" | "fecn") { 2 } else { 1 };
        prop_assert!(done.trace.queues.bytes.iter().all(|b| *b <= queues * 150_000));
        prop_assert_eq!(&done, &run(&plan));
        plan.events = Events::Everywhere;
        let mut other = run(&plan);
        prop_assert!(other.counters.events >= done.counters.events);
        other.counters.events = done.counters.events;
        prop_assert_eq!(first_difference(&done, &other), None);
    }
}
