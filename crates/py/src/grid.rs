//! The points of a sweep.

use crate::errors;
use crate::scenario::Scenario;
use pyo3::prelude::*;

/// Every combination of the assignments of some axes, applied to one scenario; the last axis varies fastest.
#[pyclass(frozen, module = "qcnlab._core")]
pub(crate) struct Grid(qcnlab_scenario::Grid);

#[pymethods]
impl Grid {
    #[new]
    fn new(py: Python<'_>, base: &Scenario, before: Vec<String>, axes: Vec<Vec<String>>, after: Vec<String>) -> Grid {
        Grid(py.detach(|| qcnlab_scenario::Grid::new(&base.0, &before, &axes, &after)))
    }

    /// Checks the points at positions from `start` to before `stop`, of as many as there are points. Returns the
    /// simulated time, in ps, of one run at each that can be run, the number of those that cannot be, and how often a
    /// network was built.
    fn check(&self, py: Python<'_>, start: usize, stop: usize) -> (u128, usize, usize) {
        let stop = stop.min(self.0.count());
        let checked = py.detach(|| self.0.check(start.min(stop)..stop));
        (checked.simulated_ps, checked.refused, checked.networks)
    }

    /// Of the scenario at each value of an axis, with the first value of each other one, the value of a key as JSON, and
    /// the hash if `hashed`. All points can be run.
    fn along(&self, py: Python<'_>, axis: usize, key: &str, hashed: bool) -> Vec<(Option<String>, Option<String>)> {
        let told = |scenario: &qcnlab_scenario::Scenario| (scenario.value(key), hashed.then(|| scenario.hash()));
        py.detach(|| self.0.along(axis, told))
    }

    /// How many reasons there are why points that were checked cannot be run; for each of the first `most` of them the
    /// first point, the number of points, and the error.
    fn refusals(&self, py: Python<'_>, most: usize) -> (usize, Vec<(usize, usize, Py<PyAny>)>) {
        let (all, told) = py.detach(|| self.0.refusals(most));
        let words = |of: qcnlab_scenario::Refusal| {
            (of.first, of.count, errors::scenario_exception(py, &of.error).into_value(py).into_any())
        };
        (all, told.into_iter().map(words).collect())
    }
}
