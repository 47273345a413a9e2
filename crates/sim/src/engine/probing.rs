//! Probes: from reaction points along the path of their flow, past every congestion point on it.

use super::Engine;
use super::recording::Counted;
use super::signalling::{ControlFrame, Leg};
use crate::frame::{Frame, Parts, flag};
use crate::ids::{FlowId, LimiterId, PathId, PortId};
use crate::plan::Feedback;
use qcnlab_schemes::{CongestionPoint, NotificationPoint, Probe, ProbeAction, ReactionPoint, Signal};
use qcnlab_units::{Instant, Span};

impl Engine {
    /// Sends the probes that a reaction point has.
    pub(super) fn send_probes(&mut self, now: Instant, limiter: LimiterId) {
        while let Some(probe) = self.senders.limiters[limiter].driver.rp.take_probe(now) {
            self.recording.count(Counted::ProbeSent);
            let sender = &self.senders.flows[self.senders.limiters[limiter].last_flow];
            let (path, class) = (sender.first_path, sender.class);
            match self.signalling.feedback() {
                Feedback::Ideal => self.probe_ideally(now, path, probe),
                Feedback::Frames { size, .. } => {
                    // In the class of its flow: it measures the queue that the flow's frames wait in.
                    let leg = Leg { size, class, path, hop: 0, direction: 0 };
                    let frame = self.signalling.frame(ControlFrame::Probe(probe), leg);
                    self.network.count_control_sent(&frame);
                    self.forward_probe(now, frame);
                }
            }
        }
    }

    /// A probe arrives at the next port of its path.
    pub(super) fn forward_probe(&mut self, now: Instant, frame: Frame) {
        let port = self.network.routes.ports_of(frame.path())[usize::from(frame.hop())];
        let ControlFrame::Probe(mut probe) = *self.signalling.carried(&frame) else {
            unreachable!("only probes travel forward");
        };
        if let Some(signal) = self.show_probe(now, port, frame.path(), &mut probe) {
            let node = self.network.links[port].from;
            self.network.nodes[node].control_received += frame.octets();
            self.signalling.take(&frame);
            self.recording.count(Counted::ProbeEnded);
            if frame.is(flag::BUFFERED) {
                self.free(now, &frame);
            }
            return self.send_signal(now, port, frame, signal);
        }
        self.signalling.replace(&frame, ControlFrame::Probe(probe));
        if !self.enqueue(now, port, frame) {
            self.drop_control(now, frame);
        }
    }

    /// Shows a probe to the congestion point of the queue that its flow's frames wait in; returns the answer, if any.
    fn show_probe(&mut self, now: Instant, port: PortId, path: PathId, probe: &mut Probe) -> Option<Signal> {
        self.network.update_queue(now, port);
        let class = self.senders.flows[self.network.routes.paths[path].flow].class;
        let (queue, cp) = self.network.queue_of(port, class);
        match self.network.cps[cp?].cp.on_probe(now, probe, queue) {
            ProbeAction::Pass => None,
            ProbeAction::Answer(signal) => Some(signal),
        }
    }

    /// A probe has reached its destination, which may answer.
    pub(super) fn probe_received(&mut self, now: Instant, frame: Frame, probe: &Probe) {
        let path = self.network.routes.paths[frame.path()];
        if let Some(signal) = self.answer_to_probe(now, path.flow, probe) {
            let last = self.network.routes.last_port(frame.path());
            self.send_signal(now, last, frame.at_hop(path.len), signal);
        }
    }

    fn answer_to_probe(&mut self, now: Instant, flow: FlowId, probe: &Probe) -> Option<Signal> {
        self.signalling.notification_point(flow)?.on_probe(now, probe)
    }

    /// Ideal feedback: a probe sees every queue as it is now; the answer arrives after the propagation of both ways.
    fn probe_ideally(&mut self, now: Instant, id: PathId, mut probe: Probe) {
        self.recording.count(Counted::ProbeEnded);
        let path = self.network.routes.paths[id];
        let mut propagation = Span::ZERO;
        for hop in 0..u32::from(path.len) {
            let port = self.network.routes.ports[(path.start + hop) as usize];
            if let Some(signal) = self.show_probe(now, port, id, &mut probe) {
                return self.answer_ideally(now, port, id, propagation, signal);
            }
            propagation = propagation + self.network.ports[port].delay();
        }
        if let Some(signal) = self.answer_to_probe(now, path.flow, &probe) {
            let last = self.network.routes.last_port(id);
            self.answer_ideally(now, last, id, propagation, signal);
        }
    }

    fn answer_ideally(&mut self, now: Instant, port: PortId, path: PathId, propagation: Span, signal: Signal) {
        let flow = self.network.routes.paths[path].flow;
        self.recording.on_message(now, port, flow, signal);
        let limiter = self.senders.flows[flow].limiter;
        let at = now + propagation + propagation;
        if self.capture.is_some() {
            let class = self.senders.flows[flow].class;
            let probe = Parts { path, tag: 0, size: 0, limited_by: 0, hop: 0, class, flags: flag::CONTROL };
            self.capture_ideal(now, port, &Frame::new(probe), at, signal);
        }
        self.deliver_ideally(at, limiter, signal);
    }
}
