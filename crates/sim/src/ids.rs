//! The kinds of things that an engine numbers.
//!
//! Nodes, ports and flows have the ids of their places in the plan. Rows of traces are columns of [`Id::number`].

use qcnlab_units::ids;
pub(crate) use qcnlab_units::{Id, IdVec};

ids! {
    /// A switch or a host.
    pub struct NodeId;
    /// One direction of a link, with the queue before it.
    pub struct PortId;
    /// The priority queues of a port that has some.
    pub(crate) struct QueuesId;
    /// The buffer that counts what arrives over a link.
    pub(crate) struct InputId;
    /// An input among those of its node.
    pub(crate) struct InputSlot;
    /// The shared buffer of a node that has one.
    pub(crate) struct SharedBufferId;
    /// The congestion point of a queue.
    pub(crate) struct PortCpId;
    /// One path of a flow.
    pub(crate) struct PathId;
    /// A flow.
    pub struct FlowId;
    /// A rate limiter with its reaction point.
    pub struct LimiterId;
    /// A host's adapter that several flows share.
    pub(crate) struct AdapterId;
    /// A generator of traffic.
    pub(crate) struct GeneratorId;
    /// A port at which paths end.
    pub(crate) struct SinkId;
    /// What a control frame under way carries.
    pub(crate) struct ControlFrameId;
    /// What a RoCE packet under way carries.
    pub(crate) struct PacketId;
}
