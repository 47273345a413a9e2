//! Captures of a run: what chosen ports send, as pcapng.
//!
//! The frames have true headers. Addresses come from the nodes, the priority stands in an 802.1Q tag, the CN-TAG has
//! the number of the flow's reaction point, and a CNM carries the first octets of the frame that was sampled. A frame
//! has the octets that it has in the simulator, without FCS; only a frame that is smaller than its headers is longer.

pub(crate) use addresses::{cpid, mac_address};

mod addresses;
mod estimate;
mod file;
mod frames;

use crate::capture_fault::CaptureFault;
use crate::error::RunError;
use crate::fabric::Fabric;
use crate::outcome::Outcome;
use crate::replication::{Replication, replicate_captured};
use crate::tasks::{Options, Task};
use crate::workers::run_each;
use file::CaptureFile;
use qcnlab_network::Pattern;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_sim::{Control, PortId};
use qcnlab_units::{Bytes, Instant};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How much of a frame is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FramesKept {
    /// The headers; frames of congestion management whole.
    #[default]
    Headers,
    /// Every octet; data are zeros.
    All,
}

/// What is captured, and when it ends.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// Where it is written.
    pub file: PathBuf,
    /// The ports: names with wildcards, such as `core->*`, one or several with commas.
    pub ports: String,
    /// How much of a frame is kept.
    pub kept: FramesKept,
    /// Octets kept of any frame; `None` for no limit beside `kept`.
    pub snap_len: Option<u32>,
    /// The most frames.
    pub max_frames: Option<u64>,
    /// The most octets of the file.
    pub max_size: Option<Bytes>,
    /// Frames before this are left out.
    pub from: Instant,
    /// Frames from this on are left out.
    pub until: Instant,
}

impl CaptureOptions {
    /// Capture all frames of `ports` into `file`, with their headers.
    pub fn new(file: &Path, ports: &str) -> CaptureOptions {
        CaptureOptions {
            file: file.to_owned(),
            ports: ports.to_owned(),
            kept: FramesKept::Headers,
            snap_len: None,
            max_frames: None,
            max_size: None,
            from: Instant::ZERO,
            until: Instant::NEVER,
        }
    }
}

/// What a capture came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSummary {
    /// The ports, by name.
    pub ports: Vec<String>,
    /// Frames in the file.
    pub frames: u64,
    /// Octets of the file.
    pub size: Bytes,
    /// The limit that ended it, if one did.
    pub limit: Option<&'static str>,
    /// Why it could not be written to its end. The frames before are in the file.
    pub failure: Option<String>,
}

/// Estimate the size of a capture's file, from the rates that flows offer and links have. Most captures are smaller.
///
/// # Errors
/// When no port fits, or the snap length is too short.
pub fn capture_size(scenario: &Scenario, seed: u64, options: &CaptureOptions) -> Result<Bytes, RunError> {
    let fabric = fabric(scenario, seed)?;
    let ports = matching(&fabric, &options.ports)?;
    Ok(estimate::size(scenario, &fabric, &ports, options))
}

/// Run every replication of a scenario and capture the first. The results are those of [`run`](crate::run()); only the
/// count of events differs. A capture that cannot be written to its end does not stop the run.
///
/// # Errors
/// As [`run`](crate::run()), and when the capture cannot be started.
pub fn run_captured(
    scenario: &Scenario,
    options: &Options,
    capture: &CaptureOptions,
    control: &Control,
) -> Result<(Outcome, CaptureSummary), RunError> {
    let scenarios = std::slice::from_ref(scenario);
    crate::estimate::Estimate::of(scenarios, options).check(options).map_err(RunError::Memory)?;
    let scheme = &scenario.scheme;
    if scheme.backpressure_point(1).is_some() || scheme.isolation_point().is_some() {
        let scheme = scenario.scheme.name().to_owned();
        return Err(RunError::Capture(CaptureFault::NoFormat { scheme }));
    }
    let seed = options.seed.unwrap_or(scenario.seed);
    let fabric = fabric(scenario, seed)?;
    let ports = matching(&fabric, &capture.ports)?;
    let mut file = CaptureFile::create(scenario, &fabric, seed, &ports, capture)?;
    let first = replicate_captured(scenario, seed, fabric, control, &ports, &mut |departure| file.take(departure))?;
    let summary = file.close();
    let count = options.replications.unwrap_or(scenario.replications);
    let tasks: Vec<Task> = (1..count).map(|replication| Task { scenario: 0, replication }).collect();
    let results: Vec<OnceLock<Result<Replication, RunError>>> = tasks.iter().map(|_| OnceLock::new()).collect();
    if !tasks.is_empty() {
        run_each(scenarios, &tasks, options, control, |number, result| {
            results[number].get_or_init(|| result);
        })?;
    }
    let mut replications = vec![first];
    for result in results {
        replications.push(result.into_inner().unwrap_or(Err(RunError::Cancelled))?);
    }
    Ok((Outcome { scenario: scenario.clone(), seed, replications }, summary))
}

fn fabric(scenario: &Scenario, seed: u64) -> Result<Arc<Fabric>, RunError> {
    let fabric = Fabric::new(scenario, Draw { seed, replication: 0 });
    fabric.map(Arc::new).map_err(|error| RunError::Scenario { replication: 0, error })
}

/// The ports whose names match.
fn matching(fabric: &Fabric, text: &str) -> Result<Vec<PortId>, RunError> {
    let pattern = Pattern::read(text).map_err(|error| {
        RunError::Capture(CaptureFault::Pattern { pattern: text.to_owned(), why: error.to_string() })
    })?;
    let ports = fabric.ports.enumerate().filter(|(_, port)| pattern.matches(&port.name));
    let ports: Vec<PortId> = ports.map(|(id, _)| id).collect();
    if ports.is_empty() {
        let some = fabric.port_names.iter().take(CaptureFault::MOST_NAMED).map(str::to_owned).collect();
        let fault = CaptureFault::NoPort { pattern: text.to_owned(), some, all: fabric.port_names.len() };
        return Err(RunError::Capture(fault));
    }
    Ok(ports)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod message_tests;
