//! Ideal feedback: signals cross no link, and are heard after the propagation delay of their way.
//!
//! Nothing here comes back to who called it: that a signal is heard is an event of its own.

use super::Engine;
use super::capturing::Capture;
use super::effects::Counted;
use super::network::Network;
use super::recording::Recording;
use super::schedule::Schedule;
use super::senders::Senders;
use super::signalling::Signalling;
use crate::frame::{Frame, Parts, flag};
use crate::ids::{PathId, PortId};
use qcnlab_schemes::{NotificationPoint, Probe, Signal};
use qcnlab_units::{Instant, Span};

/// The parts that ideal feedback passes.
pub(super) struct IdealFeedback<'a> {
    network: &'a mut Network,
    senders: &'a Senders,
    signalling: &'a mut Signalling,
    recording: &'a mut Recording,
    schedule: &'a mut Schedule,
    capture: Option<&'a mut Capture>,
}

impl Engine {
    /// Its ideal feedback.
    #[inline(always)]
    pub(super) fn ideal_feedback(&mut self) -> IdealFeedback<'_> {
        let Engine { network, senders, signalling, recording, schedule, capture, .. } = self;
        IdealFeedback { network, senders, signalling, recording, schedule, capture: capture.as_deref_mut() }
    }
}

impl IdealFeedback<'_> {
    /// Sends a signal from `port` to the source of `frame`.
    pub(super) fn send(self, now: Instant, port: PortId, frame: &Frame, signal: Signal) {
        let flow = self.network.flow_of(frame);
        self.recording.on_message(now, port, flow, signal);
        let at = self.network.heard_ideally(now, frame);
        if let Some(capture) = self.capture {
            capture.on_ideal((now, at), (port, self.senders.port(flow)), flow, frame, signal);
        }
        match self.network.hearing_limiter(self.senders.limiter(flow), frame) {
            Some(limiter) => self.signalling.send_ideally(at, limiter, signal, self.schedule),
            None => self.recording.count(Counted::MessageIgnored),
        }
    }

    /// A probe sees every queue of a path as it is now; the answer arrives after the propagation of both ways.
    pub(super) fn probe(self, now: Instant, id: PathId, class: u8, mut probe: Probe) {
        self.recording.count(Counted::ProbeEnded);
        let mut propagation = Span::ZERO;
        for hop in 0..self.network.ports_of(id).len() {
            let port = self.network.ports_of(id)[hop];
            if let Some(signal) = self.network.show_probe(now, port, class, &mut probe) {
                return self.answer(now, port, id, propagation, signal);
            }
            propagation = propagation + self.network.delay(port);
        }
        let flow = self.network.path(id).flow;
        if let Some(signal) = self.signalling.notification_point(flow).and_then(|np| np.on_probe(now, &probe)) {
            let last = self.network.last_port(id);
            self.answer(now, last, id, propagation, signal);
        }
    }

    fn answer(self, now: Instant, port: PortId, path: PathId, propagation: Span, signal: Signal) {
        let flow = self.network.path(path).flow;
        self.recording.on_message(now, port, flow, signal);
        let at = now + propagation + propagation;
        if let Some(capture) = self.capture {
            let class = self.senders.class(flow);
            let probe = Parts { path, tag: 0, size: 0, limited_by: 0, hop: 0, class, flags: flag::CONTROL };
            capture.on_ideal((now, at), (port, self.senders.port(flow)), flow, &Frame::new(probe), signal);
        }
        self.signalling.send_ideally(at, self.senders.limiter(flow), signal, self.schedule);
    }
}
