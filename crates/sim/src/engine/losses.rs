//! Frames that are lost: what that means for their flow, and for what they carry.

use super::Engine;
use super::recording::Counted;
use super::signalling::ControlFrame;
use crate::frame::{Frame, flag};
use crate::ids::{PacketId, PortId};
use qcnlab_units::Instant;

impl Engine {
    /// A frame does not fit the queue of a port.
    #[cold]
    pub(super) fn drop_frame(&mut self, now: Instant, id: PortId, frame: &Frame) {
        if frame.is(flag::NOT_DATA) { self.drop_control(now, *frame) } else { self.drop_data(now, id, frame) }
    }

    /// A data frame does not fit the queue of a port.
    #[cold]
    pub(super) fn drop_data(&mut self, now: Instant, id: PortId, frame: &Frame) {
        if frame.is(flag::BUFFERED) {
            self.free(now, frame);
        }
        self.lose_data(now, id, frame);
    }

    /// Drops a control frame or an acknowledgement that a queue has no room for.
    pub(super) fn drop_control(&mut self, now: Instant, frame: Frame) {
        if frame.is(flag::BUFFERED) {
            self.free(now, &frame);
        }
        self.lose_control(frame);
    }

    /// A data frame is dropped at a port.
    pub(super) fn lose_data(&mut self, now: Instant, port: PortId, frame: &Frame) {
        let flow = self.network.flow_of(frame);
        if self.recording.on_drop(now, port, flow, frame.octets()) {
            self.run_end.close_flow(now);
        }
        self.senders.end_packet(frame, carried(frame), &mut self.network, &mut self.signalling);
    }

    /// Counts a control frame or an acknowledgement as lost.
    pub(super) fn lose_control(&mut self, frame: Frame) {
        if frame.is(flag::ACK) {
            self.recording.count(Counted::AckLost);
            let Engine { senders, network, signalling, .. } = self;
            return senders.end_packet(&frame, carried(&frame), network, signalling);
        }
        let lost = self.signalling.take(&frame);
        self.recording.count(lost.counts_as_lost());
        match lost {
            ControlFrame::Signal(of) => {
                self.senders.signal_ended(self.network.flow_of(&of.sampled), &self.signalling);
            }
            ControlFrame::Probe(_) => {}
            ControlFrame::Head(packet) => {
                self.senders.end_packet(&frame, Some(packet), &mut self.network, &mut self.signalling);
            }
        }
    }
}

/// The packet that a data frame or an acknowledgement stands for, if its flow is a queue pair.
fn carried(frame: &Frame) -> Option<PacketId> {
    frame.is(flag::SEGMENT | flag::ACK).then(|| frame.packet())
}
