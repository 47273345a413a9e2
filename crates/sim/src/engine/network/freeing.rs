//! Memory that frames give back when they leave their node or are dropped there, and the XON that may follow.

use super::{Counting, Network};
use crate::engine::schedule::Schedule;
use crate::frame::{Frame, flag};
use crate::ids::{InputId, SharedBufferId};
use qcnlab_units::Instant;

impl Network {
    /// Frees what memory a frame takes at its node, which it has left or where it was dropped.
    #[inline(always)]
    pub(in crate::engine) fn free(&mut self, now: Instant, frame: &Frame, schedule: &mut Schedule) {
        if frame.is(flag::BUFFERED) {
            self.free_buffered(now, frame, schedule);
        }
    }

    #[inline(never)]
    fn free_buffered(&mut self, now: Instant, frame: &Frame, schedule: &mut Schedule) {
        self.free_at(now, self.routes.input_of(frame), frame, schedule);
    }

    /// As [`free`](Network::free), of the buffer of `input`, which holds the frame.
    #[inline(always)]
    pub(super) fn free_at(&mut self, now: Instant, input: InputId, frame: &Frame, schedule: &mut Schedule) {
        let node = self.links[self.inputs[input].port].to;
        match self.nodes[node].counting {
            Counting::EachFrame => {}
            Counting::ByAllowance => return,
        }
        let buffer = &mut self.inputs[input];
        if let Some(shared) = buffer.shared {
            return self.free_shared(now, input, shared, frame, schedule);
        }
        buffer.release(frame.link_class(), frame.octets());
        if let Some(group) = buffer.xon_due(frame.link_class()) {
            self.send_xon(now, input, group, schedule);
        }
    }

    /// Frees what a frame that has left its node, or was dropped there, took of the node's shared buffer.
    fn free_shared(
        &mut self,
        now: Instant,
        input: InputId,
        shared: SharedBufferId,
        frame: &Frame,
        schedule: &mut Schedule,
    ) {
        let (class, size) = (frame.link_class(), frame.octets());
        let buffer = &mut self.inputs[input];
        buffer.release(class, size);
        let (group, stopped) = buffer.group(class);
        let waits = stopped && buffer.pause.as_ref().is_some_and(|pause| pause.sender.is_xoff(group));
        let memory = &mut self.shared_buffers[shared];
        memory.release(buffer.slot, group, size);
        if waits && memory.xon_due(buffer.slot, group) {
            self.send_xon(now, input, group, schedule);
        }
    }
}
