//! The headroom of a paused link, confirmed by the run that takes most of it.

#[cfg(feature = "threads")]
mod json;
mod worst;

#[cfg(feature = "threads")]
pub use json::{HeadroomError, headroom_json};
pub use worst::{Memory, Worst};
