//! Ports that keep flows apart: frames join the queue of their flow, and queues one hop upstream stop and go on.
//!
//! A message to stop or to go on is a pause frame that names one queue in place of classes: it goes before all frames and
//! crosses one link. At a switch it stops a queue of the port there; at a host, which has a queue for each flow, a flow.

use super::Network;
use crate::engine::schedule::Schedule;
use crate::frame::Frame;
use crate::ids::{FlowId, Id, PortId, QueuesId};
use qcnlab_units::Instant;

/// Whom a message to stop a queue reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Stopped {
    /// A queue of a switch, which has done what it says.
    Queue,
    /// A flow of a host.
    Flow(FlowId),
}

impl Network {
    /// Queues a data frame at a port with queues for the flows of its class; returns whether there is room.
    #[cold]
    pub(super) fn enqueue_by_flow(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> bool {
        let of_port = &mut self.queues[queues];
        if !self.ports[id].admit(of_port.of_class(frame.class()).octets, frame.octets()) {
            of_port.of_class_mut(frame.class()).dropped_frames += 1;
            return false;
        }
        let (came, rate) = (self.came_over(&frame), self.ports[id].rate());
        let of_port = &mut self.queues[queues];
        let input = of_port.counts(&frame).then(|| self.inputs[self.routes.input_of(&frame)].slot);
        of_port.of_class_mut(frame.class()).count_frame_in(&frame, input);
        let told = of_port.flows.as_mut().and_then(|flows| flows.enqueue(now, frame, came, rate));
        if let Some(told) = told {
            self.tell_upstream(now, id, told, schedule);
        }
        if self.queues[queues].is_idle() {
            self.start_transmission(now, queues, schedule);
        }
        true
    }

    /// A message to a queue of a port has arrived: returns whom it reaches.
    pub(in crate::engine) fn take_queue_pause(
        &mut self,
        now: Instant,
        port: PortId,
        queue: u32,
        stops: bool,
        schedule: &mut Schedule,
    ) -> Stopped {
        let of_switch = self.ports[port].queues_in_use().filter(|queues| self.queues[*queues].flows.is_some());
        let Some(id) = of_switch else { return Stopped::Flow(FlowId::new(queue)) };
        let queues = &mut self.queues[id];
        if let Some(flows) = &mut queues.flows {
            flows.pause(queue as u16, stops);
        }
        if queues.is_idle() {
            self.start_transmission(now, id, schedule);
        }
        Stopped::Queue
    }
}
