//! Frames that a node's memory discards: the congestion point of the queue that they were on their way to sees them.

use super::TEN;
use super::listener::Listener;
use super::net::{Net, greedy};
use qcnlab_schemes::transport::EventKinds;
use qcnlab_sim::FlowId;
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

/// Host a at 10 Gb/s into 4 Gb/s, and two frames of 1500 octets fit into the switch. Frame k, from 0, comes at 2.2 + 1.2 k
/// us, and one leaves at 5.2, 8.2 us and so on. So frames 0 and 1 find room, 2 does not, 3 takes the room of 0, and 4
/// finds none again.
fn slow() -> Net {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for (host, rate) in [("a", TEN), ("b", TEN), ("c", BitRate::gbps(4))] {
        net.link(host, "s", rate, Span::from_us(1));
    }
    let fast = net.port("c->s");
    net.plan.ports[fast].rate = TEN;
    net.flow("a", "c", 3, greedy());
    let out = net.port("s->c");
    net.plan.ports[out].watched = true;
    net.plan.end = Instant::from_ps(7_500_000);
    net
}

/// A scheme whose ports look at each frame.
fn watcher() -> Listener<()> {
    let mut listener = Listener::new(EventKinds::NONE, |_, _, _: &mut Vec<()>| ());
    listener.marks_discarded = true;
    listener
}

/// What the port to c is shown of the flow of a: when, in tenths of microseconds, whether it was admitted, and the queue.
fn shown(mut net: Net) -> Vec<(u64, bool, u64)> {
    let listener = watcher();
    listener.listen(&mut net);
    net.run();
    let of_a = listener.shown().into_iter().filter(|(_, flow, ..)| *flow == 0);
    of_a.map(|(at, _, admitted, queued)| (at.ps() / 100_000, admitted, queued)).collect()
}

const SEEN: [(u64, bool, u64); 5] =
    [(22, true, 1500), (34, true, 3000), (46, false, 3000), (58, true, 3000), (70, false, 3000)];

#[test]
fn a_full_memory_shows_what_it_discards() {
    let mut net = slow();
    let switch = net.node("s");
    net.plan.nodes[switch].input_memory = Some(Bytes::new(3000));
    assert_eq!(shown(net), SEEN);
}

/// As long as nothing is paused the same switch computes its departures.
#[test]
fn a_memory_far_from_its_watermarks_shows_what_it_discards() {
    let mut net = slow();
    net.pause("s", 3000, 100_000, 50_000);
    assert_eq!(shown(net), SEEN);
}

/// A frame of class 0 of another host comes at 2.7 us, and waits for those of class 3: it is in a queue of its own.
#[test]
fn a_discarded_frame_is_shown_with_the_queue_of_its_class() {
    let mut net = slow();
    let switch = net.node("s");
    net.plan.nodes[switch].input_memory = Some(Bytes::new(3000));
    let other = net.flow("b", "c", 0, greedy());
    net.plan.flows[other].start = Instant::from_ps(500_000);
    assert_eq!(shown(net), SEEN);
}

/// The memory of the host that they are for has room for none: no queue is before them.
#[test]
fn what_its_receiver_discards_is_shown_to_nobody() {
    let mut net = slow();
    let sink = net.node("c");
    net.plan.nodes[sink].input_memory = Some(Bytes::new(1000));
    net.plan.end = Instant::ZERO + Span::from_us(10);
    let listener = watcher();
    listener.listen(&mut net);
    let done = net.run();
    // They leave at 5.2 and 8.2 us and come to c 1 us later; seven have come to the switch, all with room.
    assert_eq!((done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped), (0, 2));
    assert_eq!(listener.shown().iter().map(|(_, _, admitted, _)| *admitted).collect::<Vec<_>>(), [true; 7]);
}
