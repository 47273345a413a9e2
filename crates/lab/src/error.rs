//! Why a run gives no results.

use crate::capture_fault::CaptureFault;
use crate::estimate::MemoryShortage;
use crate::flow_level_fault::NoFlowLevel;
use qcnlab_scenario::ScenarioError;
use qcnlab_schemes::foreign::Failure;
use qcnlab_sim::{ReplayError, Violation};

/// Why there are no results.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// Somebody stopped it.
    #[error("stopped")]
    Cancelled,
    /// Flows drawn at random gave something that cannot work.
    #[error("replication {replication}: {error}")]
    Scenario {
        /// Which replication.
        replication: u32,
        /// What cannot work.
        error: ScenarioError,
    },
    /// A run broke a law of conservation.
    #[error(
        "scenario {scenario}, replication {replication}: conservation is broken at {violation}; this is a bug in qcnlab"
    )]
    Violation {
        /// The scenario's name.
        scenario: String,
        /// Which replication.
        replication: u32,
        /// The law.
        violation: Violation,
    },
    /// A capture could not be replayed to its end.
    #[error("scenario {scenario}, replication {replication}: {error}")]
    Replay {
        /// The scenario's name.
        scenario: String,
        /// Which replication.
        replication: u32,
        /// What is wrong with the capture.
        error: ReplayError,
    },
    /// A scheme from outside failed, or broke the contract of its role.
    #[error("replication {replication}: {failure}")]
    Foreign {
        /// Which replication.
        replication: u32,
        /// What happened.
        failure: Failure,
    },
    /// The scenario has no run without packets.
    #[error("{0}")]
    FlowLevel(NoFlowLevel),
    /// There is not enough memory.
    #[error("{0}")]
    Memory(MemoryShortage),
    /// A capture cannot be started.
    #[error("{0}")]
    Capture(CaptureFault),
    /// The threads could not be started.
    #[error("cannot start {jobs} threads: {why}")]
    Threads {
        /// How many were asked for.
        jobs: usize,
        /// What the system said.
        why: String,
    },
}
