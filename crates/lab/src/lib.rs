//! Scenarios, runs, metrics and replications.
//!
//! Features, all on by default: `threads` for several runs at a time, `files` for captures, for files that scenarios name
//! and for what `/proc` says of memory, `clock` for CPU seconds. Without them a run is advanced as a [`SteppedRun`].
#![cfg_attr(not(all(feature = "files", feature = "threads")), allow(dead_code, unused_imports))]

mod address;
#[cfg(feature = "files")]
mod available;
mod bottleneck;
#[cfg(feature = "files")]
mod capture;
mod capture_fault;
mod catalogue;
mod clock;
mod deadlock;
mod digests;
mod elsewhere;
mod error;
mod estimate;
mod fabric;
pub mod fairness;
mod files;
#[cfg(feature = "threads")]
mod flow_level;
mod flow_level_fault;
pub mod flows;
pub mod foreign;
#[cfg(feature = "files")]
mod frames;
#[cfg(feature = "threads")]
mod grid;
pub mod header;
pub mod headroom;
mod margins;
mod metrics;
#[cfg(feature = "files")]
mod mib;
mod outcome;
mod pattern;
mod paused_link;
mod quantity;
mod replay;
mod replication;
#[cfg(feature = "threads")]
mod run;
mod scenario;
mod schema;
mod shipped;
mod stepping;
mod tables;
mod tasks;
#[cfg(feature = "threads")]
mod threads;
pub mod topology;
#[cfg(feature = "threads")]
mod workers;

pub use bottleneck::{Bottleneck, BottleneckPhase, Contender, Contenders, MinMeanMax, NoBottleneck, PortLoad};
#[cfg(feature = "files")]
pub use capture::{
    CaptureOptions, CaptureSummary, FramesKept, LINK_COMMENT, STAMPS_COMMENT, capture_size, run_captured,
};
pub use capture_fault::CaptureFault;
pub use catalogue::{metrics_json, parameters_json, scenarios_json, schemes_json, sizes_json, window_metrics_json};
pub use deadlock::{BufferCircle, CaseCount, CircularCase, DeadlockQuestion, DeadlockReport, Wait};
pub use elsewhere::{port_defences, run_elsewhere};
pub use error::RunError;
pub use estimate::{Estimate, MemoryShortage, Part};
pub use flow_level_fault::NoFlowLevel;
#[cfg(feature = "files")]
pub use frames::{CapturedRows, RowsError};
#[cfg(feature = "threads")]
pub use grid::{Checked, Grid, Refusal};
pub use metrics::{
    Fact, METRICS, Metric, Traces, WINDOW_METRICS, WindowError, WindowMetric, metric_in_window, recovery_bin,
};
#[cfg(feature = "files")]
pub use mib::{MIB_OBJECTS, MibError, MibObject, mib_json, mib_objects_markdown};
pub use outcome::Outcome;
pub use pattern::PatternError;
pub use qcnlab_schemes as schemes;
pub use qcnlab_sim::{Control, Ending, PortState, Trace};
pub use qcnlab_units as units;
pub use quantity::quantity;
pub use replay::{CapturedDirection, FlowsBy, ReplayFault, Replayed};
pub use replication::Replication;
#[cfg(feature = "threads")]
pub use run::run;
pub use scenario::{
    Adapters, Arrivals, BOTTLENECK, BicProbing, BicStep, CaptureFrames, Chain, CollectiveOperation,
    CongestionAvoidance, ConstantStream, Defence, DefenceMode, Domain, DomainFault, Failure, FatTree, Fault, Feedback,
    FlowList, FlowSpec, Graph, Hotspot, IncastBursts, LONGEST, LeafSpine, Links, Multipath, NoTransport, OnOffStream,
    OneSwitch, Pairing, ParkingLot, Pause, PauseFault, PauseKind, PauseRule, PauseStorm, PauseTarget, Placement,
    PoissonStream, PortDefence, RandomFlows, Record, RecoverGuard, RoceTransport, Route, Routing, RttFrom, Saturated,
    Scenario, ScenarioError, SharedBuffer, SharedBufferKind, Star, Switches, TcpFlavour, TcpTransport, Ties, Times,
    Topology, Traffic, Transport, Tree, Watchdog, WatchdogAction, Wred,
};
pub use schema::schema_json;
pub use shipped::{Shipped, shipped};
pub use stepping::SteppedRun;
pub use tables::{Column, Data, TABLES, Table};
pub use tasks::{Options, Task, all_tasks, work_ps};
#[cfg(feature = "threads")]
pub use workers::run_each;
