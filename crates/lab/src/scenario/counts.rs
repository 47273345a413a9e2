//! How much there is in one run of what takes memory.

/// How much there is of what takes memory, with the flows of the scenario's own seed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Switches and hosts.
    pub(crate) nodes: u64,
    /// Ports that something crosses.
    pub(crate) ports: u64,
    /// Flows.
    pub(crate) flows: u64,
    /// Flows that are TCP connections.
    pub(crate) connections: u64,
    /// Links of all paths of all flows.
    pub(crate) hops: u64,
    /// Frames that may queue or travel at one time.
    pub(crate) frames: u64,
    /// Ports whose queue is recorded.
    pub(crate) recorded: u64,
    /// Messages of congestion points.
    pub(crate) messages: u64,
}
