//! Frames that input buffers admit, and XOFF that follows.

use super::{Counting, Network};
use crate::engine::schedule::Schedule;
use crate::frame::{Frame, flag};
use crate::ids::{InputId, PortId};
use qcnlab_units::Instant;

impl Network {
    /// Admits a frame that arrived over `port` to the buffer of its input; returns false when it is dropped.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now: Instant,
        port: PortId,
        input: InputId,
        frame: &mut Frame,
        schedule: &mut Schedule,
    ) -> bool {
        let admitted =
            self.ports[port].use_allowance(frame.octets()) || self.admit_counted(now, port, input, frame, schedule);
        if admitted {
            frame.set(flag::BUFFERED);
        }
        admitted
    }

    fn admit_counted(
        &mut self,
        now: Instant,
        port: PortId,
        input: InputId,
        frame: &Frame,
        schedule: &mut Schedule,
    ) -> bool {
        let node = self.links[port].to;
        if self.nodes[node].counting == Counting::ByAllowance {
            self.recount(now, node);
            let feeding = &mut self.ports[port];
            if self.inputs[input].is_ample(feeding.allowance()) && feeding.use_allowance(frame.octets()) {
                return true;
            }
            self.start_counting(node);
        }
        if let Some(shared) = self.inputs[input].shared {
            return self.admit_shared(now, port, input, shared, frame, schedule);
        }
        if self.inputs[input].admit_safe(frame.link_class(), frame.octets()) {
            return true;
        }
        self.update_outputs(now, node);
        let buffer = &mut self.inputs[input];
        if !buffer.admit(frame.link_class(), frame.octets()) {
            return false;
        }
        if let Some(group) = buffer.xoff_due(frame.link_class()) {
            self.send_xoff(now, input, group, None, schedule);
        }
        true
    }
}
