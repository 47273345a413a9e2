//! What tests look at, and what they falsify.

use super::{Counting, Network};
use crate::engine::schedule::Schedule;
use crate::ids::{InputId, NodeId, PortId, QueuesId, SharedBufferId};
use crate::input_buffer::InputBuffer;
use crate::port::Port;
use crate::priority_queues::{PauseFrame, PriorityQueues};
use crate::shared_buffer::SharedBuffer;
use qcnlab_units::Instant;

impl Network {
    pub(in crate::engine) fn port(&self, id: PortId) -> &Port {
        &self.ports[id]
    }

    pub(in crate::engine) fn port_mut(&mut self, id: PortId) -> &mut Port {
        &mut self.ports[id]
    }

    pub(in crate::engine) fn queues(&self, id: QueuesId) -> &PriorityQueues {
        &self.queues[id]
    }

    pub(in crate::engine) fn input_mut(&mut self, id: InputId) -> &mut InputBuffer {
        &mut self.inputs[id]
    }

    pub(in crate::engine) fn shared_buffer_mut(&mut self, id: SharedBufferId) -> &mut SharedBuffer {
        &mut self.shared_buffers[id]
    }

    /// Whether a port computes departures while nothing is paused.
    pub(in crate::engine) fn computes(&self, node: NodeId, port: PortId) -> bool {
        self.nodes[node].computing.contains(&port)
    }

    /// Priority groups of a node's inputs that were sent XOFF.
    pub(in crate::engine) fn stopped_groups(&self, node: NodeId) -> u32 {
        self.nodes[node].paused_groups
    }

    /// Whether a node counts each frame in and out.
    pub(in crate::engine) fn counts_each_frame(&self, node: NodeId) -> bool {
        self.nodes[node].counting == Counting::EachFrame
    }

    pub(in crate::engine) fn count_control_sent_by(&mut self, node: NodeId, octets: u64) {
        self.nodes[node].control_sent += octets;
    }

    pub(in crate::engine) fn sends_pause(&mut self, now: Instant, port: PortId, pause: PauseFrame, to: &mut Schedule) {
        self.send_pause_frame(now, port, pause, to);
    }

    pub(in crate::engine) fn changes_to_queues(&mut self, now: Instant, port: PortId, schedule: &mut Schedule) {
        self.use_priority_queues(now, port, schedule);
    }

    pub(in crate::engine) fn sends_xoff(&mut self, now: Instant, input: InputId, schedule: &mut Schedule) {
        self.send_xoff(now, input, 0, None, schedule);
    }

    pub(in crate::engine) fn sends_xon(&mut self, now: Instant, input: InputId, schedule: &mut Schedule) {
        self.send_xon(now, input, 0, schedule);
    }
}
