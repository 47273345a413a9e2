//! Watchdogs at work, and hosts that send pauses without end.

use super::Network;
use crate::engine::effects::{Counted, Effect};
use crate::engine::schedule::Schedule;
use crate::ids::{NodeId, PortId, QueuesId};
use crate::priority_queues::{Addressed, PauseFrame, Transmitting};
use crate::watchdog::{Finding, WatchdogAction};
use qcnlab_units::{Instant, Span};

impl Network {
    /// A node looks at its queues.
    pub(in crate::engine) fn poll_watchdog(&mut self, now: Instant, node: NodeId, schedule: &mut Schedule) {
        for output in 0..self.nodes[node].outputs.len() {
            let output = self.nodes[node].outputs[output];
            let Some(queues) = self.ports[output].queues() else { continue };
            for position in 0..self.queues[queues].queues.len() {
                self.check_queue(now, output, queues, position, schedule);
            }
        }
    }

    fn check_queue(&mut self, now: Instant, port: PortId, id: QueuesId, position: usize, schedule: &mut Schedule) {
        let queues = &mut self.queues[id];
        let Some(watchdog) = &mut queues.watchdog else { return };
        let queue = &queues.queues[position];
        let in_force = queue.pause.last(now.ps()).filter(|_| queue.pause.until() > now.ps());
        let paused = in_force.map(|(since, _, _)| (since, queue.pause.until()));
        let sends = queues.transmitting == Transmitting::Head(position as u8);
        let action = watchdog.action();
        match watchdog.check(now, position, paused, !queue.frames.is_empty() && !sends) {
            Finding::Nothing => {}
            Finding::StormEnds => self.effects.push_back(Effect::Count(Counted::StormEnded)),
            Finding::StormBegins => {
                self.effects.push_back(Effect::Count(Counted::StormDetected));
                match action {
                    WatchdogAction::Drop => {
                        while let Some(frame) = self.queues[id].take_waiting(position) {
                            self.lose_waiting(now, port, id, position, &frame, schedule);
                            self.effects.push_back(Effect::Lost { port, frame, because: Some(Counted::WatchdogDrop) });
                        }
                    }
                    WatchdogAction::Forward => self.end_pause(now, id, position, schedule),
                }
            }
        }
    }

    /// Ends the pause of a queue, which goes on.
    fn end_pause(&mut self, now: Instant, id: QueuesId, position: usize, schedule: &mut Schedule) {
        let queues = &mut self.queues[id];
        let (port, queue) = (queues.port, &mut queues.queues[position]);
        let class = Some(queue.class);
        if let Some(ended) = queue.pause.apply(now.ps(), now.ps(), true, port) {
            self.effects.push_back(Effect::PauseEnds { port, class, ended });
        }
        if self.queues[id].is_idle() {
            self.start_transmission(now, id, schedule);
        }
    }

    /// A host pauses classes of its link, or resumes them at `until`; returns when it does so again.
    pub(in crate::engine) fn storm(
        &mut self,
        now: Instant,
        port: PortId,
        classes: u8,
        until: Instant,
        schedule: &mut Schedule,
    ) -> Option<Instant> {
        let id = self.ports[port].queues()?;
        let goes_on = now < until;
        let quanta = if goes_on { u16::MAX } else { 0 };
        let half = Span::from_ps(self.queues[id].quanta_ps(quanta) / 2);
        let frame =
            PauseFrame { classes, quanta, endless: false, storm: true, because: port, about: Addressed::Classes };
        self.send_pause_frame(now, port, frame, schedule);
        goes_on.then(|| (now + half).min(until))
    }
}
