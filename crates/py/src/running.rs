//! Runs from Python: the interpreter is free while they go on, and may stop them.

use crate::errors;
use crate::interruption;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use qcnlab_lab::{Control, Options, Replication, RunError, Task};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often the interpreter is asked for signals and the caller is told of the progress.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// All replications of all scenarios.
#[pyfunction]
#[pyo3(signature = (scenarios, *, seed = None, replications = None, jobs = None, flow_level = false, progress = None))]
pub(crate) fn run(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    seed: Option<u64>,
    replications: Option<u32>,
    jobs: Option<usize>,
    flow_level: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Outcome>> {
    let scenarios: Vec<_> = scenarios.iter().map(|s| s.0.clone()).collect();
    let options = Options { seed, replications, jobs, flow_level };
    let control = Control::default();
    let work_ps = qcnlab_lab::work_ps(&scenarios, &qcnlab_lab::all_tasks(&scenarios, &options));
    let running = || qcnlab_lab::run(&scenarios, &options, &control);
    let watched = Attended { control: &control, work_ps, progress, counts_messages: true };
    let outcomes = attended(py, &watched, running, || Ok(()))?;
    let outcomes = outcomes.map_err(|fault| errors::run_exception(py, &fault))?;
    Ok(outcomes.into_iter().map(Outcome).collect())
}

/// Runs tasks. `ended` gets each one some time after it ends: its index in `tasks`, and its metrics or the error it
/// ended with.
#[pyfunction]
#[pyo3(signature = (scenarios, tasks, ended, *, seed = None, jobs = None, progress = None))]
pub(crate) fn run_each(
    py: Python<'_>,
    scenarios: Vec<PyRef<'_, Scenario>>,
    tasks: Vec<(usize, u32)>,
    ended: Py<PyAny>,
    seed: Option<u64>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let scenarios: Vec<_> = scenarios.iter().map(|s| s.0.clone()).collect();
    let tasks: Vec<Task> = tasks.into_iter().map(|(scenario, replication)| Task { scenario, replication }).collect();
    if let Some(task) = tasks.iter().find(|task| task.scenario >= scenarios.len()) {
        return Err(PyIndexError::new_err(format!("there is no scenario {}", task.scenario)));
    }
    let options = Options { seed, jobs, ..Options::default() };
    let control = Control::default();
    let work_ps = qcnlab_lab::work_ps(&scenarios, &tasks);
    let (to, from) = mpsc::channel();
    let running = || {
        qcnlab_lab::run_each(&scenarios, &tasks, &options, &control, |index, result| {
            let _ = to.send((index, result.map(|done: Replication| done.metrics)));
        })
    };
    let hand_on = || hand_on(py, &from, &ended);
    let watched = Attended { control: &control, work_ps, progress, counts_messages: false };
    attended(py, &watched, running, hand_on)?.map_err(|fault| errors::run_exception(py, &fault))
}

/// A task's index, and its metrics or why there are none.
type Ended = (usize, Result<Vec<Option<f64>>, RunError>);

/// Hands to `to` all tasks that have ended by now, except those that were stopped.
fn hand_on(py: Python<'_>, from: &Receiver<Ended>, to: &Py<PyAny>) -> PyResult<()> {
    let mut all: Vec<(usize, Py<PyAny>)> = Vec::new();
    for (index, result) in from.try_iter() {
        match result {
            Ok(metrics) => all.push((index, metrics.into_pyobject(py)?.into_any().unbind())),
            Err(RunError::Cancelled) => {}
            Err(fault) => all.push((index, errors::run_exception(py, &fault).into_value(py).into_any())),
        }
    }
    if all.is_empty() { Ok(()) } else { to.call1(py, (all,)).map(drop) }
}

/// What the calling thread watches while runs go on.
pub(crate) struct Attended<'a> {
    pub(crate) control: &'a Control,
    /// The value of `control.done_ps` at the end.
    pub(crate) work_ps: u64,
    /// Called with the share of the work that is done.
    pub(crate) progress: Option<Py<PyAny>>,
    /// Whether it is also told how many messages are complete, and of how many: 0 of 0 in runs that are not over with them.
    pub(crate) counts_messages: bool,
}

impl Attended<'_> {
    /// Tells the caller how far the work is.
    fn tell(&self, py: Python<'_>, share: f64) -> PyResult<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        let [done, all] = [&self.control.done_flows, &self.control.flows].map(|count| count.load(Ordering::Relaxed));
        match self.counts_messages {
            true => progress.call1(py, (share, done, all)),
            false => progress.call1(py, (share,)),
        }
        .map(drop)
    }
}

/// Calls `running` on a thread of its own. Meanwhile and at the end it calls `poll`; in between it reports progress and
/// checks for signals. An exception from any of these stops the runs and is raised after the last `poll`.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    of: &Attended<'_>,
    running: impl FnOnce() -> T + Send,
    poll: impl Fn() -> PyResult<()>,
) -> PyResult<T> {
    let work = of.work_ps.max(1) as f64;
    let tell = |share: f64| of.tell(py, share);
    let (done, mut finished) = mpsc::sync_channel(1);
    let mut stop = None;
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = done.send(running());
        });
        loop {
            let finished = &mut finished;
            match py.detach(move || finished.recv_timeout(POLL_EVERY)) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let share = of.control.done_ps.load(Ordering::Relaxed) as f64 / work;
                    let polled = poll().and_then(|()| tell(share)).and_then(|()| py.check_signals());
                    if let Err(error) = polled {
                        stop.get_or_insert(error);
                        of.control.cancel.store(true, Ordering::Relaxed);
                    }
                    if stop.is_some() {
                        // Each time anew: a scheme may catch the exception and go on.
                        interruption::interrupt(py, of.control)
                            .unwrap_or_else(|error| error.write_unraisable(py, None));
                    }
                }
            }
        }
    });
    let polled = poll();
    if let Some(stop) = stop {
        return Err(stop);
    }
    polled?;
    tell(1.0)?;
    Ok(result.expect("the running thread answers before it ends"))
}
