//! Networks of hosts, switches and links: what is joined with what, the ways through it, and the shares of its links.

pub mod fairness;
mod pattern;
mod paused_link;
pub mod topology;

pub use pattern::{Pattern, PatternError};
pub use paused_link::{PAUSE_FRAME, PausedLink, SHORTEST, Term};
