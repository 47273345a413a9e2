//! What ports write on packets, and when: as a packet's transmission starts, of what stays in its queue then; and what they
//! see of departures.

use super::TEN;
use super::listener::Listener;
use super::net::{Net, greedy};
use qcnlab_schemes::transport::{EventKind, EventKinds, TransportEvent};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::Flavour;
use qcnlab_sim::testing::{connection, queue_pair};
use qcnlab_sim::{Events, PauseStorm, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};
use std::sync::Arc;

/// What a port wrote: when, ns, octets sent before, octets that stayed.
type Written = (f64, u64, u64);

fn read(_: Instant, event: &TransportEvent<'_>, written: &mut Vec<Written>) {
    let TransportEvent::Acknowledged(ack) = event else { unreachable!("it hears of nothing else") };
    written.extend(ack.hops.iter().map(|hop| (hop.left_at.ps() as f64 / 1e3, hop.sent.get(), hop.queue.get())));
}

/// a sends two packets of 1048 octets, b one 100 ns later. On their links a packet takes 838.4 ns, and 1 us of way: they
/// are at s at 1838.4, 1938.4 (b) and 2676.8 ns. Its link to c has 5 Gb/s: a packet takes 1676.8 ns.
fn three_packets() -> (Net, Listener<Written>) {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for (host, rate) in [("a", TEN), ("b", TEN), ("c", BitRate::gbps(5))] {
        net.link(host, "s", rate, Span::from_us(1));
    }
    for (host, packets, start) in [("a", 2, 0), ("b", 1, 100)] {
        let config = queue_pair(QpRecovery::SelectiveRepeat);
        let flow =
            net.flow(host, "c", 3, Traffic::Roce { config: config.into(), total: Some(Bytes::new(packets * 1000)) });
        let flow = &mut net.plan.flows[flow];
        (flow.frame, flow.start) = (Bytes::new(1048), Instant::ZERO + Span::from_ns(start));
    }
    let port = net.port("s->c");
    net.plan.ports[port].watched = true;
    net.plan.ports[port].capacity = Some(Bytes::new(100_000));
    let events = EventKinds::NONE.with(EventKind::Acknowledgement);
    let mut reader = Listener::new(events, read);
    reader.stamps = true;
    reader.listen(&mut net);
    (net, reader)
}

/// The first finds the port idle and starts at once. While it is sent both others come: b's starts at 3515.2 ns and leaves
/// the third behind, which starts at 5192 ns.
#[test]
fn telemetry_is_of_the_start_of_a_transmission() {
    let expected = [(1838.4, 0, 0), (3515.2, 1048, 1048), (5192.0, 2096, 0)];
    for events in [Events::WhereNeeded, Events::Everywhere] {
        let (mut net, reader) = three_packets();
        net.plan.events = events;
        net.run();
        assert_eq!(reader.heard(), expected, "{events:?}");
    }
}

/// c pauses the link from 1 us on for 5 us: XOFF takes effect at 2102.4 ns, when the first packet is being sent, and XON at
/// 7102.4. A pause frame takes 102.4 ns at 5 Gb/s. Then the second starts, and 1676.8 ns later the third.
#[test]
fn a_packet_that_waited_for_a_pause_has_the_telemetry_of_its_start() {
    let expected = [(1838.4, 0, 0), (7102.4, 1048, 1048), (8779.2, 2096, 0)];
    for events in [Events::WhereNeeded, Events::Everywhere] {
        let (mut net, reader) = three_packets();
        net.plan.events = events;
        let at = |us| Instant::ZERO + Span::from_us(us);
        net.plan.storms = vec![PauseStorm { port: net.port("c->s"), classes: 1 << 3, from: at(1), until: at(6) }];
        net.run();
        assert_eq!(reader.heard(), expected, "{events:?}");
    }
}

/// A plain frame of 1500 octets comes to s at 2200 ns, and takes 2400 ns from 5192 ns on, behind b's packet and before a's
/// second. Nothing is written on it, nor for it on the packets under way.
#[test]
fn nothing_is_written_on_plain_frames() {
    let expected = [(1838.4, 0, 0), (3515.2, 1048, 1500 + 1048), (7592.0, 2 * 1048 + 1500, 0)];
    for events in [Events::WhereNeeded, Events::Everywhere] {
        let (mut net, reader) = three_packets();
        net.plan.events = events;
        net.plan.nodes.push(qcnlab_sim::NodePlan { name: "d".to_owned(), ..Default::default() });
        net.link("d", "s", TEN, Span::from_us(1));
        net.flow("d", "c", 3, Traffic::Saturated { ceiling: None, total: Some(Bytes::new(1500)) });
        net.run();
        assert_eq!(reader.heard(), expected, "{events:?}");
    }
}

/// a at 10 Gb/s, s at 1 Gb/s to c: frame n, from 0, comes to s at 2.2 + 1.2 n us, and leaves it at 14.2 + 12 n us. By 14.2 us
/// 10 have come before (the next is due) and one has left; by 26.2 us 20 and two, by 38.2 us 30 and three.
#[test]
fn each_departure_is_seen_with_what_it_leaves_behind() {
    let expected = [(14_200_000, 9 * 1500), (26_200_000, 18 * 1500), (38_200_000, 27 * 1500)];
    for events in [Events::WhereNeeded, Events::Everywhere] {
        let mut net = Net::new(&["a", "c", "s"]);
        net.link("a", "s", TEN, Span::from_us(1));
        net.link("s", "c", BitRate::gbps(1), Span::from_us(1));
        net.flow("a", "c", 0, greedy());
        let port = net.port("s->c");
        net.plan.ports[port].watched = true;
        net.plan.end = Instant::ZERO + Span::from_us(40);
        net.plan.events = events;
        let mut watcher: Listener<()> = Listener::new(EventKinds::NONE, |_, _, _| ());
        // Ports that neither mark nor say anything need no congestion points.
        watcher.marks = true;
        let departures = Arc::default();
        watcher.departures = Some(Arc::clone(&departures));
        watcher.listen(&mut net);
        net.run();
        assert_eq!(*departures.lock().unwrap(), expected, "{events:?}");
    }
}

/// Three packets leave for c, and three acknowledgements for a and b. Ports may mark data as it leaves, and nothing else.
#[test]
fn data_alone_is_offered_for_a_mark() {
    for events in [Events::WhereNeeded, Events::Everywhere] {
        let (mut net, mut reader) = three_packets();
        for port in ["s->a", "s->b"] {
            let port = net.port(port);
            net.plan.ports[port].watched = true;
        }
        net.plan.events = events;
        let offered = Arc::default();
        (reader.stamps, reader.offered) = (false, Some(Arc::clone(&offered)));
        reader.listen(&mut net);
        assert_eq!(net.run().counters.acks_heard, 3);
        assert_eq!(*offered.lock().unwrap(), [true; 3], "{events:?}");
    }
}

/// A scheme that hears of no acknowledgements reads no telemetry: its ports write none, and TCP goes on as under one whose
/// ports would not.
#[test]
fn telemetry_that_nobody_reads_is_not_written() {
    let run = |stamps| {
        let mut net = super::two_to_one(Span::from_us(1));
        for host in ["a", "b"] {
            net.flow(host, "c", 3, Traffic::Tcp { config: connection(Flavour::NewReno).into(), total: None });
        }
        net.plan.flows.iter_mut().for_each(|flow| flow.frame = Bytes::new(1518));
        let port = net.port("s->c");
        net.plan.ports[port].watched = true;
        let mut scheme: Listener<()> = Listener::new(EventKinds::NONE, |_, _, _| ());
        (scheme.stamps, scheme.marks_discarded) = (stamps, true);
        scheme.listen(&mut net);
        net.run()
    };
    let (stamps, plain) = (run(true), run(false));
    assert!(stamps.counters.acks_heard > 1000, "{:?}", stamps.counters);
    assert!(stamps == plain, "the runs differ: {:?} and {:?}", stamps.counters, plain.counters);
}
