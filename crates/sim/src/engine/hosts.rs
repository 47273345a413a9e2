//! Links of hosts, and the flows that wait for them, up to the frame that leaves.
//!
//! What a frame meets when it has left may come back to its sender. Nothing here does: these are steps on the parts that hosts
//! and their links take, and the [routing](super::routing) goes from one to the next.

use super::Engine;
use super::network::Network;
use super::recording::Recording;
use super::schedule::Schedule;
use super::senders::{Outlet, Senders, Woken};
use crate::frame::Frame;
use crate::ids::{AdapterId, FlowId, LimiterId};
use qcnlab_units::Instant;

/// The parts that have to do with a host's link.
pub(super) struct Hosts<'a> {
    pub(super) network: &'a mut Network,
    pub(super) senders: &'a mut Senders,
    pub(super) recording: &'a mut Recording,
    pub(super) schedule: &'a mut Schedule,
}

impl Engine {
    /// Its hosts and their links.
    #[inline(always)]
    pub(super) const fn hosts(&mut self) -> Hosts<'_> {
        let Engine { network, senders, recording, schedule, .. } = self;
        Hosts { network, senders, recording, schedule }
    }
}

impl Hosts<'_> {
    /// Takes the next frame of a flow that is alone on its link and no queue pair, if its pacer and the link allow it now.
    #[inline(always)]
    pub(super) fn release_plain(self, now: Instant, flow: FlowId) -> Option<Frame> {
        let Hosts { network, senders, recording, schedule } = self;
        let free = network.next_start(senders.port(flow));
        senders.release(now, flow, free, schedule, |each| recording.on_refusal(each))
    }

    /// As [`release_plain`](Hosts::release_plain), of a queue pair.
    #[inline(always)]
    pub(super) fn release_packet(self, now: Instant, flow: FlowId) -> Option<Frame> {
        let Hosts { network, senders, schedule, .. } = self;
        let free = network.next_start(senders.port(flow));
        senders.release_packet(now, flow, free, network.packets_mut(), schedule)
    }

    /// A flow that is alone on its link may send at other times: its rate has changed, or its link was paused or has another
    /// rate.
    #[inline(always)]
    pub(super) fn link_changed(self, now: Instant, flow: FlowId) {
        if self.senders.outlet(flow) == Outlet::OnDemand {
            return self.schedule_on_demand(flow);
        }
        reschedule(now, flow, self.network, self.senders, self.schedule);
    }

    /// A reaction point wakes up, if it still waits for that when its flow has sent what it had to on demand.
    #[inline(always)]
    pub(super) fn wake(mut self, now: Instant, limiter: LimiterId) -> Option<Woken> {
        if !self.senders.is_awaited(now, limiter) {
            return None;
        }
        self.update_limiter(now, limiter);
        self.senders.is_awaited(now, limiter).then(|| self.senders.wake(now, limiter))
    }

    /// Sends the first flow in a limiter's queue on to its adapter, now or when the pacer allows; returns the adapter at which
    /// it waits from now on, which is not scheduled yet.
    #[inline(always)]
    pub(super) fn move_to_adapter(mut self, now: Instant, limiter: LimiterId) -> Option<AdapterId> {
        let adapter = self.senders.move_to_adapter(now, limiter, self.schedule)?;
        self.tell_waiting(adapter);
        Some(adapter)
    }

    /// Tells the port behind an adapter which classes wait there.
    #[inline(always)]
    pub(super) fn tell_waiting(&mut self, adapter: AdapterId) {
        if let (Some(queues), classes) = self.senders.waiting_at(adapter) {
            self.network.flows_wait(queues, classes);
        }
    }
}

/// A flow that is alone on its link, which has events, may send at other times.
#[inline(never)]
fn reschedule(now: Instant, flow: FlowId, network: &Network, senders: &Senders, schedule: &mut Schedule) {
    let free = network.next_start(senders.port(flow));
    senders.reschedule(now, flow, free, schedule);
}
