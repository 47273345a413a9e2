//! The congestion notification domain: frames that cross a defended link, and who hears what points say about them.
//!
//! The modes of the two ports of a link are known when the run starts. What the sending port does (it takes CN-TAGs
//! off) and what the receiving port does (it gives frames another priority) is done in one step, when a frame reaches
//! the far end; a capture shows a frame as the sending port leaves it.

use super::Network;
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, IdVec, LimiterId, NodeId, PortId};
use crate::plan::{DomainPlan, DomainPort, Plan};
use crate::port::FarEnd;

/// The domain of a run.
pub(super) struct Domain {
    pub(super) ports: IdVec<PortId, DomainPort>,
    /// For each flow the limiter that hears messages without CN-TAG; `None` where its host has no reaction points.
    untagged: IdVec<FlowId, Option<LimiterId>>,
}

impl Domain {
    pub(super) fn new(plan: &DomainPlan) -> Domain {
        Domain { ports: plan.ports.clone(), untagged: plan.untagged.clone() }
    }

    /// The limiter that hears a message about `sampled`, a frame of `flow`. With a CN-TAG it is `own`, the limiter that
    /// paced the frame, without one the limiter that answers for the frame's priority. `None` if its host has no
    /// reaction points.
    pub(super) fn hearing_limiter(&self, flow: FlowId, own: LimiterId, sampled: &Frame) -> Option<LimiterId> {
        let untagged = self.untagged[flow]?;
        Some(if sampled.is(flag::CN_TAGGED) { own } else { untagged })
    }
}

impl DomainPort {
    /// A frame as it leaves the port.
    pub(super) fn untag(&self, frame: &mut Frame) {
        if self.untags & 1 << frame.class() != 0 && !frame.is(flag::NOT_DATA) {
            frame.clear(flag::CN_TAGGED);
        }
    }
}

impl Network {
    /// Marks the links at whose ends something happens to frames. Where a node counts by input it must know the class
    /// that each frame had on its link.
    pub(super) fn find_defended(&mut self, plan: &Plan) {
        let Network { domain, ports, remaps, .. } = self;
        let Some(domain) = domain else { return };
        for (id, planned) in ports.ids().zip(&plan.ports) {
            let port = &mut ports[id];
            let far_end = match port.far_end() {
                FarEnd::Buffer(input) => FarEnd::DefendedBuffer(input),
                FarEnd::Node if !domain.ports[id].changes_nothing() && !is_sink(plan, planned.to) => FarEnd::Defended,
                same => same,
            };
            port.set_far_end(far_end);
        }
        *remaps |= domain.ports.iter().any(|port| port.remaps != DomainPort::NEUTRAL.remaps);
    }

    /// A frame has crossed the link of `port`, and the node at its far end has admitted it.
    #[cold]
    #[inline(never)]
    pub(super) fn cross_defence(&self, port: PortId, mut frame: Frame) -> Frame {
        let Some(domain) = &self.domain else { return frame };
        let rules = &domain.ports[port];
        rules.untag(&mut frame);
        let class = frame.class();
        let becomes = rules.remaps[usize::from(class)];
        frame.enter_with_class(becomes);
        if becomes != class {
            frame.clear(flag::CONTROLLED);
        }
        frame
    }
}

/// Whether a node forwards nothing.
fn is_sink(plan: &Plan, node: NodeId) -> bool {
    !plan.all_paths().any(|(_, path)| path[1..].iter().any(|port| plan.ports[*port].from == node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::net::{Net, greedy};
    use qcnlab_units::{BitRate, Span};

    /// Whether an engine reckons with frames that change their class, where `port` does to them what `rules` say.
    fn remaps(port: &str, rules: DomainPort) -> bool {
        let mut net = Net::new(&["a", "s", "b"]);
        net.link("a", "s", BitRate::gbps(10), Span::from_us(1));
        net.link("s", "b", BitRate::gbps(10), Span::from_us(1));
        net.flow("a", "b", 3, greedy());
        let mut ports = IdVec::for_each_of(&net.plan.ports, DomainPort::NEUTRAL);
        ports[net.port(port)] = rules;
        net.plan.domain = Some(DomainPlan { ports, untagged: IdVec::from(vec![Some(LimiterId::new(0))]) });
        super::super::build::network(&net.plan).0.remaps
    }

    /// It costs a count of frames wherever somebody asks for octets by class.
    #[test]
    fn classes_change_only_where_a_port_changes_them() {
        let edge = DomainPort { remaps: [0, 1, 2, 2, 4, 5, 6, 7], ..DomainPort::NEUTRAL };
        assert!(remaps("a->s", edge) && remaps("b->s", edge));
        assert!(!remaps("a->s", DomainPort { untags: 1 << 3, ..DomainPort::NEUTRAL }));
    }
}
