//! The golden model: captures of the simulator conform, and captures of one with a planted change do not.

mod planted;
mod ports;
mod senders;

use qcnlab_conform::{ConformOptions, conform_cp, conform_rp};
use qcnlab_lab::{CaptureOptions, Control, Options, Scenario, run_captured};
use serde_json::Value;
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

pub(crate) fn points(report: &Value) -> &[Value] {
    report["reaction_points"].as_array().unwrap()
}

/// Whether one of the changes begins so; any will do for an empty text.
pub(crate) fn explained(changes: &Value, beginning: &str) -> bool {
    let changes = changes.as_array().unwrap();
    beginning.is_empty() || changes.iter().any(|change| change.as_str().unwrap().starts_with(beginning))
}
