//! Pauses that wait for each other in a circle end the run there: a result, with the circle and the time.

use qcnlab_lab::units::{Instant, Span};
use qcnlab_lab::{Control, Ending, METRICS, Options, Outcome, Scenario, run};

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
kind = "saturated"
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
