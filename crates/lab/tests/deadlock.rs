//! Pauses that wait for each other in a circle end the run with a message, not in silence.

use qcnlab_lab::{Control, Options, RunError, Scenario, run};

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

fn outcome(overrides: &[&str]) -> Result<(), RunError> {
    let scenario = Scenario::parse(RING.trim_start(), "ring.toml").and_then(|ring| ring.with_overrides(overrides));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&[scenario], &Options::default(), &Control::default()).map(|_| ())
}

#[test]
fn a_circle_of_pauses_ends_the_run_and_is_named() {
    let Err(error) = outcome(&[]) else { panic!("no deadlock") };
    assert_eq!(
        error.to_string(),
        "scenario ring, replication 0: deadlock at 0.001000 s: switch1->switch2, switch2->switch3, switch3->switch4, \
         switch4->switch5, switch5->switch1 stopped by PAUSE, each waiting for the next and the last for the first; \
         take a link out of the circle, or leave pause off"
    );
}

/// One way round fewer, or no pause: no circle.
#[test]
fn without_a_circle_it_runs_to_its_end() {
    for overrides in [["pause.only=switch{1..3}", "duration=20 ms"], ["pause.kind=none", "duration=20 ms"]] {
        assert!(outcome(&overrides).is_ok(), "{overrides:?}");
    }
}
