use super::*;
use crate::frames::CapturedRows;
use crate::run;
use qcnlab_sim::Counters;
use serde_json::Value;

const HOTSPOT: &str = "og-hotspot-2src-10g-to-500m-rtt10us";

fn shipped(name: &str, changes: &[&str]) -> Scenario {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Scenario::shipped(name).unwrap().with_overrides(&changes).unwrap()
}

/// A file of its own for a test, removed at its end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("qcnlab-{}-{name}.pcapng", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn captured(scenario: &Scenario, options: &CaptureOptions) -> (Outcome, CaptureSummary) {
    run_captured(scenario, &Options::default(), options, &Control::default()).unwrap()
}

fn rows(file: &Path) -> Vec<Value> {
    let mut rows = CapturedRows::open(file).unwrap();
    std::iter::from_fn(|| rows.next_row().unwrap()).map(|row| serde_json::from_str(&row).unwrap()).collect()
}

fn rows_of_kind<'a>(rows: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    rows.iter().filter(move |row| row["kind"] == kind)
}

/// Every scheme's hotspot, ideal feedback and frames, PFC: the trace, the totals and the metrics are the same.
#[test]
fn a_capture_changes_no_result() {
    let short = ["duration=8 ms", "warmup=1 ms", "hotspot.0.from=2 ms", "hotspot.0.until=5 ms"];
    for (name, changes) in [
        (HOTSPOT, &short[..]),
        (HOTSPOT, &[&short[..], &["feedback.kind=frames"]].concat()),
        (HOTSPOT, &[&short[..], &["scheme.name=dcqcn", "feedback.kind=frames"]].concat()),
        (HOTSPOT, &[&short[..], &["scheme.name=ecm"]].concat()),
        (HOTSPOT, &[&short[..], &["scheme.name=qcn_plus", "feedback.kind=frames"]].concat()),
    ] {
        let scenario = shipped(name, changes);
        let file = Temporary::new(&format!("same-{}-{}", scenario.scheme.name(), changes.len()));
        let plain = run(std::slice::from_ref(&scenario), &Options::default(), &Control::default()).unwrap();
        let (with, summary) = captured(&scenario, &CaptureOptions::new(&file.0, "*"));
        assert!(summary.frames > 1000 && summary.failure.is_none(), "{summary:?}");
        let (plain, with) = (&plain[0].replications[0], &with.replications[0]);
        assert!(plain.done.trace == with.done.trace, "{changes:?}: the trace");
        assert_eq!(plain.done.flows, with.done.flows, "{changes:?}");
        let counters = Counters { events: plain.done.counters.events, ..with.done.counters };
        assert_eq!(plain.done.counters, counters, "{changes:?}");
        assert_eq!(plain.metrics, with.metrics, "{changes:?}");
    }
}

/// What leaves the bottleneck: the octets that flows received are those of the frames that left 1 us and more before
/// the end, every message is there, stamps do not go back, and sequence numbers count up.
#[test]
fn a_capture_has_every_frame_and_message() {
    let scenario = shipped(HOTSPOT, &["duration=8 ms", "warmup=1 ms", "hotspot.0.from=2 ms", "hotspot.0.until=5 ms"]);
    let file = Temporary::new("every-frame");
    let options =
        CaptureOptions { kept: FramesKept::All, ..CaptureOptions::new(&file.0, "switch->sink,source*->switch") };
    let (outcome, summary) = captured(&scenario, &options);
    let rows = rows(&file.0);
    assert_eq!(rows.len() as u64, summary.frames);
    assert_eq!(std::fs::metadata(&file.0).unwrap().len(), summary.size.get());
    let done = &outcome.replications[0].done;
    // A frame that left earlier than the link's delay before the end has arrived.
    let delay = outcome.replications[0].fabric.ports.iter().find(|port| port.name == "switch->sink").unwrap().delay;
    let before_ns = (scenario.duration.ps() - delay.ps()) / 1000;
    let data = rows_of_kind(&rows, "UDP").filter(|row| row["port"] == "switch->sink");
    let arrived = data.filter(|row| row["time_ns"].as_u64().unwrap() < before_ns).count() as u64;
    assert_eq!(arrived, done.counters.frames_delivered);
    let cnms: Vec<&Value> = rows_of_kind(&rows, "CNM").filter(|row| row["direction"] == "sent").collect();
    assert_eq!(cnms.len() as u64, done.counters.messages_sent);
    let heard = rows_of_kind(&rows, "CNM").filter(|row| row["direction"] == "received").count() as u64;
    assert_eq!(heard, done.counters.messages_heard);
    for (signal, cnm) in done.trace.messages.signal.iter().zip(&cnms) {
        assert_eq!(signal.fb().map(|fb| -i64::from(fb)), cnm["fb"].as_i64());
    }
    let stamps: Vec<u64> = rows.iter().map(|row| row["time_ns"].as_u64().unwrap()).collect();
    assert!(stamps.is_sorted());
    assert_eq!(rows_of_kind(&rows, "LLDP").count(), 3);
    assert_eq!(rows_of_kind(&rows, "malformed").count(), 0);
}

#[test]
fn limits_end_a_capture_and_not_the_run() {
    let scenario = shipped(HOTSPOT, &["duration=4 ms", "warmup=1 ms", "hotspot.0.from=2 ms", "hotspot.0.until=3 ms"]);
    let file = Temporary::new("limits");
    let all = CaptureOptions::new(&file.0, "switch->sink");
    let (_, summary) = captured(&scenario, &CaptureOptions { max_frames: Some(10), ..all.clone() });
    assert_eq!((summary.frames, summary.limit, rows(&file.0).len()), (10, Some("frames"), 10));
    let (_, summary) = captured(&scenario, &CaptureOptions { max_size: Some(Bytes::new(5000)), ..all.clone() });
    assert!(summary.size <= Bytes::new(5000) && summary.limit == Some("size"), "{summary:?}");
    assert_eq!(std::fs::metadata(&file.0).unwrap().len(), summary.size.get());
    let at_ms = |ms: u64| Instant::from_ps(ms * 1_000_000_000);
    let (_, summary) = captured(&scenario, &CaptureOptions { from: at_ms(1), until: at_ms(2), ..all.clone() });
    // 1 ms at 10 Gb/s is 1.25 MB: 833.3 frames of 1500 octets; no announcement, which is of time 0.
    let within = rows(&file.0);
    assert_eq!((summary.frames, summary.limit), (within.len() as u64, None));
    assert!((832..=834).contains(&rows_of_kind(&within, "UDP").count()), "{summary:?}");
    assert_eq!(rows_of_kind(&within, "LLDP").count(), 0);
    let estimate = capture_size(&scenario, 1, &all).unwrap();
    let (_, summary) = captured(&scenario, &all);
    let ratio = estimate.as_f64() / summary.size.as_f64();
    assert!((0.9..2.0).contains(&ratio), "estimated {estimate:?}, took {:?}", summary.size);
}

/// To the picosecond: a frame of the first instant is in, one of the last is not. None may be kept, or fewer than there are
/// ports, and what a frame keeps at most stands in the file.
#[test]
fn the_edges_of_a_capture() {
    let scenario = shipped(
        HOTSPOT,
        &["duration=2 ms", "warmup=0 s", "traffic.0.start_jitter=0 s", "hotspot.0.from=1 ms", "hotspot.0.until=1.5 ms"],
    );
    let file = Temporary::new("edges");
    let all = CaptureOptions::new(&file.0, "*->switch, switch->sink");
    let with = |options: CaptureOptions| {
        let (_, summary) = captured(&scenario, &options);
        let times: Vec<u64> = rows(&file.0).iter().map(|row| row["time_ns"].as_u64().unwrap()).collect();
        assert_eq!(times.len() as u64, summary.frames);
        (times, summary.limit)
    };
    let (times, limit) = with(all.clone());
    assert_eq!((&times[..3], limit), (&[0; 3][..], None), "three announcements");
    // Frames of 1500 octets leave sources each 1200 ns.
    let (first, last) = (12_000, 24_000);
    assert!(times.contains(&first) && times.contains(&last));
    let at = |ns: u64| Instant::from_ps(ns * 1000);
    let (within, _) = with(CaptureOptions { from: at(first), until: at(last), ..all.clone() });
    assert_eq!(within, times.iter().copied().filter(|ns| (first..last).contains(ns)).collect::<Vec<_>>());
    for most in [0, 1, 2, 3, 4] {
        let (some, limit) = with(CaptureOptions { max_frames: Some(most), ..all.clone() });
        assert_eq!((some.len() as u64, limit), (most, Some("frames")), "{most}");
    }
    with(CaptureOptions { snap_len: Some(80), ..all });
    let mut reader = qcnlab_capture::CaptureReader::new(std::fs::File::open(&file.0).unwrap()).unwrap();
    let mut longest = 0;
    while let Some(frame) = reader.next_frame().unwrap() {
        longest = longest.max(frame.octets.len());
    }
    assert!((74..=80).contains(&longest), "{longest}");
    let snap_len = |number| reader.interface(qcnlab_capture::InterfaceId(number)).map(|interface| interface.snap_len);
    assert_eq!([snap_len(0), snap_len(2), snap_len(3)], [Some(80), Some(80), None]);
}

#[test]
fn what_cannot_be_captured_is_refused_before_the_run() {
    let scenario = shipped(HOTSPOT, &[]);
    let file = Temporary::new("refused");
    let refused = |options: &CaptureOptions| {
        run_captured(&scenario, &Options::default(), options, &Control::default()).unwrap_err().to_string()
    };
    let all = CaptureOptions::new(&file.0, "switch->sink");
    let message = refused(&CaptureOptions::new(&file.0, "core->*"));
    assert_eq!(
        message,
        "capture 'core->*': no port has such a name; there are source1->switch, source2->switch, switch->sink"
    );
    let message = refused(&CaptureOptions { snap_len: Some(40), ..all.clone() });
    // 12 addresses, 4 802.1Q, 4 CN-TAG, 16 scheme tag, 2 EtherType, 20 IPv4, 8 UDP, 8 number: 74.
    assert_eq!(
        message,
        "a snap length of 40 octets cuts the headers of these frames, which take 74; give 74 or more, or leave it out"
    );
    let message = refused(&CaptureOptions { until: Instant::ZERO, ..all.clone() });
    assert_eq!(message, "the capture ends at 0.000000 s, before it begins at 0.000000 s");
    let message = refused(&CaptureOptions::new(Path::new("/nowhere/run.pcapng"), "*"));
    assert_eq!(message, "the capture /nowhere/run.pcapng cannot be written: No such file or directory (os error 2)");
}

/// What SFC's port says to a source is in the frames, with the time for which it stops it.
#[test]
fn a_capture_says_for_how_long_a_source_stops() {
    let short = ["duration=8 ms", "warmup=1 ms", "hotspot.0.from=2 ms", "hotspot.0.until=5 ms"];
    let scenario = shipped(HOTSPOT, &[&short[..], &["scheme.name=sfc"]].concat());
    let file = Temporary::new("source-pause");
    let (outcome, _) = captured(&scenario, &CaptureOptions::new(&file.0, "*"));
    let rows = rows(&file.0);
    let sent = rows_of_kind(&rows, "source pause").filter(|row| row["direction"] == "sent");
    let said: Vec<f64> = sent.map(|row| row["pause_s"].as_f64().unwrap()).collect();
    let times = outcome.replications[0].done.trace.messages.signal.iter().map(|signal| match signal {
        qcnlab_schemes::Signal::SourcePause(pause) => pause.time.seconds(),
        other => panic!("{other:?}"),
    });
    assert_eq!(said, times.collect::<Vec<_>>());
    assert!(said.len() > 10 && said.iter().all(|time| (1e-9..1e-2).contains(time)), "{said:?}");
}

/// Messages that stop single queues are in no frame format that is published.
#[test]
fn a_run_whose_messages_have_no_format_is_not_captured() {
    let file = Temporary::new("no-format");
    let scenario = shipped("ring-all-reduce-8-ranks-star-100g", &["scheme.name=bfc"]);
    let refused = run_captured(&scenario, &Options::default(), &CaptureOptions::new(&file.0, "*"), &Control::default());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "a run of scheme 'bfc' is not captured: its messages from hop to hop have no published format"
    );
    assert!(!file.0.exists());
}

/// /dev/full takes nothing: the run ends well all the same, and the summary says why there is no capture.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_does_not_stop_the_run() {
    let scenario = shipped(HOTSPOT, &["duration=4 ms", "warmup=1 ms", "hotspot.0.from=2 ms", "hotspot.0.until=3 ms"]);
    let (outcome, summary) = captured(&scenario, &CaptureOptions::new(Path::new("/dev/full"), "*"));
    assert!(outcome.replications[0].done.counters.frames_delivered > 0);
    let failure = summary.failure.unwrap();
    assert!(failure.contains("No space left on device"), "{failure}");
}
