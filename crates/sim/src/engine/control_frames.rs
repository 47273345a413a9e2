//! Frames that are not data: control frames with signals or probes, and acknowledgements.

use super::Engine;
use super::capturing::SignalOf;
use super::network::Path;
use super::signals::ControlFrame;
use crate::frame::{Frame, Parts, flag};
use crate::ids::{Id, PathId};
use crate::source::Source;
use qcnlab_units::{Bytes, Instant};

impl Engine {
    /// A frame that carries a signal or a probe.
    pub(super) fn control_frame(
        &mut self,
        carried: ControlFrame,
        size: Bytes,
        class: u8,
        path: PathId,
        hop: u8,
        direction: u8,
    ) -> Frame {
        let size = u16::try_from(size.get()).expect("a frame has at most 65 535 octets");
        let tag = self.signalling.keep(carried).number();
        let flags = flag::CONTROL | direction;
        Frame::new(Parts { size, class, path, hop, tag, flags, limited_by: 0 })
    }

    /// Starts a frame that travels in reverse. One that is at its source already has arrived.
    pub(super) fn send_reverse(&mut self, now: Instant, frame: Frame) {
        if frame.hop() > 0 {
            self.count_control_sent(&frame);
        }
        self.forward_reverse(now, frame);
    }

    pub(super) fn count_control_sent(&mut self, frame: &Frame) {
        let node = self.network.node_of(frame);
        self.network.nodes[node].control_sent += frame.octets();
    }

    /// Queues a frame that travels in reverse for the next link, or takes it at its source.
    fn forward_reverse(&mut self, now: Instant, frame: Frame) {
        let Some(port) = self.network.routes.back(&frame) else {
            return self.control_received(now, frame);
        };
        if !self.enqueue(now, port, frame) {
            self.drop_control(now, frame);
        }
    }

    /// An acknowledgement, or a control frame that travels in reverse, has reached its host.
    #[inline(never)]
    pub(super) fn came_back(&mut self, now: Instant, path: &Path, frame: Frame) {
        self.network.nodes[path.source].control_received += frame.octets();
        if frame.is(flag::BUFFERED) {
            self.free(now, &frame);
        }
        if !frame.is(flag::ACK) {
            return self.control_received(now, frame);
        }
        self.recording.counters.acks_heard += 1;
        match self.senders.flows[path.flow].source {
            Source::Roce(_) => self.packet_acknowledged(now, path.flow, frame.packet()),
            _ => self.ack_received(now, path.flow, frame.tag()),
        }
    }

    /// A control frame reaches the far end of a link.
    pub(super) fn control_arrived(&mut self, now: Instant, mut frame: Frame) {
        if frame.is(flag::REVERSE) {
            frame.reverse_hop();
            if frame.hop() == 0 {
                let path = self.network.routes.paths[frame.path()];
                return self.came_back(now, &path, frame);
            }
            return self.forward_reverse(now, frame);
        }
        frame.advance_hop();
        if frame.hop() < self.network.routes.paths[frame.path()].len {
            return match self.signalling.control_frames[frame.carries()] {
                ControlFrame::Head(_) => self.forward_head(now, frame),
                _ => self.forward_probe(now, frame),
            };
        }
        let host = self.network.links[self.network.routes.last_port(frame.path())].to;
        self.network.nodes[host].control_received += frame.octets();
        match self.signalling.take(frame.carries()) {
            ControlFrame::Probe(probe) => {
                self.recording.counters.probes_ended += 1;
                self.probe_received(now, frame, &probe);
            }
            ControlFrame::Head(packet) => self.head_received(now, self.network.flow_of(&frame), packet),
            ControlFrame::Signal { .. } => unreachable!("signals travel in reverse"),
        }
    }

    /// A signal that travelled in reverse has reached its source.
    fn control_received(&mut self, now: Instant, frame: Frame) {
        let ControlFrame::Signal { signal, sampled, sampled_at } = self.signalling.take(frame.carries()) else {
            unreachable!("only signals travel in reverse");
        };
        if self.capture.is_some() {
            self.capture_heard(now, &frame, SignalOf { signal, sampled, sampled_at });
        }
        self.message_received(now, &sampled, &signal);
    }

    /// Drops a control frame or an acknowledgement that a queue has no room for.
    pub(super) fn drop_control(&mut self, now: Instant, frame: Frame) {
        if frame.is(flag::BUFFERED) {
            self.free(now, &frame);
        }
        self.lose_control(frame);
    }

    /// Counts a control frame or an acknowledgement as lost.
    pub(super) fn lose_control(&mut self, frame: Frame) {
        let counters = &mut self.recording.counters;
        if frame.is(flag::ACK) {
            counters.acks_lost += 1;
            return self.end_packet(&frame);
        }
        match self.signalling.take(frame.carries()) {
            ControlFrame::Signal { .. } => counters.messages_lost += 1,
            ControlFrame::Probe(_) => counters.probes_ended += 1,
            ControlFrame::Head(packet) => {
                counters.heads_ended += 1;
                self.network.packets.end(packet);
            }
        }
    }
}
