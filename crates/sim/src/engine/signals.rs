//! Signals: from congestion points and notification points back to reaction points.

use super::Engine;
use super::schedule::{Event, Schedule};
use crate::frame::{Frame, flag};
use crate::ids::{ControlFrameId, FlowId, IdVec, LimiterId, PacketId, PortId};
use crate::plan::Feedback;
use crate::source::Source;
use qcnlab_schemes::registry::{AnyNp, AnyRp};
use qcnlab_schemes::{
    CongestionPoint, Delivered, NotificationPoint, Observation, Probe, ReactionPoint, Signal, SonarObservation,
};
use qcnlab_units::{Bytes, Instant};
use std::collections::VecDeque;

/// Feedback on its way, and who answers at destinations.
pub(super) struct Signalling {
    pub(super) feedback: Feedback,
    /// One for each flow, or none at all.
    pub(super) notification_points: IdVec<FlowId, AnyNp>,
    /// Signals on their way to each limiter, in order of arrival, under ideal feedback.
    pub(super) in_flight: IdVec<LimiterId, VecDeque<(Instant, Signal)>>,
    /// What control frames carry, and the entries that are free.
    pub(super) control_frames: IdVec<ControlFrameId, ControlFrame>,
    pub(super) free: Vec<ControlFrameId>,
}

/// What a control frame carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum ControlFrame {
    /// In reverse, to a reaction point.
    Signal {
        /// What it says.
        signal: Signal,
        /// The frame that it answers.
        sampled: Frame,
        /// The port whose queue that frame came to, or that it left last.
        sampled_at: PortId,
    },
    /// Forward, along the path of a flow.
    Probe(Probe),
    /// Forward, the head of a packet that was cut.
    Head(PacketId),
}

impl Signalling {
    /// Whether destinations answer data frames or probes.
    #[inline(always)]
    pub(super) fn notifies(&self) -> bool {
        !self.notification_points.is_empty()
    }

    /// Keeps what a control frame carries until it is taken.
    pub(super) fn keep(&mut self, carried: ControlFrame) -> ControlFrameId {
        match self.free.pop() {
            Some(id) => {
                self.control_frames[id] = carried;
                id
            }
            None => self.control_frames.push(carried),
        }
    }

    /// Takes what a control frame carries.
    pub(super) fn take(&mut self, id: ControlFrameId) -> ControlFrame {
        self.free.push(id);
        self.control_frames[id]
    }

    /// Ideal feedback: has a signal reach its limiter at `at`.
    pub(super) fn deliver_at(&mut self, schedule: &mut Schedule, at: Instant, limiter: LimiterId, signal: Signal) {
        let in_flight = &mut self.in_flight[limiter];
        let position = in_flight.partition_point(|entry| entry.0 <= at);
        in_flight.insert(position, (at, signal));
        if position == 0 {
            schedule.set(Event::SignalArrival(limiter), at);
        }
    }
}

impl Engine {
    /// Sends a signal from `port` to the source of `frame`.
    #[cold]
    pub(super) fn send_signal(&mut self, now: Instant, port: PortId, frame: Frame, signal: Signal) {
        let signal = match self.signalling.feedback {
            Feedback::Ideal => signal,
            // What a frame cannot carry is lost where it is made.
            Feedback::Frames { .. } => signal.carried(),
        };
        self.recording.counters.messages_sent += 1;
        self.recording.recorder.on_message(now, port, self.network.flow_of(&frame), signal);
        match self.signalling.feedback {
            Feedback::Ideal => {
                let crossed = &self.network.routes.ports_of(frame.path())[..usize::from(frame.hop())];
                let at = crossed.iter().fold(now, |at, port| at + self.network.ports[*port].delay());
                self.capture_ideal(now, port, &frame, at, signal);
                match self.hearing_limiter(&frame) {
                    Some(limiter) => self.signalling.deliver_at(&mut self.schedule, at, limiter, signal),
                    None => self.recording.counters.messages_ignored += 1,
                }
            }
            Feedback::Frames { size, class } => {
                let carried = ControlFrame::Signal { signal, sampled: frame, sampled_at: port };
                let control = self.control_frame(carried, size, class, frame.path(), frame.hop(), flag::REVERSE);
                self.send_reverse(now, control);
            }
        }
    }

    /// The limiter of a frame's flow.
    pub(super) fn limiter_of(&self, frame: &Frame) -> LimiterId {
        self.senders.flows[self.network.flow_of(frame)].limiter
    }

    /// Ideal feedback: the next signal reaches its limiter.
    pub(super) fn signal_arrives(&mut self, now: Instant, limiter: LimiterId) {
        let in_flight = &mut self.signalling.in_flight[limiter];
        let Some((_, signal)) = in_flight.pop_front() else { return };
        if let Some((at, _)) = in_flight.front() {
            self.schedule.set(Event::SignalArrival(limiter), *at);
        }
        self.on_signal(now, limiter, &signal);
    }

    /// A signal reaches a reaction point.
    pub(super) fn on_signal(&mut self, now: Instant, id: LimiterId, signal: &Signal) {
        self.recording.counters.messages_heard += 1;
        self.update_limiter(now, id);
        let limiter = &mut self.senders.limiters[id];
        limiter.driver.on_signal(now, signal);
        self.rp_changed(now, id);
    }

    /// A reaction point wakes up.
    pub(super) fn wake_rp(&mut self, now: Instant, id: LimiterId) {
        self.update_limiter(now, id);
        let limiter = &mut self.senders.limiters[id];
        if limiter.driver.wake != now {
            return;
        }
        let before = alarms(&limiter.driver.rp);
        limiter.driver.on_wake(now);
        if let Some(after) = alarms(&limiter.driver.rp)
            && before.is_none_or(|before| before.alarms != after.alarms)
        {
            self.count_alarm(now, id, after.asked_at);
        }
        self.rp_changed(now, id);
    }

    /// Carries the state of a reaction point over to its pacer and its wake-up, and sends the probes that it has.
    pub(super) fn rp_changed(&mut self, now: Instant, id: LimiterId) {
        if self.update_pacer(now, id) {
            self.rate_changed(now, id);
        }
        if self.senders.probe {
            self.send_probes(now, id);
        }
    }

    /// Carries the state of a reaction point over to its pacer and its wake-up; returns whether its rate has changed.
    #[inline(always)]
    pub(super) fn update_pacer(&mut self, now: Instant, id: LimiterId) -> bool {
        let limiter = &mut self.senders.limiters[id];
        if let Some(wake) = limiter.driver.changed_wake() {
            self.schedule.set(Event::RpWake(id), wake);
        }
        limiter.driver.update_pacer(now)
    }

    /// Counts that a reaction point took the absence of an answer for bandwidth, and whether a congestion point on its
    /// path has had none since it asked at `asked_at`.
    #[cold]
    fn count_alarm(&mut self, now: Instant, id: LimiterId, asked_at: Instant) {
        self.recording.counters.alarms += 1;
        let limiter = &self.senders.limiters[id];
        let sender = &self.senders.flows[limiter.last_flow];
        let path = self.network.routes.paths[sender.first_path];
        let mut missing = false;
        for hop in 0..u32::from(path.len) {
            let port = self.network.routes.ports[(path.start + hop) as usize];
            self.network.update_queue(now, port);
            if let (_, Some(cp)) = self.network.queue_of(port, sender.class) {
                missing |= self.network.cps[cp].cp.no_bandwidth_since(now).is_some_and(|since| since <= asked_at);
            }
        }
        self.recording.counters.false_alarms += u64::from(missing);
    }

    /// A data frame has reached its destination, which may answer.
    pub(super) fn receive(&mut self, now: Instant, flow: FlowId, frame: Frame) {
        let roce = frame.is(flag::SEGMENT) && matches!(self.senders.flows[flow].source, Source::Roce(_));
        if let Some(np) = self.signalling.notification_points.get_mut(flow) {
            let sent_at = if roce { self.network.packets.get(frame.packet()).sent_at } else { Instant::NEVER };
            let delivered = Delivered {
                size: Bytes::new(frame.octets()),
                mark: frame.mark(),
                controlled: frame.is(flag::CONTROLLED),
                sent_at,
            };
            if let Some(signal) = np.on_frame(now, &delivered) {
                let port = self.network.routes.last_port(frame.path());
                self.send_signal(now, port, frame, signal);
            }
        }
        if roce {
            self.packet_received(now, flow, frame);
        } else if frame.is(flag::SEGMENT) {
            self.segment_received(now, flow, frame);
        }
    }
}

/// What a reaction point of QCN-SONAR has concluded from silence; `None` for other schemes.
fn alarms(rp: &AnyRp) -> Option<SonarObservation> {
    match rp.observation()? {
        Observation::Sonar(sonar) => Some(sonar),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::{Sizes, Spacing};
    use super::*;
    use crate::ids::Id;

    /// Four signals on their way to one limiter, sent with different times to go: they are heard in the order of arrival, and
    /// of two that arrive at one instant the one that was sent first. The event is for the first of them.
    #[test]
    fn signals_are_heard_in_the_order_in_which_they_arrive() {
        let limiter = LimiterId::new(0);
        let mut signalling = Signalling {
            feedback: Feedback::Ideal,
            notification_points: IdVec::new(),
            in_flight: std::iter::once(VecDeque::new()).collect(),
            control_frames: IdVec::new(),
            free: Vec::new(),
        };
        let mut schedule = Schedule::new(Sizes { limiters: 1, ..Sizes::default() }, Spacing::default());
        for (at, says) in [(7000, 1), (5000, 2), (7000, 3), (6000, 4)] {
            signalling.deliver_at(&mut schedule, Instant::from_ps(at), limiter, Signal::Reflection(says));
        }
        let heard: Vec<(u64, Signal)> =
            signalling.in_flight[limiter].iter().map(|(at, signal)| (at.ps(), *signal)).collect();
        assert_eq!(
            heard,
            [(5000, 2), (6000, 4), (7000, 1), (7000, 3)].map(|(at, says)| (at, Signal::Reflection(says)))
        );
        let next = schedule.next().map(|(at, entity)| (at.ps(), schedule.event(entity)));
        assert_eq!((next, schedule.next()), (Some((5000, Event::SignalArrival(limiter))), None));
    }
}
