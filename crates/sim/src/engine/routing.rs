//! Effects on their way from part to part: frames to ports, signals back, rates to whoever sends.
//!
//! A frame that a host sends may meet a congestion point at the host's own port, whose signal changes the rate at which that
//! host sends, at the same instant. So these calls come back to themselves; to have the loop cut them would put a signal behind
//! other events of its instant. No part sees that: each is called, answers, and is left.

use super::Engine;
use super::effects::{Counted, Received};
use super::feedback::Ended;
use super::granting::Came;
use super::network::{Hop, NoRoom};
use super::senders::Served;
use super::shortcuts::counting_sinks::count_full_link;
use crate::frame::{Frame, flag};
use crate::ids::{AdapterId, FlowId, LimiterId, PortId};
use qcnlab_schemes::Signal;
use qcnlab_units::Instant;

/// Frames that come to ports.
impl Engine {
    /// Does what follows when a frame has moved: nothing, for most of them.
    #[inline(always)]
    pub(super) fn route(&mut self, now: Instant, hop: Hop) {
        match hop {
            Hop::Taken => {}
            Hop::LinkFull(port) => count_full_link(now, port, &mut self.network, &mut self.recording),
            Hop::Signal { port, frame, signal, full } => self.send_signal(now, port, frame, signal, full),
            Hop::Refused { port, frame, shows } => self.refused(now, port, frame, NoRoom::Queue { shows }),
            Hop::Ended(frame) => self.control_ended(now, frame),
        }
    }

    /// Sends a signal from `port` to the source of `frame`; the link behind the port may be full.
    #[cold]
    fn send_signal(&mut self, now: Instant, port: PortId, frame: Frame, signal: Signal, full: bool) {
        if full {
            count_full_link(now, port, &mut self.network, &mut self.recording);
        }
        let hop = self.feedback().send(now, port, frame, signal);
        self.route(now, hop);
    }

    /// A signal that travelled in reverse has reached its source, or the head of a packet its destination.
    #[inline(never)]
    fn control_ended(&mut self, now: Instant, frame: Frame) {
        match self.feedback().end(now, &frame) {
            Ended::Signal { flow, signal, limiter } => {
                if let Some(limiter) = limiter {
                    self.on_signal(now, limiter, &signal);
                }
                self.accounts().signal_ends(flow);
            }
            Ended::Head { flow, packet } => {
                let received = self.senders.head_received(now, flow, packet, self.network.packets_mut());
                self.answer(now, flow, Some(Came { frame, packet, cut: true }), received);
            }
        }
    }

    /// A frame has found no room at a port, or behind the link of it: it is lost, or cut to its head.
    #[inline(never)]
    pub(super) fn refused(&mut self, now: Instant, port: PortId, frame: Frame, no_room: NoRoom) {
        if let Some(head) = self.accounts().lose_or_cut(now, port, &frame, no_room) {
            let hop = self.network.enqueue_head(now, head, &mut self.schedule);
            self.route(now, hop);
        }
        if !frame.is(flag::NOT_DATA) {
            let hop = self.network.show_no_room(now, port, frame, no_room, &mut self.schedule);
            self.route(now, hop);
        }
    }
}

/// What receivers answer.
impl Engine {
    /// Does what follows from what a receiver has got; hosts that give credit are told of what `came`, if it was a packet.
    #[inline(always)]
    pub(super) fn answer(&mut self, now: Instant, flow: FlowId, came: Option<Came>, received: Received) {
        if let (Some(granting), Some(came)) = (&mut self.granting, came) {
            let Engine { network, senders, schedule, .. } = self;
            let facts = || senders.packet_facts(flow, came.packet, network.packets());
            granting.reached(now, network.path(came.frame.path()), came, facts, schedule);
        }
        if received.completes {
            self.accounts().receive_all(now, flow);
        }
        if let Some(ack) = received.ack {
            self.recording.count(Counted::AckSent);
            let hop = self.network.acknowledge(now, ack, &mut self.schedule);
            self.route(now, hop);
        }
    }
}

/// Signals and probes.
impl Engine {
    /// A signal reaches a reaction point.
    pub(super) fn on_signal(&mut self, now: Instant, limiter: LimiterId, signal: &Signal) {
        self.recording.count(Counted::MessageHeard);
        self.hosts().update_limiter(now, limiter);
        self.senders.on_signal(now, limiter, signal);
        let flow = self.senders.last_flow(limiter);
        self.rp_changed(now, limiter);
        if self.senders.take_credit(flow) {
            self.request_send(now, flow);
        }
    }

    /// Carries the state of a reaction point over to its pacer and its wake-up, and sends the probes that it has.
    pub(super) fn rp_changed(&mut self, now: Instant, limiter: LimiterId) {
        if self.senders.update_pacer(now, limiter, &mut self.schedule)
            && let Some(adapter) = self.hosts().pacer_changed(now, limiter)
        {
            self.serve_adapter(now, adapter);
        }
        if self.senders.probe() {
            self.send_probes(now, limiter);
        }
    }

    /// Sends the probes that a reaction point has.
    #[cold]
    fn send_probes(&mut self, now: Instant, limiter: LimiterId) {
        while let Some(hop) = self.feedback().send_probe(now, limiter) {
            self.route(now, hop);
        }
    }
}

/// Frames that leave hosts.
impl Engine {
    /// A flow may have a frame to send: it waits for its limiter or its link, or sends.
    #[inline]
    pub(super) fn request_send(&mut self, now: Instant, flow: FlowId) {
        if self.senders.is_alone(flow) {
            self.release(now, flow);
        } else if let Some(adapter) = self.hosts().join_limiter(now, flow) {
            self.serve_adapter(now, adapter);
        }
    }

    /// A flow that is alone on its link sends a frame, now or when its pacer and the link allow.
    #[inline(never)]
    pub(super) fn release(&mut self, now: Instant, flow: FlowId) {
        let Some(frame) = self.hosts().release(now, flow) else { return };
        let port = self.senders.port(flow);
        let hop = self.network.send_alone(now, port, frame, &mut self.schedule);
        self.route(now, hop);
        if self.senders.probe() {
            self.send_probes(now, self.senders.limiter(flow));
        }
        self.senders.after_release(now, flow, self.network.next_start(port), &mut self.schedule);
    }

    /// An adapter's link is free: the flow that is next sends a frame.
    pub(super) fn serve_adapter(&mut self, now: Instant, id: AdapterId) {
        let Some((flow, limiter)) = self.hosts().next_served(now, id) else { return };
        let served = self.hosts().serve(now, flow);
        if let Served::Frame(frame) = served {
            let hop = self.network.forward(now, self.senders.adapter_port(id), frame, &mut self.schedule);
            self.route(now, hop);
            if self.senders.probe() {
                self.send_probes(now, limiter);
            }
        }
        let next = self.hosts().after_service(now, flow, &served);
        if let Some(other) = next.filter(|other| *other != id)
            && self.hosts().schedule_adapter(now, other)
        {
            self.serve_adapter(now, other);
        }
        if self.senders.waiting_at(id).1 != 0 && self.hosts().schedule_adapter(now, id) {
            self.serve_adapter(now, id);
        }
    }
}
