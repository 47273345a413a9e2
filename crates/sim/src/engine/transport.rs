//! What reaches the ends of flows: packets, segments, acknowledgements, timers, and frames of sources and generators.

use super::effects::Counted;
use super::granting::Came;
use super::senders::{Ack, Kind, ReplayFailed, Told};
use super::{Ending, Engine};
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, GeneratorId, PacketId, PathId};
use crate::packets::AckKind;
use crate::plan::CompletesAt;
use qcnlab_units::Instant;

impl Engine {
    /// A packet reaches its destination, which may answer.
    #[inline(always)]
    pub(super) fn packet_received(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let Engine { network, senders, signalling, .. } = self;
        let np = signalling.notification_point(flow);
        let (answer, completes) = senders.packet_received(now, flow, &frame, network.packets_mut(), np);
        if self.granting.is_some() {
            self.tell_granting(now, Came { frame, packet: frame.packet(), cut: false });
        }
        match answer {
            Some(kind) => self.answer(now, flow, kind),
            None => self.senders.schedule_pair_timer(flow, &mut self.schedule),
        }
        if completes {
            self.flow_completed(now, flow, CompletesAt::Receiver);
        }
    }

    /// Tells the host that a packet has reached, whole or cut, if it gives credit.
    #[cold]
    fn tell_granting(&mut self, now: Instant, came: Came) {
        let Engine { network, senders, granting, schedule, .. } = self;
        let path = network.path(came.frame.path());
        let facts = || senders.packet_facts(path.flow, came.packet, network.packets());
        if let Some(granting) = granting {
            granting.reached(now, path, came, facts, schedule);
        }
    }

    /// A receiver answers the packets that it has not answered yet.
    #[inline(never)]
    fn acknowledge(&mut self, now: Instant, flow: FlowId, kind: AckKind) {
        self.answer(now, flow, kind);
    }

    /// As [`acknowledge`](Engine::acknowledge), where most acknowledgements are made.
    #[inline(always)]
    fn answer(&mut self, now: Instant, flow: FlowId, kind: AckKind) {
        let Engine { network, senders, recording, schedule, .. } = self;
        let Some(reply) = senders.answer(flow, kind, network.packets_mut()) else { return };
        recording.count(Counted::AckSent);
        let hop = network.acknowledge(now, reply, schedule);
        self.follow(now, hop);
    }

    /// The head of a packet reaches the receiver, which asks for the packet.
    pub(super) fn head_received(&mut self, now: Instant, frame: Frame, packet: PacketId) {
        self.recording.count(Counted::HeadEnded);
        let flow = self.network.flow_of(&frame);
        if self.granting.is_some() {
            self.tell_granting(now, Came { frame, packet, cut: true });
        }
        let kind = self.senders.head_received(now, flow, packet, self.network.packets_mut());
        self.acknowledge(now, flow, kind);
    }

    /// An acknowledgement reaches the sender of a packet.
    #[inline(always)]
    pub(super) fn packet_acknowledged(&mut self, now: Instant, flow: FlowId, id: PacketId) {
        let told = self.senders.packet_acknowledged(now, flow, id, self.network.packets());
        if told.minds || told.finished {
            let completes = told.finished && self.recording.finishes(now, flow);
            return self.acknowledgement_tells(now, flow, id, told, completes);
        }
        self.network.packets_mut().end(id);
        self.senders.schedule_pair_timer(flow, &mut self.schedule);
        if !told.frees_nothing {
            self.request_send(now, flow);
        }
    }

    /// The rest of [`packet_acknowledged`](Engine::packet_acknowledged), where somebody hears of the acknowledgement.
    fn acknowledgement_tells(&mut self, now: Instant, flow: FlowId, id: PacketId, told: Told, completes: bool) {
        if told.minds {
            let limiter = self.senders.tell_acknowledged(now, flow, id, told.newly, self.network.packets());
            if !told.frees_nothing && !completes && self.senders.is_alone(flow) && !self.senders.probe() {
                // A queue pair that is alone on its link is scheduled once: for when its window and its pacer allow.
                self.senders.update_pacer(now, limiter, &mut self.schedule);
                self.network.packets_mut().end(id);
                self.senders.schedule_pair_timer(flow, &mut self.schedule);
                self.release_packet(now, flow);
                return if told.finished {
                    self.accounts().end_message(flow)
                };
            }
            self.rp_changed(now, limiter);
        }
        self.network.packets_mut().end(id);
        if completes {
            self.flow_completed(now, flow, CompletesAt::Sender);
            self.run_end.close_flow(now);
        }
        self.senders.schedule_pair_timer(flow, &mut self.schedule);
        if !told.frees_nothing {
            self.request_send(now, flow);
        }
        if told.finished {
            self.accounts().end_message(flow);
        }
    }

    /// A message, or what a connection carries, is complete at one of its ends: starts the flows that waited for that.
    #[cold]
    pub(super) fn flow_completed(&mut self, now: Instant, flow: FlowId, here: CompletesAt) {
        for (flow, start) in self.dependencies.completed(now, flow, here) {
            match start {
                Some(start) => self.senders.start_flow(flow, start, &mut self.schedule),
                None => (0..self.dependencies.abandon(flow)).for_each(|_| self.run_end.close_flow(now)),
            }
        }
    }

    /// A segment reaches its destination, which may acknowledge it.
    pub(super) fn segment_received(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let (ack, completes) = self.senders.segment_received(now, flow, frame.tag(), &mut self.schedule);
        if completes {
            self.recording.finishes(now, flow);
            self.flow_completed(now, flow, CompletesAt::Receiver);
            self.run_end.close_flow(now);
        }
        if let Some(ack) = ack {
            self.send_ack(now, frame.path(), ack);
        }
    }

    /// A receiver sends an acknowledgement of segments.
    fn send_ack(&mut self, now: Instant, path: PathId, Ack { number: tag, size, class }: Ack) {
        let hop = self.network.path(path).len;
        self.recording.count(Counted::AckSent);
        let flags = flag::REVERSE | flag::ACK;
        let ack = Frame::new(Parts { path, tag, size, class, hop, flags, limited_by: 0 });
        self.network.count_control_sent(&ack);
        self.forward_reverse(now, ack);
    }

    /// Queues the segments that the window of a connection admits, and has them sent.
    pub(super) fn send_segments(&mut self, now: Instant, flow: FlowId) {
        self.senders.queue_segments(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each));
        self.request_send(now, flow);
    }

    /// A timer of a connection or a queue pair may have expired.
    pub(super) fn timer_expired(&mut self, now: Instant, flow: FlowId) {
        match self.senders.kind(flow) {
            Kind::QueuePair => {
                let (told, answer) = self.senders.pair_timer_expired(now, flow);
                if let Some(limiter) = told {
                    self.rp_changed(now, limiter);
                }
                if let Some(kind) = answer {
                    self.acknowledge(now, flow, kind);
                }
                self.senders.schedule_pair_timer(flow, &mut self.schedule);
                self.request_send(now, flow);
            }
            Kind::Ended => {}
            Kind::Connection | Kind::Planned | Kind::Plain => {
                if let Some(ack) = self.senders.connection_timer_expired(now, flow) {
                    self.send_ack(now, self.senders.first_path(flow), ack);
                }
                self.send_segments(now, flow);
            }
        }
    }

    /// A source that had nothing to send has a frame.
    pub(super) fn source_has_frame(&mut self, now: Instant, flow: FlowId) {
        match self.senders.kind(flow) {
            Kind::Connection => self.send_segments(now, flow),
            Kind::Planned => {
                let np = self.senders.begin_message(flow, self.recording.plan_of(flow));
                self.signalling.begin(flow, np);
                self.request_send(now, flow);
            }
            Kind::Ended => {}
            Kind::QueuePair | Kind::Plain => self.request_send(now, flow),
        }
    }

    /// A generator or a replay adds a frame to the queue of a flow.
    pub(super) fn generate(&mut self, now: Instant, id: GeneratorId) {
        let (goes_on, fed) = self.senders.feed(now, id, &mut self.schedule);
        if goes_on == Err(ReplayFailed) {
            self.run_end.end_now(now, Ending::Time);
        }
        match fed {
            Some(Ok(flow)) => self.request_send(now, flow),
            Some(Err(refusal)) => self.recording.on_refusal(refusal),
            None => {}
        }
    }
}
