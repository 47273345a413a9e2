//! The Python bridge.
