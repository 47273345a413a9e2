//! The kinds of things that an engine numbers.
//!
//! Plans and traces number ports, flows and nodes by their position in the plan; [`Id::number`] gives that.

use qcnlab_units::ids;
pub(crate) use qcnlab_units::{Id, IdVec};

ids! {
    /// A switch or a host.
    pub(crate) struct NodeId;
    /// One direction of a link, with the queue before it.
    pub(crate) struct PortId;
    /// The priority queues of a port that has some.
    pub(crate) struct QueuesId;
    /// The buffer that counts what arrives over a link.
    pub(crate) struct InputId;
    /// The shared buffer of a node that has one.
    pub(crate) struct SharedBufferId;
    /// The congestion point of a queue.
    pub(crate) struct PortCpId;
    /// One path of a flow.
    pub(crate) struct PathId;
    /// A flow.
    pub(crate) struct FlowId;
    /// A rate limiter with its reaction point.
    pub(crate) struct LimiterId;
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
