//! Captures are judged as streams: a verdict over a long capture takes no more memory than over a short one. One test,
//! because it measures memory.

use peak_alloc::PeakAlloc;
use qcnlab_conform::{ConformOptions, conform_cp, conform_rp};
use qcnlab_lab::{CaptureOptions, Control, Options, run_captured};
use qcnlab_scenario::Scenario;
use std::path::PathBuf;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("qcnlab-judged-{}-{name}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Octets that `work` takes at its peak.
fn peak(work: impl FnOnce()) -> usize {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    work();
    MEMORY.peak_usage().saturating_sub(before)
}

/// Deck 001's hotspot with its capture of all ports, and the peaks of the verdicts on its senders and its port.
fn judged(duration: &str) -> (u64, usize, usize) {
    let changes = [duration, "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms", "record.tables=false"];
    let scenario = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap().with_overrides(&changes).unwrap();
    let file = Temporary::new("conform.pcapng");
    let options = Options { replications: Some(1), ..Options::default() };
    let (_, summary) =
        run_captured(&scenario, &options, &CaptureOptions::new(&file.0, "*"), &Control::default()).unwrap();
    let by = ConformOptions::new("DECK001");
    let conforms = |report: String| assert!(report.contains("\"verdict\":\"conforms\""));
    let senders = peak(|| conforms(conform_rp(&file.0, &by).unwrap()));
    let port = peak(|| conforms(conform_cp(&file.0, &by).unwrap()));
    (summary.size.get(), senders, port)
}

#[test]
#[ignore = "long: make test-all runs it"]
fn long_captures_take_no_more_memory_than_short_ones() {
    let (short_file, short_senders, short_port) = judged("duration=150 ms");
    let (long_file, long_senders, long_port) = judged("duration=450 ms");
    println!("{short_file} octets: {short_senders}, {short_port}; {long_file}: {long_senders}, {long_port}");
    assert!(long_file > 4 * short_file, "{short_file} {long_file}");
    // The report has a row for each interval and each sample, up to 4096.
    assert!(long_senders < short_senders + (4 << 20), "{short_senders} {long_senders}");
    assert!(long_port < short_port + (16 << 20) && long_port < 64 << 20, "{short_port} {long_port}");
}
