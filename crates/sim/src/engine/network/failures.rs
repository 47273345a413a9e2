//! Links that fail and come back.
//!
//! A port that may fail always has its priority queues, so that nothing about it is computed ahead. While it is down its
//! transmitter is taken, and its queues have no room: what comes to it is dropped there. Frames on the link, in
//! transmission and in its queues are lost with it, and so are pauses: a link that comes back is not paused, and the far
//! end sends XOFF anew where that still holds. A host holds back its own frames until its link is back.

use super::Network;
use crate::engine::effects::{Counted, Effect};
use crate::engine::schedule::{Event, Schedule};
use crate::ids::{PortId, QueuesId};
use crate::priority_queues::{Addressed, PauseFrame, Transmitting};
use qcnlab_units::Instant;

impl Network {
    /// Both directions of a link fail.
    pub(in crate::engine) fn fail_link(&mut self, now: Instant, id: PortId, schedule: &mut Schedule) {
        self.fail_port(now, id, schedule);
        if let Some(reverse) = self.links[id].reverse {
            self.fail_port(now, reverse, schedule);
        }
    }

    /// Both directions of a link come back.
    pub(in crate::engine) fn repair_link(&mut self, now: Instant, id: PortId, schedule: &mut Schedule) {
        let both: Vec<PortId> = [Some(id), self.links[id].reverse].into_iter().flatten().collect();
        for port in &both {
            let queues = self.queues_of_failing(*port);
            self.ports[*port].come_up();
            let queues = &mut self.queues[queues];
            queues.pause_frames.clear();
            queues.transmitting = Transmitting::Nothing;
        }
        for port in both {
            self.send_xoff_anew(now, port, schedule);
            self.stop_queues_anew(now, port, schedule);
            let queues = self.queues_of_failing(port);
            if self.queues[queues].is_idle() {
                self.start_transmission(now, queues, schedule);
            }
        }
    }

    fn queues_of_failing(&self, id: PortId) -> QueuesId {
        self.ports[id].queues_in_use().expect("a port that may fail has priority queues")
    }

    fn fail_port(&mut self, now: Instant, id: PortId, schedule: &mut Schedule) {
        let queues_id = self.queues_of_failing(id);
        schedule.cancel(Event::Arrival(id));
        schedule.cancel(Event::TransmissionEnd(queues_id));
        schedule.cancel(Event::PauseEffect(queues_id));
        self.end_pauses(now, queues_id);
        self.lose_isolation_messages(queues_id);
        let queues = &mut self.queues[queues_id];
        let in_transmission = std::mem::replace(&mut queues.transmitting, Transmitting::Down);
        queues.pause_frames.clear();
        queues.pauses_in_flight.clear();
        self.ports[id].go_down();
        let lost = |frame| Effect::Lost { port: id, frame, because: Some(Counted::LinkDrop) };
        while let Some(frame) = self.ports[id].lose_on_the_wire() {
            self.effects.push_back(lost(frame));
        }
        for position in 0..self.queues[queues_id].queues.len() {
            let mut leaves = matches!(in_transmission, Transmitting::Head(head) if usize::from(head) == position);
            while let Some(frame) = self.queues[queues_id].take_waiting(position) {
                if !std::mem::take(&mut leaves) {
                    self.lose_isolated(now, queues_id, &frame);
                }
                self.lose_waiting(now, id, queues_id, position, &frame, schedule);
                self.effects.push_back(lost(frame));
            }
            let queue = &self.queues[queues_id].queues[position];
            if let Some(cp) = queue.cp {
                self.cps[cp].on_departure(now, Default::default());
            }
        }
        self.lose_kept_apart(now, id, queues_id, schedule);
    }

    /// Ends the pauses of a port's classes.
    fn end_pauses(&mut self, now: Instant, id: QueuesId) {
        let queues = &self.queues[id];
        let input = self.ports[queues.port].input();
        let pause = input.and_then(|input| self.inputs[input].pause.as_ref());
        let groups: Vec<u8> = match pause {
            Some(pause) if pause.sender.classes(0) == u8::MAX => vec![u8::MAX],
            _ => queues.queues.iter().map(|queue| 1 << queue.class).collect(),
        };
        let because = queues.port;
        for classes in groups {
            let frame =
                PauseFrame { classes, quanta: 0, endless: false, storm: false, because, about: Addressed::Classes };
            self.pause_classes(now, id, frame);
        }
    }

    /// The node behind a link that came back stops it again, as far as it had stopped it.
    fn send_xoff_anew(&mut self, now: Instant, port: PortId, schedule: &mut Schedule) {
        let Some(input) = self.ports[port].input() else { return };
        for group in 0..8 {
            let Some(pause) = &self.inputs[input].pause else { return };
            if pause.sender.is_xoff(group) {
                let because = pause.because[usize::from(group)];
                self.send_xoff(now, input, group, because, schedule);
            }
        }
    }
}
