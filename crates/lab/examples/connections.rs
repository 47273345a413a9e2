//! Runs a scenario of TCP connections: `connections FILE WARMUP END [KEY=VALUE ...]`, times in seconds.
//!
//! Prints, as JSON, what happened between WARMUP and END: goodput, drops, timeouts, recoveries, and the means
//! of congestion windows and of octets in flight over all samples and connections. For comparisons with other
//! implementations.

use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;
use qcnlab_units::Instant;
use serde_json::{Value, json};
use std::error::Error;
use std::process::ExitCode;

/// Totals of a run over its connections.
#[derive(Default)]
struct Totals {
    in_order_bytes: u64,
    dropped: u64,
    timeouts: u64,
    recoveries: u64,
    frame_hops: u64,
    /// Mean window and flight of the samples since the warm-up, octets.
    means: (f64, f64),
}

fn totals(scenario: &Scenario, until: &str, since: Instant) -> Result<Totals, Box<dyn Error>> {
    let scenario = scenario.with_overrides(&[format!("duration={until} s")])?;
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    let outcomes = run(&[scenario], &options, &Control::default())?;
    let done = &outcomes[0].replications[0].done;
    let mut totals = Totals { frame_hops: done.counters.frame_hops, ..Totals::default() };
    for flow in &done.flows {
        let tcp = flow.tcp.unwrap_or_default();
        totals.in_order_bytes += tcp.in_order_bytes;
        totals.dropped += flow.dropped;
        totals.timeouts += tcp.timeouts;
        totals.recoveries += tcp.fast_retransmits;
    }
    let rows = &done.trace.windows;
    let first = rows.time.partition_point(|time| *time < since.ps());
    let mean = |column: &[u64]| column[first..].iter().sum::<u64>() as f64 / (column.len() - first) as f64;
    totals.means = (mean(&rows.window), mean(&rows.flight));
    Ok(totals)
}

fn measure(file: &str, warmup: &str, end: &str, changes: &[String]) -> Result<Value, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let scenario = Scenario::parse(&text, file)?.with_overrides(changes)?;
    let seconds = end.parse::<f64>()? - warmup.parse::<f64>()?;
    let since = Instant::from_ps((warmup.parse::<f64>()? * 1e12) as u64);
    let (before, after) = (totals(&scenario, warmup, Instant::ZERO)?, totals(&scenario, end, since)?);
    Ok(json!({
        "goodput_bps": (after.in_order_bytes - before.in_order_bytes) as f64 * 8.0 / seconds,
        "drops": after.dropped - before.dropped,
        "timeouts": after.timeouts - before.timeouts,
        "recoveries": after.recoveries - before.recoveries,
        "window_bytes": after.means.0,
        "flight_bytes": after.means.1,
        "frame_hops": after.frame_hops,
    }))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, warmup, end, changes @ ..] = &arguments[..] else {
        eprintln!("usage: connections FILE WARMUP END [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    match measure(file, warmup, end, changes) {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}
