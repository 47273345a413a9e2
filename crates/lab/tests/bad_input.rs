//! Every way a scenario file can be wrong gives one message with its place and what to do.

use qcnlab_lab::{Scenario, ScenarioError};

const GOOD: &str = r#"
title = "A hotspot"
duration = "2.5 s"
warmup = "0.5 s"

[topology]
kind = "star"
sources = 2
rate = "10 Gb/s"
rtt = "10 us"
buffer = "150 KB"

[[traffic]]
kind = "saturated"
frame = "1500 B"

[[hotspot]]
from = "1 s"
until = "2 s"
rate = "0.5 Gb/s"

[scheme]
name = "qcn"
preset = "DECK001"

[scheme.cp]
set_point = "33 KB"
"#;

/// What to find in the good file, what to write instead, and the whole message.
type Case = (&'static str, &'static str, &'static str);

fn good() -> &'static str {
    GOOD.trim_start()
}

fn refuse(find: &str, replace: &str) -> ScenarioError {
    assert!(good().contains(find), "the good file has no {find}");
    let text = good().replacen(find, replace, 1);
    Scenario::parse(&text, "file.toml").expect_err(&format!("{replace} should be refused"))
}

fn check(cases: &[Case]) {
    for (find, replace, expected) in cases {
        let found = refuse(find, replace).render();
        assert_eq!(found, expected.trim_matches('\n'), "\n\nwith {replace}:\n{found}\n");
    }
}

const UNITS: &[Case] = &[
    (
        r#""10 us""#,
        "10",
        r#"
error: '10' has no unit: a time needs one
 --> file.toml:9:7
  |
9 | rtt = 10
  |       ^^
  |
  = help: write the unit, as in "10 us" or "10 ms"
"#,
    ),
    (
        r#""10 us""#,
        r#""10""#,
        r#"
error: '10' has no unit: a time needs one
 --> file.toml:9:7
  |
9 | rtt = "10"
  |       ^^^^
  |
  = help: write the unit, as in "10 us" or "10 ms"
"#,
    ),
    (
        r#""10 Gb/s""#,
        r#""10 GB/s""#,
        r#"
error: '10 GB/s': rates are in bits a second, not in GB/s
 --> file.toml:8:8
  |
8 | rate = "10 GB/s"
  |        ^^^^^^^^^
  |
  = help: did you mean "80 Gb/s"?
"#,
    ),
    (
        r#""150 KB""#,
        r#""150 Kb""#,
        r#"
error: '150 Kb': sizes are in octets (B), not in Kb
  --> file.toml:10:10
   |
10 | buffer = "150 Kb"
   |          ^^^^^^^^
   |
   = help: did you mean "18750 B"?
"#,
    ),
    (
        r#""10 us""#,
        r#""10 usec""#,
        r#"
error: '10 usec': times are in seconds, not in usec
 --> file.toml:9:7
  |
9 | rtt = "10 usec"
  |       ^^^^^^^^^
  |
  = help: did you mean "10 us"?
"#,
    ),
    (
        r#""10 us""#,
        r#""ten us""#,
        r#"
error: 'ten us' is not a time
 --> file.toml:9:7
  |
9 | rtt = "ten us"
  |       ^^^^^^^^
  |
  = help: write it as "15 ms"
"#,
    ),
    (
        r#""10 Gb/s""#,
        r#""-10 Gb/s""#,
        r#"
error: '-10 Gb/s': a rate cannot be negative
 --> file.toml:8:8
  |
8 | rate = "-10 Gb/s"
  |        ^^^^^^^^^^
"#,
    ),
    (
        r#""10 Gb/s""#,
        r#""0 b/s""#,
        r#"
error: 0 b/s is out of range: it must be more than 0 b/s
 --> file.toml:8:8
  |
8 | rate = "0 b/s"
  |        ^^^^^^^
"#,
    ),
    (
        r#""2.5 s""#,
        r#""0 s""#,
        r#"
error: 0 s is out of range: it must be more than 0 s, at most 7200 s
 --> file.toml:2:12
  |
2 | duration = "0 s"
  |            ^^^^^
"#,
    ),
    (
        r#""2.5 s""#,
        r#""3 h""#,
        r#"
error: '3 h': times are in seconds, not in h
 --> file.toml:2:12
  |
2 | duration = "3 h"
  |            ^^^^^
  |
  = help: units of a time are s, ms, us, ns, ps
"#,
    ),
    (
        r#""2.5 s""#,
        r#""8000 s""#,
        r#"
error: 8000 s is out of range: it must be more than 0 s, at most 7200 s
 --> file.toml:2:12
  |
2 | duration = "8000 s"
  |            ^^^^^^^^
"#,
    ),
    (
        "sources = 2",
        "sources = 0",
        r"
error: 0 is out of range: it must be from 1 to 1000000
 --> file.toml:7:11
  |
7 | sources = 0
  |           ^
",
    ),
    (
        "sources = 2",
        "sources = 2_000_000",
        r"
error: 2000000 is out of range: it must be from 1 to 1000000
 --> file.toml:7:11
  |
7 | sources = 2_000_000
  |           ^^^^^^^^^
",
    ),
    (
        "sources = 2",
        r#"sources = "two""#,
        r#"
error: 'two' stands where a whole number is expected
 --> file.toml:7:11
  |
7 | sources = "two"
  |           ^^^^^
"#,
    ),
    (
        "sources = 2",
        "sources = 1.5",
        r"
error: 1.5 stands where a whole number is expected
 --> file.toml:7:11
  |
7 | sources = 1.5
  |           ^^^
",
    ),
    (
        r#""1500 B""#,
        r#""60 B""#,
        r#"
error: 60 B is out of range: it must be from 64 B to 65535 B
  --> file.toml:14:9
   |
14 | frame = "60 B"
   |         ^^^^^^
"#,
    ),
    (
        r#""1500 B""#,
        r#""64 MB""#,
        r#"
error: 64 MB is out of range: it must be from 64 B to 65535 B
  --> file.toml:14:9
   |
14 | frame = "64 MB"
   |         ^^^^^^^
"#,
    ),
    (
        r#"warmup = "0.5 s""#,
        "replications = 0",
        r"
error: 0 is out of range: it must be from 1 to 1000000
 --> file.toml:3:16
  |
3 | replications = 0
  |                ^
",
    ),
    (
        r#""10 us""#,
        r#""0.1 ps""#,
        r#"
error: '0.1 ps' is finer than one picosecond
 --> file.toml:9:7
  |
9 | rtt = "0.1 ps"
  |       ^^^^^^^^
"#,
    ),
    (
        r#""10 us""#,
        "2026-11-20",
        r#"
error: a date stands where a time such as "15 ms" is expected
 --> file.toml:9:7
  |
9 | rtt = 2026-11-20
  |       ^^^^^^^^^^
"#,
    ),
    (
        r#""10 us""#,
        r#"["10 us"]"#,
        r#"
error: a list stands where a time such as "15 ms" is expected
 --> file.toml:9:7
  |
9 | rtt = ["10 us"]
  |       ^^^^^^^^^
"#,
    ),
];

const NAMES: &[Case] = &[
    (
        "sources = 2",
        "sauces = 2",
        r#"
error: unknown key 'sauces' in [topology]
 --> file.toml:7:1
  |
7 | sauces = 2
  | ^^^^^^
  |
  = help: did you mean "sources"?
"#,
    ),
    (
        "[topology]",
        "[topolgy]",
        r#"
error: unknown key 'topolgy' in the scenario
 --> file.toml:5:2
  |
5 | [topolgy]
  |  ^^^^^^^
  |
  = help: did you mean "topology"?
"#,
    ),
    (
        r#"rtt = "10 us""#,
        r#"round_trip = "10 us""#,
        r#"
error: unknown key 'round_trip' in [topology]
 --> file.toml:9:1
  |
9 | round_trip = "10 us"
  | ^^^^^^^^^^
  |
  = help: its keys are kind, sources, rate, bottleneck_rate, rtt, sink_delay, buffer, frame_overhead
"#,
    ),
    (
        r#"warmup = "0.5 s""#,
        r#"queue_every = "1 ms""#,
        r#"
error: unknown key 'queue_every' in the scenario
 --> file.toml:3:1
  |
3 | queue_every = "1 ms"
  | ^^^^^^^^^^^
  |
  = help: did you mean "record.queue_every"?
"#,
    ),
    (
        r#"frame = "1500 B""#,
        "frame = \"1500 B\"\nrate = \"1 Gb/s\"",
        r#"
error: 'rate' does not belong to a [[traffic]] of kind 'saturated'
  --> file.toml:15:1
   |
15 | rate = "1 Gb/s"
   | ^^^^
   |
   = help: 'rate' belongs to kind "constant"
"#,
    ),
    (
        r#""star""#,
        r#""ring""#,
        r#"
error: 'ring' is not one of star, switch, chain, parking_lot, tree, leaf_spine, fat_tree, graph
 --> file.toml:6:8
  |
6 | kind = "ring"
  |        ^^^^^^
"#,
    ),
    (
        r#""saturated""#,
        r#""constnat""#,
        r#"
error: 'constnat' is not one of saturated, constant, poisson, on_off, flows, incast, list, tcp, tcp_flows, tcp_incast, tcp_list
  --> file.toml:13:8
   |
13 | kind = "constnat"
   |        ^^^^^^^^^^
   |
   = help: did you mean "constant"?
"#,
    ),
    (
        r#""qcn""#,
        r#""qcm""#,
        r#"
error: unknown scheme 'qcm'
  --> file.toml:22:8
   |
22 | name = "qcm"
   |        ^^^^^
   |
   = help: did you mean "qcn"? `qcnlab list schemes` shows all
"#,
    ),
    (
        r#""qcn""#,
        r#""timely""#,
        r#"
error: unknown scheme 'timely'
  --> file.toml:22:8
   |
22 | name = "timely"
   |        ^^^^^^^^
   |
   = help: `qcnlab list schemes` shows all
"#,
    ),
    (
        r#""DECK001""#,
        r#""DECK0001""#,
        r#"
error: scheme 'qcn' has no preset 'DECK0001'
  --> file.toml:23:10
   |
23 | preset = "DECK0001"
   |          ^^^^^^^^^^
   |
   = help: did you mean "DECK001"? Its presets are DECK001, IEEE_8021Q
"#,
    ),
    (
        r#"set_point = "33 KB""#,
        r#"set_piont = "33 KB""#,
        r#"
error: unknown key 'set_piont' in [scheme.cp]
  --> file.toml:26:1
   |
26 | set_piont = "33 KB"
   | ^^^^^^^^^
   |
   = help: did you mean "set_point"?
"#,
    ),
    (
        r#"set_point = "33 KB""#,
        r#"cpQSp = "33 KB""#,
        r#"
error: unknown key 'cpQSp' in [scheme.cp]
  --> file.toml:26:1
   |
26 | cpQSp = "33 KB"
   | ^^^^^
   |
   = help: did you mean "set_point"?
"#,
    ),
    (
        r#"set_point = "33 KB""#,
        r#"time_reset = "15 ms""#,
        r#"
error: unknown key 'time_reset' in [scheme.cp]
  --> file.toml:26:1
   |
26 | time_reset = "15 ms"
   | ^^^^^^^^^^
   |
   = help: did you mean "scheme.rp.time_reset"?
"#,
    ),
    (
        "duration = \"2.5 s\"\n",
        "",
        r#"
error: the scenario has no 'duration'
--> file.toml
 = help: add duration = "15 ms"
"#,
    ),
    (
        "rtt = \"10 us\"\n",
        "",
        r#"
error: [topology] has no 'rtt'
 --> file.toml:5:1
  |
5 | [topology]
  | ^^^^^^^^^^
  |
  = help: add rtt = "15 ms"
"#,
    ),
    (
        "kind = \"saturated\"\n",
        "",
        r#"
error: [[traffic]] has no 'kind'
  --> file.toml:12:1
   |
12 | [[traffic]]
   | ^^^^^^^^^^^
   |
   = help: add kind = "saturated" or "constant" or "poisson" or "on_off" or "flows" or "incast" or "list" or "tcp" or "tcp_flows" or "tcp_incast" or "tcp_list"
"#,
    ),
    (
        "name = \"qcn\"\n",
        "",
        r#"
error: [scheme] has no 'name'
  --> file.toml:21:1
   |
21 | [scheme]
   | ^^^^^^^^
   |
   = help: add name = "qcn", or "none"
"#,
    ),
    (
        "[[traffic]]",
        "[traffic]",
        r"
error: 'traffic' is a list of tables: each is written [[traffic]]
  --> file.toml:12:2
   |
12 | [traffic]
   |  ^^^^^^^
",
    ),
    (
        "[scheme.cp]\nset_point = \"33 KB\"\n",
        "cp = 3\n",
        r"
error: 3 stands where a table is expected
  --> file.toml:25:6
   |
25 | cp = 3
   |      ^
",
    ),
    (
        r#"from = "1 s""#,
        "port = \"sink->switch\"\nfrom = \"1 s\"",
        r#"
error: the topology has no port 'sink->switch' to use here
  --> file.toml:17:8
   |
17 | port = "sink->switch"
   |        ^^^^^^^^^^^^^^
   |
   = help: write "switch->sink"
"#,
    ),
    (
        r#"frame = "1500 B""#,
        "frame = \"1500 B\"\nto = \"source1\"",
        r#"
error: the topology has no host 'source1' to use here
  --> file.toml:15:6
   |
15 | to = "source1"
   |      ^^^^^^^^^
   |
   = help: write "sink"
"#,
    ),
    (
        r#"frame = "1500 B""#,
        "frame = \"1500 B\"\nfrom = \"host*\"",
        r#"
error: 'host*' matches no source
  --> file.toml:15:8
   |
15 | from = "host*"
   |        ^^^^^^^
   |
   = help: sources are called source1 to source2
"#,
    ),
];

const CONTRADICTIONS: &[Case] = &[
    (
        r#""33 KB""#,
        r#""150 KB""#,
        r#"
error: the set point (150 KB) is not below the buffer (150 KB)
  --> file.toml:26:13
   |
26 | set_point = "150 KB"
   |             ^^^^^^^^
   |
   = help: lower scheme.cp.set_point or raise topology.buffer
"#,
    ),
    (
        r#""150 KB""#,
        r#""1 KB""#,
        r#"
error: a frame of 1500 B does not fit the buffer (1 KB)
  --> file.toml:14:9
   |
14 | frame = "1500 B"
   |         ^^^^^^^^
"#,
    ),
    (
        r#""0.5 s""#,
        r#""2.5 s""#,
        r#"
error: the warm-up ends at 2.5 s, but the run ends at 2.5 s
 --> file.toml:3:10
  |
3 | warmup = "2.5 s"
  |          ^^^^^^^
"#,
    ),
    (
        r#""2 s""#,
        r#""3 s""#,
        r#"
error: the hotspot ends at 3 s, but the run ends at 2.5 s
  --> file.toml:18:9
   |
18 | until = "3 s"
   |         ^^^^^
"#,
    ),
    (
        r#""2 s""#,
        r#""1 s""#,
        r#"
error: the hotspot ends at 1 s, which is not after its beginning at 1 s
  --> file.toml:18:9
   |
18 | until = "1 s"
   |         ^^^^^
"#,
    ),
    (
        r#""1 s""#,
        r#""2.5 s""#,
        r#"
error: the hotspot begins at 2.5 s, but the run ends at 2.5 s
  --> file.toml:17:8
   |
17 | from = "2.5 s"
   |        ^^^^^^^
"#,
    ),
    (
        "[scheme]",
        "[[hotspot]]\nfrom = \"1.5 s\"\nuntil = \"2.2 s\"\nrate = \"1 Gb/s\"\n\n[scheme]",
        r#"
error: this hotspot begins at 1.5 s, before the previous one at switch->sink ends at 2 s
  --> file.toml:22:8
   |
22 | from = "1.5 s"
   |        ^^^^^^^
"#,
    ),
    (
        "[[hotspot]]",
        "[[traffic]]\nfrom = \"source2\"\nkind = \"saturated\"\nframe = \"1500 B\"\n\n[[hotspot]]",
        r#"
error: source2 already sends: traffic.0 matches it too
  --> file.toml:17:8
   |
17 | from = "source2"
   |        ^^^^^^^^^
   |
   = help: a source sends one flow: make the patterns exclude each other
"#,
    ),
    (
        r#"kind = "saturated""#,
        "kind = \"constant\"\nrate = \"11 Gb/s\"",
        r#"
error: the source's link (10 Gb/s) cannot carry a constant 11 Gb/s
  --> file.toml:14:8
   |
14 | rate = "11 Gb/s"
   |        ^^^^^^^^^
"#,
    ),
    (
        r#"frame = "1500 B""#,
        "frame = \"1500 B\"\nstart = \"1 s\"\nstop = \"0.5 s\"",
        r#"
error: the traffic ends at 500 ms, which is not after its beginning at 1 s
  --> file.toml:16:8
   |
16 | stop = "0.5 s"
   |        ^^^^^^^
"#,
    ),
    (
        r#"frame = "1500 B""#,
        "frame = \"1500 B\"\nstart = \"3 s\"",
        r#"
error: the traffic starts at 3 s, but the run ends at 2.5 s
  --> file.toml:15:9
   |
15 | start = "3 s"
   |         ^^^^^
"#,
    ),
    (
        "[scheme]",
        "[record]\nqueue_every = \"10 ns\"\n\n[scheme]",
        r#"
error: recording would give 250010000 rows in one run, more than 50000000
  --> file.toml:22:15
   |
22 | queue_every = "10 ns"
   |               ^^^^^^^
   |
   = help: record less finely, or set record.tables = false
"#,
    ),
    (
        "[scheme]",
        "[record]\nrates_every = \"0 s\"\n\n[scheme]",
        r#"
error: 0 s is out of range: it must be more than 0 s, at most 7200 s
  --> file.toml:22:15
   |
22 | rates_every = "0 s"
   |               ^^^^^
"#,
    ),
];

const SYNTAX: &[Case] = &[
    (
        "rate = \"0.5 Gb/s\"\n\n[scheme]",
        "rate = \"0.5 Gb/s\n\n[scheme]",
        r#"
error: invalid basic string, expected `"`
  --> file.toml:19:17
   |
19 | rate = "0.5 Gb/s
   |                 ^
"#,
    ),
    (
        "sources = 2",
        "sources = 2\nsources = 3",
        r"
error: duplicate key
 --> file.toml:8:1
  |
8 | sources = 3
  | ^^^^^^^
",
    ),
    (
        "sources = 2",
        "sources",
        r"
error: key with no value, expected `=`
 --> file.toml:7:8
  |
7 | sources
  |        ^
",
    ),
];

const OVERRIDES: &[(&str, &str)] = &[
    (
        "hotspot.rate=10 GB/s",
        r#"
error: '10 GB/s': rates are in bits a second, not in GB/s
--> in override "hotspot.rate=10 GB/s"
 = help: did you mean "80 Gb/s"?
"#,
    ),
    (
        "topology.rtt=200",
        r#"
error: '200' has no unit: a time needs one
--> in override "topology.rtt=200"
 = help: write the unit, as in "200 us" or "200 ms"
"#,
    ),
    (
        "rtt=200 us",
        r#"
error: unknown key 'rtt' in the scenario
--> in override "rtt=200 us"
 = help: did you mean "topology.rtt"?
"#,
    ),
    (
        "topology.rtx=200 us",
        r#"
error: unknown key 'rtx' in [topology]
--> in override "topology.rtx=200 us"
 = help: did you mean "topology.rtt"?
"#,
    ),
    (
        "scheme.cp.time_reset=3 ms",
        r#"
error: unknown key 'time_reset' in [scheme.cp]
--> in override "scheme.cp.time_reset=3 ms"
 = help: did you mean "scheme.rp.time_reset"?
"#,
    ),
    (
        "hotspot.1.rate=1 Gb/s",
        r#"
error: there is no hotspot.1: the scenario has 1
--> in override "hotspot.1.rate=1 Gb/s"
 = help: write hotspot.0, or just hotspot
"#,
    ),
    (
        "duration.unit=s",
        r#"
error: 'duration' is a value and has no 'unit'
--> in override "duration.unit=s"
"#,
    ),
    (
        "topology.rtt",
        r#"
error: an override is written key=value
--> in override "topology.rtt"
 = help: for example topology.rtt=200us or scheme.cp.w=2
"#,
    ),
    (
        "topology.buffer=33 KB",
        r#"
error: the set point (33 KB) is not below the buffer (33 KB)
--> in override "topology.buffer=33 KB"
 = help: lower scheme.cp.set_point or raise topology.buffer
"#,
    ),
    (
        "duration=1.5 s",
        r#"
error: the hotspot ends at 2 s, but the run ends at 1.5 s
--> in override "duration=1.5 s"
"#,
    ),
    (
        "scheme.name=emc",
        r#"
error: unknown scheme 'emc'
--> in override "scheme.name=emc"
 = help: did you mean "ecm"? `qcnlab list schemes` shows all
"#,
    ),
    (
        "scheme.name=qcm",
        r#"
error: unknown scheme 'qcm'
--> in override "scheme.name=qcm"
 = help: did you mean "qcn"? `qcnlab list schemes` shows all
"#,
    ),
    (
        "feedback.frame=64 B",
        r#"
error: 'frame' does not belong to a [feedback] of kind 'ideal'
--> in override "feedback.frame=64 B"
 = help: 'frame' belongs to kind "frames"
"#,
    ),
    (
        "scheme.rp=3",
        r#"
error: 3 stands where a table is expected
--> in override "scheme.rp=3"
"#,
    ),
    (
        "traffic.kind=constant",
        r#"
error: [[traffic]] has no 'rate'
--> in override "traffic.kind=constant"
 = help: add rate = "10 Gb/s"
"#,
    ),
    (
        "hotspot=3",
        r#"
error: 'hotspot' is a list of tables: each is written [[hotspot]]
--> in override "hotspot=3"
"#,
    ),
    (
        "=3",
        r#"
error: an override is written key=value
--> in override "=3"
 = help: for example topology.rtt=200us or scheme.cp.w=2
"#,
    ),
];

#[test]
fn quantities_and_numbers() {
    check(UNITS);
}

#[test]
fn names() {
    check(NAMES);
}

#[test]
fn contradictions() {
    check(CONTRADICTIONS);
}

#[test]
fn syntax() {
    check(SYNTAX);
}

#[test]
fn overrides() {
    let scenario = Scenario::parse(good(), "file.toml").expect("the good file is good");
    for (assignment, expected) in OVERRIDES {
        let error = scenario.with_overrides(&[assignment]).expect_err(assignment);
        assert_eq!(error.render(), expected.trim_matches('\n'), "\n\nwith {assignment}:\n{}\n", error.render());
        assert_eq!((error.in_override(), error.file(), error.line()), (Some(*assignment), None, None));
    }
}

#[test]
fn an_error_gives_its_parts() {
    let error = refuse("rate = \"10 Gb/s\"", "rate = \"10 GB/s\"");
    assert_eq!((error.file(), error.line(), error.column()), (Some("file.toml"), Some(8), Some(8)));
    assert_eq!(error.message(), "'10 GB/s': rates are in bits a second, not in GB/s");
    assert_eq!(error.hint().as_deref(), Some("did you mean \"80 Gb/s\"?"));
    assert!(error.render_styled().contains("\u{1b}["));
}

#[test]
fn columns_count_characters() {
    let error = refuse("[[traffic]]", "[record] # f\u{fc}r sp\u{e4}ter\n\"\u{fc}\" = 1\n[[traffic]]");
    assert_eq!((error.line(), error.column()), (Some(13), Some(1)));
    let error = Scenario::parse("\u{feff}titel = 1", "t").expect_err("a misspelt key after a byte order mark");
    assert_eq!((error.line(), error.column()), (Some(1), Some(1)));
    let error = Scenario::parse("title = \"\u{fc}\u{fc}\" x", "t").expect_err("a stray word");
    assert_eq!((error.line(), error.column()), (Some(1), Some(14)));
}

#[test]
fn a_file_cut_off_anywhere_is_refused_or_whole() {
    let whole = Scenario::parse(good(), "file.toml").expect("the good file is good");
    for (at, _) in good().char_indices() {
        if let Ok(cut) = Scenario::parse(&good()[..at], "file.toml") {
            assert!(cut.scheme.name() == "qcn" && cut.topology == whole.topology, "cut at {at}");
        }
    }
    let cut = &good()[..good().find("33 KB").expect("the set point") + 2];
    let error = Scenario::parse(cut, "file.toml").expect_err("a string without end");
    assert_eq!(
        error.render(),
        r#"
error: invalid basic string, expected `"`
  --> file.toml:26:16
   |
26 | set_point = "33
   |                ^
   |
   = help: the text ends here: it may have been cut off
"#
        .trim_matches('\n')
    );
}

#[test]
fn a_file_that_is_not_utf8_is_refused() {
    let mut octets = good().replacen("10 us", "10 \u{b5}s", 1).into_bytes();
    let at = octets.windows(2).position(|w| w == "\u{b5}".as_bytes()).expect("the micro sign");
    octets.remove(at);
    octets[at] = 0xb5;
    let error = Scenario::from_bytes(&octets, "file.toml").expect_err("Latin-1 is not UTF-8");
    assert_eq!(
        error.render(),
        r#"
error: the file is not UTF-8 text: octet 121 cannot be read
 --> file.toml:9:11
  |
9 | rtt = "10 �s"
  |           ^
  |
  = help: save the file as UTF-8
"#
        .trim_matches('\n')
    );
}

#[test]
fn json_errors_name_the_key() {
    let good = Scenario::parse(good(), "file.toml").expect("the good file is good").to_json();
    let wrong = good.replace("\"10 us\"", "10");
    let error = Scenario::from_json(&wrong, "<json>").expect_err("a time without unit");
    assert_eq!(
        error.render(),
        r#"
error: '10' has no unit: a time needs one
--> <json>: topology.rtt
 = help: write the unit, as in "10 us" or "10 ms"
"#
        .trim_matches('\n')
    );
    let error = Scenario::from_json(&good[..40], "<json>").expect_err("half a text");
    assert_eq!(
        (error.line(), error.hint().as_deref()),
        (Some(1), Some("the text ends here: it may have been cut off"))
    );
}

#[test]
fn an_unknown_scenario_suggests_the_nearest() {
    let error = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt2000us").expect_err("no such scenario");
    assert_eq!(
        error.render(),
        r#"
error: unknown scenario 'og-hotspot-2src-10g-to-500m-rtt2000us'
 |
 = help: did you mean "og-hotspot-2src-10g-to-500m-rtt200us"? `qcnlab list scenarios` shows all
"#
        .trim_matches('\n')
    );
}
