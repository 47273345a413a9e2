//! Tables through the Arrow C data interface: the columns' own memory, handed over without a copy.

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use qcnlab_fluid::Trajectory;
use qcnlab_lab::Data;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Columns handed out through the Arrow C stream without copying.
#[pyclass(frozen, module = "qcnlab._core")]
pub(crate) struct Table {
    name: &'static str,
    units: Vec<(Cow<'static, str>, &'static str)>,
    batch: RecordBatch,
}

fn failed(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Table {
    pub(crate) fn new(table: qcnlab_lab::Table) -> PyResult<Table> {
        let columns = table.columns.into_iter().map(|column| (column.name.into(), column.unit, column.data));
        Table::gather(table.name, columns)
    }

    pub(crate) fn of_trajectory(trajectory: Trajectory) -> PyResult<Table> {
        let columns = trajectory.columns.into_iter();
        Table::gather(
            trajectory.model,
            columns.map(|column| (column.name.into(), column.unit, Data::F64(column.values))),
        )
    }

    fn gather(
        name: &'static str,
        columns: impl Iterator<Item = (Cow<'static, str>, &'static str, Data)>,
    ) -> PyResult<Table> {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        let mut units = Vec::new();
        for (name, unit, data) in columns {
            let array = array(data).map_err(failed)?;
            let about = HashMap::from([("unit".to_owned(), unit.to_owned())]);
            let nullable = array.is_nullable();
            fields.push(Field::new(name.as_ref(), array.data_type().clone(), nullable).with_metadata(about));
            arrays.push(array);
            units.push((name, unit));
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(failed)?;
        Ok(Table { name, units, batch })
    }
}

fn array(data: Data) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        Data::U32(values) => Arc::new(UInt32Array::from(values)),
        Data::U64(values) => Arc::new(UInt64Array::from(values)),
        Data::OptionalI64(values) => Arc::new(Int64Array::from(values)),
        Data::F64(values) => Arc::new(Float64Array::from(values)),
        Data::OptionalI32(values) => Arc::new(Int32Array::from(values)),
        Data::OptionalF64(values) => Arc::new(Float64Array::from(values)),
        Data::Word(indices, names) => {
            let names = Arc::new(StringArray::from_iter_values(names.iter()));
            Arc::new(DictionaryArray::<UInt32Type>::try_new(UInt32Array::from(indices), names)?)
        }
    })
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
        self.batch.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer ignore the request; the consumer casts.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
