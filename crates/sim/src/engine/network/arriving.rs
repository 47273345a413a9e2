//! A frame comes off a link: the node at the far end admits it, and it goes on or is there.

use super::Network;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::{FlowId, PortId};
use crate::path::Path;
use crate::port::FarEnd;
use qcnlab_units::Instant;

/// What arrives over a link.
pub(in crate::engine) enum Arriving {
    /// A frame, which left the port at `left`. The node has `admitted` it without a look, or not yet.
    Frame { frame: Frame, left: u64, admitted: bool },
    /// The next frame of this flow, whose frames are sent on demand: it has not been sent yet.
    Unsent(FlowId),
}

/// Whether a node admits a frame.
pub(in crate::engine) enum Admission {
    /// It does.
    Admitted(Frame),
    /// It has no room for it, on its way to the next port. What crosses a defended link is `shown` there as another frame.
    Discarded { frame: Frame, shown: Frame },
}

/// Where a frame goes on that a node has admitted.
pub(in crate::engine) enum Onward {
    /// By this port.
    Port(PortId, Frame),
    /// Its way has ended.
    There(Path, Frame),
}

impl Network {
    /// Takes what arrives over the link of a port, and has its next arrival scheduled. Where frames
    /// are sent on demand, that is due to the flow that this returns.
    #[inline(always)]
    pub(in crate::engine) fn take_arrived(
        &mut self,
        now: Instant,
        id: PortId,
        schedule: &mut Schedule,
    ) -> (Arriving, Option<FlowId>) {
        let mut port = &mut self.ports[id];
        if port.is_updated_before_arrival() {
            self.update_queue(now, id);
            port = &mut self.ports[id];
        }
        if let Some(sender) = port.sender_on_demand()
            && port.ring().is_empty()
        {
            return (Arriving::Unsent(sender), None);
        }
        let mut frame = port.take_arrived();
        frame.enter_node();
        let left = now.ps() - port.delay().ps();
        let admitted = port.admit_by_allowance(&mut frame);
        let mut sender_on_demand = None;
        if let Some(next) = port.next_arrival() {
            schedule.set(Event::Arrival(id), next);
        } else {
            sender_on_demand = port.sender_on_demand();
        }
        (Arriving::Frame { frame, left, admitted }, sender_on_demand)
    }

    /// Admits a frame at the far end of a defended link, or of one whose input buffer has no allowance left for it.
    #[inline(never)]
    pub(in crate::engine) fn admit_or_defend(
        &mut self,
        now: Instant,
        id: PortId,
        mut frame: Frame,
        schedule: &mut Schedule,
    ) -> Admission {
        let far_end = self.ports[id].far_end();
        let admitted = match far_end {
            FarEnd::Buffer(input) | FarEnd::DefendedBuffer(input) => self.admit(now, id, input, &mut frame, schedule),
            FarEnd::Node | FarEnd::Defended | FarEnd::CountingSink => true,
        };
        let mut behind = if far_end.is_defended() { self.cross_defence(id, frame) } else { frame };
        if admitted {
            return Admission::Admitted(behind);
        }
        frame.advance_hop();
        behind.advance_hop();
        Admission::Discarded { frame, shown: behind }
    }

    /// Moves an admitted frame on by one link.
    #[inline(always)]
    pub(in crate::engine) fn move_on(&self, mut frame: Frame) -> Onward {
        let path = self.routes.paths[frame.path()];
        match self.routes.move_on(&path, &mut frame) {
            Some(next) => Onward::Port(next, frame),
            None => Onward::There(path, frame),
        }
    }
}
