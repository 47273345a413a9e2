//! Probes that travel as frames wait where the frames of their flow wait.

mod net;

use net::{Net, greedy};
use qcnlab_schemes::Signal;
use qcnlab_schemes::registry::Config;
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
    let port = &mut net.plan.ports[out as usize];
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
