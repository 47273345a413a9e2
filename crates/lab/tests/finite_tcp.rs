//! Finite flows over TCP: completion times, slowdowns, and incast with and without congestion management.

use qcnlab_lab::{Control, Options, Outcome, run};
use qcnlab_scenario::Scenario;
use qcnlab_sim::FlowId;
use qcnlab_units::Id;

const INCAST: &str = r#"
title = "Incast over TCP"
duration = "200 ms"
[topology]
kind = "switch"
hosts = 9
rate = "10 Gb/s"
delay = "1 us"
[switch]
output_buffer = "225 KB"
[adapter]
max_rps = 1
[[traffic]]
arrivals = "incast"
transport = "tcp"
from = "host{2..9}"
to = "host1"
senders = 4
size = "1 MB"
period = "20 ms"
frame = "1500 B"
min_rto = "5 ms"
initial_rto = "5 ms"
initial_window = 2
[scheme]
name = "none"
"#;

fn outcome(text: &str, overrides: &[&str]) -> Outcome {
    let scenario = Scenario::parse(text.trim_start(), "tcp.toml").and_then(|s| s.with_overrides(overrides));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&[scenario], &Options::default(), &Control::default()).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn metric(outcome: &Outcome, name: &str) -> f64 {
    let index = qcnlab_lab::METRICS.iter().position(|metric| metric.name == name);
    outcome.replications[0].metrics[index.unwrap_or_else(|| panic!("no metric {name}"))].unwrap_or(f64::NAN)
}

/// Four windows of 64 KiB do not fit a queue of 225 KB. QCN slows the senders down before it is full.
#[test]
fn incast_runs_into_timeouts_and_with_qcn_it_does_not() {
    let plain = outcome(INCAST, &[]);
    assert!(metric(&plain, "drops") > 0.0 && metric(&plain, "timeouts") >= 10.0);
    let qcn = outcome(INCAST, &["scheme.name=qcn"]);
    for outcome in [&plain, &qcn] {
        let done = &outcome.replications[0].done;
        assert_eq!((done.flows.len(), metric(outcome, "unfinished")), (40, 0.0), "four flows each 20 ms, all done");
    }
    // Alone a flow takes 0.8 ms, and beside three others at most four times as long: a slowdown of 1 to 4. A timeout of
    // 5 ms adds 5 / 0.8 = 6.25, once: then the others are done. With drawn ties every flow may lose the last frames of
    // its window, and more of the 40 wait for their timers (28) than when the first ports lose none (20).
    let waits = 6.25 * metric(&plain, "timeouts") / 40.0;
    let mean = metric(&plain, "slowdown_mean");
    assert!((1.0 + waits..4.0 + waits).contains(&mean), "{mean}, {waits} of them for timers");
    assert!(metric(&plain, "slowdown_p99") < 10.25, "{}", metric(&plain, "slowdown_p99"));
    // With QCN nobody waits for a timer: four at a time take four times as long as one, and a little is left unused.
    assert!((4.0..6.0).contains(&metric(&qcn, "slowdown_mean")), "{}", metric(&qcn, "slowdown_mean"));
    assert!(metric(&qcn, "slowdown_p99") < 15.0, "{}", metric(&qcn, "slowdown_p99"));
    assert_eq!((metric(&qcn, "drops"), metric(&qcn, "timeouts")), (0.0, 0.0));
}

const LIST: &str = r#"
arrivals = "list"
transport = "tcp"
flows = """
from,to,size,start,class
host2,host1,1460 B,1 ms,5
host3,host1,1 MB,2 ms,
host4,host1,1461 B,6 ms,
"""
max_window = "2 MB"
initial_window = 1000
"#;

/// Connections whose windows hold nothing back take the time of their frames alone.
#[test]
fn completion_times_are_those_of_the_last_octet_in_order() {
    let start = INCAST.find("arrivals = \"incast\"\ntransport = \"tcp\"").unwrap_or_else(|| panic!("incast"));
    let end = INCAST.find("frame = ").unwrap_or_else(|| panic!("frame"));
    let text = format!("{}{LIST}{}", &INCAST[..start], &INCAST[end..].replace("initial_window = 2\n", ""));
    let outcome = outcome(&text, &["switch.output_buffer=2 MB"]);
    let done = &outcome.replications[0].done;
    let took = |flow: u32, start_us: u64| done.flows[FlowId::new(flow)].finished.ps() - start_us * 1_000_000;
    // One frame over two links of 1 us: 2 x (1.2 + 1) us.
    assert_eq!(took(0, 1000), 4_400_000);
    // 684 full segments and one of 1360 B, which waits for nobody: 2 us, 685 x 1.2 us and 1.12 us.
    assert_eq!(took(1, 2000), 2_000_000 + 685 * 1_200_000 + 1_120_000);
    assert_eq!(done.flows[FlowId::new(1)].total_bytes, Some(1_000_000));
    // A full frame and one of 41 B behind it.
    assert_eq!(took(2, 6000), 2_000_000 + 2 * 1_200_000 + 32_800);
    assert_eq!(metric(&outcome, "slowdown_p99"), 1.0);
    assert_eq!(metric(&outcome, "unfinished"), 0.0);
}

/// Flows of a frame, which takes 1.2 us on each of two links of 1 us: 4.4 us. The second starts 3 us after its host has the
/// first, at 7.4 us; the third when its host has heard of the first: an acknowledgement of 64 octets takes 51.2 ns a link, and
/// 2 us, so at 6502.4 ns. It is there at 10,902.4 ns, and the second waits behind it at host 1's port, until 12,102.4 ns. The
/// fourth waits for both, and starts 10 us after the third; unless arrivals stop before, and then the fifth does not start either.
#[test]
fn flows_of_a_list_wait_for_others() {
    let start = INCAST.find("arrivals = \"incast\"").unwrap_or_else(|| panic!("incast"));
    let end = INCAST.find("frame = ").unwrap_or_else(|| panic!("frame"));
    let list = "arrivals = \"list\"\ntransport = \"tcp\"\nack_frame = \"64 B\"\nheaders = \"58 B\"\nflows = \"\"\"\n\
                from,to,size,start,id,after\nhost2,host3,1442 B,0 s,a,\nhost3,host1,1442 B,3 us,b,a\n\
                host2,host1,1442 B,0 s,c,a\nhost1,host2,1442 B,0 s,d,b c+10us\nhost1,host4,1442 B,0 s,,d\n\"\"\"\n";
    let text = format!("drain = true\n{}{list}{}", &INCAST[1..start], &INCAST[end..]);
    for changes in [&[][..], &["stop_arrivals=20.9 us"]] {
        let outcome = outcome(&text, changes);
        let done = &outcome.replications[0].done;
        let flow =
            |number| (done.flows[FlowId::new(number)].started.ps(), done.flows[FlowId::new(number)].finished.ps());
        assert_eq!(flow(0), (0, 4_400_000));
        assert_eq!(flow(1), (7_400_000, 12_102_400));
        assert_eq!(flow(2), (6_502_400, 10_902_400));
        if changes.is_empty() {
            assert_eq!(flow(3), (20_902_400, 25_302_400));
            assert_eq!(done.end, done.flows[FlowId::new(4)].finished);
            assert_eq!((metric(&outcome, "never_started"), metric(&outcome, "unfinished")), (0.0, 0.0));
        } else {
            assert_eq!(done.end.ps(), 12_102_400);
            assert_eq!(metric(&outcome, "never_started"), 2.0);
        }
    }
}

#[test]
fn random_flows_go_over_connections() {
    let start = INCAST.find("arrivals = \"incast\"\ntransport = \"tcp\"").unwrap_or_else(|| panic!("incast"));
    let end = INCAST.find("frame = ").unwrap_or_else(|| panic!("frame"));
    let flows = "arrivals = \"flows\"\ntransport = \"tcp\"\nfrom = \"*\"\nto = \"*\"\nsizes = \"20 KB\"\nload = 0.2\nstop = \"10 ms\"\n";
    let text = format!("{}{flows}{}", &INCAST[..start], &INCAST[end..]);
    let outcome = outcome(&text, &["duration=12 ms", "switch.output_buffer=2 MB"]);
    let done = &outcome.replications[0].done;
    // Nine senders of 2 Gb/s start 12 500 flows of 20 KB a second each: 1125 in 10 ms.
    assert!((1000..1250).contains(&done.flows.len()), "{}", done.flows.len());
    assert!(done.flows.iter().all(|flow| flow.tcp.is_some() && flow.total_bytes == Some(20_000)));
    assert!((1.0..3.0).contains(&metric(&outcome, "slowdown_mean")), "{}", metric(&outcome, "slowdown_mean"));
}
