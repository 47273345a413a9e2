//! Whole runs of one or two hosts, worked by hand: what limiters, sources and pauses do to single frames.

mod net;

use net::{Net, greedy};
use qcnlab_sim::{
    Control, Engine, Events, FlowId, FrameFacts, PausePlan, PauseRule, PauseScope, PortId, Process, Traffic,
};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};
use std::ops::ControlFlow;

const TEN: BitRate = BitRate::gbps(10);

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

/// Hosts a and b send to c at 10 Gb/s each in one class, and a sends 1 Gb/s to b in the class below or above it. PFC of
/// all classes stops the first class alone, whichever it is.
#[test]
fn pfc_of_each_class_stops_that_class_alone() {
    for class in 0..8u8 {
        let other = if class == 7 { 6 } else { class + 1 };
        let mut net = Net::new(&["a", "b", "c", "s"]);
        for host in ["a", "b", "c"] {
            net.link(host, "s", TEN, Span::from_us(1));
        }
        let flows = [net.flow("a", "c", class, greedy()), net.flow("b", "c", class, greedy())];
        let victim = net.flow("a", "b", other, Traffic::Constant { rate: BitRate::gbps(1) });
        net.pause("s", 200_000, 30_000, 20_000);
        let s = net.node("s");
        net.plan.nodes[s].pause.as_mut().expect("it pauses").scope = PauseScope::Classes(0xff);
        let done = net.run();
        let rows = &done.trace.pauses;
        assert!(!rows.class.is_empty() && rows.class.iter().all(|stopped| *stopped == Some(class)), "class {class}");
        assert_eq!(done.counters.frames_dropped, 0, "class {class}");
        // 10 Gb/s for 5 ms are 4166 frames for the two; 1 Gb/s for 5 ms are 416 for the other. Class 7 goes before class
        // 6 at its host, but it is stopped half of the time.
        let delivered: u64 = flows.iter().map(|flow| done.flows[*flow].delivered).sum();
        assert!((4150..=4166).contains(&delivered), "class {class}: {delivered}");
        assert!(done.flows[victim].delivered >= 410, "class {class}: {:?}", done.flows[victim]);
    }
}

/// One host at 10 Gb/s into 100 Mb/s: a threshold asks for 96 us whenever half of that is over, so that one pause lasts
/// from the first to the last frame that finds the queue long. It is one row, from its beginning.
#[test]
fn a_pause_that_is_refreshed_is_one_row() {
    let mut net = Net::new(&["a", "b", "s"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("b", "s", TEN, Span::from_us(1));
    let slow = net.port("s->b");
    net.plan.ports[slow].rate = BitRate::mbps(100);
    net.flow("a", "b", 0, greedy());
    // The watermark asks again each 96 / 2 us until 30 000 octets have fallen to 15 000: each frame takes 120 us.
    let s = net.node("s");
    net.plan.nodes[s].input_memory = Some(Bytes::new(60_000));
    net.plan.nodes[s].pause = Some(PausePlan {
        scope: PauseScope::Link,
        rule: PauseRule::Watermarks { high: Bytes::new(30_000), low: Bytes::new(15_000), quanta: 1875 },
        reaction: Span::ZERO,
    });
    let done = net.run();
    let (rows, pauses) = (&done.trace.pauses, done.counters.pause_frames);
    assert_eq!(done.counters.frames_dropped, 0);
    // Ten frames and more leave in a pause, 120 us each: 1.2 ms and more, of which each 48 us ask again.
    assert!(rows.start.len() >= 2 && rows.start.len() <= 5, "{rows:?}");
    for (start, end) in rows.start.iter().zip(&rows.end).filter(|(_, end)| **end < net.plan.end.ps()) {
        assert!(end - start > 1_200_000_000, "{start}..{end}");
    }
    assert!(pauses >= 20 * (rows.start.len() as u64 - 1), "{pauses} frames for {} rows", rows.start.len());
    // Between two rows the link goes on, and they do not overlap.
    assert!(rows.end.iter().zip(&rows.start[1..]).all(|(end, next)| end < next));
}

/// Without PAUSE a queue of ten frames at 1 Gb/s loses what comes to it full, at its port, in the bin of its arrival.
#[test]
fn drops_are_recorded_where_and_when_they_happen() {
    let mut net = Net::new(&["a", "b", "s"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("b", "s", BitRate::gbps(1), Span::from_us(1));
    let slow = net.port("s->b");
    net.plan.ports[slow].capacity = Some(Bytes::new(15_000));
    let flow = net.flow("a", "b", 0, greedy());
    net.plan.end = us(200);
    let done = net.run();
    let rows = &done.trace.drops;
    // Frame k, from 0, comes at 2.2 + 1.2 k us; frame j leaves at 14.2 + 12 j us. By 100 us 82 have come, 8 have left and
    // ten wait: 64 are lost. By 200 us it is 165, 16 and ten: 139, so 75 in the second bin.
    assert_eq!((&rows.time, &rows.frames), (&vec![0, 100_000_000], &vec![64, 75]));
    assert_eq!((&rows.port, &rows.flow), (&vec![net.port("s->b").number(); 2], &vec![flow.number(); 2]));
    assert_eq!(rows.bytes, [64 * 1500, 75 * 1500]);
    assert_eq!(done.flows[flow].dropped, 139);
}

/// A time of zero between samples asks for none.
#[test]
fn what_is_not_to_be_sampled_has_no_rows() {
    let mut net = Net::new(&["a", "b"]);
    net.link("a", "b", BitRate::gbps(1), Span::ZERO);
    net.flow("a", "b", 0, greedy());
    net.plan.ports[PortId::new(0)].recorded = true;
    assert_eq!(net.run().trace.queues.time.len(), 500, "each 10 us from 0 on, for 5 ms");
    net.plan.record.queue_every = Span::ZERO;
    let rows = net.run().trace;
    assert_eq!((rows.queues.time.len(), rows.rates.time.len()), (0, 0));
}

/// As a constant source, a generator's flow keeps three frames and no more: of 834 frames in 5 ms, one each 6 us, 417 go
/// at 12 us each, three wait and the others are refused.
#[test]
fn a_generator_finds_no_room_behind_three_frames() {
    let mut net = Net::new(&["a", "b"]);
    net.link("a", "b", BitRate::gbps(1), Span::ZERO);
    let flow = net.fed("a", "b", Process::Constant { rate: BitRate::gbps(2) });
    net.plan.flows[flow].room = Some(Bytes::new(4500));
    let done = net.run();
    assert_eq!((done.flows[FlowId::new(0)].sent, done.flows[FlowId::new(0)].refused), (417, 834 - 417 - 3));
}

/// A frame of 1500 octets takes 1.2 us on each link, and 1 us to cross it: frame k, from 0, leaves the host at 1.2 (k + 1)
/// and the switch at 3.4 + 1.2 k us. Both ports are heard in the order of time, each frame once and with its number k, up
/// to the end at 5 us.
#[test]
fn a_capture_has_each_frame_when_it_has_left() {
    let mut net = Net::new(&["a", "s", "b"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "b", TEN, Span::from_us(1));
    net.flow("a", "b", 0, greedy());
    net.plan.end = us(5);
    let (host, switch) = (net.port("a->s"), net.port("s->b"));
    let capture = |ports: &[PortId], most: usize| {
        let mut rows = Vec::new();
        let mut sink = |departure: &qcnlab_sim::Departure| {
            let FrameFacts::Data(facts) = departure.frame else { panic!("{departure:?}") };
            assert_eq!(facts.size, Bytes::new(1500));
            rows.push((departure.at.ps() / 100_000, departure.port, facts.number));
            if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let done = Engine::run_captured(net.plan.clone(), ports, &Control::default(), &mut |_| {}, &mut sink);
        (rows, done.is_ok())
    };
    let all = [(12, host, 0), (24, host, 1), (34, switch, 0), (36, host, 2), (46, switch, 1), (48, host, 3)];
    assert_eq!(capture(&[host, switch], 100), (all.to_vec(), true));
    assert_eq!(capture(&[switch], 100).0, [all[2], all[4]]);
    assert_eq!(capture(&[], 100).0, []);
    // A sink that has enough ends the run.
    let (rows, whole) = capture(&[host, switch], 3);
    assert_eq!((&rows[..], whole), (&all[..3], false));
}

/// Frames of 1.2 us that follow each other, and frames each 2.4 us: what could leave at the stop does not. Three and two go
/// before 3.6 and 4.8 us; 1 ps more lets another one go.
#[test]
fn nothing_leaves_at_the_stop() {
    let half = Traffic::Constant { rate: BitRate::gbps(5) };
    for (traffic, stop, before) in [(greedy(), 3_600_000, 3), (half, 4_800_000, 2)] {
        for events in [Events::WhereNeeded, Events::Everywhere] {
            let sent = |stop| {
                let mut net = Net::new(&["a", "b"]);
                net.link("a", "b", TEN, Span::from_us(1));
                net.flow("a", "b", 0, traffic.clone());
                net.plan.flows[FlowId::new(0)].stop = Instant::from_ps(stop);
                net.plan.events = events;
                net.run().flows[FlowId::new(0)].sent
            };
            assert_eq!([stop, stop + 1].map(sent), [before, before + 1], "{traffic:?}, {events:?}");
        }
    }
}

/// A generator, too: one frame each 2.4 us from 0 on, and none at its stop.
#[test]
fn a_generator_adds_nothing_at_its_stop() {
    let sent = |stop| {
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", TEN, Span::from_us(1));
        net.fed("a", "b", Process::Constant { rate: BitRate::gbps(5) });
        net.plan.generators[0].stop = Instant::from_ps(stop);
        net.run().flows[FlowId::new(0)].sent
    };
    assert_eq!([1, 4_800_000, 4_800_001].map(sent), [1, 2, 3]);
}
