//! Scenarios, runs, metrics and replications.

mod scenario;

pub use scenario::{
    BOTTLENECK, Fault, Feedback, FlowSpec, Hotspot, LONGEST, Record, Scenario, ScenarioError, Star, Topology, Traffic,
    TrafficKind,
};
