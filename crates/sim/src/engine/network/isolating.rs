//! Ports that isolate congesting flows: which of two queues a frame joins and which goes next, and the messages to neighbours.
//!
//! A congestion isolation message goes before all frames, as a pause frame does, and crosses one link.

use super::Network;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, PortId, QueuesId};
use crate::priority_queues::{Addressed, PauseFrame, Transmitting};
use qcnlab_units::Instant;

impl Network {
    /// A data frame under control has come to a port: sets its class to that of the queue that it joins there.
    #[cold]
    pub(super) fn give_isolated_class(&mut self, now: Instant, queues: QueuesId, frame: &mut Frame) {
        let flow = self.flow_of(frame);
        let Some(isolation) = &mut self.queues[queues].isolation else { return };
        if frame.is(flag::CONTROLLED) && isolation.classes.queue_of(frame.class()).is_some() {
            frame.enter_with_class(isolation.class_for(now, flow));
        }
    }

    /// A port that isolates flows took a frame under control.
    pub(super) fn isolated_frame_queued(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) {
        let (flow, link) = (self.flow_of(&frame), self.ingress_port(&frame));
        let from_monitored = self.monitored_class_of(link) == Some(frame.link_class());
        let of_port = &mut self.queues[queues];
        let of_class = &of_port.queues;
        let octets = |class| of_class.iter().find(|queue| queue.class == class).map_or(0, |queue| queue.octets);
        let told = of_port
            .isolation
            .as_mut()
            .and_then(|isolation| isolation.enqueued(now, flow, frame.class(), from_monitored, octets));
        if let Some(octets) = told {
            self.tell_neighbour(now, id, link, flow, octets, schedule);
        }
    }

    /// The class of the monitored queue of a port that isolates flows.
    fn monitored_class_of(&self, port: PortId) -> Option<u8> {
        let queues = &self.queues[self.ports[port].queues_in_use()?];
        let classes = queues.isolation.as_ref()?.classes;
        classes.isolates.then_some(classes.monitored)
    }

    /// Sends a message about a flow over the other direction of `link`; `because` is the port that found it.
    fn tell_neighbour(
        &mut self,
        now: Instant,
        because: PortId,
        link: PortId,
        flow: FlowId,
        octets: u16,
        schedule: &mut Schedule,
    ) {
        let Some(id) = self.ports[self.reverse_of(link)].queues_in_use() else { return };
        let about = Addressed::Isolation { flow, octets };
        let message = PauseFrame { classes: 0, quanta: 0, endless: false, storm: false, because, about };
        let queues = &mut self.queues[id];
        queues.queue_pause_frame(message);
        if queues.is_idle() {
            // It starts by an event of this instant: this may be the start of a transmission at another port.
            schedule.set(Event::TransmissionEnd(id), now);
        }
    }

    /// A message about a flow has arrived at the node from which `port` leads to who sent it.
    pub(in crate::engine) fn take_isolation_message(&mut self, now: Instant, port: PortId, flow: FlowId) {
        let Some(id) = self.ports[port].queues_in_use() else { return };
        let queues = &mut self.queues[id];
        queues.isolation_messages_heard += 1;
        if let Some(isolation) = &mut queues.isolation {
            isolation.on_message(now, flow);
        }
    }

    /// How many messages about flows are being transmitted, or on a link.
    pub(in crate::engine) fn isolation_messages_under_way(&self) -> u64 {
        let is_message = |frame: &PauseFrame| matches!(frame.about, Addressed::Isolation { .. });
        let under_way = self.queues.iter().map(|queues| {
            let transmitted = matches!(&queues.transmitting, Transmitting::Pause(frame) if is_message(frame));
            let on_link = queues.pauses_in_flight.iter().filter(|(_, frame)| is_message(frame)).count();
            u64::from(transmitted) + on_link as u64
        });
        under_way.sum()
    }

    /// The position of the queue whose head waits for earlier frames of its flow in another queue of the port, if one does.
    pub(super) fn held_for_order(&self, id: QueuesId) -> Option<usize> {
        let queues = &self.queues[id];
        let isolation = queues.isolation.as_ref()?;
        let position = queues.queues.iter().position(|queue| queue.class == isolation.classes.congesting)?;
        let frames = &queues.queues[position].frames;
        if frames.is_empty() {
            return None;
        }
        let head = frames.at(frames.head());
        (head.is(flag::CONTROLLED) && isolation.holds(self.flow_of(head), head.class())).then_some(position)
    }

    /// The frame at the head of the queue at a position begins its transmission.
    pub(super) fn isolated_frame_leaves(&mut self, now: Instant, id: QueuesId, position: usize) {
        let queues = &self.queues[id];
        if queues.isolation.is_none() {
            return;
        }
        let frames = &queues.queues[position].frames;
        let head = *frames.at(frames.head());
        let flow = self.flow_of(&head);
        if let Some(isolation) = &mut self.queues[id].isolation
            && head.is(flag::CONTROLLED)
            && !head.is(flag::NOT_DATA)
        {
            isolation.dequeued(now, flow, head.class());
        }
    }
}
