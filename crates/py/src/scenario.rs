//! Scenarios as Python objects.

use crate::errors;
use pyo3::prelude::*;
use qcnlab_lab::{Estimate, Options, Part};
use qcnlab_scenario::Scenario as Inner;
use qcnlab_theory::{Bottleneck, DeadlockQuestion, DeadlockReport};

/// A checked, resolved, immutable scenario.
#[pyclass(frozen, eq, module = "qcnlab._core")]
#[derive(Clone, PartialEq)]
pub(crate) struct Scenario(pub(crate) Inner);

#[pymethods]
impl Scenario {
    #[staticmethod]
    #[pyo3(signature = (text, name = "<text>"))]
    fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<Scenario> {
        Inner::parse(text, name).map(Scenario).map_err(|fault| errors::scenario_exception(py, &fault))
    }

    #[staticmethod]
    #[pyo3(signature = (octets, name = "<text>"))]
    fn from_bytes(py: Python<'_>, octets: &[u8], name: &str) -> PyResult<Scenario> {
        Inner::from_bytes(octets, name).map(Scenario).map_err(|fault| errors::scenario_exception(py, &fault))
    }

    #[staticmethod]
    #[pyo3(signature = (text, name = "<json>"))]
    fn from_json(py: Python<'_>, text: &str, name: &str) -> PyResult<Scenario> {
        Inner::from_json(text, name).map(Scenario).map_err(|fault| errors::scenario_exception(py, &fault))
    }

    #[staticmethod]
    fn shipped(py: Python<'_>, name: &str) -> PyResult<Scenario> {
        Inner::shipped(name).map(Scenario).map_err(|fault| errors::scenario_exception(py, &fault))
    }

    #[pyo3(name = "override")]
    fn with_overrides(&self, py: Python<'_>, assignments: Vec<String>) -> PyResult<Scenario> {
        self.0.with_overrides(&assignments).map(Scenario).map_err(|fault| errors::scenario_exception(py, &fault))
    }

    fn source(&self) -> (String, String) {
        let (name, json) = self.0.source();
        (name.to_owned(), json)
    }

    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    fn headrooms(&self) -> Vec<String> {
        self.0.headrooms()
    }

    fn thresholds(&self) -> Vec<String> {
        self.0.thresholds()
    }

    fn captures(&self) -> String {
        self.0.captures_json()
    }

    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    fn value(&self, key: &str) -> Option<String> {
        self.0.value(key)
    }

    fn to_base_json(&self) -> String {
        self.0.to_base_json()
    }

    #[pyo3(signature = (*, replications = None, jobs = None, flow_level = false))]
    fn memory(&self, replications: Option<u32>, jobs: Option<usize>, flow_level: bool) -> Vec<(&'static str, u64)> {
        let options = Options { seed: None, replications, jobs, flow_level };
        let estimate = Estimate::of(std::slice::from_ref(&self.0), &options);
        Part::ALL.map(|part| (part.name(), estimate.part(part))).into()
    }

    fn bottleneck(&self, py: Python<'_>) -> PyResult<String> {
        Bottleneck::of(&self.0)
            .map(|bottleneck| bottleneck.to_json())
            .map_err(|fault| errors::bottleneck_exception(py, &fault))
    }

    #[pyo3(signature = (failures, *, all_pairs = false, bounce = false, most_cases = 2000))]
    fn deadlock(
        &self,
        py: Python<'_>,
        failures: u32,
        all_pairs: bool,
        bounce: bool,
        most_cases: u32,
    ) -> PyResult<String> {
        let question = DeadlockQuestion { failures, all_pairs, bounce, most_cases };
        let mut stopped = Ok(());
        let report = DeadlockReport::of(&self.0, question, || {
            stopped = py.check_signals();
            stopped.is_ok()
        });
        stopped?;
        Ok(report.map_or_else(String::new, |report| report.to_json()))
    }

    fn network(&self) -> String {
        self.0.network_json()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn hash(&self) -> String {
        self.0.hash()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    #[getter]
    fn replications(&self) -> u32 {
        self.0.replications
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration.seconds()
    }
}
