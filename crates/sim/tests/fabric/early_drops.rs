//! Thresholds of single queues: who is marked, who is dropped, and by which queue.

use super::net::{Net, greedy};
use super::two_to_one;
use qcnlab_schemes::parts::ecn::{MarkAt, RampParams};
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{FlowId, NodeId, WredPlan};
use qcnlab_units::{Bytes, Id, Span};

/// Nothing up to 30 KB, everything above.
fn step(classes: u8) -> WredPlan {
    let k = Bytes::new(30_000);
    WredPlan {
        classes,
        ramp: RampParams { k_min: k, k_max: k, p_max: 1.0, mark_at: MarkAt::Departure, thresholds_for: None },
    }
}

/// Class 3 under control, class 1 not.
fn two_classes(scheme: &str) -> (Net, FlowId, FlowId) {
    let mut net = two_to_one(Span::from_us(1));
    let three = net.flow("a", "c", 3, greedy());
    let one = net.flow("b", "c", 1, greedy());
    net.plan.flows[one].controlled = false;
    net.plan.scheme = Config::find(scheme, None).unwrap();
    let port = net.port("s->c");
    let port = &mut net.plan.ports[port];
    (port.watched, port.recorded, port.wred) = (true, true, vec![step(0b1010)]);
    (net, three, one)
}

/// Without a scheme nothing carries a mark. Class 3 has the link to itself, so its queue does not grow; class 1 waits
/// behind it: twenty frames of 1500 octets fit the 30 KB, the others are dropped.
#[test]
fn a_queue_keeps_to_its_own_threshold() {
    let (net, three, one) = two_classes("none");
    let done = net.run();
    assert_eq!(done.flows[three].dropped, 0);
    // 10 Gb/s bring 4166 frames in 5 ms, of which 20 wait and a few are on their way.
    let stays = done.flows[one].sent - done.flows[one].dropped - done.flows[one].delivered;
    assert!((20..24).contains(&stays), "{:?}", done.flows[one]);
    assert!(done.trace.queues.bytes.iter().all(|octets| *octets <= 30_000 + 3000));
}

/// DCQCN marks class 3 by the table's threshold instead of its own, and drops none of it; class 1 cannot carry a mark.
#[test]
fn frames_that_carry_marks_are_marked_instead() {
    let (mut net, three, one) = two_classes("dcqcn");
    net.plan.nodes[NodeId::new(3)].quanta = Some([0, 1500, 0, 1500, 0, 0, 0, 0].map(Bytes::new));
    let port = net.port("s->c");
    for mark_at in [MarkAt::Departure, MarkAt::Arrival] {
        net.plan.ports[port].wred[0].ramp.mark_at = mark_at;
        let done = net.run();
        assert_eq!(done.flows[three].dropped, 0, "{mark_at:?}");
        assert!(done.flows[one].dropped > 0 && done.counters.messages_sent > 0, "{mark_at:?}: {:?}", done.counters);
    }
    // A threshold that no queue reaches: nobody is marked and nobody is dropped.
    net.plan.ports[port].wred[0].ramp.k_min = Bytes::new(1 << 30);
    net.plan.ports[port].wred[0].ramp.k_max = Bytes::new(1 << 30);
    let free = net.run();
    assert_eq!((free.counters.frames_dropped, free.counters.messages_sent), (0, 0));
}

/// A table for class 3 alone leaves class 1 to its port.
#[test]
fn other_classes_are_left_alone() {
    let (mut net, _, one) = two_classes("none");
    let port = net.port("s->c");
    net.plan.ports[port].wred = vec![step(0b1000)];
    assert_eq!(net.run().flows[one].dropped, 0);
}

/// With both classes under a congestion control that marks nothing, what class 1's queue drops early is what its point
/// counts as discarded; class 3 loses nothing.
#[test]
fn what_is_dropped_early_is_discarded_at_its_point() {
    let (mut net, three, one) = two_classes("qcn");
    net.plan.flows[one].controlled = true;
    let port = net.port("s->c");
    let done = net.run();
    let discarded = |class| done.points.iter().find(|point| (point.port, point.class) == (port, Some(class)));
    let [of_three, of_one] = [3, 1].map(|class| discarded(class).unwrap().discarded);
    assert_eq!((of_three, of_one), (done.flows[three].dropped, done.flows[one].dropped));
    assert!(of_three == 0 && of_one > 1000, "{of_three} {of_one}");
}
