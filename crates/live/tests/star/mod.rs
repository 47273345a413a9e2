//! A star that tests of live runs start from; `tests/test_live.py` reads it, too.

/// Two saturated senders at 10 Gb/s, QCN, and a queue of 150 KB: without `duration`.
pub(crate) const STAR: &str = include_str!("star.toml");
