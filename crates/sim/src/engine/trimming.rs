//! Packets that are cut to their heads where a queue, or the memory of its node, has no room for them, so that the
//! receiver hears of the loss.
//!
//! The packet counts as dropped. Its head travels on as a control frame, in a class of its own, which may overtake what
//! waits and is not counted in the memory of the node that cut it; the receiver answers it at once.

use super::Engine;
use super::recording::Counted;
use super::signalling::{ControlFrame, Leg};
use crate::frame::{Frame, flag};
use crate::ids::{PortId, QueuesId};
use crate::source::Source;
use qcnlab_units::Instant;

impl Engine {
    /// Cuts a packet that arrived over `port`, and that the memory of its node has not taken, as [`trim`](Engine::trim)
    /// does; returns whether.
    #[cold]
    pub(super) fn trim_at_input(&mut self, now: Instant, port: PortId, frame: &Frame) -> bool {
        let mut onward = *frame;
        onward.advance_hop();
        let output = self.network.routes.ports_of(frame.path()).get(usize::from(onward.hop())).copied();
        let Some(queues) = output.and_then(|output| self.network.ports[output].queues()) else { return false };
        self.trim(now, port, queues, &onward)
    }

    /// Cuts a packet that a queue has not taken, if its node does that and the packet is one of RoCE; returns whether.
    /// Its loss is written down at `port`.
    #[cold]
    pub(super) fn trim(&mut self, now: Instant, port: PortId, queues: QueuesId, frame: &Frame) -> bool {
        let queues = &self.network.queues[queues];
        let Some(plan) = queues.trim.filter(|_| !queues.drops(frame.class())) else { return false };
        let flow = self.network.flow_of(frame);
        if !frame.is(flag::SEGMENT) || !matches!(self.senders.flows[flow].source, Source::Roce(_)) {
            return false;
        }
        if frame.is(flag::BUFFERED) {
            self.free(now, frame);
        }
        self.recording.on_drop(now, port, flow, frame.octets());
        self.recording.count(Counted::PacketTrimmed);
        let leg = Leg { size: plan.size, class: plan.class, path: frame.path(), hop: frame.hop(), direction: 0 };
        let head = self.signalling.frame(ControlFrame::Head(frame.packet()), leg);
        self.network.count_control_sent(&head);
        self.forward_head(now, head);
        true
    }

    /// The head of a packet comes to the next port of its path.
    pub(super) fn forward_head(&mut self, now: Instant, head: Frame) {
        let port = self.network.routes.ports_of(head.path())[usize::from(head.hop())];
        if !self.enqueue(now, port, head) {
            self.drop_control(now, head);
        }
    }
}
