//! BFC in whole runs: queues stop one hop upstream and go on, to the picosecond; who is held up, and who is not.

use super::net::Net;
use proptest::prelude::*;
use qcnlab_schemes::params::Value;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{Events, Finished, FlowId, LinkFailure, PathChoice, PortId, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

const TEN: BitRate = BitRate::gbps(10);
const PACKET: u64 = 1048;

/// Hosts and switches, linked at 10 Gb/s with 1 us; all ports are watched.
fn linked(nodes: &[&str], links: &[(&str, &str)]) -> Net {
    let mut net = Net::new(nodes);
    links.iter().for_each(|(from, to)| net.link(from, to, TEN, Span::from_us(1)));
    net.plan.scheme = Config::find("bfc", None).unwrap();
    net
}

fn message(net: &mut Net, from: &str, to: &str, packets: u64) -> FlowId {
    let total = Some(Bytes::new(1000 * packets));
    let traffic = Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total };
    let flow = net.flow(from, to, 3, traffic);
    net.plan.flows[flow].frame = Bytes::new(PACKET);
    flow
}

fn record_all_ports(net: &mut Net) {
    net.plan.ports.iter_mut().for_each(|port| port.watched = true);
}

fn set_rate(net: &mut Net, port: &str, rate: BitRate) {
    let port = net.port(port);
    net.plan.ports[port].rate = rate;
}

fn set_parameter(net: &mut Net, name: &str, value: Value) {
    let table = net.plan.scheme.cp_mut();
    let index = table.fields().iter().position(|field| field.name == name).unwrap();
    table.set(index, Some(value));
}

fn set_queues(net: &mut Net, queues: u64) {
    set_parameter(net, "queues", Value::Integer(queues));
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

/// Ten packets into 4 Gb/s. A packet takes 838.4 ns at 10 Gb/s and 2096 at 4. The hop's product is 4 Gb/s * 2 us = 1000
/// octets, so that each packet is tagged, alone as it may be. The first comes at 1838.4 ns and leaves its queue at once: of
/// the messages to stop and to go on the latter alone is sent. The second comes at 2676.8 while the
/// first is sent: the message takes 51.2 ns and 1 us, and is there at 3728. The fifth packet began at 3353.6, the sixth would
/// have at 4192. The first began on the slow link at 1838.4, and the fifth, the last that waits, does 4 * 2096 later, at
/// 10 222.4: the host goes on at 11 273.6. The same five packets again, later by that: the tenth ends its transmission at
/// 11 273.6 + 1838.4 + 5 * 2096 = 23 592. Its acknowledgement of 60 octets is there 1 us + 2 * (48 ns + 1 us) later.
#[test]
fn a_host_stops_while_a_tagged_packet_waits() {
    let mut net = linked(&["a", "c", "s"], &[("a", "s"), ("s", "c")]);
    set_rate(&mut net, "s->c", BitRate::gbps(4));
    let flow = message(&mut net, "a", "c", 10);
    record_all_ports(&mut net);
    let done = run(&mut net);
    assert_eq!((finished(&done, flow), done.counters.pause_frames), (26_688_000, 2 * 3));
}

/// As above, and t stands between s and c with the slow link. It stops the queue of s, where two packets then wait: they
/// are no longer than the 2500 octets of a hop at 10 Gb/s, and the host is not stopped.
#[test]
fn a_queue_of_a_switch_stops_before_the_host_does() {
    let mut net = linked(&["a", "c", "s", "t"], &[("a", "s"), ("s", "t"), ("t", "c")]);
    set_rate(&mut net, "t->c", BitRate::gbps(4));
    let flow = message(&mut net, "a", "c", 7);
    record_all_ports(&mut net);
    let done = run(&mut net);
    // t: the second packet comes at 1838.4 + 838.4 + 1000 + 838.4 = 4515.2 while the first, there at 3676.8, is sent; the message
    // is at s at 5566.4. Packets leave the queue of s at 1838.4 + k * 838.4: the fifth at 5192, so the sixth and the seventh wait.
    // The fifth, the last with a tag, leaves the queue of t at 3676.8 + 4 * 2096 = 12 060.8; s goes on at 13 112. The sixth
    // ends there at 13 950.4, is at t at 14 950.4, and the seventh right behind it ends at 14 950.4 + 2 * 2096 = 19 142.4. Its
    // acknowledgement crosses three links.
    assert_eq!(finished(&done, flow), 19_142_400 + 1_000_000 + 3 * 1_048_000);
    // t tells s to go on for the first, to stop and to go on for the second to the fifth, and so for the sixth and the seventh.
    assert_eq!(done.counters.pause_frames, 2 * 3);
}

/// Two flows of one host, one into 1 Gb/s: the other takes what it would alone, but for the packets of the first that
/// go between its own. Under PFC the first would hold up both.
#[test]
fn a_victim_is_not_held_up() {
    let mut net = linked(&["a", "c", "d", "s"], &[("a", "s"), ("s", "c"), ("s", "d")]);
    set_rate(&mut net, "s->c", BitRate::gbps(1));
    let _slow = message(&mut net, "a", "c", 200);
    let victim = message(&mut net, "a", "d", 1000);
    record_all_ports(&mut net);
    let done = run(&mut net);
    // A packet of the slow flow takes 8.384 us on its link, in which the victim sends nine of its own.
    let alone = 1000 * 838_400;
    assert!(finished(&done, victim) < alone * 10 / 8, "{}", finished(&done, victim));
    assert_eq!(done.counters.frames_dropped, 0);
}

/// The same with one queue at s, behind another switch: the victim shares the queue of the slow flow there, and waits for it.
#[test]
fn who_shares_a_queue_with_a_slow_flow_waits_for_it() {
    let nodes = ["a", "b", "c", "d", "s", "t"];
    let mut net = linked(&nodes, &[("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "d")]);
    set_rate(&mut net, "t->c", BitRate::gbps(1));
    let slow = message(&mut net, "a", "c", 200);
    let victim = message(&mut net, "b", "d", 200);
    record_all_ports(&mut net);
    let apart = run(&mut net);
    set_queues(&mut net, 1);
    let shared = run(&mut net);
    assert!(finished(&apart, victim) < 400 * 838_400 && finished(&apart, slow) > 200 * 8_384_000);
    assert!(finished(&shared, victim) > 100 * 8_384_000, "{}", finished(&shared, victim));
}

/// Ten packets from a and, 0.1 us later, four from b into 1 Gb/s, where each takes 8.384 us: when the first of a has left, at
/// 10 222.4 ns, all others wait. Nobody is stopped. Turns of 1500 octets: a, b, a, b, a, and then b has 904 octets left over
/// and sends two, the last of which is the seventh. Turns of 4192 octets: a, and four of b: the fifth. Its last octet is at c
/// 1 us after its transmission, and the acknowledgement of 60 octets at b 2 * (48 ns + 1 us) later.
#[test]
fn queues_take_turns_of_the_quantum() {
    for (quantum, frames) in [(1500, 7), (4192, 5)] {
        let mut net = linked(&["a", "b", "c", "s"], &[("a", "s"), ("b", "s"), ("s", "c")]);
        set_rate(&mut net, "s->c", BitRate::gbps(1));
        set_parameter(&mut net, "threshold", Value::Number(1e6));
        set_parameter(&mut net, "quantum", Value::Size(Bytes::new(quantum)));
        message(&mut net, "a", "c", 10);
        let second = message(&mut net, "b", "c", 4);
        net.plan.flows[second].start = Instant::ZERO + Span::from_ns(100);
        record_all_ports(&mut net);
        let done = run(&mut net);
        assert_eq!(
            (finished(&done, second), done.counters.pause_frames),
            (1_838_400 + frames * 8_384_000 + 3_096_000, 0)
        );
    }
}

/// PFC beside BFC, which stops nobody here. A hundred packets come to t, which has room for 40 and sends at 1 Gb/s: it stops the
/// link from s. Nothing is lost, and the slow link never waits: its first packet begins at 2 * 1838.4 ns.
#[test]
fn a_pause_of_the_class_stops_all_queues() {
    let mut net = linked(&["a", "c", "s", "t"], &[("a", "s"), ("s", "t"), ("t", "c")]);
    set_rate(&mut net, "t->c", BitRate::gbps(1));
    set_parameter(&mut net, "threshold", Value::Number(1e6));
    net.pause("t", 40 * PACKET, 20 * PACKET, 10 * PACKET);
    let flow = message(&mut net, "a", "c", 100);
    record_all_ports(&mut net);
    let done = run(&mut net);
    assert!(done.counters.pause_frames > 10, "{}", done.counters.pause_frames);
    assert_eq!(done.counters.frames_dropped, 0);
    assert_eq!(finished(&done, flow), 2 * 1_838_400 + 100 * 8_384_000 + 1_000_000 + 3 * 1_048_000);
}

/// Three flows and two queues at s, behind which t stops that of the slow flow. Of the two fast flows to d the second finds no
/// unused queue: in some draws it joins the slow flow's and waits for it, in others the first fast one's. Which it is follows
/// from the seed.
#[test]
fn a_flow_without_a_queue_of_its_own_joins_one_that_is_drawn() {
    let nodes = ["a", "b", "e", "c", "d", "s", "t"];
    let mut net = linked(&nodes, &[("a", "s"), ("b", "s"), ("e", "s"), ("s", "t"), ("t", "c"), ("t", "d")]);
    set_rate(&mut net, "t->c", BitRate::gbps(1));
    message(&mut net, "a", "c", 100);
    message(&mut net, "b", "d", 400);
    let late = message(&mut net, "e", "d", 20);
    net.plan.flows[late].start = Instant::ZERO + Span::from_us(20);
    record_all_ports(&mut net);
    set_queues(&mut net, 2);
    let mut of_seed = |seed| {
        net.plan.seed = seed;
        finished(&run(&mut net), late)
    };
    let times: Vec<u64> = (0..8).map(&mut of_seed).collect();
    // With the fast flow it has at least a third of the link, 60 * 838.4 ns after 20 us and three links; with the slow one it
    // waits for packets of 8.384 us between its own.
    let waits = times.iter().filter(|time| **time > 100_000_000).count();
    assert!((1..8).contains(&waits), "{times:?}");
    assert_eq!(of_seed(3), times[3]);
}

/// As in the first test, and the host's link is down from 5 to 6 us. What is on it is lost: the fifth packet, there at 5192 ns.
/// When the link is back, the host sends the sixth at 6000 and the seventh at 6838.4 ns. The third and the fourth, both with a
/// tag, wait at s, and that tells the host again: the message is there at 7051.2, before an eighth at 7676.8.
#[test]
fn a_host_is_stopped_anew_when_its_link_is_back() {
    let sent = |until: u64, end: u64| {
        let mut net = linked(&["a", "c", "s"], &[("a", "s"), ("s", "c")]);
        set_rate(&mut net, "s->c", BitRate::gbps(4));
        let flow = message(&mut net, "a", "c", 10);
        record_all_ports(&mut net);
        let at = |ns| Instant::ZERO + Span::from_ns(ns);
        net.plan.failures = vec![LinkFailure { port: net.port("a->s"), from: at(5000), until: at(until) }];
        net.plan.end = at(end);
        let done = run(&mut net);
        (done.flows[flow].sent, done.counters.link_drops, done.flows[flow].finished < Instant::NEVER)
    };
    assert_eq!(sent(6000, 8000), (7, 1, false));
    assert_eq!(sent(9000, 8000), (5, 1, false));
    assert!(sent(6000, 5_000_000).2);
}

/// A queue of s that t has stopped is lost with the link between them: s tells the host to go on, as the last tagged packet has
/// left its queue, and the queue may send when the link is back.
#[test]
fn frames_in_queues_are_lost_with_their_link() {
    let mut net = linked(&["a", "c", "s", "t"], &[("a", "s"), ("s", "t"), ("t", "c")]);
    set_rate(&mut net, "t->c", BitRate::gbps(1));
    let flow = message(&mut net, "a", "c", 200);
    record_all_ports(&mut net);
    let at = |us| Instant::ZERO + Span::from_us(us);
    net.plan.failures = vec![LinkFailure { port: net.port("t->s"), from: at(50), until: at(100) }];
    let done = run(&mut net);
    assert!(done.flows[flow].finished < Instant::NEVER);
    assert_eq!(done.counters.frames_dropped, done.counters.link_drops);
    // What waits at s when the link fails is more than a hop's product of 2500 octets, or the host would not be stopped.
    assert!(done.counters.link_drops > 3, "{:?}", done.counters);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: super::net::kept("fabric/backpressure"), ..ProptestConfig::default() })]

    /// Messages between hosts of two switches over two links, whatever the number of queues, which way packets take, and what
    /// the slowest link is: all arrive, nothing is lost although buffers hold few packets of a flow, few events give the run of
    /// all, and whoever is stopped goes on.
    #[test]
    fn everything_arrives_without_loss(
        messages in prop::collection::vec((0..4usize, 1..4usize, 1..60u64, 0..50u64), 1..25),
        queues in 1..40u64,
        slow in 1..10u64,
        sprayed: bool,
        seed in 0..1000u64,
    ) {
        let hosts = ["a", "b", "c", "d"];
        let links = [("a", "s"), ("b", "s"), ("c", "t"), ("d", "t"), ("s", "t"), ("s", "t")];
        let mut net = linked(&["a", "b", "c", "d", "s", "t"], &links);
        set_rate(&mut net, "t->c", BitRate::gbps(slow));
        // What comes first at one instant is keyed by names.
        let second = net.plan.ports.iter().rposition(|port| port.name == "s->t").unwrap();
        net.plan.ports.iter_mut().skip(second).for_each(|port| port.name += " 2");
        let (first, second) = (net.port("s->t"), PortId::at(second));
        for (from, hops, packets, start) in &messages {
            let flow = message(&mut net, hosts[*from], hosts[(from + hops) % 4], *packets);
            net.plan.flows[flow].start = Instant::ZERO + Span::from_us(*start);
            // Over the second link between the switches every other one, or both.
            let own = net.plan.flows[flow].paths[0].to_vec();
            let other: Vec<PortId> = own.iter().map(|port| if *port == first { second } else { *port }).collect();
            if sprayed && other != own {
                net.plan.flows[flow].paths = vec![own, other].into();
            } else if flow.number() % 2 == 1 {
                net.plan.flows[flow].paths = vec![other].into();
            }
        }
        net.plan.path_choice = PathChoice::RoundRobin;
        set_queues(&mut net, queues);
        record_all_ports(&mut net);
        // A hop's product of 2500 octets, what comes until a stop shows as often again, and a packet of each port.
        for port in &mut net.plan.ports {
            port.capacity = Some(Bytes::new(40 * 3 * (2500 + PACKET)));
        }
        (net.plan.seed, net.plan.end) = (seed, Instant::ZERO + Span::from_ms(40));
        let done = run(&mut net);
        prop_assert_eq!(done.counters.frames_dropped, 0);
        for (flow, (_, _, packets, _)) in done.flows.iter().zip(&messages) {
            prop_assert_eq!(flow.roce.unwrap().acknowledged_bytes, 1000 * packets);
        }
    }

    /// A link fails and comes back at any time, of a host or between switches: what is lost is lost with it, and all arrives in
    /// the end, so that nobody stays stopped.
    #[test]
    fn links_fail_and_nobody_stays_stopped(
        messages in prop::collection::vec((0..4usize, 1..4usize, 1..60u64, 0..50u64), 1..12),
        queues in 1..12u64,
        slow in 1..10u64,
        fails in prop::collection::vec((0..5usize, 1..150u64, 1..100u64), 1..3),
        seed in 0..1000u64,
    ) {
        let hosts = ["a", "b", "c", "d"];
        let links = [("a", "s"), ("b", "s"), ("c", "t"), ("d", "t"), ("s", "t")];
        let mut net = linked(&["a", "b", "c", "d", "s", "t"], &links);
        set_rate(&mut net, "t->c", BitRate::gbps(slow));
        for (from, hops, packets, start) in &messages {
            let flow = message(&mut net, hosts[*from], hosts[(from + hops) % 4], *packets);
            net.plan.flows[flow].start = Instant::ZERO + Span::from_us(*start);
        }
        set_queues(&mut net, queues);
        record_all_ports(&mut net);
        for (number, (link, from, lasts)) in (0..).zip(fails) {
            // One after the other.
            let from = Instant::ZERO + Span::from_us(from + 300 * number);
            let port = net.port(&format!("{}->{}", links[link].0, links[link].1));
            net.plan.failures.push(LinkFailure { port, from, until: from + Span::from_us(lasts) });
        }
        (net.plan.seed, net.plan.end) = (seed, Instant::ZERO + Span::from_ms(100));
        let done = run(&mut net);
        prop_assert_eq!(done.counters.frames_dropped, done.counters.link_drops);
        for (flow, (_, _, packets, _)) in done.flows.iter().zip(&messages) {
            prop_assert_eq!(flow.roce.unwrap().acknowledged_bytes, 1000 * packets);
        }
    }
}
