//! Effects on their way from part to part: frames to ports, signals back, rates to whoever sends.
//!
//! A frame that a host sends may meet a congestion point at the host's own port, whose signal changes the rate at which that
//! host sends, at the same instant. So these calls come back to themselves; to have the loop cut them would put a signal behind
//! other events of its instant. No part sees that: each is called, answers, and is left.

use super::Engine;
use super::effects::{Counted, Received};
use super::granting::Came;
use super::network::{Hop, NoRoom};
use super::senders::{Outlet, Served};
use super::shortcuts::counting_sinks::count_full_link;
use crate::frame::{Frame, flag};
use crate::ids::{AdapterId, FlowId, LimiterId, PortId};
use qcnlab_schemes::Signal;
use qcnlab_units::Instant;

/// Frames that come to ports.
impl Engine {
    /// Does what follows when a frame has moved: nothing, for most of them.
    #[inline(always)]
    pub(super) fn follow(&mut self, now: Instant, hop: Hop) {
        match hop {
            Hop::Taken => {}
            Hop::LinkFull(port) => count_full_link(now, port, &mut self.network, &mut self.recording),
            _ => self.route(now, hop),
        }
    }

    /// As [`follow`](Engine::follow), where something follows.
    #[inline(never)]
    fn route(&mut self, now: Instant, hop: Hop) {
        match hop {
            Hop::Taken => {}
            Hop::LinkFull(port) => count_full_link(now, port, &mut self.network, &mut self.recording),
            Hop::Signal { port, frame, signal, full } => {
                if full {
                    count_full_link(now, port, &mut self.network, &mut self.recording);
                }
                let hop = self.feedback().send(now, port, frame, signal);
                self.follow(now, hop);
            }
            Hop::Refused { port, frame, shows } => self.refused(now, port, frame, NoRoom::Queue { shows }),
            Hop::Returned(frame) => {
                let (flow, signal, limiter) = self.feedback().hear(now, &frame);
                if let Some(limiter) = limiter {
                    self.on_signal(now, limiter, &signal);
                }
                self.accounts().signal_ends(flow);
            }
            Hop::Head { flow, frame, packet } => {
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
            self.follow(now, hop);
        }
        if !frame.is(flag::NOT_DATA) {
            let hop = self.network.show_no_room(now, port, frame, no_room, &mut self.schedule);
            self.follow(now, hop);
        }
    }
}

/// What receivers answer.
impl Engine {
    /// Does what follows from what a receiver has got; hosts that give credit are told of what `came`, if it was a packet.
    #[inline(always)]
    pub(super) fn answer(&mut self, now: Instant, flow: FlowId, came: Option<Came>, received: Received) {
        let Engine { network, senders, recording, schedule, .. } = self;
        if let (Some(granting), Some(came)) = (&mut self.granting, came) {
            let facts = || senders.packet_facts(flow, came.packet, network.packets());
            granting.reached(now, network.path(came.frame.path()), came, facts, schedule);
        }
        let hop = received.ack.map(|ack| {
            recording.count(Counted::AckSent);
            network.acknowledge(now, ack, schedule)
        });
        if received.completes {
            self.accounts().receive_all(now, flow);
        }
        if let Some(hop) = hop {
            self.follow(now, hop);
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
        self.send_probes(now, limiter);
    }

    /// Sends the probes that a reaction point has.
    #[inline(always)]
    fn send_probes(&mut self, now: Instant, limiter: LimiterId) {
        if self.senders.probe() {
            while let Some(hop) = self.feedback().send_probe(now, limiter) {
                self.follow(now, hop);
            }
        }
    }
}

/// Frames that leave hosts.
impl Engine {
    /// A flow may have a frame to send: it waits for its limiter or its link, or sends.
    pub(super) fn request_send(&mut self, now: Instant, flow: FlowId) {
        let refused = |each| self.recording.on_refusal(each);
        if self.senders.outlet(flow) != Outlet::Adapter
            || self.senders.join_limiter(now, flow, &mut self.schedule, refused)
        {
            self.release(now, flow);
        }
    }

    /// The pacer of a flow may release a frame: to its adapter, or, of a flow that is alone on its link, to that.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, flow: FlowId) {
        if self.senders.outlet(flow) == Outlet::Adapter {
            let limiter = self.senders.limiter(flow);
            if let Some(adapter) = self.hosts().advance_limiter(now, limiter) {
                self.serve_adapter(now, adapter);
            }
            return;
        }
        let Some(frame) = self.hosts().release(now, flow) else { return };
        let port = self.senders.port(flow);
        let hop = self.network.send_alone(now, port, frame, &mut self.schedule);
        self.follow(now, hop);
        self.send_probes(now, self.senders.limiter(flow));
        self.senders.after_release(now, flow, self.network.next_start(port), &mut self.schedule);
    }

    /// An adapter's link is free: the flow that is next sends a frame.
    pub(super) fn serve_adapter(&mut self, now: Instant, id: AdapterId) {
        let Some((flow, limiter)) = self.hosts().next_served(now, id) else { return };
        let served = self.hosts().serve(now, flow);
        if let Served::Frame(frame) = served {
            let hop = self.network.forward(now, self.senders.adapter_port(id), frame, &mut self.schedule);
            self.follow(now, hop);
            self.send_probes(now, limiter);
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
