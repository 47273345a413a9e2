//! The largest frames: 65535 octets, the most that a 16-bit length holds, run; one octet more is refused.

use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;

const LARGE: &str = r#"
title = "The largest frames"
duration = "50 ms"
[topology]
kind = "switch"
hosts = 3
rate = "10 Gb/s"
delay = "1 us"
frame_overhead = "65536 B"
[[traffic]]
arrivals = "saturated"
from = "host1"
to = "host3"
frame = "65535 B"
[[traffic]]
arrivals = "saturated"
transport = "tcp"
from = "host2"
to = "host3"
frame = "65535 B"
ack_frame = "65535 B"
max_window = "1 MB"
[feedback]
kind = "frames"
frame = "65535 B"
[scheme]
name = "qcn"
"#;

fn scenario() -> Scenario {
    Scenario::parse(LARGE.trim_start(), "large.toml").unwrap_or_else(|error| panic!("{}", error.render()))
}

#[test]
fn frames_of_65535_octets_run_with_their_overhead() {
    let outcome = run(&[scenario()], &Options::default(), &Control::default()).unwrap().remove(0);
    let done = &outcome.replications[0].done;
    // 65535 + 65536 octets take 104.9 us at 10 Gb/s, so that both flows together get no more than 476 in 50 ms. QCN,
    // whose set point is less than a frame, holds them well below.
    let delivered: u64 = done.flows.iter().map(|flow| flow.delivered).sum();
    assert!((50..=476).contains(&delivered), "{delivered} frames");
    assert!(done.counters.acks_heard > 0 && done.counters.messages_heard > 0, "{:?}", done.counters);
    for flow in &done.flows {
        assert_eq!(flow.delivered_bytes, flow.delivered * 65_535);
    }
}

#[test]
fn one_octet_more_is_refused() {
    for key in ["traffic.0.frame", "traffic.1.frame", "traffic.1.ack_frame", "feedback.frame"] {
        let error = scenario().with_overrides(&[format!("{key}=65536 B")]).expect_err(key);
        let text = error.render();
        assert!(text.contains("65536 B is out of range: it must be from 64 B to 65535 B"), "{key}:\n{text}");
    }
}
