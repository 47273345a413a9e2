//! Captures held against the law.

use crate::errors;
use pyo3::prelude::*;
use qcnlab_conform::{ConformOptions, Tolerances, conform_cp, conform_rp};
use qcnlab_lab::units::{BitRate, Bytes, Span};
use std::path::PathBuf;

/// Hold a capture against the law of the reaction point (`of` is "rp") or of the congestion point ("cp"); JSON. Times
/// are in seconds, sizes in octets, rates in bit/s.
#[pyfunction]
#[pyo3(signature = (
    file, of, *, scheme, preset, set, stamps_s, clock_ppm, pacing_bytes, reaction_s, jitter, queue_bytes,
    uncaptured_bytes, rate_bps, interface, backlogged, starts_free, delay_s, buffer_bytes
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn conform(
    py: Python<'_>,
    file: PathBuf,
    of: &str,
    scheme: String,
    preset: String,
    set: Vec<String>,
    stamps_s: f64,
    clock_ppm: Option<f64>,
    pacing_bytes: u64,
    reaction_s: f64,
    jitter: Option<f64>,
    queue_bytes: u64,
    uncaptured_bytes: Option<u64>,
    rate_bps: Option<u64>,
    interface: Option<String>,
    backlogged: bool,
    starts_free: bool,
    delay_s: Option<f64>,
    buffer_bytes: Option<u64>,
) -> PyResult<String> {
    let span = |seconds: f64| Span::from_ps((seconds * 1e12).round() as u64);
    let options = ConformOptions {
        scheme,
        preset,
        set,
        tolerances: Tolerances {
            stamps: span(stamps_s),
            clock_ppm,
            pacing: Bytes::new(pacing_bytes),
            reaction: span(reaction_s),
            jitter,
            queue: Bytes::new(queue_bytes),
            uncaptured: uncaptured_bytes.map(Bytes::new),
        },
        rate: rate_bps.map(BitRate::bps),
        interface,
        backlogged,
        starts_free,
        delay: delay_s.map(span),
        buffer: buffer_bytes.map(Bytes::new),
    };
    let judged = py.detach(|| if of == "cp" { conform_cp(&file, &options) } else { conform_rp(&file, &options) });
    judged.map_err(|fault| errors::conform_exception(py, &file, &fault))
}
