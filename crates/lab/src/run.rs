//! Every replication of scenarios, on all cores.
//!
//! Every replication is an engine of its own; results come back in the order of
//! the scenarios and replications, so the number of threads changes nothing but time.

use crate::error::RunError;
use crate::estimate::Estimate;
use crate::outcome::Outcome;
use crate::tasks::{Options, all_tasks};
use crate::workers::run_each;
use qcnlab_scenario::Scenario;
use qcnlab_sim::Control;
use std::sync::OnceLock;

/// Runs every replication of every scenario.
///
/// # Errors
/// When stopped through `control`, when a run breaks a law, without threads, or, before any begins, when there is not
/// memory for all of it.
pub fn run(scenarios: &[Scenario], options: &Options, control: &Control) -> Result<Vec<Outcome>, RunError> {
    Estimate::of(scenarios, options).check(options).map_err(RunError::Memory)?;
    let tasks = all_tasks(scenarios, options);
    let results: Vec<OnceLock<_>> = tasks.iter().map(|_| OnceLock::new()).collect();
    run_each(scenarios, &tasks, options, control, |number, result| {
        results[number].get_or_init(|| result);
    })?;
    let empty =
        |s: &Scenario| Outcome { scenario: s.clone(), seed: options.seed.unwrap_or(s.seed), replications: Vec::new() };
    let mut outcomes: Vec<Outcome> = scenarios.iter().map(empty).collect();
    for (task, result) in tasks.iter().zip(results) {
        outcomes[task.scenario].replications.push(result.into_inner().unwrap_or(Err(RunError::Cancelled))?);
    }
    Ok(outcomes)
}
