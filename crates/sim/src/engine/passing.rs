//! A frame passes its limiter: it leaves its source, and the reaction point and the pacer are told.

use super::Engine;
use super::schedule::Event;
use crate::frame::Frame;
use crate::ids::FlowId;
use crate::source::Source;
use qcnlab_units::Instant;

impl Engine {
    /// The next frame of a flow passes its limiter at `at`.
    #[inline(always)]
    pub(super) fn pass_limiter(&mut self, at: Instant, flow: FlowId) -> Frame {
        if matches!(self.senders.flows[flow].source, Source::Roce(_)) {
            return self.pass_packet(at, flow);
        }
        self.update_source(at, flow);
        let sender = &mut self.senders.flows[flow];
        let limiter = &mut self.senders.limiters[sender.limiter];
        let frame = sender.next_frame(at, flow, limiter);
        self.recording.on_sent(flow, frame.octets());
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            self.schedule.set(Event::RpWake(sender.limiter), wake);
        }
        frame
    }

    /// Updates the frames that wait at a source.
    #[inline(always)]
    pub(super) fn update_source(&mut self, now: Instant, flow: FlowId) {
        let (sender, recording) = (&mut self.senders.flows[flow], &mut self.recording);
        let (port, frame) = (sender.port, u64::from(sender.frame));
        sender.source.update_waiting(now, sender.stop, sender.room, |at| recording.on_refusal(at, port, flow, frame));
    }

    /// The next packet of a queue pair passes its limiter at `at`.
    #[inline(never)]
    fn pass_packet(&mut self, at: Instant, flow: FlowId) -> Frame {
        let Engine { network, senders, recording, schedule, .. } = self;
        let sender = &mut senders.flows[flow];
        let id = sender.limiter;
        let limiter = &mut senders.limiters[id];
        let (frame, timer) = sender.next_packet(at, flow, limiter, &mut network.packets);
        if let Some(timer) = timer {
            schedule.set(Event::TransportTimer(flow), timer);
        }
        recording.on_sent(flow, frame.octets());
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(id), wake);
        }
        frame
    }
}
