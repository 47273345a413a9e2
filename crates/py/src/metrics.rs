//! Metrics over a window of time, from columns that Python hands over.

use crate::errors;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use qcnlab_lab::{Traces, metric_in_window, recovery_bin};

/// Samples of a queue: times, s, and lengths, octets; with the time between two samples, s.
type QueueColumns = (PyBuffer<f64>, PyBuffer<u64>, f64);
/// Bins of throughput: starts, s, indices of flows, and rates, bit/s; with the number of flows, a bin's length, s, and
/// how long a level must last, s.
type BinColumns = (PyBuffer<f64>, PyBuffer<u32>, PyBuffer<f64>, usize, f64, f64);
/// Dropped frames: times, s, and frames.
type DropColumns = (PyBuffer<f64>, PyBuffer<u64>);

/// A metric of one replication over the window from `window[0]` up to `window[1]`, s; `None` where it has no value.
#[pyfunction]
#[pyo3(name = "metric_in_window", signature = (name, window, *, queue, throughput, drops, limit = None))]
pub(crate) fn over_window(
    py: Python<'_>,
    name: &str,
    window: (f64, f64),
    queue: QueueColumns,
    throughput: BinColumns,
    drops: DropColumns,
    limit: Option<f64>,
) -> PyResult<Option<f64>> {
    let traces = Traces {
        queue_time_s: queue.0.to_vec(py)?,
        queue_bytes: queue.1.to_vec(py)?,
        queue_every_s: queue.2,
        bin_time_s: throughput.0.to_vec(py)?,
        bin_flow: throughput.1.to_vec(py)?,
        bin_rate_bps: throughput.2.to_vec(py)?,
        flows: throughput.3,
        bin_s: throughput.4,
        recovery_hold_s: throughput.5,
        drop_time_s: drops.0.to_vec(py)?,
        dropped_frames: drops.1.to_vec(py)?,
    };
    metric_in_window(name, &traces, window, limit).map_err(|fault| errors::window_exception(py, &fault))
}

/// The bin from which on `carried` is at `level` over 1 ms and over `hold_s`; `None` if there is none.
#[pyfunction]
#[pyo3(name = "recovery_bin")]
pub(crate) fn recovered_from(
    py: Python<'_>,
    carried: PyBuffer<f64>,
    level: f64,
    bin_s: f64,
    hold_s: f64,
) -> PyResult<Option<usize>> {
    Ok(recovery_bin(&carried.to_vec(py)?, level, bin_s, hold_s))
}
