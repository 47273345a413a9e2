//! What begins, is lost or is over: frames are counted, messages begin and end, limiters go, flows that waited start.
//!
//! Nothing here comes back to who called it: none of it sends a frame or a signal.

use super::Engine;
use super::dependencies::Dependencies;
use super::effects::{Counted, Effect};
use super::ending::RunEnd;
use super::network::{Network, NoRoom};
use super::recording::Recording;
use super::schedule::Schedule;
use super::senders::Senders;
use super::signalling::{ControlFrame, Leg, Signalling};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, LimiterId, PacketId, PortId};
use crate::plan::CompletesAt;
use qcnlab_units::Instant;

/// The parts that are told when something is lost or over.
pub(super) struct Accounts<'a> {
    network: &'a mut Network,
    senders: &'a mut Senders,
    signalling: &'a mut Signalling,
    recording: &'a mut Recording,
    dependencies: &'a mut Dependencies,
    run_end: &'a mut RunEnd,
    schedule: &'a mut Schedule,
}

impl Engine {
    /// Its accounts.
    #[inline(always)]
    pub(super) const fn accounts(&mut self) -> Accounts<'_> {
        let Engine { network, senders, signalling, recording, dependencies, run_end, schedule, .. } = self;
        Accounts { network, senders, signalling, recording, dependencies, run_end, schedule }
    }
}

impl Accounts<'_> {
    /// Does what follows from a call with several effects.
    #[cold]
    pub(super) fn settle(mut self, now: Instant) {
        while let Some(effect) = self.network.next_effect() {
            match effect {
                Effect::Count(counted) => self.recording.count(counted),
                Effect::PauseEnds { port, class, ended } => self.recording.on_pause(port, class, ended),
                Effect::Lost { frame, .. } if frame.is(flag::NOT_DATA) => self.lose_control(frame),
                Effect::Lost { port, frame, because } => {
                    because.into_iter().for_each(|counted| self.recording.count(counted));
                    self.lose_data(now, port, &frame);
                }
            }
        }
    }

    /// A frame has found no room at a port, or behind the link of it: it is lost, or cut, if it is a packet of RoCE and its node
    /// does that. Returns its head if it is cut.
    #[inline(always)]
    pub(super) fn lose_or_cut(mut self, now: Instant, port: PortId, frame: &Frame, no_room: NoRoom) -> Option<Frame> {
        self.network.free(now, frame, self.schedule);
        if frame.is(flag::NOT_DATA) {
            self.lose_control(*frame);
            return None;
        }
        let (counts_as, cut) = self.network.about_no_room(port, frame, no_room);
        if let Some(counted) = counts_as {
            self.recording.count(counted);
        }
        let flow = self.network.flow_of(frame);
        let Some(plan) = cut.filter(|_| frame.is(flag::SEGMENT) && self.senders.is_pair(flow)) else {
            self.lose_data(now, port, frame);
            return None;
        };
        self.recording.on_drop(now, port, flow, frame.octets());
        self.recording.count(Counted::PacketTrimmed);
        let leg = Leg { size: plan.size, class: plan.class, path: frame.path(), hop: frame.hop(), direction: 0 };
        Some(self.signalling.frame(ControlFrame::Head(frame.packet()), leg))
    }

    /// A data frame is lost at a port.
    pub(super) fn lose_data(&mut self, now: Instant, port: PortId, frame: &Frame) {
        let flow = self.network.flow_of(frame);
        if self.recording.on_drop(now, port, flow, frame.octets()) {
            self.run_end.close_flow(now);
        }
        if frame.is(flag::SEGMENT) {
            self.lose_packet(flow, frame.packet());
        }
    }

    /// A control frame or an acknowledgement is lost.
    pub(super) fn lose_control(&mut self, frame: Frame) {
        let flow = self.network.flow_of(&frame);
        if frame.is(flag::ACK) {
            self.recording.count(Counted::AckLost);
            return self.lose_packet(flow, frame.packet());
        }
        let lost = self.signalling.take(&frame);
        self.recording.count(lost.counts_as_lost());
        match lost {
            ControlFrame::Signal(of) => self.signal_ends(self.network.flow_of(&of.sampled)),
            ControlFrame::Probe(_) => {}
            ControlFrame::Head(packet) => self.lose_packet(flow, packet),
        }
    }

    /// What a frame of a flow carried is lost: `packet`, if the flow is a queue pair.
    fn lose_packet(&mut self, flow: FlowId, packet: PacketId) {
        if self.senders.packet_lost(flow) {
            self.network.packets_mut().end(packet);
            self.end_message(flow);
        }
    }

    /// A message begins.
    #[cold]
    pub(super) fn begin_message(self, flow: FlowId) {
        let np = self.senders.begin_message(flow, self.recording.plan_of(flow));
        self.signalling.begin(flow, np);
    }

    /// A message, or what a connection carries, is complete at one of its ends: starts the flows that waited for that.
    #[cold]
    fn complete(self, now: Instant, flow: FlowId, here: CompletesAt) {
        for (flow, start) in self.dependencies.completed(now, flow, here) {
            match start {
                Some(start) => self.senders.start_flow(flow, start, self.schedule),
                None => (0..self.dependencies.abandon(flow)).for_each(|_| self.run_end.close_flow(now)),
            }
        }
    }

    /// A receiver has all of a message or a connection; a connection has finished with that.
    #[cold]
    pub(super) fn receive_all(self, now: Instant, flow: FlowId) {
        if self.senders.is_pair(flow) {
            return self.complete(now, flow, CompletesAt::Receiver);
        }
        self.recording.finishes(now, flow);
        self.finish(now, flow, CompletesAt::Receiver);
    }

    /// A sender has heard that all of a message or a connection has come; a message has finished with that.
    #[cold]
    pub(super) fn acknowledge_all(self, now: Instant, flow: FlowId) {
        if !self.senders.is_pair(flow) {
            self.complete(now, flow, CompletesAt::Sender);
        } else if self.recording.finishes(now, flow) {
            self.finish(now, flow, CompletesAt::Sender);
        }
    }

    /// As [`complete`](Accounts::complete), at the end that says that a flow has finished.
    #[cold]
    fn finish(self, now: Instant, flow: FlowId, here: CompletesAt) {
        self.run_end.close_flow(now);
        self.complete(now, flow, here);
    }

    /// A message may be over.
    pub(super) fn end_message(&mut self, flow: FlowId) {
        if let Some(limiter) = self.senders.end_message(flow) {
            self.signalling.end(flow);
            self.end_limiter(limiter);
        }
    }

    /// A limiter may have nothing to do any more.
    #[inline(always)]
    pub(super) fn end_limiter(&mut self, limiter: LimiterId) {
        if self.senders.end_limiter(limiter, self.signalling.reach(limiter)) {
            self.signalling.forget(limiter);
        }
    }

    /// A signal about a flow, which travelled in a control frame, has been heard or lost.
    pub(super) fn signal_ends(&mut self, flow: FlowId) {
        let limiter = self.senders.signal_ends(flow);
        self.end_limiter(limiter);
    }

    /// Counts that a reaction point took the absence of an answer for bandwidth, and whether a congestion point on its
    /// path has had none since it asked at `asked_at`.
    #[cold]
    pub(super) fn count_alarm(self, now: Instant, limiter: LimiterId, asked_at: Instant) {
        self.recording.count(Counted::Alarm);
        let flow = self.senders.last_flow(limiter);
        let (path, class) = (self.senders.first_path(flow), self.senders.class(flow));
        if self.network.lacks_bandwidth(now, path, class, asked_at) {
            self.recording.count(Counted::FalseAlarm);
        }
    }
}
