//! Pauses that wait for each other in a circle end the run there: a result, with the circle and the time.

use proptest::prelude::*;
use qcnlab_lab::units::{Instant, Span};
use qcnlab_lab::{Control, Ending, METRICS, Options, Outcome, run};
use qcnlab_scenario::Scenario;
use qcnlab_theory::{DeadlockQuestion, DeadlockReport};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

/// Each host sends to the next but one, clockwise, so that every link between switches carries two flows.
const RING: &str = r#"
title = "Five switches in a ring"
duration = "1 s"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "1 us"
[[link]]
from = "switch{1..5}"
to = "switch{2..5}, switch1"
[[link]]
from = "host{1..5}"
to = "switch{1..5}"
[switch]
input_memory = "100 KB"
[pause]
kind = "link"
[[traffic]]
arrivals = "saturated"
from = "host{1..5}"
to = "host{3..5}, host{1..2}"
spread = "paired"
frame = "1500 B"
[scheme]
name = "none"
"#;

fn outcome(overrides: &[&str]) -> Outcome {
    let scenario = Scenario::parse(RING.trim_start(), "ring.toml").and_then(|ring| ring.with_overrides(overrides));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn metric(outcome: &Outcome, name: &str) -> Option<f64> {
    outcome.replications[0].metrics[METRICS.iter().position(|metric| metric.name == name).expect("a metric")]
}

/// The search is made each millisecond. At 10 Gb/s the 100 KB of an input take 80 us at least to fill.
#[test]
fn a_circle_of_pauses_ends_the_run_and_is_named() {
    let outcome = outcome(&["record.throughput_bin=100 us"]);
    let done = &outcome.replications[0].done;
    let Ending::Deadlock { circle, closed } = &done.ending else { panic!("no deadlock") };
    assert_eq!(done.end, Instant::ZERO + Span::from_ms(1));
    assert!(*closed > Instant::ZERO + Span::from_us(80) && *closed < done.end, "{closed:?}");
    assert_eq!(
        circle.join(" "),
        "switch1->switch2 switch2->switch3 switch3->switch4 switch4->switch5 switch5->switch1"
    );
    assert_eq!(metric(&outcome, "deadlock_ms"), Some(1.0));
    // Tables go up to the end: ten bins of each of five flows, and pauses that last until then.
    assert_eq!(outcome.table("throughput").expect("a table").rows, 50);
    assert_eq!(done.trace.pauses.end.iter().max(), Some(&done.end.ps()));
    let summary: serde_json::Value = serde_json::from_str(&outcome.summary_json()).expect("JSON");
    assert_eq!(summary["ends"][0]["why"], "deadlock");
    assert_eq!(
        (summary["ends"][0]["end_s"].as_f64(), summary["ends"][0]["circle"][4].as_str()),
        (Some(1e-3), Some("switch5->switch1"))
    );
}

/// One way round fewer, or no pause: no circle.
#[test]
fn without_a_circle_it_runs_to_its_end() {
    for overrides in [["pause.only=switch{1..3}", "duration=20 ms"], ["pause.kind=none", "duration=20 ms"]] {
        let outcome = outcome(&overrides);
        assert_eq!((&outcome.replications[0].done.ending, metric(&outcome, "deadlock_ms")), (&Ending::Time, None));
    }
}

/// Four leaves under two spines, two hosts each, 10 Gb/s everywhere. Routes hear of failures at once.
const LEAVES: &str = r#"
title = "Four leaves, two spines"
duration = "20 ms"
[topology]
kind = "leaf_spine"
leaves = 4
spines = 2
hosts = 2
rate = "10 Gb/s"
delay = "1 us"
trunk_rate = "10 Gb/s"
trunk_delay = "1 us"
[switch]
input_memory = "60 KB"
[pause]
kind = "priority"
priorities = "3"
[routing]
multipath = "frame"
converges_after = "0 s"
FAILURES
[[traffic]]
arrivals = "saturated"
from = "host{1..8}"
to = "host{3..4}, host{1..2}, host{7..8}, host{5..6}"
spread = "paired"
frame = "1500 B"
priority = 3
[scheme]
name = "none"
"#;

/// The way to leaf 2 over spine 1 is down, and that to leaf 1 over spine 2: between these two frames go down to leaf 3 or 4
/// and up again. The routes have a circle over both, and a run ends in one of its links. With both links of one spine down,
/// they have none.
#[test]
fn a_circle_of_routes_with_two_links_down_stops_a_run() {
    let leaves = |links: [&str; 2]| {
        let failures = links.map(|link| format!("[[failure]]\nlink = \"{link}\"\nfrom = \"1 us\"\n")).concat();
        let text = LEAVES.replace("FAILURES\n", &failures);
        let scenario = Scenario::parse(text.trim_start(), "leaves.toml").unwrap_or_else(|error| panic!("{error}"));
        let question = DeadlockQuestion { failures: 1, ..DeadlockQuestion::default() };
        let report = DeadlockReport::of(&scenario, question, || true).expect("it goes on");
        let done = run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
        let ending = done[0].replications[0].done.ending.clone();
        (report, ending)
    };
    let (report, ending) = leaves(["leaf1->spine2", "leaf2->spine1"]);
    let counts: Vec<(bool, u32, u32)> =
        report.counts.iter().map(|count| (count.own, count.checked, count.circular)).collect();
    assert_eq!(counts, [(false, 1, 0), (false, 8, 0), (true, 1, 1)]);
    let Ending::Deadlock { circle, .. } = ending else { panic!("no deadlock") };
    let circular: Vec<&String> =
        report.circular[0].circles.iter().flat_map(|each| &each.waits).map(|wait| &wait.link).collect();
    assert!(circle.iter().all(|link| circular.contains(&link)), "{circle:?} {circular:?}");
    let (report, ending) = leaves(["leaf1->spine2", "leaf2->spine2"]);
    assert!(report.is_free());
    assert_eq!(ending, Ending::Time);
}

/// Switches that are joined as drawn, a host at each, and flows between hosts; a link is down from 200 us on.
fn drawn(joined: &[(u32, u32)], pairs: &BTreeSet<(u32, u32)>, down: Option<(u32, u32)>, multipath: &str) -> String {
    let links = joined.iter().map(|(a, b)| format!("[[link]]\nfrom = \"switch{a}\"\nto = \"switch{b}\"\n"));
    let flow = |(from, to): &(u32, u32)| {
        format!(
            "[[traffic]]\narrivals = \"saturated\"\nfrom = \"host{from}\"\nto = \"host{to}\"\nframe = \"1500 B\"\npriority = 3\n"
        )
    };
    let failure = down.map(|(a, b)| format!("[[failure]]\nlink = \"switch{a}->switch{b}\"\nfrom = \"200 us\"\n"));
    format!(
        r#"title = "Drawn"
duration = "4 ms"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "1 us"
{}[[link]]
from = "host{{1..5}}"
to = "switch{{1..5}}"
[switch]
input_memory = "40 KB"
[pause]
kind = "priority"
priorities = "3"
[routing]
multipath = "{multipath}"
converges_after = "0 s"
{}{}[scheme]
name = "none"
"#,
        links.collect::<String>(),
        failure.unwrap_or_default(),
        pairs.iter().map(flow).collect::<String>()
    )
}

/// How many runs there were, and how many of them ended in a deadlock.
static RUNS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Where the routes have no circle no run stops for ever, and where one does its links wait for one another by
    /// the routes too.
    fn runs_stop_in_circles_of_routes_alone(
        more in prop::collection::btree_set((1..6u32, 1..6u32), 0..3),
        others in prop::collection::btree_set((1..6u32, 1..6u32), 0..9),
        left_out in prop::option::weighted(0.3, 1..6u32),
        down in prop::option::weighted(0.2, 0..5usize),
        multipath in prop::sample::select(&["flow", "frame", "single"][..]),
    ) {
        let mut joined: Vec<(u32, u32)> = (1..6).map(|i| (i, i % 5 + 1)).collect();
        for (a, b) in more {
            if a != b && !joined.contains(&(a, b)) && !joined.contains(&(b, a)) {
                joined.push((a, b));
            }
        }
        // Each host sends to the next but one, clockwise, which closes the ring; some to others.
        let ring = (1..6).filter(|from| left_out != Some(*from)).map(|from| (from, (from + 1) % 5 + 1));
        let others = others.into_iter().filter(|(from, to)| from != to);
        let pairs: BTreeSet<(u32, u32)> = ring.chain(others).collect();
        let text = drawn(&joined, &pairs, down.map(|link| joined[link]), multipath);
        let scenario = Scenario::parse(&text, "drawn.toml").unwrap_or_else(|error| panic!("{error}"));
        let report = DeadlockReport::of(&scenario, DeadlockQuestion { failures: 0, ..DeadlockQuestion::default() }, || true).unwrap();
        let done = run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
        RUNS[0].fetch_add(1, Ordering::Relaxed);
        if let Ending::Deadlock { circle, .. } = &done[0].replications[0].done.ending {
            RUNS[1].fetch_add(1, Ordering::Relaxed);
            prop_assert!(!report.is_free(), "{circle:?}\n{text}");
            let mut known = report.circular.iter().flat_map(|case| &case.circles);
            prop_assert!(known.any(|each| circle.iter().all(|link| each.links.contains(link))), "{circle:?}\n{text}");
        }
    }
}

#[test]
fn routes_without_a_circle_never_stop_a_run() {
    runs_stop_in_circles_of_routes_alone();
    let [runs, stopped] = RUNS.each_ref().map(|count| count.load(Ordering::Relaxed));
    println!("{stopped} of {runs}");
    assert!(stopped * 10 > runs && stopped * 10 < runs * 9, "{stopped} of {runs}");
}
