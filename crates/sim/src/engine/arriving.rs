//! A frame's hop: off a link, through its input buffer, and on to the next queue or to whom it is for.

use super::Engine;
use super::effects::Counted;
use super::granting::Came;
use super::network::{Admission, Arriving, Hop, NoRoom, Onward, Stopped};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, PortId, QueuesId};
use crate::priority_queues::Addressed;
use qcnlab_schemes::{Delivered, NotificationPoint, TransportEvent};
use qcnlab_units::{Bytes, Instant};

impl Engine {
    /// The oldest frame on a link reaches its far end.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant, id: PortId) {
        let (arriving, sender_on_demand) = self.network.take_arrived(now, id, &mut self.schedule);
        let (mut frame, left, admitted) = match arriving {
            Arriving::Frame { frame, left, admitted } => {
                if let Some(flow) = sender_on_demand {
                    self.hosts().schedule_on_demand(flow);
                }
                (frame, left, admitted)
            }
            Arriving::Unsent(flow) => self.hosts().cross_empty_link(now, id, flow),
        };
        if !admitted {
            match self.network.admit_or_defend(now, id, frame, &mut self.schedule) {
                Admission::Admitted(behind) => frame = behind,
                Admission::Discarded { frame, shown } => {
                    return self.refused(now, id, frame, NoRoom::Memory { shown });
                }
            }
        }
        if frame.is(flag::CONTROL) {
            let hop = self.feedback().arrive(now, frame);
            return self.route(now, hop);
        }
        let (path, frame) = match self.network.move_on(frame) {
            Onward::Port(next, frame) => {
                let hop = self.network.forward(now, next, frame, &mut self.schedule);
                return self.route(now, hop);
            }
            Onward::There(path, frame) => (path, frame),
        };
        if frame.is(flag::REVERSE) {
            return self.acknowledged(now, frame);
        }
        if self.recording.deliver(now, &path, left, frame.octets()) {
            self.run_end.close_flow(now);
        }
        if frame.is(flag::SEGMENT) || self.signalling.notifies() {
            self.receive(now, path.flow, frame);
        }
    }

    /// An acknowledgement has reached its host.
    #[inline(never)]
    fn acknowledged(&mut self, now: Instant, frame: Frame) {
        let flow = self.network.end_at_source(&frame);
        self.network.free(now, &frame, &mut self.schedule);
        self.recording.count(Counted::AckHeard);
        if !self.senders.is_pair(flow) {
            if self.senders.segments_acknowledged(now, flow, frame.tag()) {
                self.accounts().acknowledge_all(now, flow);
            }
            self.senders.go_on(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each));
            return self.request_send(now, flow);
        }
        let id = frame.packet();
        let told = self.senders.packet_acknowledged(now, flow, id, self.network.packets());
        if told.minds {
            let limiter = self.senders.tell_acknowledged(now, flow, id, told.newly, self.network.packets());
            if told.frees_nothing || !self.senders.is_alone(flow) || self.senders.probe() {
                self.rp_changed(now, limiter);
            } else {
                // A queue pair that is alone on its link is scheduled once: for when its window and its pacer allow.
                self.senders.update_pacer(now, limiter, &mut self.schedule);
            }
        }
        self.network.packets_mut().end(id);
        if told.finished {
            self.accounts().acknowledge_all(now, flow);
        }
        self.senders.schedule_pair_timer(flow, &mut self.schedule);
        if !told.frees_nothing {
            self.request_send(now, flow);
        }
        if told.finished {
            self.accounts().end_message(flow);
        }
    }

    /// A data frame has reached its destination, which may answer.
    #[inline(never)]
    fn receive(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let packet = frame.is(flag::SEGMENT) && self.senders.is_pair(flow);
        if let Some(np) = self.signalling.notification_point(flow) {
            let sent_at = if packet { self.network.packets().get(frame.packet()).sent_at } else { Instant::NEVER };
            let delivered = Delivered {
                size: Bytes::new(frame.octets()),
                mark: frame.mark(),
                controlled: frame.is(flag::CONTROLLED),
                sent_at,
            };
            if let Some(signal) = np.on_frame(now, &delivered) {
                let port = self.network.last_port(frame.path());
                self.route(now, Hop::signal(port, frame, signal));
            }
        }
        let Engine { network, senders, signalling, schedule, .. } = self;
        if packet {
            let np = signalling.notification_point(flow);
            let received = senders.packet_received(now, flow, &frame, network.packets_mut(), np, schedule);
            self.answer(now, flow, Some(Came { frame, packet: frame.packet(), cut: false }), received);
        } else if frame.is(flag::SEGMENT) {
            let received = senders.segment_received(now, flow, &frame, schedule);
            self.answer(now, flow, None, received);
        }
    }

    /// The oldest pause frame that left by some priority queues takes effect at the other end of the link.
    pub(super) fn apply_pause(&mut self, now: Instant, sender: QueuesId) {
        let Some((port, frame)) = self.network.pause_arrives(now, sender, &mut self.schedule) else { return };
        if let Some(flow) = self.network.sender_on_demand(port) {
            self.hosts().send_on_demand(now, flow);
        }
        match frame.about {
            Addressed::Classes => {}
            Addressed::Queue(queue) => return apply_queue_pause(self, now, port, queue, frame.quanta > 0),
            Addressed::Isolation { flow, .. } => return self.network.take_isolation_message(now, port, flow),
        }
        if !self.network.take_pause(now, port, frame) {
            return;
        }
        self.accounts().settle(now);
        if self.senders.hear_pauses() {
            for flow in self.senders.flows() {
                if let Some(limiter) = self.senders.tell_paused(now, flow, port, frame) {
                    self.rp_changed(now, limiter);
                }
            }
        }
        if let Some(flow) = self.network.after_pause(now, port, &mut self.schedule) {
            self.hosts().link_changed(now, flow);
        }
    }
}

/// A message to stop a queue of a port, or to let it go on, takes effect: a queue of a switch, or a flow of a host.
fn apply_queue_pause(engine: &mut Engine, now: Instant, port: PortId, queue: u32, stops: bool) {
    if let Stopped::Flow(flow) = engine.network.take_queue_pause(now, port, queue, stops, &mut engine.schedule)
        && let Some(limiter) = engine.senders.tell(now, flow, &TransportEvent::FlowPaused(stops))
    {
        engine.rp_changed(now, limiter);
    }
}
