//! Changes of the network on a schedule: service rates, links, paths, storms of pauses, and the watchdogs' looks.

use super::Engine;
use super::schedule::Event;
use crate::ids::{FlowId, Id, NodeId, PathId, PortId};
use crate::plan::{PauseStorm, Plan};
use crate::port::{FarEnd, Mode};
use crate::watchdog::WatchdogPlan;
use qcnlab_units::{BitRate, Instant, Span};
use std::collections::VecDeque;

/// What changes in the network.
#[derive(Clone, Copy, Debug)]
pub(super) enum NetworkChange {
    /// A port serves at another rate.
    Rate(PortId, BitRate),
    /// A link comes back.
    Up(PortId),
    /// A link fails.
    Down(PortId),
    /// A flow's frames take other paths: so many, from this one on.
    Paths(FlowId, PathId, u32),
    /// A host sends XOFF for these classes, again and again until this time, and then XON.
    Storm(PortId, u8, Instant),
    /// The watchdog of a node looks, and again after so long.
    Poll(NodeId, Span),
}

/// The changes of a plan in order of time; of one instant, in the order of [`NetworkChange`]. Paths that a plan adds are
/// numbered after those that flows begin with.
pub(super) fn changes(plan: &Plan) -> VecDeque<(Instant, NetworkChange)> {
    let mut changes: Vec<(Instant, NetworkChange)> = Vec::new();
    changes.extend(plan.services.iter().map(|each| (each.at, NetworkChange::Rate(PortId::new(each.port), each.rate))));
    changes.extend(plan.failures.iter().map(|each| (each.until, NetworkChange::Up(PortId::new(each.port)))));
    changes.extend(plan.failures.iter().map(|each| (each.from, NetworkChange::Down(PortId::new(each.port)))));
    let mut first = plan.flows.iter().map(|flow| flow.paths.len() as u32).sum();
    for each in &plan.reroutes {
        let paths = each.paths.len() as u32;
        changes.push((each.at, NetworkChange::Paths(FlowId::new(each.flow), PathId::new(first), paths)));
        first += paths;
    }
    let storm = |each: &PauseStorm| NetworkChange::Storm(PortId::new(each.port), each.classes, each.until);
    changes.extend(plan.storms.iter().map(|each| (each.from, storm(each))));
    for (node, each) in plan.nodes.iter().enumerate() {
        if let Some(WatchdogPlan { poll, .. }) = each.watchdog {
            changes.push((Instant::ZERO + poll, NetworkChange::Poll(NodeId::new(node as u32), poll)));
        }
    }
    changes.sort_by_key(|(at, _)| *at);
    changes.into()
}

impl Engine {
    /// Makes the changes that are due.
    pub(super) fn change_network(&mut self, now: Instant) {
        while let Some((at, change)) = self.changes.front().copied() {
            if at > now {
                return self.schedule.set(Event::NetworkChange, at);
            }
            self.changes.pop_front();
            match change {
                NetworkChange::Rate(port, rate) => self.change_rate(now, port, rate),
                NetworkChange::Up(port) => self.repair_link(now, port),
                NetworkChange::Down(port) => self.fail_link(now, port),
                NetworkChange::Paths(flow, first, paths) => self.reroute(now, flow, first, paths),
                NetworkChange::Storm(port, classes, until) => self.storm(now, port, classes, until),
                NetworkChange::Poll(node, poll) => self.poll_watchdog(now, node, poll),
            }
        }
    }

    fn change_rate(&mut self, now: Instant, id: PortId, rate: BitRate) {
        let lazy_sender = self.network.ports[id].lazy_sender();
        if let Some(flow) = lazy_sender {
            self.send_lazily(now, flow);
        }
        self.network.update_queue(now, id);
        let port = &mut self.network.ports[id];
        let old = port.rate();
        port.change_rate(now, rate);
        self.network.find_ignored(id);
        if let Some(flow) = lazy_sender {
            self.schedule_lazy_arrival(flow);
        } else if self.network.ports[id].far_end() != FarEnd::CountingSink
            && let Some(arrival) = self.network.ports[id].next_arrival()
        {
            self.schedule.set(Event::Arrival(id), arrival);
        }
        match self.network.ports[id].mode() {
            Mode::Queues(queues) => self.rescale_transmission(now, queues, old),
            Mode::Alone(sole) => self.link_changed(now, sole.sender),
            Mode::Fifo(fifo) => {
                if let Some(queues) = fifo.queues {
                    self.reschedule_adapter(now, queues);
                }
            }
            Mode::Plain | Mode::Lazy(_) => {}
        }
    }
}
