//! What a scenario gave, as a Python object.

use crate::columns::Table;
use crate::scenario::Scenario;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use qcnlab_lab::{Outcome as Inner, TABLES};

/// What one scenario gave over its replications.
#[pyclass(frozen, module = "qcnlab._core")]
pub(crate) struct Outcome(pub(crate) Inner);

#[pymethods]
impl Outcome {
    #[getter]
    fn scenario(&self) -> Scenario {
        Scenario(self.0.scenario.clone())
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    #[getter]
    fn replications(&self) -> usize {
        self.0.replications.len()
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        match py.detach(|| self.0.table(name)) {
            Some(table) => Ok(Table::new(table)),
            None => Err(PyKeyError::new_err(format!("no table '{name}'; there are {}", TABLES.join(", ")))),
        }
    }

    /// What was counted for managed objects, as JSON; `None` for schemes without messages of 802.1Q.
    fn managed(&self) -> Option<String> {
        self.0.managed_json()
    }

    fn summary(&self) -> String {
        self.0.summary_json()
    }
}
