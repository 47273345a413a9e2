//! Captures that have frames twice, or in another order than that of their stamps, as those of mirrored ports and of several
//! queues are: a right device is not accused, and a wrong one is not excused.

use super::planted::{self, Plant};
use super::*;
use qcnlab_capture::Direction;

/// A frame, as a capture has it.
#[derive(Clone)]
struct Copied {
    interface: InterfaceId,
    at: Instant,
    octets: Vec<u8>,
    wire_len: u32,
    direction: Option<Direction>,
    comment: String,
}

/// The capture again, with its frames as `change` leaves them.
fn changed(file: &Temporary, name: &str, change: impl FnOnce(&mut Vec<Copied>)) -> Temporary {
    let again = Temporary::new(name);
    let mut reader = CaptureReader::new(File::open(&file.0).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(Copied {
            interface: frame.interface,
            at: Instant::ZERO + Span::from_ns(frame.time_ns.unwrap()),
            octets: frame.octets.to_vec(),
            wire_len: frame.wire_len,
            direction: frame.direction,
            comment: frame.comment.to_owned(),
        });
    }
    change(&mut frames);
    let mut writer = CaptureWriter::new(BufWriter::new(File::create(&again.0).unwrap()), &Section::default()).unwrap();
    let most = frames.iter().map(|frame| frame.interface.0).max().unwrap();
    for id in 0..=most {
        writer.add_interface(reader.interface(InterfaceId(id)).unwrap()).unwrap();
    }
    for Copied { interface, at, octets, wire_len, direction, comment } in &frames {
        let (interface, at, wire_len, direction) = (*interface, *at, *wire_len, *direction);
        writer.write_frame(&FrameToWrite { interface, at, octets, wire_len, direction, comment }).unwrap();
    }
    writer.finish().unwrap();
    again
}

/// One frame in `share` is there twice, the second so much later, and behind what came between them.
fn doubled(frames: &mut Vec<Copied>, share: u64, later: Span) {
    let mut state = 5_u64;
    let copies: Vec<Copied> = frames
        .iter()
        .filter(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33).is_multiple_of(share)
        })
        .map(|frame| Copied { at: frame.at + later, ..frame.clone() })
        .collect();
    frames.extend(copies);
    frames.sort_by_key(|frame| frame.at);
}

/// One frame in `share` stands three places farther back in the file.
fn shuffled(frames: &mut [Copied], share: usize) {
    for at in (0..frames.len().saturating_sub(3)).step_by(share) {
        frames[at..at + 4].rotate_left(1);
    }
}

/// A frame of 1500 octets takes 1.2 us at 10 Gb/s; a message counts as there before for 2000 octets, 1.6 us.
#[test]
fn what_a_capture_has_twice_counts_once() {
    count_once(&[None, Some(Plant::W(0.5))]);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn what_a_capture_has_twice_counts_once_of_a_wrong_sender() {
    count_once(&[Some(Plant::AiRate(6.0))]);
}

fn count_once(plants: &[Option<Plant>]) {
    for &plant in plants {
        let mut scenario = shipped(HOTSPOT, &SHORT);
        if let Some(plant) = plant {
            scenario.scheme = planted::scheme(plant);
        }
        let file = captured(&format!("once-{plant:?}"), &scenario, "*");
        let options = ConformOptions::new("DECK001");
        let (sender, port) = (rp(&file, &options), cp(&file, &options));
        for (name, share, later) in [("at-once", 50, 0), ("soon", 50, 30), ("all", 1, 1100)] {
            let twice = changed(&file, name, |frames| doubled(frames, share, Span::from_ns(later)));
            for (whole, again) in [(&sender, rp(&twice, &options)), (&port, cp(&twice, &options))] {
                assert_eq!(again["verdict"], whole["verdict"], "{plant:?} {name}: {}", again["why"]);
                let repeated = again["loss"]["repeated_frames"].as_u64().unwrap();
                assert!(repeated > 200 && whole["loss"]["repeated_frames"] == 0, "{plant:?} {name}: {repeated}");
            }
        }
    }
}

/// The same octets again after their time on the link are another frame: a sender that sends all of them twice is no right one.
#[test]
fn a_frame_that_was_sent_twice_counts_twice() {
    let file = captured("sent-twice", &shipped(HOTSPOT, &SHORT), "*");
    let twice = changed(&file, "sent-twice-again", |frames| doubled(frames, 1, Span::from_ns(1650)));
    let report = rp(&twice, &ConformOptions::new("DECK001"));
    assert_eq!((&report["verdict"], &report["loss"]["repeated_frames"]), (&"breaks the law".into(), &0.into()));
}

/// A frame of 1500 octets takes 1200 ns. Two stamps that may each be off by 20 ns can put two of them 1160 ns apart, and such
/// that may be off by 200 ns put them 800 ns apart.
#[test]
fn stamps_that_may_be_off_decide_what_is_there_twice() {
    let file = captured("off", &shipped(HOTSPOT, &SHORT), "*");
    for (stamps, later, once) in [(20, 1155, true), (20, 1165, false), (200, 795, true), (200, 805, false)] {
        let twice = changed(&file, "off-twice", |frames| doubled(frames, 50, Span::from_ns(later)));
        let mut options = ConformOptions::new("DECK001");
        options.tolerances.stamps = Span::from_ns(stamps);
        let repeated = rp(&twice, &options)["loss"]["repeated_frames"].as_u64().unwrap();
        assert_eq!(repeated > 200, once, "{stamps} ns, {later} ns later: {repeated}");
        assert!(once || repeated == 0, "{stamps} ns, {later} ns later: {repeated}");
    }
}

#[test]
fn frames_are_judged_in_the_order_of_their_stamps() {
    judge_in_order(&[None, Some(Plant::W(0.5))]);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn frames_are_judged_in_the_order_of_their_stamps_of_a_wrong_sender() {
    judge_in_order(&[Some(Plant::AiRate(6.0))]);
}

fn judge_in_order(plants: &[Option<Plant>]) {
    for &plant in plants {
        let mut scenario = shipped(HOTSPOT, &SHORT);
        if let Some(plant) = plant {
            scenario.scheme = planted::scheme(plant);
        }
        let file = captured(&format!("ordered-{plant:?}"), &scenario, "*");
        let options = ConformOptions::new("DECK001");
        let (sender, port) = (rp(&file, &options), cp(&file, &options));
        for share in [4, 7] {
            let other = changed(&file, "disordered", |frames| shuffled(frames, share));
            for (whole, again) in [(&sender, rp(&other, &options)), (&port, cp(&other, &options))] {
                assert_eq!(again["verdict"], whole["verdict"], "{plant:?} {share}: {}", again["why"]);
                for key in ["numbered_frames", "missing_frames", "repeated_frames"] {
                    assert_eq!(again["loss"][key], whole["loss"][key], "{plant:?} {share} {key}");
                }
                // Frames of one instant stand in another order.
                assert!(again["loss"]["unmatched_frames"].as_u64() < Some(4), "{plant:?} {share}");
            }
        }
    }
}

/// A sender is judged beside it: on the link where its messages are, although the capture of another link began earlier.
#[test]
fn a_sender_is_judged_where_its_messages_are() {
    let file = captured("beside", &shipped(HOTSPOT, &SHORT), "*");
    let mut reader = CaptureReader::new(File::open(&file.0).unwrap()).unwrap();
    while reader.next_frame().unwrap().is_some() {}
    let first: Vec<InterfaceId> = (0..8)
        .map(InterfaceId)
        .filter(|id| reader.interface(*id).is_some_and(|known| known.name.ends_with("->switch")))
        .collect();
    assert_eq!(first.len(), 2);
    let moved = changed(&file, "beside-again", |frames| {
        let mut left = 40;
        frames.retain(|frame| {
            let beside = first.contains(&frame.interface);
            left -= i32::from(beside && left > 0);
            !beside || left == 0
        });
    });
    let report = rp(&moved, &ConformOptions::new("DECK001"));
    for point in points(&report) {
        assert_eq!(point["verdict"], "conforms", "{}", point["why"]);
        assert!(["\"source1->switch\"", "\"source2->switch\""].contains(&&*point["interface"].to_string()), "{point}");
    }
    assert_eq!(report["verdict"], "conforms");
}
