//! Runs from Python: the interpreter is free while they go on, and may stop them.

use crate::errors;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use pyo3::prelude::*;
use qcnlab_lab::{Control, Options};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often the interpreter is asked for signals, and the caller told of progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// All replications of all scenarios.
#[pyfunction]
#[pyo3(signature = (scenarios, *, seed = None, replications = None, jobs = None, progress = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    seed: Option<u64>,
    replications: Option<u32>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Outcome>> {
    let scenarios: Vec<_> = scenarios.iter().map(|s| s.0.clone()).collect();
    let options = Options { seed, replications, jobs };
    let work = qcnlab_lab::work_ps(&scenarios, &options).max(1) as f64;
    let control = Control::default();
    let (done, mut finished) = mpsc::sync_channel(1);
    let mut interrupted = None;
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = done.send(qcnlab_lab::run(&scenarios, &options, &control));
        });
        loop {
            let finished = &mut finished;
            match py.detach(move || finished.recv_timeout(LOOK_EVERY)) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let share = control.done_ps.load(Ordering::Relaxed) as f64 / work;
                    let told = match &progress {
                        Some(progress) => progress.call1(py, (share,)).map(drop),
                        None => Ok(()),
                    };
                    if let Err(stop) = told.and_then(|()| py.check_signals()) {
                        interrupted.get_or_insert(stop);
                        control.cancel.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    if let Some(stop) = interrupted {
        return Err(stop);
    }
    let outcomes = result.expect("the running thread answers before it ends");
    let outcomes = outcomes.map_err(|fault| errors::of_run(py, &fault))?;
    if let Some(progress) = progress {
        progress.call1(py, (1.0,))?;
    }
    Ok(outcomes.into_iter().map(Outcome).collect())
}
