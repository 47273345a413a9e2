//! Captures are read as streams: a replay of 300 MB takes no more memory than a short one. One test, because it measures
//! memory.

use peak_alloc::PeakAlloc;
use qcnlab_capture::{CaptureWriter, FrameToWrite, Interface, Section};
use qcnlab_lab::{Control, Options, run};
use qcnlab_scenario::Scenario;
use qcnlab_units::Instant;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("qcnlab-long-{}-{name}", std::process::id())))
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

/// A capture of so many whole frames of UDP from 10.0.0.1 to 10.0.0.2, 1.2 us apart; of 200 000 it has 311 MB.
fn written(file: &Path, frames: u64) {
    let out = BufWriter::new(File::create(file).unwrap());
    let mut writer = CaptureWriter::new(out, &Section::default()).unwrap();
    let interface = writer.add_interface(&Interface::default()).unwrap();
    let mut octets = vec![0; 1500];
    octets[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    octets[14..38]
        .copy_from_slice(&[0x45, 0, 5, 206, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 192, 0, 0, 9]);
    for number in 0..frames {
        let at = Instant::from_ps(number * 1_200_000);
        writer
            .write_frame(&FrameToWrite { interface, at, octets: &octets, wire_len: 1500, direction: None, comment: "" })
            .unwrap();
    }
    writer.finish().unwrap();
}

fn replayed(frames: u64) -> usize {
    let file = Temporary::new("replay.pcapng");
    written(&file.0, frames);
    let text = format!(
        "duration = \"300 ms\"\n[topology]\nkind = \"star\"\nsources = 1\nrate = \"10 Gb/s\"\nrtt = \"10 us\"\n\
         buffer = \"150 KB\"\n[[traffic]]\narrivals = \"capture\"\nfile = {:?}\nframe = \"1500 B\"\n[scheme]\n\
         name = \"none\"\n[record]\ntables = false\n",
        file.0.to_str().unwrap()
    );
    peak(|| {
        let scenario = Scenario::parse(&text, "long.toml").unwrap();
        let outcome = run(std::slice::from_ref(&scenario), &Options::default(), &Control::default()).unwrap();
        assert_eq!(outcome[0].replications[0].done.counters.frames_sent, frames);
    })
}

#[test]
fn a_long_replay_takes_no_more_memory_than_a_short_one() {
    let (short, long) = (replayed(2_000), replayed(200_000));
    println!("replayed: {short} octets of 3 MB, {long} of 311 MB");
    assert!(long < short + (256 << 10), "{short} octets for 3 MB, {long} for 311 MB");
    assert!(long < 4 << 20, "{long} octets");
}
