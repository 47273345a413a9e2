//! Captures: runs that write one, and the frames of one that is there.

use crate::errors;
use crate::outcome::Outcome;
use crate::running;
use crate::scenario::Scenario;
use pyo3::prelude::*;
use qcnlab_lab::units::{Bytes, Instant};
use qcnlab_lab::{CaptureOptions, CapturedRows, Control, FramesKept, Options};
use std::path::PathBuf;
use std::sync::Mutex;

/// What is captured, and when it ends. Times are in seconds.
#[pyclass(frozen, module = "qcnlab._core")]
pub(crate) struct Capture(CaptureOptions);

#[pymethods]
impl Capture {
    #[new]
    #[pyo3(signature = (
        file, ports, *, whole = false, snap_len = None, max_frames = None, max_size = None, from_s = 0.0, until_s = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python class")]
    fn new(
        file: PathBuf,
        ports: &str,
        whole: bool,
        snap_len: Option<u32>,
        max_frames: Option<u64>,
        max_size: Option<u64>,
        from_s: f64,
        until_s: Option<f64>,
    ) -> Capture {
        let instant = |seconds: f64| Instant::from_ps((seconds * 1e12).round() as u64);
        Capture(CaptureOptions {
            kept: if whole { FramesKept::All } else { FramesKept::Headers },
            snap_len,
            max_frames,
            max_size: max_size.map(Bytes::new),
            from: instant(from_s),
            until: until_s.map_or(Instant::NEVER, instant),
            ..CaptureOptions::new(&file, ports)
        })
    }

    /// Octets that the file is estimated to take.
    #[pyo3(signature = (scenario, seed = None))]
    fn size(&self, py: Python<'_>, scenario: &Scenario, seed: Option<u64>) -> PyResult<u64> {
        let seed = seed.unwrap_or(scenario.0.seed);
        let size = qcnlab_lab::capture_size(&scenario.0, seed, &self.0);
        size.map(Bytes::get).map_err(|fault| errors::run_exception(py, &fault))
    }
}

/// Ports, frames, octets, the limit that ended a capture, and why it could not be written to its end.
type Summary = (Vec<String>, u64, u64, Option<&'static str>, Option<String>);

/// All replications of a scenario, the first of them captured; also the capture's summary: ports, frames, octets, the
/// limit that ended it and why it could not be written to its end.
#[pyfunction]
#[pyo3(signature = (scenario, capture, *, seed = None, replications = None, jobs = None, progress = None))]
pub(crate) fn run_captured(
    py: Python<'_>,
    scenario: &Scenario,
    capture: &Capture,
    seed: Option<u64>,
    replications: Option<u32>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Outcome, Summary)> {
    let options = Options { seed, replications, jobs, ..Options::default() };
    let scenarios = std::slice::from_ref(&scenario.0);
    let control = Control::default();
    let work_ps = qcnlab_lab::work_ps(scenarios, &qcnlab_lab::all_tasks(scenarios, &options));
    let running = || qcnlab_lab::run_captured(&scenario.0, &options, &capture.0, &control);
    let attended = running::Attended { control: &control, work_ps, progress, counts_messages: true };
    let (outcome, summary) =
        running::attended(py, &attended, running, || Ok(()))?.map_err(|fault| errors::run_exception(py, &fault))?;
    Ok((Outcome(outcome), (summary.ports, summary.frames, summary.size.get(), summary.limit, summary.failure)))
}

/// The frames of a capture, each as JSON.
#[pyclass(frozen, module = "qcnlab._core")]
pub(crate) struct Frames(Mutex<CapturedRows>);

#[pymethods]
impl Frames {
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Frames> {
        let rows = CapturedRows::open(&file).map_err(|fault| errors::capture_exception(py, &file, &fault))?;
        Ok(Frames(Mutex::new(rows)))
    }

    /// The next frames, `count` at most; none at the end. A fault comes after the frames before it.
    fn read(&self, py: Python<'_>, count: usize) -> (Vec<String>, Option<String>) {
        py.detach(|| {
            let mut rows = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut read = Vec::new();
            while read.len() < count {
                match rows.next_row() {
                    Ok(Some(row)) => read.push(row),
                    Ok(None) => break,
                    Err(fault) => return (read, Some(fault.to_string())),
                }
            }
            (read, None)
        })
    }
}
