//! Managed objects: IEEE8021-CN-MIB as the network of a run would answer it, and Linux' view of the same.
//!
//! * `objects`: the objects, declared once.
//! * `counts`: what a run counts for them and keeps in its folder.
//! * `parameters`: objects that scheme parameters answer.
//! * `answers`: the objects of each bridge and host.
//!
//! An object that a run cannot answer says why. No value is made up.

mod answers;
mod counts;
mod objects;
mod parameters;

pub use objects::{MIB_OBJECTS, MibObject, mib_objects_markdown};

use crate::fabric::Fabric;
use counts::{FORMAT, ReplicationCounts};
use qcnlab_scenario::{Draw, Scenario, ScenarioError};
use qcnlab_schemes::SignalKind;
use serde_json::Value;

/// Why a run has no managed objects to show.
#[derive(Debug, thiserror::Error)]
pub enum MibError {
    /// The scheme is none of 802.1Q's kind.
    #[error("scheme '{scheme}' sends no congestion notification messages: IEEE8021-CN-MIB has no object for it")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The counts are those of another version, or damaged.
    #[error("managed.json is damaged or of another version; run the scenario again")]
    Counts,
    /// There is no such replication.
    #[error("the run has no replication {replication}; it has {count}, counted from 0")]
    Replication {
        /// The replication.
        replication: u32,
        /// How many there are.
        count: usize,
    },
    /// The scenario cannot be resolved any more.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
}

/// The objects of every bridge and host after a replication of a run with this seed, as JSON. `managed` is what
/// [`Outcome::managed_json`](crate::Outcome::managed_json) gave.
///
/// # Errors
/// When the scheme has no such objects, or `managed` does not go with the scenario.
pub fn mib_json(scenario: &Scenario, seed: u64, managed: &str, replication: u32) -> Result<String, MibError> {
    if !scenario.scheme.hears().contains(&SignalKind::Cnm) {
        return Err(MibError::Scheme { scheme: scenario.scheme.name().to_owned() });
    }
    let value: Value = serde_json::from_str(managed).map_err(|_| MibError::Counts)?;
    if value.get("format").and_then(Value::as_u64) != Some(FORMAT.into()) {
        return Err(MibError::Counts);
    }
    let replications = value.get("replications").and_then(Value::as_array).ok_or(MibError::Counts)?;
    let count = replications.len();
    let one = replications.get(replication as usize).ok_or(MibError::Replication { replication, count })?;
    let counts = ReplicationCounts::from_json(one).ok_or(MibError::Counts)?;
    let draw = Draw { seed, replication };
    let resolved = scenario.resolve(draw)?;
    let fabric = Fabric::new(scenario, draw)?;
    let answers = answers::Answers::new(scenario, &resolved, &fabric, &counts);
    let answers = answers.ok_or(MibError::Counts)?;
    Ok(format!("{:#}\n", answers.all(seed, replication)))
}

#[cfg(test)]
mod tests;
