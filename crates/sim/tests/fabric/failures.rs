//! Links that fail and come back, and flows that take other ways.

use super::TEN;
use super::net::{self, Net, greedy};
use proptest::prelude::*;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{Events, FlowId, LinkFailure, PathChoice, PauseScope, PortId, RepsPlan, Reroute, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

fn at_us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

fn failure(net: &Net, port: &str, from: u64, until: u64) -> LinkFailure {
    LinkFailure { port: net.port(port), from: at_us(from), until: at_us(until) }
}

/// a -> s -> b: frame k, from 0, is sent by 1.2 (k + 1) us, is at s 1 us later, and reaches b at 1.2 (k + 2) + 2 us.
fn line() -> Net {
    let mut net = Net::new(&["a", "s", "b"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "b", TEN, Span::from_us(1));
    net.flow("a", "b", 0, greedy());
    net
}

/// The second link is down from 1 to 2 ms. Frames 0 to 829 are there before (831 * 1.2 + 2 = 999.2 us); frame 1664 is at
/// s at 1999 us and the last that is lost, 835 frames in all; 1665 to 4162 arrive before 5 ms.
#[test]
fn what_needs_a_link_that_is_down_is_lost() {
    let mut net = line();
    net.plan.failures = vec![failure(&net, "s->b", 1000, 2000)];
    let done = net.run();
    assert_eq!((done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped), (830 + 2498, 835));
    assert_eq!((done.counters.link_drops, done.counters.watchdog_drops), (835, 0));
}

/// The host's own link is down: the frame on it and that in transmission are lost, and the host waits. Frames 0 to 831
/// are at s by 999.4 us; from 2 ms on 2497 more arrive at 2000 + 1.2 (n + 2) + 2 us, before 5 ms.
#[test]
fn a_host_waits_for_its_link() {
    let mut net = line();
    net.plan.failures = vec![failure(&net, "s->a", 1000, 2000)];
    let done = net.run();
    assert_eq!((done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped), (832 + 2497, 2));
    assert_eq!(done.counters.link_drops, 2);
    net.plan.failures[0].until = Instant::NEVER;
    let done = net.run();
    assert_eq!(
        (done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped, done.flows[FlowId::new(0)].sent),
        (832, 2, 834)
    );
}

/// Two ways, by m and by n.
fn two_ways() -> Net {
    let mut net = Net::new(&["a", "s", "m", "n", "t", "b"]);
    for (from, to) in [("a", "s"), ("s", "m"), ("s", "n"), ("m", "t"), ("n", "t"), ("t", "b")] {
        net.link(from, to, TEN, Span::from_us(1));
    }
    net
}

fn way(net: &Net, by: &str) -> Vec<PortId> {
    ["a->s", &format!("s->{by}"), &format!("{by}->t"), "t->b"].iter().map(|port| net.port(port)).collect()
}

/// The way by m is down from 1 ms on; from 1.5 ms on frames take that by n. Lost are those of 0.5 ms, 417 frames, and
/// those on their way.
#[test]
fn a_flow_takes_another_way_when_routes_converge() {
    let mut net = two_ways();
    let flow = net.flow("a", "b", 0, greedy());
    net.plan.flows[FlowId::new(0)].paths = vec![way(&net, "m")].into();
    net.plan.failures = vec![failure(&net, "s->m", 1000, 10_000)];
    net.plan.reroutes = vec![Reroute { at: at_us(1500), flow, paths: vec![way(&net, "n")] }];
    let done = net.run();
    let lost = done.flows[FlowId::new(0)].dropped;
    assert!((417..422).contains(&lost), "{lost}");
    assert_eq!(done.flows[FlowId::new(0)].sent, 4167);
    // Without other routes everything is lost from 1 ms on.
    net.plan.reroutes.clear();
    assert!(net.run().flows[FlowId::new(0)].delivered < 832);
}

/// A message of 1000 packets of 838.4 ns, and a link that fails at 300 us. Back at 500 us, it brings the next packet, and
/// with that the receiver tells of those lost: 200 us are 239 packets. Back at 1200 us, when all have been sent, nothing
/// tells of them but the timeout of 320 us. Both recoveries complete the message.
#[test]
fn queue_pairs_repair_what_a_failure_lost() {
    for recovery in [QpRecovery::GoBackN, QpRecovery::SelectiveRepeat] {
        let mut net = line();
        net.plan.flows[FlowId::new(0)].traffic =
            Traffic::Roce { config: queue_pair(recovery).into(), total: Some(Bytes::new(1_000_000)) };
        net.plan.flows[FlowId::new(0)].frame = Bytes::new(1048);
        for (until, timeouts) in [(500, false), (1200, true)] {
            net.plan.failures = vec![failure(&net, "s->b", 300, until)];
            let done = net.run();
            let roce = done.flows[FlowId::new(0)].roce.unwrap();
            assert!(
                done.flows[FlowId::new(0)].finished < net.plan.end && roce.acknowledged_bytes == 1_000_000,
                "{roce:?}"
            );
            assert!(roce.retransmitted > 237 && (roce.timeouts > 0) == timeouts, "{roce:?}");
        }
    }
}

/// By m from the start, in turn by m and n from 1 ms on, in turn by n and o from 2 ms on; o is down. Frame k, from 0, leaves
/// at 1.2 k us: the first that may go by o is 1667, and 2498 the last to come to s before 3 ms, at 2999.8 us. Of these 832
/// each second one is lost.
#[test]
fn a_flow_takes_several_ways_after_each_change() {
    let mut net = Net::new(&["a", "s", "m", "n", "o", "t", "b"]);
    for (from, to) in [("a", "s"), ("s", "m"), ("s", "n"), ("s", "o"), ("m", "t"), ("n", "t"), ("o", "t"), ("t", "b")] {
        net.link(from, to, TEN, Span::from_us(1));
    }
    let flow = net.flow("a", "b", 0, greedy());
    net.plan.flows[FlowId::new(0)].paths = vec![way(&net, "m")].into();
    net.plan.path_choice = PathChoice::RoundRobin;
    net.plan.failures = vec![failure(&net, "s->o", 0, 10_000)];
    let reroute = |at, ways: [&str; 2]| Reroute { at: at_us(at), flow, paths: ways.map(|by| way(&net, by)).to_vec() };
    net.plan.reroutes = vec![reroute(1000, ["m", "n"]), reroute(2000, ["n", "o"])];
    net.plan.end = at_us(3000);
    for events in [Events::Everywhere, Events::WhereNeeded] {
        net.plan.events = events;
        let done = net.run();
        assert_eq!((done.flows[FlowId::new(0)].dropped, done.counters.link_drops), (416, 416), "{events:?}");
    }
}

/// a -> s -> t -> b: frame k, from 0, comes to t at 4.4 + 1.2 k us and leaves it at 4.4 + 12 (k + 1) us. Frame 22 finds 20
/// others there, at 30.8 us: t stops the link, with 51.2 ns and 1 us at 31.8512 us, when frame 24 is in transmission.
fn paused(scope: PauseScope, until: u64) -> Net {
    let mut net = Net::new(&["a", "s", "t", "b"]);
    for (from, to, rate) in [("a", "s", TEN), ("s", "t", TEN), ("t", "b", BitRate::gbps(1))] {
        net.link(from, to, rate, Span::from_us(1));
    }
    net.flow("a", "b", 3, greedy());
    net.pause("t", 200_000, 30_000, 15_000);
    let t = net.node("t");
    net.plan.nodes[t].pause.as_mut().unwrap().scope = scope;
    net.plan.end = at_us(until);
    net
}

/// The classes, beginnings and ends of the pauses of the link from s to t, ps.
fn pauses(net: &Net) -> Vec<(Option<u8>, u64, u64)> {
    let rows = net.run().trace.pauses;
    assert!(rows.port.iter().all(|port| *port == net.port("s->t").number()), "{rows:?}");
    rows.class.into_iter().zip(rows.start).zip(rows.end).map(|((class, start), end)| (class, start, end)).collect()
}

/// The link fails at 100 us, and the pause is over: the XON of 184.4 us, when ten frames are left, finds no link. Back at
/// 300 us it is free. Frame 249 is at s at 301 us and at t at 303.2 us, where frame 24 still is, and the 22nd after it
/// finds 20 others at 329.6 us.
#[test]
fn a_pause_ends_with_its_link() {
    for (scope, class) in [(PauseScope::Link, None), (PauseScope::Classes(1 << 3), Some(3))] {
        let mut net = paused(scope, 400);
        net.plan.failures = vec![failure(&net, "s->t", 100, 300)];
        assert_eq!(pauses(&net), [(class, 31_851_200, 100_000_000), (class, 330_651_200, 400_000_000)]);
    }
}

/// The link is down from 50 to 60 us only. t still holds more than its low watermark, and says so again: the link is
/// stopped at 61.0512 us, after the beginning of frame 49, which is at s at 61 us. Of 26 frames ten are left when the 16th
/// has gone, at 196.4 us. A failure of either direction is one of the link.
#[test]
fn a_link_that_comes_back_is_stopped_anew() {
    for (scope, class) in [(PauseScope::Link, None), (PauseScope::Classes(1 << 3), Some(3))] {
        for direction in ["s->t", "t->s"] {
            let mut net = paused(scope, 200);
            net.plan.failures = vec![failure(&net, direction, 50, 60)];
            let expected = [(class, 31_851_200, 50_000_000), (class, 61_051_200, 197_451_200)];
            assert_eq!(pauses(&net), expected, "{direction}");
        }
    }
}

/// The XOFF of 30.8 us is on the link until 31.8512 us, and is lost with it at 31.5 us: nothing is paused. Down until 60 us,
/// the link brings frame 49 and, 50 ns after its beginning, the XOFF that t sends anew. Of 20 frames, at 63.2 us, ten are
/// left at 172.4 us: XON. The next XOFF is sent at 188.8512 us, when eleven more have come and one has gone, and its XON at
/// 340.4 us: later pauses find their way, too.
#[test]
fn a_pause_is_lost_with_its_link_and_later_ones_are_not() {
    for (scope, class) in [(PauseScope::Link, None), (PauseScope::Classes(1 << 3), Some(3))] {
        let mut net = paused(scope, 350);
        let from = Instant::ZERO + Span::from_ns(31_500);
        net.plan.failures = vec![LinkFailure { from, ..failure(&net, "s->t", 31, 60) }];
        assert_eq!(pauses(&net), [(class, 61_051_200, 173_451_200), (class, 189_902_400, 341_451_200)]);
    }
}

/// The same link is down from 50 to 60 us and again from 60 to 70 us: as if it had been down from 50 to 70 us, in whatever
/// order the failures are listed. From 50 to 60 us the 24 frames 25 to 48 are lost at s. The link to b, down from 55 to 65
/// us, takes the 21 frames that t still holds, and so the pause; of those that s then sends, six come before 65 us. With
/// both down only two come by then, and t has nothing left for which it would stop the link when that is back.
#[test]
fn failures_follow_each_other_and_overlap() {
    let mut net = paused(PauseScope::Classes(1 << 3), 200);
    let drops = |net: &Net, failures: &[(&str, u64, u64)]| {
        let mut net = Net { plan: net.plan.clone() };
        net.plan.failures = failures.iter().map(|(port, from, until)| failure(&net, port, *from, *until)).collect();
        (net.run().counters.link_drops, pauses(&net))
    };
    let once = drops(&net, &[("s->t", 50, 70)]);
    assert_eq!(drops(&net, &[("s->t", 50, 60), ("s->t", 60, 70)]), once);
    assert_eq!(drops(&net, &[("s->t", 60, 70), ("s->t", 50, 60)]), once);
    net.plan.end = at_us(80);
    let both = [("s->t", 50, 60), ("t->b", 55, 65)];
    let [alone, first, second] = [&both[..1], &both[1..], &both[..]].map(|failures| drops(&net, failures));
    let began = 31_851_200;
    assert_eq!(alone, (24, vec![(Some(3), began, 50_000_000), (Some(3), 61_051_200, 80_000_000)]));
    assert_eq!(first, (27, vec![(Some(3), began, 56_051_200)]));
    assert_eq!(second, (24 + 21 + 2, vec![(Some(3), began, 50_000_000)]));
    assert_eq!(drops(&net, &[both[1], both[0]]), second);
}

/// Frames in turn over two ways: as many by each.
#[test]
fn round_robin_sends_as_much_by_each_way() {
    let mut net = two_ways();
    net.flow("a", "b", 0, greedy());
    net.plan.flows[FlowId::new(0)].paths = vec![way(&net, "m"), way(&net, "n")].into();
    net.plan.path_choice = PathChoice::RoundRobin;
    net.plan.failures = vec![failure(&net, "s->n", 0, 10_000)];
    let done = net.run();
    let flow = done.flows[FlowId::new(0)];
    assert!(flow.dropped.abs_diff(flow.delivered) < 5, "{flow:?}");
}

/// A stream over two ways, a packet each 838.4 ns, of which the way by n fails at 1 ms and no route hears of it: 4771
/// packets leave after that. Drawn at random, half of them are lost: 2385, and three deviations, of 35, to either side.
/// REPS loses what is on its way, what the ring of eight holds for n, and of the ways that it draws for those every
/// second, again and again: as many more. On the way to n are 2.9 us of packets from the host, 4 of them.
#[test]
fn recycled_ways_leave_a_link_that_fails() {
    let mut net = two_ways();
    let config = queue_pair(QpRecovery::SelectiveRepeat);
    net.flow("a", "b", 0, Traffic::Roce { config: config.into(), total: None });
    net.plan.flows[FlowId::new(0)].paths = vec![way(&net, "m"), way(&net, "n")].into();
    net.plan.flows[FlowId::new(0)].frame = Bytes::new(1048);
    net.plan.failures = vec![failure(&net, "s->n", 1000, 10_000)];
    let drawn = net.run();
    assert!(drawn.flows[FlowId::new(0)].dropped.abs_diff(2385) < 105, "{:?}", drawn.flows[FlowId::new(0)]);
    net.plan.path_choice = PathChoice::Recycled(RepsPlan { freeze: Span::from_ms(10), explore: 16 });
    let recycled = net.run();
    let lost = recycled.flows[FlowId::new(0)].dropped;
    assert!(0 < lost && lost < 60, "{:?}", recycled.flows[FlowId::new(0)]);
    assert_eq!(recycled.counters.link_drops, lost);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: net::kept("fabric"), ..ProptestConfig::default() })]

    /// Whatever fails and comes back, under PFC, with marks, acknowledgements and other paths: the books close, and an
    /// event for everything gives the same run.
    #[test]
    fn more_events_change_nothing_where_links_fail(
        failures in prop::collection::vec((0..9usize, 0..900u64, 1..900u64), 1..5),
        converges in 0..400u64,
        scheme in prop::sample::select(vec!["none", "dcqcn", "dctcp", "hpcc"]),
        classes: bool,
        spray in 0..4u8,
        seed: u64,
    ) {
        let mut net = Net::new(&["a", "b", "c", "d", "s", "t", "m", "n"]);
        let links = [("a", "s"), ("b", "s"), ("c", "t"), ("d", "t"), ("s", "m"), ("s", "n"), ("m", "t"), ("n", "t"), ("s", "t")];
        for (from, to) in links {
            net.link(from, to, TEN, Span::from_us(2));
        }
        let by = |net: &Net, from: &str, to: &str, via: &str| -> Vec<PortId> {
            [(from, "s"), ("s", via), (via, "t"), ("t", to)].map(|(a, b)| net.port(&format!("{a}->{b}"))).to_vec()
        };
        let config = queue_pair(if classes { QpRecovery::GoBackN } else { QpRecovery::SelectiveRepeat });
        for (from, to, total) in [("a", "c", None), ("b", "c", Some(Bytes::new(800_000))), ("b", "d", None)] {
            let flow = net.flow(from, to, 3, Traffic::Roce { config: config.into(), total });
            let paths = vec![by(&net, from, to, "m"), by(&net, from, to, "n")];
            let one = vec![paths[usize::from(flow == FlowId::new(1))].clone()];
            let plan = &mut net.plan.flows[flow];
            plan.paths = if spray > 0 { paths.clone() } else { one }.into();
            plan.frame = Bytes::new(1048);
            net.plan.reroutes.push(Reroute { at: at_us(converges), flow, paths: paths[..1].to_vec() });
        }
        net.plan.path_choice = match spray {
            1 => PathChoice::RoundRobin,
            2 => PathChoice::Flowlets(Span::from_us(5)),
            3 => PathChoice::Recycled(RepsPlan { freeze: Span::from_us(200), explore: 4 }),
            _ => PathChoice::Random,
        };
        let back = net.flow("c", "a", 1, greedy());
        net.plan.flows[back].paths = vec![["c->t", "t->s", "s->a"].map(|port| net.port(port)).to_vec()].into();
        net.plan.flows[back].controlled = false;
        net.plan.seed = seed;
        net.plan.scheme = Config::find(scheme, None).unwrap();
        for (switch, memory) in [("s", 120_000), ("t", 150_000), ("m", 100_000), ("n", 100_000)] {
            net.pause(switch, memory, 40_000, 20_000);
            if classes {
                let node = net.node(switch);
                net.plan.nodes[node].pause.as_mut().unwrap().scope = PauseScope::Classes(0b1000);
            }
        }
        for port in ["s->m", "s->n", "t->c"] {
            let port = net.port(port);
            net.plan.ports[port].watched = true;
            net.plan.ports[port].recorded = true;
        }
        let mut free_from = [0; 9];
        let mut planned = Vec::new();
        for (link, from, lasts) in failures {
            if from < free_from[link] {
                continue;
            }
            free_from[link] = from + lasts;
            let (a, b) = links[link];
            planned.push(failure(&net, &format!("{a}->{b}"), from, from + lasts));
        }
        net.plan.failures = planned;
        // Not at the very end of a transmission: a departure that is computed has happened then, one that is an event not.
        net.plan.end = at_us(1500) + Span::from_ps(1);
        let mut few = net.run();
        net.plan.events = Events::Everywhere;
        let many = net.run();
        few.counters.events = many.counters.events;
        prop_assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
    }
}
