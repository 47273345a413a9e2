//! A link that fails, at ports that keep flows apart or isolate congesting ones.
//!
//! With the frames of such a port the number of each queue's frames goes, and messages that were on the link. A queue that was
//! stopped over the link may send when it is back, and who had stopped it tells it anew as far as that still holds.

use super::Network;
use crate::engine::effects::{Counted, Effect};
use crate::engine::schedule::Schedule;
use crate::flow_queues::Told;
use crate::frame::{Frame, flag};
use crate::ids::{PortId, QueuesId};
use crate::priority_queues::{Addressed, Transmitting};
use qcnlab_units::Instant;

impl Network {
    /// The frames that wait in queues for flows at a port are lost, and none of these queues is stopped any more.
    pub(super) fn lose_kept_apart(&mut self, now: Instant, id: PortId, queues: QueuesId, schedule: &mut Schedule) {
        let Some(mut flows) = self.queues[queues].flows.take() else { return };
        flows.let_all_go();
        while let Some((frame, told)) = flows.lose(now, |frame| self.came_over(frame)) {
            if let Some(told) = told {
                self.tell_upstream(now, id, told, schedule);
            }
            let position = self.queues[queues].lose_elsewhere(&frame);
            self.lose_waiting(now, id, queues, position, &frame, schedule);
            self.effects.push_back(Effect::Lost { port: id, frame, because: Some(Counted::LinkDrop) });
        }
        self.queues[queues].flows = Some(flows);
    }

    /// A link is back: the node behind it stops the queues before it again that it had stopped.
    pub(super) fn stop_queues_anew(&mut self, now: Instant, port: PortId, schedule: &mut Schedule) {
        let node = self.links[port].to;
        for output in 0..self.nodes[node].outputs.len() {
            let output = self.nodes[node].outputs[output];
            let flows = self.ports[output].queues_in_use().and_then(|queues| self.queues[queues].flows.as_ref());
            let stopped = flows.map(|flows| flows.stopped_over(port)).unwrap_or_default();
            for upstream in stopped {
                self.tell_upstream(now, output, Told { upstream, stops: true }, schedule);
            }
        }
    }

    /// A frame that waits at a port is lost.
    pub(super) fn lose_waiting(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        position: usize,
        frame: &Frame,
        schedule: &mut Schedule,
    ) {
        if frame.is(flag::BUFFERED) {
            let input = self.inputs[self.routes.input_of(frame)].slot;
            let queues = &mut self.queues[queues];
            if queues.counts_inputs {
                queues.queues[position].count_out(input, frame.octets());
            }
            self.free(now, frame, schedule);
        }
        self.ports[id].lose_waiting(frame.octets());
    }

    /// A frame that waits at a port is lost with the link behind it. That in transmission has left the queue for what isolates
    /// flows.
    pub(super) fn lose_isolated(&mut self, now: Instant, queues: QueuesId, frame: &Frame) {
        let flow = self.flow_of(frame);
        if let Some(isolation) = &mut self.queues[queues].isolation
            && frame.is(flag::CONTROLLED)
            && !frame.is(flag::NOT_DATA)
        {
            isolation.dequeued(now, flow, frame.class());
        }
    }

    /// Counts the messages about congesting flows that a port transmits, or that are on its link, as lost.
    pub(super) fn lose_isolation_messages(&mut self, queues: QueuesId) {
        let queues = &mut self.queues[queues];
        let is_message = |about: Addressed| matches!(about, Addressed::Isolation { .. });
        let on_link = queues.pauses_in_flight.iter().filter(|(_, frame)| is_message(frame.about)).count() as u64;
        let transmitted = matches!(queues.transmitting, Transmitting::Pause(frame) if is_message(frame.about));
        queues.isolation_messages_lost += on_link + u64::from(transmitted);
    }
}
