use super::planted::{self, Plant};
use super::*;
use qcnlab_units::Span;

const SHORT: [&str; 4] = ["duration=120 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms"];

fn tell(report: &Value) {
    for point in report["reaction_points"].as_array().unwrap() {
        println!(
            "  {}: {}; {} frames, {} limited, {} on time, {} late, {} CNMs; best {}",
            point["sender"],
            point["verdict"],
            point["frames"],
            point["limited_frames"],
            point["on_time_frames"],
            point["late_frames"],
            point["cnms"],
            point["best_fit"]
        );
        println!("    {} {}", point["first_violation"], point["why"]);
        println!("    explained by {}", point["explained_by"]);
    }
}

/// Deck 001's hotspot with other seeds, presets and feedback.
#[test]
fn senders_of_the_simulator_conform() {
    for (name, preset, changes) in [
        ("ideal", "DECK001", &[][..]),
        ("seed", "DECK001", &["seed=7"]),
        ("framed", "DECK001", &["feedback.kind=frames"]),
        ("ieee", "IEEE_8021Q", &["scheme.preset=IEEE_8021Q", "feedback.kind=frames"]),
        ("five", "DECK001", &["topology.sources=5", "seed=3"]),
        ("far", "DECK001", &["topology.rtt=200 us"]),
        ("long", "DECK001", &["duration=900 ms", "hotspot.0.until=400 ms"]),
    ] {
        let scenario = shipped(HOTSPOT, &[&SHORT[..], changes].concat());
        let file = captured(name, &scenario, "source*->switch");
        let report = rp(&file, &ConformOptions::new(preset));
        println!("{name}");
        tell(&report);
        assert_eq!(report["verdict"], "conforms", "{name}");
        for point in report["reaction_points"].as_array().unwrap() {
            assert_eq!(point["verdict"], "conforms", "{name}: {}", point["why"]);
            assert_eq!(point["best_fit"], format!("qcn {preset}"), "{name}");
        }
    }
}

#[test]
fn a_planted_change_is_told_from_the_law() {
    for (name, plant, kind) in [
        ("none", Plant::None, None),
        ("gd-doubled", Plant::Gd(2.0), Some("size of a cut")),
        ("gd-10", Plant::Gd(1.1), Some("size of a cut")),
        ("gd-1", Plant::Gd(1.01), Some("size of a cut")),
        ("timer-kept", Plant::TimerKept, Some("rise too soon")),
        ("byte-reset-100", Plant::ByteReset(100_000.0), Some("rise too soon")),
        ("byte-reset-200", Plant::ByteReset(200_000.0), Some("no rise")),
        ("time-reset", Plant::TimeReset(Span::from_ms(13)), Some("rise too soon")),
        ("hai-at-one-stage", Plant::HaiAtOneStage, Some("size of a rise")),
        ("target-kept", Plant::TargetKept, Some("target rate")),
        ("target-always", Plant::TargetAlways, Some("target rate")),
        ("min-rate", Plant::MinRateIgnored, Some("minimum rate")),
        ("ai-doubled", Plant::AiRate(10.0), Some("size of a rise")),
        ("ai-half", Plant::AiRate(2.5), Some("size of a rise")),
        ("four-stages", Plant::Threshold(4), Some("size of a rise")),
        ("cnms-ignored", Plant::CnmsIgnored, Some("cut ignored")),
        ("no-timer", Plant::NoTimer, Some("no rise")),
        ("paced-fast", Plant::PacedFast, Some("size of a cut")),
    ] {
        let mut scenario = shipped(HOTSPOT, &[&SHORT[..], &["duration=400 ms"]].concat());
        if plant == Plant::MinRateIgnored {
            scenario = shipped(HOTSPOT, &[&SHORT[..], &["duration=100 ms", "topology.sources=60"]].concat());
        }
        scenario.scheme = planted::scheme(plant);
        let file = captured(name, &scenario, "source*->switch");
        let report = rp(&file, &ConformOptions::new("DECK001"));
        println!("{name}: {} (expected {kind:?})", report["verdict"]);
        for point in
            report["reaction_points"].as_array().unwrap().iter().filter(|point| point["verdict"] != "conforms").take(2)
        {
            println!("    {} {}", point["first_violation"], point["why"]);
            println!("    explained by {}; best {}", point["explained_by"], point["best_fit"]);
        }
    }
}
