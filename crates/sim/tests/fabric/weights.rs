//! Classes that take turns on a link, and strict ones that go before them.

use super::net::{Net, greedy};
use super::{TEN, two_to_one};
use qcnlab_sim::{PausePlan, PauseRule, PauseScope, Traffic};
use qcnlab_units::{BitRate, Bytes, Span};

/// A turn of 3000 octets for class 3 and of 1500 for class 1; the others are strict.
fn two_to_one_quanta() -> Option<[Bytes; 8]> {
    Some([0, 1500, 0, 3000, 0, 0, 0, 0].map(Bytes::new))
}

/// Two greedy hosts share the link by 2 to 1, whatever the sizes of their frames: of 5 ms less the 3.2 us of the way and
/// the first frame, 6.25 MB less 4000 octets, 4.164 and 2.082 MB, give or take a turn.
#[test]
fn classes_share_a_link_by_weight() {
    for (of_three, of_one) in [(1500, 1500), (1500, 300), (300, 1500)] {
        let mut net = two_to_one(Span::from_us(1));
        let three = net.flow("a", "c", 3, greedy());
        let one = net.flow("b", "c", 1, greedy());
        (net.plan.flows[three].frame, net.plan.flows[one].frame) = (Bytes::new(of_three), Bytes::new(of_one));
        let switch = net.node("s");
        net.plan.nodes[switch].quanta = two_to_one_quanta();
        let done = net.run();
        let octets = [three, one].map(|flow| done.flows[flow].delivered_bytes);
        assert!(octets[0].abs_diff(4_164_000) < 6000 && octets[1].abs_diff(2_082_000) < 6000, "{octets:?}");
    }
}

/// Class 6 has the largest turn and 1 of 10 Gb/s to send. What it leaves of its part goes to the others by their weights:
/// of 9 Gb/s, 5.625 MB in 5 ms, 3.75 and 1.875 MB. Where it has nothing to send, the run is as without it.
#[test]
fn what_a_class_leaves_goes_to_the_others_by_weight() {
    let run = |quanta: [u64; 8], of_six: Option<u64>| {
        let mut net = Net::new(&["a", "b", "d", "c", "s"]);
        for host in ["a", "b", "d", "c"] {
            net.link(host, "s", TEN, Span::from_us(1));
        }
        let three = net.flow("a", "c", 3, greedy());
        let one = net.flow("b", "c", 1, greedy());
        let rate = |gbps| Traffic::Constant { rate: BitRate::gbps(gbps) };
        let six = of_six.map(|gbps| net.flow("d", "c", 6, rate(gbps)));
        let switch = net.node("s");
        net.plan.nodes[switch].quanta = Some(quanta.map(Bytes::new));
        let done = net.run();
        let octets = [Some(three), Some(one), six].map(|flow| flow.map_or(0, |flow| done.flows[flow].delivered_bytes));
        (octets, done.counters)
    };
    let with_six = [0, 1500, 0, 3000, 0, 0, 12_000, 0];
    let (octets, _) = run(with_six, Some(1));
    for (is, by_hand) in octets.into_iter().zip([3_750_000, 1_875_000, 625_000]) {
        assert!(is.abs_diff(by_hand) < 8000, "{octets:?}");
    }
    assert_eq!(run(with_six, None), run([0, 1500, 0, 3000, 0, 0, 0, 0], None));
}

/// Class 5 is strict and takes 4 of 10 Gb/s; the others share 6 Gb/s: 3.75 MB in 5 ms, 2.5 and 1.25 MB. Without weights
/// class 1 would get nothing.
#[test]
fn strict_classes_go_before_those_that_take_turns() {
    let mut net = Net::new(&["a", "b", "d", "c", "s"]);
    for host in ["a", "b", "d", "c"] {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    let strict = net.flow("d", "c", 5, Traffic::Constant { rate: BitRate::gbps(4) });
    let three = net.flow("a", "c", 3, greedy());
    let one = net.flow("b", "c", 1, greedy());
    assert!(net.run().flows[one].delivered < 5);
    let switch = net.node("s");
    net.plan.nodes[switch].quanta = two_to_one_quanta();
    let done = net.run();
    for (flow, octets) in [(strict, 2_500_000), (three, 2_500_000), (one, 1_250_000)] {
        assert!(done.flows[flow].delivered_bytes.abs_diff(octets) < 8000, "{:?}", done.flows[flow]);
    }
}

/// The switch behind the link stops class 3, which leaves it at 1 Gb/s. Class 1 has the rest of the link: of 6.25 MB in
/// 5 ms all but 625 KB, and up to 100 KB that wait there.
#[test]
fn a_paused_class_leaves_the_link_to_the_others() {
    let mut net = Net::new(&["a", "b", "c", "d", "s", "t"]);
    for (from, to, rate) in [("a", "s", 10), ("b", "s", 10), ("s", "t", 10), ("t", "c", 1), ("t", "d", 10)] {
        net.link(from, to, BitRate::gbps(rate), Span::from_us(1));
    }
    let three = net.flow("a", "c", 3, greedy());
    let one = net.flow("b", "d", 1, greedy());
    let (s, t) = (net.node("s"), net.node("t"));
    net.plan.nodes[s].quanta = two_to_one_quanta();
    net.plan.nodes[t].input_memory = Some(Bytes::new(100_000));
    net.plan.nodes[t].pause = Some(PausePlan {
        scope: PauseScope::Classes(0b1000),
        rule: PauseRule::Watermarks { high: Bytes::new(60_000), low: Bytes::new(50_000), quanta: u16::MAX },
        reaction: Span::ZERO,
    });
    let done = net.run();
    assert_eq!(done.counters.frames_dropped, 0);
    let octets = [three, one].map(|flow| done.flows[flow].delivered_bytes);
    assert!(octets[0].abs_diff(625_000) < 6000, "{octets:?}");
    assert!((5_515_000..5_630_000).contains(&octets[1]), "{octets:?}");
}
