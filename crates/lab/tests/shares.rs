//! Metrics that are shares of a whole lie between 0 and 1. `digests.rs` asks it of every shipped scenario, which it runs.

mod share_law;

use qcnlab_lab::{Control, Options, Outcome, run};
use qcnlab_scenario::Scenario;
use share_law::{values, wrong};

fn outcome(scenario: &Scenario, overrides: &[&str], replications: u32) -> Outcome {
    let scenario = scenario.with_overrides(overrides).unwrap_or_else(|error| panic!("{overrides:?}: {error}"));
    let options = Options { replications: Some(replications), seed: Some(0), ..Options::default() };
    let outcomes = run(&[scenario], &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    outcomes.into_iter().next().unwrap_or_else(|| panic!("one scenario, one outcome"))
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
