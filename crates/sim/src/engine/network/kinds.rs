//! What a port is of the few things that it can be, and what follows from that for those who ask.
//!
//! A frame comes to a port of any kind by [`forward`](Network::forward) or [`enqueue`](Network::enqueue), time by
//! [`update_queue`](Network::update_queue) and [`end_transmission`](Network::end_transmission). Outside the network nobody knows
//! kinds; senders are told of a [`HostLink`].

use super::Network;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::Frame;
use crate::ids::{FlowId, PortCpId, PortId, QueuesId};
use crate::port::{Mode, Port, Sole};
use qcnlab_schemes::Queue;
use qcnlab_units::{Bytes, Instant};

/// When a host's link takes a frame of the flows that wait for it.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum HostLink {
    /// It transmits, and takes the next at the end of that.
    Transmits,
    /// It is idle, and these priority queues say which classes may go.
    Idle(QueuesId),
    /// It is free from this instant on; `pausable` if it has priority queues for when something is paused.
    Computed { free: Instant, pausable: bool },
}

impl Network {
    /// When the link of a port takes a frame of the flows that wait for it.
    #[inline(always)]
    pub(in crate::engine) fn host_link(&self, id: PortId) -> HostLink {
        let port = &self.ports[id];
        match port.mode() {
            Mode::Queues(queues) if self.queues[queues].is_idle() => HostLink::Idle(queues),
            Mode::Queues(_) => HostLink::Transmits,
            Mode::Fifo(fifo) => HostLink::Computed { free: port.busy_until(), pausable: fifo.queues.is_some() },
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => {
                HostLink::Computed { free: port.busy_until(), pausable: false }
            }
        }
    }

    /// When a sender that is alone on a link may start its next frame, from what is known now.
    #[inline(always)]
    pub(in crate::engine) fn next_start(&self, id: PortId) -> Instant {
        self.ports[id].next_start()
    }

    /// Whether nothing but the frames of senders that wait for the link is ever at a port.
    #[inline(always)]
    pub(in crate::engine) fn is_plain(&self, id: PortId) -> bool {
        matches!(self.ports[id].mode(), Mode::Plain | Mode::Alone(_))
    }

    /// Transmits a frame over a [plain](Network::is_plain) port.
    #[inline(always)]
    pub(in crate::engine) fn transmit_plain(
        &mut self,
        now: Instant,
        id: PortId,
        frame: Frame,
        schedule: &mut Schedule,
    ) {
        if let Some(arrival) = self.ports[id].enqueue_plain(now, frame) {
            schedule.set(Event::Arrival(id), arrival);
        }
    }

    /// A port carries the frames of this flow alone, which are sent on demand.
    pub(in crate::engine) fn carry_on_demand(&mut self, id: PortId, sender: FlowId) {
        let port = &mut self.ports[id];
        port.set_mode(Mode::Lazy(Sole { sender, queues: port.queues() }));
    }

    /// A port carries the frames of this flow alone: where it can be paused, they wait at their source.
    pub(in crate::engine) fn carry_alone(&mut self, id: PortId, sender: FlowId) {
        let port = &mut self.ports[id];
        let sole = Sole { sender, queues: port.queues() };
        if sole.queues.is_some_and(|queues| self.queues[queues].queues.len() == 1) {
            port.set_mode(Mode::Alone(sole));
        }
    }

    /// The lazy sender whose frames a port carries.
    pub(in crate::engine) fn lazy_sender(&self, id: PortId) -> Option<FlowId> {
        self.ports[id].lazy_sender()
    }

    /// The port of a lazy sender, which has it to itself.
    #[inline(always)]
    pub(in crate::engine) fn lazy_port(&mut self, id: PortId) -> &mut Port {
        &mut self.ports[id]
    }

    /// Whether a port needs its adapter although only one flow leaves by it; its priority queues, if it has some.
    pub(in crate::engine) fn pausable(&self, id: PortId) -> Option<QueuesId> {
        match self.ports[id].mode() {
            Mode::Queues(queues) => Some(queues),
            Mode::Fifo(fifo) => fifo.queues,
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => None,
        }
    }

    /// The queue that frames of a class wait in at a port, as of the last update, and its congestion point.
    pub(super) fn queue_of(&self, id: PortId, class: u8) -> (Queue, Option<PortCpId>) {
        let port = &self.ports[id];
        let (cp, len) = match port.mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => (None, port.queue_len()),
            Mode::Fifo(fifo) => (fifo.cp, port.queue_len()),
            Mode::Queues(queues) => {
                let queue = self.queues[queues].of_class(class);
                (queue.cp, Bytes::new(queue.octets))
            }
        };
        (Queue { len, capacity: port.capacity(), rate: port.rate() }, cp)
    }

    /// Whether a queue of a port has a congestion point.
    pub(in crate::engine) fn has_cp(&self, id: PortId) -> bool {
        match self.ports[id].mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => false,
            Mode::Fifo(fifo) => fifo.cp.is_some(),
            Mode::Queues(queues) => self.queues[queues].queues.iter().any(|queue| queue.cp.is_some()),
        }
    }
}
