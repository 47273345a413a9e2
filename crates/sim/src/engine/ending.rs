//! When a run ends: at the plan's end; if it drains, when no flow is open any more; or in a deadlock.

use super::Engine;
use crate::frame::Frame;
use crate::ids::PortId;
use qcnlab_units::Instant;

/// Why a run ended when it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    #[default]
    Time,
    /// It drains, and every flow with an end had finished, or had lost a frame that nothing sends again.
    Drained,
    /// Pauses wait for each other in a circle, and nothing in it will ever move again.
    Deadlock {
        /// The paused ports, each waiting for the next, the last for the first.
        circle: Vec<String>,
        /// When the last of them was paused.
        closed: Instant,
    },
}

impl Engine {
    /// Ends the run now.
    #[cold]
    pub(super) fn end_now(&mut self, now: Instant, ending: Ending) {
        self.end = now;
        self.stop = now;
        self.ending = ending;
    }

    /// A flow with an end has finished, or never will.
    #[cold]
    pub(super) fn close_flow(&mut self, now: Instant) {
        self.open_flows -= 1;
        if self.open_flows == 0 && self.drains && self.ending == Ending::Time {
            self.end_now(now, Ending::Drained);
        }
    }

    /// A data frame is dropped at a port.
    pub(super) fn lose_data(&mut self, now: Instant, port: PortId, frame: &Frame) {
        let flow = self.network.flow_of(frame);
        if self.recording.on_drop(now, port, flow, frame.octets()) {
            self.close_flow(now);
        }
        self.end_packet(frame);
    }
}
