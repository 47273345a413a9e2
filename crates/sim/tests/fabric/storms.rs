//! Hosts that pause their links without end, and watchdogs that take paused queues for stuck.

use super::TEN;
use super::circles::ring;
use super::net::{Net, greedy};
use qcnlab_sim::{
    Control, Departure, Ending, Engine, Events, FlowId, FrameFacts, NodeId, PauseStorm, WatchdogAction, WatchdogPlan,
};
use qcnlab_units::{Id, Instant, Span};
use std::ops::ControlFlow;

/// a -> s -> c: frame k, from 0, is at s at 1.2 (k + 1) + 1 us. The host c pauses its link from 1 ms on: its pause frame
/// takes 51.2 ns and 1 us, so it works at 1001.0512 us, when frame 832 is in transmission.
fn paused_by_its_sink(until: u64, watchdog: Option<WatchdogAction>) -> Net {
    let mut net = Net::new(&["a", "s", "c"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "c", TEN, Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    let at = |us| Instant::ZERO + Span::from_us(us);
    net.plan.storms = vec![PauseStorm { port: net.port("c->s"), classes: u8::MAX, from: at(1000), until: at(until) }];
    let plan = |action| WatchdogPlan {
        detect: Span::from_us(300),
        restore: Span::from_us(200),
        poll: Span::from_us(100),
        action,
    };
    net.plan.nodes[NodeId::new(1)].watchdog = watchdog.map(plan);
    net
}

/// Until 2 ms: 833 frames before, and from 2001.0512 us on one each 1.2 us, 2498 of them before 5 ms. XOFF would go out
/// again after half of 3.355 ms.
#[test]
fn a_storm_stops_the_link_until_it_is_over() {
    let net = paused_by_its_sink(2000, None);
    let done = net.run();
    assert_eq!(
        (done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped, done.counters.pause_frames),
        (833 + 2498, 0, 2)
    );
    assert_eq!(done.counters.storm_frames, 2, "XOFF and XON of the storm are all that there are");
    let pauses = &done.trace.pauses;
    assert_eq!((pauses.start.clone(), pauses.end.clone()), (vec![1_001_051_200], vec![2_001_051_200]));
    assert_eq!(
        (pauses.port.clone(), pauses.because.clone()),
        (vec![net.port("s->c").number()], vec![net.port("c->s").number()])
    );
}

/// The same port between steps: before the pause works, in the middle of it, as it ends, and 1 ms later. At 1500 us 1249
/// frames have come and 833 gone, at 2001.0512 us 1666 have come. Then one goes each 1.2 us, 833 in 1 ms. What is due when a
/// step ends has not happened yet: neither has the end of the pause.
#[test]
fn between_steps_a_port_says_whether_and_how_long_it_was_paused() {
    let net = paused_by_its_sink(2000, None);
    let mut engine = Engine::new(&net.plan);
    let port = net.port("s->c");
    let mut after = |ps| {
        engine.advance(Instant::from_ps(ps), &mut |_| {}).unwrap();
        let state = engine.so_far().port_states()[port];
        (state.is_paused, state.paused.ps(), state.sent.get() / 1500, state.queue.get() / 1500)
    };
    let whole = 1_000_000_000;
    assert_eq!(after(0), (false, 0, 0, 0));
    assert_eq!(after(1_000_000_000), (false, 0, 831, 1));
    assert_eq!(after(1_500_000_000), (true, 498_948_800, 833, 416));
    assert_eq!(after(2_001_051_200), (true, whole, 833, 833));
    assert_eq!(after(2_001_051_300), (false, whole, 833, 833));
    let (is_paused, paused, sent, _) = after(3_001_051_300);
    assert_eq!((is_paused, paused, sent), (false, whole, 833 + 833));
}

/// A capture of the host's port has its two pause frames when their last octets leave, 51.2 ns after they begin.
#[test]
fn pause_frames_are_captured_as_they_leave() {
    let net = paused_by_its_sink(2000, None);
    let mut rows = Vec::new();
    let mut sink = |departure: &Departure| {
        if let FrameFacts::Pause { classes, quanta } = departure.frame {
            rows.push((departure.at.ps(), classes, quanta > 0));
        }
        ControlFlow::Continue(())
    };
    let port = net.port("c->s");
    Engine::run_captured(net.plan, &[port], &Control::default(), &mut |_| {}, &mut sink).unwrap();
    assert_eq!(rows, [(1_000_051_200, None, true), (2_000_051_200, None, false)]);
}

/// An XOFF holds for 65535 times 51.2 ns, and the next is due after half of that, 1677.696 us. A storm that ends at that
/// instant sends XON there, and not XOFF: the link is free when that is at s, 1.0512 us later.
#[test]
fn a_storm_is_over_at_its_last_instant() {
    let mut net = paused_by_its_sink(2000, None);
    net.plan.storms[0].until = net.plan.storms[0].from + Span::from_ns(1_677_696);
    let done = net.run();
    assert_eq!(done.counters.pause_frames, 2);
    assert_eq!(done.trace.pauses.end, [2_678_747_200]);
    // One nanosecond longer, and an XOFF goes out before the XON, whose 51.2 ns the link needs first.
    net.plan.storms[0].until += Span::from_ns(1);
    let done = net.run();
    assert_eq!((done.counters.pause_frames, done.trace.pauses.end), (3, vec![2_678_798_400]));
}

/// Until 3 ms, and the switch looks each 100 us: at 1400 us it finds a pause of more than 300 us, and drops frames 833 to
/// 1164, which wait. Up to 2748 come before 3300 us, when no pause has held for more than 200 us. From 2749 to 4162 they
/// arrive before 5 ms.
#[test]
fn a_watchdog_drops_what_a_storm_holds_up() {
    let done = paused_by_its_sink(3000, Some(WatchdogAction::Drop)).run();
    assert_eq!((done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped), (833 + 1414, 1916));
    assert_eq!((done.counters.storms_detected, done.counters.storms_ended), (1, 1));
    assert_eq!((done.counters.watchdog_drops, done.counters.link_drops), (1916, 0));
}

/// Or it sends from 1400 us on: one frame each 1.2 us, 2999 of them before 5 ms.
#[test]
fn a_watchdog_sends_what_a_storm_holds_up() {
    let done = paused_by_its_sink(3000, Some(WatchdogAction::Forward)).run();
    assert_eq!((done.flows[FlowId::new(0)].delivered, done.flows[FlowId::new(0)].dropped), (833 + 2999, 0));
    assert_eq!(done.counters.watchdog_drops, 0);
}

/// Sets up, for each switch of the ring, a watchdog that drops.
fn give_watchdogs(net: &mut Net, detect: Span) {
    let plan =
        WatchdogPlan { detect, restore: Span::from_us(100), poll: Span::from_us(50), action: WatchdogAction::Drop };
    for switch in ["s1", "s2", "s3"] {
        let node = net.node(switch);
        net.plan.nodes[node].watchdog = Some(plan);
    }
}

/// A circle of pauses ends the run, unless a watchdog breaks it: then traffic goes on, with losses, until the next.
#[test]
fn a_watchdog_breaks_a_circle_of_pauses() {
    let mut net = ring();
    net.plan.end = Instant::ZERO + Span::from_ms(5);
    let stuck = net.run();
    assert!(matches!(stuck.ending, Ending::Deadlock { .. }));
    give_watchdogs(&mut net, Span::from_us(200));
    let mut few = net.run();
    assert_eq!((few.ending.clone(), few.end), (Ending::Time, net.plan.end));
    assert!(few.counters.storms_detected > 0 && few.counters.frames_dropped > 0, "{:?}", few.counters);
    let delivered = |flows: &[qcnlab_sim::FlowTally]| flows.iter().map(|flow| flow.delivered).sum::<u64>();
    assert!(delivered(&few.flows) > 4 * delivered(&stuck.flows));
    net.plan.events = Events::Everywhere;
    let many = net.run();
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
}

/// The search for circles, each millisecond, leaves one to a watchdog that will see it after ten: the run goes on to its end.
#[test]
fn a_circle_is_left_to_a_slow_watchdog() {
    let mut net = ring();
    net.plan.end = Instant::ZERO + Span::from_us(3500);
    give_watchdogs(&mut net, Span::from_ms(10));
    let done = net.run();
    assert_eq!((done.ending, done.end, done.counters.storms_detected), (Ending::Time, net.plan.end, 0));
}
