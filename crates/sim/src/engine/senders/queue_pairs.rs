//! RoCE queue pairs: what packets and acknowledgements do at both ends, and what the scheme is told of them.

use super::{Expired, Senders};
use crate::engine::effects::{NewAck, PacketFacts, Received};
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::{FlowId, Id, LimiterId, PacketId, PathId, PortId};
use crate::packets::{AckKind, Packets};
use crate::priority_queues::PauseFrame;
use crate::queue_pair::{QueuePair, Unanswered};
use crate::roce::Reply;
use crate::source::Source;
use qcnlab_schemes::registry::AnyNp;
use qcnlab_schemes::{Acknowledgement, Echo, EventKind, LossSign, NotificationPoint, ReactionPoint, TransportEvent};
use qcnlab_units::{Bytes, Instant, Span};

/// What an acknowledgement has told a sender.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Told {
    /// Octets that are acknowledged for the first time.
    pub(in crate::engine) newly: Bytes,
    /// Whether its reaction point is to be told.
    pub(in crate::engine) minds: bool,
    /// Whether nothing is left to be acknowledged.
    pub(in crate::engine) finished: bool,
    /// Whether no packet may go because of it.
    pub(in crate::engine) frees_nothing: bool,
}

impl Senders {
    #[inline(always)]
    fn queue_pair(&mut self, flow: FlowId) -> &mut QueuePair {
        match &mut self.flows[flow].source {
            Source::Roce(pair) => pair,
            _ => unreachable!("packets belong to queue pairs"),
        }
    }

    /// A packet reaches its destination, whose notification point is `np`.
    #[inline(always)]
    pub(in crate::engine) fn packet_received(
        &mut self,
        now: Instant,
        flow: FlowId,
        frame: &Frame,
        packets: &mut Packets,
        np: Option<&mut AnyNp>,
        schedule: &mut Schedule,
    ) -> Received {
        let id = frame.packet();
        let number = packets.get(id).number;
        let pair = self.queue_pair(flow);
        let reply = pair.receiver.on_packet(now, number);
        let completes = pair.received == Instant::NEVER && pair.receiver.finished();
        if completes {
            pair.received = now;
            pair.completing = (packets.get(id).sent_at, frame.octets() as u16);
        }
        pair.unanswered.packets += 1;
        pair.unanswered.marked += u32::from(frame.mark() != 0);
        if let Some(older) = pair.unanswered.newest.replace(id) {
            pair.under_way -= 1;
            packets.end(older);
        }
        let answer = match reply {
            Reply::Nothing => None,
            Reply::Ack if is_held_back(now, pair, np) => None,
            Reply::Ack => Some(AckKind::Positive),
            Reply::Nack(None) => Some(AckKind::Negative),
            Reply::Nack(Some(_)) => Some(AckKind::NegativeKept),
            Reply::Trimmed(_) => Some(AckKind::Trimmed),
        };
        let ack = answer.and_then(|kind| self.answer(flow, kind, packets));
        if answer.is_none() {
            self.schedule_pair_timer(flow, schedule);
        }
        Received { ack, completes }
    }

    /// A receiver answers the packets that it has not answered yet, if there are some.
    #[inline(always)]
    fn answer(&mut self, flow: FlowId, kind: AckKind, packets: &mut Packets) -> Option<NewAck> {
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let packet = pair.unanswered.newest?;
        let Unanswered { packets: answered, marked, credit, .. } = std::mem::take(&mut pair.unanswered);
        let (size, class) = (pair.ack_frame, pair.ack_class.unwrap_or(sender.class));
        let record = packets.get_mut(packet);
        (record.expected, record.answered, record.marked) = (pair.receiver.next_expected(), answered, marked);
        record.kind = kind;
        let path = PathId::new(record.path);
        if let Some(credit) = credit {
            packets.grant(packet, credit);
        }
        Some(NewAck { path, tag: packet.number(), size, class })
    }

    /// What the receiver of a flow knows of a packet that has reached it; `None` if the flow is no queue pair.
    pub(in crate::engine) fn packet_facts(
        &self,
        flow: FlowId,
        packet: PacketId,
        packets: &Packets,
    ) -> Option<PacketFacts> {
        let Source::Roce(pair) = &self.flows[flow].source else { return None };
        let payload = pair.sender.payload_of(packets.get(packet).number);
        Some(PacketFacts { whole: pair.receiver.finished(), total: pair.sender.total(), payload })
    }

    /// Whether a flow is a queue pair of which something is not acknowledged yet.
    pub(in crate::engine) fn lacks_packets(&self, flow: FlowId) -> bool {
        matches!(&self.flows[flow].source, Source::Roce(pair) if !pair.sender.finished())
    }

    /// A signal may have brought credit: takes over what the reaction point of a queue pair permits; returns whether the pair
    /// sends by credit.
    pub(in crate::engine) fn take_credit(&mut self, flow: FlowId) -> bool {
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { return false };
        if pair.sends_by_credit() {
            pair.update_permits(&self.limiters[sender.limiter].driver.rp);
        }
        pair.sends_by_credit()
    }

    /// The head of a packet reaches the receiver, which asks for the packet.
    pub(in crate::engine) fn head_received(
        &mut self,
        now: Instant,
        flow: FlowId,
        packet: PacketId,
        packets: &mut Packets,
    ) -> Received {
        let number = packets.get(packet).number;
        let pair = self.queue_pair(flow);
        let reply = pair.receiver.on_head(now, number);
        if let Some(older) = pair.unanswered.newest.replace(packet) {
            pair.under_way -= 1;
            packets.end(older);
        }
        let kind = match reply {
            Reply::Trimmed(_) => AckKind::Trimmed,
            _ => AckKind::Positive,
        };
        Received { ack: self.answer(flow, kind, packets), completes: false }
    }

    /// An acknowledgement reaches the sender of a packet.
    #[inline(always)]
    pub(in crate::engine) fn packet_acknowledged(
        &mut self,
        now: Instant,
        flow: FlowId,
        id: PacketId,
        packets: &Packets,
    ) -> Told {
        let record = packets.get(id);
        let sender = &mut self.flows[flow];
        sender.path_acknowledged(now, record);
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let newly = match record.kind {
            AckKind::Positive => pair.sender.on_ack(now, record.expected),
            _ => pair.negatively_acknowledged(now, record),
        };
        pair.under_way -= 1;
        Told {
            newly,
            minds: pair.minds(record),
            finished: pair.sender.finished(),
            frees_nothing: pair.frees_nothing(record),
        }
    }

    /// Tells the reaction point of a queue pair of an acknowledgement, and takes over what it permits then. Returns its
    /// limiter.
    #[inline(always)]
    pub(in crate::engine) fn tell_acknowledged(
        &mut self,
        now: Instant,
        flow: FlowId,
        id: PacketId,
        newly: Bytes,
        packets: &Packets,
    ) -> LimiterId {
        let record = packets.get(id);
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        let limiter = &mut self.limiters[sender.limiter].driver;
        let flight = pair.flight();
        if record.answered > 0 && pair.hears(EventKind::Acknowledgement) {
            let ack = Acknowledgement {
                newly,
                packets: record.answered,
                marked: record.marked,
                sent_at: record.sent_at,
                path: record.path,
                code: record.code,
                hops: packets.hops(id),
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
            let credited = packets.credit(id).map(TransportEvent::Credited);
            for event in [said, credited].into_iter().flatten().filter(|event| pair.hears_of(event)) {
                limiter.rp.on_transport(now, &event, &flight, &mut limiter.dice);
            }
        }
        pair.update_permits(&limiter.rp);
        sender.limiter
    }

    /// A timer of a queue pair may have expired.
    pub(super) fn pair_timer_expired(&mut self, now: Instant, flow: FlowId, packets: &mut Packets) -> Expired {
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { unreachable!("packets belong to queue pairs") };
        pair.wake = Instant::NEVER;
        let lost = pair.sender.on_wake(now);
        let reply = pair.receiver.on_wake(now, pair.unanswered.newest.is_some());
        if lost == Some(LossSign::Timeout)
            && let Some(chooser) = &mut sender.chooser
        {
            chooser.timed_out(now);
        }
        let answer = match reply {
            Reply::Ack => Some(AckKind::Positive),
            Reply::Nack(_) => Some(AckKind::Negative),
            Reply::Nothing | Reply::Trimmed(_) => None,
        };
        let told = lost.and_then(|sign| self.tell(now, flow, &TransportEvent::Lost(sign)));
        Expired { told, ack: answer.and_then(|kind| self.answer(flow, kind, packets)) }
    }

    /// A pause of some classes of a port takes effect, or ends: tells the reaction point of a queue pair that has to know;
    /// returns its limiter.
    pub(in crate::engine) fn tell_paused(
        &mut self,
        now: Instant,
        flow: FlowId,
        port: PortId,
        frame: PauseFrame,
    ) -> Option<LimiterId> {
        let sender = &self.flows[flow];
        if sender.port != port || frame.classes & 1 << sender.class == 0 {
            return None;
        }
        self.tell(now, flow, &TransportEvent::Paused(frame.quanta > 0))
    }

    /// Tells the reaction point of a queue pair of an event, if it is there and has to know; returns its limiter.
    pub(in crate::engine) fn tell(
        &mut self,
        now: Instant,
        flow: FlowId,
        event: &TransportEvent<'_>,
    ) -> Option<LimiterId> {
        let sender = &mut self.flows[flow];
        let Source::Roce(pair) = &mut sender.source else { return None };
        if !pair.hears_of(event) {
            return None;
        }
        let limiter = &mut self.limiters[sender.limiter].driver;
        limiter.rp.on_transport(now, event, &pair.flight(), &mut limiter.dice);
        pair.update_permits(&limiter.rp);
        Some(sender.limiter)
    }

    /// Keeps the pending event no later than a queue pair's next timer. An event that is early finds nothing due.
    #[inline]
    pub(in crate::engine) fn schedule_pair_timer(&mut self, flow: FlowId, schedule: &mut Schedule) {
        if let Some(at) = self.queue_pair(flow).changed_timer() {
            schedule.set(Event::TransportTimer(flow), at);
        }
    }
}

/// Has the notification point of a flow shape the next acknowledgement, if it does that; returns whether it holds it back.
#[inline]
fn is_held_back(now: Instant, pair: &mut QueuePair, np: Option<&mut AnyNp>) -> bool {
    let Some(np) = np.filter(|np| np.shapes_acknowledgements()) else { return false };
    let Unanswered { packets, marked, .. } = pair.unanswered;
    let mut echo = Echo { packets, marked, delay: Span::ZERO, credit: None };
    np.on_acknowledging(now, &mut echo);
    (pair.unanswered.marked, pair.unanswered.credit) = (echo.marked.min(packets), echo.credit);
    if echo.delay > Span::ZERO {
        pair.receiver.hold(now + echo.delay);
    }
    echo.delay > Span::ZERO
}
