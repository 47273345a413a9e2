//! Metrics are read from rows as they come: they are the same whether rows stay for tables or not.

use qcnlab_lab::{Control, METRICS, Options, Outcome, run};
use qcnlab_scenario::Scenario;

/// Runs a shipped scenario once, with and without tables.
fn both(name: &str, overrides: &[&str]) -> [Outcome; 2] {
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    ["true", "false"].map(|tables| {
        let tables = format!("record.tables={tables}");
        let overrides: Vec<&str> = overrides.iter().copied().chain([tables.as_str()]).collect();
        let scenario = Scenario::shipped(name).unwrap().with_overrides(&overrides).unwrap();
        run(&[scenario], &options, &Control::default()).unwrap().remove(0)
    })
}

fn agree(name: &str, overrides: &[&str]) -> Outcome {
    let [with, without] = both(name, overrides);
    let bits = |outcome: &Outcome| -> Vec<Option<u64>> {
        outcome.replications[0].metrics.iter().map(|value| value.map(f64::to_bits)).collect()
    };
    for ((metric, with), without) in METRICS.iter().zip(bits(&with)).zip(bits(&without)) {
        assert_eq!(with, without, "{} of {name} with {overrides:?}", metric.name);
    }
    for table in ["queues", "throughput", "drops", "messages", "pauses", "rates"] {
        assert_eq!(without.table(table).unwrap().rows, 0, "{table} of {name}");
    }
    assert!(with.table("throughput").unwrap().rows > 0 && with.table("queues").unwrap().rows > 0);
    with
}

/// The queue recovers, breaks rows of good bins on the way, and starts sums anew each time.
#[test]
fn with_a_recovery() {
    let short = ["duration=700 ms", "warmup=50 ms", "hotspot.from=150 ms", "hotspot.until=300 ms"];
    let all = agree("og-hotspot-2src-10g-to-500m-rtt10us", &short);
    let recovery = METRICS.iter().position(|metric| metric.name == "recovery_ms").unwrap();
    assert!(all.replications[0].metrics[recovery].unwrap() > 20.0);
    agree("og-hotspot-2src-10g-to-500m-rtt10us", &[&short[..], &["record.throughput_bin=370 us"]].concat());
    agree("og-hotspot-2src-10g-to-500m-rtt10us", &[&short[..], &["record.queue_every=7 us"]].concat());
}

/// No flow ends where another does, and links differ in length, so that bins end one after the other.
#[test]
fn with_many_sinks() {
    let short = ["duration=12 ms", "warmup=1 ms", "record.throughput_bin=130 us"];
    agree("w4-fat-tree-k4-cbr", &short);
    let hotspot =
        ["duration=60 ms", "warmup=0 s", "hotspot.from=10 ms", "hotspot.until=11 ms", "record.throughput_bin=5 ms"];
    let all = agree("og-11-nodes-uniform-pause-1500kb-rtt5us", &hotspot);
    let recovery = METRICS.iter().position(|metric| metric.name == "recovery_ms").unwrap();
    assert!(all.replications[0].metrics[recovery].unwrap() > 0.0);
    agree("chain-20-stages-pause-1500kb-rtt2us", &["duration=30 ms", "warmup=2 ms"]);
}
