//! Metrics that are shares of a whole lie between 0 and 1.

use qcnlab_lab::{Control, METRICS, Options, Outcome, run};
use qcnlab_scenario::{Scenario, shipped};
use qcnlab_units::Span;

fn outcome(scenario: &Scenario, overrides: &[&str], replications: u32) -> Outcome {
    let scenario = scenario.with_overrides(overrides).unwrap_or_else(|error| panic!("{overrides:?}: {error}"));
    let options = Options { replications: Some(replications), seed: Some(0), ..Options::default() };
    let outcomes = run(&[scenario], &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    outcomes.into_iter().next().unwrap_or_else(|| panic!("one scenario, one outcome"))
}

fn values(outcome: &Outcome, name: &str) -> Vec<Option<f64>> {
    let index = METRICS.iter().position(|metric| metric.name == name).unwrap_or_else(|| panic!("no metric {name}"));
    outcome.replications.iter().map(|replication| replication.metrics[index]).collect()
}

/// What lies outside 0 to 1. Bins count frames where they end: one more than the link carries in it may fall into a window.
fn wrong(what: &str, outcome: &Outcome, slack: f64) -> Vec<String> {
    let shares = METRICS.iter().filter(|metric| metric.is_share()).map(|metric| metric.name);
    let all = shares.flat_map(|name| values(outcome, name).into_iter().flatten().map(move |value| (name, value)));
    let bad = all.filter(|(_, value)| !(0.0..=1.0 + slack).contains(value));
    bad.map(|(name, value)| format!("{what}: {name} is {value}")).collect()
}

/// A shipped scenario, shortened where nothing in it happens later.
fn short(scenario: &Scenario) -> Vec<String> {
    let hot = scenario.hotspots.iter().map(|hotspot| hotspot.until).max().unwrap_or(Span::ZERO);
    let from = scenario.warmup.max(hot).ps();
    let until = (from + from / 4 + 4_000_000_000).min(scenario.duration.ps());
    vec![format!("duration={until} ps"), "record.tables=false".to_owned()]
}

#[test]
fn every_shipped_scenario_has_shares_up_to_1() {
    let (mut all, mut runs) = (Vec::new(), 0);
    for each in shipped() {
        let scenario = each.scenario().unwrap_or_else(|error| panic!("{}: {error}", each.name));
        let overrides = short(&scenario);
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        if scenario.duration <= Span::from_ms(2000) && scenario.with_overrides(&overrides).is_ok() {
            runs += 1;
            all.extend(wrong(each.name, &outcome(&scenario, &overrides, 1), 0.002));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(runs >= 25, "{runs} scenarios are short enough");
}

const LINK_FAILURE: &str = "link-failure-leaf-spine-100g";

/// Frames that are spread over four spines do not all cross one port: what crosses it is not known, and is not said.
#[test]
fn a_port_that_carries_a_part_of_a_flow_has_no_utilisation() {
    let scenario = Scenario::shipped(LINK_FAILURE).unwrap_or_else(|error| panic!("{error}"));
    let port = |word: &str| format!("record.bottleneck={word}");
    for way in ["frame", "round_robin", "flowlet", "reps", "flow"] {
        let multipath = format!("routing.multipath={way}");
        for bottleneck in [None, Some(port("leaf1->spine1")), Some(port("leaf2->host9"))] {
            let mut overrides = vec![multipath.as_str(), "duration=1.7 ms", "warmup=0.3 ms", "record.tables=false"];
            overrides.extend(bottleneck.as_deref());
            let done = outcome(&scenario, &overrides, 2);
            let what = format!("{way}, {bottleneck:?}");
            assert_eq!(wrong(&what, &done, 0.002), Vec::<String>::new());
            let spread = way != "flow" && bottleneck.as_deref().is_some_and(|port| port.contains("spine1"));
            for name in ["util_before", "throughput_outside_gbps", "bottleneck_gbps"] {
                let known = values(&done, name);
                assert!(!spread || known == [None, None], "{what}: {name} {known:?}");
                let whole = bottleneck.as_deref().is_some_and(|port| port.contains("host9"));
                assert!(!whole || known.iter().all(Option::is_some), "{what}: {name} {known:?}");
            }
            assert!(values(&done, "aggregate_gbps").iter().all(Option::is_some), "{what}");
        }
    }
}

const TWO_PORTS: &str = r#"
title = "A hotspot at another port than the bottleneck"
duration = "9 ms"
warmup = "1 ms"
[topology]
kind = "switch"
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "constant"
from = "host{1..2}"
to = "host3"
rate = "4 Gb/s"
frame = "1500 B"
[[traffic]]
arrivals = "constant"
from = "host1"
to = "host4"
rate = "1 Gb/s"
frame = "1500 B"
[[hotspot]]
port = "switch->host4"
from = "3 ms"
until = "5 ms"
rate = "100 Mb/s"
[scheme]
name = "none"
[record]
bottleneck = "switch->host3"
throughput_bin = "100 us"
queue_every = "100 us"
"#;

/// 8 Gb/s through 10 while another port is slowed to 0.1: 0.8, and not 80.
#[test]
fn a_hotspot_elsewhere_slows_nothing_here() {
    let scenario = Scenario::parse(TWO_PORTS.trim_start(), "two.toml").unwrap_or_else(|error| panic!("{error}"));
    let during = values(&outcome(&scenario, &[], 1), "util_during")[0].expect("a hotspot");
    assert!((during - 0.8).abs() < 0.01, "{during}");
}
