//! RoCE queue pairs: packets forward, acknowledgements in reverse, and what the scheme is told of both.

use super::Engine;
use super::schedule::Event;
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, Id, PacketId, PathId, PortId};
use crate::packets::AckKind;
use crate::plan::CompletesAt;
use crate::priority_queues::PauseFrame;
use crate::queue_pair::{QueuePair, Unanswered};
use crate::roce::Reply;
use crate::source::Source;
use qcnlab_schemes::{Acknowledgement, Echo, EventKind, LossSign, NotificationPoint, ReactionPoint, TransportEvent};
use qcnlab_units::{Bytes, Instant, Span};

impl Engine {
    pub(super) fn queue_pair(&mut self, flow: FlowId) -> &mut QueuePair {
        match &mut self.senders.flows[flow].source {
            Source::Roce(pair) => pair,
            _ => unreachable!("packets belong to queue pairs"),
        }
    }

    /// A packet reaches its destination, which may answer.
    pub(super) fn packet_received(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let id = frame.packet();
        let number = self.network.packets.get(id).number;
        let pair = self.queue_pair(flow);
        let reply = pair.receiver.on_packet(now, number);
        let completes = pair.received == Instant::NEVER && pair.receiver.finished();
        if completes {
            pair.received = now;
        }
        pair.unanswered.packets += 1;
        pair.unanswered.marked += u32::from(frame.mark() != 0);
        if let Some(older) = pair.unanswered.newest.replace(id) {
            self.network.packets.end(older);
        }
        match reply {
            Reply::Nothing => self.schedule_pair_timer(flow),
            Reply::Ack if self.is_held_back(now, flow) => self.schedule_pair_timer(flow),
            Reply::Ack => self.acknowledge(now, flow, AckKind::Positive),
            Reply::Nack(None) => self.acknowledge(now, flow, AckKind::Negative),
            Reply::Nack(Some(_)) => self.acknowledge(now, flow, AckKind::NegativeKept),
            Reply::Trimmed(_) => self.acknowledge(now, flow, AckKind::Trimmed),
        }
        if completes {
            self.flow_completed(now, flow, CompletesAt::Receiver);
        }
    }

    /// Has the notification point of a flow shape the next acknowledgement, if it does that; returns whether it holds
    /// it back.
    #[inline]
    fn is_held_back(&mut self, now: Instant, flow: FlowId) -> bool {
        let Some(np) = self.signalling.notification_points.get_mut(flow) else { return false };
        if !np.shapes_acknowledgements() {
            return false;
        }
        let Source::Roce(pair) = &mut self.senders.flows[flow].source else { return false };
        let Unanswered { packets, marked, .. } = pair.unanswered;
        let mut echo = Echo { packets, marked, delay: Span::ZERO, credit: None };
        np.on_acknowledging(now, &mut echo);
        (pair.unanswered.marked, pair.unanswered.credit) = (echo.marked.min(packets), echo.credit);
        if echo.delay > Span::ZERO {
            pair.receiver.hold(now + echo.delay);
        }
        echo.delay > Span::ZERO
    }

    /// A receiver answers the packets that it has not answered yet.
    pub(super) fn acknowledge(&mut self, now: Instant, flow: FlowId, kind: AckKind) {
        let class = self.senders.flows[flow].class;
        let pair = self.queue_pair(flow);
        let Unanswered { packets, marked, newest, credit } = std::mem::take(&mut pair.unanswered);
        let Some(id) = newest else { return };
        let (size, class) = (pair.ack_frame, pair.ack_class.unwrap_or(class));
        let expected = pair.receiver.next_expected();
        let record = self.network.packets.get_mut(id);
        (record.expected, record.answered, record.marked) = (expected, packets, marked);
        record.kind = kind;
        let path = PathId::new(record.path);
        if let Some(credit) = credit {
            self.network.packets.grant(id, credit);
        }
        let hop = self.network.routes.paths[path].len;
        self.recording.counters.acks_sent += 1;
        let flags = flag::REVERSE | flag::ACK;
        self.send_reverse(now, Frame::new(Parts { path, tag: id.number(), size, class, hop, flags, limited_by: 0 }));
    }

    /// An acknowledgement reaches the sender.
    pub(super) fn packet_acknowledged(&mut self, now: Instant, flow: FlowId, id: PacketId) {
        let record = self.network.packets.get(id);
        let sender = &mut self.senders.flows[flow];
        sender.path_acknowledged(now, record);
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let newly = match record.kind {
            AckKind::Positive => pair.sender.on_ack(now, record.expected),
            AckKind::Negative => pair.sender.on_nack(now, record.expected, None),
            AckKind::NegativeKept => pair.sender.on_nack(now, record.expected, Some(record.number)),
            AckKind::Trimmed => pair.sender.on_trimmed(now, record.expected, record.number),
        };
        let completes = pair.sender.finished() && self.recording.finishes(now, flow);
        let frees_nothing = pair.frees_nothing(record);
        if pair.minds(record) {
            self.tell_acknowledged(now, flow, id, newly);
        }
        self.network.packets.end(id);
        if completes {
            self.flow_completed(now, flow, CompletesAt::Sender);
            self.close_flow(now);
        }
        self.schedule_pair_timer(flow);
        if !frees_nothing {
            self.request_send(now, flow);
        }
    }

    /// Tells the reaction point of a queue pair of an acknowledgement, and takes over what it permits then.
    fn tell_acknowledged(&mut self, now: Instant, flow: FlowId, id: PacketId, newly: Bytes) {
        let record = self.network.packets.get(id);
        let sender = &mut self.senders.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let limiter_id = sender.limiter;
        let limiter = &mut self.senders.limiters[limiter_id].driver;
        let flight = pair.flight();
        if record.answered > 0 && pair.hears(EventKind::Acknowledgement) {
            let ack = Acknowledgement {
                newly,
                packets: record.answered,
                marked: record.marked,
                sent_at: record.sent_at,
                path: record.path,
                hops: self.network.packets.hops(id),
            };
            limiter.rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut limiter.dice);
        }
        if !record.is_plain() {
            let said = match record.kind {
                AckKind::Positive => None,
                AckKind::Negative | AckKind::NegativeKept => Some(TransportEvent::NegativelyAcknowledged),
                AckKind::Trimmed => Some(TransportEvent::Trimmed(pair.sender.payload_of(record.number))),
            };
            let credited = self.network.packets.credit(id).map(TransportEvent::Credited);
            for event in [said, credited].into_iter().flatten().filter(|event| pair.hears_of(event)) {
                limiter.rp.on_transport(now, &event, &flight, &mut limiter.dice);
            }
        }
        pair.update_permits(&limiter.rp);
        self.rp_changed(now, limiter_id);
    }

    /// A timer of a queue pair may have expired.
    pub(super) fn pair_timer_expired(&mut self, now: Instant, flow: FlowId) {
        let sender = &mut self.senders.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        pair.wake = Instant::NEVER;
        let lost = pair.sender.on_wake(now);
        let due = pair.receiver.on_wake(now);
        if lost && let Some(chooser) = &mut sender.chooser {
            chooser.timed_out(now);
        }
        let event = TransportEvent::Lost(LossSign::Timeout);
        if lost && pair.hears_of(&event) {
            let limiter_id = sender.limiter;
            let limiter = &mut self.senders.limiters[limiter_id].driver;
            limiter.rp.on_transport(now, &event, &pair.flight(), &mut limiter.dice);
            pair.update_permits(&limiter.rp);
            self.rp_changed(now, limiter_id);
        }
        if due {
            self.acknowledge(now, flow, AckKind::Positive);
        }
        self.schedule_pair_timer(flow);
        self.request_send(now, flow);
    }

    /// A pause of some classes of a port takes effect, or ends: the reaction points of its queue pairs may want to know.
    pub(super) fn tell_paused(&mut self, now: Instant, port: PortId, frame: PauseFrame) {
        if !self.senders.hear_pauses {
            return;
        }
        let event = TransportEvent::Paused(frame.quanta > 0);
        for flow in self.senders.flows.ids() {
            let sender = &mut self.senders.flows[flow];
            let Source::Roce(pair) = &mut sender.source else { continue };
            if sender.port != port || frame.classes & 1 << sender.class == 0 || !pair.hears_of(&event) {
                continue;
            }
            let limiter_id = sender.limiter;
            let limiter = &mut self.senders.limiters[limiter_id].driver;
            limiter.rp.on_transport(now, &event, &pair.flight(), &mut limiter.dice);
            pair.update_permits(&limiter.rp);
            self.rp_changed(now, limiter_id);
        }
    }

    /// Keeps the pending event no later than a queue pair's next timer. An event that is early finds nothing due.
    #[inline]
    fn schedule_pair_timer(&mut self, flow: FlowId) {
        if let Some(at) = self.queue_pair(flow).changed_timer() {
            self.schedule.set(Event::TransportTimer(flow), at);
        }
    }

    /// A frame that may be a RoCE packet or its acknowledgement is lost.
    pub(super) fn end_packet(&mut self, frame: &Frame) {
        let flow = self.network.flow_of(frame);
        if frame.is(flag::SEGMENT | flag::ACK) && matches!(self.senders.flows[flow].source, Source::Roce(_)) {
            self.network.packets.end(frame.packet());
        }
    }
}
