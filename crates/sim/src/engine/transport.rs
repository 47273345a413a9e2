//! The ends of flows: what a receiver answers, and what a sender hears of it.

use super::Engine;
use super::effects::{Counted, Received};
use super::granting::Came;
use crate::frame::Frame;
use crate::ids::FlowId;
use crate::plan::CompletesAt;
use qcnlab_units::Instant;

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

    /// An acknowledgement reaches the sender of a packet.
    #[inline(always)]
    pub(super) fn packet_acknowledged(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let id = frame.packet();
        let told = self.senders.packet_acknowledged(now, flow, id, self.network.packets());
        let completes = told.finished && self.recording.finishes(now, flow);
        if told.minds {
            let limiter = self.senders.tell_acknowledged(now, flow, id, told.newly, self.network.packets());
            if told.frees_nothing || completes || !self.senders.is_alone(flow) || self.senders.probe() {
                self.rp_changed(now, limiter);
            } else {
                // A queue pair that is alone on its link is scheduled once: for when its window and its pacer allow.
                self.senders.update_pacer(now, limiter, &mut self.schedule);
            }
        }
        self.network.packets_mut().end(id);
        if completes {
            self.accounts().finish(now, flow, CompletesAt::Sender);
        }
        self.senders.schedule_pair_timer(flow, &mut self.schedule);
        if !told.frees_nothing {
            self.request_send(now, flow);
        }
        if told.finished {
            self.accounts().end_message(flow);
        }
    }
}
