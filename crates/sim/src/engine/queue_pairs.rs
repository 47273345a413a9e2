//! RoCE queue pairs: packets forward, acknowledgements in reverse, and what the scheme is told of both.

use super::Engine;
use super::network::Path;
use super::recording::Counted;
use super::schedule::Event;
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, Id, PacketId, PathId, PortId};
use crate::packets::AckKind;
use crate::plan::CompletesAt;
use crate::port::Mode;
use crate::priority_queues::PauseFrame;
use crate::queue_pair::{QueuePair, Unanswered};
use crate::roce::Reply;
use crate::sender::Sender;
use crate::source::Source;
use qcnlab_schemes::{Acknowledgement, Echo, EventKind, LossSign, NotificationPoint, ReactionPoint, TransportEvent};
use qcnlab_units::{Bytes, Instant, Span};

/// What an acknowledgement has told a sender.
struct Told {
    /// Octets that are acknowledged for the first time.
    newly: Bytes,
    /// Whether its reaction point is to be told.
    minds: bool,
    /// Whether nothing is left to be acknowledged, and whether that is so since this acknowledgement.
    finished: bool,
    completes: bool,
    /// Whether no packet may go because of it.
    frees_nothing: bool,
}

impl Engine {
    pub(super) fn queue_pair(&mut self, flow: FlowId) -> &mut QueuePair {
        match &mut self.senders.flows[flow].source {
            Source::Roce(pair) => pair,
            _ => unreachable!("packets belong to queue pairs"),
        }
    }

    /// A packet reaches its destination, which may answer.
    #[inline(always)]
    pub(super) fn packet_received(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let id = frame.packet();
        let number = self.network.packets.get(id).number;
        let Source::Roce(pair) = &mut self.senders.flows[flow].source else {
            unreachable!("packets belong to queue pairs")
        };
        let reply = pair.receiver.on_packet(now, number);
        let completes = pair.received == Instant::NEVER && pair.receiver.finished();
        if completes {
            pair.received = now;
            pair.completing = (self.network.packets.get(id).sent_at, frame.octets() as u16);
        }
        pair.unanswered.packets += 1;
        pair.unanswered.marked += u32::from(frame.mark() != 0);
        if let Some(older) = pair.unanswered.newest.replace(id) {
            pair.under_way -= 1;
            self.network.packets.end(older);
        }
        if let Some(granting) = &mut self.granting
            && let Some((node, at)) = granting.reached(now, &self.network, &self.senders, (frame, id), false)
        {
            self.schedule.set(Event::Grant(node), at);
        }
        let answer = match reply {
            Reply::Nothing => None,
            Reply::Ack if self.is_held_back(now, flow) => None,
            Reply::Ack => Some(AckKind::Positive),
            Reply::Nack(None) => Some(AckKind::Negative),
            Reply::Nack(Some(_)) => Some(AckKind::NegativeKept),
            Reply::Trimmed(_) => Some(AckKind::Trimmed),
        };
        match answer {
            Some(kind) => self.answer(now, flow, kind),
            None => self.schedule_pair_timer(flow),
        }
        if completes {
            self.flow_completed(now, flow, CompletesAt::Receiver);
        }
    }

    /// Has the notification point of a flow shape the next acknowledgement, if it does that; returns whether it holds
    /// it back.
    #[inline]
    fn is_held_back(&mut self, now: Instant, flow: FlowId) -> bool {
        let Some(np) = self.signalling.notification_point(flow) else { return false };
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
    #[inline(never)]
    pub(super) fn acknowledge(&mut self, now: Instant, flow: FlowId, kind: AckKind) {
        self.answer(now, flow, kind);
    }

    /// As [`acknowledge`](Engine::acknowledge), where most acknowledgements are made.
    #[inline(always)]
    fn answer(&mut self, now: Instant, flow: FlowId, kind: AckKind) {
        let Engine { network, senders, recording, .. } = self;
        let sender = &mut senders.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let Some(id) = pair.unanswered.newest else { return };
        let Unanswered { packets, marked, credit, .. } = std::mem::take(&mut pair.unanswered);
        let (size, class) = (pair.ack_frame, pair.ack_class.unwrap_or(sender.class));
        let record = network.packets.get_mut(id);
        (record.expected, record.answered, record.marked) = (pair.receiver.next_expected(), packets, marked);
        record.kind = kind;
        let path = PathId::new(record.path);
        if let Some(credit) = credit {
            network.packets.grant(id, credit);
        }
        let Path { len: hop, destination, .. } = network.routes.paths[path];
        recording.count(Counted::AckSent);
        network.nodes[destination].control_sent += u64::from(size);
        let flags = flag::REVERSE | flag::ACK;
        let ack = Frame::new(Parts { path, tag: id.number(), size, class, hop, flags, limited_by: 0 });
        let port = network.routes.back(&ack).expect("a path has links");
        let admitted = match self.network.ports[port].mode() {
            Mode::Fifo(_) => self.enqueue_fifo(now, port, ack),
            _ => self.enqueue(now, port, ack),
        };
        if !admitted {
            self.drop_control(now, ack);
        }
    }

    /// The head of a packet reaches the receiver, which asks for the packet.
    pub(super) fn head_received(&mut self, now: Instant, frame: Frame, packet: PacketId) {
        self.recording.count(Counted::HeadEnded);
        let flow = self.network.flow_of(&frame);
        if let Some(granting) = &mut self.granting
            && let Some((node, at)) = granting.reached(now, &self.network, &self.senders, (frame, packet), true)
        {
            self.schedule.set(Event::Grant(node), at);
        }
        let number = self.network.packets.get(packet).number;
        let pair = self.queue_pair(flow);
        let reply = pair.receiver.on_head(now, number);
        if let Some(older) = pair.unanswered.newest.replace(packet) {
            pair.under_way -= 1;
            self.network.packets.end(older);
        }
        match reply {
            Reply::Trimmed(_) => self.acknowledge(now, flow, AckKind::Trimmed),
            _ => self.acknowledge(now, flow, AckKind::Positive),
        }
    }

    /// An acknowledgement reaches the sender.
    #[inline(always)]
    pub(super) fn packet_acknowledged(&mut self, now: Instant, flow: FlowId, id: PacketId) {
        let Engine { network, senders, recording, schedule, .. } = self;
        let record = network.packets.get(id);
        let sender = &mut senders.flows[flow];
        sender.path_acknowledged(now, record);
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let newly = match record.kind {
            AckKind::Positive => pair.sender.on_ack(now, record.expected),
            _ => pair.negatively_acknowledged(now, record),
        };
        pair.under_way -= 1;
        let finished = pair.sender.finished();
        let frees_nothing = pair.frees_nothing(record);
        let minds = pair.minds(record);
        if minds || finished {
            let completes = finished && recording.finishes(now, flow);
            return self.acknowledgement_tells(
                now,
                flow,
                id,
                Told { newly, minds, finished, completes, frees_nothing },
            );
        }
        network.packets.end(id);
        if let Some(at) = pair.changed_timer() {
            schedule.set(Event::TransportTimer(flow), at);
        }
        if !frees_nothing {
            self.request_send(now, flow);
        }
    }

    /// The rest of [`packet_acknowledged`](Engine::packet_acknowledged), where somebody hears of the acknowledgement.
    fn acknowledgement_tells(&mut self, now: Instant, flow: FlowId, id: PacketId, told: Told) {
        if told.minds {
            self.tell_acknowledged(now, flow, id, told.newly);
            let Sender { limiter, adapter, .. } = self.senders.flows[flow];
            if !told.frees_nothing && !told.completes && adapter.is_none() && !self.senders.probe {
                // A queue pair that is alone on its link is scheduled once: for when its window and its pacer allow.
                self.update_pacer(now, limiter);
                self.network.packets.end(id);
                self.schedule_pair_timer(flow);
                self.release_packet(now, flow);
                return if told.finished {
                    self.senders.end_message(flow, &mut self.signalling)
                };
            }
            self.rp_changed(now, limiter);
        }
        self.network.packets.end(id);
        if told.completes {
            self.flow_completed(now, flow, CompletesAt::Sender);
            self.run_end.close_flow(now);
        }
        self.schedule_pair_timer(flow);
        if !told.frees_nothing {
            self.request_send(now, flow);
        }
        if told.finished {
            self.senders.end_message(flow, &mut self.signalling);
        }
    }

    /// Tells the reaction point of a queue pair of an acknowledgement, and takes over what it permits then.
    fn tell_acknowledged(&mut self, now: Instant, flow: FlowId, id: PacketId, newly: Bytes) {
        let record = self.network.packets.get(id);
        let sender = &mut self.senders.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let limiter = &mut self.senders.limiters[sender.limiter].driver;
        let flight = pair.flight();
        if record.answered > 0 && pair.hears(EventKind::Acknowledgement) {
            let ack = Acknowledgement {
                newly,
                packets: record.answered,
                marked: record.marked,
                sent_at: record.sent_at,
                path: record.path,
                code: record.code,
                hops: self.network.packets.hops(id),
            };
            limiter.rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut limiter.dice);
        }
        if !record.is_plain() {
            let said = match record.kind {
                AckKind::Positive => None,
                // One that tells of a packet that came early is no sign of loss yet.
                AckKind::Negative | AckKind::NegativeKept => {
                    pair.sender.infers_loss().then_some(TransportEvent::NegativelyAcknowledged)
                }
                AckKind::Trimmed => Some(TransportEvent::Trimmed(pair.sender.payload_of(record.number))),
            };
            let credited = self.network.packets.credit(id).map(TransportEvent::Credited);
            for event in [said, credited].into_iter().flatten().filter(|event| pair.hears_of(event)) {
                limiter.rp.on_transport(now, &event, &flight, &mut limiter.dice);
            }
        }
        pair.update_permits(&limiter.rp);
    }

    /// A timer of a queue pair may have expired.
    pub(super) fn pair_timer_expired(&mut self, now: Instant, flow: FlowId) {
        let sender = &mut self.senders.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        pair.wake = Instant::NEVER;
        let lost = pair.sender.on_wake(now);
        let reply = pair.receiver.on_wake(now, pair.unanswered.newest.is_some());
        if lost == Some(LossSign::Timeout)
            && let Some(chooser) = &mut sender.chooser
        {
            chooser.timed_out(now);
        }
        let event = lost.map(TransportEvent::Lost);
        if let Some(event) = event.filter(|event| pair.hears_of(event)) {
            let limiter_id = sender.limiter;
            let limiter = &mut self.senders.limiters[limiter_id].driver;
            limiter.rp.on_transport(now, &event, &pair.flight(), &mut limiter.dice);
            pair.update_permits(&limiter.rp);
            self.rp_changed(now, limiter_id);
        }
        match reply {
            Reply::Ack => self.acknowledge(now, flow, AckKind::Positive),
            Reply::Nack(_) => self.acknowledge(now, flow, AckKind::Negative),
            Reply::Nothing | Reply::Trimmed(_) => {}
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
}
