//! The queues that stand under PowerTCP and Swift, as their laws say, and the swings without what holds them back.

use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;

/// Sixteen flows or fewer without an end, 100 Gb/s, that start within 100 us. Returns mean, least and largest queue from 6 to
/// 10 ms, octets.
fn queue(changes: &[&str]) -> (f64, u64, u64) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/roce/incast-16-to-1-100g.toml");
    let text = std::fs::read_to_string(path).expect("the scenario is shipped");
    let long = [
        "drain=false",
        "duration=10 ms",
        "traffic.size=1 GB",
        "traffic.start_jitter=100 us",
        "record.queue_every=1 us",
    ];
    let scenario = Scenario::parse(&text, "incast.toml").and_then(|s| s.with_overrides(&[&long[..], changes].concat()));
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    let mut outcome = run(&[scenario.expect("it is good")], &options, &Control::default()).expect("it runs").remove(0);
    let rows = outcome.replications.remove(0).done.trace.queues;
    let late = rows.time.iter().zip(&rows.bytes).filter(|(time, _)| **time > 6_000_000_000);
    let queues: Vec<u64> = late.map(|(_, bytes)| *bytes).collect();
    let mean = queues.iter().sum::<u64>() as f64 / queues.len() as f64;
    (mean, *queues.iter().min().expect("samples"), *queues.iter().max().expect("samples"))
}

/// P = 1 + q / (B tau) and W = W / P + beta for each of n windows of payload: the queue, in octets on the wire, is n beta times
/// 1.09 for packets of 1000 octets with 48 of headers and 42 of telemetry, and 1.048 without. Some packets more stand in it
/// where those of several senders come at once.
#[test]
fn beta_of_each_flow_stands_in_the_queue() {
    for (scheme, wire) in [("powertcp", 1.09), ("theta_powertcp", 1.048)] {
        for (flows, beta) in [(4, 5000), (16, 2000), (16, 5000)] {
            let changes = [
                format!("scheme.name={scheme}"),
                format!("topology.sources={flows}"),
                format!("scheme.rp.beta={beta} B"),
            ];
            let (mean, least, _) = queue(&changes.each_ref().map(String::as_str));
            let expected = wire * f64::from(flows * beta);
            println!("{scheme}, {flows} flows, {beta}: {mean:.0} octets, {expected:.0} by the law");
            let near = (mean - expected).abs() < 0.08 * expected + 3000.0;
            assert!(near && least > 0, "{scheme}, {flows} flows, {beta}: {mean}, {least} for {expected}");
        }
    }
}

/// Without a floor of the current, four flows that join one by one swing around more than ten times n beta.
#[test]
fn windows_swing_where_a_draining_queue_has_no_power() {
    let (mean, least, most) =
        queue(&["scheme.name=powertcp", "topology.sources=4", "scheme.rp.beta=2000 B", "scheme.rp.least_current=0"]);
    println!("{mean:.0} octets, {least} to {most}");
    assert!(mean > 80_000.0 && most > 150_000, "{mean}, {least} to {most}");
}

/// Swift's round-trip time swings around its target, D: what is in flight, n W packets of 1048 octets, is B D, and D is 26 us
/// and a / sqrt(W) - a / 16 with a = 32.26 us. Sixteen flows: W = 12.5 * 30.6 / 16 / 1.048 = 22.8 packets makes D = 30.7 us,
/// and 30.7 us less the 4.17 us of the path are 332 KB. Four: W = 84 makes 27.5 us, 292 KB.
#[test]
fn the_delay_of_swift_is_its_target() {
    for (flows, expected) in [(4, 292e3), (16, 332e3)] {
        let (mean, least, _) = queue(&["scheme.name=swift", &format!("topology.sources={flows}")]);
        println!("{flows} flows: {mean:.0} octets, {expected:.0} by the law");
        assert!((mean / expected - 1.0).abs() < 0.03 && least > 0, "{flows} flows: {mean}, {least} for {expected}");
    }
}
