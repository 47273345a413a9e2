//! Packets cut to their heads: the receiver hears of each loss, and nothing waits for a timeout.

use super::net::{Net, greedy};
use super::two_to_one;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::Flavour;
use qcnlab_sim::testing::{connection, queue_pair};
use qcnlab_sim::{
    Alpha, Control, Departure, Engine, Events, FrameFacts, PortId, SharedBufferPlan, SharedInputPlan, SharedQueuePlan,
    Traffic, TrimPlan,
};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};
use std::ops::ControlFlow;

/// Two messages of 1000 packets meet at a queue of 20 packets.
fn incast(recovery: QpRecovery, trim: bool) -> Net {
    let mut net = two_to_one(Span::from_us(1));
    for host in ["a", "b"] {
        let total = Some(Bytes::new(1_000_000));
        let flow = net.flow(host, "c", 3, Traffic::Roce { config: queue_pair(recovery).into(), total });
        net.plan.flows[flow].frame = Bytes::new(1048);
    }
    let port = net.port("s->c");
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
    net.plan.end = Instant::ZERO + Span::from_ms(100);
    let switch = net.node("s");
    net.plan.nodes[switch].trim = trim.then_some(TrimPlan { size: Bytes::new(64), class: 7, share: 1000 });
    net
}

/// With selective repeat each packet that was cut goes again once for each time that it was cut, and nothing else does. The
/// link is busy until both are done: 2000 packets of 838.4 ns are 1.677 ms, and each head takes 51.2 ns.
#[test]
fn what_is_cut_goes_again_and_nothing_else() {
    let mut net = incast(QpRecovery::SelectiveRepeat, true);
    let mut few = net.run();
    let roce: Vec<_> = few.flows.iter().map(|flow| flow.roce.unwrap()).collect();
    let trimmed: u64 = roce.iter().map(|pair| pair.trimmed).sum();
    assert!(trimmed > 100 && trimmed == few.counters.packets_trimmed && trimmed == few.counters.frames_dropped);
    assert_eq!(roce.iter().map(|pair| pair.retransmitted).sum::<u64>(), trimmed);
    assert!(roce.iter().all(|pair| pair.timeouts == 0 && pair.acknowledged_bytes == 1_000_000), "{roce:?}");
    let last = few.flows.iter().map(|flow| flow.finished).max().unwrap();
    let least = 2000 * 838_400 + trimmed * 51_200;
    assert!(last.ps() > least && last.ps() < least + 100_000_000, "{last:?}");
    net.plan.events = Events::Everywhere;
    let many = net.run();
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
}

/// The same with a shared buffer of 120 KB, of which the queue may hold a quarter of what is free: with b octets queued,
/// (120 - b) / 4 KB, so at most 24 KB, 22 packets of 1048 octets. What exceeds that is cut, and its head goes on.
#[test]
fn a_shared_buffer_cuts_what_exceeds_the_threshold_of_a_queue() {
    let mut net = incast(QpRecovery::SelectiveRepeat, true);
    let (switch, output) = (net.node("s"), net.port("s->c"));
    net.plan.ports[output].capacity = None;
    net.plan.ports[output].recorded = true;
    let inputs = net.plan.ports.enumerate().filter(|(_, port)| port.to == switch);
    let input = |(port, _)| SharedInputPlan { port, headroom: Bytes::ZERO, alpha: None };
    net.plan.nodes[switch].shared_buffer = Some(SharedBufferPlan {
        shared: Bytes::new(120_000),
        reserve: Bytes::ZERO,
        headroom_pool: None,
        cell: Bytes::new(1),
        xon: Bytes::ZERO,
        xon_offset: Bytes::ZERO,
        inputs: inputs.map(input).collect(),
        queues: vec![SharedQueuePlan { port: output, alpha: Alpha::two_to(-2) }],
    });
    let mut few = net.run();
    let roce: Vec<_> = few.flows.iter().map(|flow| flow.roce.unwrap()).collect();
    let trimmed = few.counters.packets_trimmed;
    assert!(trimmed > 100 && trimmed == few.counters.frames_dropped, "{:?}", few.counters);
    assert_eq!(roce.iter().map(|pair| pair.retransmitted).sum::<u64>(), trimmed);
    assert!(roce.iter().all(|pair| pair.timeouts == 0 && pair.acknowledged_bytes == 1_000_000), "{roce:?}");
    let peak = few.trace.queues.bytes.iter().max().copied();
    assert!(peak.is_some_and(|peak| peak > 20 * 1048 && peak < 22 * 1048 + 20 * 64), "{peak:?}");
    net.plan.events = Events::Everywhere;
    let many = net.run();
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
    // Without trim_to they are dropped, and timeouts repair them.
    net.plan.nodes[switch].trim = None;
    let dropped = net.run();
    assert!(dropped.counters.packets_trimmed == 0 && dropped.counters.frames_dropped > 100);
}

/// Go-back-N completes, too. Without heads more is sent again or waits for the timeout.
#[test]
fn messages_complete_with_either_recovery() {
    for recovery in [QpRecovery::GoBackN, QpRecovery::SelectiveRepeat] {
        let [cut, dropped] = [true, false].map(|trim| incast(recovery, trim).run());
        for done in [&cut, &dropped] {
            assert!(done.flows.iter().all(|flow| flow.roce.unwrap().acknowledged_bytes == 1_000_000));
        }
        assert!(cut.flows.iter().all(|flow| flow.roce.unwrap().trimmed > 0) && dropped.counters.packets_trimmed == 0);
    }
}

/// What the receiver of four packets sends, as a capture of its port has it: when, which packet it expects, and whether
/// that one is missing. The packets come to the switch each 838.4 ns, from 1838.4 ns on, and leave it in 2096 ns through
/// a queue with room for one.
fn answers(recovery: QpRecovery, trim: bool) -> Vec<(u64, u32, bool)> {
    let mut net = Net::new(&["a", "c", "s"]);
    net.link("a", "s", BitRate::gbps(10), Span::from_us(1));
    net.link("s", "c", BitRate::gbps(4), Span::from_us(1));
    let flow =
        net.flow("a", "c", 3, Traffic::Roce { config: queue_pair(recovery).into(), total: Some(Bytes::new(4000)) });
    net.plan.flows[flow].frame = Bytes::new(1048);
    let (output, receiver, switch) = (net.port("s->c"), net.port("c->s"), net.node("s"));
    net.plan.ports[output].capacity = Some(Bytes::new(1048));
    net.plan.nodes[switch].trim = trim.then_some(TrimPlan { size: Bytes::new(64), class: 7, share: 1000 });
    net.plan.end = Instant::ZERO + Span::from_us(8);
    captured(net, receiver.number())
}

/// What a receiver sends by this port, with the time in tenths of nanoseconds.
fn captured(net: Net, receiver: u32) -> Vec<(u64, u32, bool)> {
    let mut rows = Vec::new();
    let mut sink = |departure: &Departure| {
        let FrameFacts::Ack { flow, negative, .. } = departure.frame else { panic!("{departure:?}") };
        rows.push((departure.at.ps() / 100, flow.number, negative));
        ControlFlow::Continue(())
    };
    Engine::run_captured(net.plan, &[PortId::new(receiver)], &Control::default(), &mut |_| {}, &mut sink).unwrap();
    rows
}

/// Packet 0 is received at 4934.4 ns, and its acknowledgement of 60 octets takes 120 ns. Packets 1 and 2 find no room. Cut,
/// their heads leave behind packet 0, 128 ns each, and are received at 5062.4 and 5190.4 ns; packet 3, which finds room
/// at 4353.6 ns, at 7449.6 ns. Each of the three says that packet 1 is missing; without heads, packet 3 alone.
#[test]
fn the_answer_to_a_head_is_captured_as_a_negative_one() {
    let (whole, late) = ((50_544, 1, false), (75_696, 1, true));
    let heads = [whole, (51_824, 1, true), (53_104, 1, true), late];
    assert_eq!(answers(QpRecovery::SelectiveRepeat, true), heads);
    assert_eq!(answers(QpRecovery::SelectiveRepeat, false), [whole, late]);
    assert_eq!(answers(QpRecovery::GoBackN, false), [whole, late]);
}

/// The same, and 10 Gb/s from another switch on. There packet 0 is in transmission from 4934.4 to 5772.8 ns, and the two
/// heads, which come at 5062.4 and 5190.4 ns, follow it, 51.2 ns each. They are received at 6772.8, 6824.0 and 6875.2 ns,
/// and each is answered 48 ns later, after the answer before. Packet 3 comes there at 7449.6 and is received at 9288.0 ns.
#[test]
fn a_head_goes_on_over_further_switches() {
    let mut net = Net::new(&["a", "c", "s", "t"]);
    for (from, to, rate) in [("a", "s", 10), ("s", "t", 4), ("t", "c", 10)] {
        net.link(from, to, BitRate::gbps(rate), Span::from_us(1));
    }
    let config = queue_pair(QpRecovery::SelectiveRepeat);
    let flow = net.flow("a", "c", 3, Traffic::Roce { config: config.into(), total: Some(Bytes::new(4000)) });
    net.plan.flows[flow].frame = Bytes::new(1048);
    let (output, receiver, switch) = (net.port("s->t"), net.port("c->t"), net.node("s"));
    net.plan.ports[output].capacity = Some(Bytes::new(1048));
    net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class: 7, share: 1000 });
    net.plan.end = Instant::ZERO + Span::from_us(10);
    let heads = [(68_208, 1, false), (68_720, 1, true), (69_232, 1, true), (93_360, 1, true)];
    assert_eq!(captured(net, receiver.number()), heads);
}

/// Segments of TCP and plain frames have no heads that a receiver would answer: where they find no room they are dropped,
/// as at a switch that cuts nothing.
#[test]
fn only_packets_are_cut() {
    for traffic in [Traffic::Tcp { config: connection(Flavour::NewReno).into(), total: None }, greedy()] {
        let run = |trims: bool| {
            let mut net = incast(QpRecovery::SelectiveRepeat, trims);
            net.plan.flows.iter_mut().for_each(|flow| flow.traffic = traffic.clone());
            net.plan.flows.iter_mut().for_each(|flow| flow.frame = Bytes::new(1518));
            net.plan.end = Instant::ZERO + Span::from_ms(20);
            net.run()
        };
        let (cuts, mut drops) = (run(true), run(false));
        assert!(cuts.counters.packets_trimmed == 0 && cuts.counters.frames_dropped > 10, "{:?}", cuts.counters);
        drops.counters.events = cuts.counters.events;
        assert!(cuts == drops, "the runs differ: {:?} and {:?}", cuts.counters, drops.counters);
    }
}

/// Sixteen senders at line rate whose packets of 1048 octets are cut to 64: heads before all take 16 x 64 / 1048 = 97.7 % of
/// the link to the receiver. With a share of a quarter they leave the rest to packets. Both ways of running give the same.
#[test]
fn heads_leave_the_link_to_packets_but_for_their_share() {
    let senders: Vec<String> = (0..16).map(|sender| format!("h{sender}")).collect();
    let names: Vec<&str> = senders.iter().map(String::as_str).chain(["c", "s"]).collect();
    let carried = |share: u16| {
        let mut net = Net::new(&names);
        for host in &names[..17] {
            net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
        }
        for host in &senders {
            let config = queue_pair(QpRecovery::SelectiveRepeat);
            let flow = net.flow(host, "c", 3, Traffic::Roce { config: config.into(), total: None });
            net.plan.flows[flow].frame = Bytes::new(1048);
        }
        let port = net.port("s->c");
        net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
        net.plan.end = Instant::ZERO + Span::from_ms(2);
        let switch = net.node("s");
        net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class: 7, share });
        let mut few = net.run();
        let octets = few.counters.frames_delivered * 1048;
        net.plan.events = Events::Everywhere;
        let many = net.run();
        few.counters.events = many.counters.events;
        assert!(few == many, "{share}: the runs differ");
        // Octets that the link carries in 2 ms at 10 Gb/s.
        octets as f64 / 2.5e6
    };
    let shares = [1000, 250, 100].map(carried);
    assert!(shares[0] < 0.1, "{shares:?}");
    assert!(shares[1] > 0.70 && shares[1] < 0.76, "{shares:?}");
    assert!(shares[2] > 0.86 && shares[2] < 0.91, "{shares:?}");
}
