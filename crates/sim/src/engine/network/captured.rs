//! What a capture sees of the network: frames on links, and pauses that are about to take effect.

use super::Network;
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, PortId, QueuesId};
use crate::priority_queues::PauseFrame;
use qcnlab_units::{Instant, Span};

/// A pause frame on a link.
pub(in crate::engine) struct PauseOnLink {
    pub(in crate::engine) port: PortId,
    /// When it left the port.
    pub(in crate::engine) left: Instant,
    pub(in crate::engine) pause: PauseFrame,
}

impl Network {
    /// The longest time from a departure to the event that tells of it.
    pub(in crate::engine) fn longest_lag(&self) -> Span {
        let delays = self.ports.iter().map(|port| port.delay().ps());
        let pauses = self.queues.iter().map(|queues| queues.pause_delay);
        Span::from_ps(delays.chain(pauses).max().unwrap_or(0))
    }

    /// The frame that is about to arrive over the link of a port, and when it left; `number` numbers it if it is on the
    /// first link of its flow and carries no segment.
    pub(in crate::engine) fn frame_about_to_arrive(
        &mut self,
        now: Instant,
        id: PortId,
        number: impl FnMut(FlowId) -> u32,
    ) -> (Instant, Frame) {
        if self.ports[id].observes_departures() {
            self.update_queue(now, id);
        }
        self.frame_on_link(id, 0, number)
    }

    /// How long a port takes to transmit a frame, at its rate now.
    pub(in crate::engine) fn transmission(&self, id: PortId, frame: &Frame) -> Span {
        Span::from_ps(self.ports[id].transmission(frame.octets()))
    }

    /// As [`frame_about_to_arrive`](Network::frame_about_to_arrive), of each frame on each link at the end of a run.
    pub(in crate::engine) fn frames_on_links(
        &mut self,
        end: Instant,
        mut number: impl FnMut(FlowId) -> u32,
    ) -> Vec<(PortId, Instant, Frame)> {
        let mut frames = Vec::new();
        for port in self.ports.ids() {
            self.update_queue(end, port);
            for position in 0..self.ports[port].on_the_wire().count() {
                let (left, frame) = self.frame_on_link(port, position as u32, &mut number);
                frames.push((port, left, frame));
            }
        }
        frames
    }

    /// The frame at this position of a link, from the oldest, as the port sends it, and when it left.
    fn frame_on_link(&mut self, id: PortId, position: u32, mut number: impl FnMut(FlowId) -> u32) -> (Instant, Frame) {
        let port = &mut self.ports[id];
        let slot = port.ring().head().wrapping_add(position);
        let left = Instant::from_ps(port.ring().at(slot).arrival - port.delay().ps());
        let frame = port.ring_mut().at_mut(slot);
        if frame.hop() == 0 && !frame.is(flag::SEGMENT | flag::NOT_DATA) {
            frame.set_tag(number(self.routes.paths[frame.path()].flow));
        }
        let mut frame = *frame;
        if let Some(domain) = &self.domain {
            domain.ports[id].untag(&mut frame);
        }
        (left, frame)
    }

    /// The pause frame that takes effect next of those that left by these priority queues.
    pub(in crate::engine) fn pause_about_to_arrive(&self, queues: QueuesId) -> Option<PauseOnLink> {
        self.pauses_of(queues).next()
    }

    /// Every pause frame on a link.
    pub(in crate::engine) fn pauses_on_links(&self) -> impl Iterator<Item = PauseOnLink> {
        self.queues.ids().flat_map(|queues| self.pauses_of(queues))
    }

    fn pauses_of(&self, queues: QueuesId) -> impl Iterator<Item = PauseOnLink> {
        let queues = &self.queues[queues];
        queues.pauses_in_flight.iter().map(|(takes_effect, pause)| PauseOnLink {
            port: queues.port,
            left: Instant::from_ps(takes_effect - queues.pause_delay),
            pause: *pause,
        })
    }
}
