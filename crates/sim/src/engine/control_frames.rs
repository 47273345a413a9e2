//! Control frames and acknowledgements that travel in reverse.

use super::Engine;
use super::signalling::ControlFrame;
use crate::frame::Frame;
use qcnlab_units::Instant;

impl Engine {
    /// Starts a frame that travels in reverse. One that is at its source already has arrived.
    pub(super) fn send_reverse(&mut self, now: Instant, frame: Frame) {
        if frame.hop() > 0 {
            self.network.count_control_sent(&frame);
        }
        self.forward_reverse(now, frame);
    }

    /// Queues a frame that travels in reverse for the next link, or takes it at its source.
    pub(super) fn forward_reverse(&mut self, now: Instant, frame: Frame) {
        let Some(port) = self.network.routes.back(&frame) else {
            return self.control_received(now, frame);
        };
        if !self.enqueue(now, port, frame) {
            self.drop_control(now, frame);
        }
    }

    /// A signal that travelled in reverse has reached its source.
    pub(super) fn control_received(&mut self, now: Instant, frame: Frame) {
        let ControlFrame::Signal(of) = self.signalling.take(&frame) else {
            unreachable!("only signals travel in reverse");
        };
        if self.capture.is_some() {
            self.capture_heard(now, &frame, of);
        }
        self.message_received(now, &of.sampled, &of.signal);
        self.senders.signal_ended(self.network.flow_of(&of.sampled), &self.signalling);
    }
}
