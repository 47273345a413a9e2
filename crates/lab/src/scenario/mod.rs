//! Scenario files: from a TOML text to a checked, resolved [`Scenario`] and back.
//!
//! * `types`: what a scenario says; each table is declared there, once.
//! * `layout`: the shape of a file, as data over those tables.
//! * `document`: text to a tree of keys and values with their places.
//! * `overrides`: changes to that tree.
//! * `read`: tree to scenario.
//! * `resolve`: scenario to text, JSON and hash.

mod document;
mod error;
mod nearest;
mod types;

pub use error::{Fault, ScenarioError};
pub use types::{
    BOTTLENECK, Feedback, FlowSpec, Hotspot, LONGEST, Record, Scenario, Star, Topology, Traffic, TrafficKind,
};
