//! Signals: from congestion points and notification points back to reaction points.

use super::Engine;
use super::recording::Counted;
use super::schedule::Event;
use super::signalling::{ControlFrame, Leg, SignalOf};
use crate::frame::{Frame, flag};
use crate::ids::{LimiterId, PortId};
use crate::plan::Feedback;
use crate::source::Source;
use qcnlab_schemes::registry::AnyRp;
use qcnlab_schemes::{CongestionPoint, Observation, ReactionPoint, Signal, SonarObservation};
use qcnlab_units::Instant;

impl Engine {
    /// Sends a signal from `port` to the source of `frame`.
    #[cold]
    pub(super) fn send_signal(&mut self, now: Instant, port: PortId, frame: Frame, signal: Signal) {
        let signal = match self.signalling.feedback() {
            Feedback::Ideal => signal,
            // What a frame cannot carry is lost where it is made.
            Feedback::Frames { .. } => signal.carried(),
        };
        self.recording.on_message(now, port, self.network.flow_of(&frame), signal);
        match self.signalling.feedback() {
            Feedback::Ideal => {
                let crossed = &self.network.routes.ports_of(frame.path())[..usize::from(frame.hop())];
                let at = crossed.iter().fold(now, |at, port| at + self.network.ports[*port].delay());
                self.capture_ideal(now, port, &frame, at, signal);
                match self.hearing_limiter(&frame) {
                    Some(limiter) => self.deliver_ideally(at, limiter, signal),
                    None => self.recording.count(Counted::MessageIgnored),
                }
            }
            Feedback::Frames { size, class } => {
                let carried = ControlFrame::Signal(SignalOf { signal, sampled: frame, sampled_at: port });
                let leg = Leg { size, class, path: frame.path(), hop: frame.hop(), direction: flag::REVERSE };
                let control = self.signalling.frame(carried, leg);
                let flow = self.network.flow_of(&frame);
                self.senders.limiters[self.senders.flows[flow].limiter].signals += 1;
                self.send_reverse(now, control);
            }
        }
    }

    /// Ideal feedback: has a signal reach its limiter at `at`.
    pub(super) fn deliver_ideally(&mut self, at: Instant, limiter: LimiterId, signal: Signal) {
        if let Some(first) = self.signalling.deliver_at(at, limiter, signal) {
            self.schedule.set(Event::SignalArrival(limiter), first);
        }
    }

    /// The limiter that hears a message about `sampled`; `None` if its host has no reaction points.
    fn hearing_limiter(&self, sampled: &Frame) -> Option<LimiterId> {
        let flow = self.network.flow_of(sampled);
        let own = self.senders.flows[flow].limiter;
        self.domain.as_ref().map_or(Some(own), |domain| domain.hearing_limiter(flow, own, sampled))
    }

    /// A message reaches the host of the frame that it is about.
    pub(super) fn message_received(&mut self, now: Instant, sampled: &Frame, signal: &Signal) {
        match self.hearing_limiter(sampled) {
            Some(limiter) => self.on_signal(now, limiter, signal),
            None => self.recording.count(Counted::MessageIgnored),
        }
    }

    /// Ideal feedback: the next signal reaches its limiter.
    pub(super) fn signal_arrives(&mut self, now: Instant, limiter: LimiterId) {
        let Some((signal, next)) = self.signalling.hear(limiter) else { return };
        if let Some(at) = next {
            self.schedule.set(Event::SignalArrival(limiter), at);
        }
        self.on_signal(now, limiter, &signal);
        self.senders.end_limiter(limiter, &self.signalling);
    }

    /// A signal reaches a reaction point.
    pub(super) fn on_signal(&mut self, now: Instant, id: LimiterId, signal: &Signal) {
        self.recording.count(Counted::MessageHeard);
        self.update_limiter(now, id);
        let limiter = &mut self.senders.limiters[id];
        limiter.driver.on_signal(now, signal);
        let flow = limiter.last_flow;
        self.rp_changed(now, id);
        // It may have brought credit.
        let sender = &mut self.senders.flows[flow];
        if let Source::Roce(pair) = &mut sender.source
            && pair.sends_by_credit()
        {
            pair.update_permits(&self.senders.limiters[id].driver.rp);
            self.request_send(now, flow);
        }
    }

    /// A reaction point wakes up.
    pub(super) fn wake_rp(&mut self, now: Instant, id: LimiterId) {
        if self.senders.limiters.get(id).is_none_or(|limiter| limiter.driver.wake != now) {
            return;
        }
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
        self.senders.end_limiter(id, &self.signalling);
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
        self.recording.count(Counted::Alarm);
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
        if missing {
            self.recording.count(Counted::FalseAlarm);
        }
    }
}

/// What a reaction point of QCN-SONAR has concluded from silence; `None` for other schemes.
fn alarms(rp: &AnyRp) -> Option<SonarObservation> {
    match rp.observation()? {
        Observation::Sonar(sonar) => Some(sonar),
    }
}
