//! Where a key or a value of a scenario comes from.

use std::ops::Range;
use std::sync::Arc;

/// Where a key or a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Octets of the document's text.
    Span(Range<usize>),
    /// A dotted key of a document without text; empty for the document itself.
    Key(String),
    /// An override, as the caller wrote it.
    Override(Arc<str>),
}
