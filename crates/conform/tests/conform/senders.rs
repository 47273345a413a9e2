//! Senders against the law of the reaction point.

use super::planted::{self, Plant};
use super::*;
use qcnlab_units::Span;

/// Deck 001's hotspot with other seeds, sources, round trips, presets and feedback.
#[test]
fn senders_of_the_simulator_conform() {
    judge_senders(&OURS);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn more_senders_of_the_simulator_conform() {
    judge_senders(&MORE_OF_OURS);
}

fn judge_senders(captures: &[(&str, &str, &[&str])]) {
    for &(name, preset, changes) in captures {
        let file = captured(name, &shipped(HOTSPOT, &[&SHORT[..], changes].concat()), "source*->switch");
        let report = rp(&file, &ConformOptions::new(preset));
        for point in points(&report) {
            assert_eq!(point["verdict"], "conforms", "{name}: {}", point["why"]);
            assert_eq!(point["best_fit"], format!("qcn {preset}"), "{name}");
            // Every frame under a limiter left exactly when the law says.
            assert_eq!(point["on_time_frames"], point["limited_frames"], "{name}");
            for row in point["intervals"].as_array().unwrap() {
                // 10 ms, and one frame more at the least rate.
                let lasted = row["to_s"].as_f64().unwrap() - row["from_s"].as_f64().unwrap();
                assert!(lasted < 0.0115, "{name}: {row}");
            }
            let limited = |row: &&Value| !row["cnm_frame"].is_null();
            for row in point["intervals"].as_array().unwrap().iter().filter(limited) {
                let octets = row["octets"].as_f64().unwrap();
                let most = row["allowed_most"].as_f64().unwrap();
                assert!(octets <= most + 1520.0, "{name}: {row}");
            }
        }
        assert_eq!(report["verdict"], "conforms");
    }
}

/// With the tolerances of two real clocks and stamps of a microsecond.
#[test]
fn tolerances_forgive_clocks_and_stamps() {
    let file = captured("tolerant", &shipped(HOTSPOT, &SHORT), "source*->switch");
    let mut options = ConformOptions::new("DECK001");
    options.tolerances.clock_ppm = Some(100.0);
    assert_eq!(rp(&file, &options)["verdict"], "conforms");
    options.tolerances.stamps = Span::from_ns(500);
    assert_eq!(rp(&file, &options)["verdict"], "conforms");
    options.tolerances.jitter = Some(0.3);
    assert_ne!(rp(&file, &options)["verdict"], "breaks the law");
}

struct Case {
    name: &'static str,
    plant: Plant,
    /// What is broken first, and the change that explains the whole capture.
    kind: &'static str,
    explained: &'static str,
}

const fn case(name: &'static str, plant: Plant, kind: &'static str, explained: &'static str) -> Case {
    Case { name, plant, kind, explained }
}

fn planted_capture(case: &Case) -> Temporary {
    let changes: &[&str] = match case.plant {
        Plant::MinRateIgnored => &["topology.buffer=20 MB", "hotspot.0.rate=10 Mb/s", "hotspot.0.until=110 ms"],
        _ => &["duration=130 ms"],
    };
    let mut scenario = shipped(HOTSPOT, &[&SHORT[..], changes].concat());
    scenario.scheme = planted::scheme(case.plant);
    captured(case.name, &scenario, "source*->switch")
}

fn first_broken(report: &Value) -> &Value {
    let broken = points(report).iter().filter(|point| point["verdict"] == "breaks the law");
    broken.min_by_key(|point| point["first_violation"]["frame"].as_u64()).unwrap_or(&Value::Null)
}

#[test]
fn without_a_fault_the_second_writing_of_qcn_conforms() {
    let file = planted_capture(&case("none", Plant::None, "", ""));
    assert_eq!(rp(&file, &ConformOptions::new("DECK001"))["verdict"], "conforms");
}

#[test]
fn a_planted_change_is_told_with_its_reason() {
    for case in [
        case("gd-doubled", Plant::Gd(2.0), "size of a cut", "gd is 1/64.0000 instead of 1/128.0000"),
        case("timer-kept", Plant::TimerKept, "rise too soon", "a CNM does not restart the timer"),
        case(
            "byte-reset-100",
            Plant::ByteReset(100_000.0),
            "rise too soon",
            "byte_reset is 100.0 KB instead of 150.0 KB",
        ),
        case("byte-reset-200", Plant::ByteReset(200_000.0), "no rise", "byte_reset is 200.0 KB instead of 150.0 KB"),
        case("time-reset", Plant::TimeReset(Span::from_ms(13)), "rise too soon", "time_reset is some 13.0"),
        case("hai", Plant::HaiAtOneStage, "size of a rise", "hyper-active increase comes with one stage past"),
        case("target-kept", Plant::TargetKept, "target rate", "a CNM does not set the target rate"),
        case("target-always", Plant::TargetAlways, "target rate", "a CNM sets the target rate in the first cycle too"),
        case("min-rate", Plant::MinRateIgnored, "minimum rate", "min_rate is ignored"),
        case("ai-doubled", Plant::AiRate(10.0), "size of a rise", "ai_rate is 10.000 Mb/s instead of 5.000 Mb/s"),
        case("four-stages", Plant::Threshold(4), "rise too soon", "threshold is 4 instead of 5"),
        case("cnms-ignored", Plant::CnmsIgnored, "cut ignored", ""),
        case("no-timer", Plant::NoTimer, "no rise", "there is no timer"),
        case("paced-fast", Plant::PacedFast, "size of a cut", ""),
    ] {
        let file = planted_capture(&case);
        let report = rp(&file, &ConformOptions::new("DECK001"));
        assert_eq!(report["verdict"], "breaks the law", "{}", case.name);
        let point = first_broken(&report);
        println!("{} | {} | {} | {}", case.name, point["first_violation"], point["why"], point["explained_by"]);
        assert_eq!(point["first_violation"]["kind"], case.kind, "{}: {}", case.name, point["why"]);
        assert!(explained(&point["explained_by"], case.explained), "{}: {}", case.name, point["explained_by"]);
    }
}

/// The smallest changes that are told from the law, in captures with stamps of a nanosecond.
#[test]
fn small_changes_are_told_too() {
    for case in [
        case("gd-tenth", Plant::Gd(1.1), "", ""),
        case("gd-thousandth", Plant::Gd(1.001), "", ""),
        case("ai-tenth", Plant::AiRate(5.5), "", ""),
        case("ai-fiftieth", Plant::AiRate(5.1), "", ""),
        case("time-reset-hundredth", Plant::TimeReset(Span::from_us(14_850)), "", ""),
        case("byte-reset-fiftieth", Plant::ByteReset(147_000.0), "", ""),
    ] {
        let file = planted_capture(&case);
        let report = rp(&file, &ConformOptions::new("DECK001"));
        let point = first_broken(&report);
        println!("{} | {} | {} | {}", case.name, report["verdict"], point["first_violation"], point["why"]);
        assert_eq!(report["verdict"], "breaks the law", "{}", case.name);
    }
}

/// Links whose clocks are off by up to 100 ppm break the law of one clock, and conform where that is forgiven. It hides
/// none of the small changes: Gd by 0.1 %, the increase step by 1 %, the timer by 0.1 %, the byte counter by 0.7 %.
#[test]
fn clocks_that_are_off_are_forgiven_and_hide_no_small_change() {
    let mut options = ConformOptions::new("DECK001");
    for seed in ["seed=1", "seed=2"] {
        let changes = [&SHORT[..], &["clock_tolerance_ppm=100", seed]].concat();
        let file = captured(seed, &shipped(HOTSPOT, &changes), "source*->switch");
        options.tolerances.clock_ppm = None;
        assert_eq!(rp(&file, &options)["verdict"], "breaks the law", "{seed}");
        options.tolerances.clock_ppm = Some(100.0);
        assert_eq!(rp(&file, &options)["verdict"], "conforms", "{seed}");
    }
    for (name, plant) in [
        ("clocks-gd", Plant::Gd(1.001)),
        ("clocks-ai", Plant::AiRate(5.05)),
        ("clocks-time", Plant::TimeReset(Span::from_us(14_985))),
        ("clocks-byte", Plant::ByteReset(149_000.0)),
    ] {
        let file = planted_capture(&case(name, plant, "", ""));
        assert_eq!(rp(&file, &options)["verdict"], "breaks the law", "{name}");
    }
}

#[test]
fn what_a_capture_does_not_show_is_not_decided() {
    let why = |file: &Temporary, options: &ConformOptions| {
        let report = rp(file, options);
        assert_eq!(report["verdict"], "not decidable", "{}", report["reaction_points"]);
        points(&report)[0]["why"].as_str().unwrap_or_default().to_owned()
    };
    let options = ConformOptions::new("DECK001");
    // One source into a link of its own rate hears nothing.
    let alone = shipped(HOTSPOT, &[&SHORT[..], &["topology.sources=1", "hotspot.0.rate=10 Gb/s"]].concat());
    let hears_none = why(&captured("hears-none", &alone, "source*->switch"), &options);
    assert_eq!(hears_none, "no CNM reached it: nothing ever told it to limit");
    let scenario = shipped(HOTSPOT, &SHORT);
    let file = Temporary::new("middle");
    let from = qcnlab_units::Instant::ZERO + Span::from_ms(20);
    let window = CaptureOptions { from, ..CaptureOptions::new(&file.0, "source*->switch") };
    run_captured(&scenario, &Options { replications: Some(1), ..Options::default() }, &window, &Control::default())
        .unwrap();
    let middle = why(&file, &options);
    assert!(middle.contains("the capture may begin in the middle of a cycle"), "{middle}");
}

/// Pauses of whole links and of one class stop senders, whichever class it is and however long a port takes to react: with the
/// pauses in the capture frames that wait for their end are right, without them they are late.
#[test]
fn pauses_excuse_frames_that_wait_for_their_end() {
    for (name, changes) in [
        (
            "pfc-5",
            &["pause.kind=priority", "pause.priorities=\"5\"", "traffic.priority=5", "pause.reaction=640 ns"][..],
        ),
        ("pfc-1", &["pause.kind=priority", "pause.priorities=\"1\"", "traffic.priority=1"]),
        ("link", &["pause.kind=link", "pause.reaction=3 us"]),
    ] {
        let pausing = ["switch.input_memory=400 KB", "pause.high=60 KB", "pause.low=40 KB"];
        let file = captured(name, &shipped(HOTSPOT, &[&SHORT[..], &pausing, changes].concat()), "*");
        let mut options = ConformOptions::new("DECK001");
        options.rate = Some(qcnlab_units::BitRate::gbps(10));
        options.backlogged = true;
        let mut pauses = 0;
        let without = rewritten(&file, "without-pauses", |_, octets| {
            let pause = octets[12..14] == [0x88, 0x08];
            pauses += u32::from(pause);
            (!pause).then(|| octets.to_vec())
        });
        assert!(pauses > 10, "{name}: {pauses}");
        let (whole, without) = (rp(&file, &options), rp(&without, &options));
        println!("{name}: {pauses} {} {} | {}", whole["verdict"], points(&whole)[0]["why"], without["verdict"]);
        assert_eq!(whole["verdict"], "conforms", "{name}: {}", points(&whole)[0]["why"]);
        assert_eq!(without["verdict"], "breaks the law", "{name}");
    }
}
