//! Lossless means lossless: with the headroom of the formula nothing is discarded, with a frame less something is.

use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;
use qcnlab_schemes::{Dice, Purpose};

/// What holds the frames up.
#[derive(Clone, Copy)]
enum Slow {
    Port,
    Receiver,
}

/// Two switches, senders of two frame sizes at both, and frames the other way for the pause frames to wait for; the
/// receiver's port is slowed for a while, or the receiver reads slowly all the time. `less` frames are taken from the
/// headroom.
fn scenario(case: u32, less: u64, slow: Slow) -> Scenario {
    let mut dice = Dice::new(1, case, "lossless", Purpose::Traffic);
    let mut one_of = |values: &[u64]| values[dice.below(values.len() as u32) as usize];
    let (frame, other) = (one_of(&[64, 312, 1500, 9000]), one_of(&[64, 700, 1500, 9000]));
    let (gbps, hosts, overhead) = (one_of(&[1, 10, 40]), one_of(&[3, 4, 5]), one_of(&[0, 20]));
    let (latency, reaction, delay) =
        (one_of(&[0, 300, 2000]), one_of(&[0, 500, 5000]), one_of(&[0, 100, 3000, 20_000]));
    let (classes, priority) = (one_of(&[0, 1, 2]), one_of(&[0, 3]));
    let longest = frame.max(other) + overhead;
    // Round trip, latency and reaction at the link's rate, three frames and the pause frame.
    let flight = ((2 * delay + latency + reaction) * gbps).div_ceil(8);
    let headroom = flight + 3 * longest + 64 + overhead;
    let shares = if classes > 0 && priority > 0 { 2 } else { 1 };
    let memory = shares * (headroom + one_of(&[2, 5, 20]) * longest);
    let (kind, mbps) = (if classes > 0 { "priority" } else { "link" }, gbps * 1000 / one_of(&[2, 5, 20]));
    let slowed = match slow {
        Slow::Port => format!(
            r#"
[[hotspot]]
port = "switch1->host1"
from = "0.5 ms"
until = "1.5 ms"
rate = "{mbps} Mb/s"
"#
        ),
        Slow::Receiver => format!(
            r#"
[adapter]
only = "host1"
receive_buffer = "{memory} B"
receive_rate = "{mbps} Mb/s"
"#
        ),
    };
    let (more, last) = (hosts + 1, hosts + 2);
    let text = format!(
        r#"
title = "Case {case}"
duration = "2 ms"
[topology]
kind = "chain"
switches = 2
hosts = {hosts}
rate = "{gbps} Gb/s"
delay = "{delay} ns"
frame_overhead = "{overhead} B"
[switch]
input_memory = "{memory} B"
latency = "{latency} ns"
[pause]
kind = "{kind}"
headroom = "{} B"
reaction = "{reaction} ns"
[[traffic]]
arrivals = "saturated"
from = "host{{2..{more}}}"
to = "host1"
frame = "{frame} B"
start_jitter = "10 us"
[[traffic]]
arrivals = "saturated"
from = "host{last}"
to = "host1"
frame = "{other} B"
priority = {priority}
start_jitter = "10 us"
[[traffic]]
arrivals = "saturated"
from = "host1"
to = "host{{2..{last}}}"
frame = "{} B"
priority = {priority}
start_jitter = "10 us"
{slowed}
[scheme]
name = "none"
"#,
        headroom - less * longest,
        frame.max(other),
    );
    Scenario::parse(text.trim_start(), "case.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Cases that sent pause frames, and those of them that discarded something.
fn count(less: u64, slow: Slow) -> (usize, Vec<String>) {
    let cases: Vec<Scenario> = (0..CASES).map(|case| scenario(case, less, slow)).collect();
    let outcomes = run(&cases, &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let counters = |at: usize| outcomes[at].replications[0].done.counters;
    let dropped = (0..outcomes.len()).filter(|at| counters(*at).frames_dropped > 0);
    let dropped = dropped.map(|at| outcomes[at].scenario.title.clone()).collect();
    ((0..outcomes.len()).filter(|at| counters(*at).pause_frames > 0).count(), dropped)
}

const CASES: u32 = 60;

#[test]
fn headroom_by_the_formula_loses_nothing() {
    for slow in [Slow::Port, Slow::Receiver] {
        let (paused, dropped) = count(0, slow);
        assert!(paused > CASES as usize / 2);
        assert!(dropped.is_empty(), "{dropped:?}");
    }
}

#[test]
fn a_frame_less_of_headroom_loses_something() {
    assert!(!count(1, Slow::Port).1.is_empty());
    assert!(!count(1, Slow::Receiver).1.is_empty());
}
