//! Congestion notification domains at work: what edges, bridges outside and missing CN-TAGs do to flows.

use qcnlab_lab::{Control, Options, Outcome, run};
use qcnlab_scenario::{Scenario, shipped};
use qcnlab_sim::FlowId;
use qcnlab_units::Id;

fn outcome(scenario: &Scenario) -> Outcome {
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    let scenarios = std::slice::from_ref(scenario);
    run(scenarios, &options, &Control::default()).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn one_bridge_outside(overrides: &[&str]) -> Outcome {
    let shipped = shipped().into_iter().find(|shipped| shipped.name == "one-bridge-outside-the-domain").unwrap();
    outcome(&shipped.scenario().unwrap().with_overrides(overrides).unwrap_or_else(|error| panic!("{error}")))
}

/// Delivered rates of near1, near2, far1, far2, Gb/s over the whole run.
fn rates(outcome: &Outcome) -> [f64; 4] {
    let seconds = outcome.scenario.duration.seconds();
    let flows = &outcome.replications[0].done.flows;
    std::array::from_fn(|flow| flows[FlowId::at(flow)].delivered_bytes as f64 * 8e-9 / seconds)
}

/// The near hosts offer 3 Gb/s each and the far ones 6; the shared port has 10. With the edge the far hosts get what the
/// near ones leave, 4 Gb/s for both, and lose the rest: 2 Gb/s for want of a congestion point at the bridge outside,
/// 6 Gb/s of the 10 that it passes on at the shared port.
#[test]
fn the_edge_keeps_the_domain_as_it_was() {
    let defended = one_bridge_outside(&[]);
    let [near1, near2, far1, far2] = rates(&defended);
    assert!((near1 - 3.0).abs() < 0.05 && (near2 - 3.0).abs() < 0.05, "{near1} {near2}");
    assert!((far1 + far2 - 4.0).abs() < 0.1, "{far1} {far2}");
    let done = &defended.replications[0].done;
    assert!(done.flows.iter().take(2).all(|flow| flow.dropped == 0));
    assert!(done.flows.iter().skip(2).all(|flow| flow.dropped * 2 > flow.sent));
    // Near flows alone are heard of: 4 messages of chance.
    assert!(done.counters.messages_sent < 20, "{:?}", done.counters);
}

#[test]
fn without_the_edge_uncontrolled_frames_starve_the_domain() {
    let open = one_bridge_outside(&["domain.outside=old, far*", "defence.mode=interior"]);
    let [near1, near2, far1, far2] = rates(&open);
    assert!(near1 < 0.1 && near2 < 0.1, "{near1} {near2}");
    assert!((far1 + far2 - 10.0).abs() < 0.1, "{far1} {far2}");
    let counters = open.replications[0].done.counters;
    assert!(counters.messages_ignored > 100 * counters.messages_heard, "{counters:?}");
    // The last one may be under way when the run ends.
    let ended = counters.messages_heard + counters.messages_ignored;
    assert!(counters.messages_sent - ended <= 1, "{counters:?}");
}

#[test]
fn where_all_take_part_all_slow_down_and_hardly_a_frame_is_lost() {
    let all = one_bridge_outside(&["domain.outside="]);
    let done = &all.replications[0].done;
    assert!((rates(&all).iter().sum::<f64>() - 10.0).abs() < 0.1);
    assert!(done.counters.frames_dropped < 100, "{:?}", done.counters);
    assert_eq!(done.counters.messages_ignored, 0);
}

/// Two flows of one host, one of them crossing a slow port. With CN-TAGs its limiter alone slows down; without, both
/// share the limiter of the priority and both do.
#[test]
fn without_cn_tags_one_reaction_point_answers_for_the_priority() {
    let text = r#"
duration = "50 ms"
topology = { kind = "graph", rate = "10 Gb/s", delay = "1 us" }
link = [
    { from = "h1, h2", to = "a" },
    { from = "a", to = "slow", rate = "1 Gb/s" },
]
switch = { output_buffer = "150 KB" }
domain = { priorities = "3" }
defence = [{ port = "a->h1", mode = "auto" }]
traffic = [{ arrivals = "saturated", from = "h1", to = "slow, h2", frame = "1500 B", priority = 3 }]
scheme = { name = "qcn", preset = "IEEE_8021Q" }
"#;
    let scenario = Scenario::parse(text, "two").unwrap_or_else(|error| panic!("{error}"));
    let octets = |overrides: &[&str]| -> Vec<u64> {
        let outcome = outcome(&scenario.with_overrides(overrides).unwrap());
        assert!(outcome.replications[0].done.counters.messages_heard > 0);
        outcome.replications[0].done.flows.iter().map(|flow| flow.delivered_bytes).collect()
    };
    let tagged = octets(&[]);
    // 1 Gb/s for 50 ms are 6.25 MB; the other flow has the rest of the host's 10 Gb/s.
    assert!(tagged[0] < 6_300_000 && tagged[1] > 45_000_000, "{tagged:?}");
    let untagged = octets(&["defence.accepts_cn_tags=false"]);
    assert!(untagged[1] < 2 * untagged[0], "{untagged:?}");
    // A host that takes no part hears nothing: its port is an edge, and the frames are of priority 2.
    let outside = outcome(&scenario.with_overrides(&["domain.outside=h1"]).unwrap());
    let counters = outside.replications[0].done.counters;
    assert_eq!((counters.messages_sent, counters.messages_ignored), (0, 0));
    assert!(counters.frames_dropped > 0);
}

/// A CN-TAG taken off on the way: two limiters, and the first of the host hears what is said about the second's flow.
#[test]
fn a_message_without_cn_tag_reaches_the_first_reaction_point() {
    let text = r#"
duration = "20 ms"
topology = { kind = "graph", rate = "10 Gb/s", delay = "1 us" }
link = [
    { from = "h1, h2", to = "a" },
    { from = "a", to = "b" },
    { from = "b", to = "slow", rate = "1 Gb/s" },
]
switch = { output_buffer = "150 KB" }
domain = { priorities = "3" }
defence = [{ port = "b->a", accepts_cn_tags = true }]
traffic = [{ arrivals = "saturated", from = "h1", to = "h2, slow", frame = "1500 B", priority = 3 }]
scheme = { name = "qcn", preset = "IEEE_8021Q" }
"#;
    let scenario = Scenario::parse(text, "two").unwrap_or_else(|error| panic!("{error}"));
    let created = |overrides: &[&str]| -> Vec<u64> {
        let outcome = outcome(&scenario.with_overrides(overrides).unwrap());
        outcome.replications[0].done.limiters.iter().map(|limiter| limiter.created).collect()
    };
    assert_eq!(created(&[]), [0, 1]);
    assert_eq!(created(&["defence.accepts_cn_tags=false"]), [1, 0], "a takes the tag off: its port to b is interior");
}

/// A pause of the priority that frames had on their link, where they have another one behind it.
#[test]
fn pauses_stop_the_priority_of_the_link() {
    let memory = ["switch.output_buffer=none", "switch.input_memory=300 KB"];
    let overrides = [&memory[..], &["pause.kind=priority", "domain.outside=old, far*"]].concat();
    let paused = one_bridge_outside(&overrides);
    let done = &paused.replications[0].done;
    assert_eq!(done.counters.frames_dropped, 0, "{:?}", done.counters);
    assert!(done.counters.pause_frames > 0);
    // Hosts and bridges behind the edge are stopped in the priority they send in, 3.
    let far = |port: u32| done.trace.pauses.port.contains(&port);
    assert!((0..done.trace.pauses.port.len()).all(|row| done.trace.pauses.class[row] == Some(3)));
    assert!((0..20).any(far));
}

/// Counts of congestion points and of limiters agree with the tables.
#[test]
fn totals_agree_with_tables() {
    for overrides in [&[][..], &["domain.outside="], &["domain.outside=old, far*", "defence.mode=interior"]] {
        let outcome = one_bridge_outside(overrides);
        let done = &outcome.replications[0].done;
        assert_eq!(done.points.iter().map(|point| point.sent).sum::<u64>(), done.trace.messages.time.len() as u64);
        for point in &done.points {
            let rows = done.trace.messages.port.iter().filter(|port| **port == point.port.number()).count();
            assert_eq!(point.sent, rows as u64);
            assert_eq!(point.class, Some(3));
            assert!(point.transmitted > 0);
        }
        let dropped: u64 = done.flows.iter().map(|flow| flow.dropped).sum();
        assert!(done.points.iter().map(|point| point.discarded).sum::<u64>() <= dropped);
        let limited = done.limiters.iter().filter(|limiter| limiter.created > 0).count();
        assert!(limited <= 4 && done.limiters.iter().all(|limiter| limiter.limited <= outcome.scenario.duration));
    }
}
