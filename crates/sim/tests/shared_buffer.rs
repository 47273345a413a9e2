//! Switches with a shared buffer, in small networks: who is paused and when, what is dropped, and that nothing leaks.

mod net;

use net::{Net, greedy};
use qcnlab_sim::{
    Alpha, Ending, Events, Finished, FlowId, PausePlan, PauseRule, PauseScope, PortId, SharedBufferPlan,
    SharedInputPlan, SharedQueuePlan,
};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

const DELAY: Span = Span::from_us(1);

/// Senders around one switch and a sink, 10 Gb/s and 1 us each link; each sends all it can in class 3.
fn star(senders: u32) -> Net {
    let names: Vec<String> = (0..senders).map(|i| format!("h{i}")).chain(["s".into(), "sink".into()]).collect();
    let mut net = Net::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    names.iter().filter(|name| *name != "s").for_each(|name| net.link(name, "s", BitRate::gbps(10), DELAY));
    for i in 0..senders {
        net.flow(&format!("h{i}"), "sink", 3, greedy());
    }
    let queue = net.port("s->sink");
    net.plan.ports[queue].recorded = true;
    net
}

/// Sets up, for every switch, a shared buffer: alpha an eighth for each group.
fn share(net: &mut Net, switch: &str, shared: u64, headroom: u64) {
    let switch = net.node(switch);
    let ports: Vec<PortId> =
        net.plan.ports.enumerate().filter(|(_, port)| port.to == switch).map(|(id, _)| id).collect();
    let alpha = Some(Alpha::two_to(-3));
    let input = |port: &PortId| SharedInputPlan { port: *port, headroom: Bytes::new(headroom), alpha };
    net.plan.nodes[switch].shared_buffer = Some(SharedBufferPlan {
        shared: Bytes::new(shared),
        reserve: Bytes::ZERO,
        headroom_pool: None,
        cell: Bytes::new(1),
        xon: Bytes::ZERO,
        xon_offset: Bytes::new(3000),
        inputs: ports.iter().map(input).collect(),
        queues: Vec::new(),
    });
}

fn pause(net: &mut Net, switch: &str, scope: PauseScope) {
    let switch = net.node(switch);
    let rule = PauseRule::Dynamic { quanta: Some(u16::MAX) };
    net.plan.nodes[switch].pause = Some(PausePlan { scope, rule, reaction: Span::ZERO });
}

/// Mean and peak of the recorded queue from 1 ms on, octets.
fn queue(done: &Finished) -> (f64, u64) {
    let rows = &done.trace.queues;
    let late = || rows.time.iter().zip(&rows.bytes).filter(|(at, _)| **at >= 1_000_000_000).map(|(_, bytes)| *bytes);
    (late().sum::<u64>() as f64 / late().count() as f64, late().max().unwrap_or(0))
}

/// n greedy inputs settle at B / (8 + n) each with alpha 1/8: 4 of them with 1.2 MB at 100 KB, 400 KB in all. XON comes
/// 3000 octets below, and a round trip of 2 us brings 2500 octets and frames begun: no input is further off than 9000.
/// Nothing is lost with headroom of 2500 octets and three frames.
#[test]
fn greedy_inputs_settle_at_their_part() {
    for scope in [PauseScope::Classes(1 << 3), PauseScope::Link] {
        let mut net = star(4);
        share(&mut net, "s", 1_200_000, 7000);
        pause(&mut net, "s", scope);
        let done = net.run();
        let (mean, peak) = queue(&done);
        assert!((mean - 400_000.0).abs() < 36_000.0 && peak < 436_000, "{mean} {peak}");
        assert_eq!(done.counters.frames_dropped, 0);
        assert!(done.counters.pause_frames > 100, "{}", done.counters.pause_frames);
    }
}

/// Without headroom the frames that were on their way when XOFF went out are lost.
#[test]
fn too_little_headroom_loses_frames() {
    let mut net = star(4);
    share(&mut net, "s", 1_200_000, 0);
    pause(&mut net, "s", PauseScope::Classes(1 << 3));
    assert!(net.run().counters.frames_dropped > 0);
}

/// Nobody pauses: a group is held at its threshold by drops. 4 of them have B / (8 + 4) each, 100 KB; a frame is 1500.
#[test]
fn a_lossy_group_is_dropped_at_its_threshold() {
    let mut net = star(4);
    share(&mut net, "s", 1_200_000, 0);
    let done = net.run();
    let (mean, peak) = queue(&done);
    assert!((mean - 400_000.0).abs() < 8000.0 && peak <= 402_000, "{mean} {peak}");
    assert!(done.counters.frames_dropped > 0);
    assert_eq!(done.counters.pause_frames, 0);
}

/// The queue of the sink may hold a quarter of what is free: B / 4 / (1 + 1/4), a fifth of 1.2 MB, whoever fills it.
#[test]
fn a_queue_is_dropped_at_its_threshold() {
    let mut net = star(4);
    share(&mut net, "s", 1_200_000, 0);
    let port = net.port("s->sink");
    let switch = net.node("s");
    if let Some(shared) = &mut net.plan.nodes[switch].shared_buffer {
        shared.queues = vec![SharedQueuePlan { port, alpha: Alpha::two_to(-2) }];
        shared.inputs.iter_mut().for_each(|input| input.alpha = None);
    }
    let (mean, peak) = queue(&net.run());
    assert!((mean - 240_000.0).abs() < 3000.0 && peak <= 241_500, "{mean} {peak}");
}

/// Two switches beside each other: what the second has does not take from the first.
#[test]
fn each_switch_has_thresholds_of_its_own() {
    let mut net = Net::new(&["a", "b", "x", "s", "c", "d", "y", "t"]);
    for (host, switch) in [("a", "s"), ("b", "s"), ("x", "s"), ("c", "t"), ("d", "t"), ("y", "t")] {
        net.link(host, switch, BitRate::gbps(10), DELAY);
    }
    for (from, to) in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")] {
        net.flow(from, to, 3, greedy());
    }
    // A fifth of 1.2 MB with a quarter of what is free, a third with half of it.
    let outputs = [("s", "s->x", -2, 240_000), ("t", "t->y", -1, 400_000)];
    for (switch, output, exponent, _) in outputs {
        share(&mut net, switch, 1_200_000, 0);
        let (switch, port) = (net.node(switch), net.port(output));
        net.plan.ports[port].recorded = true;
        let shared = net.plan.nodes[switch].shared_buffer.as_mut().expect("it is shared");
        shared.queues = vec![SharedQueuePlan { port, alpha: Alpha::two_to(exponent) }];
        shared.inputs.iter_mut().for_each(|input| input.alpha = None);
    }
    let done = net.run();
    let rows = &done.trace.queues;
    for (_, output, _, most) in outputs {
        let lengths = rows.port.iter().zip(&rows.bytes).filter(|(port, _)| **port == net.port(output).number());
        let peak = lengths.map(|(_, bytes)| *bytes).max().expect("it is recorded");
        assert!(peak <= most + 1500 && peak > most - 3000, "{output}: {peak}");
    }
}

/// Class 3 is paused, class 0 is not and loses what does not fit; neither takes what the other has. A pause is said once
/// when it begins and once when it ends: each of four inputs may be paused at the end, and have said one thing that is
/// still under way.
#[test]
fn one_class_is_paused_and_the_other_dropped() {
    let mut net = star(4);
    for i in 0..4 {
        net.flow(&format!("h{i}"), "sink", 0, greedy());
    }
    share(&mut net, "s", 1_200_000, 7000);
    pause(&mut net, "s", PauseScope::Classes(1 << 3));
    let done = net.run();
    let dropped = |from| done.flows.iter().skip(from).take(4).map(|flow| flow.dropped).sum::<u64>();
    assert_eq!(dropped(0), 0);
    assert!(dropped(4) > 0);
    let (said, pauses) = (done.counters.pause_frames, done.trace.pauses.start.len() as u64);
    assert!(pauses > 10 && (2 * pauses).abs_diff(said) <= 8, "{said} pause frames for {pauses} pauses");
}

/// Three switches in a ring, each host sends to the host two switches on: the cycle of dependent buffers locks, though
/// the buffers are shared and their thresholds move.
#[test]
fn a_ring_of_shared_buffers_locks() {
    let mut net = Net::new(&["a", "b", "c", "s", "t", "u"]);
    for (host, switch) in [("a", "s"), ("b", "t"), ("c", "u")] {
        net.link(host, switch, BitRate::gbps(10), DELAY);
    }
    for (one, other) in [("s", "t"), ("t", "u"), ("u", "s")] {
        net.link(one, other, BitRate::gbps(10), DELAY);
    }
    for (way, to) in [
        (["a->s", "s->t", "t->u", "u->c"], "c"),
        (["b->t", "t->u", "u->s", "s->a"], "a"),
        (["c->u", "u->s", "s->t", "t->b"], "b"),
    ] {
        let from = &way[0][..1];
        let flow = net.flow(from, to, 3, greedy());
        net.plan.flows[flow].paths = vec![way.iter().map(|port| net.port(port)).collect()].into();
    }
    for switch in ["s", "t", "u"] {
        share(&mut net, switch, 90_000, 7000);
        pause(&mut net, switch, PauseScope::Classes(1 << 3));
    }
    net.plan.end = Instant::ZERO + Span::from_ms(50);
    let done = net.run();
    assert!(matches!(&done.ending, Ending::Deadlock { circle, .. } if circle.len() == 3), "{:?}", done.ending);
}

/// Two switches in a row with shared buffers: four senders fill the link between them and are paused again and again, a
/// fifth crosses only the second. An event for everything gives the same run, whether frames take octets or cells.
#[test]
fn more_events_change_nothing() {
    for (cell, scope) in [(1, PauseScope::Classes(1 << 3)), (1, PauseScope::Link), (208, PauseScope::Classes(1 << 3))] {
        let names = ["a", "b", "c", "d", "e", "s", "t", "f", "g"];
        let mut net = Net::new(&names);
        for host in ["a", "b", "c", "d"] {
            net.link(host, "s", BitRate::gbps(10), DELAY);
        }
        for (host, to) in [("s", "t"), ("e", "t"), ("f", "t"), ("g", "t")] {
            net.link(host, to, BitRate::gbps(10), DELAY);
        }
        for (from, to) in [("a", "f"), ("b", "f"), ("c", "g"), ("d", "f"), ("e", "f"), ("a", "g"), ("f", "a")] {
            net.flow(from, to, 3, greedy());
        }
        for switch in ["s", "t"] {
            share(&mut net, switch, 1_200_000, 7000);
            pause(&mut net, switch, scope);
            let switch = net.node(switch);
            net.plan.nodes[switch].shared_buffer.as_mut().expect("it is shared").cell = Bytes::new(cell);
        }
        let mut few = net.run();
        net.plan.events = Events::Everywhere;
        let many = net.run();
        assert!(few.counters.pause_frames > 100 && few.counters.frames_dropped == 0, "{:?}", few.counters);
        assert!(few.counters.events < many.counters.events);
        few.counters.events = many.counters.events;
        assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
    }
}

/// Two classes for the sink, of two senders each: each queue may hold a quarter of what is free, whatever the other holds.
/// Nothing of class 0 leaves, so that its queue grows twice as fast as that of class 3, and ends at q = (B - q - q/2) / 4,
/// at B / 5.5: 145 frames of 1.2 MB. That of class 3 ends at a fifth of the rest: 131 frames.
#[test]
fn each_class_has_a_threshold_of_its_own_queue() {
    let mut net = star(4);
    net.plan.flows[FlowId::new(2)].class = 0;
    net.plan.flows[FlowId::new(3)].class = 0;
    share(&mut net, "s", 1_200_000, 0);
    let port = net.port("s->sink");
    let switch = net.node("s");
    if let Some(shared) = &mut net.plan.nodes[switch].shared_buffer {
        shared.queues = vec![SharedQueuePlan { port, alpha: Alpha::two_to(-2) }];
        shared.inputs.iter_mut().for_each(|input| input.alpha = None);
    }
    let (mean, peak) = queue(&net.run());
    assert!((mean - 276.0 * 1500.0).abs() < 3000.0 && peak <= 278 * 1500, "{mean} {peak}");
}
