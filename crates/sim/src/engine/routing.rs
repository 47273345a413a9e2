//! Effects on their way from part to part: frames to ports, signals back, rates to whoever sends.
//!
//! A frame that a host sends may meet a congestion point at the host's own port, whose signal changes the rate at which that
//! host sends, at the same instant. So these calls come back to themselves; to have the loop cut them would put a signal behind
//! other events of its instant. No part sees that: each is called, answers, and is left.

use super::Engine;
use super::effects::{Counted, Received};
use super::granting::Came;
use super::network::{Hop, HostLink, NoRoom};
use super::schedule::Event;
use super::senders::{Outlet, Served};
use super::shortcuts::counting_sinks::count_full_link;
use crate::frame::{Frame, flag};
use crate::ids::{AdapterId, FlowId, LimiterId, PortId};
use qcnlab_schemes::Signal;
use qcnlab_units::Instant;

/// Frames that come to ports.
impl Engine {
    /// A data frame or an acknowledgement comes to a port.
    #[inline(always)]
    pub(super) fn forward(&mut self, now: Instant, id: PortId, frame: Frame) {
        let hop = self.network.forward(now, id, frame, &mut self.schedule);
        self.follow(now, hop);
    }

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
        if self.senders.update_pacer(now, limiter, &mut self.schedule) {
            let flow = self.senders.last_flow(limiter);
            match self.senders.outlet(flow) {
                Outlet::Adapter => self.advance_limiter(now, limiter),
                Outlet::OnDemand | Outlet::Link => self.hosts().link_changed(now, flow),
            }
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
        if self.senders.outlet(flow) != Outlet::Adapter {
            return self.release_flow(now, flow);
        }
        if self.senders.join_limiter(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each)) {
            self.advance_limiter(now, self.senders.limiter(flow));
        }
    }

    /// The pacer of a limiter may release a frame.
    #[inline]
    pub(super) fn release(&mut self, now: Instant, limiter: LimiterId) {
        let Some(flow) = self.senders.last_flow_if_there(limiter) else { return };
        match self.senders.outlet(flow) {
            Outlet::Adapter => self.advance_limiter(now, limiter),
            Outlet::Link | Outlet::OnDemand => self.release_flow(now, flow),
        }
    }

    /// A flow that is alone on its link sends a frame, now or when its pacer and the link allow.
    #[inline(always)]
    fn release_flow(&mut self, now: Instant, flow: FlowId) {
        if self.senders.is_pair(flow) { self.release_packet(now, flow) } else { self.release_plain(now, flow) }
    }

    #[inline(never)]
    fn release_plain(&mut self, now: Instant, flow: FlowId) {
        if let Some(frame) = self.hosts().release_plain(now, flow) {
            self.released(now, flow, frame);
        }
    }

    /// As [`release_flow`](Engine::release_flow), of a queue pair.
    #[inline(never)]
    pub(super) fn release_packet(&mut self, now: Instant, flow: FlowId) {
        if let Some(frame) = self.hosts().release_packet(now, flow) {
            self.released(now, flow, frame);
        }
    }

    /// A flow that is alone on its link has sent a frame, and is scheduled for the next.
    #[inline(always)]
    fn released(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        self.recording.on_sent(flow, frame.octets());
        let port = self.senders.port(flow);
        if self.network.is_plain(port) && !self.senders.probe() {
            self.network.transmit_plain(now, port, frame, &mut self.schedule);
        } else {
            self.forward(now, port, frame);
            self.send_probes(now, self.senders.limiter(flow));
        }
        let free = self.network.next_start(port);
        self.senders.after_release(now, flow, free, &mut self.schedule);
    }

    /// Sends the first flow in a limiter's queue on to its adapter, now or when the pacer allows.
    fn advance_limiter(&mut self, now: Instant, limiter: LimiterId) {
        if let Some(adapter) = self.hosts().move_to_adapter(now, limiter) {
            self.schedule_adapter(now, adapter);
        }
    }

    /// Has an adapter serve when its link is free.
    fn schedule_adapter(&mut self, now: Instant, id: AdapterId) {
        let serves_one = self.senders.serves_one(id);
        match self.network.host_link(self.senders.adapter_port(id)) {
            // With other frames on the link, all flows that are released at this instant join the adapter first.
            HostLink::Transmits => {}
            HostLink::Idle(_) if serves_one => self.serve_adapter(now, id),
            HostLink::Idle(queues) => self.network.start_transmission(now, queues, &mut self.schedule),
            HostLink::Computed { free, pausable } if pausable && serves_one && free <= now => {
                self.serve_adapter(now, id)
            }
            HostLink::Computed { free, .. } => self.schedule.set(Event::AdapterService(id), free.max(now)),
        }
    }

    /// An adapter's link is free: the flow that is next sends a frame.
    pub(super) fn serve_adapter(&mut self, now: Instant, id: AdapterId) {
        let port = self.senders.adapter_port(id);
        let (mut classes, mut idle) = (u8::MAX, None);
        match self.network.host_link(port) {
            HostLink::Transmits => return,
            HostLink::Idle(queues) => (classes, idle) = (self.network.open_classes(now, queues), Some(queues)),
            HostLink::Computed { free, .. } if free > now => return self.schedule_adapter(now, id),
            HostLink::Computed { .. } => {}
        }
        let Some((flow, limiter)) = self.senders.next_served(id, classes) else {
            // All flows that wait are paused: the port waits until one may resume.
            if let Some(queues) = idle {
                self.network.start_transmission(now, queues, &mut self.schedule);
            }
            return;
        };
        self.hosts().tell_waiting(id);
        let Engine { network, senders, recording, schedule, .. } = self;
        match senders.serve(now, flow, network.packets_mut(), schedule, |each| recording.on_refusal(each)) {
            Served::Frame(frame) => {
                self.recording.on_sent(flow, frame.octets());
                self.forward(now, port, frame);
                self.send_probes(now, limiter);
                self.senders.join_limiter(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each));
            }
            Served::Nothing => {
                self.senders.join_limiter(now, flow, &mut self.schedule, |each| self.recording.on_refusal(each));
            }
            Served::TooSoon => {}
        }
        if let Some(other) = self.hosts().move_to_adapter(now, limiter)
            && other != id
        {
            self.schedule_adapter(now, other);
        }
        if self.senders.waiting_at(id).1 != 0 {
            self.schedule_adapter(now, id);
        }
    }
}
