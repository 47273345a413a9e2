//! The congestion points of a switch's ports: the schemes' own, with the numbers and random streams of the simulator.

use crate::layout::Layout;
use qcnlab_schemes::registry::AnyCp;
use qcnlab_schemes::{Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, Dice, Purpose, Queue};
use qcnlab_sim::trace::PointTally;
use qcnlab_sim::{Plan, PortId, Traffic};
use qcnlab_units::{Bytes, IdVec, Instant};

/// The congestion point of one class's queue.
#[derive(Debug)]
pub(crate) struct QueueCp {
    cp: AnyCp,
    dice: Dice,
    capabilities: CpCapabilities,
    pub(crate) tally: PointTally,
}

impl QueueCp {
    pub(crate) fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue) -> CpAction {
        self.tally.discarded += u64::from(!frame.admitted);
        let action = self.cp.on_arrival(now, frame, queue, &mut self.dice);
        self.tally.sent += u64::from(matches!(action, CpAction::Send(_)));
        action
    }

    pub(crate) fn on_departure(&mut self, now: Instant, left: Bytes) {
        self.tally.transmitted += 1;
        if self.capabilities.sees_departures {
            self.cp.on_departure(now, left);
        }
    }
}

/// The classes that each port of the plan carries, a bit each: of its flows and of their acknowledgements.
fn classes(plan: &Plan) -> IdVec<PortId, u8> {
    let mut classes = IdVec::for_each_of(&plan.ports, 0u8);
    for flow in &plan.flows {
        for port in flow.paths.iter().flatten() {
            classes[*port] |= 1 << flow.class;
            if let (Some(peer), Traffic::Tcp { .. }) = (plan.ports[*port].peer, &flow.traffic) {
                classes[peer] |= 1 << flow.class;
            }
        }
    }
    classes
}

/// The classes under congestion control, a bit each.
pub(crate) fn controlled_classes(plan: &Plan) -> u8 {
    plan.flows.iter().filter(|flow| flow.controlled).fold(0, |all, flow| all | 1 << flow.class)
}

/// The congestion points, for each port and class.
pub(crate) fn points(plan: &Plan, layout: &Layout) -> IdVec<PortId, [Option<QueueCp>; 8]> {
    let mut points: IdVec<PortId, [Option<QueueCp>; 8]> = layout.ways.iter().map(|_| Default::default()).collect();
    if !plan.scheme.speaks() {
        return points;
    }
    let (classes, controlled) = (classes(plan), controlled_classes(plan));
    let mut number = 0;
    for (port, planned) in plan.ports.enumerate().filter(|(_, port)| port.watched) {
        let defended = plan.domain.as_ref().map_or(u8::MAX, |domain| domain.ports[port].points);
        let own = classes[port] & controlled & defended;
        for class in (0..8u8).filter(|class| own & 1 << class != 0) {
            let only = own.count_ones() == 1;
            let name = if only { planned.name.clone() } else { format!("{}/{class}", planned.name) };
            let dice = Dice::new(plan.seed, plan.replication, &name, Purpose::Sampling);
            let cp = plan.scheme.congestion_point(CpId(number));
            points[port][usize::from(class)] = Some(QueueCp {
                capabilities: cp.capabilities(),
                cp,
                dice,
                tally: PointTally { port, class: Some(class), transmitted: 0, discarded: 0, sent: 0 },
            });
            number += 1;
        }
    }
    points
}
