//! Runs of something other than the engine, with the outcome of any run.

use crate::clock::CpuClock;
use crate::error::RunError;
use crate::fabric::Fabric;
use crate::metrics::{self, Meter};
use crate::outcome::Outcome;
use crate::replication::Replication;
use qcnlab_scenario::{Draw, PortDefence, Scenario};
use qcnlab_sim::{Finished, Plan, PortId};
use qcnlab_units::IdVec;
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
    let replication = Replication { done, metrics, cpu_s: clock.seconds(), flow_level: false, fabric, causes: None };
    Ok(Ok(Outcome { scenario: scenario.clone(), seed, replications: vec![replication] }))
}

/// How the ports of the first replication's plan defend the scenario's domain, before LLDP settles what is automatic:
/// `None` for ports of nodes that take no part, and for all without a domain.
///
/// # Errors
/// When the scenario cannot work.
pub fn port_defences(scenario: &Scenario, seed: u64) -> Result<IdVec<PortId, Option<PortDefence>>, RunError> {
    let fabric = Fabric::new(scenario, Draw { seed, replication: 0 });
    Ok(fabric.map_err(|error| RunError::Scenario { replication: 0, error })?.defences)
}
