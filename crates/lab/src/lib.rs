//! Scenarios, runs, metrics and replications.

mod available;
mod bottleneck;
mod catalogue;
mod estimate;
mod fabric;
pub mod fairness;
pub mod flows;
pub mod fluid;
pub mod foreign;
mod metrics;
mod run;
mod scenario;
mod schema;
mod shipped;
mod tables;
mod tasks;
pub mod topology;

pub use bottleneck::{Bottleneck, Crowd, Extent, Load, NoBottleneck, Phase, Source};
pub use catalogue::{metrics_json, parameters_json, scenarios_json, schemes_json};
pub use estimate::{Estimate, Part};
pub use metrics::{METRICS, Metric};
pub use qcnlab_schemes as schemes;
pub use qcnlab_sim::Control;
pub use qcnlab_units as units;
pub use run::{Options, Outcome, Replication, RunError, run};
pub use scenario::{
    Adapters, BOTTLENECK, Chain, FatTree, Fault, Feedback, FlowSpec, Graph, Hotspot, LONGEST, LeafSpine, Links,
    Multipath, OneSwitch, ParkingLot, PatternError, Pause, PauseFault, PauseKind, PauseRule, Record, Routing, Scenario,
    ScenarioError, Spread, Star, Switches, TcpFlavour, Times, Topology, Traffic, TrafficKind, Tree,
};
pub use schema::schema_json;
pub use shipped::{Shipped, shipped};
pub use tables::{Column, Data, TABLES, Table};
pub use tasks::{Task, all_tasks, run_each, work_ps};
