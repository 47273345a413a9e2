//! A frame's hop: off a link, through its input buffer, and on to the next queue or to whom it is for.

use super::Engine;
use super::network::Path;
use super::recording::Counted;
use super::schedule::Event;
use super::signalling::ControlFrame;
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, PortId};
use crate::port::{FarEnd, Mode};
use crate::source::Source;
use qcnlab_schemes::{Delivered, NotificationPoint};
use qcnlab_units::{Bytes, Instant};

impl Engine {
    /// The oldest frame on a link reaches its far end.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, id: PortId) {
        let mut port = &mut self.network.ports[id];
        if port.minds_arrivals() {
            self.network.update_queue(now, id);
            port = &mut self.network.ports[id];
        }
        if let Mode::Lazy(lazy) = port.mode()
            && port.ring().is_empty()
        {
            let mut frame = self.cross_empty_link(now, id, lazy.sender);
            let port = &mut self.network.ports[id];
            let left = now.ps() - port.delay().ps();
            let admitted = port.admit_unseen(&mut frame);
            return self.arrived(now, id, frame, left, admitted);
        }
        let mut frame = port.take_arrived();
        frame.clear(flag::BUFFERED);
        let left = now.ps() - port.delay().ps();
        let admitted = port.admit_unseen(&mut frame);
        if let Some(next) = port.next_arrival() {
            self.schedule.set(Event::Arrival(id), next);
        } else if let Some(flow) = port.lazy_sender() {
            self.schedule_lazy_arrival(flow);
        }
        self.arrived(now, id, frame, left, admitted);
    }

    /// A frame that left a port at `left` is at the far end of its link, which has admitted it without a look or not yet.
    #[inline(always)]
    fn arrived(&mut self, now: Instant, id: PortId, mut frame: Frame, left: u64, admitted: bool) {
        if !admitted {
            match self.admit_or_defend(now, id, frame) {
                Some(admitted) => frame = admitted,
                None => return,
            }
        }
        if frame.is(flag::CONTROL) {
            return self.control_arrived(now, frame);
        }
        let path = self.network.routes.paths[frame.path()];
        if let Some(next) = self.network.routes.move_on(&path, &mut frame) {
            return self.forward(now, next, frame);
        }
        if frame.is(flag::REVERSE) {
            return self.came_back(now, &path, frame);
        }
        if self.recording.deliver(now, &path, left, frame.octets()) {
            self.run_end.close_flow(now);
        }
        if frame.is(flag::SEGMENT) || self.signalling.notifies() {
            self.receive(now, path.flow, frame);
        }
    }

    /// A frame is at the far end of a defended link, or of one whose input buffer has no allowance left for it; `None` if
    /// that discards it.
    #[inline(never)]
    fn admit_or_defend(&mut self, now: Instant, id: PortId, mut frame: Frame) -> Option<Frame> {
        let far_end = self.network.ports[id].far_end();
        let admitted = match far_end {
            FarEnd::Buffer(input) | FarEnd::DefendedBuffer(input) => self.admit(now, id, input, &mut frame),
            FarEnd::Node | FarEnd::Defended | FarEnd::CountingSink => true,
        };
        if far_end.is_defended() {
            frame = self.cross_defence(id, frame);
        }
        if admitted {
            return Some(frame);
        }
        self.show_discarded(now, frame);
        None
    }

    /// Shows a frame that a full input memory discarded to the congestion point of the queue that it was on its way to.
    #[cold]
    fn show_discarded(&mut self, now: Instant, mut frame: Frame) {
        if frame.is(flag::NOT_DATA) {
            return;
        }
        let path = self.network.routes.paths[frame.path()];
        frame.advance_hop();
        if frame.hop() >= path.len {
            return;
        }
        let next = self.network.routes.ports[(path.start + u32::from(frame.hop())) as usize];
        let cp = match self.network.ports[next].mode() {
            Mode::Fifo(fifo) => fifo.cp,
            Mode::Queues(queues) => self.network.queues[queues].of_class(frame.class()).cp,
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => None,
        };
        if let Some(cp) = cp
            && !self.counts_only(cp, &frame, false)
        {
            self.network.update_queue(now, next);
            let len = match self.network.ports[next].mode() {
                Mode::Queues(queues) => Bytes::new(self.network.queues[queues].of_class(frame.class()).octets),
                _ => self.network.ports[next].queue_len(),
            };
            self.show_arrival(now, next, cp, frame, len, false);
        }
    }

    /// An acknowledgement, or a control frame that travels in reverse, has reached its host.
    #[inline(never)]
    fn came_back(&mut self, now: Instant, path: &Path, frame: Frame) {
        self.network.nodes[path.source].control_received += frame.octets();
        if frame.is(flag::BUFFERED) {
            self.free(now, &frame);
        }
        if !frame.is(flag::ACK) {
            return self.control_received(now, frame);
        }
        self.recording.count(Counted::AckHeard);
        match self.senders.flows[path.flow].source {
            Source::Roce(_) => self.packet_acknowledged(now, path.flow, frame.packet()),
            _ => self.ack_received(now, path.flow, frame.tag()),
        }
    }

    /// A control frame reaches the far end of a link.
    fn control_arrived(&mut self, now: Instant, mut frame: Frame) {
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
            return match self.signalling.carried(&frame) {
                ControlFrame::Head(_) => self.forward_head(now, frame),
                _ => self.forward_probe(now, frame),
            };
        }
        let host = self.network.links[self.network.routes.last_port(frame.path())].to;
        self.network.nodes[host].control_received += frame.octets();
        match self.signalling.take(&frame) {
            ControlFrame::Probe(probe) => {
                self.recording.count(Counted::ProbeEnded);
                self.probe_received(now, frame, &probe);
            }
            ControlFrame::Head(packet) => self.head_received(now, frame, packet),
            ControlFrame::Signal(_) => unreachable!("signals travel in reverse"),
        }
    }

    /// A data frame has reached its destination, which may answer.
    fn receive(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let roce = frame.is(flag::SEGMENT) && matches!(self.senders.flows[flow].source, Source::Roce(_));
        if let Some(np) = self.signalling.notification_point(flow) {
            let sent_at = if roce { self.network.packets.get(frame.packet()).sent_at } else { Instant::NEVER };
            let delivered = Delivered {
                size: Bytes::new(frame.octets()),
                mark: frame.mark(),
                controlled: frame.is(flag::CONTROLLED),
                sent_at,
            };
            if let Some(signal) = np.on_frame(now, &delivered) {
                let port = self.network.routes.last_port(frame.path());
                self.send_signal(now, port, frame, signal);
            }
        }
        if roce {
            self.packet_received(now, flow, frame);
        } else if frame.is(flag::SEGMENT) {
            self.segment_received(now, flow, frame);
        }
    }
}
