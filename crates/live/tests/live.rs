//! Live runs on this machine: what must hold under any load. Where the machine cannot run them they are skipped, said
//! so and counted; with QCNLAB_REQUIRE_LIVE=1 that is a failure.

use qcnlab_lab::{Control, Scenario};
use qcnlab_live::{LiveOptions, LiveRun, examine, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// Two saturated senders, 10 Gb/s, that drops to 0.5 Gb/s for a third of the time: 4.5 s at scale 100.
const HOTSPOT: &str = r#"
duration = "45 ms"
warmup = "5 ms"

[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "20 us"
buffer = "150 KB"

[[traffic]]
kind = "saturated"
frame = "1500 B"

[[hotspot]]
from = "15 ms"
until = "30 ms"
rate = "0.5 Gb/s"

[scheme]
name = "qcn"
preset = "DECK001"
"#;

fn live(text: &str, options: &LiveOptions) -> LiveRun {
    let scenario = Scenario::parse(text, "test.toml").expect("the scenario can work");
    run(&scenario, options, &Control::default()).expect("it runs")
}

fn a_hotspot_is_answered_by_cnms_and_lower_rates() {
    let run = live(HOTSPOT, &LiveOptions::default());
    let [replication] = &run.outcome.replications[..] else { panic!("one replication") };
    let (trace, counters) = (&replication.done.trace, &replication.done.counters);
    eprintln!("{counters:?}");
    eprintln!("{:#}", run.account_json());
    assert!(counters.frames_delivered > 1000, "{counters:?}");
    assert!(counters.messages_sent > 5 && counters.messages_heard > 5, "{counters:?}");
    let most = trace.queues.bytes.iter().max().expect("queues are sampled");
    assert!(*most <= 150_000, "{most}");
    let lowest = trace.rates.current.iter().min().expect("rates are sampled");
    assert!(*lowest < 50_000_000, "{lowest}");
}

const TESTS: &[(&str, fn())] =
    &[("a_hotspot_is_answered_by_cnms_and_lower_rates", a_hotspot_is_answered_by_cnms_and_lower_rates)];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let missing: Vec<String> = examine()
        .into_iter()
        .filter(|finding| finding.needed && !finding.works)
        .map(|finding| format!("{}: {}", finding.what, finding.said))
        .collect();
    let required = std::env::var("QCNLAB_REQUIRE_LIVE").is_ok_and(|value| value == "1");
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, test) in TESTS {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if !missing.is_empty() {
            println!("test {name} ... SKIPPED live: {}", missing.join("; "));
            skipped += 1;
            continue;
        }
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(test));
        let seconds = start.elapsed().as_secs_f64();
        println!("test {name} ... {} ({seconds:.1} s)", if result.is_ok() { "ok" } else { "FAILED" });
        if result.is_ok() { passed += 1 } else { failed += 1 }
    }
    let refused = required && skipped > 0;
    let verdict = if failed > 0 || refused { "FAILED" } else { "ok" };
    println!("\ntest result: {verdict}. {passed} passed; {failed} failed; {skipped} skipped");
    ExitCode::from(u8::from(failed > 0 || refused))
}
