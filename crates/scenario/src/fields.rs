//! What the tables of a file share: ranges of values, and a table's values as a list.

use qcnlab_schemes::params::{Range, Table, Value};
use qcnlab_units::Span;

/// The longest duration an engine can schedule: two hours.
pub const LONGEST: Span = Span::from_ms(2 * 3600 * 1000);

/// A time that may be zero.
pub(super) const UP_TO_LONGEST: Range = Range::between(0.0, LONGEST.ps() as f64);
/// A time above zero.
pub(super) const POSITIVE_UP_TO_LONGEST: Range = Range::above_zero_to(LONGEST.ps() as f64);
/// Length of a frame: from the smallest Ethernet frame to what the 16 bits of a length hold, as the engine keeps it.
pub(super) const FRAME: Range = Range::between(64.0, u16::MAX as f64);
/// Octets of wire time of a frame beyond its own.
pub(super) const OVERHEAD: Range = Range::between(0.0, 65536.0);
/// A count of hosts or switches.
pub(super) const COUNT: Range = Range::between(1.0, 1e6);

/// All values of a table, in the order of its fields.
pub(super) fn values(table: &dyn Table) -> Vec<Option<Value>> {
    (0..table.fields().len()).map(|i| table.get(i)).collect()
}

/// Declares an enumeration of tables that are declared elsewhere, told apart by a word in files: for each kind what it is,
/// its table and its word.
macro_rules! tables {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[doc = $doc:literal])+ $kind:ident($table:ident) = $word:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $( $(#[doc = $doc])+ $kind($table), )*
        }

        impl qcnlab_schemes::params::Variants for $name {
            const CHOICES: &'static [qcnlab_schemes::params::Choice] =
                &[$( qcnlab_schemes::params::Choice { name: $word, about: concat!($($doc, "\n"),+) }, )*];
            const FIELDS: &'static [&'static [qcnlab_schemes::params::Field]] = &[$( $table::FIELDS, )*];

            fn word(&self) -> &'static str {
                match self {
                    $( $name::$kind(_) => $word, )*
                }
            }

            fn values(&self) -> Vec<Option<qcnlab_schemes::params::Value>> {
                match self {
                    $( $name::$kind(table) => $crate::fields::values(table), )*
                }
            }

            fn from_values(word: &str, values: Vec<Option<qcnlab_schemes::params::Value>>) -> $name {
                match word {
                    $( $word => $name::$kind($table::from_values(values)), )*
                    other => unreachable!("no kind is called {other}"),
                }
            }
        }
    };
}
pub(super) use tables;
