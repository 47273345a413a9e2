//! Scenarios, runs, metrics and replications.

mod address;
mod available;
mod bottleneck;
mod capture;
mod capture_fault;
mod catalogue;
mod conform;
mod elsewhere;
mod error;
mod estimate;
mod fabric;
pub mod fairness;
pub mod flows;
pub mod fluid;
pub mod foreign;
mod frames;
mod header;
mod metrics;
mod mib;
mod nearest;
mod outcome;
mod pattern;
mod points;
mod quantity;
mod replay;
mod replication;
mod run;
mod scenario;
mod schema;
mod shipped;
mod tables;
mod tasks;
pub mod topology;
mod workers;

pub use bottleneck::{Bottleneck, BottleneckPhase, Contender, Contenders, MinMeanMax, NoBottleneck, PortLoad};
pub use capture::{CaptureOptions, CaptureSummary, FramesKept, capture_size, run_captured};
pub use capture_fault::CaptureFault;
pub use catalogue::{metrics_json, parameters_json, scenarios_json, schemes_json, window_metrics_json};
pub use conform::{ConformError, ConformOptions, Tolerances, conform_cp, conform_rp};
pub use elsewhere::run_elsewhere;
pub use error::RunError;
pub use estimate::{Estimate, MemoryShortage, Part};
pub use frames::{CapturedRows, RowsError};
pub use metrics::{METRICS, Metric, Traces, WINDOW_METRICS, WindowError, WindowMetric, metric_in_window};
pub use mib::{MIB_OBJECTS, MibError, MibObject, mib_json, mib_objects_markdown};
pub use outcome::Outcome;
pub use pattern::PatternError;
pub use points::{CheckedPoint, check_points};
pub use qcnlab_schemes as schemes;
pub use qcnlab_sim::{Control, Ending};
pub use qcnlab_units as units;
pub use quantity::quantity;
pub use replay::{CapturedDirection, FlowsBy, ReplayFault, Replayed};
pub use replication::Replication;
pub use run::run;
pub use scenario::{
    Adapters, BOTTLENECK, Chain, CongestionAvoidance, Defence, DefenceMode, Domain, DomainFault, FatTree, Fault,
    Feedback, FlowSpec, Graph, Hotspot, LONGEST, LeafSpine, Links, Multipath, OneSwitch, Pairing, ParkingLot, Pause,
    PauseFault, PauseKind, PauseRule, PauseTarget, Record, RecoverGuard, Routing, RttFrom, Scenario, ScenarioError,
    SharedBuffer, SharedBufferKind, Star, Switches, TcpFlavour, Ties, Times, Topology, Traffic, TrafficKind, Tree,
};
pub use schema::schema_json;
pub use shipped::{Shipped, shipped};
pub use tables::{Column, Data, TABLES, Table};
pub use tasks::{Options, Task, all_tasks, work_ps};
pub use workers::run_each;
