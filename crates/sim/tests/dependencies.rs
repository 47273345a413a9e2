//! Queue pairs and connections that wait for others to complete.

mod net;

use net::Net;
use qcnlab_sim::CompletesAt::{Receiver, Sender};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::{self, Flavour};
use qcnlab_sim::{
    CompletesAt, DependencyPlan, Ending, Events, Finished, FlowId, PauseStorm, Traffic, WaitDelays, testing,
};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

const NEVER: u64 = u64::MAX;

/// Three hosts behind a switch, links of 10 Gb/s and 1 us.
fn star() -> Net {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
    }
    net
}

/// A message of ten packets of 1048 octets.
fn message(net: &mut Net, from: &str, to: &str) -> FlowId {
    let traffic =
        Traffic::Roce { config: testing::queue_pair(QpRecovery::GoBackN).into(), total: Some(Bytes::new(10_000)) };
    let flow = net.flow(from, to, 0, traffic);
    net.plan.flows[flow].frame = Bytes::new(1048);
    flow
}

/// The same, `delay` after others.
fn waiting(net: &mut Net, from: &str, to: &str, delay: Span, after: &[(FlowId, CompletesAt)]) -> FlowId {
    let flow = message(net, from, to);
    net.plan.flows[flow].start = Instant::ZERO + delay;
    net.plan.dependencies.push(DependencyPlan { flow, after: after.to_vec(), delays: None, until: Instant::NEVER });
    flow
}

/// The same, a delay of its own after each of the others, and never before an instant.
fn delayed(net: &mut Net, ends: (&str, &str), after: &[(FlowId, CompletesAt, Span)], not_before: Instant) -> FlowId {
    let flow = message(net, ends.0, ends.1);
    net.plan.dependencies.push(DependencyPlan {
        flow,
        after: after.iter().map(|(before, at, _)| (*before, *at)).collect(),
        delays: Some(Box::new(WaitDelays { each: after.iter().map(|(_, _, delay)| *delay).collect(), not_before })),
        until: Instant::NEVER,
    });
    flow
}

/// In tenths of nanoseconds.
fn tenths(at: Instant) -> u64 {
    if at == Instant::NEVER { NEVER } else { at.ps() / 100 }
}

fn started(done: &Finished) -> Vec<u64> {
    done.flows.iter().map(|flow| tenths(flow.started)).collect()
}

fn received(done: &Finished) -> Vec<u64> {
    done.flows.iter().map(|flow| tenths(flow.roce.unwrap().received)).collect()
}

/// The first flow goes from a to b, the second from b to c once b has all of that, the third from a to c 20 us after a has
/// heard of that, and the fourth back from c to a after both.
fn chain() -> Net {
    let mut net = star();
    let first = message(&mut net, "a", "b");
    let second = waiting(&mut net, "b", "c", Span::ZERO, &[(first, Receiver)]);
    let third = waiting(&mut net, "a", "c", Span::from_us(20), &[(first, Sender)]);
    waiting(&mut net, "c", "a", Span::ZERO, &[(second, Receiver), (third, Receiver)]);
    net.plan.drains = true;
    net
}

/// A packet takes 838.4 ns on a link, so ten take 8384, one more link another 838.4, and the two links 2000 of delay:
/// 11,222.4 ns from the first packet's start to the last octet. Its acknowledgement of 60 octets takes 48 ns a link: 2096
/// back to the sender. The host that answers with a message of its own sends the acknowledgement first.
///
/// ```text
/// first:  0                                 to 11,222.4; acknowledged at 13,318.4
/// second: 11,222.4 + 48 for the ack         to 22,492.8
/// third:  13,318.4 + 20,000                 to 44,540.8
/// fourth: 44,540.8 + 48                     to 55,811.2; acknowledged, and the run drained, at 57,907.2
/// ```
#[test]
fn each_starts_when_its_sender_knows_that_the_others_are_complete() {
    let mut net = chain();
    for events in [Events::WhereNeeded, Events::Everywhere] {
        net.plan.events = events;
        let done = net.run();
        assert_eq!(started(&done), [0, 112_224, 333_184, 445_408]);
        assert_eq!(received(&done), [112_224, 224_928, 445_408, 558_112]);
        assert_eq!((done.ending, tenths(done.end)), (Ending::Drained, 579_072));
    }
}

/// The same over TCP: segments of 1000 octets with 48 of headers, all ten in the first window, each acknowledged with 60
/// octets. So frames and times are the same; but a connection is over, and the run drained, when its last octet is there.
/// With a delay the tenth segment, the second of a pair, is acknowledged at once, and nothing changes. With nine segments the
/// last is the first of a pair: the sender knows after the delay.
#[test]
fn connections_wait_as_queue_pairs_do() {
    let over = |octets: u64, delayed_ack: Span, events: Events| {
        let mut net = chain();
        let config = tcp::Config {
            mss: Bytes::new(1000),
            headers: Bytes::new(48),
            ack_frame: Bytes::new(60),
            initial_window: 10,
            delayed_ack,
            ..testing::connection(Flavour::NewReno)
        };
        for flow in &mut net.plan.flows {
            flow.traffic = Traffic::Tcp { config: config.into(), total: Some(Bytes::new(octets)) };
        }
        net.plan.events = events;
        net.run()
    };
    let finished = |done: &Finished| done.flows.iter().map(|flow| tenths(flow.finished)).collect::<Vec<_>>();
    for events in [Events::WhereNeeded, Events::Everywhere] {
        for delayed_ack in [Span::ZERO, Span::from_us(50)] {
            let done = over(10_000, delayed_ack, events);
            assert_eq!(started(&done), [0, 112_224, 333_184, 445_408], "{events:?} {delayed_ack}");
            assert_eq!(finished(&done), [112_224, 224_928, 445_408, 558_112]);
            assert_eq!((done.ending, tenths(done.end)), (Ending::Drained, 558_112));
        }
        // 8384 ns less: 10,384 to the last octet; 50,000 and 2096 to its acknowledgement, and 20,000 of delay.
        let done = over(9000, Span::from_us(50), events);
        assert_eq!(started(&done)[..3], [0, 103_840, 824_800]);
    }
}

/// A sender whose timeout is shorter than the way back has repeated its segment when the first acknowledgement comes, and hears
/// of it again: that is still one of the two that the third flow waits for. The other starts a millisecond later.
#[test]
fn a_connection_is_complete_once() {
    let config = tcp::Config {
        mss: Bytes::new(1000),
        headers: Bytes::new(48),
        initial_rto: Span::from_us(2),
        min_rto: Span::from_us(2),
        granularity: Span::ZERO,
        ..testing::connection(Flavour::NewReno)
    };
    for at in [Sender, Receiver] {
        let mut net = star();
        let (first, second) = (message(&mut net, "a", "b"), message(&mut net, "c", "b"));
        net.plan.flows[second].start = Instant::ZERO + Span::from_ms(1);
        let third = waiting(&mut net, "b", "c", Span::ZERO, &[(first, at), (second, Receiver)]);
        for flow in &mut net.plan.flows {
            flow.traffic = Traffic::Tcp { config: config.into(), total: Some(Bytes::new(1000)) };
        }
        let done = net.run();
        assert!(done.flows[first].tcp.unwrap().retransmitted > 0, "{:?}", done.flows[first]);
        assert_eq!(done.flows[third].started, done.flows[second].finished, "{at:?}");
    }
}

/// A flow that may start before 44,540.8 ns does not start then, and so nothing that waits for it; the run drains when
/// the third flow is acknowledged, 2096 ns after its last octet came.
#[test]
fn none_starts_once_arrivals_have_stopped() {
    for (until, fourth) in [(44_540_800, NEVER), (44_540_801, 445_408)] {
        let mut net = chain();
        let fifth = waiting(&mut net, "a", "b", Span::ZERO, &[(FlowId::new(3), Receiver)]);
        waiting(&mut net, "b", "a", Span::ZERO, &[(FlowId::new(3), Receiver), (fifth, Receiver)]);
        net.plan.dependencies[2].until = Instant::from_ps(until);
        let done = net.run();
        assert_eq!(started(&done)[..4], [0, 112_224, 333_184, fourth]);
        assert_eq!(started(&done)[4] == NEVER, fourth == NEVER);
        assert_eq!(started(&done)[5] == NEVER, fourth == NEVER);
        assert_eq!(done.ending, Ending::Drained);
        if fourth == NEVER {
            assert_eq!(tenths(done.end), 466_368);
            assert_eq!(done.flows[FlowId::new(3)].sent, 0);
        }
    }
}

/// The second flow starts 86,681.6 ns after the first is acknowledged, at 13,318.4 ns: at 100 us. A run that ends then, or would
/// if it did not drain, never sees it, and is over once nothing else is open. One picosecond sooner, and it starts.
#[test]
fn none_waits_for_a_start_beyond_the_end_of_the_run() {
    for (delay, second, end) in
        [(86_681_600, NEVER, (Ending::Drained, 133_184)), (86_681_599, 999_999, (Ending::Time, 1_000_000))]
    {
        let mut net = star();
        let first = message(&mut net, "a", "b");
        waiting(&mut net, "a", "b", Span::from_ps(delay), &[(first, Sender)]);
        net.plan.drains = true;
        net.plan.end = Instant::ZERO + Span::from_us(100);
        let done = net.run();
        assert_eq!(started(&done), [0, second]);
        assert_eq!((done.ending, tenths(done.end)), end);
    }
}

/// Jitter is added to the delay: of 1 us it moves the start by less than that, and not at all where it is zero.
#[test]
fn jitter_counts_from_the_start_that_is_due() {
    let mut net = chain();
    net.plan.flows[FlowId::new(2)].start_jitter = Span::from_us(1);
    let third = started(&net.run())[2];
    assert!((333_184..343_184).contains(&third) && third != 333_184, "{third}");
}

/// A link that is paused and let go again wakes the flows that stand at it, but none that still waits for another.
#[test]
fn a_pause_wakes_nobody_who_waits() {
    let mut net = star();
    let first = message(&mut net, "a", "b");
    waiting(&mut net, "c", "b", Span::ZERO, &[(first, Sender)]);
    net.plan.dependencies[0].until = Instant::ZERO;
    let storm = PauseStorm {
        port: net.port("s->c"),
        classes: 0xff,
        from: Instant::ZERO + Span::from_us(2),
        until: Instant::ZERO + Span::from_us(20),
    };
    net.plan.storms = vec![storm];
    net.pause("c", 1_000_000, 900_000, 800_000);
    let done = net.run();
    assert_eq!((done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(1)].sent), (10, 0));
    assert_eq!(started(&done), [0, NEVER]);
}

#[test]
fn each_wait_has_its_own_delay() {
    let run = |delays: (u64, u64), not_before: u64| {
        let mut net = star();
        let first = message(&mut net, "a", "b");
        let second = waiting(&mut net, "b", "c", Span::ZERO, &[(first, Receiver)]);
        let us = Span::from_us;
        let after = [(first, Receiver, us(delays.0)), (second, Sender, us(delays.1))];
        delayed(&mut net, ("b", "a"), &after, Instant::ZERO + us(not_before));
        net.plan.drains = true;
        let done = net.run();
        let (first, second) = (done.flows[FlowId::new(0)].roce.unwrap().received, done.flows[FlowId::new(1)].finished);
        (done.flows[FlowId::new(2)].started, first, second)
    };
    for (delays, not_before) in [((0, 0), 0), ((500, 3), 0), ((3, 500), 0), ((1, 1), 2000)] {
        let (started, first, second) = run(delays, not_before);
        assert!(first < second);
        let us = Span::from_us;
        let latest = (first + us(delays.0)).max(second + us(delays.1)).max(Instant::ZERO + us(not_before));
        assert_eq!(started, latest, "{delays:?} {not_before}");
    }
}
