//! Tables, column by column: octets that polars reads as they are.

use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use qcnlab_fluid::Trajectory;
use qcnlab_lab::Data;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Columns that are taken one by one, so that no more than one of them stands in memory twice.
#[pyclass(frozen, module = "qcnlab._core")]
pub(crate) struct Table {
    name: &'static str,
    units: Vec<(Cow<'static, str>, &'static str)>,
    rows: usize,
    columns: Mutex<Vec<Option<Data>>>,
}

/// A column: polars's name of its type, its values, which of them are there (`None`: all), and the words that values
/// are indices of.
type Taken<'py> = (&'static str, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>, Option<Vec<String>>);

impl Table {
    pub(crate) fn new(table: qcnlab_lab::Table) -> Table {
        let columns = table.columns.into_iter().map(|column| (column.name.into(), column.unit, column.data));
        Table::gather(table.name, columns)
    }

    pub(crate) fn of_trajectory(trajectory: Trajectory) -> Table {
        let columns = trajectory.columns.into_iter();
        Table::gather(
            trajectory.model,
            columns.map(|column| (column.name.into(), column.unit, Data::F64(column.values))),
        )
    }

    fn gather(name: &'static str, columns: impl Iterator<Item = (Cow<'static, str>, &'static str, Data)>) -> Table {
        let (units, columns): (Vec<_>, Vec<_>) = columns.map(|(name, unit, data)| ((name, unit), Some(data))).unzip();
        let rows = columns.iter().flatten().next().map_or(0, rows);
        Table { name, units, rows, columns: Mutex::new(columns) }
    }
}

fn rows(data: &Data) -> usize {
    match data {
        Data::U32(values) | Data::Word(values, _) => values.len(),
        Data::U64(values) => values.len(),
        Data::OptionalI64(values) => values.len(),
        Data::OptionalI32(values) => values.len(),
        Data::OptionalF64(values) => values.len(),
        Data::F64(values) => values.len(),
    }
}

fn whole<'py, T: bytemuck::NoUninit>(py: Python<'py>, kind: &'static str, values: &[T]) -> Taken<'py> {
    (kind, PyBytes::new(py, bytemuck::cast_slice(values)), None, None)
}

/// Values with 0 where one is missing.
fn partly<'py, T: bytemuck::NoUninit + Default>(
    py: Python<'py>,
    kind: &'static str,
    values: &[Option<T>],
) -> Taken<'py> {
    let there: Vec<u8> = values.iter().map(|value| u8::from(value.is_some())).collect();
    let filled: Vec<T> = values.iter().map(|value| value.unwrap_or_default()).collect();
    let (kind, octets, ..) = whole(py, kind, &filled);
    (kind, octets, there.contains(&0).then(|| PyBytes::new(py, &there)), None)
}

fn taken(py: Python<'_>, data: Data) -> Taken<'_> {
    match data {
        Data::U32(values) => whole(py, "UInt32", &values),
        Data::U64(values) => whole(py, "UInt64", &values),
        Data::F64(values) => whole(py, "Float64", &values),
        Data::OptionalI64(values) => partly(py, "Int64", &values),
        Data::OptionalI32(values) => partly(py, "Int32", &values),
        Data::OptionalF64(values) => partly(py, "Float64", &values),
        Data::Word(indices, names) => {
            let (kind, octets, there, _) = whole(py, "UInt32", &indices);
            (kind, octets, there, Some(names.iter().map(str::to_owned).collect()))
        }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        self.name
    }

    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.units.iter().map(|(name, _)| name.as_ref()).collect()
    }

    #[getter]
    fn units(&self) -> HashMap<&str, &str> {
        self.units.iter().map(|(name, unit)| (name.as_ref(), *unit)).collect()
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    /// Hands out a column, once; its own memory is free afterwards.
    fn take<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Taken<'py>> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = columns.get_mut(index).ok_or_else(|| PyIndexError::new_err("no such column"))?;
        let data = slot.take().ok_or_else(|| PyRuntimeError::new_err("the column has been taken"))?;
        drop(columns);
        Ok(taken(py, data))
    }
}
