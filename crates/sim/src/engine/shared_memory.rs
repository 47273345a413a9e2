//! Buffers that all inputs and outputs of a node share: who is admitted, and who is paused.

use super::Engine;
use crate::frame::{Frame, flag};
use crate::ids::{InputId, PortId, SharedBufferId};
use crate::shared_buffer::QueueLimit;
use qcnlab_units::Instant;

impl Engine {
    /// Admits a frame that arrived over `port` to the shared buffer of its node; returns false when it is dropped.
    pub(super) fn admit_shared(&mut self, now: Instant, port: PortId, shared: SharedBufferId, frame: &Frame) -> bool {
        let Some(input) = self.network.ports[port].input() else { return true };
        let (class, size) = (frame.link_class(), frame.octets());
        let buffer = &self.network.inputs[input];
        let paused = buffer.pause.as_ref().and_then(|pause| pause.sender.group(class));
        let (position, group, lossless) = (buffer.position, paused.unwrap_or(class), paused.is_some());
        let limit = if lossless { None } else { self.queue_limit(frame) };
        let memory = &mut self.network.shared_buffers[shared];
        if !memory.admit(position, group, size, lossless, limit) {
            self.network.inputs[input].count_dropped(size);
            self.lose_at_input(now, port, frame);
            return false;
        }
        let xoff = memory.xoff_due(position, group);
        let buffer = &mut self.network.inputs[input];
        buffer.count(class, size);
        if xoff && buffer.pause.as_ref().is_some_and(|pause| lossless && !pause.sender.is_xoff(group)) {
            self.send_xoff(now, input, group, None);
        }
        true
    }

    /// Frees what a frame that has left its node, or was dropped there, took of the node's shared buffer.
    pub(super) fn free_shared(&mut self, now: Instant, input: InputId, shared: SharedBufferId, frame: &Frame) {
        let (class, size) = (frame.link_class(), frame.octets());
        let buffer = &mut self.network.inputs[input];
        buffer.release(class, size);
        let paused = buffer.pause.as_ref().and_then(|pause| Some((pause, pause.sender.group(class)?)));
        let group = paused.map_or(class, |(_, group)| group);
        let waits = paused.is_some_and(|(pause, group)| pause.sender.is_xoff(group));
        let memory = &mut self.network.shared_buffers[shared];
        memory.release(buffer.position, group, size);
        if waits && memory.xon_due(buffer.position, group) {
            self.send_xon(now, input, group);
        }
    }

    /// The threshold of the queue that a frame at a node is for, if it has one.
    fn queue_limit(&self, frame: &Frame) -> Option<QueueLimit> {
        if self.network.queue_alphas.is_empty() {
            return None;
        }
        let output = self.next_port(frame)?;
        let alpha = self.network.queue_alphas[output]?;
        let len = match self.network.ports[output].queues() {
            Some(queues) => self.network.queues[queues].of_class(frame.class()).octets,
            None => self.network.ports[output].queue_len().get(),
        };
        Some(QueueLimit { alpha, len })
    }

    /// The port that a frame which has just arrived at a node leaves by; `None` if it ends there.
    fn next_port(&self, frame: &Frame) -> Option<PortId> {
        let (ports, hop) = (self.network.routes.ports_of(frame.path()), usize::from(frame.hop()));
        if frame.is(flag::REVERSE) {
            // Its hop counts from the port it meets next, plus one, and that is the one it has just crossed.
            return ports.get(hop.checked_sub(2)?).map(|port| self.network.reverse_of(*port));
        }
        ports.get(hop + 1).copied()
    }
}
