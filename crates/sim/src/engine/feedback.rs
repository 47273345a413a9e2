//! Signals and probes on their way, up to the host that hears them. Under ideal feedback they cross no link, and are heard after
//! the propagation delay of their way; else they travel as control frames.
//!
//! Nothing here comes back to who called it: a control frame that meets something on its way answers with a [`Hop`], and that a
//! signal is heard ideally is an event of its own.

use super::Engine;
use super::capturing::Capture;
use super::effects::Counted;
use super::network::{Hop, Network};
use super::recording::Recording;
use super::schedule::Schedule;
use super::senders::Senders;
use super::signalling::{ControlFrame, Leg, SignalOf, Signalling};
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, LimiterId, PacketId, PathId, PortId};
use crate::path::Path;
use crate::plan::Feedback;
use qcnlab_schemes::{NotificationPoint, Probe, Signal};
use qcnlab_units::{Instant, Span};

/// The parts that feedback passes.
pub(super) struct FeedbackPath<'a> {
    network: &'a mut Network,
    senders: &'a mut Senders,
    signalling: &'a mut Signalling,
    recording: &'a mut Recording,
    schedule: &'a mut Schedule,
    capture: Option<&'a mut Capture>,
}

impl Engine {
    /// Its feedback.
    #[inline(always)]
    pub(super) fn feedback(&mut self) -> FeedbackPath<'_> {
        let Engine { network, senders, signalling, recording, schedule, capture, .. } = self;
        FeedbackPath { network, senders, signalling, recording, schedule, capture: capture.as_deref_mut() }
    }
}

/// What a control frame brings that is at the end of its way.
pub(super) enum Ended {
    /// A signal about a flow, and the limiter that hears it, if its host has reaction points.
    Signal { flow: FlowId, signal: Signal, limiter: Option<LimiterId> },
    /// The head of a packet of a flow.
    Head { flow: FlowId, packet: PacketId },
}

impl FeedbackPath<'_> {
    /// Sends a signal from `port` to the source of `frame`.
    #[cold]
    pub(super) fn send(self, now: Instant, port: PortId, frame: Frame, signal: Signal) -> Hop {
        let flow = self.network.flow_of(&frame);
        let Feedback::Frames { size, class } = self.signalling.feedback() else {
            self.recording.on_message(now, port, flow, signal);
            self.send_ideally(now, port, &frame, signal);
            return Hop::Taken;
        };
        // What a frame cannot carry is lost where it is made.
        let signal = signal.carried();
        self.recording.on_message(now, port, flow, signal);
        let carried = ControlFrame::Signal(SignalOf { signal, sampled: frame, sampled_at: port });
        let leg = Leg { size, class, path: frame.path(), hop: frame.hop(), direction: flag::REVERSE };
        let control = self.signalling.frame(carried, leg);
        self.senders.signal_starts(flow);
        // One that is at its source already has arrived.
        if control.hop() > 0 {
            self.network.count_control_sent(&control);
        }
        self.network.send_back(now, control, self.schedule)
    }

    /// Sends the next probe of a reaction point, if it has one.
    #[cold]
    pub(super) fn send_probe(self, now: Instant, limiter: LimiterId) -> Option<Hop> {
        let probe = self.senders.take_probe(now, limiter)?;
        self.recording.count(Counted::ProbeSent);
        let flow = self.senders.last_flow(limiter);
        let (path, class) = (self.senders.first_path(flow), self.senders.class(flow));
        let Feedback::Frames { size, .. } = self.signalling.feedback() else {
            self.probe_ideally(now, path, class, probe);
            return Some(Hop::Taken);
        };
        // In the class of its flow: it measures the queue that the flow's frames wait in.
        let leg = Leg { size, class, path, hop: 0, direction: 0 };
        let frame = self.signalling.frame(ControlFrame::Probe(probe), leg);
        self.network.count_control_sent(&frame);
        Some(self.forward_probe(now, frame, probe))
    }

    /// A control frame reaches the far end of a link.
    #[inline(never)]
    pub(super) fn arrive(self, now: Instant, mut frame: Frame) -> Hop {
        if frame.is(flag::REVERSE) {
            frame.reverse_hop();
            if frame.hop() == 0 {
                self.network.end_at_source(&frame);
                self.network.free(now, &frame, self.schedule);
            }
            return self.network.send_back(now, frame, self.schedule);
        }
        frame.advance_hop();
        let Path { flow, len, .. } = *self.network.path(frame.path());
        if frame.hop() < len {
            return match *self.signalling.carried(&frame) {
                ControlFrame::Probe(probe) => self.forward_probe(now, frame, probe),
                ControlFrame::Head(_) | ControlFrame::Signal(_) => self.network.send_ahead(now, frame, self.schedule),
            };
        }
        self.network.end_at_destination(&frame);
        let ControlFrame::Probe(probe) = *self.signalling.carried(&frame) else { return Hop::Ended(frame) };
        self.signalling.take(&frame);
        self.recording.count(Counted::ProbeEnded);
        let signal = self.signalling.notification_point(flow).and_then(|np| np.on_probe(now, &probe));
        let port = self.network.last_port(frame.path());
        signal.map_or(Hop::Taken, |signal| Hop::signal(port, frame.at_hop(len), signal))
    }

    /// A probe comes to the next port of its path.
    fn forward_probe(self, now: Instant, frame: Frame, mut probe: Probe) -> Hop {
        let port = self.network.port_ahead(&frame);
        let class = self.senders.class(self.network.flow_of(&frame));
        if let Some(signal) = self.network.show_probe(now, port, class, &mut probe) {
            self.network.end_before(port, &frame);
            self.signalling.take(&frame);
            self.recording.count(Counted::ProbeEnded);
            self.network.free(now, &frame, self.schedule);
            return Hop::signal(port, frame, signal);
        }
        self.signalling.replace(&frame, ControlFrame::Probe(probe));
        self.network.send_ahead(now, frame, self.schedule)
    }

    /// A control frame that is no probe is at the end of its way: takes what it carries.
    pub(super) fn end(self, now: Instant, frame: &Frame) -> Ended {
        let of = match self.signalling.take(frame) {
            ControlFrame::Signal(of) => of,
            ControlFrame::Head(packet) => {
                self.recording.count(Counted::HeadEnded);
                return Ended::Head { flow: self.network.flow_of(frame), packet };
            }
            ControlFrame::Probe(_) => unreachable!("a probe ends where it is answered"),
        };
        let flow = self.network.flow_of(&of.sampled);
        if let Some(capture) = self.capture {
            let host = self.senders.port_of_limiter(self.network.flow_of(frame));
            capture.on_heard(now, host, flow, frame, of);
        }
        let limiter = self.network.hearing_limiter(self.senders.limiter(flow), &of.sampled);
        if limiter.is_none() {
            self.recording.count(Counted::MessageIgnored);
        }
        Ended::Signal { flow, signal: of.signal, limiter }
    }

    fn send_ideally(self, now: Instant, port: PortId, frame: &Frame, signal: Signal) {
        let flow = self.network.flow_of(frame);
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
    fn probe_ideally(self, now: Instant, id: PathId, class: u8, mut probe: Probe) {
        self.recording.count(Counted::ProbeEnded);
        let mut propagation = Span::ZERO;
        for hop in 0..self.network.ports_of(id).len() {
            let port = self.network.ports_of(id)[hop];
            if let Some(signal) = self.network.show_probe(now, port, class, &mut probe) {
                return self.answer_ideally(now, port, id, propagation, signal);
            }
            propagation = propagation + self.network.delay(port);
        }
        let flow = self.network.path(id).flow;
        if let Some(signal) = self.signalling.notification_point(flow).and_then(|np| np.on_probe(now, &probe)) {
            let last = self.network.last_port(id);
            self.answer_ideally(now, last, id, propagation, signal);
        }
    }

    fn answer_ideally(self, now: Instant, port: PortId, path: PathId, propagation: Span, signal: Signal) {
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
