//! Runs of fabrics: what their tables and metrics say.

use qcnlab_lab::{Control, Data, Options, Outcome, run};
use qcnlab_scenario::Scenario;

fn outcome(scenario: &Scenario, overrides: &[&str], replications: u32) -> Outcome {
    let scenario = scenario.with_overrides(overrides).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { replications: Some(replications), ..Options::default() };
    let outcomes = run(&[scenario], &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    outcomes.into_iter().next().unwrap_or_else(|| panic!("one scenario, one outcome"))
}

fn shipped(name: &str, overrides: &[&str]) -> Outcome {
    outcome(&Scenario::shipped(name).unwrap_or_else(|error| panic!("{error}")), overrides, 1)
}

fn metric(outcome: &Outcome, name: &str) -> Option<f64> {
    let index = qcnlab_lab::METRICS.iter().position(|metric| metric.name == name);
    outcome.replications[0].metrics[index.unwrap_or_else(|| panic!("no metric {name}"))]
}

fn words(outcome: &Outcome, table: &str, column: &str) -> Vec<String> {
    let table = outcome.table(table).unwrap_or_else(|| panic!("no table {table}"));
    match table.columns.into_iter().find(|c| c.name == column).map(|c| c.data) {
        Some(Data::Word(indices, names)) => indices.iter().map(|index| names[*index as usize].to_owned()).collect(),
        other => panic!("{column} holds no words: {other:?}"),
    }
}

/// Deck 004: at RTT 5 and 50 us the hot port loses nothing, and the victim gets its 5 Gb/s.
#[test]
fn a_victim_gets_its_share_with_congestion_management() {
    for rtt in ["topology.delay=2.5us", "topology.delay=25us"] {
        let outcome = shipped("ig-4-culprits-1-victim-150kb-rtt5us", &[rtt]);
        let gbps = |name| metric(&outcome, name).unwrap_or(0.0);
        assert!(gbps("bottleneck_gbps") > 9.9, "{rtt}: {} Gb/s", gbps("bottleneck_gbps"));
        assert!(gbps("victim_gbps") > 4.9, "{rtt}: {} Gb/s", gbps("victim_gbps"));
        assert_eq!(metric(&outcome, "pause_frames"), Some(0.0));
    }
}

/// With pause and no congestion management nothing is lost, and the victim waits with the culprits.
#[test]
fn pause_alone_holds_the_victim_back() {
    let outcome = shipped("ig-4-culprits-1-victim-pause-1500kb-rtt5us", &["scheme.name=none", "duration=0.4s"]);
    assert_eq!(metric(&outcome, "drops"), Some(0.0));
    assert!(metric(&outcome, "victim_gbps").is_some_and(|gbps| gbps < 3.0));
    assert!(metric(&outcome, "paused_frac").is_some_and(|part| part > 0.3));
    let (stopped, because) = (words(&outcome, "pauses", "port"), words(&outcome, "pauses", "because"));
    assert!(stopped.iter().any(|port| port == "edge1->core"), "the way the victim shares");
    for (port, because) in stopped.iter().zip(&because).filter(|(port, _)| port.ends_with("->core")) {
        assert_eq!(because, "core->edge5", "{port} waits for the hot port");
    }
}

/// Deck 004, Parking Lot: how far rates are from 2.0 and from 5/3 and 10/3 Gb/s depends on who is asked.
#[test]
fn a_parking_lot_without_control_is_far_from_either_share() {
    let outcome = shipped("parking-lot-4-hot-2-cold-150kb-rtt10us", &["duration=0.31s"]);
    let off = |name| metric(&outcome, name).unwrap_or(-1.0);
    // Worked out again from the tables: mean rates from the end of warm-up, against 2 Gb/s, and 5/3 and 10/3.
    let throughput = outcome.table("throughput").unwrap_or_else(|| panic!("no throughput"));
    let numbers = |name: &str| match &throughput.columns.iter().find(|column| column.name == name).map(|c| &c.data) {
        Some(Data::F64(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let (times, rates) = (numbers("time_s"), numbers("rate_bps"));
    let (sources, flows) = (words(&outcome, "throughput", "source"), words(&outcome, "flows", "source"));
    let warmup = outcome.scenario.warmup.seconds();
    let mean = |flow: &String| {
        let rows = times.iter().zip(&sources).zip(&rates);
        let rows = rows.filter(|((time, source), _)| *source == flow && **time > warmup - 1e-9);
        let rates: Vec<f64> = rows.map(|(_, rate)| *rate).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let means: Vec<f64> = flows.iter().map(mean).collect();
    let by_hand = |shares: [f64; 6]| {
        let squares = means.iter().zip(shares).map(|(mean, share)| (mean / (share * 1e9) - 1.0).powi(2));
        (squares.sum::<f64>() / 6.0).sqrt()
    };
    let (hot, cold) = (5.0 / 3.0, 10.0 / 3.0);
    for (name, shares) in [("off_max_min", [2.0; 6]), ("off_proportional", [hot, hot, hot, hot, cold, cold])] {
        assert!((off(name) / by_hand(shares) - 1.0).abs() < 1e-6, "{name}: {} and {}", off(name), by_hand(shares));
    }
    // Each of the links carries 10 Gb/s or less, so no flow has more than that, and the hot ones have no more together.
    assert!(means[..4].iter().sum::<f64>() <= 10.001e9, "{means:?}");
}

/// Deck 003: without anything frames are lost and timers run out; with QCN and pause at RTT 25 us nothing is lost, and
/// QCN keeps the queue within a fifth of its set point of 26 KB during the hotspot.
#[test]
fn nine_connections_need_pause_and_qcn() {
    let plain = shipped("tcp-9-senders-plain-rtt25us", &["duration=2.2s"]);
    assert!(metric(&plain, "drops").is_some_and(|drops| drops > 0.0));
    assert!(metric(&plain, "timeouts").is_some_and(|timeouts| timeouts > 0.0));
    let both = shipped("tcp-9-senders-qcn-and-pause-rtt25us", &["duration=2.2s"]);
    assert_eq!((metric(&both, "drops"), metric(&both, "timeouts")), (Some(0.0), Some(0.0)));
    let queue = metric(&both, "queue_during_bytes").unwrap_or(0.0);
    assert!((20_800.0..31_200.0).contains(&queue), "{queue} B");
}

const FLOWS: &str = r#"
title = "Random flows"
duration = "5 ms"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts = 2
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "flows"
from = "*"
to = "*"
sizes = "20 KB"
load = 0.2
frame = "1000 B"
[scheme]
name = "none"
"#;

/// Replications have flows of their own, and each row has the name of its own replication's flow.
#[test]
fn rows_of_random_flows_have_the_right_names() {
    let scenario = Scenario::parse(FLOWS.trim_start(), "flows.toml").unwrap_or_else(|error| panic!("{error}"));
    let both = outcome(&scenario, &[], 2);
    let names = words(&both, "flows", "source");
    let counts: Vec<usize> = both.replications.iter().map(|run| run.done.flows.len()).collect();
    assert_eq!(names.len(), counts.iter().sum::<usize>());
    let first = outcome(&scenario, &[], 1);
    assert_eq!(names[..counts[0]], words(&first, "flows", "source"));
    assert_ne!(names[..counts[0]], names[counts[0]..]);
    let slowdown = metric(&both, "slowdown_mean").unwrap_or(0.0);
    assert!((1.0..3.0).contains(&slowdown), "{slowdown}");
    assert_eq!(metric(&both, "off_max_min"), None, "flows with an end have no fair rate");
}

/// An input memory of two frames, filled at 10 Gb/s, emptied at 970 Mb/s.
const SMALL_MEMORY: &str = r#"
title = "Two frames of memory"
duration = "1 ms"
[topology]
kind = "graph"
[[link]]
from = "host1"
to = "switch"
rate = "10 Gb/s"
delay = "0 s"
[[link]]
from = "host2"
to = "switch"
rate = "970 Mb/s"
delay = "0 s"
[[switch]]
input_memory = "3000 B"
[[traffic]]
arrivals = "constant"
from = "host1"
to = "host2"
rate = "10 Gb/s"
frame = "1500 B"
[scheme]
name = "qcn"
[scheme.cp]
set_point = "500 B"
sample_base = "15 KB"
jitter_width = 0
adaptive_sampling = false
[scheme.rp]
gd = 0
"#;

/// A frame arrives each 1.2 us, 833 in all. One leaves each 12.371 us from 1.2 us on, 80 in all, so that 82 are admitted
/// and 751 discarded. Each sample takes eleven frames, finds 3000 octets, 2500 above the set point, and says so: 75 of
/// all that arrive, 7 of those that are admitted. No source slows down, because Gd is 0.
#[test]
fn frames_that_input_memory_discards_count_where_discarded_frames_do() {
    let scenario = Scenario::parse(SMALL_MEMORY.trim_start(), "small-memory.toml");
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    for (counted, messages) in [("true", 75.0), ("false", 7.0)] {
        let outcome = outcome(&scenario, &[&format!("scheme.cp.count_discarded={counted}")], 1);
        assert_eq!(metric(&outcome, "drops"), Some(751.0));
        assert_eq!(metric(&outcome, "messages"), Some(messages), "count_discarded = {counted}");
    }
}
