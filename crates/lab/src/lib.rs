//! Scenarios, runs, metrics and replications.

mod catalogue;
mod fabric;
pub mod fairness;
pub mod fluid;
mod metrics;
mod run;
mod scenario;
mod schema;
mod shipped;
mod tables;
pub mod topology;

pub use catalogue::{metrics_json, parameters_json, scenarios_json, schemes_json};
pub use metrics::{METRICS, Metric};
pub use qcnlab_sim::Control;
pub use run::{Options, Outcome, Replication, RunError, run, work_ps};
pub use scenario::{
    BOTTLENECK, Fault, Feedback, FlowSpec, Hotspot, LONGEST, Record, Scenario, ScenarioError, Star, Topology, Traffic,
    TrafficKind,
};
pub use schema::schema_json;
pub use shipped::{Shipped, shipped};
pub use tables::{Column, Data, TABLES, Table};
