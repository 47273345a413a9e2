//! Event engine.
