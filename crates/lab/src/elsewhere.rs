//! Runs of something other than the engine, with the outcome of any run.

use crate::clock::CpuClock;
use crate::error::RunError;
use crate::fabric::Fabric;
use crate::metrics::{self, Meter};
use crate::outcome::Outcome;
use crate::replication::Replication;
use crate::scenario::{Draw, Scenario};
use qcnlab_sim::{Finished, Plan};
use std::sync::Arc;

/// Has `run` run the plan of a scenario's first replication, and measures what it gives.
///
/// # Errors
/// When the scenario cannot work. The inner error is that of `run`.
pub fn run_elsewhere<E>(
    scenario: &Scenario,
    seed: u64,
    run: impl FnOnce(Plan) -> Result<Finished, E>,
) -> Result<Result<Outcome, E>, RunError> {
    let fabric = Fabric::new(scenario, Draw { seed, replication: 0 });
    let fabric = Arc::new(fabric.map_err(|error| RunError::Scenario { replication: 0, error })?);
    let clock = CpuClock::start();
    let done = match run(fabric.plan(scenario, seed, 0)) {
        Ok(done) => done,
        Err(error) => return Ok(Err(error)),
    };
    let mut meter = Meter::new(scenario, &fabric);
    meter.read_rows(&done.trace);
    let metrics = metrics::measure(scenario, &fabric, meter, &done);
    let replication = Replication { done, metrics, cpu_s: clock.seconds(), fabric };
    Ok(Ok(Outcome { scenario: scenario.clone(), seed, replications: vec![replication] }))
}
