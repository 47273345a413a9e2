//! What several schemes share.

pub mod drift;
pub mod sampling;
