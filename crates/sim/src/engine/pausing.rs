//! PAUSE and PFC: when a node pauses the links into it, and which classes a pause frame stops.

use super::Engine;
use super::schedule::Event;
use crate::ids::{InputId, PortId, QueuesId};
use crate::priority_queues::PauseFrame;
use qcnlab_units::Instant;

impl Engine {
    /// Sends XOFF for a priority group of an input; `because` is the output queue that led to it, if that is known.
    pub(super) fn send_xoff(&mut self, now: Instant, input: InputId, group: u8, because: Option<PortId>) {
        let because = because.unwrap_or_else(|| self.fullest_output(now, input));
        let buffer = &mut self.network.inputs[input];
        let node = self.network.links[buffer.port].to;
        let Some(pause) = &mut buffer.pause else { return };
        let Some(queues) = self.network.ports[pause.reverse].queues() else { return };
        let sender = &mut pause.sender;
        let lasts = self.network.queues[queues].quanta_ps(sender.quanta());
        pause.because[usize::from(group)] = Some(because);
        let was_xoff = sender.is_xoff(group);
        sender.on_xoff(now, group, lasts);
        if sender.plan.rule.resumes() {
            self.network.nodes[node].paused_groups += u32::from(!was_xoff);
            self.schedule.set(Event::PauseRefresh(input), Instant::from_ps(sender.next_refresh()));
        }
        let (classes, quanta, endless) = (sender.classes(group), sender.quanta(), sender.is_endless());
        let frame = PauseFrame { classes, quanta, endless, storm: false, because };
        let reverse = pause.reverse;
        self.send_pause_frame(now, reverse, frame);
        if self.network.nodes[node].paused_groups == 1 {
            for output in 0..self.network.nodes[node].outputs.len() {
                self.use_priority_queues(now, self.network.nodes[node].outputs[output]);
            }
        }
    }

    /// Sends XON for a priority group of an input.
    pub(super) fn send_xon(&mut self, now: Instant, input: InputId, group: u8) {
        let buffer = &mut self.network.inputs[input];
        let node = self.network.links[buffer.port].to;
        let Some(pause) = &mut buffer.pause else { return };
        let Some(because) = pause.because[usize::from(group)] else { return };
        self.network.nodes[node].paused_groups -= u32::from(pause.sender.is_xoff(group));
        pause.sender.on_xon(now, group);
        let classes = pause.sender.classes(group);
        let frame = PauseFrame { classes, quanta: 0, endless: false, storm: false, because };
        let reverse = pause.reverse;
        self.send_pause_frame(now, reverse, frame);
    }

    /// Sends XOFF again for the groups of an input whose pause is half over.
    pub(super) fn refresh_pause(&mut self, now: Instant, input: InputId) {
        for group in 0..8 {
            let Some(pause) = &self.network.inputs[input].pause else { return };
            if pause.sender.refresh_due(now, group) {
                let because = pause.because[usize::from(group)];
                self.send_xoff(now, input, group, because);
            }
        }
        if let Some(pause) = &self.network.inputs[input].pause {
            self.schedule.set(Event::PauseRefresh(input), Instant::from_ps(pause.sender.next_refresh()));
        }
    }

    /// Queues a pause frame at a port, before all data.
    pub(super) fn send_pause_frame(&mut self, now: Instant, port: PortId, frame: PauseFrame) {
        self.use_priority_queues(now, port);
        let Some(id) = self.network.ports[port].queues() else { return };
        let queues = &mut self.network.queues[id];
        // A frame for the same classes that still waits is out of date.
        queues.pause_frames.retain(|waiting| waiting.classes != frame.classes);
        queues.pause_frames.push_back(frame);
        if queues.is_idle() {
            self.start_transmission(now, id);
        }
    }

    /// Pauses or resumes the classes that a pause frame addresses, and records the pauses that end.
    pub(super) fn pause_classes(&mut self, now: Instant, id: QueuesId, frame: PauseFrame) {
        let queues = &mut self.network.queues[id];
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
                self.recording.on_pause(queues.port, class, ended);
            }
        }
    }

    /// The output of a node that holds most octets of one input; of equals the one that comes first at this instant.
    fn fullest_output(&self, now: Instant, input: InputId) -> PortId {
        let network = &self.network;
        let ingress = network.inputs[input].port;
        let outputs = &network.nodes[network.links[ingress].to].outputs;
        let held: Vec<(PortId, u64)> =
            outputs.iter().map(|output| (*output, network.queued_from(*output, input, u8::MAX))).collect();
        let most = held.iter().map(|(_, octets)| *octets).max();
        let fullest = held.iter().filter(|(_, octets)| Some(*octets) == most).map(|(output, _)| *output);
        self.schedule.first_of(fullest, now).unwrap_or(ingress)
    }
}
