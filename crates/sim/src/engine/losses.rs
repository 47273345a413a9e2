//! Frames that are lost: what that means for their flow, and for what they carry.

use super::Engine;
use super::recording::Counted;
use crate::frame::{Frame, flag};
use crate::ids::PortId;
use crate::source::Source;
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
        self.end_packet(frame);
    }

    /// Counts a control frame or an acknowledgement as lost.
    pub(super) fn lose_control(&mut self, frame: Frame) {
        if frame.is(flag::ACK) {
            self.recording.count(Counted::AckLost);
            return self.end_packet(&frame);
        }
        let (lost, packet) = self.signalling.lose(&frame);
        self.recording.count(lost);
        if let Some(packet) = packet {
            self.network.packets.end(packet);
        }
    }

    /// A frame that may be a RoCE packet or its acknowledgement is lost.
    fn end_packet(&mut self, frame: &Frame) {
        let flow = self.network.flow_of(frame);
        if frame.is(flag::SEGMENT | flag::ACK) && matches!(self.senders.flows[flow].source, Source::Roce(_)) {
            self.network.packets.end(frame.packet());
        }
    }
}
