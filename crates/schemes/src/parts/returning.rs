//! A receiver that returns probes as they came.

use crate::roles::{NotificationPoint, Probe, Signal};
use qcnlab_units::Instant;

/// The notification point of schemes whose probes come back from the destination.
#[derive(Clone, Copy, Debug)]
pub struct ReturnsProbes;

impl NotificationPoint for ReturnsProbes {
    fn on_probe(&mut self, _: Instant, probe: &Probe) -> Option<Signal> {
        Some(Signal::Returned(*probe))
    }
}
