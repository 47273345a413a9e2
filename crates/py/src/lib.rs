//! The Python bridge `qcnlab._core`: types and calls handed over, no logic of its own.

mod capture;
mod columns;
mod conform;
mod errors;
mod facts;
mod fluid;
mod foreign;
mod grid;
mod headroom;
mod interruption;
mod live;
mod metrics;
mod outcome;
mod running;
mod scenario;

use pyo3::prelude::*;

/// What the compiled core is and holds.
#[pymodule]
mod _core {
    use super::errors;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::capture::{Capture, Frames, run_captured};
    #[pymodule_export]
    use super::columns::Table;
    #[pymodule_export]
    use super::conform::conform;
    #[pymodule_export]
    use super::facts::Dice;
    #[pymodule_export]
    use super::fluid::{fluid, fluid_models};
    #[pymodule_export]
    use super::grid::Grid;
    #[pymodule_export]
    use super::headroom::headroom;
    #[pymodule_export]
    use super::live::{live_doctor, live_run, live_slowed, live_stand};
    #[pymodule_export]
    use super::metrics::{over_window, recovered_from};
    #[pymodule_export]
    use super::outcome::Outcome;
    #[pymodule_export]
    use super::running::{run, run_each};
    #[pymodule_export]
    use super::scenario::Scenario;

    /// Every scheme, as JSON.
    #[pyfunction]
    fn schemes() -> String {
        qcnlab_scenario::schemes_json()
    }

    /// The managed objects of a replication of a run, as JSON.
    #[pyfunction]
    fn mib(scenario: &super::scenario::Scenario, seed: u64, managed: &str, replication: u32) -> PyResult<String> {
        let objects = qcnlab_lab::mib_json(&scenario.0, seed, managed, replication);
        objects.map_err(|fault| pyo3::exceptions::PyValueError::new_err(fault.to_string()))
    }

    /// Every scenario inside the package, as JSON.
    #[pyfunction]
    fn scenarios() -> String {
        qcnlab_scenario::scenarios_json()
    }

    /// Every metric with its definition, as JSON.
    #[pyfunction]
    fn metrics() -> String {
        qcnlab_lab::metrics_json()
    }

    /// Every named distribution of flow sizes, as JSON.
    #[pyfunction]
    fn sizes() -> String {
        qcnlab_scenario::sizes_json()
    }

    /// Every metric that exists over a given window only, as JSON.
    #[pyfunction]
    fn window_metrics() -> String {
        qcnlab_lab::window_metrics_json()
    }

    /// A quantity with a unit as its number in octets, bit/s or s, with that unit; `None` for other text.
    #[pyfunction]
    fn quantity(text: &str) -> Option<(f64, &'static str)> {
        qcnlab_scenario::quantity(text)
    }

    /// Every key of a scenario file, as JSON.
    #[pyfunction]
    fn parameters() -> String {
        qcnlab_scenario::parameters_json()
    }

    /// The JSON Schema of a scenario file.
    #[pyfunction]
    fn schema() -> String {
        qcnlab_scenario::schema_json()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        qcnlab_scenario::foreign::install("python", super::foreign::load);
        errors::add_to(module)
    }
}
