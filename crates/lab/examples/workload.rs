//! Runs one replication of a shipped scenario: `workload NAME [KEY=VALUE ...]`.
//!
//! Prints frame-hops and events. A bare program around the engine, for profilers and instruction counts.

use qcnlab_lab::{Control, Options, Scenario, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        eprintln!("usage: workload NAME [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let overrides: Vec<String> = arguments.collect();
    let scenario = match Scenario::shipped(&name).and_then(|scenario| scenario.with_overrides(&overrides)) {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("{}", error.render());
            return ExitCode::from(2);
        }
    };
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    match run(&[scenario], &options, &Control::default()) {
        Ok(outcomes) => {
            let counters = outcomes[0].replications[0].done.counters;
            println!("{} {}", counters.frame_hops, counters.events);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}
