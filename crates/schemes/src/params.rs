//! Parameters declared once: one declaration gives the struct, its documentation, the keys in files, their ranges and
//! their names in the standard.
//!
//! * [`params!`] declares a struct whose fields can be listed, read and set by position; it can take in the fields of
//!   another such struct.
//! * [`choice!`] declares an enumeration whose variants are words in files.
//! * [`variants!`] declares an enumeration whose variants have fields of their own.

mod field;
mod macros;
mod read;
mod table;

pub use field::{Choice, Fallback, Field, Kind, Range, Value};
pub use read::{ParamError, Scalar};
#[doc(hidden)]
pub use table::index_of;
pub use table::{Param, Table, Variants};
