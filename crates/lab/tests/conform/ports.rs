//! Ports against the law of the congestion point.

use super::planted::{self, Plant};
use super::*;

#[test]
fn ports_of_the_simulator_conform() {
    for (name, preset, changes) in [
        ("cp-ideal", "DECK001", &[][..]),
        ("cp-seed", "DECK001", &["seed=7"]),
        ("cp-framed", "DECK001", &["feedback.kind=frames"]),
        ("cp-ieee", "IEEE_8021Q", &["scheme.preset=IEEE_8021Q", "feedback.kind=frames"]),
        ("cp-five", "DECK001", &["topology.sources=5", "seed=3"]),
        ("cp-far", "DECK001", &["topology.rtt=200 us"]),
        ("cp-long", "DECK001", &["duration=600 ms", "hotspot.0.until=200 ms"]),
    ] {
        let file = captured(name, &shipped(HOTSPOT, &[&SHORT[..], changes].concat()), "*");
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

/// A switch that answers the wrong sender: in a capture of ours each seventh CNM has its neighbour's address.
#[test]
fn a_cnm_to_the_wrong_sender_is_told() {
    use qcnlab_capture::{CaptureReader, CaptureWriter, FrameToWrite, Section};
    use qcnlab_units::{Instant, Span};
    let file = captured("right", &shipped(HOTSPOT, &SHORT), "*");
    let wrong = Temporary::new("wrong");
    let mut reader = CaptureReader::new(std::fs::File::open(&file.0).unwrap()).unwrap();
    let out = std::io::BufWriter::new(std::fs::File::create(&wrong.0).unwrap());
    let mut writer = CaptureWriter::new(out, &Section::default()).unwrap();
    let mut interfaces = Vec::new();
    let mut cnms = 0;
    while let Some(frame) = reader.next_frame().unwrap() {
        let mut octets = frame.octets.to_vec();
        let (interface, wire_len, direction) = (frame.interface, frame.wire_len, frame.direction);
        let (at, comment) = (Instant::ZERO + Span::from_ns(frame.time_ns.unwrap()), frame.comment.to_owned());
        if octets[16..18] == [0x22, 0xE9] && octets[20..22] == [0x22, 0xE7] {
            cnms += 1;
            // Source 1 is node 1, and source 2 node 2.
            if cnms % 7 == 0 {
                octets[5] = 3 - octets[5];
            }
        }
        while interfaces.len() <= interface.0 as usize {
            let known = reader.interface(qcnlab_capture::InterfaceId(interfaces.len() as u32)).unwrap();
            interfaces.push(writer.add_interface(known).unwrap());
        }
        let frame = FrameToWrite {
            interface: interfaces[interface.0 as usize],
            at,
            octets: &octets,
            wire_len,
            direction,
            comment: &comment,
        };
        writer.write_frame(&frame).unwrap();
    }
    writer.finish().unwrap();
    let report = cp(&wrong, &ConformOptions::new("DECK001"));
    assert_eq!(report["first_violation"]["kind"], "receiver of a CNM", "{}", report["why"]);
    println!("wrong source | {} | {}", report["first_violation"], report["why"]);
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
