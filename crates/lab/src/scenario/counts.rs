//! How much there is of everything in a run of a scenario.

use qcnlab_sim::Needs;

/// How much there is of everything in one run, with the flows of the scenario's own draw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// What the engine is made of.
    pub(crate) engine: Needs,
    /// Ports whose queue is recorded.
    pub(crate) recorded: u64,
    /// Flows over ports that are offered more than they carry.
    pub(crate) losing: u64,
    /// Messages of congestion points.
    pub(crate) messages: u64,
    /// Whether flows end at several ports.
    pub(crate) several_sinks: bool,
}
