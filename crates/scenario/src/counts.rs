//! How much there is in one run of what takes memory.

/// How much there is of what takes memory, with the flows of the scenario's own seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Switches and hosts.
    pub nodes: u64,
    /// Ports that something crosses.
    pub ports: u64,
    /// Flows.
    pub flows: u64,
    /// Those of them that are messages over RoCE and take most of their memory only while they last.
    pub short_lived: u64,
    /// Flows that are TCP connections.
    pub connections: u64,
    /// Links of all paths of all flows.
    pub hops: u64,
    /// Frames that may queue or travel at one time.
    pub frames: u64,
    /// Ports whose queue is recorded.
    pub recorded: u64,
    /// Messages of congestion points.
    pub messages: u64,
    /// Whether a node pauses its links.
    pub pauses: bool,
}
