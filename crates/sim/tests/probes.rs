//! Probes that travel as frames wait where the frames of their flow wait.

mod net;

use net::{Net, greedy};
use qcnlab_schemes::Signal;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::Feedback;
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Two saturated hosts and one link of 10 Gb/s out, under E2CM: a probe that was asked for while octets were queued
/// reaches its destination later by the time they take.
#[test]
fn a_probe_queues_behind_the_data_of_its_flow() {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
    }
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 0, greedy());
    let out = net.port("s->c");
    let port = &mut net.plan.ports[out];
    (port.watched, port.recorded, port.capacity) = (true, true, Some(Bytes::new(150_000)));
    net.plan.scheme = Config::find("e2cm", None).unwrap();
    net.plan.end = Instant::ZERO + Span::from_ms(20);
    net.plan.record.messages = true;
    net.plan.record.queue_every = Span::from_ns(100);
    let done = net.run();

    let (queues, messages) = (&done.trace.queues, &done.trace.messages);
    let mut behind = 0;
    for (at, signal) in messages.time.iter().zip(&messages.signal) {
        let Signal::Returned(probe) = signal else { continue };
        // It is at the switch 1 us after it left its host, where one frame (1.2 us) may go before it.
        let asked = probe.asked_at.ps();
        let rows = queues.time.partition_point(|time| *time < asked + 1_000_000)
            ..queues.time.partition_point(|time| *time <= asked + 2_400_000);
        let shortest = queues.bytes[rows].iter().copied().min().unwrap_or(0);
        // Two links of 1 us each, and 0.8 ns for each octet of the queue, less the frame that was being sent.
        let least = 2_000_000 + shortest.saturating_sub(1500) * 800;
        assert!(at - asked >= least, "a probe of {asked} ps took {} ps past {shortest} B", at - asked);
        behind += u32::from(shortest > 15_000);
    }
    assert!(behind > 10, "{behind} probes met a queue of more than ten frames");
}

/// Hosts that send to c through 1 Gb/s under FECN, whose probes reach it at once.
fn ideal_probes(hosts: &[&str]) -> Net {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
    }
    for host in hosts {
        net.flow(host, "c", 0, greedy());
    }
    let out = net.port("s->c");
    let port = &mut net.plan.ports[out];
    (port.rate, port.watched, port.capacity) = (BitRate::gbps(1), true, Some(Bytes::new(150_000)));
    net.plan.scheme = Config::find("fecn", None).unwrap();
    net.plan.feedback = Feedback::Ideal;
    net.plan.record.messages = true;
    net.plan.end = Instant::ZERO + Span::from_ms(20);
    net
}

/// Each probe comes back with the rate that the port offers on its way: as soon as it has found out, a share of 1 Gb/s and
/// less than the 10 Gb/s that a probe begins with. That holds for each flow.
#[test]
fn an_ideal_probe_meets_the_ports_of_its_path() {
    let done = ideal_probes(&["a", "b"]).run();
    let messages = &done.trace.messages;
    for flow in [0, 1] {
        let rows = (0..messages.time.len()).filter(|row| messages.flow[*row] == flow);
        let late = rows.filter(|row| messages.time[*row] > 10_000_000_000);
        let offered: Vec<BitRate> = late
            .map(|row| match messages.signal[row] {
                Signal::Returned(probe) => probe.rate,
                signal => panic!("{signal:?}"),
            })
            .collect();
        assert!(offered.len() >= 3 && offered.iter().all(|rate| *rate < BitRate::gbps(2)), "{flow}: {offered:?}");
    }
    assert_eq!(done.counters.probes_sent, done.counters.messages_sent);
    assert!(done.counters.messages_sent - done.counters.messages_heard <= 2, "{:?}", done.counters);
}

/// The answer needs the propagation of two links of 1 us there and back, 4 us.
#[test]
fn an_ideal_answer_takes_the_propagation_of_both_ways() {
    let mut net = ideal_probes(&["a"]);
    let asked = net.run().trace.messages.time[0];
    let mut heard = |after: Span| {
        net.plan.end = Instant::from_ps(asked) + after;
        net.run().counters.messages_heard
    };
    assert_eq!([heard(Span::from_us(4)), heard(Span::from_us(4) + Span::from_ps(1))], [0, 1]);
}
