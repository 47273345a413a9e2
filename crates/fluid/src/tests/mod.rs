//! Fluid models against closed forms, published numbers and another solver.

mod dcqcn;
mod ecm;
mod qcn;
mod requests;
mod slopes;
mod stepper;
mod timely;

use super::{FluidError, Timing, Trajectory, solve};

/// Solves a model from `initial`, with the model's own step.
fn solved(model: &str, parameters: &str, end_s: f64, initial: Option<&str>) -> Trajectory {
    let timing = Timing { end_s, step_s: None, every_s: end_s / 4000.0 };
    solve(model, parameters, timing, initial, &mut || true).unwrap_or_else(|error| panic!("{parameters}: {error}"))
}

/// Why a model is not solved.
fn refused(model: &str, parameters: &str, initial: Option<&str>) -> FluidError {
    let timing = Timing { end_s: 1e-3, step_s: None, every_s: 1e-4 };
    match solve(model, parameters, timing, initial, &mut || true) {
        Ok(_) => panic!("{model} with {parameters} is solved"),
        Err(error) => error,
    }
}

/// Mean and standard deviation.
fn mean_std(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

/// The values of a column in the second half of a trajectory.
fn second_half<'a>(trajectory: &'a Trajectory, column: &str) -> &'a [f64] {
    let values = trajectory.column(column).expect(column);
    &values[values.len() / 2..]
}

/// `value` is within `tolerance` of `expected`.
#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value} instead of {expected} +- {tolerance}");
}
