//! Runs one replication of a scenario: `workload [--flow-level] NAME|FILE.toml [KEY=VALUE ...]`.
//!
//! Prints frame-hops, events, discarded frames, the CPU seconds of the run without the set-up of its network,
//! and by how many KiB the largest resident memory exceeded that at the start (Linux). At the flow level there are no frames;
//! events are arrivals and ends of flows. A bare program around the
//! engine, for profilers, peers and instruction counts.

use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;
use std::error::Error;
use std::process::ExitCode;

fn read(name: &str, overrides: &[String]) -> Result<Scenario, Box<dyn Error>> {
    let scenario = if name.ends_with(".toml") {
        let text = std::fs::read_to_string(name)?;
        Scenario::parse(&text, name)
    } else {
        Scenario::shipped(name)
    };
    Ok(scenario.and_then(|scenario| scenario.with_overrides(overrides)).map_err(|error| error.render())?)
}

/// The largest resident memory so far, KiB; 0 where the system does not say.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn main() -> ExitCode {
    let idle_kib = peak_kib();
    let mut arguments = std::env::args().skip(1).peekable();
    let flow_level = arguments.next_if(|first| first == "--flow-level").is_some();
    let Some(name) = arguments.next() else {
        eprintln!("usage: workload [--flow-level] NAME|FILE.toml [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let overrides: Vec<String> = arguments.collect();
    let scenario = match read(&name, &overrides) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let options = Options { replications: Some(1), jobs: Some(1), flow_level, ..Options::default() };
    match run(&[scenario], &options, &Control::default()) {
        Ok(outcomes) => {
            let run = &outcomes[0].replications[0];
            let counters = run.done.counters;
            let (hops, events, dropped) = (counters.frame_hops, counters.events, counters.frames_dropped);
            println!("{hops} {events} {dropped} {:.6} {}", run.cpu_s, peak_kib() - idle_kib);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}
