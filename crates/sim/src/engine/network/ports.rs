//! The door to a port, of whatever kind it is: a frame comes to it.
//!
//! Time comes to a port by [`update_queue`](Network::update_queue), where departures are computed, and by
//! [`end_transmission`](Network::end_transmission), where each has an event. Nobody but this file and the port itself knows which
//! kinds there are. Whoever has to know something of a port asks the port, or the network's [questions](super::questions) where that
//! takes more than the port; senders are told of a [`HostLink`](super::HostLink).

use super::{Hop, Network};
use crate::engine::effects::NewAck;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::{Frame, Parts, flag};
use crate::ids::PortId;
use crate::path::Path;
use crate::port::PortKind;
use qcnlab_units::Instant;

impl Network {
    /// A data frame or an acknowledgement comes to a port.
    #[inline(always)]
    pub(in crate::engine) fn forward(
        &mut self,
        now: Instant,
        id: PortId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        let kind = self.ports[id].kind();
        if let PortKind::Fifo(fifo) = kind {
            self.forward_fifo(now, id, fifo, frame, schedule)
        } else if let PortKind::Queues(queues) = kind {
            self.forward_by_class(now, id, queues, frame, schedule)
        } else {
            self.enqueue_plain(now, id, frame, schedule).at(id, frame)
        }
    }

    /// As [`forward`](Network::forward), of a sender that is alone on its link.
    #[inline(always)]
    pub(in crate::engine) fn send_alone(
        &mut self,
        now: Instant,
        id: PortId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        if !self.ports[id].is_plain() {
            return self.forward(now, id, frame, schedule);
        }
        if let Some(arrival) = self.ports[id].enqueue_plain(now, frame) {
            schedule.set(Event::Arrival(id), arrival);
        }
        Hop::Taken
    }

    /// Queues a frame for which no congestion point is asked.
    pub(in crate::engine) fn enqueue(
        &mut self,
        now: Instant,
        id: PortId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        match self.ports[id].kind() {
            PortKind::Plain | PortKind::Alone(_) | PortKind::OnDemand(_) => {
                self.enqueue_plain(now, id, frame, schedule).at(id, frame)
            }
            PortKind::Fifo(_) => self.enqueue_fifo(now, id, frame, schedule).at(id, frame),
            PortKind::Queues(queues) => self.enqueue_unseen(now, id, queues, frame, schedule),
        }
    }

    /// A control frame that travels forward comes to the next port of its path.
    pub(in crate::engine) fn send_ahead(&mut self, now: Instant, frame: Frame, schedule: &mut Schedule) -> Hop {
        self.enqueue(now, self.port_ahead(&frame), frame, schedule)
    }

    /// A control frame that travels in reverse comes to the next port, or is at its source.
    pub(in crate::engine) fn send_back(&mut self, now: Instant, frame: Frame, schedule: &mut Schedule) -> Hop {
        match self.routes.back(&frame) {
            Some(port) => self.enqueue(now, port, frame, schedule),
            None => Hop::Ended(frame),
        }
    }

    /// The head of a packet that was cut goes on by the port that the packet was on its way to.
    #[inline(always)]
    pub(in crate::engine) fn enqueue_head(&mut self, now: Instant, head: Frame, schedule: &mut Schedule) -> Hop {
        let port = self.port_ahead(&head);
        let node = self.links[port].from;
        self.nodes[node].control_sent += head.octets();
        self.enqueue(now, port, head, schedule)
    }

    /// Starts an acknowledgement.
    #[inline(always)]
    pub(in crate::engine) fn acknowledge(&mut self, now: Instant, reply: NewAck, schedule: &mut Schedule) -> Hop {
        let NewAck { path, tag, size, class } = reply;
        let Path { len: hop, destination, .. } = self.routes.paths[path];
        self.nodes[destination].control_sent += u64::from(size);
        let flags = flag::REVERSE | flag::ACK;
        let ack = Frame::new(Parts { path, tag, size, class, hop, flags, limited_by: 0 });
        let port = self.routes.back(&ack).expect("a path has links");
        self.enqueue_ack(now, port, ack, schedule)
    }

    /// As [`enqueue`](Network::enqueue), where most acknowledgements begin: at a first-in first-out port.
    #[inline(always)]
    fn enqueue_ack(&mut self, now: Instant, id: PortId, ack: Frame, schedule: &mut Schedule) -> Hop {
        match self.ports[id].kind() {
            PortKind::Fifo(_) => self.enqueue_fifo(now, id, ack, schedule).at(id, ack),
            _ => self.enqueue(now, id, ack, schedule),
        }
    }
}
