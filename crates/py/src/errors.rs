//! Rust errors as Python exceptions: the one map.

use crate::foreign;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use qcnlab_conform::ConformError;
use qcnlab_fluid::FluidError;
use qcnlab_lab::schemes::foreign::Failure;
use qcnlab_lab::{RowsError, RunError, WindowError};
use qcnlab_scenario::{Fault, ScenarioError};
use qcnlab_theory::NoBottleneck;
use std::path::Path;

static ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static SCENARIO_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static ANALYSIS_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static LAW_VIOLATION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The class in `cell`, made by `type(name, bases, {...})` the first time.
fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    name: &str,
    doc: &str,
    bases: impl FnOnce() -> PyResult<Bound<'py, PyTuple>>,
) -> PyResult<&'py Bound<'py, PyType>> {
    let made = cell.get_or_try_init(py, || {
        let body = PyDict::new(py);
        body.set_item("__module__", "qcnlab")?;
        body.set_item("__doc__", doc)?;
        let made = py.get_type::<PyType>().call1((name, bases()?, body))?;
        Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}

fn error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let bases = || PyTuple::new(py, [py.get_type::<PyException>()]);
    class(py, &ERROR, "Error", "The base of every error a caller can cause.", bases)
}

fn scenario_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let doc = "A scenario file, an override or a name that cannot be used; `str` gives the whole message.";
    let bases = || PyTuple::new(py, [error(py)?.clone(), py.get_type::<PyValueError>()]);
    class(py, &SCENARIO_ERROR, "ScenarioError", doc, bases)
}

fn analysis_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let doc = "A model that cannot be solved as asked: a name, a value, an equilibrium or a step.";
    let bases = || PyTuple::new(py, [error(py)?.clone(), py.get_type::<PyValueError>()]);
    class(py, &ANALYSIS_ERROR, "AnalysisError", doc, bases)
}

fn law_violation(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let doc = "Conservation, or a scheme's contract, was broken during a run.";
    let bases = || PyTuple::new(py, [error(py)?.clone(), py.get_type::<PyRuntimeError>()]);
    class(py, &LAW_VIOLATION, "LawViolation", doc, bases)
}

/// Puts the exceptions into the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", error(py)?)?;
    module.add("AnalysisError", analysis_error(py)?)?;
    module.add("ScenarioError", scenario_error(py)?)?;
    module.add("LawViolation", law_violation(py)?)
}

/// A scenario's fault, with its place.
pub(crate) fn scenario_exception(py: Python<'_>, fault: &ScenarioError) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let value = scenario_error(py)?.call1((fault.render(),))?;
        value.setattr("file", fault.file())?;
        value.setattr("line", fault.line())?;
        value.setattr("column", fault.column())?;
        value.setattr("message", fault.message())?;
        value.setattr("hint", fault.hint())?;
        if matches!(fault.fault(), Fault::ForeignScheme { .. }) {
            let raised = foreign::take_refusal();
            // Ctrl-C or a signal while the module is imported refuses nothing.
            if let Some((stop, true)) = &raised {
                return Ok(stop.clone_ref(py));
            }
            value.setattr("__cause__", raised.map(|(raised, _)| raised))?;
        }
        Ok(PyErr::from_value(value))
    };
    make().unwrap_or_else(|failure| failure)
}

/// Why a run gave nothing.
pub(crate) fn run_exception(py: Python<'_>, fault: &RunError) -> PyErr {
    let class = match fault {
        RunError::Cancelled => return PyKeyboardInterrupt::new_err(()),
        RunError::Scenario { error, .. } => return scenario_exception(py, error),
        RunError::Foreign { failure, .. } => return failure_exception(py, fault, failure),
        RunError::Violation { .. } => law_violation(py),
        RunError::FlowLevel(_) => analysis_error(py),
        RunError::Capture(_) | RunError::Replay { .. } | RunError::Memory(_) | RunError::Threads { .. } => error(py),
    };
    class.map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), fault.to_string()))
}

/// A failure of a scheme from outside, with what Python raised as its cause.
fn failure_exception(py: Python<'_>, fault: &RunError, failure: &Failure) -> PyErr {
    let class = if failure.broken { law_violation(py) } else { error(py) };
    let raised = class.map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), fault.to_string()));
    let cause = failure.cause.as_ref().and_then(|cause| cause.downcast_ref::<PyErr>());
    raised.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
    raised
}

/// Why a metric has no value over a window.
pub(crate) fn window_exception(py: Python<'_>, fault: &WindowError) -> PyErr {
    analysis_error(py).map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), fault.to_string()))
}

/// Why a capture cannot be read.
pub(crate) fn capture_exception(py: Python<'_>, file: &Path, fault: &RowsError) -> PyErr {
    let message = format!("{}: {fault}", file.display());
    error(py).map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), message))
}

/// Anything else that a caller can cause, in words.
pub(crate) fn plain_exception(py: Python<'_>, message: &str) -> PyErr {
    error(py).map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), message.to_owned()))
}

/// Why a capture cannot be judged.
pub(crate) fn conform_exception(py: Python<'_>, file: &Path, fault: &ConformError) -> PyErr {
    let message = format!("{}: {fault}", file.display());
    error(py).map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), message))
}

/// Why a fluid model was not solved.
pub(crate) fn fluid_exception(py: Python<'_>, fault: &FluidError) -> PyErr {
    if *fault == FluidError::Stopped {
        return PyKeyboardInterrupt::new_err(());
    }
    analysis_error(py).map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), fault.to_string()))
}

/// Why a scenario has no single bottleneck.
pub(crate) fn bottleneck_exception(py: Python<'_>, fault: &NoBottleneck) -> PyErr {
    if let NoBottleneck::Scenario(error) = fault {
        return scenario_exception(py, error);
    }
    analysis_error(py).map_or_else(|failure| failure, |class| PyErr::from_type(class.clone(), fault.to_string()))
}
