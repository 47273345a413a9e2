//! Scenarios, runs, metrics and replications.

mod catalogue;
mod scenario;
mod schema;
mod shipped;

pub use catalogue::{parameters_json, scenarios_json, schemes_json};
pub use scenario::{
    BOTTLENECK, Fault, Feedback, FlowSpec, Hotspot, LONGEST, Record, Scenario, ScenarioError, Star, Topology, Traffic,
    TrafficKind,
};
pub use schema::schema_json;
pub use shipped::{Shipped, shipped};
