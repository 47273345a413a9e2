//! Hosts that read slower than their link brings: what they hold, whom they stop, what is lost.

use qcnlab_lab::{Control, Data, Options, Outcome, run};
use qcnlab_scenario::Scenario;

/// Three senders of 1 Gb/s in all, one receiver that reads 1 Gb/s behind a link of 10 Gb/s. What comes into the
/// switch goes out at once; the receiver's memory is where frames wait when more is sent.
const SLOW: &str = r#"
title = "A slow receiver"
duration = "20 ms"
[topology]
kind = "switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[switch]
input_memory = "150 KB"
[adapter]
only = "host1"
receive_buffer = "150 KB"
receive_rate = "1 Gb/s"
[pause]
kind = "link"
[[traffic]]
arrivals = "saturated"
from = "host{2..4}"
to = "host1"
frame = "1500 B"
start_jitter = "10 us"
[scheme]
name = "none"
"#;

fn scenario(overrides: &[&str]) -> Scenario {
    let scenario = Scenario::parse(SLOW.trim_start(), "slow.toml").and_then(|slow| slow.with_overrides(overrides));
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn outcome(overrides: &[&str]) -> Outcome {
    let outcomes = run(&[scenario(overrides)], &Options::default(), &Control::default());
    outcomes.unwrap_or_else(|error| panic!("{error}")).remove(0)
}

/// Pairs of names in one table: who was stopped, and because of which queue.
fn pairs(outcome: &Outcome, table: &str, columns: [&str; 2]) -> Vec<(String, String)> {
    let table = outcome.table(table).unwrap_or_else(|| panic!("no table {table}"));
    let words = |name: &str| match table.columns.iter().find(|column| column.name == name).map(|column| &column.data) {
        Some(Data::Word(indices, names)) => indices.iter().map(|index| names[*index as usize].to_owned()).collect(),
        other => panic!("{name} holds no words: {other:?}"),
    };
    let [left, right]: [Vec<String>; 2] = columns.map(words);
    left.into_iter().zip(right).collect()
}

fn delivered_bps(outcome: &Outcome) -> f64 {
    let bytes: u64 = outcome.replications[0].done.flows.iter().map(|flow| flow.delivered_bytes).sum();
    bytes as f64 * 8.0 / 0.02
}

#[test]
fn a_slow_receiver_stops_its_switch_and_that_its_sources() {
    let outcome = outcome(&[]);
    let done = &outcome.replications[0].done;
    assert_eq!(done.counters.frames_dropped, 0);
    // 1 Gb/s for 20 ms, less the way there.
    assert!((0.99e9..1.0e9).contains(&delivered_bps(&outcome)), "{}", delivered_bps(&outcome));
    let tree = pairs(&outcome, "pauses", ["port", "because"]);
    let because = |port: &str| -> Vec<&str> {
        let of_port = tree.iter().filter(|(stopped, _)| stopped == port);
        of_port.map(|(_, because)| &**because).collect()
    };
    assert!(because("switch->host1").iter().all(|port| *port == "host1->host1/reader"));
    for host in ["host2->switch", "host3->switch", "host4->switch"] {
        assert!(because(host).iter().all(|port| *port == "switch->host1"), "{host}");
        assert!(!because(host).is_empty(), "{host}");
    }
    assert!(!because("switch->host1").is_empty());
}

#[test]
fn without_pause_a_slow_receiver_loses_what_it_cannot_read() {
    let outcome = outcome(&["pause.kind=none", "switch.input_memory=100 MB"]);
    let done = &outcome.replications[0].done;
    assert!(done.counters.frames_dropped > 10_000, "{}", done.counters.frames_dropped);
    let drops = pairs(&outcome, "drops", ["port", "source"]);
    assert!(drops.iter().all(|(port, _)| port == "switch->host1"), "in the memory behind that link");
    assert!((0.99e9..1.0e9).contains(&delivered_bps(&outcome)));
}

#[test]
fn tables_of_pause_hold_for_the_first_that_fits() {
    let only = SLOW.replace("[pause]\nkind = \"link\"", "[[pause]]\nonly = \"host1\"\nkind = \"link\"");
    let run_of = |text: &str| {
        let scenario = Scenario::parse(text.trim_start(), "slow.toml").unwrap_or_else(|error| panic!("{error}"));
        let again = Scenario::parse(&scenario.to_toml(), "again.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, scenario);
        run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}")).remove(0)
    };
    let alone = run_of(&only);
    assert!(pairs(&alone, "pauses", ["port", "because"]).iter().all(|(port, _)| port == "switch->host1"));
    assert!(alone.replications[0].done.counters.frames_dropped > 0, "the switch stops nobody");
    let both = only.replace("[[traffic]]", "[[pause]]\nkind = \"priority\"\nhigh = \"100 KB\"\n[[traffic]]");
    let both = run_of(&both);
    assert_eq!(both.replications[0].done.counters.frames_dropped, 0);
    let table = both.table("pauses").unwrap_or_else(|| panic!("no pauses"));
    let classes = table.columns.into_iter().find(|column| column.name == "priority").map(|column| column.data);
    let Some(Data::OptionalI32(classes)) = classes else { panic!("{classes:?}") };
    assert!(classes.contains(&None) && classes.contains(&Some(0)), "the host stops links, the switch classes");
}

/// Signals and acknowledgements to a host that holds what it receives pass its memory and leave it again, and answers
/// start behind it.
#[test]
fn connections_and_marks_work_through_receive_buffers() {
    let tcp = SLOW
        .replace("only = \"host1\"\n", "")
        .replace("arrivals = \"saturated\"", "arrivals = \"saturated\"\ntransport = \"tcp\"");
    let tcp = tcp.replace("[scheme]\nname = \"none\"", "[feedback]\nkind = \"frames\"\n[scheme]\nname = \"dcqcn\"");
    let scenario = Scenario::parse(tcp.trim_start(), "tcp.toml").unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    let done = &outcome[0].replications[0].done;
    assert_eq!((done.counters.frames_dropped, done.counters.acks_lost), (0, 0));
    assert!(done.counters.acks_heard > 1000, "{}", done.counters.acks_heard);
    assert!(delivered_bps(&outcome[0]) > 0.9e9, "{}", delivered_bps(&outcome[0]));
}

/// A receiver that reads at its link's rate holds one frame at a time and changes nothing but one frame time.
#[test]
fn a_receiver_as_fast_as_its_link_stops_nobody() {
    let fast = outcome(&["adapter.receive_rate=10 Gb/s", "switch.input_memory=1.5 MB", "pause.only=host1"]);
    assert_eq!(fast.replications[0].done.counters.pause_frames, 0);
    let queue = outcome(&["record.queues=host1->*", "adapter.receive_rate=1 Gb/s"]);
    let longest = queue.replications[0].done.trace.queues.bytes.iter().max();
    // High watermark 142 936 B: 150 KB without 2500 B of round trip, three frames and the pause frame.
    assert!(longest.is_some_and(|longest| (140_000..=150_000).contains(longest)), "{longest:?}");
}
