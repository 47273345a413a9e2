//! Links that fail and come back, and flows whose frames take other paths then.
//!
//! A port that may fail always has its priority queues, so that nothing about it is computed ahead. While it is down its
//! transmitter is taken, and its queues have no room: what comes to it is dropped there. Frames on the link, in
//! transmission and in its queues are lost with it, and so are pauses: a link that comes back is not paused, and the far
//! end sends XOFF anew where that still holds. A host holds back its own frames until its link is back.

use super::Engine;
use super::recording::Counted;
use super::schedule::Event;
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, PathId, PortId, QueuesId};
use crate::port::Mode;
use crate::priority_queues::Transmitting;
use qcnlab_units::Instant;

impl Engine {
    /// Both directions of a link fail.
    pub(super) fn fail_link(&mut self, now: Instant, id: PortId) {
        self.fail_port(now, id);
        if let Some(reverse) = self.network.links[id].reverse {
            self.fail_port(now, reverse);
        }
    }

    /// Both directions of a link come back.
    pub(super) fn repair_link(&mut self, now: Instant, id: PortId) {
        let both: Vec<PortId> = [Some(id), self.network.links[id].reverse].into_iter().flatten().collect();
        for port in &both {
            let queues = self.queues_of_failing(*port);
            self.network.ports[*port].come_up();
            let queues = &mut self.network.queues[queues];
            queues.pause_frames.clear();
            queues.transmitting = Transmitting::Nothing;
        }
        for port in both {
            self.send_xoff_anew(now, port);
            let queues = self.queues_of_failing(port);
            if self.network.queues[queues].is_idle() {
                self.start_transmission(now, queues);
            }
        }
    }

    /// A flow's frames take other paths from now on: so many, from the one with this number on.
    pub(super) fn reroute(&mut self, now: Instant, flow: FlowId, first: PathId, paths: u32) {
        if self.senders.flows[flow].lazy {
            self.send_lazily(now, flow);
        }
        let sender = &mut self.senders.flows[flow];
        (sender.first_path, sender.paths) = (first, paths);
    }

    fn queues_of_failing(&self, id: PortId) -> QueuesId {
        match self.network.ports[id].mode() {
            Mode::Queues(queues) => queues,
            _ => unreachable!("a port that may fail has priority queues"),
        }
    }

    fn fail_port(&mut self, now: Instant, id: PortId) {
        let queues_id = self.queues_of_failing(id);
        self.schedule.cancel(Event::Arrival(id));
        self.schedule.cancel(Event::TransmissionEnd(queues_id));
        self.schedule.cancel(Event::PauseEffect(queues_id));
        self.end_pauses(now, queues_id);
        let queues = &mut self.network.queues[queues_id];
        queues.transmitting = Transmitting::Down;
        queues.pause_frames.clear();
        queues.pauses_in_flight.clear();
        self.network.ports[id].go_down();
        while let Some(frame) = self.network.ports[id].lose_on_the_wire() {
            self.count_link_drop(&frame);
            self.lose(now, id, &frame);
        }
        for position in 0..self.network.queues[queues_id].queues.len() {
            while let Some(frame) = self.network.queues[queues_id].take_waiting(position) {
                self.count_link_drop(&frame);
                self.lose_waiting(now, id, queues_id, position, frame);
            }
            let queue = &self.network.queues[queues_id].queues[position];
            if let Some(cp) = queue.cp {
                self.network.cps[cp].on_departure(now, Default::default());
            }
        }
    }

    /// A frame that waits at a port is lost.
    pub(super) fn lose_waiting(&mut self, now: Instant, id: PortId, queues: QueuesId, position: usize, frame: Frame) {
        if frame.is(flag::BUFFERED) {
            let input = self.network.routes.input_of(&frame);
            let input = self.network.inputs[input].position;
            let queues = &mut self.network.queues[queues];
            if queues.counts_inputs {
                queues.queues[position].count_out(input, frame.octets());
            }
            self.free(now, &frame);
        }
        self.network.ports[id].lose_waiting(frame.octets());
        self.lose(now, id, &frame);
    }

    fn count_link_drop(&mut self, frame: &Frame) {
        if !frame.is(flag::NOT_DATA) {
            self.recording.count(Counted::LinkDrop);
        }
    }

    fn lose(&mut self, now: Instant, id: PortId, frame: &Frame) {
        if frame.is(flag::NOT_DATA) {
            self.lose_control(*frame);
        } else {
            self.lose_data(now, id, frame);
        }
    }

    /// Ends the pauses of a port's classes, and records them.
    fn end_pauses(&mut self, now: Instant, id: QueuesId) {
        let queues = &self.network.queues[id];
        let input = self.network.ports[queues.port].input();
        let pause = input.and_then(|input| self.network.inputs[input].pause.as_ref());
        let groups: Vec<u8> = match pause {
            Some(pause) if pause.sender.classes(0) == u8::MAX => vec![u8::MAX],
            _ => queues.queues.iter().map(|queue| 1 << queue.class).collect(),
        };
        let because = queues.port;
        for classes in groups {
            self.pause_classes(
                now,
                id,
                crate::priority_queues::PauseFrame { classes, quanta: 0, endless: false, storm: false, because },
            );
        }
    }

    /// The node behind a link that came back stops it again, as far as it had stopped it.
    fn send_xoff_anew(&mut self, now: Instant, port: PortId) {
        let Some(input) = self.network.ports[port].input() else { return };
        for group in 0..8 {
            let Some(pause) = &self.network.inputs[input].pause else { return };
            if pause.sender.is_xoff(group) {
                let because = pause.because[usize::from(group)];
                self.send_xoff(now, input, group, because);
            }
        }
    }
}
