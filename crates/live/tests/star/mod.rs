//! A star that tests of live runs start from.

/// Two saturated senders at 10 Gb/s, QCN, and a queue of 150 KB: without `duration`.
pub(crate) const STAR: &str = r#"
[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "20 us"
buffer = "150 KB"

[[traffic]]
kind = "saturated"
frame = "1500 B"

[scheme]
name = "qcn"
preset = "DECK001"
"#;
