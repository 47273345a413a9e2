//! The path of a flow's frames, as all parts of the engine know it.

use crate::ids::{FlowId, NodeId, SinkId};

/// One path of a flow.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Path {
    /// Where its ports begin in the lists.
    pub(crate) start: u32,
    pub(crate) flow: FlowId,
    /// The last port, as the recorder numbers it, and the flow's position among those that end there.
    pub(crate) sink: SinkId,
    pub(crate) member: u32,
    /// The node where it begins, and the one where it ends.
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    /// How many links it has.
    pub(crate) len: u8,
}
