//! Changes of the network on a schedule: service rates, links, paths, storms of pauses, and the watchdogs' looks.

use super::Engine;
use super::hosts::Hosts;
use super::schedule::{Event, Schedule};
use super::senders::Outlet;
use crate::ids::{FlowId, Id, NodeId, PathId, PortId};
use crate::plan::{PauseStorm, Plan};
use crate::watchdog::WatchdogPlan;
use qcnlab_schemes::TransportEvent;
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

/// Changes of the network that are still to come, in order of time.
pub(super) struct Changes(VecDeque<(Instant, NetworkChange)>);

impl Changes {
    /// The changes of a plan; of one instant, in the order of [`NetworkChange`].
    pub(super) fn new(plan: &Plan) -> Changes {
        Changes(changes(plan))
    }

    /// When the next one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.front().map(|(at, _)| *at)
    }

    /// Takes one that is due; schedules the next if none is.
    pub(super) fn take_due(&mut self, now: Instant, schedule: &mut Schedule) -> Option<NetworkChange> {
        let next = self.next()?;
        if next > now {
            schedule.set(Event::NetworkChange, next);
            return None;
        }
        self.0.pop_front().map(|(_, change)| change)
    }

    /// Has a change happen at `at`, behind those planned for that instant.
    pub(super) fn plan(&mut self, at: Instant, change: NetworkChange) {
        let position = self.0.partition_point(|(planned, _)| *planned <= at);
        self.0.insert(position, (at, change));
    }
}

/// Paths that a plan adds are numbered after those that flows begin with.
fn changes(plan: &Plan) -> VecDeque<(Instant, NetworkChange)> {
    let mut changes: Vec<(Instant, NetworkChange)> = Vec::new();
    changes.extend(plan.services.iter().map(|each| (each.at, NetworkChange::Rate(each.port, each.rate))));
    changes.extend(plan.failures.iter().map(|each| (each.until, NetworkChange::Up(each.port))));
    changes.extend(plan.failures.iter().map(|each| (each.from, NetworkChange::Down(each.port))));
    let mut first = plan.flows.iter().map(|flow| flow.paths.len() as u32).sum();
    for each in &plan.reroutes {
        let paths = each.paths.len() as u32;
        changes.push((each.at, NetworkChange::Paths(each.flow, PathId::new(first), paths)));
        first += paths;
    }
    let storm = |each: &PauseStorm| NetworkChange::Storm(each.port, each.classes, each.until);
    changes.extend(plan.storms.iter().map(|each| (each.from, storm(each))));
    for (node, each) in plan.nodes.iter().enumerate() {
        if let Some(WatchdogPlan { poll, .. }) = each.watchdog {
            changes.push((Instant::ZERO + poll, NetworkChange::Poll(NodeId::new(node as u32), poll)));
        }
    }
    changes.sort_by_key(|(at, _)| *at);
    changes.into()
}

/// Messages that stop flows count no more at the host whose link has failed.
pub(super) fn let_flows_go(engine: &mut Engine, now: Instant, port: PortId) {
    let both = [Some(port), engine.network.other_direction(port)];
    for flow in engine.senders.flows() {
        if both.contains(&Some(engine.senders.port_of(flow)))
            && let Some(limiter) = engine.senders.tell(now, flow, &TransportEvent::FlowPaused(false))
        {
            engine.rp_changed(now, limiter);
        }
    }
}

impl Hosts<'_> {
    /// Makes a change of the network; returns when it is due again, if it is.
    #[cold]
    #[inline(never)]
    pub(super) fn change(mut self, now: Instant, change: NetworkChange) -> Option<Instant> {
        match change {
            NetworkChange::Rate(port, rate) => {
                if let Some(flow) = self.network.sender_on_demand(port) {
                    self.send_on_demand(now, flow);
                }
                if let Some(flow) = self.network.change_rate(now, port, rate, self.schedule) {
                    self.link_changed(now, flow);
                }
            }
            NetworkChange::Up(port) => self.network.repair_link(now, port, self.schedule),
            NetworkChange::Down(port) => self.network.fail_link(now, port, self.schedule),
            NetworkChange::Paths(flow, first, paths) => {
                if self.senders.outlet(flow) == Outlet::OnDemand {
                    self.send_on_demand(now, flow);
                }
                self.senders.reroute(flow, first, paths);
                self.network.reroute(flow, first, paths);
            }
            NetworkChange::Storm(port, classes, until) => {
                return self.network.storm(now, port, classes, until, self.schedule);
            }
            NetworkChange::Poll(node, poll) => {
                self.network.poll_watchdog(now, node, self.schedule);
                return Some(now + poll);
            }
        }
        None
    }
}
