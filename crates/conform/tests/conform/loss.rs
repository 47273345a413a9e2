//! Captures that lack frames: a right device is not accused, and a wrong one is not excused.

use super::planted::{self, Plant};
use super::*;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// What a capture program loses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lost {
    /// Data frames, one in so many, by chance.
    Data(u64),
    /// CNMs, one in so many, by chance.
    Cnms(u64),
    /// Any frame, one in so many.
    Any(u64),
    /// These frames of all, counted from 1.
    Frames(&'static [u64]),
    /// All from the one to the other.
    Burst(u64, u64),
}

pub(crate) fn is_cnm(octets: &[u8]) -> bool {
    octets.len() > 22 && octets[16..18] == [0x22, 0xE9] && octets[20..22] == [0x22, 0xE7]
}

/// The capture without what is lost; also how many data frames and CNMs that were.
pub(crate) fn lossy(file: &Temporary, name: &str, lost: Lost, seed: u64) -> (Temporary, u64, u64) {
    let (mut state, mut number, mut data, mut cnms) = (seed.wrapping_mul(2) + 1, 0, 0, 0);
    let mut one_in = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n == 0
    };
    let again = rewritten(file, name, |_, octets| {
        number += 1;
        let cnm = is_cnm(octets);
        let gone = match lost {
            Lost::Data(n) => !cnm && one_in(n),
            Lost::Cnms(n) => cnm && one_in(n),
            Lost::Any(n) => one_in(n),
            Lost::Frames(all) => all.contains(&number),
            Lost::Burst(from, to) => (from..=to).contains(&number),
        };
        if gone {
            if cnm { cnms += 1 } else { data += 1 }
        }
        (!gone).then(|| octets.to_vec())
    });
    (again, data, cnms)
}

fn at_10g() -> ConformOptions {
    let mut options = ConformOptions::new("DECK001");
    options.rate = Some(qcnlab_units::BitRate::gbps(10));
    options
}

/// The first seed of a range, which `make test` runs.
fn first(seeds: &Range<u64>) -> Range<u64> {
    seeds.start..seeds.start + 1
}

/// Those behind it.
fn others(seeds: &Range<u64>) -> Range<u64> {
    seeds.start + 1..seeds.end
}

/// One of three losses for each fault, each for some.
fn one(fault: usize, loss: usize) -> bool {
    fault % 3 == loss
}

/// The other two.
fn two(fault: usize, loss: usize) -> bool {
    !one(fault, loss)
}

/// Frames with numbers that are missing are put back where the law has them; CNMs that are missing show by a cut of just one
/// feedback. Where other frames are missing, too, the sender conforms; where none is, nothing is decided.
#[test]
fn a_right_sender_is_not_accused_of_what_a_capture_lacks() {
    judge_right_senders(first);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn a_right_sender_is_not_accused_by_more_seeds() {
    judge_right_senders(others);
}

fn judge_right_senders(of: impl Fn(&Range<u64>) -> Range<u64>) {
    let file = captured("lossy-senders", &shipped(HOTSPOT, &SHORT), "source*->switch");
    for (name, lost, seeds, verdicts) in [
        ("data", Lost::Data(100), 0..4, &["conforms"][..]),
        ("much-data", Lost::Data(20), 0..3, &["conforms"]),
        ("any", Lost::Any(100), 0..8, &["conforms"]),
        ("few", Lost::Frames(&[1500, 4000, 9001]), 0..1, &["conforms"]),
        ("burst", Lost::Burst(3000, 3012), 0..1, &["conforms"]),
        ("cnms", Lost::Cnms(20), 0..6, &["conforms", "not decidable"]),
        ("long-burst", Lost::Burst(3000, 3300), 0..1, &["not decidable"]),
        ("start", Lost::Burst(1, 400), 0..1, &["not decidable"]),
        ("end", Lost::Burst(13_900, 15_000), 0..1, &["conforms"]),
    ] {
        for seed in of(&seeds) {
            let (again, data, cnms) = lossy(&file, name, lost, seed);
            let report = rp(&again, &at_10g());
            let (mut frames, mut messages) = (0, 0);
            for point in points(&report) {
                let verdict = point["verdict"].as_str().unwrap();
                let told =
                    format!("{name} {seed}, without {data} data frames and {cnms} CNMs: {verdict}: {}", point["why"]);
                assert!(verdicts.contains(&verdict), "{told}");
                frames += point["missing_frames"].as_u64().unwrap();
                messages += point["missing_cnms"].as_u64().unwrap();
                let judged = point["judged_frames"].as_u64().unwrap();
                assert!(judged <= point["limited_frames"].as_u64().unwrap(), "{told}");
                // Without a trace of other loss a missing CNM decides nothing.
                let assumed = point["missing_cnms"].as_u64().unwrap();
                assert!(data + assumed == 0 || data > 0 || verdict == "not decidable", "{told}");
            }
            // What is missing before the first and behind the last number nobody knows, nor announcements.
            let missing = report["loss"]["missing_frames"].as_u64().unwrap();
            assert!(missing <= data && (missing + 6 > data || ["start", "end"].contains(&name)), "{name} {seed}");
            if verdicts == ["conforms"] && name != "end" {
                assert!(frames <= missing && frames * 10 >= missing * 9, "{name} {seed}: {frames} of {missing} put in");
                assert!(messages <= cnms, "{name} {seed}: {messages} of {cnms} CNMs");
            }
        }
    }
}

/// A sender with a fault breaks the law in a capture that lacks frames, too.
#[test]
fn a_wrong_sender_is_not_excused_by_what_a_capture_lacks() {
    judge_wrong_senders(one);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn a_wrong_sender_is_not_excused_by_other_losses() {
    judge_wrong_senders(two);
}

fn judge_wrong_senders(is_asked: impl Fn(usize, usize) -> bool) {
    for (fault, (name, plant)) in [
        ("gd", Plant::Gd(1.1)),
        ("timer-kept", Plant::TimerKept),
        ("byte-reset", Plant::ByteReset(0.9)),
        ("byte-reset-2", Plant::ByteReset(2.0)),
        ("ai", Plant::AiRate(6.0)),
        ("ignored", Plant::CnmsIgnored),
        ("no-timer", Plant::NoTimer),
        ("fast", Plant::PacedFast),
    ]
    .into_iter()
    .enumerate()
    {
        let mut scenario = shipped(HOTSPOT, &SHORT);
        scenario.scheme = planted::scheme(plant);
        let file = captured(&format!("lossy-{name}"), &scenario, "source*->switch");
        let losses = [("data", Lost::Data(100)), ("any", Lost::Any(100)), ("few", Lost::Frames(&[1500, 4000, 9001]))];
        for (_, (kind, lost)) in losses.into_iter().enumerate().filter(|(loss, _)| is_asked(fault, *loss)) {
            let (again, ..) = lossy(&file, name, lost, 3);
            let report = rp(&again, &at_10g());
            assert_eq!(report["verdict"], "breaks the law", "{name} {kind}");
        }
    }
}

/// Statistics of an interface say what it dropped; 1 % of the messages may be missing then, too.
#[test]
fn what_interfaces_count_is_told() {
    let file = captured("statistics", &shipped(HOTSPOT, &SHORT), "source*->switch");
    let octets = std::fs::read(&file.0).unwrap();
    let statistics = |id: u32, dropped: u64| {
        let mut block = [5_u32.to_le_bytes(), 56_u32.to_le_bytes(), id.to_le_bytes(), [0; 4], [0; 4]].concat();
        block.extend([4_u16.to_le_bytes(), 8_u16.to_le_bytes()].concat());
        block.extend(10_000_u64.to_le_bytes());
        block.extend([5_u16.to_le_bytes(), 8_u16.to_le_bytes()].concat());
        block.extend(dropped.to_le_bytes());
        block.extend([0, 0, 0, 0]);
        block.extend(((block.len() + 4) as u32).to_le_bytes());
        let len = (block.len() as u32).to_le_bytes();
        block[4..8].copy_from_slice(&len);
        block
    };
    // The last of an interface holds, and those of all add up: 150 and 30 of 20,000.
    let with = Temporary::new("with-statistics");
    std::fs::write(&with.0, [octets, statistics(0, 7), statistics(0, 150), statistics(1, 30)].concat()).unwrap();
    let report = rp(&with, &ConformOptions::new("DECK001"));
    assert_eq!(report["verdict"], "conforms");
    assert_eq!(report["loss"]["dropped_frames"], 180);
    assert_eq!(report["loss"]["share"], 0.009);
}

/// Where frames come or leave without being captured, the other side tells them; where a message is missing, its sample is
/// passed over. A right port conforms, and most of its messages are checked.
#[test]
fn a_right_port_is_not_accused_of_what_a_capture_lacks() {
    judge_right_ports(first);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn a_right_port_is_not_accused_by_more_seeds() {
    judge_right_ports(others);
}

fn judge_right_ports(of: impl Fn(&Range<u64>) -> Range<u64>) {
    let file = captured("lossy-ports", &shipped(HOTSPOT, &SHORT), "*");
    for (name, lost, seeds) in [
        ("port-any", Lost::Any(100), 0..8),
        ("port-data", Lost::Data(100), 0..4),
        ("port-much", Lost::Data(20), 5..9),
        ("port-few", Lost::Frames(&[1500, 4000, 9001]), 0..1),
        ("port-burst", Lost::Burst(3000, 3030), 0..1),
    ] {
        for seed in of(&seeds) {
            let (again, data, cnms) = lossy(&file, name, lost, seed);
            let report = cp(&again, &at_10g());
            let told = format!("{name} {seed}, without {data} data frames and {cnms} CNMs: {}", report["why"]);
            assert_eq!(report["verdict"], "conforms", "{told}");
            let count = |key: &str| report[key].as_u64().unwrap();
            assert!(count("checked_cnms") * 20 >= count("cnms") * 17, "{told}: {} checked", count("checked_cnms"));
            assert!(report["loss"]["share"].as_f64().unwrap() > 0.0, "{told}");
            assert!(count("missing_cnms") <= cnms + 8, "{told}: {} CNMs put in", count("missing_cnms"));
        }
    }
}

/// A port with a fault breaks the law in a capture that lacks frames, too.
#[test]
fn a_wrong_port_is_not_excused_by_what_a_capture_lacks() {
    judge_wrong_ports(one);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn a_wrong_port_is_not_excused_by_other_losses() {
    judge_wrong_ports(two);
}

fn judge_wrong_ports(is_asked: impl Fn(usize, usize) -> bool) {
    for (fault, (name, plant)) in [
        ("old-length", Plant::OldLengthOfEachFrame),
        ("rounded", Plant::RoundedUp),
        ("row", Plant::NextRow),
        ("w", Plant::W(0.5)),
        ("set-point", Plant::SetPoint(22_000)),
        ("skipped", Plant::SamplesLost(5)),
        ("base", Plant::SampleBase(0.5)),
        ("base-2", Plant::SampleBase(2.0)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut scenario = shipped(HOTSPOT, &SHORT);
        scenario.scheme = planted::scheme(plant);
        let file = captured(&format!("lossy-port-{name}"), &scenario, "*");
        let losses = [("data", Lost::Data(100)), ("any", Lost::Any(100)), ("few", Lost::Frames(&[1500, 4000, 9001]))];
        for (_, (kind, lost)) in losses.into_iter().enumerate().filter(|(loss, _)| is_asked(fault, *loss)) {
            let (again, ..) = lossy(&file, name, lost, 3);
            let report = cp(&again, &at_10g());
            assert_eq!(report["verdict"], "breaks the law", "{name} {kind}");
        }
    }
}

/// Where messages alone are missing, at the port and at their senders, the senders slow down all the same: nothing is
/// decided, unless another fault shows.
#[test]
fn a_right_port_is_not_accused_where_only_messages_are_missing() {
    judge_without_messages(&[(20, 0), (4, 1)]);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn a_right_port_is_not_accused_where_other_messages_are_missing() {
    judge_without_messages(&[(50, 1), (20, 1), (20, 2), (10, 0), (10, 1), (4, 0)]);
}

fn judge_without_messages(losses: &[(u64, u64)]) {
    let file = captured("lossy-messages", &shipped(HOTSPOT, &SHORT), "*");
    for (one_in, seed) in losses {
        let (again, cnms) = without_messages(&file, "messages", *one_in, *seed);
        let report = cp(&again, &at_10g());
        let told = format!("{one_in} {seed}, without {cnms} CNMs: {}", report["why"]);
        assert_eq!(report["verdict"], "not decidable", "{told}");
        assert_eq!(report["first_violation"], Value::Null, "{told}");
        assert!(report["why"].as_str().unwrap().contains("slowed down"), "{told}");
        let count = |key: &str| report[key].as_u64().unwrap();
        assert_eq!(count("checked_cnms"), count("cnms"), "{told}");
        // One shortly before another that is missing, or with one, is not seen.
        assert!((1..=cnms).contains(&count("missing_cnms")), "{told}: {}", count("missing_cnms"));
    }
}

/// The capture without one in so many messages, each missing wherever it was seen.
fn without_messages(file: &Temporary, name: &str, one_in: u64, seed: u64) -> (Temporary, u64) {
    let mut lost = HashSet::new();
    let again = rewritten(file, name, |_, octets| {
        let mut hasher = DefaultHasher::new();
        (octets, seed).hash(&mut hasher);
        let gone = is_cnm(octets) && hasher.finish().is_multiple_of(one_in);
        if gone {
            lost.insert(octets.to_vec());
        }
        (!gone).then(|| octets.to_vec())
    });
    (again, lost.len() as u64)
}

/// A fault that has nothing to do with messages is found in a capture that lacks them, in its own words.
#[test]
fn a_wrong_port_is_told_where_only_messages_are_missing() {
    let file = captured("lossy-messages-wrong", &shipped(HOTSPOT, &SHORT), "*");
    let (again, _) = without_messages(&file, "messages-wrong", 10, 0);
    let mut cnms = 0;
    let wrong = rewritten(&again, "messages-wrong-offset", |port, octets| {
        let mut octets = octets.to_vec();
        if port == "switch->sink" && is_cnm(&octets) {
            cnms += 1;
            // The offset, in units of 64 octets, of one message far behind the first that is missing.
            if cnms == 60 {
                octets[33] ^= 0x80;
            }
        }
        Some(octets)
    });
    let report = cp(&wrong, &at_10g());
    assert_eq!(report["verdict"], "breaks the law", "{}", report["why"]);
    let kind = report["first_violation"]["kind"].as_str().unwrap();
    assert!(["quantized feedback", "queue offset"].contains(&kind), "{}", report["why"]);
}

/// What a sender heard and the capture does not have at the port tells that the capture lacks messages.
#[test]
fn messages_that_their_senders_heard_are_missing_at_the_port() {
    let file = captured("heard-alone", &shipped(HOTSPOT, &SHORT), "*");
    let (mut all, mut gone) = (0, 0);
    let again = rewritten(&file, "heard-alone-lossy", |port, octets| {
        let here = port == "switch->sink" && is_cnm(octets);
        all += u64::from(here);
        let lost = here && all.is_multiple_of(20);
        gone += u64::from(lost);
        (!lost).then(|| octets.to_vec())
    });
    let report = cp(&again, &at_10g());
    assert_eq!(report["verdict"], "conforms", "{}", report["why"]);
    assert_eq!((&report["loss"]["unmatched_cnms"], gone), (&4.into(), 4));
    assert_eq!(report["loss"]["share"].as_f64(), Some(4.0 / all as f64));
    let whole = cp(&file, &at_10g());
    assert_eq!(whole["loss"]["unmatched_cnms"], 0);
}

/// A port that sends no message at all, one of four, or none from some time on, breaks the law in a whole capture: its
/// senders do not slow down either.
#[test]
fn a_port_that_sends_no_message_breaks_the_law() {
    for (name, plant) in
        [("never", Plant::SamplesLost(1)), ("quarter", Plant::SamplesLost(4)), ("from", Plant::SilentFrom(30))]
    {
        let mut scenario = shipped(HOTSPOT, &[&SHORT[..], &["duration=16 ms", "hotspot.0.until=14 ms"]].concat());
        scenario.scheme = planted::scheme(plant);
        let file = captured(&format!("silent-{name}"), &scenario, "*");
        let mut options = at_10g();
        options.interface = Some("switch->sink".to_owned());
        let report = cp(&file, &options);
        assert_eq!(report["verdict"], "breaks the law", "{name}: {}", report["why"]);
        assert_eq!(report["first_violation"]["kind"], "no sample", "{name}: {}", report["why"]);
    }
    // Where messages reach the senders and the capture has none, nothing is decided.
    let file = captured("silent-capture", &shipped(HOTSPOT, &SHORT), "*");
    let again = rewritten(&file, "without-any", |_, octets| (!is_cnm(octets)).then(|| octets.to_vec()));
    let mut options = at_10g();
    options.interface = Some("switch->sink".to_owned());
    let report = cp(&again, &options);
    assert_eq!(report["verdict"], "not decidable", "{}", report["why"]);
    assert_eq!(report["why"], "the capture has no CNM of port switch->sink");
}
