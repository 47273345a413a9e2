//! Whole runs of fabrics: closed forms, lossless classes, circles of pauses, adapters.

mod net;

use net::{Net, greedy};
use proptest::prelude::*;
use qcnlab_schemes::registry::Config;
use qcnlab_sim::{
    Ending, Events, Feedback, FlowTally, GeneratorPlan, PausePlan, PauseRule, PauseScope, PauseTarget, Process,
    ServiceChange, Traffic,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

const TEN: BitRate = BitRate::gbps(10);

/// Two hosts that send to a third through one switch.
fn two_to_one(delay: Span) -> Net {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", TEN, delay);
    }
    net
}

/// Poisson frames of one size into a link: the queue of M/D/1.
#[test]
fn the_queue_of_m_d_1_has_the_mean_of_the_formula() {
    for load in [50, 70, 80, 90, 95] {
        let mut net = Net::new(&["a", "s", "c"]);
        net.link("a", "s", BitRate::gbps(10_000), Span::ZERO);
        net.link("s", "c", TEN, Span::ZERO);
        net.fed("a", "c", Process::Poisson { rate: BitRate::mbps(100 * load) });
        let port = net.port("s->c") as usize;
        net.plan.ports[port].recorded = true;
        // The more load, the longer the memory of the queue: 1 / (1 - load)^2 service times.
        let seconds = if load < 90 { 2 } else { 20 };
        net.plan.end = Instant::ZERO + Span::from_ms(1000 * seconds);
        net.plan.record.queue_every = Span::from_us(7);
        let done = net.run();
        let rows = &done.trace.queues.bytes;
        let mean = rows.iter().sum::<u64>() as f64 / rows.len() as f64;
        // Waiting takes rho / (2 (1 - rho)) service times; a frame stays for one more; by Little's law
        // the frames there are rho (rho / (2 (1 - rho)) + 1). Frames from one link come at least 1.2 ns
        // apart, which is a thousandth of a service time.
        let rho = load as f64 / 100.0;
        let expected = 1500.0 * rho * (rho / (2.0 * (1.0 - rho)) + 1.0);
        assert!((mean / expected - 1.0).abs() < 0.02, "load {rho}: {mean} B, by the formula {expected} B");
    }
}

#[test]
fn memory_is_per_input_and_shared_by_outputs() {
    // a sends at 10 Gb/s to c and d, whose links carry 1 Gb/s each; b sends little to c. Only a's partition fills.
    let mut net = Net::new(&["a", "b", "c", "d", "s"]);
    for (host, rate) in [("a", TEN), ("b", TEN), ("c", BitRate::gbps(1)), ("d", BitRate::gbps(1))] {
        net.link(host, "s", rate, Span::from_us(1));
    }
    let s = net.node("s") as usize;
    net.plan.nodes[s].input_memory = Some(Bytes::new(30_000));
    net.flow("a", "c", 0, greedy());
    net.flow("a", "d", 0, greedy());
    let b = net.flow("b", "c", 0, Traffic::Constant { rate: BitRate::mbps(10) });
    let done = net.run();
    assert!(done.flows[0].dropped > 1000 && done.flows[1].dropped > 1000);
    assert_eq!(done.flows[b as usize].dropped, 0);
    // Round robin at the adapter: as many of one as of the other, give or take one.
    assert!(done.flows[0].sent.abs_diff(done.flows[1].sent) <= 1);
    let a_link = net.port("a->s");
    assert!(done.trace.drops.port.iter().all(|port| *port == a_link));
}

#[test]
fn the_highest_class_goes_first() {
    // Two saturated flows of 10 Gb/s into one link: all of class 5 goes, nothing of class 0 but the beginning.
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 5, greedy());
    let done = net.run();
    assert!(done.flows[1].delivered > 4150, "{:?}", done.flows[1]);
    assert!(done.flows[0].delivered <= 2, "{:?}", done.flows[0]);
}

#[test]
fn flows_of_a_host_share_a_limiter_if_told_so() {
    // One limiter that nothing sets: both flows pass it in turn.
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("a", "b", 0, greedy());
    net.plan.flows[1].limiter = 0;
    let done = net.run();
    assert!(done.flows[0].sent.abs_diff(done.flows[1].sent) <= 1);
    assert!(done.counters.frames_sent > 4150);
}

#[test]
fn a_generator_spreads_its_frames_over_flows() {
    let mut net = two_to_one(Span::from_us(1));
    let flows = vec![net.flow("a", "b", 0, Traffic::Fed), net.flow("a", "c", 0, Traffic::Fed)];
    net.plan.generators.push(GeneratorPlan {
        name: "a".to_owned(),
        flows,
        process: Process::Constant { rate: BitRate::mbps(8500) },
        start: Instant::ZERO,
        start_jitter: Span::ZERO,
        stop: Instant::NEVER,
    });
    net.plan.end = Instant::ZERO + Span::from_ms(100);
    let done = net.run();
    // 8.5 Gb/s of 12 000 bits: 70 833 frames in 100 ms, half to each; standard deviation 133.
    assert_eq!(done.counters.frames_sent, 70_834);
    assert!(done.flows[0].sent.abs_diff(35_417) < 500);
}

#[test]
fn a_full_source_queue_refuses_frames() {
    // 2 Gb/s offered, 1 Gb/s of link: 3 frames wait at most, half of the frames are refused.
    let mut net = Net::new(&["a", "b"]);
    net.link("a", "b", BitRate::gbps(1), Span::ZERO);
    net.flow("a", "b", 0, Traffic::Constant { rate: BitRate::gbps(2) });
    net.plan.flows[0].room = Some(Bytes::new(4500));
    let done = net.run();
    // 5 ms hold 833 frames of 6 us offered, 417 of 12 us carried.
    assert_eq!(done.flows[0].sent, 417);
    assert_eq!(done.flows[0].refused, 834 - 417 - 3);
    assert_eq!(done.trace.drops.frames.iter().sum::<u64>(), done.flows[0].refused);
}

#[test]
fn frames_take_all_of_several_equal_ways() {
    let mut net = Net::new(&["a", "s", "x", "y", "t", "b"]);
    for (from, to) in [("a", "s"), ("s", "x"), ("s", "y"), ("x", "t"), ("y", "t"), ("t", "b")] {
        net.link(from, to, TEN, Span::from_us(1));
    }
    net.flow("a", "b", 0, greedy());
    let names = [["a->s", "s->x", "x->t", "t->b"], ["a->s", "s->y", "y->t", "t->b"]];
    net.plan.flows[0].paths = names.iter().map(|way| way.iter().map(|name| net.port(name)).collect()).collect();
    for name in ["s->x", "s->y"] {
        let port = net.port(name) as usize;
        net.plan.ports[port].recorded = true;
        // Half of 10 Gb/s fits into 6; all of it does not.
        net.plan.ports[port].rate = BitRate::gbps(6);
        net.plan.ports[port].capacity = Some(Bytes::new(150_000));
    }
    let done = net.run();
    assert_eq!(done.counters.frames_dropped, 0);
    assert!(done.flows[0].delivered > 4100);
}

/// Pause by threshold and interval: 120 KB and 96 us as in deck 003.
#[test]
fn pauses_by_interval_last_to_the_quantum() {
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 0, greedy());
    let s = net.node("s") as usize;
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
        assert_eq!(rows.because[row], net.port("s->c"));
        // Refreshed or not, a stop that ran off lasted for 1875 quanta of 51.2 ns after the frame that asked last.
        assert!(end - start >= 96_000_000 || *end == net.plan.end.ps(), "{start}..{end}");
    }
    // Those that nobody asked for again last exactly that long.
    assert!(rows.start.iter().zip(&rows.end).any(|(start, end)| end - start == 96_000_000));
    // The first frame to find 120 KB stops both links; 64 octets and 1 us later it works. The queue grows by 10 Gb/s
    // net until then, and by what is on its way: 1 us each way, and the frame in transmission.
    assert!(done.flows[0].sent > 2000 && done.flows[1].sent > 2000);
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
        net.plan.flows[late as usize].start = Instant::ZERO + Span::from_ns(600);
        net.flow("c", "e", 0, Traffic::Constant { rate: BitRate::mbps(100) });
        let s = net.node("s") as usize;
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
        let mut expected: Vec<u32> = links.iter().map(|link| net.port(link)).collect();
        expected.sort_unstable();
        assert_eq!(stopped, expected, "{stops:?}");
        // The second link is stopped with the first, or by its own next frame, 0.6 us later.
        let first = |link: &str| {
            let port = net.port(link);
            (0..rows.port.len())
                .filter(|row| rows.port[*row] == port)
                .map(|row| rows.start[row])
                .min()
                .expect("stopped")
        };
        let apart = first("a->s").abs_diff(first("b->s"));
        assert_eq!(apart < 600_000, within_a_frame, "{stops:?}: {apart}");
    }
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
        net.plan.flows[fast as usize].stop = Instant::ZERO + Span::from_us(9_790);
    }
    let s = net.node("s") as usize;
    net.plan.nodes[s].pause = Some(PausePlan {
        scope: PauseScope::Link,
        rule: PauseRule::Threshold { threshold: Bytes::new(30_000), quanta: 1875, stops: PauseTarget::Arriving },
        reaction: Span::ZERO,
    });
    net.plan.end = Instant::ZERO + Span::from_ms(50);
    let done = net.run();
    let stopped = net.port("a->s");
    let stops = done.trace.pauses.port.iter().filter(|port| **port == stopped).count();
    assert!(stops > 0, "{stops}");
    // 100 Mb/s for 50 ms are 416 frames; no stop lasts longer than 96 us at a time, less than one frame's distance.
    assert!(done.flows[slow as usize].delivered >= 412, "{:?}", done.flows[slow as usize]);
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
    assert_eq!(done.trace.pauses.port[0], net.port("a->s"));
    assert_eq!(done.counters.frames_dropped, 0);
    // Goodput is that of the slow link: frame n is complete at 3.2 + 12 n us.
    assert_eq!(done.flows[0].delivered, 416);
}

#[test]
fn pfc_stops_one_class_and_lets_the_other_pass() {
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 3, greedy());
    net.flow("b", "c", 3, greedy());
    // Class 0 has room of its own on the same links.
    let victim = net.flow("a", "b", 0, Traffic::Constant { rate: BitRate::gbps(1) });
    net.pause("s", 200_000, 30_000, 20_000);
    let s = net.node("s") as usize;
    net.plan.nodes[s].pause.as_mut().unwrap().scope = PauseScope::Classes(1 << 3);
    let done = net.run();
    assert!(done.trace.pauses.class.iter().all(|class| *class == Some(3)) && !done.trace.pauses.class.is_empty());
    assert_eq!(done.counters.frames_dropped, 0);
    // 1 Gb/s for 5 ms less 3.2 us of way: 416 frames.
    assert!(done.flows[victim as usize].delivered >= 415, "{:?}", done.flows[victim as usize]);
    net.plan.nodes[s].pause.as_mut().unwrap().scope = PauseScope::Link;
    let done = net.run();
    assert!(done.flows[victim as usize].delivered < 415, "{:?}", done.flows[victim as usize]);
}

/// A ring of three switches in which each flow crosses two links of it: pauses can close a circle.
fn ring() -> Net {
    let mut net = Net::new(&["h1", "h2", "h3", "s1", "s2", "s3"]);
    for i in 1..=3 {
        net.link(&format!("h{i}"), &format!("s{i}"), TEN, Span::from_us(1));
        net.link(&format!("s{i}"), &format!("s{}", i % 3 + 1), TEN, Span::from_us(1));
    }
    for i in 1..=3usize {
        let names = [(i, "h", "s", i), (i, "s", "s", i % 3 + 1), (i % 3 + 1, "s", "s", (i + 1) % 3 + 1)];
        let mut way: Vec<u32> = names.iter().map(|(from, a, b, to)| net.port(&format!("{a}{from}->{b}{to}"))).collect();
        let last = (i + 1) % 3 + 1;
        way.push(net.port(&format!("s{last}->h{last}")));
        let flow = net.flow(&format!("h{i}"), &format!("h{last}"), 0, greedy());
        net.plan.flows[flow as usize].paths = vec![way];
    }
    for s in ["s1", "s2", "s3"] {
        net.pause(s, 100_000, 30_000, 20_000);
    }
    net
}

#[test]
fn a_circle_of_pauses_is_found_and_named() {
    let done = ring().run();
    let Ending::Deadlock { circle: links, closed } = done.ending else { panic!("no deadlock") };
    let mut sorted = links.clone();
    sorted.sort();
    assert_eq!(sorted, ["s1->s2", "s2->s3", "s3->s1"]);
    // Each names the one it waits for.
    let after = |name: &str| links[(links.iter().position(|link| link == name).unwrap() + 1) % 3].clone();
    assert_eq!(after("s1->s2"), "s2->s3");
    // It is searched for each millisecond. 30 KB take 24 us at 10 Gb/s, so the first pause comes after that.
    assert_eq!(done.end, Instant::ZERO + Span::from_ms(1));
    assert!(closed > Instant::ZERO + Span::from_us(24) && closed < done.end, "{closed:?}");
    // The rows go up to the end, and so do the pauses that are in force.
    assert!(done.trace.throughput.time.iter().all(|bin| *bin < done.end.ps()));
    assert_eq!(done.trace.pauses.end.iter().max(), Some(&done.end.ps()));
    assert!(done.flows.iter().all(|flow| flow.delivered > 0));
}

/// Two flows of 15 KB, ten frames, over links of 10 Gb/s and 1 us: 12 + 1.2 us of transmissions and 2 us of way for
/// the first; the second shares the last link, which serves 20 frames: 1.2 + 24 us, and 2 us of way.
#[test]
fn a_run_that_drains_ends_with_its_last_flow() {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for host in ["a", "b", "c"] {
        net.link(host, "s", TEN, Span::from_us(1));
    }
    let finite = || Traffic::Saturated { ceiling: None, total: Some(Bytes::new(15_000)) };
    net.flow("a", "c", 0, finite());
    net.flow("b", "c", 0, finite());
    let whole = net.run();
    assert_eq!((whole.ending, whole.end), (Ending::Time, net.plan.end));
    net.plan.drains = true;
    for events in [Events::WhereNeeded, Events::Everywhere] {
        net.plan.events = events;
        let done = net.run();
        assert_eq!((done.ending, done.end), (Ending::Drained, Instant::from_ps(27_200_000)));
        let finished = |flows: &[FlowTally]| flows.iter().map(|flow| flow.finished).collect::<Vec<_>>();
        assert_eq!(finished(&done.flows), finished(&whole.flows));
        assert_eq!(finished(&done.flows).into_iter().max(), Some(done.end));
    }
}

/// An endless flow does not keep a run that drains going, and neither does a flow that lost a frame, which nothing sends
/// again. One that never starts does.
#[test]
fn a_run_drains_when_no_flow_can_finish_any_more() {
    let mut net = Net::new(&["a", "b", "c", "s"]);
    for (host, rate) in [("a", TEN), ("b", TEN), ("c", BitRate::gbps(1))] {
        net.link(host, "s", rate, Span::from_us(1));
    }
    net.flow("b", "a", 0, greedy());
    let finite = Traffic::Saturated { ceiling: None, total: Some(Bytes::new(1_500_000)) };
    let finite = net.flow("a", "c", 0, finite) as usize;
    let port = net.port("s->c") as usize;
    net.plan.ports[port].capacity = Some(Bytes::new(30_000));
    net.plan.drains = true;
    let done = net.run();
    // The 20 frames that fit wait after 22 or so came in 1.2 us apart: the next one is lost, and that is the end.
    assert_eq!((done.flows[finite].dropped, done.flows[finite].finished), (1, Instant::NEVER));
    assert_eq!(done.ending, Ending::Drained);
    assert!(done.end < Instant::ZERO + Span::from_us(40), "{:?}", done.end);
    net.plan.flows[finite].start = net.plan.end;
    assert_eq!(net.run().ending, Ending::Time);
}

#[test]
fn a_line_of_pauses_is_no_circle() {
    let mut net = Net::new(&["a", "s", "t", "b"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "t", TEN, Span::from_us(1));
    net.link("t", "b", BitRate::mbps(100), Span::from_us(1));
    net.flow("a", "b", 0, greedy());
    net.pause("s", 100_000, 30_000, 20_000);
    net.pause("t", 100_000, 30_000, 20_000);
    net.plan.end = Instant::ZERO + Span::from_ms(50);
    let done = net.run();
    assert_eq!(done.counters.frames_dropped, 0);
    assert!(done.trace.pauses.port.contains(&net.port("a->s")) && done.trace.pauses.port.contains(&net.port("s->t")));
}

/// Octets above the high watermark that a node can come to hold: the frame that rises above the mark; what comes while
/// a whole frame delays the pause frame, while that is sent, and over both ways and the reaction time, at the link's
/// rate; and the frame in transmission when the pause works.
fn headroom(rate: BitRate, delay: Span, frame: u64, reaction: Span) -> u64 {
    let way = delay + delay + reaction;
    frame + frame + 64 + rate.bytes_in_rounded_down(way).get() + frame
}

/// A tree of switches with random links, frames, classes and flows; every switch stops its inputs with `missing` octets
/// less headroom than it takes.
#[derive(Clone, Debug)]
struct Lossless {
    delays: Vec<u64>,
    frames: Vec<u64>,
    flows: Vec<(usize, usize, bool)>,
    memory: u64,
    low: u64,
    slow: u64,
    reaction: u64,
    classes: bool,
    seed: u64,
}

fn lossless() -> impl Strategy<Value = Lossless> {
    let flow = (0..6usize, 0..6usize, any::<bool>());
    (
        prop::collection::vec(0..40u64, 8),
        prop::collection::vec(64..9000u64, 12),
        prop::collection::vec(flow, 2..12),
        (20_000..200_000u64, 0..15_000u64, 100..10_000u64, 0..3u64),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(delays, frames, flows, (memory, low, slow, reaction), classes, seed)| Lossless {
            delays,
            frames,
            flows,
            memory,
            low,
            slow,
            reaction,
            classes,
            seed,
        })
}

impl Lossless {
    /// Six hosts around a line of two switches.
    fn net(&self, missing: u64) -> Net {
        let mut net = Net::new(&["h0", "h1", "h2", "h3", "h4", "h5", "s", "t"]);
        for host in 0..6 {
            let switch = if host < 3 { "s" } else { "t" };
            net.link(&format!("h{host}"), switch, TEN, Span::from_us(self.delays[host]));
        }
        net.link("s", "t", TEN, Span::from_us(self.delays[6]));
        net.plan.seed = self.seed;
        // The host behind the slow link only receives: a pause frame for it would take its time on that link.
        let silent = if self.seed.is_multiple_of(2) { 3 } else { 0 };
        let slowed = net.port(if silent == 3 { "t->h3" } else { "s->h0" }) as usize;
        net.plan.ports[slowed].rate = BitRate::mbps(self.slow);
        let largest = *self.frames.iter().max().unwrap();
        for (index, (from, to, greedy_one)) in self.flows.iter().enumerate() {
            if from == to || *from == silent {
                continue;
            }
            let rate = BitRate::gbps(3);
            let traffic = if *greedy_one { greedy() } else { Traffic::Constant { rate } };
            let flow = net.flow(&format!("h{from}"), &format!("h{to}"), 0, traffic);
            net.plan.flows[flow as usize].frame = Bytes::new(self.frames[index]);
            net.plan.flows[flow as usize].start_jitter = Span::from_us(20);
        }
        net.plan.end = Instant::ZERO + Span::from_ms(2);
        let reaction = Span::from_us(self.reaction);
        for (switch, links) in [("s", [0, 1, 2, 6]), ("t", [3, 4, 5, 6])] {
            let longest = links.iter().map(|link| self.delays[*link]).max().unwrap();
            let room = headroom(TEN, Span::from_us(longest), largest, reaction);
            let high = self.memory;
            net.pause(switch, (high + room).saturating_sub(missing), high, self.low.min(high));
            let node = net.node(switch) as usize;
            let pause = net.plan.nodes[node].pause.as_mut().unwrap();
            pause.reaction = reaction;
            if self.classes {
                pause.scope = PauseScope::Classes(1);
            }
        }
        net
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: net::kept("fabric"), ..ProptestConfig::default() })]

    /// Lossless means lossless: with the headroom of the formula nothing is ever discarded.
    #[test]
    fn with_enough_headroom_nothing_is_lost(scenario in lossless()) {
        let net = scenario.net(0);
        prop_assume!(!net.plan.flows.is_empty());
        let done = net.run();
        prop_assert_eq!(done.counters.frames_dropped + done.counters.messages_lost, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: net::kept("fabric"), ..ProptestConfig::default() })]

    /// Ports that take turns only while something is stopped give the run of ports that always do.
    #[test]
    fn more_events_change_nothing_where_links_are_stopped(
        scenario in lossless(),
        missing in 0..100_000u64,
        scheme in prop::sample::select(vec!["none", "qcn", "ecm", "dcqcn", "qcn_sonar"]),
        frames: bool,
        dip in 0..1_000_000u64,
    ) {
        let mut net = scenario.net(missing);
        prop_assume!(!net.plan.flows.is_empty());
        net.plan.scheme = Config::find(scheme, None).unwrap();
        net.plan.record.messages = true;
        if !frames {
            net.plan.feedback = Feedback::Ideal;
        }
        for name in ["s->t", "t->s", "s->h0", "t->h3"] {
            let port = net.port(name) as usize;
            net.plan.ports[port].watched = true;
            net.plan.ports[port].recorded = true;
            net.plan.ports[port].capacity = Some(Bytes::new(60_000));
        }
        let change = |after, rate| ServiceChange { at: Instant::from_ps(dip * 1000 + after), port: net.port("s->t"), rate };
        net.plan.services = vec![change(0, BitRate::gbps(2)), change(500_000_000, TEN)];
        let few = net.try_run();
        net.plan.events = Events::Everywhere;
        let many = net.try_run();
        match (few, many) {
            (Ok(mut few), Ok(many)) => {
                prop_assert!(few.counters.events <= many.counters.events);
                few.counters.events = many.counters.events;
                prop_assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
            }
            (few, many) => prop_assert_eq!(few.is_err(), many.is_err()),
        }
    }
}

/// Long queues under PAUSE: whatever needs an event, the same pauses of the same links for the same reason.
#[test]
fn an_incast_pauses_the_same_links_with_every_event() {
    let hosts = ["a", "b", "d", "e", "f", "g"];
    let mut net = Net::new(&["a", "b", "d", "e", "f", "g", "c", "s"]);
    net.link("c", "s", TEN, Span::from_us(1));
    for host in hosts {
        net.link(host, "s", TEN, Span::from_us(1));
        net.flow(host, "c", 0, greedy());
    }
    net.pause("s", 100_000, 60_000, 50_000);
    let mut few = net.run();
    net.plan.events = Events::Everywhere;
    let many = net.run();
    // 10 Gb/s for 5 ms drain 6.25 MB. From one XOFF of an input to its next, 10 KB between the watermarks drain, the
    // 2.5 KB of a round trip of 2 us, and five frames at most: 20 KB. So there are 312 XOFF, of which the last of each
    // input may be under way, and as many XON.
    assert!(few.counters.pause_frames >= 2 * (312 - 6), "{:?}", few.counters);
    assert_eq!(few.counters.frames_dropped, 0);
    let output = net.port("s->c");
    assert!(few.trace.pauses.because.iter().all(|because| *because == output));
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ: {:?} and {:?}", few.counters, many.counters);
}

/// The formula's headroom is what it takes: with one frame less something is lost.
#[test]
fn one_frame_below_the_headroom_frames_are_lost() {
    // One host at full rate, frames of 9000 B; a frame of the other direction is in the way of the pause frame.
    let worst = |missing: u64| {
        let mut lost = 0;
        for start in 0..60 {
            let mut net = Net::new(&["a", "s", "b"]);
            net.link("a", "s", TEN, Span::from_us(10));
            net.link("s", "b", TEN, Span::from_us(1));
            let slowed = net.port("s->b") as usize;
            net.plan.ports[slowed].rate = BitRate::mbps(100);
            let ahead = net.flow("a", "b", 0, greedy());
            let back = net.flow("b", "a", 0, greedy());
            for flow in [ahead, back] {
                net.plan.flows[flow as usize].frame = Bytes::new(9000);
            }
            net.plan.flows[back as usize].start = Instant::ZERO + Span::from_ns(start * 120);
            let room = headroom(TEN, Span::from_us(10), 9000, Span::ZERO);
            net.pause("s", 90_000 + room - missing, 90_000, 80_000);
            lost += net.run().counters.frames_dropped;
        }
        lost
    };
    assert_eq!(worst(0), 0);
    assert!(worst(9000) > 0);
}

/// The same run with an event for every release, end of transmission and arrival, in a fabric.
#[test]
fn more_events_change_nothing_in_a_fabric() {
    let mut net = Net::new(&["a", "b", "c", "d", "e", "f", "s", "t"]);
    for (from, to) in [("a", "s"), ("b", "s"), ("e", "s"), ("f", "t"), ("s", "t"), ("t", "c"), ("t", "d")] {
        net.link(from, to, TEN, Span::from_us(3));
    }
    for (from, to) in [("a", "c"), ("a", "d"), ("b", "c")] {
        net.flow(from, to, 0, greedy());
    }
    net.flow("e", "d", 0, Traffic::Constant { rate: BitRate::gbps(3) });
    net.flow("f", "e", 0, greedy());
    net.fed("b", "d", Process::Poisson { rate: BitRate::gbps(2) });
    let port = net.port("s->t") as usize;
    net.plan.ports[port].watched = true;
    net.plan.ports[port].recorded = true;
    net.plan.ports[port].capacity = Some(Bytes::new(150_000));
    net.plan.scheme = Config::find("qcn", None).unwrap();
    net.plan.record.messages = true;
    let mut few = net.run();
    net.plan.events = Events::Everywhere;
    let many = net.run();
    assert!(few.counters.messages_sent > 10 && many.counters.events > few.counters.events);
    few.counters.events = many.counters.events;
    assert!(few == many, "the runs differ");
}
