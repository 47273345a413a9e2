//! Whole runs of TCP connections over the fabric.

mod net;

use net::Net;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::tcp::{self, Flavour};
use qcnlab_sim::testing::connection;
use qcnlab_sim::{Finished, FlowId, PausePlan, PauseRule, PauseScope, PauseTarget, ServiceChange, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

fn connect(net: &mut Net, from: &str, to: &str, config: tcp::Config, total: Option<u64>) -> FlowId {
    net.flow(from, to, 0, Traffic::Tcp { config: config.into(), total: total.map(Bytes::new) })
}

/// A window that never closes carries the window once a round trip.
#[test]
fn a_lone_connection_carries_its_window_each_round_trip() {
    let mut net = Net::new(&["a", "s", "b"]);
    net.link("a", "s", BitRate::gbps(10), Span::from_us(60));
    net.link("s", "b", BitRate::gbps(10), Span::from_us(60));
    connect(&mut net, "a", "b", connection(Flavour::Reno), None);
    net.plan.end = Instant::ZERO + Span::from_ms(100);
    let done = net.run();
    let tcp = done.flows[FlowId::new(0)].tcp.unwrap();
    // 44 segments fit into 65 536 B. A round trip: four delays of 60 us, two transmissions of 1518 B (1.2144 us)
    // and two of 64 B: 242.53 us. 100 ms hold 412 of them; slow start costs some.
    let rounds = 0.1 / 242.53e-6;
    let whole = rounds * 44.0 * 1460.0;
    assert!(
        (tcp.in_order_bytes as f64) < whole && tcp.in_order_bytes as f64 > 0.97 * whole,
        "{tcp:?}, at most {whole}"
    );
    assert_eq!((tcp.retransmitted, tcp.timeouts, done.counters.frames_dropped), (0, 0, 0));
}

/// A connection sends nothing new from its stop on: at once, and at the instant of an acknowledgement. The first segment
/// arrives after 1.2144 us and 1 us, its acknowledgement of 64 B after 51.2 ns and 1 us: at 3.2656 us the window would
/// grow to two.
#[test]
fn a_connection_that_stops_sends_nothing_new() {
    let sent = |stop_ps: u64| {
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", BitRate::gbps(10), Span::from_us(1));
        let flow = connect(&mut net, "a", "b", connection(Flavour::Reno), None);
        net.plan.flows[flow].stop = Instant::from_ps(stop_ps);
        net.plan.end = Instant::ZERO + Span::from_us(50);
        net.run().flows[flow].tcp.unwrap().segments
    };
    assert_eq!([0, 1, 3_265_600, 3_265_601].map(sent), [0, 1, 1, 3]);
}

#[test]
fn a_transfer_is_complete_to_the_octet_over_a_lossy_queue() {
    for flavour in [Flavour::Reno, Flavour::NewReno, Flavour::Cubic, Flavour::Bic] {
        let mut net = Net::new(&["a", "s", "b"]);
        net.link("a", "s", BitRate::gbps(10), Span::from_us(10));
        net.link("s", "b", BitRate::gbps(1), Span::from_us(10));
        let port = net.port("s->b");
        net.plan.ports[port].capacity = Some(Bytes::new(20_000));
        let config = tcp::Config { min_rto: Span::from_ms(2), initial_rto: Span::from_ms(5), ..connection(flavour) };
        connect(&mut net, "a", "b", config, Some(3_000_001));
        net.plan.end = Instant::ZERO + Span::from_ms(2000);
        let done = net.run();
        let flow = done.flows[FlowId::new(0)];
        assert_eq!(flow.tcp.unwrap().in_order_bytes, 3_000_001, "{flavour:?}");
        assert!(done.counters.frames_dropped > 0 && flow.tcp.unwrap().retransmitted > 0, "{flavour:?}");
        // 3 MB at 1 Gb/s, headers and all, take 24.96 ms at least.
        assert!(flow.finished > Instant::ZERO + Span::from_ms(24) && flow.finished < Instant::NEVER, "{flavour:?}");
    }
}

/// Two Reno flows into a link whose queue is short: sawteeth between W/2 and W, where W is what pipe and queue hold.
#[test]
fn two_reno_flows_share_a_link_in_sawteeth() {
    let mut net = Net::new(&["a", "b", "s", "c"]);
    for host in ["a", "b"] {
        net.link(host, "s", BitRate::gbps(10), Span::from_us(100));
    }
    net.link("s", "c", BitRate::gbps(1), Span::from_us(100));
    let port = net.port("s->c");
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1518));
    let config = tcp::Config { max_window: Bytes::new(1 << 20), ..connection(Flavour::NewReno) };
    for host in ["a", "b"] {
        connect(&mut net, host, "c", config, None);
    }
    net.plan.flows[FlowId::new(1)].start = Instant::ZERO + Span::from_us(1777);
    net.plan.end = Instant::ZERO + Span::from_ms(4000);
    net.plan.record.queue_every = Span::from_ms(1);
    let done = net.run();
    // The pipe without queue: 400 us at 1 Gb/s hold 32.9 frames of 1518 B, and frames in transmission some 2 more;
    // the queue holds 20. The sum of windows goes from (35 + 20) / 2 = 27.5 up to 55, both flows cut together or in
    // turn. While it is below 35 the link idles in part: utilisation is at least 1 - (7.5 / 35)^2 / (2 (27.5 / 35)) of
    // cuts together, 0.97, and 1 in turn.
    let carried: u64 = done.flows.iter().map(|flow| flow.tcp.unwrap().in_order_bytes).sum();
    let utilisation = carried as f64 * 8.0 / (1e9 * 4.0) * 1518.0 / 1460.0;
    assert!((0.96..1.0).contains(&utilisation), "{utilisation}");
    let timeouts: u64 = done.flows.iter().map(|flow| flow.tcp.unwrap().timeouts).sum();
    // The first slow start doubles past what fits, and may lose too much at once to repair without a timeout.
    assert!(timeouts <= 2, "{timeouts}");
    // Congestion avoidance: each flow's window grows by one segment a round trip of 0.4 to 0.65 ms, so a tooth of
    // both together, 27.5 segments at two a round trip, takes 13.75 round trips: 5.5 to 9 ms, 440 to 730 in 4 s.
    let cuts: u64 = done.flows.iter().map(|flow| flow.tcp.unwrap().fast_retransmits).sum();
    assert!((440..1460).contains(&cuts), "{cuts}");
    let share = done.flows[FlowId::new(0)].delivered as f64 / done.flows[FlowId::new(1)].delivered as f64;
    assert!((0.8..1.25).contains(&share), "{share}");
}

/// Deck 003: nine connections to one node, 10 Gb/s, 225 KB, 2 Gb/s from 1 s to 2 s.
fn deck003(rtt: Span, pause: bool, qcn: bool) -> Finished {
    let hosts: Vec<String> = (0..10).map(|i| format!("n{i}")).collect();
    let mut names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    names.push("s");
    let mut net = Net::new(&names);
    let quarter = Span::from_ps(rtt.ps() / 4);
    for host in &hosts {
        net.link(host, "s", BitRate::gbps(10), quarter);
    }
    let hot = net.port("s->n0");
    net.plan.ports[hot].capacity = Some(Bytes::new(225_000));
    net.plan.ports[hot].watched = true;
    net.plan.ports[hot].recorded = true;
    for host in &hosts[1..] {
        let flow = connect(&mut net, host, "n0", connection(Flavour::Reno), None);
        net.plan.flows[flow].start_jitter = Span::from_us(100);
    }
    if pause {
        let s = net.node("s");
        net.plan.nodes[s].pause = Some(PausePlan {
            scope: PauseScope::Link,
            rule: PauseRule::Threshold { threshold: Bytes::new(120_000), quanta: 1875, stops: PauseTarget::Arriving },
            reaction: Span::ZERO,
        });
    }
    if qcn {
        net.plan.scheme = Config::find("qcn", None).unwrap();
    }
    let change =
        |ms, gbps| ServiceChange { at: Instant::ZERO + Span::from_ms(ms), port: hot, rate: BitRate::gbps(gbps) };
    net.plan.services = vec![change(1000, 2), change(2000, 10)];
    net.plan.record.queue_every = Span::from_us(100);
    net.plan.record.bin = Span::from_ms(10);
    net.plan.end = Instant::ZERO + Span::from_ms(3000);
    net.run()
}

#[test]
fn nine_connections_lose_frames_without_control_and_none_with_both() {
    let alone = deck003(Span::from_us(25), false, false);
    let timeouts = |done: &Finished| -> u64 { done.flows.iter().map(|flow| flow.tcp.unwrap().timeouts).sum() };
    assert!(alone.counters.frames_dropped > 100, "{:?}", alone.counters);
    assert!(timeouts(&alone) > 0);
    let both = deck003(Span::from_us(25), true, true);
    assert_eq!((both.counters.frames_dropped, timeouts(&both)), (0, 0));
    assert!(both.counters.pause_frames > 0 && both.counters.messages_sent > 0);
    // PAUSE alone loses less but not nothing: after 96 us all nine links start again at once.
    let pause = deck003(Span::from_us(25), true, false);
    assert!(pause.counters.frames_dropped < alone.counters.frames_dropped);
}
