//! Credit: what receiving hosts give to the flows that end there.
//!
//! A host that gives credit is told of each packet that comes, whole or cut, and has an event of its own for when it gives
//! the next. Credit goes back as a signal, by the way of the packet that came last.

use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, Id, IdVec, NodeId, PacketId, PortId};
use crate::path::Path;
use crate::plan::{Plan, Traffic};
use crate::rate_limiter::Materials;
use qcnlab_schemes::{CreditPoint, Endpoint, Grant, Reached};
use qcnlab_units::{BitRate, Bytes, Instant};
use std::collections::HashMap;

use super::effects::PacketFacts;
use super::schedule::{Event, Schedule};

/// The hosts that give credit.
pub(super) struct Granting {
    hosts: IdVec<NodeId, Option<Host>>,
}

/// A host that gives credit.
struct Host {
    point: Box<dyn CreditPoint>,
    /// The packet of each flow that came last.
    last: HashMap<FlowId, Frame>,
}

/// A packet that has reached its destination, or its head alone, if it was cut on its way.
#[derive(Clone, Copy)]
pub(super) struct Came {
    pub(super) frame: Frame,
    pub(super) packet: PacketId,
    pub(super) cut: bool,
}

impl Granting {
    /// The hosts at which queue pairs under congestion control end, if the scheme gives credit; `destination` says where a
    /// port leads, and its rate.
    pub(super) fn new(
        plan: &Plan,
        materials: &Materials,
        destination: impl Fn(PortId) -> (NodeId, BitRate),
    ) -> Option<Box<Granting>> {
        let mut hosts: IdVec<NodeId, Option<Host>> = plan.nodes.iter().map(|_| None).collect();
        for flow in plan.flows.iter().filter(|flow| flow.controlled && matches!(flow.traffic, Traffic::Roce { .. })) {
            let Some(last) = flow.paths.iter().next().and_then(|path| path.last()).copied() else {
                continue;
            };
            let (node, line_rate) = destination(last);
            let host = &mut hosts[node];
            if host.is_none() {
                let endpoint = Endpoint { line_rate, ..materials.endpoint(flow) };
                *host = Some(Host { point: plan.scheme.credit_point(endpoint)?, last: HashMap::new() });
            }
        }
        hosts.iter().any(Option::is_some).then(|| Box::new(Granting { hosts }))
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.hosts.len()
    }

    /// A packet has reached its destination, whole or cut: tells the host there if it gives credit, and schedules when it may
    /// give some.
    #[cold]
    pub(super) fn reached(
        &mut self,
        now: Instant,
        path: &Path,
        Came { frame, packet, cut }: Came,
        packet_facts: impl FnOnce() -> Option<PacketFacts>,
        schedule: &mut Schedule,
    ) {
        let Some(host) = &mut self.hosts[path.destination] else { return };
        let Some(PacketFacts { whole, total, payload }) = packet_facts() else { return };
        let flow = qcnlab_schemes::FlowId(path.flow.number());
        if whole {
            host.point.on_whole(flow);
            host.last.remove(&path.flow);
        } else {
            host.point.on_packet(now, &Reached { flow, total, payload, cut });
            host.last.insert(path.flow, answered(frame, packet));
        }
        schedule.set(Event::Grant(path.destination), host.point.next_wake());
    }

    /// A host may give credit now; `open` says whether a flow lacks something. Returns the packet that the credit answers, if it
    /// gives some, and schedules when it may again.
    pub(super) fn grant(
        &mut self,
        now: Instant,
        node: NodeId,
        open: impl Fn(FlowId) -> bool,
        schedule: &mut Schedule,
    ) -> Option<(Frame, Bytes)> {
        let host = self.hosts[node].as_mut()?;
        let granted = host.point.on_wake(now).and_then(|Grant { flow, credit }| {
            let flow = FlowId::new(flow.0);
            let frame = host.last.get(&flow)?;
            open(flow).then_some((*frame, credit))
        });
        schedule.set(Event::Grant(node), host.point.next_wake());
        granted
    }
}

/// A packet as it came, also where its head alone did: what a signal about it answers.
fn answered(frame: Frame, packet: PacketId) -> Frame {
    let (path, class, hop) = (frame.path(), frame.class(), frame.hop());
    let size = u16::try_from(frame.octets()).unwrap_or(u16::MAX);
    let flags = flag::SEGMENT | flag::CONTROLLED;
    Frame::new(Parts { path, tag: packet.number(), size, class, hop, flags, limited_by: 0 })
}
