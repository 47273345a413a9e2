//! What a driver keeps beside a scheme's machines: rules that hold wherever the machines run.
//!
//! The simulator drives these with simulated time, the live data plane with the time of a clock. Like the machines they
//! own no clock, queue or socket: time and queue lengths are passed in.
//!
//! * [`Limiter`]: a reaction point and the [`Pacer`] that it sets.
//! * [`PauseSender`]: which pauses a node has asked for on one of its links, and when it asks for the next.
//! * [`ClassPause`]: until when a class is paused at the other end.

mod limiter;
mod pacer;
mod pausing;

pub use limiter::{Limiter, LimiterCount, LimiterTally};
pub use pacer::Pacer;
pub use pausing::{ClassPause, EndedPause, PausePlan, PauseRule, PauseScope, PauseSender, PauseTarget};
