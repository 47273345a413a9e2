//! Buffers that all inputs and outputs of a node share: who is admitted, and who is paused.

use super::Network;
use crate::engine::schedule::Schedule;
use crate::frame::{Frame, flag};
use crate::ids::{InputId, NodeId, PortId, SharedBufferId};
use crate::shared_buffer::{Alpha, QueueLimit};
use qcnlab_units::Instant;

impl Network {
    /// Admits a frame that arrived over `port` to the shared buffer of its node; returns false when there is no room for it.
    pub(super) fn admit_shared(
        &mut self,
        now: Instant,
        port: PortId,
        input: InputId,
        shared: SharedBufferId,
        frame: &Frame,
        schedule: &mut Schedule,
    ) -> bool {
        let (class, size) = (frame.link_class(), frame.octets());
        let buffer = &self.inputs[input];
        let (slot, (group, lossless)) = (buffer.slot, buffer.group(class));
        let limit_of = |network: &Network| if lossless { None } else { network.queue_limit(shared, frame) };
        let limit = limit_of(self);
        if self.shared_buffers[shared].admit_safe(slot, group, size, limit) {
            self.inputs[input].count(class, size);
            return true;
        }
        self.update_outputs(now, self.links[port].to);
        let limit = limit_of(self);
        let memory = &mut self.shared_buffers[shared];
        if !memory.admit(slot, group, size, lossless, limit) {
            self.inputs[input].count_dropped(size);
            return false;
        }
        let xoff = memory.xoff_due(slot, group);
        let buffer = &mut self.inputs[input];
        buffer.count(class, size);
        if xoff && buffer.pause.as_ref().is_some_and(|pause| lossless && !pause.sender.is_xoff(group)) {
            self.send_xoff(now, input, group, None, schedule);
        }
        true
    }

    /// Octets that can be admitted to the shared buffer of a node, whatever leaves, before anything is due.
    pub(in crate::engine) fn shared_room(&self, node: NodeId) -> u64 {
        let node = &self.nodes[node];
        let Some(shared) = node.shared else { return 0 };
        let queues = node.outputs.iter().filter_map(|output| {
            Some(QueueLimit { alpha: self.queue_alpha(*output)?, len: self.ports[*output].queue_len().get() })
        });
        self.shared_buffers[shared].room(queues)
    }

    fn queue_alpha(&self, output: PortId) -> Option<Alpha> {
        if self.queue_alphas.is_empty() { None } else { self.queue_alphas[output] }
    }

    /// The threshold of the queue that a frame at a node is for, if it has one.
    fn queue_limit(&self, shared: SharedBufferId, frame: &Frame) -> Option<QueueLimit> {
        if self.queue_alphas.is_empty() {
            return None;
        }
        let output = self.next_port(frame)?;
        let alpha = self.queue_alpha(output)?;
        let memory = &self.shared_buffers[shared];
        let len = match self.ports[output].queues_in_use() {
            Some(queues) => {
                let queue = self.queues[queues].of_class(frame.class());
                memory.take(queue.octets, queue.frames.since(queue.frames.head()))
            }
            None => memory.take(self.ports[output].queue_len().get(), self.ports[output].waiting()),
        };
        Some(QueueLimit { alpha, len })
    }

    /// The port that a frame which has just arrived at a node leaves by; `None` if it ends there.
    fn next_port(&self, frame: &Frame) -> Option<PortId> {
        let (ports, hop) = (self.routes.ports_of(frame.path()), usize::from(frame.hop()));
        if frame.is(flag::REVERSE) {
            // Its hop counts from the port it meets next, plus one, and that is the one it has just crossed.
            return ports.get(hop.checked_sub(2)?).map(|port| self.reverse_of(*port));
        }
        ports.get(hop + 1).copied()
    }
}
