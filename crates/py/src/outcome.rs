//! What a scenario gave, as a Python object.

use crate::columns::Table;
use crate::scenario::Scenario;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use qcnlab_lab::{Outcome as Inner, TABLES};
use std::collections::BTreeMap;

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

    /// Units of the columns of every table, without its rows: those that have one.
    fn units(&self) -> BTreeMap<&'static str, BTreeMap<&'static str, &'static str>> {
        let bare = Inner { scenario: self.0.scenario.clone(), seed: self.0.seed, replications: Vec::new() };
        let tables = TABLES.iter().filter_map(|name| bare.table(name));
        tables
            .map(|table| {
                let columns = table.columns.iter().filter(|column| !column.unit.is_empty());
                (table.name, columns.map(|column| (column.name, column.unit)).collect())
            })
            .collect()
    }

    /// What was counted for managed objects, as JSON; `None` for schemes without messages of 802.1Q.
    fn managed(&self) -> Option<String> {
        if self.0.flow_level() { None } else { self.0.managed_json() }
    }

    fn summary(&self) -> String {
        self.0.summary_json()
    }
}
