use super::*;
use crate::backpressure::{Held, QueuedFrame, QueuesNow, Upstream};
use crate::registry::Config;
use crate::roles::FlowId;
use crate::testing::{dice, us};
use proptest::prelude::*;

const HOP_RTT: Span = Span::from_us(2);
const UP: Upstream = Upstream { link: 4, queue: 7 };
const OTHER: Upstream = Upstream { link: 4, queue: 8 };

fn port(queues: u32) -> BfcPort {
    BfcPort::new(BfcCpParams { queues, ..CP_PYRRHA_NS3 }, 4)
}

fn frame(flow: u32, queue: u16, upstream: Upstream) -> QueuedFrame {
    QueuedFrame { flow: FlowId(flow), queue, upstream: Some(upstream), hop_rtt: HOP_RTT }
}

/// A queue of `len` octets, the frame included, at 10 Gb/s.
fn now(len: u64, active: u32) -> QueuesNow {
    QueuesNow { len: Bytes::new(len), active, rate: BitRate::gbps(10) }
}

fn held(tagged: bool, stops: bool) -> Held {
    Held { tagged, stops }
}

/// 10 Gb/s for 2 us are 2500 octets; of three active queues each may have 833, of none as much as of one.
#[test]
fn a_frame_is_tagged_in_a_queue_longer_than_its_share_of_a_hop() {
    let tagged = |threshold, hop_rtt, len, active| {
        let mut port = BfcPort::new(BfcCpParams { threshold, hop_rtt, ..CP_PYRRHA_NS3 }, 4);
        let queue = port.queue_for(us(0), FlowId(1), &mut dice());
        port.on_enqueue(&frame(1, queue, UP), now(len, active)).tagged
    };
    assert_eq!([2500, 2501].map(|len| tagged(1.0, None, len, 1)), [false, true]);
    assert_eq!([833, 834].map(|len| tagged(1.0, None, len, 3)), [false, true]);
    assert_eq!([2500, 2501].map(|len| tagged(1.0, None, len, 0)), [false, true]);
    assert_eq!([1250, 1251].map(|len| tagged(0.5, None, len, 1)), [false, true]);
    // 1 us is half of that, whatever the link; and of next to nothing an octet is left.
    assert_eq!([1250, 1251].map(|len| tagged(1.0, Some(Span::from_us(1)), len, 1)), [false, true]);
    assert_eq!([1, 2].map(|len| tagged(1e-6, None, len, 32)), [false, true]);
}

#[test]
fn the_first_tag_stops_and_the_last_lets_go_on() {
    let mut port = port(8);
    let queue = port.queue_for(us(0), FlowId(1), &mut dice());
    let of = |upstream| frame(1, queue, upstream);
    assert_eq!(port.on_enqueue(&of(UP), now(2000, 1)), held(false, false));
    assert_eq!(port.on_enqueue(&of(UP), now(3000, 1)), held(true, true));
    assert_eq!(port.on_enqueue(&of(UP), now(4000, 1)), held(true, false));
    // Each upstream queue has its own count, and what cannot be stopped has none.
    assert_eq!(port.on_enqueue(&of(OTHER), now(5000, 1)), held(true, true));
    assert_eq!(port.stopped(), [UP, OTHER]);
    assert_eq!(port.on_enqueue(&QueuedFrame { upstream: None, ..of(UP) }, now(6000, 1)), held(false, false));
    let leaves = [(UP, false), (UP, true), (UP, true), (OTHER, true)];
    let goes_on = leaves.map(|(upstream, tagged)| port.on_dequeue(us(5), &of(upstream), tagged));
    assert_eq!(goes_on, [false, false, true, true]);
    assert_eq!(port.stopped(), []);
    // It begins anew.
    assert_eq!(port.on_enqueue(&of(UP), now(3000, 1)), held(true, true));
}

#[test]
fn each_flow_has_a_queue_of_its_own_while_there_is_one() {
    let mut port = port(3);
    let queues: Vec<u16> = (0..3).map(|flow| port.queue_for(us(0), FlowId(flow), &mut dice())).collect();
    assert_eq!(queues, [0, 1, 2]);
    assert_eq!([2, 0, 1].map(|flow| port.queue_for(us(1), FlowId(flow), &mut dice())), [2, 0, 1]);
    // Then any is drawn, each as often as the others: of 3000 about 1000, standard deviation 26.
    let mut dice = dice();
    let mut drawn = [0u32; 3];
    for flow in 10..3010 {
        let mut port = port.clone();
        drawn[usize::from(port.queue_for(us(1), FlowId(flow), &mut dice))] += 1;
    }
    assert!(drawn.iter().all(|count| count.abs_diff(1000) < 110), "{drawn:?}");
}

/// A queue that is stopped from downstream would hold up a new flow: the next one is taken, if there is one.
#[test]
fn a_stopped_queue_is_not_an_unused_one() {
    let mut port = port(2);
    port.on_queue_pause(0, true);
    assert_eq!(port.queue_for(us(0), FlowId(1), &mut dice()), 1);
    port.on_queue_pause(0, false);
    assert_eq!(port.queue_for(us(0), FlowId(2), &mut dice()), 0);
}

/// Two hop round-trip times after 10 us end at 14 us: until then the flow keeps its queue.
#[test]
fn a_flow_keeps_its_queue_for_a_while() {
    let mut port = port(2);
    let enter = |port: &mut BfcPort, at, flow| {
        let queue = port.queue_for(us(at), FlowId(flow), &mut dice());
        let _ = port.on_enqueue(&frame(flow, queue, UP), now(100, 1));
        queue
    };
    assert_eq!([enter(&mut port, 0, 1), enter(&mut port, 0, 2)], [0, 1]);
    assert!(!port.on_dequeue(us(10), &frame(1, 0, UP), false));
    let mut later = port.clone();
    assert_eq!(enter(&mut port, 14, 1), 0);
    assert_eq!(port.queues[0].flows, 1);
    // After that another may have it. The second flow has frames, and keeps its own.
    assert_eq!(enter(&mut later, 15, 3), 0);
    assert_eq!((later.flows.len(), later.queues[0].flows, later.queues[1].flows), (2, 1, 1));
    // A flow that came back and left again at 20 us keeps it until 24, whatever was noted before.
    assert!(!port.on_dequeue(us(20), &frame(1, 0, UP), false));
    assert_eq!((enter(&mut port, 22, 1), port.queues[0].flows), (0, 1));
}

/// Half of a hop round-trip time of 3 us, whatever the link's is: after 10 us until 11.5 us.
#[test]
fn for_how_long_a_flow_keeps_its_queue_is_a_parameter() {
    let params = BfcCpParams { sticky: 0.5, hop_rtt: Some(Span::from_us(3)), ..CP_PYRRHA_NS3 };
    let kept = |ns| {
        let mut port = BfcPort::new(params, 4);
        let queue = port.queue_for(us(0), FlowId(1), &mut dice());
        let _ = port.on_enqueue(&frame(1, queue, UP), now(100, 1));
        assert!(!port.on_dequeue(us(10), &frame(1, queue, UP), false));
        port.queue_for(us(0) + Span::from_ns(ns), FlowId(2), &mut dice()) != queue
    };
    assert_eq!([11_500, 11_501].map(kept), [true, false]);
}

/// A table of three entries for each of two queues of each of four ports has 24, and one of a single entry at one port two:
/// of 1000 flows each entry gets some.
#[test]
fn flows_of_one_hash_are_one() {
    for (table, ports, entries) in [(3, 4, 24), (1, 1, 2)] {
        let params = BfcCpParams { queues: 2, table, ..CP_PYRRHA_NS3 };
        let mut port = BfcPort::new(params, ports);
        (0..1000).for_each(|flow| {
            let queue = port.queue_for(us(0), FlowId(flow), &mut dice());
            let _ = port.on_enqueue(&frame(flow, queue, UP), now(100, 1));
        });
        assert_eq!(port.flows.len(), entries);
        assert_eq!(port.flows.values().map(|entry| entry.frames).sum::<u32>(), 1000);
    }
}

#[test]
fn a_host_sends_at_line_rate_or_not_at_all() {
    let line = BitRate::gbps(100);
    let mut rp = Bfc::reaction_point(&BfcRpParams {}, line.into());
    let flight = Flight { acknowledged: Bytes::ZERO, sent: Bytes::ZERO, in_flight: Bytes::ZERO, early: Bytes::ZERO };
    let mut tell = |event| {
        rp.on_transport(us(1), &event, &flight, &mut dice());
        (rp.limit(), rp.gauge().current_rate)
    };
    assert_eq!(tell(TransportEvent::FlowPaused(true)), (Some(BitRate::ZERO), BitRate::ZERO));
    // A pause of the whole class is the link's.
    assert_eq!(tell(TransportEvent::Paused(false)), (Some(BitRate::ZERO), BitRate::ZERO));
    assert_eq!(tell(TransportEvent::FlowPaused(false)), (None, line));
}

#[test]
fn no_other_scheme_keeps_flows_apart() {
    for listing in crate::registry::catalogue() {
        let config = Config::find(listing.name, None).expect("listed means found");
        assert_eq!(config.backpressure_point(4).is_some(), listing.name == "bfc", "{}", listing.name);
    }
}

proptest! {
    /// Whatever comes and leaves: a queue upstream is told to stop and to go on in turn, it is stopped exactly while tagged
    /// frames of it wait, and a flow with frames keeps its queue.
    #[test]
    fn a_queue_is_stopped_while_tagged_frames_wait(
        steps in prop::collection::vec((any::<bool>(), 0..6u32, 0..3u32, 0..6000u64, 0..3000u64), 1..300),
        queues in 1..5u32,
    ) {
        let mut port = port(queues);
        let mut waiting: Vec<(QueuedFrame, bool)> = Vec::new();
        let mut stopped = [false; 3];
        let mut at = us(0);
        let mut dice = dice();
        for (enters, flow, up, len, ns) in steps {
            at += Span::from_ns(ns);
            let upstream = Upstream { link: 1, queue: up };
            if enters || waiting.is_empty() {
                let queue = port.queue_for(at, FlowId(flow), &mut dice);
                prop_assert!(u32::from(queue) < queues);
                let other = waiting.iter().find(|(frame, _)| frame.flow == FlowId(flow));
                prop_assert!(other.is_none_or(|(frame, _)| frame.queue == queue));
                let frame = QueuedFrame { flow: FlowId(flow), queue, upstream: Some(upstream), hop_rtt: HOP_RTT };
                let held = port.on_enqueue(&frame, now(len, 1));
                prop_assert_eq!(held.stops, held.tagged && !stopped[up as usize]);
                stopped[up as usize] |= held.stops;
                waiting.push((frame, held.tagged));
            } else {
                let (frame, tagged) = waiting.remove(len as usize % waiting.len());
                let up = frame.upstream.unwrap().queue;
                if port.on_dequeue(at, &frame, tagged) {
                    prop_assert!(stopped[up as usize]);
                    stopped[up as usize] = false;
                }
            }
            for (up, stopped) in (0..).zip(stopped) {
                let of_it = |(frame, tagged): &(QueuedFrame, bool)| *tagged && frame.upstream.unwrap().queue == up;
                prop_assert_eq!(stopped, waiting.iter().any(of_it));
            }
        }
    }
}
