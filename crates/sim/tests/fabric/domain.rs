//! Links at whose ends frames change: CN-TAGs are taken off, and another priority is given; and who hears messages.

use super::TEN;
use super::net::{Net, greedy};
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{Control, Departure, DomainPlan, DomainPort, Engine, Feedback, FlowId, FrameFacts, LimiterId};
use qcnlab_units::{BitRate, Bytes, Id, IdVec, Instant, Span};
use std::ops::ControlFlow;

fn limiter(number: u32) -> LimiterId {
    LimiterId::new(number)
}

/// Host a sends class 3 to c over two switches; what leaves s for t crosses a link with `rules`.
fn over_a_defence(rules: DomainPort) -> Net {
    let mut net = Net::new(&["a", "c", "s", "t"]);
    for (from, to) in [("a", "s"), ("s", "t"), ("t", "c")] {
        net.link(from, to, TEN, Span::from_us(1));
    }
    net.flow("a", "c", 3, greedy());
    let defended = net.port("s->t");
    let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
    ports[defended] = rules;
    net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![Some(limiter(0))]) });
    net.plan.end = Instant::ZERO + Span::from_us(100);
    net
}

/// What a port's frames are: class, whether under congestion control, whether with a CN-TAG; all alike.
fn seen_at(net: &Net, port: &str) -> (u8, bool, bool) {
    let mut seen = Vec::new();
    let mut sink = |departure: &Departure| {
        let FrameFacts::Data(facts) = departure.frame else { panic!("{departure:?}") };
        seen.push((facts.class, facts.controlled, facts.cn_tagged));
        ControlFlow::Continue(())
    };
    let ports = [net.port(port)];
    Engine::run_captured(net.plan.clone(), &ports, &Control::default(), &mut |_| {}, &mut sink).unwrap();
    assert!(seen.len() > 50 && seen.iter().all(|facts| *facts == seen[0]), "{port}: {seen:?}");
    seen[0]
}

/// An edge: class 3 becomes class 2 behind the link, and is no longer under congestion control. An interior port without
/// CN-TAGs takes them off. A frame is as its sending port leaves it, and changes its class at the far end.
#[test]
fn a_defended_link_changes_tag_and_class() {
    let edge = DomainPort { untags: 1 << 3, remaps: [0, 1, 2, 2, 4, 5, 6, 7], ..DomainPort::NEUTRAL };
    let untagging = DomainPort { untags: 1 << 3, ..DomainPort::NEUTRAL };
    for (rules, behind) in
        [(edge, (2, false, false)), (untagging, (3, true, false)), (DomainPort::NEUTRAL, (3, true, true))]
    {
        for memory in [None, Some(Bytes::new(1_000_000))] {
            let mut net = over_a_defence(rules);
            let switch = net.node("t");
            net.plan.nodes[switch].input_memory = memory;
            assert_eq!(seen_at(&net, "a->s"), (3, true, true));
            assert_eq!(seen_at(&net, "s->t"), (3, true, rules.untags == 0));
            assert_eq!(seen_at(&net, "t->c"), behind);
            // 100 us less the 3 us and two frames of the way, 1.2 us each: frames of 1.2 us, 78 whole ones.
            let done = net.run();
            assert_eq!(
                (done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped),
                (78, 0),
                "{rules:?}, {memory:?}"
            );
        }
    }
}

/// A full input memory behind a defended link drops frames, and counts them.
#[test]
fn a_memory_behind_a_defended_link_drops_what_it_has_no_room_for() {
    let mut net = over_a_defence(DomainPort { remaps: [0, 1, 2, 2, 4, 5, 6, 7], ..DomainPort::NEUTRAL });
    let (switch, slow) = (net.node("t"), net.port("t->c"));
    net.plan.nodes[switch].input_memory = Some(Bytes::new(15_000));
    net.plan.ports[slow].rate = BitRate::gbps(5);
    let done = net.run();
    // Half of the 81 frames that reach t in 100 us leave it, and ten stay.
    assert!(done.flows[FlowId::new(0)].dropped > 25 && done.flows[FlowId::new(0)].delivered > 30, "{:?}", done.flows);
}

/// The host of a has no reaction points: what a watched port says about its frames is ignored, each time; b hears it. So
/// it is where messages are frames and where they arrive by themselves.
#[test]
fn messages_to_a_host_without_reaction_points_are_ignored() {
    for feedback in [Feedback::Ideal, Feedback::Frames { size: Bytes::new(64), class: 7 }] {
        let mut net = super::two_to_one(Span::from_us(1));
        net.flow("a", "c", 3, greedy());
        net.flow("b", "c", 3, greedy());
        let out = net.port("s->c");
        net.plan.ports[out].watched = true;
        net.plan.ports[out].capacity = Some(Bytes::new(150_000));
        net.plan.scheme = Config::find("qcn", None).unwrap();
        net.plan.feedback = feedback;
        net.plan.record.messages = true;
        let ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
        net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![None, Some(limiter(1))]) });
        let done = net.run();
        let to_a = done.trace.messages.flow.iter().filter(|flow| **flow == 0).count() as u64;
        let to_b = done.trace.messages.flow.len() as u64 - to_a;
        // One that was said last may be under way.
        let counters = &done.counters;
        assert!(to_a > 5 && to_a - counters.messages_ignored <= 1, "{to_a}: {counters:?}");
        assert!(to_b > 1 && to_b - counters.messages_heard <= 1, "{to_b}: {counters:?}");
        assert!(
            done.limiters[LimiterId::new(0)].created == 0 && done.limiters[LimiterId::new(1)].created > 0,
            "{:?}",
            done.limiters
        );
    }
}

/// Without a congestion point for their class nothing is said about frames; with one for it alone, about them alone.
#[test]
fn a_port_watches_the_classes_of_its_domain() {
    let said = |points: u8| {
        let mut net = super::two_to_one(Span::from_us(1));
        net.flow("a", "c", 3, greedy());
        net.flow("b", "c", 1, greedy());
        let out = net.port("s->c");
        net.plan.ports[out].watched = true;
        net.plan.scheme = Config::find("qcn", None).unwrap();
        net.plan.record.messages = true;
        let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
        ports[out].points = points;
        net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![Some(limiter(0)), Some(limiter(1))]) });
        net.plan.ports[out].capacity = Some(Bytes::new(150_000));
        let mut flows = net.run().trace.messages.flow;
        flows.dedup();
        flows
    };
    assert_eq!([said(0), said(1 << 3)], [vec![], vec![]], "class 3 has the link to itself, and never waits");
    assert_eq!(said(1 << 1), [1]);
}

/// Two flows of one host, of which the second meets a slow port. With its CN-TAG the limiter that paced a frame hears
/// what is said about it; without one, that which answers for the priority, the first.
#[test]
fn without_a_cn_tag_the_limiter_of_the_priority_hears() {
    for (untags, created) in [(0, [0, 1]), (1 << 3, [1, 0])] {
        let mut net = Net::new(&["a", "c", "d", "s", "t"]);
        for (from, to, gbps) in [("a", "s", 10), ("s", "t", 10), ("t", "c", 10), ("t", "d", 1)] {
            net.link(from, to, BitRate::gbps(gbps), Span::from_us(1));
        }
        net.flow("a", "c", 3, greedy());
        net.flow("a", "d", 3, greedy());
        let (slow, defended) = (net.port("t->d"), net.port("s->t"));
        net.plan.ports[slow].watched = true;
        net.plan.ports[slow].capacity = Some(Bytes::new(150_000));
        net.plan.scheme = Config::find("qcn", None).unwrap();
        let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
        ports[defended].untags = untags;
        net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![Some(limiter(0)), Some(limiter(0))]) });
        let done = net.run();
        assert_eq!(
            [0, 1].map(|limiter| done.limiters[LimiterId::new(limiter)].created),
            created,
            "{:?}",
            done.limiters
        );
    }
}

/// What the domain does to frames it does where they are forwarded. A receiver gets them as they left the last switch: DCQCN's
/// marked ones are answered whatever the last link's rules say, and all else is the same too.
#[test]
fn the_last_links_rules_change_nothing_for_a_receiver() {
    let run = |rules: DomainPort| {
        let mut net = super::two_to_one(Span::from_us(1));
        net.flow("a", "c", 3, greedy());
        net.flow("b", "c", 3, greedy());
        let out = net.port("s->c");
        net.plan.ports[out].watched = true;
        net.plan.ports[out].capacity = Some(Bytes::new(500_000));
        net.plan.scheme = Config::find("dcqcn", None).unwrap();
        let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
        ports[out] = DomainPort { points: ports[out].points, ..rules };
        net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![Some(limiter(0)), Some(limiter(1))]) });
        net.run()
    };
    let edge = DomainPort { untags: 1 << 3, remaps: [0, 1, 2, 2, 4, 5, 6, 7], ..DomainPort::NEUTRAL };
    let (plain, ruled) = (run(DomainPort::NEUTRAL), run(edge));
    assert!(plain.counters.messages_heard > 10, "{:?}", plain.counters);
    assert!(plain == ruled, "{:?} and {:?}", plain.counters, ruled.counters);
}
