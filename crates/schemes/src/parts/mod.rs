//! What several schemes share.

pub mod bandwidth;
pub mod cycles;
pub mod drift;
pub mod ecn;
pub mod feedback;
pub(crate) mod forward;
pub mod power;
pub mod rates;
pub mod returning;
pub mod sampling;
pub mod stages;
pub mod telemetry;
pub mod window;
