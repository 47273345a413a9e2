//! The golden model: captures of the simulator conform, and captures of one with a planted change do not.

mod disorder;
mod loss;
mod planted;
mod ports;
mod senders;

use qcnlab_capture::{CaptureReader, CaptureWriter, FrameToWrite, Interface, InterfaceId, Section};
use qcnlab_conform::{ConformOptions, conform_cp, conform_rp};
use qcnlab_lab::{CaptureOptions, Control, Options, run_captured};
use qcnlab_scenario::Scenario;
use qcnlab_units::{Instant, Span};
use serde_json::Value;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

pub(crate) const HOTSPOT: &str = "og-hotspot-2src-10g-to-500m-rtt10us";

/// A capture in the folder for temporary files, removed at the end.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    pub(crate) fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("qcnlab-conform-{}-{name}.pcapng", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) fn shipped(name: &str, changes: &[&str]) -> Scenario {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    Scenario::shipped(name).unwrap().with_overrides(&changes).unwrap()
}

/// Captures the headers of what `ports` send in the first replication.
pub(crate) fn captured(name: &str, scenario: &Scenario, ports: &str) -> Temporary {
    let file = Temporary::new(name);
    let options = Options { replications: Some(1), ..Options::default() };
    let (_, summary) =
        run_captured(scenario, &options, &CaptureOptions::new(&file.0, ports), &Control::default()).unwrap();
    assert_eq!(summary.failure, None);
    file
}

pub(crate) fn rp(file: &Temporary, options: &ConformOptions) -> Value {
    serde_json::from_str(&conform_rp(&file.0, options).unwrap()).unwrap()
}

pub(crate) fn cp(file: &Temporary, options: &ConformOptions) -> Value {
    serde_json::from_str(&conform_cp(&file.0, options).unwrap()).unwrap()
}

/// Deck 001's hotspot, shorter.
pub(crate) const SHORT: [&str; 4] = ["duration=120 ms", "warmup=1 ms", "hotspot.0.from=5 ms", "hotspot.0.until=40 ms"];

/// Captures of the simulator by name: the preset, and what is changed in [`SHORT`]; feedback, presets and round trips.
pub(crate) const OURS: [(&str, &str, &[&str]); 4] = [
    ("ideal", "DECK001", &[]),
    ("framed", "DECK001", &["feedback.kind=frames"]),
    ("ieee", "IEEE_8021Q", &["scheme.preset=IEEE_8021Q", "feedback.kind=frames"]),
    ("far", "DECK001", &["topology.rtt=200 us"]),
];

/// Seeds, sources and a longer run.
pub(crate) const MORE_OF_OURS: [(&str, &str, &[&str]); 3] = [
    ("seed", "DECK001", &["seed=7"]),
    ("five", "DECK001", &["topology.sources=5", "seed=3"]),
    ("long", "DECK001", &["duration=600 ms", "hotspot.0.until=200 ms"]),
];

pub(crate) fn points(report: &Value) -> &[Value] {
    report["reaction_points"].as_array().unwrap()
}

/// Whether one of the changes begins so; any will do for an empty text.
pub(crate) fn explained(changes: &Value, beginning: &str) -> bool {
    let changes = changes.as_array().unwrap();
    beginning.is_empty() || changes.iter().any(|change| change.as_str().unwrap().starts_with(beginning))
}

/// A capture again, without the rates of its interfaces; `change` gives the octets of each frame, by the name of its
/// port, or leaves it out.
pub(crate) fn rewritten(
    file: &Temporary,
    name: &str,
    mut change: impl FnMut(&str, &[u8]) -> Option<Vec<u8>>,
) -> Temporary {
    let again = Temporary::new(name);
    let mut reader = CaptureReader::new(File::open(&file.0).unwrap()).unwrap();
    let mut writer = CaptureWriter::new(BufWriter::new(File::create(&again.0).unwrap()), &Section::default()).unwrap();
    let mut interfaces: Vec<(InterfaceId, String)> = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        let (octets, wire_len, direction) = (frame.octets.to_vec(), frame.wire_len, frame.direction);
        let (id, comment) = (frame.interface, frame.comment.to_owned());
        let at = Instant::ZERO + Span::from_ns(frame.time_ns.unwrap());
        while interfaces.len() <= id.0 as usize {
            let known = reader.interface(InterfaceId(interfaces.len() as u32)).unwrap().clone();
            let name = known.name.clone();
            interfaces.push((writer.add_interface(&Interface { speed: None, ..known }).unwrap(), name));
        }
        let (interface, name) = &interfaces[id.0 as usize];
        let Some(octets) = change(name, &octets) else { continue };
        let (interface, octets, comment) = (*interface, &octets[..], &comment[..]);
        writer.write_frame(&FrameToWrite { interface, at, octets, wire_len, direction, comment }).unwrap();
    }
    writer.finish().unwrap();
    again
}
