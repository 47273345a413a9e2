//! PAUSE and PFC, to the quantum: what stops, for how long, and what passes.

use super::net::{Net, greedy};
use super::{TEN, two_to_one};
use qcnlab_sim::{FlowId, PausePlan, PauseRule, PauseScope, PauseTarget, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

/// Pause by threshold and interval: 120 KB and 96 us as in deck 003.
#[test]
fn pauses_by_interval_last_to_the_quantum() {
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 0, greedy());
    let s = net.node("s");
    net.plan.nodes[s].pause = Some(PausePlan {
        scope: PauseScope::Link,
        rule: PauseRule::Threshold { threshold: Bytes::new(120_000), quanta: 1875, stops: PauseTarget::Arriving },
        reaction: Span::ZERO,
    });
    let done = net.run();
    let rows = &done.trace.pauses;
    assert!(rows.start.len() >= 4, "{rows:?}");
    assert_eq!(done.counters.frames_dropped, 0);
    for (row, (start, end)) in rows.start.iter().zip(&rows.end).enumerate() {
        assert_eq!(rows.because[row], net.port("s->c").number());
        // Refreshed or not, a stop that ran off lasted for 1875 quanta of 51.2 ns after the frame that asked last.
        assert!(end - start >= 96_000_000 || *end == net.plan.end.ps(), "{start}..{end}");
    }
    // Those that nobody asked for again last exactly that long.
    assert!(rows.start.iter().zip(&rows.end).any(|(start, end)| end - start == 96_000_000));
    // The first frame to find 120 KB stops both links; 64 octets and 1 us later it works. The queue grows by 10 Gb/s
    // net until then, and by what is on its way: 1 us each way, and the frame in transmission.
    assert!(done.flows[FlowId::new(0)].sent > 2000 && done.flows[FlowId::new(1)].sent > 2000);
}

#[test]
fn a_long_queue_stops_the_arriving_link_those_in_the_queue_or_all() {
    // a and b send 1500 B at 10 Gb/s each to d, which takes 10 Gb/s: 1.2 us a frame. c sends 100 Mb/s to e, through
    // another queue. 24 000 B are 16 frames: the queue grows by one frame each 1.2 us and gets there within 20 us. The
    // frame that finds them came from a or b; the next frame of the other finds them as well, 1.2 us later at most. c's
    // link is idle then: its frames are 120 us apart, from time zero on. d and e send nothing.
    for (stops, within_a_frame, links) in [
        (PauseTarget::Arriving, false, vec!["a->s", "b->s"]),
        (PauseTarget::Queued, true, vec!["a->s", "b->s"]),
        (PauseTarget::All, true, vec!["a->s", "b->s", "c->s"]),
    ] {
        let mut net = Net::new(&["a", "b", "c", "d", "e", "s"]);
        for host in ["a", "b", "c", "d", "e"] {
            net.link(host, "s", TEN, Span::ZERO);
        }
        net.flow("a", "d", 0, greedy());
        let late = net.flow("b", "d", 0, greedy());
        net.plan.flows[late].start = Instant::ZERO + Span::from_ns(600);
        net.flow("c", "e", 0, Traffic::Constant { rate: BitRate::mbps(100) });
        let s = net.node("s");
        net.plan.nodes[s].pause = Some(PausePlan {
            scope: PauseScope::Link,
            rule: PauseRule::Threshold { threshold: Bytes::new(24_000), quanta: 1875, stops },
            reaction: Span::ZERO,
        });
        net.plan.end = Instant::ZERO + Span::from_us(100);
        let done = net.run();
        let rows = &done.trace.pauses;
        let mut stopped: Vec<u32> = rows.port.clone();
        stopped.sort_unstable();
        stopped.dedup();
        let mut expected: Vec<u32> = links.iter().map(|link| net.port(link).number()).collect();
        expected.sort_unstable();
        assert_eq!(stopped, expected, "{stops:?}");
        // The second link is stopped with the first, or by its own next frame, 0.6 us later.
        let first = |link: &str| {
            let port = net.port(link);
            (0..rows.port.len())
                .filter(|row| rows.port[*row] == port.number())
                .map(|row| rows.start[row])
                .min()
                .expect("stopped")
        };
        let apart = first("a->s").abs_diff(first("b->s"));
        assert_eq!(apart < 600_000, within_a_frame, "{stops:?}: {apart}");
    }
}

/// One host at 10 Gb/s into 1 Gb/s: frame k, from 0, is at s at 2.2 + 1.2 k us, and frame 0 leaves it at 14.2 us. Frame 4 is
/// the fifth of 1500 octets: the pause is sent at 7 us and works 51.2 ns and 1 us later.
#[test]
fn a_queue_of_just_the_threshold_is_long() {
    let mut net = Net::new(&["a", "b", "s"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "b", BitRate::gbps(1), Span::ZERO);
    net.flow("a", "b", 0, greedy());
    let s = net.node("s");
    net.plan.nodes[s].pause = Some(PausePlan {
        scope: PauseScope::Link,
        rule: PauseRule::Threshold { threshold: Bytes::new(7500), quanta: 1875, stops: PauseTarget::Arriving },
        reaction: Span::ZERO,
    });
    assert_eq!(net.run().trace.pauses.start[0], 8_051_200);
    // Of an octet more frame 5 is the first.
    if let Some(PausePlan { rule: PauseRule::Threshold { threshold, .. }, .. }) = &mut net.plan.nodes[s].pause {
        *threshold = Bytes::new(7501);
    }
    assert_eq!(net.run().trace.pauses.start[0], 9_251_200);
}

#[test]
fn a_link_that_was_stopped_while_idle_goes_on_when_the_pause_runs_off() {
    // A slow sender, alone on its link, that two fast ones get stopped again and again, and then no more.
    let mut net = Net::new(&["a", "b", "c", "d", "s"]);
    for host in ["a", "b", "c", "d"] {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    let slow = net.flow("a", "d", 0, Traffic::Constant { rate: BitRate::mbps(100) });
    for (host, rate) in [("b", 9000), ("c", 3000)] {
        let fast = net.flow(host, "d", 0, Traffic::Constant { rate: BitRate::mbps(rate) });
        net.plan.flows[fast].stop = Instant::ZERO + Span::from_us(9_790);
    }
    let s = net.node("s");
    net.plan.nodes[s].pause = Some(PausePlan {
        scope: PauseScope::Link,
        rule: PauseRule::Threshold { threshold: Bytes::new(30_000), quanta: 1875, stops: PauseTarget::Arriving },
        reaction: Span::ZERO,
    });
    net.plan.end = Instant::ZERO + Span::from_ms(50);
    let done = net.run();
    let stopped = net.port("a->s");
    let stops = done.trace.pauses.port.iter().filter(|port| **port == stopped.number()).count();
    assert!(stops > 0, "{stops}");
    // 100 Mb/s for 50 ms are 416 frames; no stop lasts longer than 96 us at a time, less than one frame's distance.
    assert!(done.flows[slow].delivered >= 412, "{:?}", done.flows[slow]);
}

#[test]
fn a_stop_works_after_the_frame_in_transmission() {
    // One host at 10 Gb/s into 1 Gb/s, 2 us away. Frame n comes to s at 2 + 1.2 n us. With 15 000 B as the high
    // watermark the eleventh frame held stops the link.
    let mut net = Net::new(&["a", "s", "b"]);
    net.link("a", "s", TEN, Span::from_us(2));
    net.link("s", "b", BitRate::gbps(1), Span::ZERO);
    net.flow("a", "b", 0, greedy());
    net.pause("s", 60_000, 15_000, 6_000);
    let done = net.run();
    // Frame 12 is there at 16.4 us (frame 1 left at 3.2 + 12 = 15.2 us, so 11 are held): 16.4 + 0.0512 + 2 us.
    assert_eq!(done.trace.pauses.start[0], 18_451_200);
    assert_eq!(done.trace.pauses.port[0], net.port("a->s").number());
    assert_eq!(done.counters.frames_dropped, 0);
    // Goodput is that of the slow link: frame n is complete at 3.2 + 12 n us.
    assert_eq!(done.flows[FlowId::new(0)].delivered, 416);
    // A host that takes 300 ns to stop is stopped so much later.
    let s = net.node("s");
    net.plan.nodes[s].pause.as_mut().unwrap().reaction = Span::from_ns(300);
    assert_eq!(net.run().trace.pauses.start[0], 18_751_200);
}

#[test]
fn pfc_stops_one_class_and_lets_the_other_pass() {
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 3, greedy());
    net.flow("b", "c", 3, greedy());
    // Class 0 has room of its own on the same links.
    let victim = net.flow("a", "b", 0, Traffic::Constant { rate: BitRate::gbps(1) });
    net.pause("s", 200_000, 30_000, 20_000);
    let s = net.node("s");
    net.plan.nodes[s].pause.as_mut().unwrap().scope = PauseScope::Classes(1 << 3);
    let done = net.run();
    assert!(done.trace.pauses.class.iter().all(|class| *class == Some(3)) && !done.trace.pauses.class.is_empty());
    assert_eq!(done.counters.frames_dropped, 0);
    // 1 Gb/s for 5 ms less 3.2 us of way: 416 frames.
    assert!(done.flows[victim].delivered >= 415, "{:?}", done.flows[victim]);
    net.plan.nodes[s].pause.as_mut().unwrap().scope = PauseScope::Link;
    let done = net.run();
    assert!(done.flows[victim].delivered < 415, "{:?}", done.flows[victim]);
    // A pause of the whole link is one row, of no class, however many classes it stops.
    let rows = &done.trace.pauses;
    assert!(rows.class.iter().all(Option::is_none));
    let mut pauses: Vec<_> = rows.port.iter().zip(&rows.start).collect();
    pauses.sort_unstable();
    assert!(pauses.windows(2).all(|pair| pair[0] != pair[1]), "{pauses:?}");
}

/// 20 frames come to s by 26.2 us; t, whose link to c takes 1 Gb/s, has the link from s paused for 1875 quanta, 96 us, by
/// each frame that finds 6000 octets queued and no more than half of that left. Nothing resumes the link and nothing more
/// comes to s: it goes on when the 96 us are over, and all arrive.
#[test]
fn a_switch_goes_on_by_itself_when_a_pause_runs_off() {
    let mut net = Net::new(&["a", "s", "t", "c"]);
    for (from, to, rate) in [("a", "s", TEN), ("s", "t", TEN), ("t", "c", BitRate::gbps(1))] {
        net.link(from, to, rate, Span::from_us(1));
    }
    net.flow("a", "c", 0, Traffic::Saturated { ceiling: None, total: Some(Bytes::new(20 * 1500)) });
    let t = net.node("t");
    net.plan.nodes[t].pause = Some(PausePlan {
        scope: PauseScope::Link,
        rule: PauseRule::Threshold { threshold: Bytes::new(6000), quanta: 1875, stops: PauseTarget::Arriving },
        reaction: Span::ZERO,
    });
    let done = net.run();
    assert_eq!(done.flows[FlowId::new(0)].delivered, 20);
    // Frame n, from 0, comes to t at 4.4 + 1.2 n us, and the first leaves at 16.4: the fourth finds 6000 octets at 8.0 us,
    // and the pause frame takes 51.2 ns and 1 us.
    let rows = &done.trace.pauses;
    assert_eq!((rows.start[0], rows.end[0]), (9_051_200, 105_051_200));
    assert_eq!(rows.port[0], net.port("s->t").number());
}
