//! Watchdogs at work, and hosts that send pauses without end.

use super::Engine;
use super::changes::NetworkChange;
use super::recording::Counted;
use crate::frame::flag;
use crate::ids::{NodeId, PortId, QueuesId};
use crate::priority_queues::{PauseFrame, Transmitting};
use crate::watchdog::{Finding, WatchdogAction};
use qcnlab_units::{Instant, Span};

impl Engine {
    /// A node looks at its queues, and again after `poll`.
    pub(super) fn poll_watchdog(&mut self, now: Instant, node: NodeId, poll: Span) {
        for output in 0..self.network.nodes[node].outputs.len() {
            let output = self.network.nodes[node].outputs[output];
            let Some(queues) = self.network.ports[output].queues() else { continue };
            for position in 0..self.network.queues[queues].queues.len() {
                self.check_queue(now, output, queues, position);
            }
        }
        self.plan_change(now + poll, NetworkChange::Poll(node, poll));
    }

    fn check_queue(&mut self, now: Instant, port: PortId, id: QueuesId, position: usize) {
        let queues = &mut self.network.queues[id];
        let Some(watchdog) = &mut queues.watchdog else { return };
        let queue = &queues.queues[position];
        let in_force = queue.pause.last(now.ps()).filter(|_| queue.pause.until() > now.ps());
        let paused = in_force.map(|(since, _, _)| (since, queue.pause.until()));
        let sends = queues.transmitting == Transmitting::Head(position as u8);
        let action = watchdog.action();
        match watchdog.check(now, position, paused, !queue.frames.is_empty() && !sends) {
            Finding::Nothing => {}
            Finding::StormEnds => self.recording.count(Counted::StormEnded),
            Finding::StormBegins => {
                self.recording.count(Counted::StormDetected);
                match action {
                    WatchdogAction::Drop => {
                        while let Some(frame) = self.network.queues[id].take_waiting(position) {
                            if !frame.is(flag::NOT_DATA) {
                                self.recording.count(Counted::WatchdogDrop);
                            }
                            self.lose_waiting(now, port, id, position, frame);
                        }
                    }
                    WatchdogAction::Forward => self.end_pause(now, id, position),
                }
            }
        }
    }

    /// Ends the pause of a queue, which goes on.
    fn end_pause(&mut self, now: Instant, id: QueuesId, position: usize) {
        let queues = &mut self.network.queues[id];
        let (port, queue) = (queues.port, &mut queues.queues[position]);
        let class = queue.class;
        if let Some(ended) = queue.pause.apply(now.ps(), now.ps(), true, port) {
            self.recording.on_pause(port, Some(class), ended);
        }
        if self.network.queues[id].is_idle() {
            self.start_transmission(now, id);
        }
    }

    /// A host pauses classes of its link again and again, until `until`.
    pub(super) fn storm(&mut self, now: Instant, port: PortId, classes: u8, until: Instant) {
        let Some(id) = self.network.ports[port].queues() else { return };
        let goes_on = now < until;
        let quanta = if goes_on { u16::MAX } else { 0 };
        let half = Span::from_ps(self.network.queues[id].quanta_ps(quanta) / 2);
        self.send_pause_frame(now, port, PauseFrame { classes, quanta, endless: false, storm: true, because: port });
        if goes_on {
            self.plan_change((now + half).min(until), NetworkChange::Storm(port, classes, until));
        }
    }

    /// Has a change happen at `at`, behind those planned for that instant.
    fn plan_change(&mut self, at: Instant, change: NetworkChange) {
        let position = self.changes.partition_point(|(planned, _)| *planned <= at);
        self.changes.insert(position, (at, change));
    }

    /// Whether the watchdog of one of these ports may end a circle of pauses.
    pub(super) fn is_watched(&self, ports: impl Iterator<Item = PortId>) -> bool {
        let queues = ports.filter_map(|port| self.network.ports[port].queues());
        queues.into_iter().any(|queues| self.network.queues[queues].watchdog.is_some())
    }
}
