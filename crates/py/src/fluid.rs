//! Fluid models from Python: the interpreter is free while they are solved, and may stop them.

use crate::columns::Table;
use crate::errors;
use pyo3::prelude::*;
use qcnlab_fluid::{Timing, models_json, solve};

/// The trajectory of a fluid model, `time_s` and the model's columns, and when it grew beyond all bounds.
#[pyfunction]
#[pyo3(signature = (model, parameters, *, end_s, step_s = None, every_s, initial = None))]
pub(crate) fn fluid(
    py: Python<'_>,
    model: &str,
    parameters: &str,
    end_s: f64,
    step_s: Option<f64>,
    every_s: f64,
    initial: Option<&str>,
) -> PyResult<(Table, Option<f64>)> {
    let timing = Timing { end_s, step_s, every_s };
    let mut raised = None;
    let solved = py.detach(|| {
        solve(model, parameters, timing, initial, &mut || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(signal) => {
                raised = Some(signal);
                false
            }
        })
    });
    match (solved, raised) {
        (_, Some(signal)) => Err(signal),
        (Ok(trajectory), None) => {
            let unbounded_s = trajectory.unbounded_s;
            Ok((Table::of_trajectory(trajectory), unbounded_s))
        }
        (Err(fault), None) => Err(errors::fluid_exception(py, &fault)),
    }
}

/// Every fluid model with its parameters, start and columns, as JSON.
#[pyfunction]
pub(crate) fn fluid_models() -> String {
    models_json()
}
