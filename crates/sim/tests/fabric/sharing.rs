//! Hosts, queues and memory that several flows share.

use super::net::{Net, greedy};
use super::{TEN, two_to_one};
use qcnlab_sim::{Events, FlowId, GeneratorPlan, LimiterId, PauseScope, Process, Traffic};
use qcnlab_units::{BitRate, Bytes, Id, Instant, Span};

/// Poisson frames of one size into a link: the queue of M/D/1.
#[test]
fn the_queue_of_m_d_1_has_the_mean_of_the_formula() {
    hold_against_m_d_1(&[50, 70, 80]);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn the_queue_of_m_d_1_near_saturation_has_the_mean_of_the_formula() {
    hold_against_m_d_1(&[90, 95]);
}

/// Holds the mean queue at loads in percent against the formula.
fn hold_against_m_d_1(loads: &[u64]) {
    for load in loads.iter().copied() {
        let mut net = Net::new(&["a", "s", "c"]);
        net.link("a", "s", BitRate::gbps(10_000), Span::ZERO);
        net.link("s", "c", TEN, Span::ZERO);
        net.fed("a", "c", Process::Poisson { rate: BitRate::mbps(100 * load) });
        let port = net.port("s->c");
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
    let s = net.node("s");
    net.plan.nodes[s].input_memory = Some(Bytes::new(30_000));
    net.flow("a", "c", 0, greedy());
    net.flow("a", "d", 0, greedy());
    let b = net.flow("b", "c", 0, Traffic::Constant { rate: BitRate::mbps(10) });
    let done = net.run();
    assert!(done.flows[FlowId::new(0)].dropped > 1000 && done.flows[FlowId::new(1)].dropped > 1000);
    assert_eq!(done.flows[b].dropped, 0);
    // Round robin at the adapter: as many of one as of the other, give or take one.
    assert!(done.flows[FlowId::new(0)].sent.abs_diff(done.flows[FlowId::new(1)].sent) <= 1);
    let a_link = net.port("a->s");
    assert!(done.trace.drops.port.iter().all(|port| *port == a_link.number()));
}

/// 12 000 octets hold eight frames of class 0, which are there when two of class 3 come at 50 us. At 10 Mb/s a frame takes
/// 1.2 ms, so none has left: two of each class are lost.
#[test]
fn memory_that_one_class_has_filled_has_no_room_for_another() {
    for pause in [None, Some(PauseScope::Classes(1 << 3))] {
        let mut net = Net::new(&["a", "b", "s"]);
        net.link("a", "s", TEN, Span::from_us(1));
        net.link("b", "s", BitRate::mbps(10), Span::from_us(1));
        net.pause("s", 12_000, 12_000, 6_000);
        let s = net.node("s");
        match pause {
            Some(scope) => net.plan.nodes[s].pause.as_mut().unwrap().scope = scope,
            None => net.plan.nodes[s].pause = None,
        }
        for (class, frames, start) in [(0, 10, Span::ZERO), (3, 2, Span::from_us(50))] {
            let total = Some(Bytes::new(frames * 1500));
            let flow = net.flow("a", "b", class, Traffic::Saturated { ceiling: None, total });
            net.plan.flows[flow].start = Instant::ZERO + start;
        }
        net.plan.end = Instant::ZERO + Span::from_ms(1);
        for events in [Events::WhereNeeded, Events::Everywhere] {
            net.plan.events = events;
            let done = net.run();
            let lost: Vec<u64> = done.flows.iter().map(|flow| flow.dropped).collect();
            assert_eq!(lost, [2, 2], "{pause:?}, {events:?}");
        }
    }
}

#[test]
fn the_highest_class_goes_first() {
    // Two saturated flows of 10 Gb/s into one link: all of class 5 goes, nothing of class 0 but the beginning.
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("b", "c", 5, greedy());
    let done = net.run();
    assert!(done.flows[FlowId::new(1)].delivered > 4150, "{:?}", done.flows[FlowId::new(1)]);
    assert!(done.flows[FlowId::new(0)].delivered <= 2, "{:?}", done.flows[FlowId::new(0)]);
}

#[test]
fn flows_of_a_host_share_a_limiter_if_told_so() {
    // One limiter that nothing sets: both flows pass it in turn.
    let mut net = two_to_one(Span::from_us(1));
    net.flow("a", "c", 0, greedy());
    net.flow("a", "b", 0, greedy());
    net.plan.flows[FlowId::new(1)].limiter = LimiterId::new(0);
    let done = net.run();
    assert!(done.flows[FlowId::new(0)].sent.abs_diff(done.flows[FlowId::new(1)].sent) <= 1);
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
    assert!(done.flows[FlowId::new(0)].sent.abs_diff(35_417) < 500);
}

#[test]
fn a_full_source_queue_refuses_frames() {
    // 2 Gb/s offered, 1 Gb/s of link: 3 frames wait at most, half of the frames are refused.
    let mut net = Net::new(&["a", "b"]);
    net.link("a", "b", BitRate::gbps(1), Span::ZERO);
    net.flow("a", "b", 0, Traffic::Constant { rate: BitRate::gbps(2) });
    net.plan.flows[FlowId::new(0)].room = Some(Bytes::new(4500));
    let done = net.run();
    // 5 ms hold 833 frames of 6 us offered, 417 of 12 us carried.
    assert_eq!(done.flows[FlowId::new(0)].sent, 417);
    assert_eq!(done.flows[FlowId::new(0)].refused, 834 - 417 - 3);
    assert_eq!(done.trace.drops.frames.iter().sum::<u64>(), done.flows[FlowId::new(0)].refused);
}

#[test]
fn frames_take_all_of_several_equal_ways() {
    let mut net = Net::new(&["a", "s", "x", "y", "t", "b"]);
    for (from, to) in [("a", "s"), ("s", "x"), ("s", "y"), ("x", "t"), ("y", "t"), ("t", "b")] {
        net.link(from, to, TEN, Span::from_us(1));
    }
    net.flow("a", "b", 0, greedy());
    let names = [["a->s", "s->x", "x->t", "t->b"], ["a->s", "s->y", "y->t", "t->b"]];
    net.plan.flows[FlowId::new(0)].paths =
        names.iter().map(|way| way.iter().map(|name| net.port(name)).collect()).collect::<Vec<_>>().into();
    for name in ["s->x", "s->y"] {
        let port = net.port(name);
        net.plan.ports[port].recorded = true;
        // Half of 10 Gb/s fits into 6; all of it does not.
        net.plan.ports[port].rate = BitRate::gbps(6);
        net.plan.ports[port].capacity = Some(Bytes::new(150_000));
    }
    let done = net.run();
    assert_eq!(done.counters.frames_dropped, 0);
    assert!(done.flows[FlowId::new(0)].delivered > 4100);
}
