//! Frames that are not data and find no room in a queue: they count as lost, and the audit closes, with a memory for
//! each input and without.

use super::TEN;
use super::listener::Listener;
use super::net::{Net, greedy};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::transport::EventKinds;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::Flavour;
use qcnlab_sim::testing::{connection, queue_pair};
use qcnlab_sim::{Control, Departure, Engine, Feedback, FlowId, FrameFacts, Traffic, TrimPlan};
use qcnlab_units::{Bytes, Id, Instant, Span};
use std::ops::ControlFlow;

/// Hosts a and b send to c through a port that is watched; c and d send to a, so that what goes back to a finds little
/// room. Two full frames fit.
fn crowded(of_a: Traffic, of_b: Traffic) -> Net {
    let mut net = Net::new(&["a", "b", "c", "d", "s"]);
    for host in ["a", "b", "c", "d"] {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    net.flow("a", "c", 0, of_a);
    net.flow("b", "c", 0, of_b);
    net.flow("c", "a", 0, greedy());
    net.flow("d", "a", 0, greedy());
    let (forward, back) = (net.port("s->c"), net.port("s->a"));
    net.plan.ports[forward].watched = true;
    net.plan.ports[forward].capacity = Some(Bytes::new(150_000));
    net.plan.ports[back].capacity = Some(Bytes::new(3000));
    net.plan.feedback = Feedback::Frames { size: Bytes::new(64), class: 0 };
    net
}

/// Runs with a memory at the switch that counts by input, and without.
fn both_ways(mut net: Net, check: impl Fn(&qcnlab_sim::Finished)) {
    let switch = net.node("s");
    for memory in [None, Some(Bytes::new(10_000_000))] {
        net.plan.nodes[switch].input_memory = memory;
        check(&net.run());
    }
}

#[test]
fn messages_without_room_are_lost() {
    let mut net = crowded(greedy(), greedy());
    net.plan.scheme = Config::find("qcn", None).unwrap();
    both_ways(net, |done| {
        let counters = &done.counters;
        assert!(counters.messages_lost > 0 && counters.messages_heard > 0, "{counters:?}");
        let said: u64 = done.points.iter().map(|point| point.sent).sum();
        assert_eq!(said, counters.messages_sent);
    });
}

/// Acknowledgements that are lost are made good by the next one, or by a timeout.
#[test]
fn acknowledgements_without_room_are_lost() {
    let tcp = || Traffic::Tcp { config: connection(Flavour::NewReno).into(), total: None };
    let roce = || Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total: None };
    for (of_a, of_b) in [(tcp(), tcp()), (roce(), roce())] {
        let mut net = crowded(of_a, of_b);
        for flow in net.plan.flows.iter_mut().take(2) {
            flow.frame = Bytes::new(if matches!(flow.traffic, Traffic::Tcp { .. }) { 1518 } else { 1048 });
        }
        both_ways(net, |done| {
            let counters = &done.counters;
            assert!(counters.acks_lost > 0 && counters.acks_heard > 0, "{counters:?}");
        });
    }
}

/// A probe that reaches its destination is returned; the others have ended in a full queue.
#[test]
fn probes_without_room_end() {
    let mut net = crowded(greedy(), greedy());
    let forward = net.port("s->c");
    net.plan.ports[forward].capacity = Some(Bytes::new(3000));
    net.plan.scheme = Config::find("fecn", None).unwrap();
    both_ways(net, |done| {
        let counters = &done.counters;
        assert!(counters.messages_sent > 0 && counters.probes_ended > counters.messages_sent, "{counters:?}");
    });
}

/// Heads as long as what is cut off are cut from packets that come twice as fast as their link takes them: some find no
/// room either. The sender hears of the others.
#[test]
fn heads_without_room_end() {
    let roce =
        || Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total: Some(Bytes::new(500_000)) };
    let mut net = crowded(roce(), roce());
    let (forward, switch) = (net.port("s->c"), net.node("s"));
    net.plan.flows.iter_mut().for_each(|flow| flow.frame = Bytes::new(1048));
    net.plan.ports[forward].capacity = Some(Bytes::new(5000));
    net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(1000), class: 7, share: 1000 });
    both_ways(net, |done| {
        let heard: u64 = done.flows.iter().filter_map(|flow| flow.roce).map(|pair| pair.trimmed).sum();
        assert!(heard > 0 && heard < done.counters.packets_trimmed, "{heard} of {:?}", done.counters);
    });
}

/// Two classes at one port: what each queue had no room for is what its flow lost, and what it passed on is what arrived
/// or is on the last link.
#[test]
fn a_queue_counts_what_it_had_no_room_for() {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    net.flow("a", "c", 1, greedy());
    net.flow("b", "c", 3, greedy());
    net.flow("c", "a", 1, greedy());
    let out = net.port("s->c");
    net.plan.ports[out].watched = true;
    net.plan.ports[out].capacity = Some(Bytes::new(15_000));
    // Class 3 goes first and pays for it with a slower link of its own.
    let slow = net.port("b->s");
    net.plan.ports[slow].rate = qcnlab_units::BitRate::gbps(6);
    net.plan.scheme = Config::find("qcn", None).unwrap();
    let done = net.run();
    for (flow, class) in [(0, 1), (1, 3)] {
        let point = done.points.iter().find(|point| point.port == out && point.class == Some(class)).unwrap();
        let flow = &done.flows[FlowId::new(flow)];
        assert_eq!(point.discarded, flow.dropped, "class {class}");
        assert!(point.transmitted - flow.delivered < 3, "class {class}: {point:?} {flow:?}");
    }
    assert!(done.flows[FlowId::new(0)].dropped > 100, "{:?}", done.flows);
}

/// Two hosts fill a queue of ten frames, and its port asks for a mark on each frame that found no room: on none that leaves
/// is a mark, for it would be another one's.
#[test]
fn a_mark_for_a_frame_without_room_is_on_no_other() {
    let mut net = super::two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 0, greedy());
    let out = net.port("s->c");
    net.plan.ports[out].watched = true;
    net.plan.ports[out].capacity = Some(Bytes::new(15_000));
    net.plan.end = Instant::ZERO + Span::from_us(200);
    let mut listener = Listener::new(EventKinds::NONE, |_, _, _: &mut Vec<()>| ());
    listener.marks_discarded = true;
    listener.listen(&mut net);
    let mut marks = Vec::new();
    let mut sink = |departure: &Departure| {
        let FrameFacts::Data(facts) = departure.frame else { panic!("{departure:?}") };
        marks.push(facts.mark);
        ControlFlow::Continue(())
    };
    let done = Engine::run_captured(net.plan, &[out], &Control::default(), &mut |_| {}, &mut sink).unwrap();
    assert!(done.counters.frames_dropped > 100 && marks.len() > 100, "{:?}", done.counters);
    assert!(marks.iter().all(|mark| *mark == 0), "{marks:?}");
}
