//! What reaction points are told of pauses of their link and of packets that were cut.

use super::listener::Listener;
use super::net::Net;
use super::two_to_one;
use qcnlab_schemes::transport::{EventKind, EventKinds, TransportEvent};
use qcnlab_sim::roce::QpRecovery;
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
    let flow = net.flow(from, "c", 3, Traffic::Roce { config: queue_pair(QpRecovery::SelectiveRepeat), total });
    net.plan.flows[flow as usize].frame = Bytes::new(1048);
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
    let (port, switch) = (net.port("s->c") as usize, net.node("s") as usize);
    net.plan.ports[port].capacity = Some(Bytes::new(20 * 1048));
    net.plan.nodes[switch].trim = Some(TrimPlan { size: Bytes::new(64), class: 7 });
    let done = net.run();
    let heard = listener.heard();
    assert!(heard.iter().all(|(_, event)| *event == Heard::Trimmed(1000)));
    assert!(heard.len() as u64 == done.counters.packets_trimmed && heard.len() > 100);
}
