//! PAUSE and PFC: when a node pauses the links into it, and which classes a pause frame stops.

use super::Network;
use crate::engine::effects::Effect;
use crate::engine::schedule::{Event, Schedule};
use crate::ids::{FlowId, InputId, PortId, QueuesId};
use crate::priority_queues::{Addressed, PauseFrame};
use qcnlab_units::Instant;

impl Network {
    /// Sends XOFF for a priority group of an input; `because` is the output queue that led to it, if that is known.
    pub(super) fn send_xoff(
        &mut self,
        now: Instant,
        input: InputId,
        group: u8,
        because: Option<PortId>,
        schedule: &mut Schedule,
    ) {
        let because = because.unwrap_or_else(|| self.fullest_output(now, input, schedule));
        let buffer = &mut self.inputs[input];
        let node = self.links[buffer.port].to;
        let Some(pause) = &mut buffer.pause else { return };
        let Some(queues) = self.ports[pause.reverse].queues() else { return };
        let sender = &mut pause.sender;
        let lasts = self.queues[queues].quanta_ps(sender.quanta());
        pause.because[usize::from(group)] = Some(because);
        let was_xoff = sender.is_xoff(group);
        sender.on_xoff(now, group, lasts);
        if sender.plan.rule.resumes() {
            self.nodes[node].paused_groups += u32::from(!was_xoff);
            schedule.set(Event::PauseRefresh(input), Instant::from_ps(sender.next_refresh()));
        }
        let (classes, quanta, endless) = (sender.classes(group), sender.quanta(), sender.is_endless());
        let frame = PauseFrame { classes, quanta, endless, storm: false, because, about: Addressed::Classes };
        let reverse = pause.reverse;
        self.send_pause_frame(now, reverse, frame, schedule);
        if self.nodes[node].paused_groups == 1 {
            for output in 0..self.nodes[node].outputs.len() {
                self.use_priority_queues(now, self.nodes[node].outputs[output], schedule);
            }
        }
    }

    /// Sends XON for a priority group of an input.
    pub(super) fn send_xon(&mut self, now: Instant, input: InputId, group: u8, schedule: &mut Schedule) {
        let buffer = &mut self.inputs[input];
        let node = self.links[buffer.port].to;
        let Some(pause) = &mut buffer.pause else { return };
        let Some(because) = pause.because[usize::from(group)] else { return };
        self.nodes[node].paused_groups -= u32::from(pause.sender.is_xoff(group));
        pause.sender.on_xon(now, group);
        let classes = pause.sender.classes(group);
        let frame = PauseFrame { classes, quanta: 0, endless: false, storm: false, because, about: Addressed::Classes };
        let reverse = pause.reverse;
        self.send_pause_frame(now, reverse, frame, schedule);
    }

    /// Sends XOFF again for the groups of an input whose pause is half over.
    pub(in crate::engine) fn refresh_pause(&mut self, now: Instant, input: InputId, schedule: &mut Schedule) {
        for group in 0..8 {
            let Some(pause) = &self.inputs[input].pause else { return };
            if pause.sender.refresh_due(now, group) {
                let because = pause.because[usize::from(group)];
                self.send_xoff(now, input, group, because, schedule);
            }
        }
        if let Some(pause) = &self.inputs[input].pause {
            schedule.set(Event::PauseRefresh(input), Instant::from_ps(pause.sender.next_refresh()));
        }
    }

    /// Queues a pause frame at a port, before all data.
    pub(super) fn send_pause_frame(&mut self, now: Instant, port: PortId, frame: PauseFrame, schedule: &mut Schedule) {
        self.use_priority_queues(now, port, schedule);
        let Some(id) = self.ports[port].queues() else { return };
        let queues = &mut self.queues[id];
        queues.queue_pause_frame(frame);
        if queues.is_idle() {
            self.start_transmission(now, id, schedule);
        }
    }

    /// The oldest pause frame that left `sender` takes effect at the other end of the link: returns the port that it pauses.
    pub(in crate::engine) fn pause_arrives(
        &mut self,
        now: Instant,
        sender: QueuesId,
        schedule: &mut Schedule,
    ) -> Option<(PortId, PauseFrame)> {
        let queues = &mut self.queues[sender];
        let (_, frame) = queues.pauses_in_flight.pop_front()?;
        if let Some((next, _)) = queues.pauses_in_flight.front() {
            schedule.set(Event::PauseEffect(sender), Instant::from_ps(*next));
        }
        let sender = queues.port;
        let port = self.reverse_of(sender);
        if frame.about == Addressed::Classes {
            self.use_priority_queues(now, port, schedule);
        }
        Some((port, frame))
    }

    /// A pause frame stops or resumes classes of a port; returns whether it has some that can be stopped.
    pub(in crate::engine) fn take_pause(&mut self, now: Instant, port: PortId, frame: PauseFrame) -> bool {
        let Some(id) = self.ports[port].queues() else { return false };
        self.pause_classes(now, id, frame);
        self.show_pauses(now, id, frame.classes);
        true
    }

    /// Shows the congestion points of some classes of a port, a bit each, whether these are paused now.
    fn show_pauses(&mut self, now: Instant, id: QueuesId, classes: u8) {
        for queue in self.queues[id].queues.iter().filter(|queue| classes & 1 << queue.class != 0) {
            if let Some(cp) = queue.cp {
                self.cps[cp].show_pause(now, queue.pause.until() > now.ps(), || queue.data_frames());
            }
        }
    }

    /// Everybody knows of a pause of a port: the next transmission starts if one may; or the sender that has the link to
    /// itself, which is returned, sends later.
    pub(in crate::engine) fn after_pause(
        &mut self,
        now: Instant,
        port: PortId,
        schedule: &mut Schedule,
    ) -> Option<FlowId> {
        let id = self.ports[port].queues()?;
        let queues = &self.queues[id];
        if let Some(sender) = self.ports[port].sole_sender() {
            self.ports[port].paused_until = queues.queues[0].pause.until();
            return Some(sender);
        }
        if queues.is_idle() {
            self.start_transmission(now, id, schedule);
        }
        None
    }

    /// Pauses or resumes the classes that a pause frame addresses, and tells of the pauses that end.
    pub(super) fn pause_classes(&mut self, now: Instant, id: QueuesId, frame: PauseFrame) {
        let queues = &mut self.queues[id];
        let until = if frame.endless { u64::MAX } else { now.ps() + queues.quanta_ps(frame.quanta) };
        let whole_link = frame.classes == u8::MAX;
        for (position, queue) in queues.queues.iter_mut().enumerate() {
            if frame.classes & 1 << queue.class == 0 {
                continue;
            }
            let ignored = queues
                .watchdog
                .as_mut()
                .is_some_and(|watchdog| watchdog.on_pause(position, if frame.quanta == 0 { now.ps() } else { until }));
            if ignored {
                continue;
            }
            let ended = queue.pause.apply(now.ps(), until, frame.quanta == 0, frame.because);
            // A pause of the whole link is one row.
            if let Some(ended) = ended.filter(|_| position == 0 || !whole_link) {
                let class = if whole_link { None } else { Some(queue.class) };
                self.effects.push_back(Effect::PauseEnds { port: queues.port, class, ended });
            }
        }
    }

    /// The output of a node that holds most octets of one input; of equals the one that comes first at this instant.
    fn fullest_output(&self, now: Instant, input: InputId, schedule: &Schedule) -> PortId {
        let ingress = self.inputs[input].port;
        let outputs = &self.nodes[self.links[ingress].to].outputs;
        let held: Vec<(PortId, u64)> =
            outputs.iter().map(|output| (*output, self.queued_from(*output, input, u8::MAX))).collect();
        let most = held.iter().map(|(_, octets)| *octets).max();
        let fullest = held.iter().filter(|(_, octets)| Some(*octets) == most).map(|(output, _)| *output);
        schedule.first_of(fullest, now).unwrap_or(ingress)
    }
}
