//! Every metric of rows that are written here by hand, with the arithmetic beside them.

use super::windows::Windows;
use super::{METRICS, Meter, measure};
use crate::fabric::Fabric;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_sim::{Counters, Ending, Finished, FlowTally, PauseRows, RoceTally, TcpTally, Trace};
use qcnlab_units::{Id, Instant};

/// Two hosts offer 4 Gb/s each to a third; the first also sends 1 Gb/s to the second.
const HOTSPOT: &str = r#"
title = "By hand"
duration = "70 ms"
warmup = "5 ms"
[topology]
kind = "switch"
hosts = 3
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "constant"
from = "host{1..2}"
to = "host3"
rate = "4 Gb/s"
frame = "1500 B"
[[traffic]]
arrivals = "constant"
from = "host1"
to = "host2"
rate = "1 Gb/s"
frame = "1500 B"
[[hotspot]]
port = "switch->host3"
from = "10 ms"
until = "30 ms"
rate = "1 Gb/s"
[scheme]
name = "qcn"
[record]
throughput_bin = "1 ms"
queue_every = "1 ms"
"#;

const MS: u64 = 1_000_000_000;

fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let scenario = Scenario::parse(text.trim_start(), "by-hand.toml").and_then(|s| s.with_overrides(overrides));
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn fabric(scenario: &Scenario) -> Fabric {
    Fabric::new(scenario, Draw { seed: 1, replication: 0 }).unwrap_or_else(|error| panic!("{error}"))
}

/// The metrics of rows and totals, by name.
struct Measured(Vec<Option<f64>>);

impl Measured {
    fn of(scenario: &Scenario, fabric: &Fabric, done: &Finished) -> Measured {
        let mut meter = Meter::new(scenario, fabric);
        meter.read_rows(&done.trace);
        Measured(measure(scenario, fabric, meter, done))
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.0[METRICS.iter().position(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"))]
    }

    fn is(&self, name: &str, expected: f64) {
        let value = self.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{name}: {value} where {expected} is right");
    }
}

/// Octets through the bottleneck in each bin of 1 ms; 1 000 000 are 8 Gb/s.
fn through(bin: u64) -> u64 {
    match bin {
        0..5 => 2_000_000, // warm-up
        5..10 => 900_000,  // 7.2 Gb/s: 95 % of that are 855 000 octets, of the 8 Gb/s offered 950 000
        10..30 => 120_000, // hotspot
        30 => 500_000,     // below both
        31 => 960_000,     // the first at 95 % of what is offered
        32 => 860_000,     // at 95 % of before alone
        33..37 => 960_000, // four of what is offered are not five
        37 => 854_000,     // below both
        38..43 => 960_000, // five of what is offered are not ten
        43..47 => 860_000, // at 95 % of before alone
        47 => 854_000,     // below both
        48 => 960_000,     // here recovery begins
        49..70 => 950_000, // it lasts
        _ => unreachable!("70 bins"),
    }
}

/// The octets of the three flows; the third does not cross the bottleneck.
fn octets(bin: u64) -> [u64; 3] {
    let all = through(bin);
    match bin {
        5..10 => [600_000, 300_000, 125_000],
        10..30 => [all / 2, all / 2, 50_000],
        _ => [all / 2, all / 2, 125_000],
    }
}

/// Samples of the bottleneck's queue, each millisecond. Twice the set point of 33 000 is 66 000.
fn queued(ms: u64) -> u64 {
    match ms {
        5..10 => (ms - 5) * 10_000, // 0, 10, 20, 30, 40 thousand
        13..18 | 19..29 => 66_000,  // five in a row are not ten; ten are
        18 => 66_001,               // above twice the set point by one octet
        10..48 => 100_000,          // the rest of the hotspot, and what is not yet recovered
        48..70 => 20_000,
        _ => 150_000, // warm-up
    }
}

fn rows(fabric: &Fabric) -> Trace {
    let (mut trace, bottleneck) = (Trace::default(), fabric.bottleneck.number());
    for ms in 0..70 {
        for (flow, bytes) in octets(ms).into_iter().enumerate() {
            trace.throughput.time.push(ms * MS);
            trace.throughput.flow.push(flow as u32);
            trace.throughput.bytes.push(bytes);
        }
        for (port, bytes) in [(bottleneck, queued(ms)), (bottleneck + 1, 149_000)] {
            trace.queues.time.push(ms * MS);
            trace.queues.port.push(port);
            trace.queues.bytes.push(bytes);
        }
    }
    // One class of port 3 for 7 ms and another for 4; the whole link of port 4 for 4 ms and for the last 4 of the run.
    for (start, end, port, class) in [(10, 17, 3, Some(3)), (0, 4, 3, Some(5)), (1, 5, 4, None), (66, 75, 4, None)] {
        trace.pauses.start.push(start * MS);
        trace.pauses.end.push(end * MS);
        trace.pauses.port.push(port);
        trace.pauses.class.push(class);
        trace.pauses.because.push(0);
    }
    trace
}

/// A run that lasted as long as its scenario says.
fn finished(scenario: &Scenario, trace: Trace, flows: Vec<FlowTally>) -> Finished {
    let end = Instant::ZERO + scenario.duration;
    Finished { trace, flows: flows.into(), end, ..Finished::default() }
}

fn by_hand() -> Measured {
    with(&[])
}

fn with(overrides: &[&str]) -> Measured {
    let scenario = scenario(HOTSPOT, overrides);
    let fabric = fabric(&scenario);
    let done = finished(&scenario, rows(&fabric), vec![FlowTally::default(); 3]);
    Measured::of(&scenario, &fabric, &done)
}

/// From 30 ms to the starts of bins 48, 31 and 38; from 10 ms to the first of the ten samples, at 19 ms.
#[test]
fn times_to_recover_and_to_settle() {
    let measured = by_hand();
    measured.is("recovery_ms", 18.0);
    measured.is("rec95_ms", 1.0);
    measured.is("rec95s_ms", 8.0);
    measured.is("onset_ms", 9.0);
}

/// From 10.4 to 30.6 ms the streaks are the same: times are 0.6 ms less, that of settling 0.4 ms.
#[test]
fn times_count_from_a_hotspot_that_begins_and_ends_within_a_bin() {
    let measured = with(&["hotspot.from=10.4 ms", "hotspot.until=30.6 ms"]);
    measured.is("recovery_ms", 17.4);
    measured.is("rec95_ms", 0.4);
    measured.is("rec95s_ms", 7.4);
    measured.is("onset_ms", 8.6);
    // The sample at 19 ms is short and before the hotspot; the nine from 20 ms on are in it.
    with(&["hotspot.from=19.5 ms", "record.onset_hold=9 ms"]).is("onset_ms", 0.5);
}

/// Four bins of what is offered are the first at 33, five at 38; six from 38 on are 943 thousand on average, which is too
/// little. Five samples are at 13 ms; six are ten, at 19. A part of a bin counts as a whole one.
#[test]
fn levels_must_last_as_long_as_the_scenario_says() {
    for (recovery, rec95s, onset, expected) in [
        ("4 ms", "4 ms", "5 ms", [3.0, 3.0, 3.0]),
        ("4.001 ms", "3.001 ms", "4.001 ms", [8.0, 3.0, 3.0]),
        ("1 us", "1 us", "5.001 ms", [1.0, 1.0, 9.0]),
        ("6 ms", "5 ms", "10 ms", [18.0, 8.0, 9.0]),
        ("22 ms", "6 ms", "10 ms", [18.0, 18.0, 9.0]),
    ] {
        let holds = [("recovery", recovery), ("rec95s", rec95s), ("onset", onset)];
        let holds = holds.map(|(name, hold)| format!("record.{name}_hold={hold}"));
        let measured = with(&holds.each_ref().map(String::as_str));
        let names = ["recovery_ms", "rec95s_ms", "onset_ms"];
        names.into_iter().zip(expected).for_each(|(name, value)| measured.is(name, value));
    }
    // From bin 48 on 22 are good; eleven short samples are never in a row.
    let measured = with(&["record.recovery_hold=23 ms", "record.rec95s_hold=23 ms", "record.onset_hold=11 ms"]);
    assert_eq!(["recovery_ms", "rec95s_ms", "onset_ms"].map(|name| measured.get(name)), [None; 3]);
}

/// Before 7.2 of 10 Gb/s; during 0.96 of 1 Gb/s; after, 40 bins with 500 + 5 * 960 + 860 + 854 = 7014 (eight bins),
/// 5 * 960 + 4 * 860 = 8240, 854 + 960 = 1814 and 21 * 950 = 19 950, together 37 018 thousand octets.
#[test]
fn utilisations() {
    let measured = by_hand();
    measured.is("util_before", 0.72);
    measured.is("util_during", 0.96);
    measured.is("util_after", 37_018e3 * 8.0 / 40e-3 / 10e9);
}

/// Outside are bins 5 to 9 and, from recovery on, 48 to 69: 27 bins with 5 * 900 + 960 + 21 * 950 = 25 410 thousand
/// octets; of the flows 5 * 600 + 480 + 21 * 475 = 13 455, 5 * 300 + 10 455 = 11 955 and 27 * 125 = 3375 thousand.
#[test]
fn rates_outside_the_hotspot_and_its_recovery() {
    let measured = by_hand();
    measured.is("throughput_outside_gbps", 25_410e3 * 8.0 / 27e-3 * 1e-9);
    let [a, b, c] = [13_455.0, 11_955.0, 3_375.0];
    measured.is("jain", (a + b + c) * (a + b + c) / (3.0 * (a * a + b * b + c * c)));
    // Nothing is contended for, so both kinds of share are what is offered: 4, 4 and 1 Gb/s. 1 Gb/s are 3375 thousand
    // octets in 27 ms.
    let part = |octets: f64, share: f64| (octets / share - 1.0).powi(2);
    let off = ((part(a, 13_500.0) + part(b, 13_500.0) + part(c, 3_375.0)) / 3.0).sqrt();
    let near = |name: &str| assert!((measured.get(name).unwrap() / off - 1.0).abs() < 1e-6, "{name}");
    near("off_max_min");
    near("off_proportional");
}

/// 65 bins from 5 ms on. Through the bottleneck 4500 + 2400 + 37 018 = 43 918 thousand octets; the third flow has
/// 20 * 50 + 45 * 125 = 6625. The first two differ before the hotspot alone: 3000 and 1500, then 1200 + 18 509 each.
#[test]
fn rates_of_the_whole_run() {
    let measured = by_hand();
    measured.is("bottleneck_gbps", 43_918e3 * 8e-9 / 65e-3);
    measured.is("aggregate_gbps", 50_543e3 * 8e-9 / 65e-3);
    measured.is("victim_gbps", 6_625e3 * 8e-9 / 65e-3);
    measured.is("rate_ratio", 22_709.0 / 21_209.0);
}

/// Outside are 5 samples of 0 to 40 and 22 of 20 thousand octets: mean 20, squares 400 + 100 + 0 + 100 + 400 = 1000
/// over 27. During the hotspot 4 of 100, one of 66.001 and 15 of 66.
#[test]
fn queues_outside_and_during() {
    let measured = by_hand();
    measured.is("queue_mean_bytes", 20_000.0);
    measured.is("queue_std_bytes", 1e3 * (1000.0f64 / 27.0).sqrt());
    measured.is("queue_max_bytes", 40_000.0);
    measured.is("queue_empty_frac", 1.0 / 27.0);
    measured.is("queue_during_bytes", (4.0 * 100_000.0 + 66_001.0 + 15.0 * 66_000.0) / 20.0);
}

/// Port 4 is stopped for 4 ms and, up to the end, 4 more; the classes of port 3 do not add up.
#[test]
fn the_longest_pause() {
    by_hand().is("paused_frac", 8.0 / 70.0);
}

/// Without recovery everything after the hotspot counts as outside it.
#[test]
fn a_run_that_never_recovers() {
    let scenario = scenario(HOTSPOT, &["duration=58 ms"]);
    let fabric = fabric(&scenario);
    let mut trace = rows(&fabric);
    // Bins 48 to 56 and sample 58 stay: nine good bins, and the last bin is bad.
    let rows = 3 * 57;
    trace.throughput.time.truncate(rows);
    trace.throughput.flow.truncate(rows);
    trace.throughput.bytes.truncate(rows);
    for flow in 0..3 {
        trace.throughput.time.push(57 * MS);
        trace.throughput.flow.push(flow);
        trace.throughput.bytes.push(100_000);
    }
    trace.queues.time.truncate(2 * 58);
    trace.queues.port.truncate(2 * 58);
    trace.queues.bytes.truncate(2 * 58);
    let done = finished(&scenario, trace, vec![FlowTally::default(); 3]);
    let measured = Measured::of(&scenario, &fabric, &done);
    assert_eq!(measured.get("recovery_ms"), None);
    // 5 * 900 before; after 7014 + 8240 + 1814 + 8 * 950 + 200 = 24 868 thousand octets in 28 bins.
    measured.is("throughput_outside_gbps", 29_368e3 * 8.0 / 33e-3 * 1e-9);
    // 100 before, then 18 samples of 100 and 10 of 20 thousand octets, of 33.
    measured.is("queue_mean_bytes", (100e3 + 18.0 * 100e3 + 10.0 * 20e3) / 33.0);
    // Halves of the flows: 3000 and 1500 before, 12 434 after; the third 33 * 125 less its last bin's 25.
    let [a, b, c] = [15_434.0, 13_934.0, 4_100.0];
    measured.is("jain", (a + b + c) * (a + b + c) / (3.0 * (a * a + b * b + c * c)));
}

/// Each total has a value of its own, so that none can stand for another.
#[test]
fn totals_are_those_of_the_engine() {
    let scenario = scenario(HOTSPOT, &[]);
    let fabric = fabric(&scenario);
    let counters = Counters {
        frames_dropped: 11,
        messages_sent: 12,
        messages_heard: 912,
        messages_lost: 913,
        false_alarms: 13,
        alarms: 914,
        frames_refused: 14,
        pause_frames: 15,
        ..Counters::default()
    };
    let tcp = |timeouts, retransmitted| {
        Some(TcpTally { timeouts, retransmitted, fast_retransmits: 900, segments: 901, ..TcpTally::default() })
    };
    let roce = RoceTally {
        acknowledged_bytes: 902,
        packets: 903,
        retransmitted: 7,
        nacks: 904,
        timeouts: 3,
        trimmed: 905,
        spurious: 4,
        most_kept: 9,
        received: Instant::from_ps(906),
        last_sent: Instant::from_ps(907),
        last_octets: 908,
    };
    let flow = |total_bytes, finished, tcp| FlowTally { total_bytes, finished, tcp, ..FlowTally::default() };
    let flows = vec![
        flow(None, Instant::NEVER, tcp(16, 100)),
        FlowTally {
            roce: Some(RoceTally { retransmitted: 0, timeouts: 0, spurious: 30, most_kept: 8, ..roce }),
            ..flow(Some(5), Instant::NEVER, tcp(1, 20))
        },
        FlowTally { roce: Some(roce), ..flow(Some(5), Instant::from_ps(1), None) },
    ];
    let measured =
        Measured::of(&scenario, &fabric, &Finished { counters, ..finished(&scenario, rows(&fabric), flows) });
    let expected = [
        ("drops", 11.0),
        ("messages", 12.0),
        ("false_alarms", 13.0),
        ("refused", 14.0),
        ("pause_frames", 15.0),
        ("timeouts", 20.0),
        ("retransmitted", 127.0),
        ("spurious_repeats", 34.0),
        ("reorder_peak", 9.0),
    ];
    expected.into_iter().for_each(|(name, value)| measured.is(name, value));
}

/// What a scenario has not, it does not count: storms, watchdogs, failures and trimming have metrics of their own.
#[test]
fn totals_of_what_a_scenario_has() {
    let counters = Counters {
        storm_frames: 31,
        watchdog_drops: 32,
        link_drops: 33,
        packets_trimmed: 34,
        heads_ended: 935,
        storms_detected: 936,
        ..Counters::default()
    };
    let of = |table: &str| {
        let scenario = scenario(&HOTSPOT.replace("[scheme]", &format!("{table}[scheme]")), &[]);
        let fabric = fabric(&scenario);
        let done = Finished { counters, ..finished(&scenario, rows(&fabric), vec![FlowTally::default(); 3]) };
        let measured = Measured::of(&scenario, &fabric, &done);
        ["storm_frames", "watchdog_drops", "link_drops", "trimmed"].map(|name| measured.get(name))
    };
    assert_eq!(of(""), [None; 4]);
    let storm = "[[pause_storm]]\nhost = \"host3\"\nfrom = \"40 ms\"\nuntil = \"41 ms\"\n";
    assert_eq!(of(storm), [Some(31.0), None, None, None]);
    assert_eq!(of("[[watchdog]]\ndetect_after = \"1 ms\"\n"), [None, Some(32.0), None, None]);
    let failure = "[[failure]]\nlink = \"switch->host2\"\nfrom = \"40 ms\"\n";
    assert_eq!(of(failure), [None, None, Some(33.0), None]);
    assert_eq!(of("[[switch]]\ntrim_to = \"64 B\"\n"), [None, None, None, Some(34.0)]);
}

/// Without a hotspot everything from the end of warm-up on is outside one: 65 bins with 43 918 thousand octets, of the flows
/// 22 709, 21 209 and 6625, and 65 samples, of which 5 to 9 ms have 100 thousand, the rest as in `queued`.
#[test]
fn a_run_without_a_hotspot() {
    let hotspot = "[[hotspot]]\nport = \"switch->host3\"\nfrom = \"10 ms\"\nuntil = \"30 ms\"\nrate = \"1 Gb/s\"\n";
    let scenario = scenario(&HOTSPOT.replace(hotspot, ""), &[]);
    let fabric = fabric(&scenario);
    let done = finished(&scenario, rows(&fabric), vec![FlowTally::default(); 3]);
    let measured = Measured::of(&scenario, &fabric, &done);
    measured.is("util_before", 43_918e3 * 8.0 / 65e-3 / 10e9);
    measured.is("throughput_outside_gbps", 43_918e3 * 8.0 / 65e-3 * 1e-9);
    let [a, b, c] = [22_709.0, 21_209.0, 6_625.0];
    measured.is("jain", (a + b + c) * (a + b + c) / (3.0 * (a * a + b * b + c * c)));
    // 4 and 1 Gb/s are 32 500 and 8125 thousand octets in 65 ms.
    let part = |octets: f64, share: f64| (octets / share - 1.0).powi(2);
    let off = ((part(a, 32_500.0) + part(b, 32_500.0) + part(c, 8_125.0)) / 3.0).sqrt();
    assert!((measured.get("off_max_min").expect("shares") / off - 1.0).abs() < 1e-6);
    // 100 before 10 ms; then 4 and 18 of 100, one of 66.001 and 15 of 66, and 22 of 20 thousand.
    measured.is("queue_mean_bytes", (100e3 + 22.0 * 100e3 + 66_001.0 + 15.0 * 66e3 + 22.0 * 20e3) / 65.0);
    for none in ["util_during", "util_after", "queue_during_bytes", "recovery_ms", "rec95_ms", "rec95s_ms", "onset_ms"]
    {
        assert_eq!(measured.get(none), None, "{none}");
    }
}

/// Where no flow delivers anything, rates are 0, and not unknown.
#[test]
fn a_run_through_which_nothing_went() {
    let scenario = scenario(HOTSPOT, &[]);
    let fabric = fabric(&scenario);
    let done = finished(&scenario, Trace::default(), vec![FlowTally::default(); 3]);
    let measured = Measured::of(&scenario, &fabric, &done);
    for name in ["util_before", "util_during", "util_after", "bottleneck_gbps", "aggregate_gbps", "victim_gbps"] {
        assert_eq!(measured.get(name), Some(0.0), "{name}");
    }
    assert_eq!((measured.get("jain"), measured.get("queue_mean_bytes")), (None, None));
}

/// A run that ended 0.4 ms after its warm-up, before a bin was whole, has no rates; its queue has one sample, of 0.
#[test]
fn a_run_without_a_whole_bin_has_no_rates() {
    let scenario = scenario(HOTSPOT, &[]);
    let fabric = fabric(&scenario);
    let mut trace = rows(&fabric);
    trace.throughput.time.truncate(3 * 5);
    trace.throughput.flow.truncate(3 * 5);
    trace.throughput.bytes.truncate(3 * 5);
    trace.queues.time.truncate(2 * 6);
    trace.queues.port.truncate(2 * 6);
    trace.queues.bytes.truncate(2 * 6);
    let mut done = finished(&scenario, trace, vec![FlowTally::default(); 3]);
    done.end = Instant::from_ps(5_400_000_000);
    let measured = Measured::of(&scenario, &fabric, &done);
    for none in [
        "util_before",
        "throughput_outside_gbps",
        "jain",
        "bottleneck_gbps",
        "aggregate_gbps",
        "victim_gbps",
        "rate_ratio",
        "off_max_min",
        "off_proportional",
    ] {
        assert_eq!(measured.get(none), None, "{none}");
    }
    measured.is("queue_mean_bytes", 0.0);
    measured.is("queue_empty_frac", 1.0);
}

/// Rows come in parts. Where tables are kept, all rows so far come again; where they are not, only those that are new.
#[test]
fn rows_that_come_in_parts_give_the_same_metrics() {
    for keep in ["true", "false"] {
        let scenario = scenario(HOTSPOT, &[&format!("record.tables={keep}")]);
        let fabric = fabric(&scenario);
        let all = rows(&fabric);
        let part = |bins: std::ops::Range<usize>, pauses: std::ops::Range<usize>| {
            let mut part = Trace::default();
            part.throughput.time = all.throughput.time[3 * bins.start..3 * bins.end].to_vec();
            part.throughput.flow = all.throughput.flow[3 * bins.start..3 * bins.end].to_vec();
            part.throughput.bytes = all.throughput.bytes[3 * bins.start..3 * bins.end].to_vec();
            part.queues.time = all.queues.time[2 * bins.start..2 * bins.end].to_vec();
            part.queues.port = all.queues.port[2 * bins.start..2 * bins.end].to_vec();
            part.queues.bytes = all.queues.bytes[2 * bins.start..2 * bins.end].to_vec();
            part.pauses.start = all.pauses.start[pauses.clone()].to_vec();
            part.pauses.end = all.pauses.end[pauses.clone()].to_vec();
            part.pauses.port = all.pauses.port[pauses.clone()].to_vec();
            part.pauses.class = all.pauses.class[pauses].to_vec();
            part
        };
        let mut meter = Meter::new(&scenario, &fabric);
        let parts = match keep {
            "true" => [(0..20, 0..1), (0..20, 0..1), (0..49, 0..3), (0..70, 0..4)],
            _ => [(0..20, 0..1), (20..20, 1..1), (20..49, 1..3), (49..70, 3..4)],
        };
        for (bins, pauses) in parts {
            meter.read_rows(&part(bins, pauses));
        }
        let done = finished(&scenario, Trace::default(), vec![FlowTally::default(); 3]);
        let measured = measure(&scenario, &fabric, meter, &done);
        assert_eq!(measured, by_hand().0, "tables = {keep}");
    }
}

/// Recovery is known with the last whole bin, 69. The sample at 70 ms has been read by then, and counts: with five before
/// the hotspot and 22 from 48 ms on the mean is (100 + 22 * 20 + 48) / 28 = 21 thousand octets.
#[test]
fn a_sample_after_the_last_whole_bin_counts() {
    let scenario = scenario(HOTSPOT, &["duration=70.5 ms", "record.recovery_hold=22 ms"]);
    let fabric = fabric(&scenario);
    let mut trace = rows(&fabric);
    trace.queues.time.push(70 * MS);
    trace.queues.port.push(fabric.bottleneck.number());
    trace.queues.bytes.push(48_000);
    let done = finished(&scenario, trace, vec![FlowTally::default(); 3]);
    let measured = Measured::of(&scenario, &fabric, &done);
    measured.is("recovery_ms", 18.0);
    measured.is("queue_mean_bytes", 21e3);
}

/// In a deadlock at 8.5 ms, before the hotspot: three whole bins of 900 thousand octets since 5 ms, the samples of 5 to 8
/// ms, and a link that was stopped from 1 to 5 ms.
#[test]
fn a_run_that_ends_before_its_time_is_measured_up_to_then() {
    let scenario = scenario(HOTSPOT, &[]);
    let fabric = fabric(&scenario);
    let mut trace = rows(&fabric);
    let bins = 3 * 8;
    trace.throughput.time.truncate(bins);
    trace.throughput.flow.truncate(bins);
    trace.throughput.bytes.truncate(bins);
    trace.queues.time.truncate(2 * 9);
    trace.queues.port.truncate(2 * 9);
    trace.queues.bytes.truncate(2 * 9);
    trace.pauses = PauseRows { start: vec![MS], end: vec![5 * MS], port: vec![4], class: vec![None], because: vec![0] };
    let mut done = finished(&scenario, trace, vec![FlowTally::default(); 3]);
    done.end = Instant::from_ps(8_500_000_000);
    done.ending = Ending::Deadlock { circle: vec!["switch->host3".to_owned()], closed: Instant::from_ps(MS) };
    let measured = Measured::of(&scenario, &fabric, &done);
    measured.is("deadlock_ms", 8.5);
    measured.is("util_before", 0.72);
    measured.is("bottleneck_gbps", 7.2);
    measured.is("queue_mean_bytes", 15e3);
    measured.is("paused_frac", 4.0 / 8.5);
    for none in ["util_during", "util_after", "queue_during_bytes", "recovery_ms", "onset_ms"] {
        assert_eq!(measured.get(none), None, "{none}");
    }
    assert_eq!(by_hand().get("deadlock_ms"), None);
}

/// Flows of 1250 octets in one frame over two links of 1 Gb/s and 1 us take 2 * (10 + 1) = 22 us alone. They start at
/// 1000 us, and the run ends at 1110 us.
fn completions(finished_us: &[Option<u64>]) -> Measured {
    completions_until(1110, finished_us)
}

/// As [`completions`], of a run that ends at `end_us`.
fn completions_until(end_us: u64, finished_us: &[Option<u64>]) -> Measured {
    let flow = |us: &Option<u64>| FlowTally {
        total_bytes: Some(1250),
        started: Instant::from_ps(1000 * 1_000_000),
        finished: us.map_or(Instant::NEVER, |us| Instant::from_ps((1000 + us) * 1_000_000)),
        ..FlowTally::default()
    };
    measured_flows(end_us, finished_us.iter().map(flow).collect())
}

/// The metrics of flows of 1250 octets, each meant to start at 1000 us.
fn measured_flows(end_us: u64, flows: Vec<FlowTally>) -> Measured {
    let lines: String = flows.iter().map(|_| "host1,host2,1250 B,1 ms\n").collect();
    let text = format!(
        "title = \"By hand\"\nduration = \"1110 us\"\n[topology]\nkind = \"switch\"\nhosts = 2\nrate = \"1 Gb/s\"\n\
         delay = \"1 us\"\n[[traffic]]\narrivals = \"list\"\nframe = \"1500 B\"\nflows = \"\"\"\nfrom,to,size,start\n\
         {lines}\"\"\"\n[scheme]\nname = \"none\"\n"
    );
    let scenario = scenario(&text, &[]);
    let fabric = fabric(&scenario);
    let end = Instant::from_ps(end_us * 1_000_000);
    Measured::of(&scenario, &fabric, &Finished { end, ..finished(&scenario, Trace::default(), flows) })
}

/// 22, 44 and 66 us after their start: 1, 2 and 3 times as long as alone. The last has taken 110 us, 5 times as long,
/// and is not done: the values are lower bounds.
#[test]
fn flows_that_did_not_finish_count_with_their_time_so_far() {
    let measured = completions(&[Some(66), Some(22), Some(44), None]);
    measured.is("started", 4.0);
    measured.is("unfinished", 1.0);
    measured.is("never_started", 0.0);
    measured.is("slowdown_mean", 11.0 / 4.0);
    measured.is("slowdown_p99", 5.0);
    measured.is("fct_mean_ms", 11.0 * 0.022 / 4.0);
    measured.is("fct_p99_ms", 0.110);
    let all = completions(&[Some(66), Some(22), Some(44)]);
    all.is("slowdown_mean", 2.0);
    all.is("slowdown_p99", 3.0);
    all.is("unfinished", 0.0);
    let none = by_hand();
    assert_eq!((none.get("slowdown_mean"), none.get("fct_p99_ms")), (None, None));
    none.is("started", 0.0);
}

/// A run that ended before its time, as a deadlock ends one: a flow that would have started then did not. One that
/// started 1 us before has taken 1 us, and takes 22 us at least.
#[test]
fn flows_that_had_not_started_when_a_run_ended_do_not_count() {
    let none = completions_until(1000, &[None]);
    assert_eq!((none.get("started"), none.get("unfinished"), none.get("fct_mean_ms")), (Some(0.0), Some(0.0), None));
    let one = completions_until(1001, &[None]);
    one.is("started", 1.0);
    one.is("fct_mean_ms", 0.022);
}

/// Five flows of a size, of which two waited for others to the end.
#[test]
fn flows_that_never_started_are_those_of_a_size_that_did_not() {
    let flow = |started: Instant, finished: Instant| FlowTally { started, finished, ..FlowTally::default() };
    let us = |us: u64| Instant::from_ps(us * 1_000_000);
    let done = flow(us(1000), us(1044));
    let waits = flow(Instant::NEVER, Instant::NEVER);
    let measured = measured_flows(1110, vec![done, waits, flow(us(1000), Instant::NEVER), done, waits]);
    for (name, expected) in [("started", 3.0), ("unfinished", 1.0), ("never_started", 2.0)] {
        measured.is(name, expected);
    }
    measured.is("fct_mean_ms", (2.0 * 0.044 + 0.110) / 3.0);
}

/// Of 100 flows 99 do not exceed the 99th, of 200 the 198th; of 101 it takes 99.99, so the 100th.
#[test]
fn the_99th_percentile_is_the_smallest_that_99_percent_do_not_exceed() {
    for (flows, rank) in [(1, 1.0), (99, 99.0), (100, 99.0), (101, 100.0), (200, 198.0)] {
        let finished: Vec<Option<u64>> = (1..=flows).rev().map(|n| Some(22 * n)).collect();
        completions(&finished).is("slowdown_p99", rank);
    }
}

#[test]
fn windows_end_where_hotspots_begin() {
    let without = HOTSPOT
        .replace("[[hotspot]]\nport = \"switch->host3\"\nfrom = \"10 ms\"\nuntil = \"30 ms\"\nrate = \"1 Gb/s\"\n", "");
    let windows = Windows::of(&scenario(&without, &[]));
    assert_eq!((windows.before, windows.during, windows.after), (5 * MS..70 * MS, None, None));
    let second =
        "[[hotspot]]\nport = \"switch->host3\"\nfrom = \"50 ms\"\nuntil = \"60 ms\"\nrate = \"2 Gb/s\"\n[scheme]";
    let windows = Windows::of(&scenario(&HOTSPOT.replace("[scheme]", second), &[]));
    assert_eq!(windows.before, 5 * MS..10 * MS);
    assert_eq!((windows.during, windows.after), (Some(10 * MS..30 * MS), Some(30 * MS..50 * MS)));
    assert_eq!(windows.whole, 5 * MS..70 * MS);
}

/// Bins of 3 ms: 23 end by 70 ms. Whole inside 5 to 10 ms lies one, from 6 to 9; two begin there, at 6 and at 9.
#[test]
fn bins_lie_in_a_window_or_begin_in_it() {
    let windows = Windows::of(&scenario(HOTSPOT, &["record.throughput_bin=3 ms"]));
    assert_eq!(windows.all_bins(), 23);
    assert_eq!(windows.bins_in(&(5 * MS..10 * MS)), 2..3);
    assert_eq!(windows.bins_in(&(6 * MS..12 * MS)), 2..4);
    assert_eq!(windows.bins_in(&(60 * MS..80 * MS)), 20..23);
    let micros = |ranges: &[std::ops::Range<u64>]| (windows.seconds(ranges) * 1e6).round() as u64;
    let inside = [5 * MS..10 * MS, 6 * MS..12 * MS, 60 * MS..80 * MS];
    assert_eq!(inside.clone().map(|range| micros(&[range])), [6000, 6000, 9000]);
    assert_eq!(micros(&inside), 21_000);
    // From 6 to 10 ms begin the bins at 6 and 9 ms, from 7 to 9 ms none does.
    assert_eq!([6 * MS..10 * MS, 7 * MS..9 * MS].map(|range| micros(&[range])), [6000, 0]);
}
