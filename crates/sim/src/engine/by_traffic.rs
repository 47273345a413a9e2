//! Events of a flow whose handling depends on what sends: a TCP connection, a queue pair, or another source.

use super::Engine;
use crate::ids::FlowId;
use crate::source::Source;
use qcnlab_units::Instant;

impl Engine {
    /// A source that had nothing to send has a frame.
    pub(super) fn source_has_frame(&mut self, now: Instant, flow: FlowId) {
        match self.senders.flows[flow].source {
            Source::Tcp(_) => self.send_segments(now, flow),
            Source::Planned => {
                self.senders.begin_message(flow, self.recording.plan_of(flow), &mut self.signalling);
                self.request_send(now, flow);
            }
            Source::Ended(_) => {}
            _ => self.request_send(now, flow),
        }
    }

    /// A timer of a connection or a queue pair may have expired.
    pub(super) fn timer_expired(&mut self, now: Instant, flow: FlowId) {
        match self.senders.flows[flow].source {
            Source::Roce(_) => self.pair_timer_expired(now, flow),
            Source::Ended(_) => {}
            _ => self.connection_timer_expired(now, flow),
        }
    }
}
