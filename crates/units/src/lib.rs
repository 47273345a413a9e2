//! Quantities of an Ethernet fabric: octets, bit rates, instants and spans of time.
//!
//! Everything is an integer in its base unit (octet, bit/s, picosecond), so
//! sums are exact and runs repeat bit for bit. Text carries a unit, always:
//! K is 1000, Ki is 1024, b is a bit, B is an octet. A misspelt word is told its [`nearest`] one. [`Id`] is what
//! an index has to be to open an [`IdVec`]. [`Names`] and [`Paths`] are lists that many flows share.
//!
//! ```text
//! "10 Gb/s"  BitRate      "33 KB", "64 KiB"  Bytes      "15 ms", "10 us"  Span
//! ```

mod bytes;
mod ids;
mod names;
mod nearest;
mod paths;
mod rate;
mod text;
mod time;

pub use bytes::Bytes;
pub use ids::{Id, IdVec};
pub use names::{Name, Names};
pub use nearest::nearest;
pub use paths::{PathIter, Paths, PathsOfFlows};
pub use rate::BitRate;
pub use text::{Quantity, UnitError};
pub use time::{Instant, Span};
