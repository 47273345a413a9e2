//! Fluid models: congestion control as delay differential equations.
//!
//! [`solve`] integrates one of them by name and gives its trajectory as columns; [`integrate`] does the same for
//! any [`System`]. Parameters are numbers in SI units; [`models_json`] lists them.

mod dcqcn;
mod ecm;
mod error;
mod groups;
mod history;
mod initial;
mod parameters;
mod plant;
mod qcn;
mod qcn_cycles;
mod stepper;
mod timely;

pub use error::FluidError;
pub use history::{DelayedState, HistoryView};
pub use stepper::{Lag, System, integrate, shortest_lag};

use dcqcn::Dcqcn;
use ecm::Ecm;
use initial::Initial;
use parameters::{Parameter, Values};
use qcn::Qcn;
use qcnlab_units::nearest;
use serde_json::{Value, json};
use std::cell::Cell;
use timely::Timely;

/// Size of a value, in frames or frames per second, from which on a solution counts as growing without bound: a link of
/// 400 Gb/s carries below 1e9 frames per second.
const BOUND: f64 = 1e15;
/// Most rows of a trajectory.
const MOST_ROWS: f64 = 2e7;
/// Most steps of an integration.
const MOST_STEPS: f64 = 1e10;

/// [`solve`] for one model.
type Solve = fn(&str, Timing, Option<&str>, &mut dyn FnMut() -> bool) -> Result<Trajectory, FluidError>;

/// A fluid model by name.
struct Entry {
    name: &'static str,
    solve: Solve,
    listing: fn() -> Value,
}

const fn entry<M: Model>() -> Entry {
    Entry { name: M::NAME, solve: solve_as::<M>, listing: listing::<M> }
}

const ENTRIES: &[Entry] =
    &[entry::<Qcn>(), entry::<Ecm>(), entry::<Dcqcn>(), entry::<Timely<false>>(), entry::<Timely<true>>()];

/// A column's name and unit.
pub(crate) type ColumnName = (String, &'static str);

/// Names and units as columns.
pub(crate) fn named(columns: &[(&str, &'static str)]) -> Vec<ColumnName> {
    columns.iter().map(|(name, unit)| ((*name).to_owned(), *unit)).collect()
}

/// A system with parameters, a start and columns.
pub(crate) trait Model: System + Sized {
    /// Its name.
    const NAME: &'static str;
    /// The scheme it models.
    const TITLE: &'static str;
    /// Where it was published.
    const SOURCE: &'static str;
    /// Its parameters.
    const PARAMETERS: &'static [Parameter];
    /// The keys of its start, beside `from`.
    const INITIAL: &'static [&'static str];

    /// The model with these parameters; the start tells it which sources are alike.
    fn new(values: &Values, initial: &Initial) -> Result<Self, FluidError>;

    /// The state at 0 and before.
    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError>;

    /// The columns after `time_s`.
    fn columns(&self) -> Vec<ColumnName>;

    /// Appends one value for each column.
    fn row(&self, time: f64, state: &[f64], row: &mut Vec<f64>);

    /// The longest step that resolves the model, s, whatever the delay; a fifth of it suffices for any delay.
    fn longest_step(&self) -> f64;
}

/// A column of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name; ends in its unit where it has one.
    pub name: String,
    /// Its unit, or "".
    pub unit: &'static str,
    /// Its values, one for each row.
    pub values: Vec<f64>,
}

/// The solution of a fluid model: `time_s` and the model's columns, all of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The model.
    pub model: &'static str,
    /// The step that was used, s.
    pub step_s: f64,
    /// When the solution grew beyond all bounds, s; its rows end before. `None` if it reaches the end.
    pub unbounded_s: Option<f64>,
    /// Its columns.
    pub columns: Vec<Series>,
}

impl Trajectory {
    /// The values of a column.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find(|column| column.name == name).map(|column| column.values.as_slice())
    }
}

/// From 0 to when, in which steps, and how often a row is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// End, s.
    pub end_s: f64,
    /// Step, s, at most the shortest delay; `None` for about a fiftieth of it.
    pub step_s: Option<f64>,
    /// Time between two rows, s.
    pub every_s: f64,
}

/// Integrates a model.
///
/// `parameters` and `initial` are JSON objects of numbers in SI units, as [`models_json`] lists them; what is left out
/// has its default. `go_on` is asked now and then and ends the work by answering false.
///
/// # Errors
/// For names no model has, values out of their range, a negative delay, an equilibrium asked for where there is none,
/// a step longer than the shortest delay, and when `go_on` says no. A solution that grows without bound is no error:
/// its rows end, and [`Trajectory::unbounded_s`] says when.
pub fn solve(
    model: &str,
    parameters: &str,
    timing: Timing,
    initial: Option<&str>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Trajectory, FluidError> {
    let known = || ENTRIES.iter().map(|entry| entry.name);
    let Some(entry) = ENTRIES.iter().find(|entry| entry.name == model) else {
        let (name, known_names) = (model.to_owned(), known().collect::<Vec<_>>().join(", "));
        return Err(FluidError::UnknownModel { name, nearest: nearest(model, known()), known: known_names });
    };
    (entry.solve)(parameters, timing, initial, go_on)
}

fn solve_as<M: Model>(
    parameters: &str,
    timing: Timing,
    initial: Option<&str>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Trajectory, FluidError> {
    let values = Values::read(M::NAME, M::PARAMETERS, parameters)?;
    let initial = Initial::read(M::NAME, initial, M::INITIAL)?;
    let model = M::new(&values, &initial)?;
    let start = model.start(&initial)?;
    trajectory(&model, &start, timing, go_on)
}

fn trajectory<M: Model>(
    model: &M,
    start: &[f64],
    timing: Timing,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Trajectory, FluidError> {
    for (name, value) in [("end_s", timing.end_s), ("every_s", timing.every_s)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(FluidError::Span { name, value });
        }
    }
    let shortest = shortest_lag(model);
    let longest = model.longest_step();
    let default = (shortest / 50.0).max(0.2 * longest).min(longest).min(shortest);
    let step = timing.step_s.unwrap_or(default);
    if !(step > 0.0 && step <= shortest * (1.0 + 1e-9)) {
        return Err(FluidError::Step { step, shortest, default });
    }
    within("rows", timing.end_s / timing.every_s, MOST_ROWS, "lengthen every_s")?;
    within("steps", timing.end_s / step, MOST_STEPS, "lengthen step_s or shorten end_s")?;
    let names = std::iter::once(("time_s".to_owned(), "s")).chain(model.columns());
    let mut columns: Vec<Series> = names.map(|(name, unit)| Series { name, unit, values: Vec::new() }).collect();
    let mut row = Vec::new();
    let beyond = Cell::new(None);
    let mut keep = |time: f64, state: &[f64]| {
        if beyond.get().is_some() || !state.iter().all(|value| value.abs() < BOUND) {
            beyond.set(beyond.get().or(Some(time)));
            return;
        }
        row.clear();
        row.push(time);
        model.row(time, state, &mut row);
        for (column, value) in columns.iter_mut().zip(&row) {
            column.values.push(*value);
        }
    };
    let mut go_on = || beyond.get().is_none() && go_on();
    let unbounded_s = match integrate(model, start, (timing.end_s, step, timing.every_s), &mut keep, &mut go_on) {
        Ok(()) => beyond.get(),
        Err(FluidError::Stopped) if beyond.get().is_some() => beyond.get(),
        Err(FluidError::Diverged { time, .. }) => beyond.get().or(Some(time)),
        Err(error) => return Err(error),
    };
    Ok(Trajectory { model: M::NAME, step_s: step, unbounded_s, columns })
}

fn within(what: &'static str, count: f64, most: f64, remedy: &'static str) -> Result<(), FluidError> {
    if count <= most { Ok(()) } else { Err(FluidError::TooMany { what, count, most, remedy }) }
}

/// Every fluid model: a list of objects with `name`, `title`, `source`, `parameters` (`name`, `unit`, `type`, `default`,
/// `range`, `choices`, `about`), `initial` (keys of a start) and `columns` (`name`, `unit`).
pub fn models_json() -> String {
    ENTRIES.iter().map(|entry| (entry.listing)()).collect::<Value>().to_string()
}

fn listing<M: Model>() -> Value {
    let defaults = || M::new(&Values::read(M::NAME, M::PARAMETERS, "{}")?, &Initial::read(M::NAME, None, M::INITIAL)?);
    let model = defaults().unwrap_or_else(|error| unreachable!("defaults of {}: {error}", M::NAME));
    let columns = std::iter::once(("time_s".to_owned(), "s")).chain(model.columns());
    json!({
        "name": M::NAME,
        "title": M::TITLE,
        "source": M::SOURCE,
        "parameters": parameters::listing(M::PARAMETERS),
        "initial": std::iter::once("from").chain(M::INITIAL.iter().copied()).collect::<Vec<_>>(),
        "columns": columns.map(|(name, unit)| json!({"name": name, "unit": unit})).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
