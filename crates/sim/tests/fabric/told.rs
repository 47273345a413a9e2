//! What reaction points are told of pauses of their link, of packets that were cut, and of marks.

use super::listener::Listener;
use super::net::Net;
use super::{TEN, two_to_one};
use qcnlab_schemes::transport::{EventKind, EventKinds, LossSign, TransportEvent};
use qcnlab_sim::roce::{QpConfig, QpRecovery};
use qcnlab_sim::testing::queue_pair;
use qcnlab_sim::{PauseStorm, Traffic, TrimPlan};
use qcnlab_units::{Bytes, Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Heard {
    Paused(bool),
    Trimmed(u64),
}

fn hear(now: Instant, event: &TransportEvent<'_>, heard: &mut Vec<(u64, Heard)>) {
    let what = match event {
        TransportEvent::Paused(paused) => Heard::Paused(*paused),
        TransportEvent::Trimmed(octets) => Heard::Trimmed(octets.get()),
        _ => unreachable!("it hears of nothing else"),
    };
    heard.push((now.ps(), what));
}

/// Two senders of messages, and a scheme that hears of cuts and pauses.
fn two_messages() -> (Net, Listener<(u64, Heard)>) {
    let mut net = two_to_one(Span::from_us(1));
    message(&mut net, "a");
    message(&mut net, "b");
    let listener = Listener::new(EventKinds::NONE.with(EventKind::Trim).with(EventKind::Pause), hear);
    listener.listen(&mut net);
    (net, listener)
}

fn message(net: &mut Net, from: &str) {
    let total = Some(Bytes::new(1_000_000));
    let flow = net.flow(from, "c", 3, Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat).into(), total });
    net.plan.flows[flow].frame = Bytes::new(1048);
}

/// The switch pauses class 3 of the link of a from 100 to 200 us: its frames take 51.2 ns and 1 us. It pauses another class
/// of the link of b, and neither of b's two messages hears anything.
#[test]
fn a_paused_link_is_told_of() {
    let (mut net, listener) = two_messages();
    message(&mut net, "b");
    let at = |us| Instant::ZERO + Span::from_us(us);
    let storm = |port, class: u8| PauseStorm { port, classes: 1 << class, from: at(100), until: at(200) };
    net.plan.storms = vec![storm(net.port("s->a"), 3), storm(net.port("s->b"), 5)];
    net.run();
    let heard = [(101_051_200, Heard::Paused(true)), (201_051_200, Heard::Paused(false))];
    assert_eq!(listener.heard(), heard);
}

/// Each packet that was cut is told of once, with its 1000 octets of payload.
#[test]
fn each_cut_is_told_of() {
    let (mut net, listener) = two_messages();
    let (port, switch) = (net.port("s->c"), net.node("s"));
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
    net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class: 7, share: 1000 });
    let done = net.run();
    let heard = listener.heard();
    assert!(heard.iter().all(|(_, event)| *event == Heard::Trimmed(1000)));
    assert!(heard.len() as u64 == done.counters.packets_trimmed && heard.len() > 100);
}

/// Ten packets that are all marked, with an acknowledgement for four: it tells of four marks, and the last of two.
#[test]
fn each_mark_of_an_acknowledgement_is_told_of() {
    fn hear(_: Instant, event: &TransportEvent<'_>, heard: &mut Vec<(u32, u32)>) {
        if let TransportEvent::Acknowledged(ack) = event {
            heard.push((ack.packets, ack.marked));
        }
    }
    let mut net = two_to_one(Span::from_us(1));
    let config = QpConfig { ack_every: 4, ..queue_pair(QpRecovery::GoBackN) };
    let flow = net.flow("a", "c", 3, Traffic::Roce { config: config.into(), total: Some(Bytes::new(10_000)) });
    net.plan.flows[flow].frame = Bytes::new(1048);
    let port = net.port("s->c");
    net.plan.ports[port].watched = true;
    let mut listener = Listener::new(EventKinds::NONE.with(EventKind::Acknowledgement), hear);
    listener.marks = true;
    listener.listen(&mut net);
    net.run();
    assert_eq!(listener.heard(), [(4, 4), (4, 4), (2, 2)]);
}

/// A reaction point that permits a packet each 5 us: the third of three starts at 10 us and takes 838.4 ns and 1 us over each
/// of two links. Without a gap it starts at 1676.8 ns.
#[test]
fn packets_keep_the_gap_that_is_permitted() {
    let received = |gap: Span| {
        let mut net = two_to_one(Span::from_us(1));
        let config = queue_pair(QpRecovery::GoBackN);
        let flow = net.flow("a", "c", 3, Traffic::Roce { config: config.into(), total: Some(Bytes::new(3000)) });
        net.plan.flows[flow].frame = Bytes::new(1048);
        let mut listener: Listener<()> = Listener::new(EventKinds::NONE, |_, _, _| ());
        listener.gap = gap;
        listener.listen(&mut net);
        net.run().flows[flow].roce.unwrap().received.ps()
    };
    assert_eq!(received(Span::ZERO), 1_676_800 + 2 * 1_838_400);
    assert_eq!(received(Span::from_us(5)), 10_000_000 + 2 * 1_838_400);
}

/// A timeout of 320 us is told of, each time; a timer that was set anew since it was set is not. A million octets take
/// 838.4 us, so that two times come to which it was set at first. One packet for a queue without room for it is sent at 0,
/// 320, 640 and 960 us.
#[test]
fn timeouts_are_told_of_and_nothing_else() {
    fn hear(now: Instant, event: &TransportEvent<'_>, heard: &mut Vec<u64>) {
        assert!(matches!(event, TransportEvent::Lost(LossSign::Timeout)), "{event:?}");
        heard.push(now.ps() / 1_000_000);
    }
    let timeouts = |octets: u64, capacity: u64| {
        let mut net = two_to_one(Span::from_us(1));
        let config = queue_pair(QpRecovery::GoBackN);
        let flow = net.flow("a", "c", 3, Traffic::Roce { config: config.into(), total: Some(Bytes::new(octets)) });
        net.plan.flows[flow].frame = Bytes::new(1048);
        let port = net.port("s->c");
        net.plan.ports[port].capacity = Some(Bytes::new(capacity));
        net.plan.end = Instant::ZERO + Span::from_us(1000);
        let listener = Listener::new(EventKinds::NONE.with(EventKind::Loss), hear);
        listener.listen(&mut net);
        net.run();
        listener.heard()
    };
    assert_eq!(timeouts(1_000_000, 100_000), []);
    assert_eq!(timeouts(1000, 1047), [320, 640, 960]);
}

/// A packet that was cut is answered too, but no packet has arrived: acknowledgements tell of those alone, of each once.
#[test]
fn an_acknowledgement_tells_of_packets_that_arrived() {
    fn hear(_: Instant, event: &TransportEvent<'_>, heard: &mut Vec<u32>) {
        if let TransportEvent::Acknowledged(ack) = event {
            heard.push(ack.packets);
        }
    }
    let mut net = two_to_one(Span::from_us(1));
    message(&mut net, "a");
    message(&mut net, "b");
    let (port, switch) = (net.port("s->c"), net.node("s"));
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
    net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class: 7, share: 1000 });
    let listener = Listener::new(EventKinds::ACKNOWLEDGEMENTS, hear);
    listener.listen(&mut net);
    let done = net.run();
    let heard = listener.heard();
    assert!(done.counters.packets_trimmed > 100 && heard.iter().all(|packets| *packets > 0), "{:?}", done.counters);
    assert_eq!(u64::from(heard.iter().sum::<u32>()), done.counters.frames_delivered);
}

/// Packets take two ways in turn, of which one takes 5 us longer, and nothing is lost. A sender that takes what one packet
/// overtakes for lost tells of it; with a threshold of 20 packets, as many as 16.8 us, it tells nothing. With a wait of 1 us
/// it tells of gaps as their times are over, with one of 20 us of none.
#[test]
fn a_packet_that_comes_early_is_no_sign_of_loss() {
    fn hear(_: Instant, event: &TransportEvent<'_>, heard: &mut Vec<&'static str>) {
        match event {
            TransportEvent::NegativelyAcknowledged => heard.push("answer"),
            TransportEvent::Lost(LossSign::Gap) => heard.push("gap"),
            event => panic!("{event:?}"),
        }
    }
    let heard = |reordering_threshold: u32, wait: u64| {
        let mut net = Net::new(&["a", "s", "m", "n", "t", "b"]);
        for (from, to, delay) in
            [("a", "s", 1), ("s", "m", 1), ("s", "n", 6), ("m", "t", 1), ("n", "t", 1), ("t", "b", 1)]
        {
            net.link(from, to, TEN, Span::from_us(delay));
        }
        let reordering_window = Span::from_us(wait);
        let config = QpConfig { reordering_threshold, reordering_window, ..queue_pair(QpRecovery::SelectiveRepeat) };
        let flow = net.flow("a", "b", 3, Traffic::Roce { config: config.into(), total: Some(Bytes::new(100_000)) });
        net.plan.flows[flow].frame = Bytes::new(1048);
        let ways = ["m", "n"].map(|by| {
            ["a->s", &format!("s->{by}"), &format!("{by}->t"), "t->b"].iter().map(|port| net.port(port)).collect()
        });
        net.plan.flows[flow].paths = ways.to_vec().into();
        net.plan.path_choice = qcnlab_sim::PathChoice::RoundRobin;
        let kinds = EventKinds::NONE.with(EventKind::Loss).with(EventKind::NegativeAcknowledgement);
        let listener = Listener::new(kinds, hear);
        listener.listen(&mut net);
        let roce = net.run().flows[flow].roce.unwrap();
        assert_eq!(roce.acknowledged_bytes, 100_000);
        let heard = listener.heard();
        assert_eq!(roce.spurious == 0, heard.is_empty(), "{roce:?}");
        (heard.len().min(10), heard.first().copied())
    };
    assert_eq!(heard(1, 0), (10, Some("answer")));
    assert_eq!([heard(20, 0), heard(1, 20)], [(0, None); 2]);
    let (times, first) = heard(1, 1);
    assert!(times > 3 && first.is_some(), "{times} {first:?}");
}
