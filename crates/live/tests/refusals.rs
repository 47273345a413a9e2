//! What the simulator has and live runs do not is refused in words, before anything is built.

use qcnlab_lab::{Control, Scenario};
use qcnlab_live::{LimiterKind, LiveOptions, TrafficSource, run};

const STAR: &str = r#"
duration = "10 ms"

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

/// The message that a live run of the star with `more` ends with.
fn refusal(more: &str) -> String {
    let scenario = Scenario::parse(&format!("{STAR}\n{more}"), "test.toml").expect("the simulator can run it");
    match run(&scenario, &LiveOptions::default(), &Control::default()) {
        Ok(_) => panic!("it ran with {more}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_live_runs_lack_is_named() {
    let failure = "[[failure]]\nlink = \"source1->switch\"\nfrom = \"1 ms\"\nuntil = \"2 ms\"";
    assert!(refusal(failure).contains("leave [[failure]] out"), "{}", refusal(failure));
    let wred = "[[wred]]\nk_min = \"10 KB\"\nk_max = \"20 KB\"\np_max = 0.1";
    assert!(refusal(wred).contains("leave [[wred]] out"), "{}", refusal(wred));
    let storm = "[[pause_storm]]\nhost = \"sink\"\nfrom = \"1 ms\"\nuntil = \"2 ms\"";
    assert!(refusal(storm).contains("leave [[pause_storm]] and [[watchdog]] out"), "{}", refusal(storm));
}

/// Only our own senders mark their frames with the class of their reaction point.
#[test]
fn the_kernel_shaper_takes_own_traffic_alone() {
    let scenario = Scenario::parse(STAR, "test.toml").expect("the simulator can run it");
    for traffic in [TrafficSource::None, TrafficSource::Iperf3] {
        let options = LiveOptions { limiter: LimiterKind::Htb, traffic, ..LiveOptions::default() };
        let error = run(&scenario, &options, &Control::default()).expect_err("nothing marks these frames");
        assert!(error.to_string().contains("use --traffic own, or --limiter adapter"), "{error}");
    }
}
