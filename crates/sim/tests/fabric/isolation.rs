//! Congestion isolation in whole runs: who waits behind whom, to the picosecond; the messages; order.

use super::net::{Net, greedy};
use proptest::prelude::*;
use qcnlab_schemes::params::Value;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{Events, Finished, FlowId, LinkFailure, PauseScope, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

const TEN: BitRate = BitRate::gbps(10);
const PACKET: u64 = 1048;

/// a at s, b at t, and c behind t, over a slow link; links of 10 Gb/s with 1 us, and all ports are watched. Flows are
/// isolated above 2000 octets.
fn line() -> Net {
    let mut net = Net::new(&["a", "b", "c", "s", "t"]);
    [("a", "s"), ("s", "t"), ("b", "t"), ("t", "c")].iter().for_each(|(x, y)| net.link(x, y, TEN, Span::from_us(1)));
    net.plan.scheme = Config::find("qcz", None).unwrap();
    set(&mut net, "threshold", Value::Size(Bytes::new(2000)));
    let slow = net.port("t->c");
    net.plan.ports[slow].rate = BitRate::gbps(4);
    net.plan.ports.iter_mut().for_each(|port| port.watched = true);
    net
}

fn set(net: &mut Net, name: &str, value: Value) {
    let table = net.plan.scheme.cp_mut();
    let index = table.fields().iter().position(|field| field.name == name).unwrap();
    table.set(index, Some(value));
}

fn message(net: &mut Net, from: &str, to: &str, packets: u64, start: Span) -> FlowId {
    let total = Some(Bytes::new(1000 * packets));
    let traffic = Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total };
    let flow = net.flow(from, to, 3, traffic);
    net.plan.flows[flow].frame = Bytes::new(PACKET);
    net.plan.flows[flow].start = Instant::ZERO + start;
    flow
}

/// Runs with few events and with all, which is the same run.
fn run(net: &mut Net) -> Finished {
    net.plan.events = Events::WhereNeeded;
    let mut few = net.run();
    net.plan.events = Events::Everywhere;
    let many = net.run();
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
    few
}

fn finished(done: &Finished, flow: FlowId) -> u64 {
    done.flows[flow].finished.ps()
}

fn most_kept(done: &Finished) -> u64 {
    done.flows.iter().filter_map(|flow| flow.roce).map(|roce| roce.most_kept).max().unwrap_or(0)
}

/// Ten packets of a into 4 Gb/s, where each takes 2096 ns; they come to t at 3676.8 + k * 838.4 ns. The second makes the queue
/// 2096 octets long, so that the others join the congesting one. A packet of b comes at 9000 + 1838.4 = 10 838.4 ns, while the
/// fourth of a is sent, until 3676.8 + 4 * 2096 = 12 060.8, and goes next: at c 2096 ns and 1 us later, and its acknowledgement
/// at b 2 * 1048 ns after that. Without isolation it waits for nine of a, which have come by then. All of a take as long as
/// they would: 11 packets and the way back over three links.
#[test]
fn a_packet_goes_before_those_of_a_congesting_flow() {
    let mut net = line();
    let long = message(&mut net, "a", "c", 10, Span::ZERO);
    let late = message(&mut net, "b", "c", 1, Span::from_ns(9000));
    let done = run(&mut net);
    let ends = 3_676_800 + 11 * 2_096_000;
    assert_eq!(finished(&done, late), 12_060_800 + 2_096_000 + 1_000_000 + 2 * 1_048_000);
    assert_eq!(finished(&done, long), ends + 1_000_000 + 3 * 1_048_000);
    assert_eq!((most_kept(&done), done.counters.frames_dropped, done.counters.pause_frames), (0, 0, 0));
    // b has no queues of its own: of its frames t tells nobody, of those of a it tells s once.
    assert_eq!((done.counters.messages_sent, done.counters.messages_heard), (1, 1));
    net.plan.scheme = Config::find("none", None).unwrap();
    let plain = run(&mut net);
    assert_eq!(finished(&plain, late), 3_676_800 + 10 * 2_096_000 + 1_000_000 + 2 * 1_048_000);
}

/// s hears of it: the message leaves t at 4515.2 ns, takes 76.8 ns and 1 us, and is there at 5592. Of what comes to s the sixth
/// packet, at 6030.4, is the first afterwards. So the second to the fifth come to t out of the monitored queue, 838.4 ns apart:
/// without a least time between messages s is told four times, if it may be.
#[test]
fn a_neighbour_is_told_until_it_has_isolated_the_flow() {
    let told = |most: u64, interval: Span| {
        let mut net = line();
        set(&mut net, "max_cim_tx", Value::Integer(most));
        set(&mut net, "cim_interval", Value::Time(interval));
        message(&mut net, "a", "c", 20, Span::ZERO);
        let done = run(&mut net);
        assert_eq!(done.counters.messages_heard, done.counters.messages_sent);
        done.counters.messages_sent
    };
    let told = [(9, 0), (3, 0), (9, 1000), (0, 0)].map(|(most, ns)| told(most, Span::from_ns(ns)));
    assert_eq!(told, [4, 3, 2, 0]);
}

/// The run ends while the message is on its way: 76.8 ns of transmission, 1 us of link.
#[test]
fn what_is_under_way_at_the_end_is_counted() {
    let counts = |end: u64| {
        let mut net = line();
        message(&mut net, "a", "c", 20, Span::ZERO);
        net.plan.end = Instant::from_ps(end);
        let counters = run(&mut net).counters;
        (counters.messages_sent, counters.messages_heard)
    };
    assert_eq!([4_515_100, 4_560_000, 5_000_000, 5_592_100].map(counts), [(0, 0), (1, 0), (1, 0), (1, 1)]);
}

/// The class of congesting flows has turns of five packets, and the monitored one of a packet: the turn comes to the
/// congesting queue while the second packet still waits in the monitored one. Its head waits for that, and nothing overtakes.
#[test]
fn order_is_kept_where_the_queues_take_turns() {
    for quanta in [[0, 0, 5 * PACKET, PACKET, 0, 0, 0, 0], [0, 0, PACKET, 5 * PACKET, 0, 0, 0, 0]] {
        let mut net = line();
        let long = message(&mut net, "a", "c", 30, Span::ZERO);
        let other = message(&mut net, "b", "c", 30, Span::from_ns(3000));
        let t = net.node("t");
        net.plan.nodes[t].quanta = Some(quanta.map(Bytes::new));
        let done = run(&mut net);
        assert_eq!(most_kept(&done), 0);
        assert!([long, other].iter().all(|flow| done.flows[*flow].finished < Instant::NEVER));
    }
}

/// The congesting class stands behind the monitored one, whatever its number, and before all lower ones.
#[test]
fn the_congesting_queue_stands_behind_the_monitored_one() {
    let mut times = Vec::new();
    for class in [2, 5, 7, 0] {
        let mut net = line();
        set(&mut net, "congesting_priority", Value::Integer(class));
        let long = message(&mut net, "a", "c", 10, Span::ZERO);
        let late = message(&mut net, "b", "c", 1, Span::from_ns(9000));
        let done = run(&mut net);
        times.push([long, late].map(|flow| finished(&done, flow)));
    }
    assert!(times.iter().all(|each| *each == times[0]), "{times:?}");
}

/// t isolates nothing: what s has in its congesting queue comes to the one queue that t has, in order, and s is told nothing.
#[test]
fn a_port_that_is_not_watched_takes_all_in_one_queue() {
    let mut net = line();
    let slow = net.port("t->c");
    net.plan.ports[slow].watched = false;
    let trunk = net.port("s->t");
    net.plan.ports[trunk].rate = BitRate::gbps(5);
    let long = message(&mut net, "a", "c", 40, Span::ZERO);
    let late = message(&mut net, "b", "c", 1, Span::from_ns(9000));
    let done = run(&mut net);
    assert_eq!((most_kept(&done), done.counters.messages_sent), (0, 0));
    // A packet takes 1676.8 ns on the link from s: the first is at t at 4515.2 ns, and the first five by 11 222.4. The packet of
    // b comes at 10 838.4 ns, behind four.
    assert_eq!(finished(&done, late), 4_515_200 + 5 * 2_096_000 + 1_000_000 + 2 * 1_048_000);
    assert_eq!(finished(&done, long), 4_515_200 + 41 * 2_096_000 + 1_000_000 + 3 * 1_048_000);
}

/// Frames that nobody controls share the class, and stay in the monitored queue however long it is: they go before a's.
#[test]
fn frames_that_nobody_controls_stay_where_they_are() {
    let mut net = line();
    let flow = net.flow("b", "c", 3, greedy());
    net.plan.flows[flow].frame = Bytes::new(PACKET);
    net.plan.flows[flow].controlled = false;
    let long = message(&mut net, "a", "c", 30, Span::from_us(20));
    net.plan.end = Instant::ZERO + Span::from_us(400);
    let done = run(&mut net);
    // The link never runs out of them: of a what came into the monitored queue before it was isolated has left, at most.
    assert!(done.flows[long].roce.unwrap().acknowledged_bytes <= 3000);
    assert_eq!(done.flows[long].finished, Instant::NEVER);
}

/// The link between the switches fails at 4560 ns, while t tells s of the flow, and later, while the message is on the link: it is
/// lost. What waits at t stays there, and all arrives when the link is back.
#[test]
fn messages_are_lost_with_their_link() {
    for fails in [4560, 5000] {
        let mut net = line();
        let long = message(&mut net, "a", "c", 20, Span::ZERO);
        let at = |ns| Instant::ZERO + Span::from_ns(ns);
        net.plan.failures = vec![LinkFailure { port: net.port("s->t"), from: at(fails), until: at(20_000) }];
        let done = run(&mut net);
        let counters = &done.counters;
        assert_eq!(counters.messages_lost, 1);
        assert_eq!(counters.messages_sent, counters.messages_heard + 1);
        assert_eq!(counters.frames_dropped, counters.link_drops);
        assert!(done.flows[long].finished < Instant::NEVER && counters.link_drops > 0);
    }
}

/// The slow link fails with both queues full of packets: with these goes what the port counts of them, so that flows are as
/// before, in order, when it is back.
#[test]
fn queues_are_empty_after_a_failure() {
    let mut net = line();
    let first = message(&mut net, "a", "c", 60, Span::ZERO);
    let second = message(&mut net, "b", "c", 60, Span::from_ns(3000));
    let at = |us| Instant::ZERO + Span::from_us(us);
    net.plan.failures = vec![LinkFailure { port: net.port("t->c"), from: at(30), until: at(60) }];
    let done = run(&mut net);
    assert!(done.counters.link_drops > 20, "{:?}", done.counters);
    assert!([first, second].iter().all(|flow| done.flows[*flow].finished < Instant::NEVER));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: super::net::kept("fabric/isolation"), ..ProptestConfig::default() })]

    /// Messages between hosts of two switches, whatever the parameters, with PFC of the two classes: all arrive, nothing is
    /// lost, no frame overtakes one of its flow, and few events give the run of all.
    #[test]
    fn everything_arrives_in_order_and_without_loss(
        messages in prop::collection::vec((0..4usize, 1..4usize, 1..60u64, 0..50u64), 1..25),
        threshold in 0..20u64,
        streams in 1..10u64,
        lives in (0..50u64, 0..50u64),
        slow in 1..10u64,
        by_weight: bool,
        seed in 0..1000u64,
    ) {
        let hosts = ["a", "b", "c", "d"];
        let mut net = Net::new(&["a", "b", "c", "d", "s", "t"]);
        for (x, y) in [("a", "s"), ("b", "s"), ("c", "t"), ("d", "t"), ("s", "t")] {
            net.link(x, y, TEN, Span::from_us(1));
        }
        net.plan.scheme = Config::find("qcz", None).unwrap();
        net.plan.ports.iter_mut().for_each(|port| port.watched = true);
        let port = net.port("t->c");
        net.plan.ports[port].rate = BitRate::gbps(slow);
        set(&mut net, "threshold", Value::Size(Bytes::new(threshold * 1000)));
        set(&mut net, "max_streams", Value::Integer(streams));
        set(&mut net, "max_flow_life", Value::Time(Span::from_us(lives.0)));
        set(&mut net, "local_flow_life", Value::Time(Span::from_us(lives.1)));
        for switch in ["s", "t"] {
            net.pause(switch, 200_000, 20 * PACKET, 10 * PACKET);
            let switch = net.node(switch);
            net.plan.nodes[switch].pause.as_mut().unwrap().scope = PauseScope::Classes(1 << 3 | 1 << 2);
            net.plan.nodes[switch].quanta = by_weight.then_some([0, 0, 2000, 1500, 0, 0, 0, 0].map(Bytes::new));
        }
        for (from, hops, packets, start) in &messages {
            message(&mut net, hosts[*from], hosts[(from + hops) % 4], *packets, Span::from_us(*start));
        }
        (net.plan.seed, net.plan.end) = (seed, Instant::ZERO + Span::from_ms(40));
        let done = run(&mut net);
        prop_assert_eq!((done.counters.frames_dropped, most_kept(&done)), (0, 0));
        for (flow, (_, _, packets, _)) in done.flows.iter().zip(&messages) {
            prop_assert_eq!(flow.roce.unwrap().acknowledged_bytes, 1000 * packets);
        }
    }
}
