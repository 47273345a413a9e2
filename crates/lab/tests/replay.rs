//! Captures that are replayed: what comes out of a run goes in again and gives the same; what cannot be replayed is
//! refused with the key and the frame.

use qcnlab_lab::{CaptureOptions, CapturedRows, Control, Options, Outcome, run, run_captured};
use qcnlab_scenario::Scenario;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder of its own for a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Folder(std::env::temp_dir().join(format!("qcnlab-replayed-{}-{name}", std::process::id())));
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    /// A scenario file in it.
    fn scenario(&self, text: &str) -> Result<Scenario, String> {
        let name = self.0.join("replay.toml");
        Scenario::parse(text, name.to_str().unwrap()).map_err(|error| error.render())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const STAR: &str = r#"
[topology]
kind = "star"
sources = 3
rate = "10 Gb/s"
rtt = "20 us"
buffer = "150 KB"

[scheme]
name = "none"
"#;

/// Bursts of three sources, which overload the 10 Gb/s behind them: queues, and frames lost. They begin at odd times, so
/// that no two frames reach the switch at one instant.
fn origin(changes: &[&str]) -> Scenario {
    let traffic = "[[traffic]]\narrivals = \"on_off\"\nrate = \"8 Gb/s\"\non = \"40 us\"\noff = \"60 us\"\nframe = \"1500 B\"\nstart_jitter = \"30 us\"";
    Scenario::parse(&format!("duration = \"4 ms\"\n{STAR}\n{traffic}"), "origin.toml")
        .unwrap()
        .with_overrides(changes)
        .unwrap()
}

/// Address by address: a flow of source2 stays one of source2.
const HOSTS: &str = "address,host\n10.0.0.1,source1\n10.0.0.2,source2\n10.0.0.3,source3\n*,sink\n";

fn replaying(keys: &str) -> String {
    format!(
        "duration = \"5 ms\"\n{STAR}\n[[traffic]]\narrivals = \"capture\"\nfile = \"c.pcapng\"\nframe = \"1500 B\"\n{keys}"
    )
}

fn captured(scenario: &Scenario, file: &Path, ports: &str) -> Outcome {
    let (outcome, summary) =
        run_captured(scenario, &Options::default(), &CaptureOptions::new(file, ports), &Control::default()).unwrap();
    assert_eq!(summary.failure, None);
    outcome
}

/// Data frames at a port: ns, source, octets.
fn sent(file: &Path, port: &str) -> Vec<(u64, String, u64)> {
    let mut rows = CapturedRows::open(file).unwrap();
    let rows = std::iter::from_fn(|| rows.next_row().unwrap());
    let rows = rows.map(|row| serde_json::from_str::<Value>(&row).unwrap());
    let data = rows.filter(|row| row["kind"] == "UDP" && row["port"] == port);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    data.map(|row| (row["time_ns"].as_u64().unwrap(), text(&row["source"]), row["octets"].as_u64().unwrap())).collect()
}

/// What three sources send is captured where it leaves them and replayed by three others. A stamp is the end of a frame,
/// and a replayed frame begins then: everything comes one transmission of 1200 ns later, less the stamp of the first
/// frame. The same frames arrive at the sink in the same order at the same distances, to the nanosecond of the stamps,
/// and as many are lost.
#[test]
fn a_capture_at_the_sources_gives_the_same_arrivals_at_the_core() {
    let folder = Folder::new("same");
    let hosts = folder.0.join("hosts.csv");
    std::fs::write(&hosts, HOSTS).unwrap();
    for (name, changes) in [("bursts", &[][..]), ("pauses", &["ties=port_order", "seed=7"])] {
        let origin = origin(changes);
        captured(&origin, &folder.0.join("c.pcapng"), "source*->switch");
        let first = captured(&origin, &folder.0.join("first.pcapng"), "switch->sink");
        let replay = folder.scenario(&replaying("hosts = \"hosts.csv\"")).unwrap().with_overrides(changes).unwrap();
        let second = captured(&replay, &folder.0.join("second.pcapng"), "switch->sink");
        let [before, after] =
            ["first", "second"].map(|file| sent(&folder.0.join(format!("{file}.pcapng")), "switch->sink"));
        let shift = after[0].0 as i64 - before[0].0 as i64;
        // What queued at the switch when the first run ended, 100 frames at most, and what was on its way there leaves in
        // the second.
        assert!(before.len() > 1500 && (before.len()..before.len() + 130).contains(&after.len()), "{}", after.len());
        for (was, is) in before.iter().zip(&after) {
            assert_eq!((&was.1, was.2), (&is.1, is.2), "{name}: at {} ns", was.0);
            assert!((is.0 as i64 - was.0 as i64 - shift).abs() <= 2, "{name}: {was:?} {is:?}");
        }
        let lost = |outcome: &Outcome| outcome.replications[0].done.counters.frames_dropped;
        assert!(lost(&first) > 5 && lost(&second) == lost(&first), "{} {}", lost(&first), lost(&second));
    }
}

/// The same scenario twice, on one thread and on several, and from the resolved form: the same trace. The digest of the
/// file is in the resolved form and in the hash; its place is in the form alone.
#[test]
fn a_replay_is_repeatable_and_says_which_file_it_was() {
    let folder = Folder::new("repeatable");
    let file = folder.0.join("c.pcapng");
    captured(&origin(&[]), &file, "source*->switch");
    let scenario = folder.scenario(&replaying("")).unwrap();
    let resolved = scenario.to_toml();
    assert!(resolved.contains(&format!("file = {:?}\n", file.canonicalize().unwrap().to_str().unwrap())), "{resolved}");
    let again = Scenario::parse(&resolved, "elsewhere/config.toml").unwrap();
    assert!(again == scenario && again.hash() == scenario.hash());
    let with = |scenario: &Scenario, jobs| {
        let options = Options { jobs: Some(jobs), replications: Some(3), ..Options::default() };
        let mut outcomes = run(std::slice::from_ref(scenario), &options, &Control::default()).unwrap();
        outcomes.remove(0).replications.into_iter().map(|each| each.done).collect::<Vec<_>>()
    };
    let first = with(&scenario, 1);
    assert!(first == with(&again, 2));
    assert!(first[0].counters.frames_sent > 1500);
    // Elsewhere under another name it is the same scenario; another file is another.
    let moved = folder.0.join("moved.pcapng");
    std::fs::rename(&file, &moved).unwrap();
    let elsewhere = folder.scenario(&replaying("").replace("c.pcapng", "moved.pcapng")).unwrap();
    assert!(elsewhere != scenario && elsewhere.hash() == scenario.hash());
    captured(&origin(&["seed=2"]), &file, "source*->switch");
    let other = folder.scenario(&replaying("")).unwrap();
    assert_ne!(other.hash(), scenario.hash());
    let refused = Scenario::parse(&resolved, "config.toml").unwrap_err().render();
    assert!(refused.contains("its SHA-256 is ") && refused.contains("take the file of before"), "{refused}");
}

/// Sizes and starts only, of half the octets: each flow has its part of them and finishes.
#[test]
fn flows_of_a_capture_finish() {
    let folder = Folder::new("flows");
    captured(&origin(&["traffic.rate=1 Gb/s"]), &folder.0.join("c.pcapng"), "source*->switch");
    let flows = folder.scenario(&replaying("replay = \"flows\"\nrate_scale = 0.5")).unwrap();
    // Three flows at line rate meet at a port of that rate.
    let flows = flows.with_overrides(&["topology.buffer=1 MB"]).unwrap();
    let facts: Value = serde_json::from_str(&flows.captures_json()).unwrap();
    let half: u64 = flows.flows().iter().map(|flow| flow.size.unwrap().get()).sum();
    assert!(half.abs_diff(facts[0]["octets"].as_u64().unwrap() / 2) <= 3, "{half} {facts}");
    assert_eq!((facts[0]["flows"].as_u64(), facts[0]["entry"].as_u64()), (Some(3), Some(0)));
    let outcome = run(std::slice::from_ref(&flows), &Options::default(), &Control::default()).unwrap().remove(0);
    let done = &outcome.replications[0].done;
    assert_eq!(done.flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>(), half);
    assert!(done.flows.iter().all(|flow| flow.total_bytes == Some(flow.delivered_bytes)));
}

/// Twice the rate: each frame twice, and the octets that arrive are twice those of the capture.
#[test]
fn time_and_rate_scale_what_arrives() {
    let folder = Folder::new("scales");
    captured(&origin(&["traffic.rate=1 Gb/s"]), &folder.0.join("c.pcapng"), "source*->switch");
    let arrived = |keys: &str| {
        let scenario = folder.scenario(&replaying(keys)).unwrap().with_overrides(&["duration=20 ms"]).unwrap();
        let facts: Value = serde_json::from_str(&scenario.captures_json()).unwrap();
        let outcome = run(std::slice::from_ref(&scenario), &Options::default(), &Control::default()).unwrap().remove(0);
        let done = &outcome.replications[0].done;
        let octets: u64 = done.flows.iter().map(|flow| flow.delivered_bytes).sum();
        (octets as f64 / facts[0]["octets"].as_f64().unwrap(), facts[0]["ends_s"].as_f64().unwrap())
    };
    let (plain, ends) = arrived("");
    assert_eq!((plain, (3e-3..4e-3).contains(&ends)), (1.0, true));
    assert_eq!(arrived("rate_scale = 2"), (2.0, ends));
    let (slower, later) = arrived("time_scale = 3");
    assert!(slower == 1.0 && (later - 3.0 * ends).abs() < 1e-9);
    let (half, _) = arrived("rate_scale = 0.5");
    assert!((half - 0.5).abs() < 0.01, "{half}");
}

/// Slowed a hundred times the capture is replayed a hundred times as slowly, from the same window.
#[test]
fn a_slowed_scenario_replays_slowly() {
    let folder = Folder::new("slowed");
    captured(&origin(&[]), &folder.0.join("c.pcapng"), "source*->switch");
    let scenario = folder.scenario(&replaying("window_start = \"1 ms\"\ntime_scale = 2")).unwrap();
    let slowed = scenario.slowed(100).unwrap().to_toml();
    for line in ["window_start = \"1 ms\"", "time_scale = 200", "duration = \"500 ms\"", "rate = \"100 Mb/s\""] {
        assert!(slowed.contains(line), "{line} in\n{slowed}");
    }
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let folder = Folder::new("refused");
    captured(&origin(&["duration=100 us"]), &folder.0.join("c.pcapng"), "*");
    std::fs::write(folder.0.join("empty.pcap"), b"").unwrap();
    let refused = |keys: &str| folder.scenario(&replaying(keys)).unwrap_err();
    let of_file = |name: &str| folder.scenario(&replaying("").replace("c.pcapng", name)).unwrap_err();
    for (said, what, hint) in [
        (of_file("nowhere.pcap"), "'nowhere.pcap': it cannot be opened: No such file or directory", ""),
        (of_file("empty.pcap"), "'empty.pcap': the capture is empty: not even a header is there", ""),
        (of_file("."), "'.': it is no regular file, and it is read more than once", "write it to a file first"),
        (refused("spread = \"paired\""), "'spread' does not go with a capture", "leave spread out"),
        (refused("stagger = \"1 ms\""), "'stagger' does not go with a capture", "leave stagger out"),
        (refused("start_jitter = \"1 ms\""), "'start_jitter' does not go with a capture", "leave start_jitter out"),
        (
            refused("window_start = \"2 ms\"\nwindow_end = \"1 ms\""),
            "the window ends at 1 ms, which is not after its beginning at 2 ms",
            "",
        ),
        (refused("interfaces = \"eth{\""), "'eth{' is no pattern: a range is written {1..8}", ""),
        (refused("interfaces = \"eth0\""), "no frame is left to be replayed of ", ""),
        (refused(""), " belongs to a flow that was seen at interface source", "interfaces = \"source"),
        (
            refused("interfaces = \"source*\"\nhosts = \"address,host\\n10.0.0.1,source1\\n\""),
            " is not in the table of hosts",
            "address *",
        ),
        (
            refused("interfaces = \"source*\"\nhosts = \"address,host\\n*,source1\\n\""),
            "are both source1, which cannot send to itself",
            "",
        ),
        (
            refused("interfaces = \"source*\"\nhosts = \"address,host\\nhost1,source1\\n\""),
            "traffic.0.hosts, line 2, column 1 (address): 'host1' is no address",
            "",
        ),
        (refused("interfaces = \"source*\"\nhosts = \"hosts.csv\""), "'", "hosts.csv' cannot be read: No such file"),
        (refused("interfaces = \"source*\"\nsha256 = \"00\""), "'c.pcapng': its SHA-256 is ", "leave sha256 out"),
        (
            refused(
                "interfaces = \"source*\"\nwindow_start = \"20 us\"\ntime_scale = 1e6\nstart = \"4 ms\"\nflows_by = \"rpid\"",
            ),
            "the first frame of the capture is sent at ",
            "",
        ),
        (refused("interfaces = \"source*\"\ntime_scale = 0"), "time_scale", ""),
    ] {
        assert!(said.contains(what) && said.contains(hint), "{what} | {hint}\n{said}");
        assert!(said.contains("replay.toml:"), "the line is told: {said}");
    }
    let short = folder.scenario(&replaying("interfaces = \"source*\"").replace("1500 B", "1000 B")).unwrap_err();
    assert!(short.contains("has 1500 B, and the longest frame of this traffic is 1 KB"), "{short}");
    let buffer = replaying("interfaces = \"source*\"").replace("150 KB", "1 KB");
    let buffer = folder.scenario(&buffer).unwrap_err();
    assert!(buffer.contains("a frame of 1500 B does not fit the buffer (1 KB)"), "{buffer}");
}
