//! Ports that have priority queues, or change to them and back: what waits there, and when they change.

use super::*;
use crate::ids::QueuesId;
use crate::plan::{DomainPlan, DomainPort, TrimPlan};
use crate::priority_queues::{Addressed, PauseFrame};
use crate::watchdog::{WatchdogAction, WatchdogPlan};

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

/// An engine that has run up to `until`.
fn advanced(net: &Net, until: Instant) -> Engine {
    let mut engine = Engine::new(&net.plan);
    engine.advance(until, &mut |_| ()).unwrap();
    engine
}

fn port_id(net: &Net, name: &str) -> PortId {
    net.port(name)
}

fn input_id(engine: &Engine, net: &Net, name: &str) -> InputId {
    engine.network.port(port_id(net, name)).input().unwrap()
}

fn pause_frame(classes: u8, quanta: u16) -> PauseFrame {
    PauseFrame { classes, quanta, endless: false, storm: false, because: PortId::new(0), about: Addressed::Classes }
}

/// A pause takes effect at a port, as if it had just come over the link.
fn pause(engine: &mut Engine, now: Instant, queues: QueuesId, frame: PauseFrame) {
    let port = engine.network.port_of_queues(queues);
    assert!(engine.network.take_pause(now, port, frame));
    engine.accounts().settle(now);
}

/// Host a sends at 10 Gb/s to c, whose link takes 1 Gb/s: frame n, from 0, comes to s at 2.2 + 1.2 n us, and has left it at
/// 14.2 + 12 n us. The switch would pause a at 1 MB.
fn slow_output() -> Net {
    let mut net = one_to_one();
    port(&mut net, "s->c").rate = BitRate::gbps(1);
    net.pause("s", 2_000_000, 1_000_000, 500_000);
    net
}

fn is_fifo_now(engine: &Engine, port: PortId) -> bool {
    engine.network.port(port).fifo().is_some()
}

/// The port is busy with a frame from 2.2 to 14.2 us. Of the pause frames that wait for it, one for the same classes is
/// out of date; one for others is not.
#[test]
fn a_pause_frame_takes_the_place_of_one_for_the_same_classes() {
    let net = slow_output();
    let mut engine = advanced(&net, us(10));
    let port = port_id(&net, "s->c");
    for (classes, quanta) in [(1 << 3, 900), (1 << 5, 900), (1 << 3, 0)] {
        engine.network.sends_pause(us(10), port, pause_frame(classes, quanta), &mut engine.schedule);
    }
    let queues = engine.network.port(port).queues().unwrap();
    let waiting = &engine.network.queues(queues).pause_frames;
    let waiting: Vec<(u8, u16)> = waiting.iter().map(|frame| (frame.classes, frame.quanta)).collect();
    assert_eq!(waiting, [(1 << 5, 900), (1 << 3, 0)]);
}

/// At 20 us frames 0 to 14 have come and one has left: 14 move to the queue of their class. When they have left, at
/// 14.2 + 12 x 14 us, the port is first in, first out again, though 134 more have come.
#[test]
fn a_port_returns_when_as_many_frames_have_left_as_were_moved() {
    let net = slow_output();
    let mut engine = advanced(&net, us(20));
    let port = port_id(&net, "s->c");
    assert!(is_fifo_now(&engine, port));
    engine.network.changes_to_queues(us(20), port, &mut engine.schedule);
    let queues = engine.network.port(port).queues().unwrap();
    assert_eq!(engine.network.queues(queues).transmissions_due, 14);
    let last = Instant::ZERO + Span::from_ns(14_200 + 12_000 * 14);
    engine.advance(Instant::from_ps(last.ps() - 1), &mut |_| ()).unwrap();
    assert!(!is_fifo_now(&engine, port));
    engine.advance(last, &mut |_| ()).unwrap();
    assert!(is_fifo_now(&engine, port));
}

/// 100 quanta of 512 bits at 1 Gb/s are 51.2 us: paused at 1 us, the port goes on at 52.2 us, and is first in, first out
/// from then on. What has come until then begins to leave: frame 0 at 64.2 us.
#[test]
fn a_port_returns_at_the_end_of_its_pause() {
    let net = slow_output();
    let mut engine = advanced(&net, us(1));
    let port = port_id(&net, "s->c");
    engine.network.changes_to_queues(us(1), port, &mut engine.schedule);
    let queues = engine.network.port(port).queues().unwrap();
    pause(&mut engine, us(1), queues, pause_frame(u8::MAX, 100));
    let goes_on = Instant::ZERO + Span::from_ns(52_200);
    engine.advance(Instant::from_ps(goes_on.ps() - 1), &mut |_| ()).unwrap();
    assert!(!is_fifo_now(&engine, port));
    engine.advance(goes_on, &mut |_| ()).unwrap();
    assert!(is_fifo_now(&engine, port));
    engine.advance(Instant::ZERO + Span::from_ns(64_200), &mut |_| ()).unwrap();
    assert_eq!(engine.so_far().port_states()[port].sent, Bytes::new(1500));
}

/// Class 3 from a is class 2 in the switch, and goes before class 1 from b, which starts 0.6 us later. At 20 us 15 frames of
/// each have come, and one of a has left: 14 of a wait and 15 of b. A buffer counts them in the class of its link.
#[test]
fn what_an_output_holds_of_an_input_is_counted_in_the_classes_of_the_link() {
    let mut net = star(&["a", "b", "c"]);
    net.flow("a", "c", 3, greedy());
    let late = net.flow("b", "c", 1, greedy());
    net.plan.flows[late].start = Instant::ZERO + Span::from_ns(600);
    port(&mut net, "s->c").rate = BitRate::gbps(1);
    net.pause("s", 2_000_000, 1_000_000, 500_000);
    let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
    ports[net.port("a->s")].remaps = [0, 1, 2, 2, 4, 5, 6, 7];
    net.plan.domain =
        Some(DomainPlan { ports, untagged: [0, 1].map(|limiter| Some(LimiterId::new(limiter))).into_iter().collect() });
    let engine = advanced(&net, us(20));
    let (output, a, b) = (port_id(&net, "s->c"), input_id(&engine, &net, "a->s"), input_id(&engine, &net, "b->s"));
    for (input, classes, octets) in [
        (a, 1 << 3, 14 * 1500),
        (a, 1 << 2, 0),
        (a, 1 << 3 | 1 << 1, 14 * 1500),
        (a, u8::MAX, 14 * 1500),
        (b, 1 << 1, 15 * 1500),
        (b, 1 << 3 | 1 << 2, 0),
    ] {
        assert_eq!(engine.network.queued_from(output, input, classes), octets, "{input:?} {classes:#b}");
        assert_eq!(engine.network.recount_queued_from(output, input, classes), octets, "{input:?} {classes:#b}");
    }
    assert_eq!(Vec::from(engine.network.recount_by_input(output)), [14 * 1500, 15 * 1500]);
    assert_eq!(engine.network.counted_from(output, b, u8::MAX), Some(15 * 1500));
    assert_eq!(engine.network.counted_from(output, b, 1 << 1), None, "classes of the link are not those of the queues");
}

/// Of a recorded queue no frame is sent on demand. Its sender still has the link to itself, with the queues that keep the
/// state of its pauses, if nothing but its one class can be paused there: heads of packets have a class of their own.
#[test]
fn a_sender_has_a_link_of_one_class_to_itself() {
    let alone_or_queues = |trims: bool| {
        let mut net = star(&["a", "c"]);
        let config = testing::queue_pair(QpRecovery::SelectiveRepeat);
        net.flow("a", "c", 0, Traffic::Roce { config: config.into(), total: None });
        net.pause("s", 200_000, 30_000, 20_000);
        node(&mut net, "s").trim = trims.then_some(TrimPlan { size: Bytes::new(64), class: 7, share: 1000 });
        let engine = Engine::new(&net.plan);
        let port = engine.network.port(port_id(&net, "a->s"));
        let alone = port.sole_sender().is_some() && port.sender_on_demand().is_none() && port.queues().is_some();
        (alone, port.queues_in_use().is_some())
    };
    assert_eq!([false, true].map(alone_or_queues), [(true, false), (false, true)]);
}

/// Three links into a shared buffer of 90 000 octets, of which each may use an eighth of what is free. 9999 octets can be
/// admitted to one of them before it is there: 10 000 > (90 000 - 9999) / 8 >= 9999 + 1. Each link has a third of them.
#[test]
fn each_input_has_an_equal_part_of_what_a_shared_buffer_takes_uncounted() {
    let mut net = star(&["a", "b", "c"]);
    net.flow("a", "c", 0, greedy());
    let inputs = ["a->s", "b->s", "c->s"].map(|name| net.port(name));
    let alpha = Some(crate::shared_buffer::Alpha::two_to(-3));
    let input = |port| SharedInputPlan { port, headroom: Bytes::new(3000), alpha };
    node(&mut net, "s").shared_buffer = Some(SharedBufferPlan {
        shared: Bytes::new(90_000),
        reserve: Bytes::ZERO,
        headroom_pool: None,
        cell: Bytes::new(1),
        xon: Bytes::ZERO,
        xon_offset: Bytes::ZERO,
        inputs: inputs.map(input).to_vec(),
        queues: Vec::new(),
    });
    let rule = PauseRule::Dynamic { quanta: Some(u16::MAX) };
    node(&mut net, "s").pause = Some(PausePlan { scope: PauseScope::Link, rule, reaction: Span::ZERO });
    let engine = Engine::new(&net.plan);
    assert_eq!(inputs.map(|port| engine.network.port(port).allowance()), [3333; 3]);
    assert_eq!(engine.network.shared_room(net.node("s")), 9999);
}

/// 100 Mb/s are a frame each 120 us, the first at 0. A link that changes at 5 us has nothing to release then: what is next is
/// the next frame.
#[test]
fn a_link_that_changes_releases_nothing_where_no_frame_waits() {
    let mut net = one_to_one();
    net.plan.flows[FlowId::new(0)].traffic = Traffic::Constant { rate: BitRate::mbps(100) };
    net.plan.record.queue_every = Span::ZERO;
    port(&mut net, "a->s").recorded = true;
    let mut engine = advanced(&net, us(5));
    let flow = FlowId::new(0);
    assert!(engine.senders.outlet(flow) != Outlet::OnDemand);
    engine.hosts().link_changed(us(5), flow);
    let (at, next) = engine.schedule.next().unwrap();
    assert_eq!((at, engine.schedule.event(next)), (us(120), Event::SourceFrame(flow)));
}

/// Classes 3 and 1 of the port to c are paused at 41.6 us for 7000 quanta of 51.2 ns, until 400 us. The switch, which takes a
/// queue for stuck that is paused for 300 us and more, looks each 100 us: at 400 us the pause is over. One quantum more, and
/// both queues are stuck.
#[test]
fn a_watchdog_that_looks_at_the_end_of_a_pause_finds_none() {
    let storms = |quanta| {
        let mut net = star(&["a", "b", "c"]);
        net.flow("a", "c", 3, greedy());
        net.flow("b", "c", 1, greedy());
        let [detect, restore, poll] = [300, 300, 100].map(Span::from_us);
        node(&mut net, "s").watchdog = Some(WatchdogPlan { detect, restore, poll, action: WatchdogAction::Drop });
        let begins = Instant::ZERO + Span::from_ns(41_600);
        let mut engine = advanced(&net, begins);
        let queues = engine.network.port(port_id(&net, "s->c")).queues().unwrap();
        pause(&mut engine, begins, queues, pause_frame(1 << 3 | 1 << 1, quanta));
        engine.advance(us(401), &mut |_| ()).unwrap();
        engine.recording.counters().storms_detected
    };
    assert_eq!([7000, 7001].map(storms), [0, 2]);
}

/// A queue that is paused and has no frames waits for nothing, however long: its watchdog finds no storm. The flow that is to
/// be paused starts when all is over.
#[test]
fn a_watchdog_finds_nothing_about_an_empty_queue() {
    let mut net = star(&["a", "c"]);
    net.flow("a", "c", 3, greedy());
    net.plan.flows[FlowId::new(0)].start = us(900);
    let [detect, restore, poll] = [300, 300, 100].map(Span::from_us);
    node(&mut net, "s").watchdog = Some(WatchdogPlan { detect, restore, poll, action: WatchdogAction::Drop });
    let mut engine = advanced(&net, us(10));
    let queues = engine.network.port(port_id(&net, "s->c")).queues().unwrap();
    pause(&mut engine, us(10), queues, pause_frame(1 << 3, u16::MAX));
    engine.advance(us(800), &mut |_| ()).unwrap();
    assert_eq!(engine.recording.counters().storms_detected, 0);
    engine.advance(us(1010), &mut |_| ()).unwrap();
    assert_eq!(engine.recording.counters().storms_detected, 1, "frames wait from 902.2 us on");
}

/// A node counts each group that was sent XOFF once, refreshed or not, until it is sent XON; then its ports are first in,
/// first out again when what was moved has left.
#[test]
fn a_node_counts_the_groups_that_it_pauses() {
    let net = slow_output();
    let mut engine = advanced(&net, us(10));
    let s = net.node("s");
    let [a, c] = ["a->s", "c->s"].map(|name| input_id(&engine, &net, name));
    let paused = |engine: &Engine| engine.network.stopped_groups(s);
    for (input, count) in [(a, 1), (a, 1), (c, 2)] {
        engine.network.sends_xoff(us(10), input, &mut engine.schedule);
        assert_eq!(paused(&engine), count);
    }
    assert!(!is_fifo_now(&engine, port_id(&net, "s->c")));
    for (input, count) in [(c, 1), (c, 1), (a, 0)] {
        engine.network.sends_xon(us(10), input, &mut engine.schedule);
        assert_eq!(paused(&engine), count);
    }
    engine.advance(us(200), &mut |_| ()).unwrap();
    assert!(is_fifo_now(&engine, port_id(&net, "s->c")));
}

/// Two classes that take turns, paused until 52.4 us: at that instant one of them goes on. 1000 quanta of 512 bits at 10 Gb/s
/// are 51.2 us, from 1.2 us on.
#[test]
fn a_class_that_takes_turns_goes_on_at_the_end_of_its_pause() {
    let mut net = star(&["a", "b", "c"]);
    net.flow("a", "c", 3, greedy());
    net.flow("b", "c", 1, greedy());
    node(&mut net, "s").quanta = Some([0, 1500, 0, 1500, 0, 0, 0, 0].map(Bytes::new));
    let begins = Instant::ZERO + Span::from_ns(1200);
    let mut engine = advanced(&net, begins);
    let queues = engine.network.port(port_id(&net, "s->c")).queues().unwrap();
    pause(&mut engine, begins, queues, pause_frame(1 << 3 | 1 << 1, 1000));
    engine.advance(Instant::ZERO + Span::from_ns(52_399), &mut |_| ()).unwrap();
    assert!(engine.network.queues(queues).is_idle());
    engine.advance(Instant::ZERO + Span::from_ns(52_400), &mut |_| ()).unwrap();
    assert!(!engine.network.queues(queues).is_idle());
    assert_eq!(engine.network.queues(queues).ends, (Instant::ZERO + Span::from_ns(53_600)).ps());
}
