//! Credit: what receiving hosts give to the flows that end there.
//!
//! A host that gives credit is told of each packet that comes, whole or cut, and has an event of its own for when it gives
//! the next. Credit goes back as a signal, by the way of the packet that came last.

use super::network::Network;
use super::sending::Senders;
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, Id, IdVec, NodeId, PacketId, PortId};
use crate::plan::{Plan, Traffic};
use crate::rate_limiter::Materials;
use crate::source::Source;
use qcnlab_schemes::{CreditPoint, Endpoint, Grant, Reached};
use qcnlab_units::{Bytes, Instant};
use std::collections::HashMap;

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

impl Granting {
    /// The hosts at which queue pairs under congestion control end, if the scheme gives credit.
    pub(super) fn new(plan: &Plan, materials: &Materials, network: &Network) -> Option<Box<Granting>> {
        let mut hosts: IdVec<NodeId, Option<Host>> = network.nodes.iter().map(|_| None).collect();
        for flow in plan.flows.iter().filter(|flow| flow.controlled && matches!(flow.traffic, Traffic::Roce { .. })) {
            let Some(last) = flow.paths.first().and_then(|path| path.last()).map(|port| PortId::new(*port)) else {
                continue;
            };
            let host = &mut hosts[network.links[last].to];
            if host.is_none() {
                let line_rate = network.ports[last].rate();
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

    /// A packet has reached its destination, whole or cut: tells the host there if it gives credit. Returns the host, and when
    /// it may give some.
    #[cold]
    pub(super) fn reached(
        &mut self,
        now: Instant,
        network: &Network,
        senders: &Senders,
        (frame, packet): (Frame, PacketId),
        cut: bool,
    ) -> Option<(NodeId, Instant)> {
        let path = &network.routes.paths[frame.path()];
        let host = self.hosts[path.destination].as_mut()?;
        let Source::Roce(pair) = &senders.flows[path.flow].source else { return None };
        let flow = qcnlab_schemes::FlowId(path.flow.number());
        if pair.receiver.finished() {
            host.point.on_whole(flow);
            host.last.remove(&path.flow);
        } else {
            let payload = pair.sender.payload_of(network.packets.get(packet).number);
            host.point.on_packet(now, &Reached { flow, total: pair.sender.total(), payload, cut });
            host.last.insert(path.flow, answered(frame, packet));
        }
        Some((path.destination, host.point.next_wake()))
    }

    /// A host may give credit now. Returns the packet that the credit answers, if it gives some, and when it may again.
    pub(super) fn grant(&mut self, now: Instant, node: NodeId, senders: &Senders) -> (Option<(Frame, Bytes)>, Instant) {
        let Some(host) = &mut self.hosts[node] else { return (None, Instant::NEVER) };
        let granted = host.point.on_wake(now).and_then(|Grant { flow, credit }| {
            let flow = FlowId::new(flow.0);
            let frame = host.last.get(&flow)?;
            let open = matches!(&senders.flows[flow].source, Source::Roce(pair) if !pair.sender.finished());
            open.then_some((*frame, credit))
        });
        (granted, host.point.next_wake())
    }
}

/// A packet as it came, also where its head alone did: what a signal about it answers.
fn answered(frame: Frame, packet: PacketId) -> Frame {
    let (path, class, hop) = (frame.path(), frame.class(), frame.hop());
    let size = u16::try_from(frame.octets()).unwrap_or(u16::MAX);
    let flags = flag::SEGMENT | flag::CONTROLLED;
    Frame::new(Parts { path, tag: packet.number(), size, class, hop, flags, limited_by: 0 })
}
