//! Why a fluid model cannot be solved.

/// A fault in what was asked of a fluid model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FluidError {
    /// There is no such model.
    #[error("no fluid model '{name}'{}; there are {known}", hint(nearest))]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// All models, separated by commas.
        known: String,
    },
    /// A model has no such parameter, or a start no such key.
    #[error("model {model}: no {what} '{name}'{}; there are {known}", hint(nearest))]
    UnknownName {
        /// The model.
        model: &'static str,
        /// `"parameter"` or `"initial key"`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// All names, separated by commas.
        known: String,
    },
    /// The text is not a JSON object.
    #[error("{what} must be a JSON object: {why}")]
    NotAnObject {
        /// `"parameters"` or `"initial"`.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A value of the wrong kind.
    #[error("model {model}: {name} must be {expected}, not {value}")]
    WrongKind {
        /// The model.
        model: &'static str,
        /// The parameter or initial key.
        name: String,
        /// What it takes.
        expected: String,
        /// What it was given, as JSON.
        value: String,
    },
    /// A number no model can use.
    #[error("model {model}: {name} = {value}{} must be {range}", spaced(unit))]
    OutOfRange {
        /// The model.
        model: &'static str,
        /// The parameter or initial key.
        name: String,
        /// Its value.
        value: f64,
        /// Its unit.
        unit: &'static str,
        /// What it may be.
        range: String,
    },
    /// A delay below zero.
    #[error("model {model}: {name} = {value} s is a negative delay: feedback cannot come before its cause")]
    NegativeDelay {
        /// The model.
        model: &'static str,
        /// The parameter.
        name: String,
        /// Its value, s.
        value: f64,
    },
    /// A start at an equilibrium that does not exist.
    #[error("model {model} has no equilibrium: {why}")]
    NoEquilibrium {
        /// The model.
        model: &'static str,
        /// Why there is none.
        why: String,
    },
    /// A step over which the delay equations cannot be stepped.
    #[error(
        "step_s = {step} must be above 0 and at most the shortest delay, {shortest} s; leave it out for {default:.3e} s"
    )]
    Step {
        /// The step, s.
        step: f64,
        /// The shortest delay of the model, s; infinite without delays.
        shortest: f64,
        /// The step taken when none is given, s.
        default: f64,
    },
    /// A span of time that is no span, or rows that are none.
    #[error("{name} = {value} s must be above 0 and finite")]
    Span {
        /// `"end_s"` or `"every_s"`.
        name: &'static str,
        /// Its value, s.
        value: f64,
    },
    /// More rows or steps than can be kept or waited for.
    #[error("{count:.0} {what} are more than the {most:.0} allowed; {remedy}")]
    TooMany {
        /// `"rows"` or `"steps"`.
        what: &'static str,
        /// How many it would be.
        count: f64,
        /// How many may be.
        most: f64,
        /// What to do.
        remedy: &'static str,
    },
    /// The solution left the numbers.
    #[error(
        "the solution diverges at t = {time:.6} s: the step of {step:.3e} s is too long for these parameters, \
         or the model without its clamps is unstable; shorten step_s or end_s"
    )]
    Diverged {
        /// When, s.
        time: f64,
        /// The step, s.
        step: f64,
    },
    /// Somebody stopped it.
    #[error("stopped")]
    Stopped,
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// A unit after a number; nothing if there is none.
fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}
