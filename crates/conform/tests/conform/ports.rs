//! Ports against the law of the congestion point.

use super::planted::{self, Plant};
use super::*;
use qcnlab_units::{BitRate, Bytes, Instant, Span};

#[test]
fn ports_of_the_simulator_conform() {
    judge_ports(&OURS);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn more_ports_of_the_simulator_conform() {
    judge_ports(&MORE_OF_OURS);
}

fn judge_ports(captures: &[(&str, &str, &[&str])]) {
    for &(name, preset, changes) in captures {
        let file = captured(&format!("cp-{name}"), &shipped(HOTSPOT, &[&SHORT[..], changes].concat()), "*");
        let report = cp(&file, &ConformOptions::new(preset));
        assert_eq!(report["verdict"], "conforms", "{name}: {}", report["why"]);
        assert_eq!(report["best_fit"], format!("qcn {preset}"), "{name}");
        assert_eq!(report["checked_cnms"], report["cnms"], "{name}");
        assert_eq!((&report["unlocated_cnms"], &report["unmatched_frames"]), (&0.into(), &0.into()), "{name}");
        assert!(report["cnms"].as_u64().unwrap() > 50, "{name}");
    }
}

/// What explains it, and the kind of the first violation.
#[test]
fn a_planted_change_of_a_port_is_told_with_its_reason() {
    for (name, plant, kind, explained_by) in [
        (
            "old-length",
            Plant::OldLengthOfEachFrame,
            "queue growth",
            "the remembered queue length is that of the last frame",
        ),
        ("rounded-up", Plant::RoundedUp, "quantized feedback", "feedback is rounded up"),
        ("next-row", Plant::NextRow, "sampled too soon", "the sampling table is off by one row"),
        ("w-halved", Plant::W(0.5), "quantized feedback", "w is 1 instead of 2"),
        ("set-point", Plant::SetPoint(22_000), "queue offset", "set_point is 22.0 KB instead of 33.0 KB"),
        ("samples-lost", Plant::SamplesLost(5), "no sample", ""),
        ("sample-base", Plant::SampleBase(0.5), "sampled too soon", "sample_base is 75.0 KB instead of 150.0 KB"),
        ("sample-base-2", Plant::SampleBase(2.0), "no sample", "sample_base is 300.0 KB instead of 150.0 KB"),
        // A hundredth of the set point, a twentieth of the weight.
        ("set-point-1", Plant::SetPoint(32_670), "quantized feedback", ""),
        ("w-105", Plant::W(1.05), "quantized feedback", ""),
    ] {
        let mut scenario = shipped(HOTSPOT, &SHORT);
        scenario.scheme = planted::scheme(plant);
        let file = captured(name, &scenario, "*");
        let report = cp(&file, &ConformOptions::new("DECK001"));
        println!("{name} | {} | {} | {}", report["first_violation"], report["why"], report["explained_by"]);
        assert_eq!(report["verdict"], "breaks the law", "{name}: {}", report["why"]);
        assert_eq!(report["first_violation"]["kind"], kind, "{name}: {}", report["why"]);
        assert!(explained(&report["explained_by"], explained_by), "{name}: {}", report["explained_by"]);
    }
}

/// A capture that ends in the middle of congestion, with messages of 64 octets, which quote the frame they sampled up to
/// its IPv4 header alone: any frame of the flow fits. The last message waits until all arrivals before it are settled,
/// and arrivals whose message may still come are not judged.
#[test]
fn a_capture_may_end_in_the_middle_of_congestion() {
    for (name, until_us) in [("cut-11", 11_000), ("cut-12", 12_000), ("cut-13", 13_370), ("cut-20", 20_000)] {
        let changes = ["feedback.kind=frames", "feedback.frame=64 B"];
        let scenario = shipped(HOTSPOT, &[&SHORT[..], &changes].concat());
        let file = Temporary::new(name);
        let until = Instant::ZERO + Span::from_us(until_us);
        let capture = CaptureOptions { until, ..CaptureOptions::new(&file.0, "*") };
        let options = Options { replications: Some(1), ..Options::default() };
        run_captured(&scenario, &options, &capture, &Control::default()).unwrap();
        let report = cp(&file, &ConformOptions::new("DECK001"));
        assert_eq!(report["verdict"], "conforms", "{name}: {}", report["why"]);
        // Those about frames that are still queued at the end cannot be checked.
        let count = |key: &str| report[key].as_u64().unwrap();
        println!("{name}: {} CNMs, {} checked", count("cnms"), count("checked_cnms"));
        assert_eq!(count("checked_cnms") + count("unlocated_cnms"), count("cnms"), "{name}");
        assert!(count("checked_cnms") * 2 > count("cnms") && count("cnms") > 20, "{name}");
    }
}

/// Without the frames that leave, the rate alone says what leaves: the link serves 500 Mb/s all the time, and its buffer
/// loses nothing. Nobody knows the rate where neither the capture nor the user tells it.
#[test]
fn the_rate_alone_says_what_leaves() {
    let all_along = ["duration=60 ms", "warmup=0 s", "hotspot.0.from=0 s", "hotspot.0.until=60 ms"];
    let whole = captured("leaves", &shipped(HOTSPOT, &[&all_along[..], &["topology.buffer=20 MB"]].concat()), "*");
    let none_leave = rewritten(&whole, "none-leave", |port, octets| {
        (!(port == "switch->sink" && octets[20..22] == [8, 0])).then(|| octets.to_vec())
    });
    let mut options = ConformOptions::new("DECK001");
    let refused = conform_cp(&none_leave.0, &options).unwrap_err().to_string();
    assert_eq!(refused, "the capture does not say the rate of interface switch->sink; give it with --rate \"10 Gb/s\"");
    options.rate = Some(BitRate::mbps(500));
    let report = cp(&none_leave, &options);
    assert_eq!(report["verdict"], "conforms", "{}", report["why"]);
    assert!(report["checked_cnms"].as_u64() > Some(40), "{report}");
    options.rate = Some(BitRate::mbps(520));
    let report = cp(&none_leave, &options);
    assert_eq!(report["verdict"], "breaks the law", "at another rate the queue is another: {}", report["why"]);
}

/// The capture says that its links take 5 us; what the user says counts instead. Frames that came 20 us later, behind those
/// that left, are not those of a right port.
#[test]
fn a_delay_that_is_given_counts_before_that_of_the_capture() {
    let file = captured("delays", &shipped(HOTSPOT, &SHORT), "*");
    let verdict = |us| {
        let mut options = ConformOptions::new("DECK001");
        options.delay = Some(Span::from_us(us));
        cp(&file, &options)["verdict"].clone()
    };
    assert_eq!(verdict(5), "conforms");
    assert_ne!(verdict(25), "conforms");
}

/// A switch that answers the wrong sender: in a capture of ours each seventh CNM has its neighbour's address.
#[test]
fn a_cnm_to_the_wrong_sender_is_told() {
    let file = captured("right", &shipped(HOTSPOT, &SHORT), "*");
    let mut cnms = 0;
    let wrong = rewritten(&file, "wrong", |_, octets| {
        let mut octets = octets.to_vec();
        if octets[16..18] == [0x22, 0xE9] && octets[20..22] == [0x22, 0xE7] {
            cnms += 1;
            // Source 1 is node 1, and source 2 node 2.
            if cnms % 7 == 0 {
                octets[5] = 3 - octets[5];
            }
        }
        Some(octets)
    });
    let report = cp(&wrong, &ConformOptions::new("DECK001"));
    assert_eq!(report["first_violation"]["kind"], "receiver of a CNM", "{}", report["why"]);
    println!("wrong source | {} | {}", report["first_violation"], report["why"]);
}

/// Octets 22 to 45 of a CNM behind a tag and a CN-TAG are its head: version, reserved bits and feedback, CPID, offset,
/// growth, priority with 13 reserved bits, address, length of what it quotes.
#[test]
fn each_field_of_a_cnm_is_judged() {
    let file = captured("fields", &shipped(HOTSPOT, &SHORT), "*");
    let is_cnm = |octets: &[u8]| octets[16..18] == [0x22, 0xE9] && octets[20..22] == [0x22, 0xE7];
    let plants: [(&str, usize, u8, &str); 11] = [
        ("cpid-first", 24, 0x80, "which fits no port here"),
        ("cpid-last", 31, 0x01, "which fits no port here"),
        ("version", 22, 0x10, "the version of the CNM"),
        ("first-reserved", 22, 0x08, "the reserved field of the CNM"),
        ("last-reserved", 23, 0x40, "the reserved field of the CNM"),
        ("behind-first", 36, 0x10, "the reserved field behind the priority of the CNM"),
        ("behind-last", 37, 0x01, "the reserved field behind the priority of the CNM"),
        ("source", 11, 0x40, "a congestion point has one"),
        ("tag", 14, 0x20, "a congestion point has one"),
        ("long", 45, 0x80, "cannot be read: "),
        ("longer", 44, 0x01, "cannot be read: "),
    ];
    // The second CNM that the port sends has the fault, or all from the thirtieth on.
    for (from, to) in [(2, 2), (30, u32::MAX)] {
        for (name, octet, bits, words) in plants {
            let (mut cnms, mut all, mut at) = (0, 0_u64, None);
            let wrong = rewritten(&file, name, |port, octets| {
                let mut octets = octets.to_vec();
                all += 1;
                if port == "switch->sink" && is_cnm(&octets) {
                    cnms += 1;
                    if (from..=to).contains(&cnms) {
                        octets[octet] ^= bits;
                        at = at.or(Some(all));
                    }
                }
                Some(octets)
            });
            let report = cp(&wrong, &ConformOptions::new("DECK001"));
            assert_eq!(report["verdict"], "breaks the law", "{name} from CNM {from}: {}", report["why"]);
            assert_eq!(
                report["first_violation"]["kind"], "field of a CNM",
                "{name} from CNM {from}: {}",
                report["why"]
            );
            assert_eq!(report["first_violation"]["frame"].as_u64(), at, "{name} from CNM {from}");
            assert!(report["why"].as_str().unwrap().contains(words), "{name}: {}", report["why"]);
            assert_eq!(report["explained_by"].as_array().map(Vec::len), Some(0), "{name}");
        }
    }
}

#[test]
fn of_two_breaches_the_first_is_told() {
    let file = captured("two-faults", &shipped(HOTSPOT, &SHORT), "*");
    for (receiver, version, kind) in [(7, 20, "receiver of a CNM"), (20, 7, "field of a CNM")] {
        let mut cnms = 0;
        let wrong = rewritten(&file, "two-faulty", |_, octets| {
            let mut octets = octets.to_vec();
            if octets[16..18] == [0x22, 0xE9] && octets[20..22] == [0x22, 0xE7] {
                cnms += 1;
                if cnms == receiver {
                    octets[5] = 3 - octets[5];
                }
                if cnms == version {
                    octets[22] |= 0x10;
                }
            }
            Some(octets)
        });
        let report = cp(&wrong, &ConformOptions::new("DECK001"));
        assert_eq!(report["first_violation"]["kind"], kind, "{}", report["why"]);
    }
}

#[test]
fn without_the_frames_that_come_nothing_is_decided() {
    let file = captured("leaving", &shipped(HOTSPOT, &SHORT), "switch->sink");
    let report = cp(&file, &ConformOptions::new("DECK001"));
    assert_eq!(report["verdict"], "not decidable");
    assert_eq!(
        report["why"],
        "no frames that come to the queue of switch->sink are captured, so it cannot be reconstructed; capture the links that lead to it too"
    );
}

/// A port conforms by all of its CNMs, and both it and others have more than `least`.
fn conforms_by_its_own(report: &Value, port: &str, cpid: &str, least: u64) {
    let judged = (&report["verdict"], &report["cpid"]);
    assert_eq!(judged, (&"conforms".into(), &cpid.into()), "{port}: {}", report["why"]);
    let count = |key: &str| report[key].as_u64().unwrap();
    assert!(count("checked_cnms") == count("cnms") && count("cnms") > least && count("other_cnms") > least, "{report}");
}

/// Two hot ports of one bridge, in a capture that does not say which port sampled: all CNMs come from one address, and each
/// port is judged by those that quote its frames. One with a CPID of the other port is a breach still.
#[test]
fn of_two_ports_of_a_bridge_each_is_judged_by_its_own_messages() {
    let scenario = Scenario::parse(TWO_PORTS, "two-ports").unwrap();
    let file = captured("two-ports", &scenario, "*");
    let silent = without_comments(&file, "two-ports-silent", |_| ());
    let mut number = 0;
    let wrong = without_comments(&file, "two-ports-wrong", |octets| {
        if loss::is_cnm(octets) {
            number += 1;
            octets[31] ^= if number == 21 { 3 } else { 0 };
        }
    });
    let mut broken = 0;
    for (port, cpid) in [("core->node5", "0200000000070001"), ("core->node6", "0200000000070002")] {
        let mut options = at_2500_ns();
        options.interface = Some(port.to_owned());
        let report = cp(&silent, &options);
        conforms_by_its_own(&report, port, cpid, 20);
        let report = cp(&wrong, &options);
        if report["verdict"] == "breaks the law" {
            broken += 1;
            assert!(report["why"].as_str().unwrap().contains("fits no port here"), "{}", report["why"]);
        }
    }
    assert_eq!(broken, 1);
}

/// Two bridges in a row are congested, and both send CNMs about frames that come to the second one's port: each port is judged
/// by those that fit its queue, whichever bridge sends more of them and first. A fault of the one is not one of the other.
#[test]
fn of_two_bridges_each_port_is_judged_by_its_own_messages() {
    let scenario = Scenario::parse(TWO_BRIDGES, "two-bridges").unwrap();
    let file = captured("two-bridges", &scenario, "*");
    let silent = without_comments(&file, "two-bridges-silent", |_| ());
    for (port, cpid) in [("left->right", "0200000000040001"), ("right->node4", "0200000000050002")] {
        let mut options = at_2500_ns();
        options.interface = Some(port.to_owned());
        let report = cp(&silent, &options);
        conforms_by_its_own(&report, port, cpid, 10);
        // The last octet of its own CPID is another port's: a breach of this port alone.
        let mut own: Vec<Vec<u8>> = Vec::new();
        let wrong = without_comments(&file, "two-bridges-wrong", |octets| {
            if loss::is_cnm(octets) && octets[29] == u8::from_str_radix(&cpid[10..12], 16).unwrap() {
                if !own.contains(octets) {
                    own.push(octets.clone());
                }
                // The ninth, on each link that it crosses.
                octets[31] ^= if own.get(8) == Some(octets) { 0x40 } else { 0 };
            }
        });
        for other in ["left->right", "right->node4"] {
            options.interface = Some(other.to_owned());
            let report = cp(&wrong, &options);
            let verdict = if other == port { "breaks the law" } else { "conforms" };
            assert_eq!(report["verdict"], verdict, "{other} with a fault of {port}: {}", report["why"]);
        }
    }
    // Without frames of its own to fit, no port is accused.
    let mut options = at_2500_ns();
    options.interface = Some("node1->left".to_owned());
    assert_eq!(cp(&silent, &options)["verdict"], "not decidable");
}

/// Two flows of one host have a limiter each, which their CN-TAGs tell apart.
#[test]
fn limiters_of_one_host_are_judged_apart() {
    let changes = ["traffic.1.from=node{1..2}".to_owned()];
    let scenario = Scenario::parse(TWO_PORTS, "two-limiters").unwrap().with_overrides(&changes).unwrap();
    let file = captured("two-limiters", &scenario, "*");
    let mut options = ConformOptions::new("DECK001");
    options.starts_free = true;
    let report = rp(&file, &options);
    let limiters: Vec<String> =
        points(&report).iter().map(|point| format!("{} {}", point["sender"], point["rpid"])).collect();
    assert_eq!(limiters.len(), 4, "{limiters:?}");
    for point in points(&report) {
        assert_eq!(point["verdict"], "conforms", "{}", point["why"]);
        assert!(point["cnms"].as_u64() > Some(10) && point["on_time_frames"].as_u64() > Some(100), "{point}");
    }
}

fn at_2500_ns() -> ConformOptions {
    let mut options = ConformOptions::new("DECK001");
    options.tolerances.uncaptured = Some(Bytes::ZERO);
    options.delay = Some(Span::from_ns(2500));
    options
}

/// The capture again as other programs write it, without comments, and with its octets changed.
fn without_comments(file: &Temporary, name: &str, mut change: impl FnMut(&mut Vec<u8>)) -> Temporary {
    let again = Temporary::new(name);
    let mut reader = CaptureReader::new(File::open(&file.0).unwrap()).unwrap();
    let mut writer = CaptureWriter::new(BufWriter::new(File::create(&again.0).unwrap()), &Section::default()).unwrap();
    let mut known = 0;
    while let Some(frame) = reader.next_frame().unwrap() {
        let (mut octets, wire_len, direction) = (frame.octets.to_vec(), frame.wire_len, frame.direction);
        let (interface, at) = (frame.interface, Instant::ZERO + Span::from_ns(frame.time_ns.unwrap()));
        while known <= interface.0 {
            let interface = reader.interface(InterfaceId(known)).unwrap().clone();
            writer.add_interface(&Interface { comment: String::new(), ..interface }).unwrap();
            known += 1;
        }
        change(&mut octets);
        let octets = &octets[..];
        writer.write_frame(&FrameToWrite { interface, at, octets, wire_len, direction, comment: "" }).unwrap();
    }
    writer.finish().unwrap();
    again
}

const TWO_PORTS: &str = r#"
title = "Two hot ports of one bridge"
duration = "60 ms"
warmup = "1 ms"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "2.5 us"
[[link]]
from = "node{1..6}"
to = "core"
[switch]
output_buffer = "150 KB"
[[traffic]]
arrivals = "saturated"
from = "node{1..2}"
to = "node5"
frame = "1500 B"
[[traffic]]
arrivals = "saturated"
from = "node{3..4}"
to = "node6"
frame = "1500 B"
[scheme]
name = "qcn"
preset = "DECK001"
[[hotspot]]
port = "core->node5"
from = "3 ms"
until = "40 ms"
rate = "500 Mb/s"
[[hotspot]]
port = "core->node6"
from = "5 ms"
until = "30 ms"
rate = "700 Mb/s"
[record]
bottleneck = "core->node5"
"#;

const TWO_BRIDGES: &str = r#"
title = "Two bridges in a row, both congested"
duration = "60 ms"
warmup = "1 ms"
[topology]
kind = "graph"
rate = "10 Gb/s"
delay = "2.5 us"
[[link]]
from = "node{1..3}"
to = "left"
[[link]]
from = "left"
to = "right"
[[link]]
from = "right"
to = "node{4..5}"
[switch]
output_buffer = "150 KB"
[[traffic]]
arrivals = "saturated"
from = "node{1..2}"
to = "node4"
frame = "1000 B"
[[traffic]]
arrivals = "saturated"
from = "node3"
to = "node5"
frame = "1500 B"
[scheme]
name = "qcn"
preset = "DECK001"
[feedback]
kind = "frames"
[[hotspot]]
port = "right->node4"
from = "5 ms"
until = "40 ms"
rate = "500 Mb/s"
[record]
bottleneck = "right->node4"
"#;
