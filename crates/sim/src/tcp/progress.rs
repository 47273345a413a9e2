//! What a congestion control is told of acknowledgements and losses.

use qcnlab_units::{Instant, Span};

/// New data was acknowledged in congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// When.
    pub(super) now: Instant,
    /// Octets acknowledged.
    pub(super) octets: u64,
    /// The window before, in octets.
    pub(super) window: u64,
    /// Smoothed round-trip time; zero when unknown.
    pub(super) rtt: Span,
}

/// How a loss showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Three duplicate acknowledgements.
    Duplicates,
    /// The timer expired.
    Timeout,
}
