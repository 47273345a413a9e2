//! The headroom of a paused link.

use crate::errors;
use pyo3::prelude::*;
use qcnlab_lab::headroom::headroom_json;
use qcnlab_lab::units::{BitRate, Bytes, Span};
use qcnlab_network::{PausedLink, SHORTEST};

/// The headroom of a link, its terms and what runs lose with it, as JSON.
#[pyfunction]
#[pyo3(signature = (*, rate_bps, delay_ps, latency_ps, reaction_ps, longest_bytes, blocking_bytes, cell_bytes, others))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn headroom(
    py: Python<'_>,
    rate_bps: u64,
    delay_ps: u64,
    latency_ps: u64,
    reaction_ps: u64,
    longest_bytes: u64,
    blocking_bytes: u64,
    cell_bytes: u64,
    others: Vec<u64>,
) -> PyResult<String> {
    let link = PausedLink {
        rate: BitRate::bps(rate_bps),
        delay: Span::from_ps(delay_ps),
        latency: Span::from_ps(latency_ps),
        reaction: Span::from_ps(reaction_ps),
        longest: Bytes::new(longest_bytes),
        blocking: Bytes::new(blocking_bytes),
        shortest: SHORTEST,
        overhead: ETHERNET,
        cell: Bytes::new(cell_bytes),
    };
    let others: Vec<Bytes> = others.into_iter().map(Bytes::new).collect();
    py.detach(|| headroom_json(&link, &others)).map_err(|fault| errors::plain_exception(py, &fault.to_string()))
}

/// Preamble and gap of a frame.
const ETHERNET: Bytes = Bytes::new(20);
