//! A fault with the keys it concerns, before it is known where those keys stand.

use super::fault::Fault;
use qcnlab_network::{Pattern, PatternError};

/// A fault and the dotted keys it concerns, the likeliest culprit first.
pub(super) struct LocatedFault {
    pub(super) fault: Box<Fault>,
    pub(super) keys: Vec<String>,
}

impl LocatedFault {
    /// Locates `fault` at the first of `keys` that the document has.
    pub(super) fn new(fault: Fault, keys: &[impl ToString]) -> LocatedFault {
        LocatedFault { fault: Box::new(fault), keys: keys.iter().map(ToString::to_string).collect() }
    }
}

/// Reads the pattern at `key`.
pub(super) fn read_pattern(text: &str, key: &str) -> Result<Pattern, LocatedFault> {
    Pattern::read(text).map_err(|error| bad_pattern(text, error, key))
}

/// The refusal of the pattern at `key`.
pub(super) fn bad_pattern(text: &str, error: PatternError, key: &str) -> LocatedFault {
    LocatedFault::new(Fault::Pattern { pattern: text.to_owned(), error }, &[key])
}
