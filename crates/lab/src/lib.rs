//! Runs of scenarios: what is built of them, metrics, tables, replications and captures.
//!
//! Features, all on by default: `threads` for several runs at a time, `files` for captures, for files that scenarios name
//! and for what `/proc` says of memory, `clock` for CPU seconds. Without them a run is advanced as a [`SteppedRun`].
#![cfg_attr(not(all(feature = "files", feature = "threads")), allow(dead_code, unused_imports))]

#[cfg(feature = "files")]
mod available;
#[cfg(feature = "files")]
mod capture;
mod capture_fault;
mod clock;
mod digests;
mod elsewhere;
mod error;
mod estimate;
mod fabric;
#[cfg(feature = "threads")]
mod flow_level;
mod flow_level_fault;
#[cfg(feature = "files")]
mod frames;
pub mod headroom;
mod metrics;
#[cfg(feature = "files")]
mod mib;
mod outcome;
mod replication;
#[cfg(feature = "threads")]
mod run;
mod run_id;
mod stepping;
mod tables;
mod tasks;
#[cfg(feature = "threads")]
mod workers;

#[cfg(feature = "files")]
pub use capture::{CaptureOptions, CaptureSummary, FramesKept, capture_size, run_captured};
pub use capture_fault::CaptureFault;
pub use elsewhere::{port_defences, run_elsewhere};
pub use error::RunError;
pub use estimate::{Estimate, MemoryShortage, Part};
pub use flow_level_fault::NoFlowLevel;
#[cfg(feature = "files")]
pub use frames::{CapturedRows, RowsError};
pub use metrics::{
    Fact, METRICS, Metric, Traces, WINDOW_METRICS, WindowError, WindowMetric, metric_in_window, metrics_json,
    recovery_bin, window_metrics_json,
};
#[cfg(feature = "files")]
pub use mib::{MIB_OBJECTS, MibError, MibObject, mib_json, mib_objects_markdown};
pub use outcome::Outcome;
pub use qcnlab_schemes as schemes;
pub use qcnlab_sim::{Control, Ending, PortState, Trace};
pub use qcnlab_units as units;
pub use replication::Replication;
#[cfg(feature = "threads")]
pub use run::run;
pub use run_id::RunId;
pub use stepping::SteppedRun;
pub use tables::{Column, Data, TABLES, Table};
pub use tasks::{Options, Task, all_tasks, work_ps};
#[cfg(feature = "threads")]
pub use workers::run_each;
