//! An event for everything gives the run that events where they are needed give.

use super::TEN;
use super::net::{Net, greedy};
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{Events, FlowId, PausePlan, PauseRule, PauseScope, PauseTarget, Process, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

/// Long queues under PAUSE: whatever needs an event, the same pauses of the same links for the same reason.
#[test]
fn an_incast_pauses_the_same_links_with_every_event() {
    let hosts = ["a", "b", "d", "e", "f", "g"];
    let mut net = Net::new(&["a", "b", "d", "e", "f", "g", "c", "s"]);
    net.link("c", "s", TEN, Span::from_us(1));
    for host in hosts {
        net.link(host, "s", TEN, Span::from_us(1));
        net.flow(host, "c", 0, greedy());
    }
    net.pause("s", 100_000, 60_000, 50_000);
    let mut few = net.run();
    net.plan.events = Events::Everywhere;
    let many = net.run();
    // 10 Gb/s for 5 ms drain 6.25 MB. From one XOFF of an input to its next, 10 KB between the watermarks drain, the
    // 2.5 KB of a round trip of 2 us, and five frames at most: 20 KB. So there are 312 XOFF, of which the last of each
    // input may be under way, and as many XON.
    assert!(few.counters.pause_frames >= 2 * (312 - 6), "{:?}", few.counters);
    assert_eq!(few.counters.frames_dropped, 0);
    let output = net.port("s->c");
    assert!(few.trace.pauses.because.iter().all(|because| *because == output.number()));
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
}

/// The same run with an event for every release, end of transmission and arrival, in a fabric.
#[test]
fn more_events_change_nothing_in_a_fabric() {
    let mut net = Net::new(&["a", "b", "c", "d", "e", "f", "s", "t"]);
    for (from, to) in [("a", "s"), ("b", "s"), ("e", "s"), ("f", "t"), ("s", "t"), ("t", "c"), ("t", "d")] {
        net.link(from, to, TEN, Span::from_us(3));
    }
    for (from, to) in [("a", "c"), ("a", "d"), ("b", "c")] {
        net.flow(from, to, 0, greedy());
    }
    net.flow("e", "d", 0, Traffic::Constant { rate: BitRate::gbps(3) });
    net.flow("f", "e", 0, greedy());
    net.fed("b", "d", Process::Poisson { rate: BitRate::gbps(2) });
    let port = net.port("s->t");
    net.plan.ports[port].watched = true;
    net.plan.ports[port].recorded = true;
    net.plan.ports[port].capacity = Some(Bytes::new(150_000));
    net.plan.scheme = Config::find("qcn", None).unwrap();
    net.plan.record.messages = true;
    let mut few = net.run();
    net.plan.events = Events::Everywhere;
    let many = net.run();
    assert!(few.counters.messages_sent > 10 && many.counters.events > few.counters.events);
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ");
}

/// Frames of 1500 octets take 1.2 us at 10 Gb/s. Of a source that begins at 0 s over a link of 1 us, the first leaves the
/// switch at 1.2 + 1 + 1.2 = 3.4 us and the n-th at 3.4 + 1.2 (n - 1) us, so the third at 5.8 us. A run that ends then has
/// its octets in the bin that ends then, whether the switch computes departures or has an event for each, as it has
/// everywhere or while it may pause its links by a threshold; one that ends a picosecond before does not.
#[test]
fn a_transmission_that_ends_with_the_run_counts_with_and_without_an_event() {
    let octets = |end: Span, events, threshold| {
        let mut net = Net::new(&["a", "c", "s"]);
        for host in ["a", "c"] {
            net.link(host, "s", TEN, Span::from_us(1));
        }
        net.flow("a", "c", 0, greedy());
        if threshold {
            let s = net.node("s");
            let (threshold, stops) = (Bytes::new(1_000_000), PauseTarget::Arriving);
            let rule = PauseRule::Threshold { threshold, quanta: 1875, stops };
            net.plan.nodes[s].pause = Some(PausePlan { scope: PauseScope::Link, rule, reaction: Span::ZERO });
        }
        (net.plan.events, net.plan.end, net.plan.record.bin) = (events, Instant::ZERO + end, end);
        let done = net.run();
        let delivered = done.flows[FlowId::new(0)].delivered;
        assert_eq!(delivered, 2, "the third frame has not crossed the last link");
        done.trace.throughput.bytes.iter().sum::<u64>()
    };
    let end = Span::from_ns(5800);
    let cases = [Events::WhereNeeded, Events::Everywhere].map(|events| [(events, false), (events, true)]);
    for (events, threshold) in cases.into_iter().flatten() {
        assert_eq!(octets(end, events, threshold), 3 * 1500, "{events:?}");
        assert_eq!(octets(end - Span::from_ps(1), events, threshold), 2 * 1500, "{events:?}");
    }
}

/// Over a link of 3 us alone, frame n leaves at 1.2 n us, and its octets are in the bin of 2 us in which it left. By 12 us
/// seven have arrived, that of 8.4 us last; the three behind it left in time too.
#[test]
fn octets_count_in_the_bin_in_which_they_left_the_last_port() {
    for events in [Events::WhereNeeded, Events::Everywhere] {
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", TEN, Span::from_us(3));
        net.flow("a", "b", 0, greedy());
        (net.plan.events, net.plan.end) = (events, Instant::ZERO + Span::from_us(12));
        net.plan.record.bin = Span::from_us(2);
        let done = net.run();
        assert_eq!(done.flows[FlowId::new(0)].delivered, 7, "{events:?}");
        // 1.2 | 2.4, 3.6 | 4.8, 6.0 | 7.2 | 8.4, 9.6 | 10.8, 12.0 us.
        let frames: Vec<u64> = done.trace.throughput.bytes.iter().map(|bytes| bytes / 1500).collect();
        assert_eq!(frames, [1, 2, 2, 1, 2, 2], "{events:?}");
    }
}
