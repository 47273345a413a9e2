//! Every column of every table against rows that are written here by hand: each value occurs once.

use super::{Column, Data, METRICS, TABLES, Table};
use crate::fabric::Fabric;
use crate::outcome::Outcome;
use crate::replication::Replication;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_schemes::{Bcn, Cnm, CpId, QueueLen, Signal, SignalKind};
use qcnlab_sim::{DropKind, Finished, FlowTally, RoceTally, TcpTally, Trace};
use qcnlab_units::{Bytes, Instant, Names};
use std::sync::Arc;

/// A parking lot: the first flow crosses both links between switches, the others one each.
const LOT: &str = r#"
title = "By hand"
duration = "70 ms"
[topology]
kind = "graph"
rate = "40 Gb/s"
delay = "1 us"
[[link]]
from = "long,first,end1"
to = "s1"
[[link]]
from = "s1"
to = "s2"
rate = "12 Gb/s"
[[link]]
from = "second,end2"
to = "s2"
[[link]]
from = "s2"
to = "s3"
rate = "12 Gb/s"
[[link]]
from = "s3"
to = "end3,end4"
[[traffic]]
arrivals = "saturated"
from = "long"
to = "end3"
frame = "1500 B"
[[traffic]]
arrivals = "saturated"
from = "first"
to = "end2"
frame = "1500 B"
[[traffic]]
arrivals = "saturated"
from = "second"
to = "end4"
frame = "1500 B"
priority = 5
[scheme]
name = "none"
[record]
throughput_bin = "2 ms"
"#;

const US: u64 = 1_000_000;

fn signals() -> [Signal; 3] {
    let cp = CpId(0);
    [
        Signal::Cnm(Cnm { cp, quantized_fb: 31, q_offset: -32, q_delta: 33 }),
        Signal::Bcn(Bcn { cp, q_offset: 34, q_delta: -35, stop: false }),
        Signal::QueueLen(QueueLen { cp, len: Bytes::new(36), arrived: Bytes::new(37) }),
    ]
}

/// Two rows of everything, three of messages; `n` tells replications apart.
fn trace(n: u64) -> Trace {
    let mut trace = Trace::default();
    let n32 = n as u32;
    trace.queues.time = vec![10 * US, 11 * US];
    trace.queues.port = vec![0, 1];
    trace.queues.bytes = vec![12 + n, 13 + n];
    trace.rates.time = vec![14 * US, 15 * US];
    trace.rates.flow = vec![2, 1];
    trace.rates.current = vec![16 + n, 17 + n];
    trace.rates.target = vec![18 + n, 19 + n];
    trace.throughput.time = vec![20 * US, 21 * US];
    trace.throughput.flow = vec![1, 0];
    trace.throughput.bytes = vec![250 + n, 500 + n];
    trace.messages.time = vec![22 * US, 23 * US, 24 * US];
    trace.messages.port = vec![2, 1, 0];
    trace.messages.flow = vec![0, 2, 1];
    trace.messages.signal = signals().to_vec();
    trace.drops.time = vec![40 * US, 41 * US];
    trace.drops.last = vec![39 * US, 38 * US];
    trace.drops.port = vec![1, 0];
    trace.drops.kind = vec![DropKind::Refused, DropKind::Dropped];
    trace.drops.flow = vec![2, 0];
    trace.drops.frames = vec![42 + n, 43 + n];
    trace.drops.bytes = vec![44 + n, 45 + n];
    trace.pauses.start = vec![46 * US, 47 * US];
    trace.pauses.end = vec![48 * US, 49 * US];
    trace.pauses.port = vec![n32 / 1000 * 3, 2];
    trace.pauses.class = vec![None, Some(6)];
    trace.pauses.because = vec![2, 0];
    trace.windows.time = vec![50 * US, 51 * US];
    trace.windows.flow = vec![0, 1];
    trace.windows.window = vec![52 + n, 53 + n];
    trace.windows.flight = vec![54 + n, 55 + n];
    trace
}

/// Three flows, the second of a size and over TCP, the third over RoCE; each total has a value of its own.
fn flows(n: u64) -> Vec<FlowTally> {
    let flow = |base: u64| FlowTally {
        sent: base + n,
        sent_bytes: 99_000,
        delivered: base + 1 + n,
        delivered_bytes: base + 2 + n,
        dropped: base + 3 + n,
        refused: base + 4 + n,
        ..FlowTally::default()
    };
    let tcp = TcpTally {
        acknowledged: Instant::from_ps(92_500 * US),
        last_sent: Instant::from_ps(92_400 * US),
        in_order_bytes: 60 + n,
        segments: 98_000,
        retransmitted: 61 + n,
        fast_retransmits: 62 + n,
        timeouts: 63 + n,
    };
    let second = FlowTally {
        total_bytes: Some(64 + n),
        started: Instant::from_ps(7 * US),
        finished: Instant::from_ps(65 * US),
        tcp: Some(tcp),
        ..flow(200)
    };
    let roce = RoceTally {
        acknowledged_bytes: 70 + n,
        packets: 97_000,
        retransmitted: 71 + n,
        nacks: 96_000,
        timeouts: 72 + n,
        trimmed: 95_000,
        spurious: 73 + n,
        most_kept: 74 + n,
        received: Instant::from_ps(94_000 * US),
        last_sent: Instant::from_ps(93_000 * US),
        last_octets: 92_000,
    };
    vec![flow(100), second, FlowTally { roce: Some(roce), ..flow(300) }]
}

fn outcome() -> Outcome {
    let scenario = Scenario::parse(LOT.trim_start(), "by-hand.toml").unwrap_or_else(|error| panic!("{error}"));
    let fabric = Arc::new(Fabric::new(&scenario, Draw { seed: 1, replication: 0 }).unwrap());
    let replication = |n: u64| Replication {
        done: Finished {
            trace: trace(n),
            flows: flows(n).into(),
            end: Instant::from_ps(70_000 * US),
            ..Finished::default()
        },
        metrics: (0..METRICS.len()).map(|metric| (metric != 1).then_some(metric as f64 + n as f64 * 1000.0)).collect(),
        cpu_s: 0.0,
        flow_level: false,
        fabric: fabric.clone(),
        causes: None,
    };
    Outcome { seed: 1, replications: vec![replication(0), replication(1000)], scenario }
}

fn table(name: &str) -> Table {
    outcome().table(name).unwrap_or_else(|| panic!("no table {name}"))
}

/// A column as text: numbers, words, and `-` for what is missing.
fn cells(table: &Table, name: &str) -> Vec<String> {
    let column = table.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no {name}"));
    fn all<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(ToString::to_string).collect()
    }
    fn some<T: ToString>(values: &[Option<T>]) -> Vec<String> {
        values.iter().map(|value| value.as_ref().map_or("-".to_owned(), ToString::to_string)).collect()
    }
    match &column.data {
        Data::U32(values) => all(values),
        Data::U64(values) => all(values),
        Data::F64(values) => all(&values.iter().map(|x| (x * 1e9).round() / 1e9).collect::<Vec<_>>()),
        Data::OptionalI64(values) => some(values),
        Data::OptionalI32(values) => some(values),
        Data::OptionalF64(values) => some(values),
        Data::Word(indices, names) => indices.iter().map(|index| names[*index as usize].to_owned()).collect(),
    }
}

fn is(table: &Table, column: &str, expected: &str) {
    assert_eq!(cells(table, column).join(" "), expected, "{column} of {}", table.name);
}

/// The index of a port and its name in the tables.
fn ports(indices: &[u32]) -> String {
    let outcome = outcome();
    let names = &outcome.replications[0].fabric.port_names;
    indices.iter().map(|index| names[*index as usize].to_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn tables_have_the_rows_of_all_replications() {
    for (name, rows) in TABLES.iter().zip([4, 4, 4, 6, 4, 4, 4, 6, 2 * METRICS.len()]) {
        let table = table(name);
        assert_eq!((table.name, table.rows), (*name, rows));
        assert!(table.columns.iter().all(|column| cells(&table, column.name).len() == rows), "{name}");
        let replications = [vec!["0"; rows / 2], vec!["1"; rows / 2]].concat().join(" ");
        is(&table, "replication", &replications);
    }
    assert!(outcome().table("queue").is_none());
}

#[test]
fn queues_and_rates() {
    let queues = table("queues");
    is(&queues, "time_s", "0.00001 0.000011 0.00001 0.000011");
    is(&queues, "port", &ports(&[0, 1, 0, 1]));
    is(&queues, "queue_bytes", "12 13 1012 1013");
    let rates = table("rates");
    is(&rates, "time_s", "0.000014 0.000015 0.000014 0.000015");
    is(&rates, "source", "second->end4 first->end2 second->end4 first->end2");
    is(&rates, "current_rate_bps", "16 17 1016 1017");
    is(&rates, "target_rate_bps", "18 19 1018 1019");
}

/// 250 octets in a bin of 2 ms are 1 Mb/s.
#[test]
fn throughput_is_octets_by_the_length_of_a_bin() {
    let throughput = table("throughput");
    is(&throughput, "time_s", "0.00002 0.000021 0.00002 0.000021");
    is(&throughput, "source", "first->end2 long->end3 first->end2 long->end3");
    is(&throughput, "rate_bps", "1000000 2000000 5000000 6000000");
}

/// Feedback is a congestion notification's alone; offset and growth those of both messages that carry them.
#[test]
fn messages() {
    let messages = table("messages");
    is(&messages, "time_s", "0.000022 0.000023 0.000024 0.000022 0.000023 0.000024");
    is(&messages, "port", &ports(&[2, 1, 0, 2, 1, 0]));
    is(&messages, "source", "long->end3 second->end4 first->end2 long->end3 second->end4 first->end2");
    let kinds = [SignalKind::Cnm, SignalKind::Bcn, SignalKind::QueueLen].map(SignalKind::name).join(" ");
    is(&messages, "kind", &format!("{kinds} {kinds}"));
    is(&messages, "fb", "-31 - - -31 - -");
    is(&messages, "q_off_bytes", "-32 34 - -32 34 -");
    is(&messages, "q_delta_bytes", "33 -35 - 33 -35 -");
}

#[test]
fn drops_and_pauses() {
    let drops = table("drops");
    is(&drops, "time_s", "0.00004 0.000041 0.00004 0.000041");
    is(&drops, "last_s", "0.000039 0.000038 0.000039 0.000038");
    is(&drops, "port", &ports(&[1, 0, 1, 0]));
    is(&drops, "kind", "refused dropped refused dropped");
    is(&drops, "source", "second->end4 long->end3 second->end4 long->end3");
    is(&drops, "frames", "42 43 1042 1043");
    is(&drops, "bytes", "44 45 1044 1045");
    let pauses = table("pauses");
    is(&pauses, "time_s", "0.000046 0.000047 0.000046 0.000047");
    is(&pauses, "until_s", "0.000048 0.000049 0.000048 0.000049");
    is(&pauses, "port", &ports(&[0, 2, 3, 2]));
    is(&pauses, "priority", "- 6 - 6");
    is(&pauses, "because", &ports(&[2, 0, 2, 0]));
}

#[test]
fn windows() {
    let windows = table("windows");
    is(&windows, "time_s", "0.00005 0.000051 0.00005 0.000051");
    is(&windows, "source", "long->end3 first->end2 long->end3 first->end2");
    is(&windows, "window_bytes", "52 53 1052 1053");
    is(&windows, "flight_bytes", "54 55 1054 1055");
}

/// Max-min fair are 6 Gb/s each of 12; proportionally fair 4 for the flow that takes two links and 8 for the others.
#[test]
fn totals_and_shares_of_flows() {
    let flows = table("flows");
    is(&flows, "source", "long->end3 first->end2 second->end4 long->end3 first->end2 second->end4");
    is(&flows, "traffic", "0 1 2 0 1 2");
    is(&flows, "priority", "0 0 5 0 0 5");
    is(&flows, "size_bytes", "- 64 - - 1064 -");
    is(&flows, "start_s", "0 0.000007 0 0 0.000007 0");
    is(&flows, "finished_s", "- 0.000065 - - 0.000065 -");
    // None has a completion time: the fabric knows no size of them.
    for column in ["completion_s", "alone_s", "standalone_s", "slowdown"] {
        is(&flows, column, "- - - - - -");
    }
    is(&flows, "sent_frames", "100 200 300 1100 1200 1300");
    is(&flows, "delivered_frames", "101 201 301 1101 1201 1301");
    is(&flows, "delivered_bytes", "102 202 302 1102 1202 1302");
    is(&flows, "dropped_frames", "103 203 303 1103 1203 1303");
    is(&flows, "refused_frames", "104 204 304 1104 1204 1304");
    is(&flows, "goodput_bytes", "- 60 70 - 1060 1070");
    is(&flows, "retransmitted_frames", "- 61 71 - 1061 1071");
    is(&flows, "spurious_frames", "- - 73 - - 1073");
    is(&flows, "reorder_peak_frames", "- - 74 - - 1074");
    is(&flows, "fast_retransmits", "- 62 - - 1062 -");
    is(&flows, "timeouts", "- 63 72 - 1063 1072");
    let mbps = |name| {
        let in_megabit = |cell: String| (cell.parse::<f64>().unwrap() / 1e6).round().to_string();
        cells(&flows, name).into_iter().map(in_megabit).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(mbps("max_min_bps"), "6000 6000 6000 6000 6000 6000");
    assert_eq!(mbps("proportional_bps"), "4000 8000 8000 4000 8000 8000");
}

/// Where names differ from one replication to the next, each has its own.
#[test]
fn replications_with_other_names() {
    let mut outcome = outcome();
    let other = LOT.replace("\"long", "\"far");
    let scenario = Scenario::parse(other.trim_start(), "by-hand.toml").unwrap_or_else(|error| panic!("{error}"));
    let fabric = Arc::new(Fabric::new(&scenario, Draw { seed: 1, replication: 1 }).unwrap());
    let port = |index: usize| {
        (outcome.replications[0].fabric.port_names[index].to_owned(), fabric.port_names[index].to_owned())
    };
    let [(first, first_later), (second, second_later)] = [port(0), port(1)];
    outcome.replications[1].fabric = fabric;
    let named = |name: &str| outcome.table(name).expect(name);
    is(&named("queues"), "port", &[first, second, first_later, second_later].join(" "));
    is(&named("throughput"), "source", "first->end2 long->end3 first->end2 far->end3");
    is(&named("flows"), "source", "long->end3 first->end2 second->end4 far->end3 first->end2 second->end4");
    let none = Outcome { replications: Vec::new(), ..outcome };
    for name in TABLES {
        assert_eq!(none.table(name).map(|table| table.rows), Some(0), "{name}");
    }
}

/// Three flows of 2500 octets in frames of 1250 over two links of 1 Gb/s and 1 us: alone both frames take 10 us on the first
/// link and the second 10 more, and 2 us of wire: 32 us. As the field's simulator has it: 20 us, and for each link 2 us of
/// wire there and back and 10 for a frame: 44 us. The first flow takes 96 us, the second does not finish, the third never
/// starts.
#[test]
fn completion_times_of_flows() {
    let text = "title = \"By hand\"\nduration = \"2 ms\"\n[topology]\nkind = \"switch\"\nhosts = 2\nrate = \"1 Gb/s\"\n\
                delay = \"1 us\"\n[[traffic]]\narrivals = \"list\"\nframe = \"1250 B\"\nflows = \"\"\"\nfrom,to,size,start\n\
                host1,host2,2500 B,1 ms\nhost1,host2,2500 B,1 ms\nhost1,host2,2500 B,1 ms\n\"\"\"\n[scheme]\nname = \"none\"\n";
    let scenario = Scenario::parse(text, "by-hand.toml").unwrap_or_else(|error| panic!("{error}"));
    let fabric = Arc::new(Fabric::new(&scenario, Draw { seed: 1, replication: 0 }).unwrap());
    let flow = |started: Instant, finished: Instant| FlowTally {
        total_bytes: Some(2500),
        started,
        finished,
        ..FlowTally::default()
    };
    let us = |us: u64| Instant::from_ps(us * US);
    let flows = vec![flow(us(1000), us(1096)), flow(us(1001), Instant::NEVER), flow(Instant::NEVER, Instant::NEVER)];
    let done = Finished { flows: flows.into(), end: us(2000), ..Finished::default() };
    let replication =
        Replication { done, metrics: vec![None; METRICS.len()], cpu_s: 0.0, flow_level: false, fabric, causes: None };
    let outcome = Outcome { seed: 1, replications: vec![replication], scenario };
    let flows = outcome.table("flows").expect("flows");
    is(&flows, "start_s", "0.001 0.001001 -");
    is(&flows, "finished_s", "0.001096 - -");
    is(&flows, "completion_s", "0.000096 - -");
    is(&flows, "alone_s", "0.000032 0.000032 0.000032");
    is(&flows, "standalone_s", "0.000044 0.000044 0.000044");
    is(&flows, "slowdown", "3 - -");
}

#[test]
fn metrics_have_their_names_values_and_units() {
    let metrics = table("metrics");
    let names: Vec<&str> = METRICS.iter().chain(METRICS).map(|metric| metric.name).collect();
    is(&metrics, "metric", &names.join(" "));
    let units: Vec<&str> = METRICS.iter().chain(METRICS).map(|metric| metric.unit).collect();
    is(&metrics, "unit", &units.join(" "));
    let values = cells(&metrics, "value");
    assert_eq!((&*values[0], &*values[1], &*values[2]), ("0", "-", "2"));
    assert_eq!(values[METRICS.len() + 2], "1000002");
}

#[test]
fn a_table_as_csv() {
    let words: Arc<Names> = Arc::new(["a->b", "with, comma"].into_iter().collect());
    let columns = vec![
        Column { name: "replication", unit: "", data: Data::U32(vec![0, 0]) },
        Column { name: "time_s", unit: "s", data: Data::F64(vec![0.1, 1e-7]) },
        Column { name: "port", unit: "", data: Data::Word(vec![0, 1], words) },
        Column { name: "fb", unit: "", data: Data::OptionalI32(vec![Some(-3), None]) },
    ];
    let text = Table { name: "messages", columns, rows: 2 }.to_csv();
    assert_eq!(text, "replication,time_s,port,fb\n0,0.1,a->b,-3\n0,0.0000001,\"with, comma\",\n");
    let words: Arc<Names> = Arc::new(["a \"quote\"", "two\nlines"].into_iter().collect());
    let columns = vec![
        Column { name: "octets", unit: "B", data: Data::U64(vec![u64::MAX, 0]) },
        Column { name: "port", unit: "", data: Data::Word(vec![1, 0], words) },
        Column { name: "size", unit: "B", data: Data::OptionalI64(vec![None, Some(1 << 40)]) },
        Column { name: "share", unit: "", data: Data::OptionalF64(vec![Some(0.25), None]) },
    ];
    let text = Table { name: "flows", columns, rows: 2 }.to_csv();
    let expected =
        "octets,port,size,share\n18446744073709551615,\"two\nlines\",,0.25\n0,\"a \"\"quote\"\"\",1099511627776,\n";
    assert_eq!(text, expected);
}
