//! One replication of a scenario.

use crate::clock::CpuClock;
use crate::error::RunError;
use crate::fabric::Fabric;
use crate::metrics::{self, CausesByFlow, CollectiveRun, Meter};
use crate::run_id::RunId;
use qcnlab_scenario::Scenario;
use qcnlab_schemes::foreign;
use qcnlab_sim::{Control, Engine, Finished, Followed, Halt, Plan, PortId, Record, Sink, Trace, run_following};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What one replication gave.
#[derive(Debug)]
pub struct Replication {
    /// The trace, if tables are recorded, and the totals.
    pub done: Finished,
    /// Values in the order of [`METRICS`].
    pub metrics: Vec<Option<f64>>,
    /// CPU seconds the engine took. Differs from run to run.
    pub cpu_s: f64,
    /// Whether it had flows that share links and no packets: what it does not count is zero, and none in tables.
    pub flow_level: bool,
    pub(crate) fabric: Arc<Fabric>,
    /// What the times of messages on the chains of slowest ranks went by with; `None` unless the scenario asks for it.
    pub(crate) causes: Option<CausesByFlow>,
}

/// Run one replication on a fabric.
#[cfg(feature = "threads")]
pub(crate) fn replicate(
    scenario: &Scenario,
    seed: u64,
    fabric: Arc<Fabric>,
    rep: u32,
    control: &Control,
) -> Result<Replication, RunError> {
    let run = |plan: Plan, observer: &mut dyn FnMut(&Trace)| {
        let engine = Engine::new(&plan);
        // It takes memory for each flow, and the run needs it no more.
        drop(plan);
        engine.run_watched(control, observer)
    };
    measured(scenario, seed, fabric, rep, control, run)
}

/// As [`replicate`] for the first replication; `sink` gets what `ports` send.
#[cfg(feature = "files")]
pub(crate) fn replicate_captured(
    scenario: &Scenario,
    seed: u64,
    fabric: Arc<Fabric>,
    control: &Control,
    ports: &[PortId],
    sink: Sink<'_>,
) -> Result<Replication, RunError> {
    let run = |plan: Plan, observer: &mut dyn FnMut(&Trace)| Engine::run_captured(plan, ports, control, observer, sink);
    measured(scenario, seed, fabric, 0, control, run)
}

fn measured(
    scenario: &Scenario,
    seed: u64,
    fabric: Arc<Fabric>,
    rep: u32,
    control: &Control,
    run: impl FnOnce(Plan, &mut dyn FnMut(&Trace)) -> Result<Finished, Halt>,
) -> Result<Replication, RunError> {
    let clock = CpuClock::start();
    let plan = fabric.plan(scenario, seed, rep);
    let mut meter = Meter::new(scenario, &fabric);
    let ran = RunId::within(control, || foreign::guard(|| run(plan, &mut |trace| meter.read_rows(trace))));
    let failed = |failure| match control.cancel.load(Ordering::Relaxed) {
        true => RunError::Cancelled,
        false => RunError::Foreign { replication: rep, failure },
    };
    let done = ran.map_err(failed)?.map_err(|halt| halted(scenario, rep, halt))?;
    let causes = match scenario.record.waits {
        true => Some(
            RunId::within(control, || foreign::guard(|| causes(scenario, seed, &fabric, rep, control, &done)))
                .map_err(failed)??,
        ),
        false => None,
    };
    let cpu_s = clock.seconds();
    let metrics = metrics::measure(scenario, &fabric, meter, &done);
    Ok(Replication { done, metrics, cpu_s, flow_level: false, fabric, causes })
}

/// Runs a replication again and follows the messages that its slowest ranks waited for.
fn causes(
    scenario: &Scenario,
    seed: u64,
    fabric: &Fabric,
    rep: u32,
    control: &Control,
    done: &Finished,
) -> Result<CausesByFlow, RunError> {
    let again = |followed: &[Followed]| {
        let mut plan = fabric.plan(scenario, seed, rep);
        plan.record = Record { kept: true, ..Record::default() };
        run_following(plan, followed, control).map_err(|halt| halted(scenario, rep, halt))
    };
    metrics::causes(&CollectiveRun::all(scenario, fabric, done), again)
}

/// Why a run that halted gives no results.
pub(crate) fn halted(scenario: &Scenario, replication: u32, halt: Halt) -> RunError {
    let scenario = scenario.name.clone();
    match halt {
        Halt::Cancelled => RunError::Cancelled,
        Halt::Violation(violation) => RunError::Violation { scenario, replication, violation },
        Halt::Replay(error) => RunError::Replay { scenario, replication, error },
    }
}
