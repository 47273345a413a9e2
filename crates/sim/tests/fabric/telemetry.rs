//! What ports write on packets, and when: as a packet's transmission starts, of what stays in its queue then.

use super::TEN;
use super::listener::Listener;
use super::net::Net;
use qcnlab_schemes::transport::{EventKind, EventKinds, TransportEvent};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{Events, PauseStorm, Traffic};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

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
        let flow = net.flow(host, "c", 3, Traffic::Roce { config, total: Some(Bytes::new(packets * 1000)) });
        let flow = &mut net.plan.flows[flow as usize];
        (flow.frame, flow.start) = (Bytes::new(1048), Instant::ZERO + Span::from_ns(start));
    }
    let port = net.port("s->c") as usize;
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
