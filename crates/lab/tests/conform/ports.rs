use super::planted::{self, Plant};
use super::*;

const SHORT: [&str; 4] = ["duration=120 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms"];

fn tell(report: &Value) {
    println!(
        "  {}: {} CNMs, {} checked, {} unlocated, {} lost, {} unmatched; best {}",
        report["verdict"],
        report["cnms"],
        report["checked_cnms"],
        report["unlocated_cnms"],
        report["lost_frames"],
        report["unmatched_frames"],
        report["best_fit"]
    );
    println!("    {} {}", report["first_violation"], report["why"]);
    println!("    explained by {}", report["explained_by"]);
}

#[test]
fn ports_of_the_simulator_conform() {
    for (name, preset, changes) in [
        ("cp-ideal", "DECK001", &[][..]),
        ("cp-seed", "DECK001", &["seed=7"]),
        ("cp-framed", "DECK001", &["feedback.kind=frames"]),
        ("cp-ieee", "IEEE_8021Q", &["scheme.preset=IEEE_8021Q", "feedback.kind=frames"]),
        ("cp-five", "DECK001", &["topology.sources=5", "seed=3"]),
        ("cp-far", "DECK001", &["topology.rtt=200 us"]),
        ("cp-long", "DECK001", &["duration=900 ms", "hotspot.0.until=400 ms"]),
    ] {
        let scenario = shipped(HOTSPOT, &[&SHORT[..], changes].concat());
        let file = captured(name, &scenario, "*");
        let report = cp(&file, &ConformOptions::new(preset));
        println!("{name}");
        tell(&report);
        for row in report["samples"].as_array().unwrap().iter().rev().take(2) {
            println!("   {row}");
        }
    }
}

#[test]
fn a_planted_change_of_a_port_is_told_from_the_law() {
    for (name, plant, kind) in [
        ("cp-none", Plant::None, None),
        ("old-length", Plant::OldLengthOfEachFrame, Some("queue growth")),
        ("rounded-up", Plant::RoundedUp, Some("quantized feedback")),
        ("next-row", Plant::NextRow, Some("sampled too soon")),
        ("w-halved", Plant::W(0.5), Some("quantized feedback")),
        ("set-point", Plant::SetPoint(22_000), Some("queue offset")),
        ("set-point-1", Plant::SetPoint(32_700), Some("queue offset")),
        ("samples-lost", Plant::SamplesLost(5), Some("no sample")),
        ("sample-base", Plant::SampleBase(0.5), Some("sampled too soon")),
        ("sample-base-2", Plant::SampleBase(2.0), Some("no sample")),
    ] {
        let mut scenario = shipped(HOTSPOT, &SHORT);
        scenario.scheme = planted::scheme(plant);
        let file = captured(name, &scenario, "*");
        let report = cp(&file, &ConformOptions::new("DECK001"));
        println!("{name}: (expected {kind:?})");
        tell(&report);
    }
}
