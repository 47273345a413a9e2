//! Captures: which frames a port sends, and which signals it hears, with their times and facts.

use super::TEN;
use super::listener::Listener;
use super::net::{Net, greedy};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::transport::EventKinds;
use qcnlab_schemes::{CpId, QueueLen, Signal};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::Flavour;
use qcnlab_sim::testing::{connection, queue_pair};
use qcnlab_sim::{
    Control, DataFacts, Departure, Engine, Events, Feedback, FlowId, FrameFacts, PortId, SignalFacts, Ties, Traffic,
};
use qcnlab_units::{Bytes, Id, Instant, Span};
use std::ops::ControlFlow;

/// a -> s -> b: a frame of 1500 octets leaves the host at 1.2 us, comes to the switch at 2.2 us and leaves it at 3.4 us.
fn line() -> Net {
    let mut net = Net::new(&["a", "s", "b"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "b", TEN, Span::from_us(1));
    net
}

fn captured(net: Net, ports: &[&str]) -> Vec<Departure> {
    let ports: Vec<PortId> = ports.iter().map(|port| net.port(port)).collect();
    let mut rows = Vec::new();
    let mut sink = |departure: &Departure| {
        rows.push(*departure);
        ControlFlow::Continue(())
    };
    Engine::run_captured(net.plan, &ports, &Control::default(), &mut |_| {}, &mut sink).unwrap();
    rows
}

/// What left the host is known when it has crossed 5 us of link, long after what the switch sent over 100 ns. The host's
/// frame k, from 0, leaves at 1.2 (k + 1) us, the switch's at 7.4 + 1.2 k us.
#[test]
fn links_of_different_length_are_reported_in_the_order_of_time() {
    let mut net = Net::new(&["a", "s", "b"]);
    net.link("a", "s", TEN, Span::from_us(5));
    net.link("s", "b", TEN, Span::from_ns(100));
    net.flow("a", "b", 0, greedy());
    net.plan.end = Instant::ZERO + Span::from_us(15);
    let (host, switch) = (net.port("a->s"), net.port("s->b"));
    let rows = captured(net, &["a->s", "s->b"]);
    let rows: Vec<(u64, PortId)> = rows.iter().map(|row| (row.at.ps() / 100_000, row.port)).collect();
    let mut expected: Vec<(u64, PortId)> = (1..=12).map(|k| (12 * k, host)).collect();
    expected.extend((0..7).map(|k| (74 + 12 * k, switch)));
    expected.sort_unstable();
    assert_eq!(rows, expected);
}

/// Eight hosts send at once. Where ties go by the order of ports, so do reports of one instant.
#[test]
fn reports_of_one_instant_keep_their_order() {
    let hosts = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut net = Net::new(&["a", "b", "c", "d", "e", "f", "g", "h", "s", "x"]);
    for host in [&hosts[..], &["x"]].concat() {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    for host in hosts {
        net.flow(host, "x", 0, greedy());
    }
    net.plan.ties = Ties::PortOrder;
    net.plan.end = Instant::ZERO + Span::from_us(10);
    let ports = hosts.map(|host| format!("{host}->s"));
    let numbers: Vec<PortId> = ports.iter().map(|port| net.port(port)).collect();
    let rows: Vec<PortId> = captured(net, &ports.each_ref().map(String::as_str)).iter().map(|row| row.port).collect();
    // Frames of 1.2 us: eight of each host by 9.6 us.
    assert_eq!(rows, numbers.repeat(8));
}

/// Segment 0 of 1518 octets, 1214.4 ns, is at b at 2 * (1.2144 + 1) = 4.4288 us. Its acknowledgement of 64 octets, 51.2 ns,
/// leaves b then, expects segment 1, and is at a at 4.4288 + 2 * 1.0512 = 6.5312 us. Segments 1 and 2 follow.
#[test]
fn segments_and_acknowledgements_of_tcp_have_their_own_numbers() {
    let mut net = line();
    let flow = net.flow("a", "b", 0, Traffic::Tcp { config: connection(Flavour::Reno).into(), total: None });
    net.plan.flows[flow].frame = Bytes::new(1518);
    net.plan.end = Instant::ZERO + Span::from_us(10);
    let (host, sink) = (net.port("a->s"), net.port("b->s"));
    let rows: Vec<(u64, PortId, bool, u32)> = captured(net, &["a->s", "b->s"])
        .iter()
        .map(|row| match row.frame {
            FrameFacts::Data(facts) => (row.at.ps() / 100, row.port, facts.segment, facts.number),
            FrameFacts::Ack { flow, negative: false, .. } => (row.at.ps() / 100, row.port, false, flow.number),
            _ => panic!("{row:?}"),
        })
        .collect();
    let segment = |at, number| (at, host, true, number);
    assert_eq!(rows, [segment(12_144, 0), (44_800, sink, false, 1), segment(77_456, 1), segment(89_600, 2)]);
}

/// Two senders lose frames at a queue of ten and send them again, or a scheme sends probes: the run is the same when all
/// ports are captured, whatever numbers frames carry.
#[test]
fn a_capture_changes_nothing() {
    let roce = Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total: None };
    let tcp = Traffic::Tcp { config: connection(Flavour::NewReno).into(), total: None };
    for (traffic, frame, scheme) in [(roce, 1048, "none"), (tcp, 1518, "none"), (greedy(), 1500, "fecn")] {
        let mut net = super::two_to_one(Span::from_us(1));
        for host in ["a", "b"] {
            let flow = net.flow(host, "c", 0, traffic.clone());
            net.plan.flows[flow].frame = Bytes::new(frame);
        }
        let out = net.port("s->c");
        net.plan.ports[out].watched = true;
        net.plan.ports[out].capacity = Some(Bytes::new(10 * frame));
        net.plan.scheme = Config::find(scheme, None).unwrap();
        net.plan.end = Instant::ZERO + Span::from_ms(2);
        net.plan.events = Events::Everywhere;
        let plain = net.run();
        let ports = ["a->s", "b->s", "s->c", "c->s", "s->a", "s->b"].map(|port| net.port(port));
        let (mut rows, plan) = (0, net.plan);
        let mut sink = |_: &Departure| {
            rows += 1;
            ControlFlow::Continue(())
        };
        let captured = Engine::run_captured(plan, &ports, &Control::default(), &mut |_| {}, &mut sink).unwrap();
        assert!(plain == captured, "{:?} and {:?}", plain.counters, captured.counters);
        let counters = &plain.counters;
        assert!(rows > 50 && counters.frames_dropped + counters.probes_sent > 3, "{scheme}: {rows}, {counters:?}");
    }
}

/// The port to b answers each frame. Frame 0 comes to it at 2.2 us, finds nothing but itself, and the answer of 64 octets
/// leaves for a 51.2 ns later and is there after 1 us more. What is ideal is there after 1 us, and no frame. The next frame
/// comes at 3.4 us.
#[test]
fn a_signal_is_captured_where_it_is_sent_and_where_it_is_heard() {
    for feedback in [Feedback::Frames { size: Bytes::new(64), class: 7 }, Feedback::Ideal] {
        let mut net = line();
        net.flow("a", "b", 3, greedy());
        net.plan.feedback = feedback;
        net.plan.end = Instant::from_ps(3_300_000);
        let (host, back, out) = (net.port("a->s"), net.port("s->a"), net.port("s->b"));
        net.plan.ports[out].watched = true;
        let mut listener = Listener::new(EventKinds::NONE, |_, _, _: &mut Vec<()>| ());
        listener.tells = true;
        listener.listen(&mut net);
        let rows: Vec<(u64, PortId, SignalFacts)> = captured(net, &["a->s", "s->a", "s->b"])
            .iter()
            .filter_map(|row| match row.frame {
                FrameFacts::Signal(facts) => Some((row.at.ps(), row.port, facts)),
                _ => None,
            })
            .collect();
        let sampled = DataFacts {
            flow: FlowId::new(0),
            number: 0,
            size: Bytes::new(1500),
            class: 3,
            segment: false,
            controlled: true,
            cn_tagged: true,
            asks_bandwidth: false,
            limited_by: None,
            mark: 0,
        };
        let signal = Signal::QueueLen(QueueLen { cp: CpId(0), len: Bytes::new(1500), arrived: Bytes::new(1500) });
        let carried = (feedback != Feedback::Ideal).then_some((Bytes::new(64), 7));
        let sent = SignalFacts { signal, sampled, sampled_at: out, carried, heard: false };
        let heard = SignalFacts { heard: true, ..sent };
        let expected = match feedback {
            Feedback::Ideal => [(2_200_000, out, sent), (3_200_000, host, heard)],
            Feedback::Frames { .. } => [(2_251_200, back, sent), (3_251_200, host, heard)],
        };
        assert_eq!(rows, expected, "{feedback:?}");
    }
}

/// The host's own port answers its frames, at 0, 1.2, 2.4, 3.6 and 4.8 us: each answer is at its limiter at once, crosses no
/// link, and is counted neither as sent by the host nor as received there.
#[test]
fn a_signal_that_starts_at_its_limiter_crosses_no_link() {
    for feedback in [Feedback::Frames { size: Bytes::new(64), class: 7 }, Feedback::Ideal] {
        let mut net = line();
        net.flow("a", "b", 3, greedy());
        net.plan.feedback = feedback;
        net.plan.end = Instant::ZERO + Span::from_us(5);
        let out = net.port("a->s");
        net.plan.ports[out].watched = true;
        let mut listener = Listener::new(EventKinds::NONE, |_, _, _: &mut Vec<()>| ());
        listener.tells = true;
        listener.listen(&mut net);
        let done = net.run();
        assert_eq!((done.counters.messages_sent, done.counters.messages_heard), (5, 5), "{feedback:?}");
        assert_eq!(done.counters.frame_hops, 5 + 3, "three frames have come to the switch");
    }
}
