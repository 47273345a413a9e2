//! Links of hosts, and the flows that wait for them, up to the frame that leaves.
//!
//! What a frame meets when it has left may come back to its sender. Nothing here does: these are steps on the parts that hosts
//! and their links take, and the [routing](super::routing) goes from one to the next.

use super::Engine;
use super::network::{HostLink, Network};
use super::recording::Recording;
use super::schedule::{Event, Schedule};
use super::senders::{Outlet, Senders, Served, Woken};
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
    /// Takes the next frame of a flow that is alone on its link, if its pacer and the link allow it now.
    #[inline(always)]
    pub(super) fn release(self, now: Instant, flow: FlowId) -> Option<Frame> {
        let Hosts { network, senders, recording, schedule } = self;
        let free = network.next_start(senders.port(flow));
        let frame = if senders.is_pair(flow) {
            senders.release_packet(now, flow, free, network.packets_mut(), schedule)?
        } else {
            senders.release(now, flow, free, schedule, |each| recording.on_refusal(each))?
        };
        recording.on_sent(flow, frame.octets());
        Some(frame)
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

    /// The rate of a limiter has changed; returns the adapter that serves because of it now.
    #[inline(always)]
    pub(super) fn pacer_changed(self, now: Instant, limiter: LimiterId) -> Option<AdapterId> {
        let flow = self.senders.last_flow(limiter);
        if !self.senders.is_alone(flow) {
            return self.advance_limiter(now, limiter);
        }
        self.link_changed(now, flow);
        None
    }

    /// A flow may have a frame to send by an adapter: it joins the queue of its limiter, or is scheduled for when it has one.
    /// Returns the adapter that serves because of it now.
    #[inline(always)]
    pub(super) fn join_limiter(self, now: Instant, flow: FlowId) -> Option<AdapterId> {
        let Hosts { network, senders, recording, schedule } = self;
        join_limiter(now, flow, network, senders, recording, schedule)
    }

    /// Sends the first flow in a limiter's queue on to its adapter, now or when the pacer allows, and has that serve when its
    /// link is free; returns the adapter if that is now.
    #[inline(always)]
    pub(super) fn advance_limiter(mut self, now: Instant, limiter: LimiterId) -> Option<AdapterId> {
        let adapter = self.move_to_adapter(now, limiter)?;
        self.schedule_adapter(now, adapter).then_some(adapter)
    }

    /// As [`advance_limiter`](Hosts::advance_limiter), up to the adapter, which is not scheduled yet.
    #[inline(always)]
    fn move_to_adapter(&mut self, now: Instant, limiter: LimiterId) -> Option<AdapterId> {
        let adapter = self.senders.move_to_adapter(now, limiter, self.schedule)?;
        self.tell_waiting(adapter);
        Some(adapter)
    }

    /// Tells the port behind an adapter which classes wait there.
    #[inline(always)]
    fn tell_waiting(&mut self, adapter: AdapterId) {
        if let (Some(queues), classes) = self.senders.waiting_at(adapter) {
            self.network.flows_wait(queues, classes);
        }
    }

    /// Has an adapter serve when its link is free; returns whether that is now.
    #[inline(always)]
    pub(super) fn schedule_adapter(self, now: Instant, id: AdapterId) -> bool {
        let Hosts { network, senders, schedule, .. } = self;
        let serves_one = senders.serves_one(id);
        match network.host_link(senders.adapter_port(id)) {
            // With other frames on the link, all flows that are released at this instant join the adapter first.
            HostLink::Transmits => {}
            HostLink::Idle(_) if serves_one => return true,
            HostLink::Idle(queues) => network.start_transmission(now, queues, schedule),
            HostLink::Computed { free, pausable } if pausable && serves_one && free <= now => return true,
            HostLink::Computed { free, .. } => schedule.set(Event::AdapterService(id), free.max(now)),
        }
        false
    }

    /// The flow whose turn it is at an adapter, and its limiter, if the adapter's link is free; it leaves the adapter.
    #[inline(always)]
    pub(super) fn next_served(mut self, now: Instant, id: AdapterId) -> Option<(FlowId, LimiterId)> {
        let (mut classes, mut idle) = (u8::MAX, None);
        match self.network.host_link(self.senders.adapter_port(id)) {
            HostLink::Transmits => return None,
            HostLink::Idle(queues) => (classes, idle) = (self.network.open_classes(now, queues), Some(queues)),
            HostLink::Computed { free, .. } if free > now => {
                self.schedule.set(Event::AdapterService(id), free);
                return None;
            }
            HostLink::Computed { .. } => {}
        }
        let next = self.senders.next_served(id, classes);
        if next.is_some() {
            self.tell_waiting(id);
        } else if let Some(queues) = idle {
            // All flows that wait are paused: the port waits until one may resume.
            self.network.start_transmission(now, queues, self.schedule);
        }
        next
    }

    /// What a flow does whose turn it is.
    #[inline(always)]
    pub(super) fn serve(self, now: Instant, flow: FlowId) -> Served {
        let Hosts { network, senders, recording, schedule } = self;
        let served = senders.serve(now, flow, network.packets_mut(), schedule, |each| recording.on_refusal(each));
        if let Served::Frame(frame) = &served {
            recording.on_sent(flow, frame.octets());
        }
        served
    }

    /// A flow had its turn, and waits for the next, if it has a frame: returns the adapter at which the next flow of its limiter
    /// waits now, which is not scheduled yet.
    #[inline(always)]
    pub(super) fn after_service(mut self, now: Instant, flow: FlowId, served: &Served) -> Option<AdapterId> {
        if !matches!(served, Served::TooSoon) {
            self.senders.join_limiter(now, flow, self.schedule, |each| self.recording.on_refusal(each));
        }
        self.move_to_adapter(now, self.senders.limiter(flow))
    }
}

#[inline(never)]
fn join_limiter(
    now: Instant,
    flow: FlowId,
    network: &mut Network,
    senders: &mut Senders,
    recording: &mut Recording,
    schedule: &mut Schedule,
) -> Option<AdapterId> {
    if !senders.join_limiter(now, flow, schedule, |each| recording.on_refusal(each)) {
        return None;
    }
    let limiter = senders.limiter(flow);
    Hosts { network, senders, recording, schedule }.advance_limiter(now, limiter)
}

/// A flow that is alone on its link, which has events, may send at other times.
#[inline(never)]
fn reschedule(now: Instant, flow: FlowId, network: &Network, senders: &Senders, schedule: &mut Schedule) {
    let free = network.next_start(senders.port(flow));
    senders.reschedule(now, flow, free, schedule);
}
