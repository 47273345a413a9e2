//! What others have to know of a port, whatever its kind.

use super::Network;
use crate::ids::{FlowId, PortCpId, PortId, QueuesId};
use crate::port::Port;
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
        match port.queues_in_use() {
            Some(queues) if self.queues[queues].is_idle() => HostLink::Idle(queues),
            Some(_) => HostLink::Transmits,
            None => {
                let pausable = port.fifo().is_some_and(|fifo| fifo.queues.is_some());
                HostLink::Computed { free: port.busy_until(), pausable }
            }
        }
    }

    /// When a sender that is alone on a link may start its next frame, from what is known now.
    #[inline(always)]
    pub(in crate::engine) fn next_start(&self, id: PortId) -> Instant {
        self.ports[id].next_start()
    }

    /// A port carries the frames of this flow alone, which are sent on demand.
    pub(in crate::engine) fn carry_on_demand(&mut self, id: PortId, sender: FlowId) {
        self.ports[id].carry_on_demand(sender);
    }

    /// A port carries the frames of this flow alone: where it can be paused, they wait at their source.
    pub(in crate::engine) fn carry_alone(&mut self, id: PortId, sender: FlowId) {
        let port = &mut self.ports[id];
        if port.queues().is_some_and(|queues| self.queues[queues].queues.len() == 1) {
            port.carry_alone(sender);
        }
    }

    /// The flow whose frames a port carries, if they are sent on demand.
    pub(in crate::engine) fn sender_on_demand(&self, id: PortId) -> Option<FlowId> {
        self.ports[id].sender_on_demand()
    }

    /// The port of a flow whose frames are sent on demand, which has it to itself.
    #[inline(always)]
    pub(in crate::engine) fn port_on_demand(&mut self, id: PortId) -> &mut Port {
        &mut self.ports[id]
    }

    /// Whether a port needs its adapter although only one flow leaves by it; its priority queues, if it has some.
    pub(in crate::engine) fn pausable(&self, id: PortId) -> Option<QueuesId> {
        let port = &self.ports[id];
        if port.sole_sender().is_some() { None } else { port.queues() }
    }

    /// The queue that frames of a class wait in at a port, as of the last update, and its congestion point.
    pub(super) fn queue_of(&self, id: PortId, class: u8) -> (Queue, Option<PortCpId>) {
        let port = &self.ports[id];
        let (cp, len) = match port.queues_in_use() {
            None => (port.fifo().and_then(|fifo| fifo.cp), port.queue_len()),
            Some(queues) => {
                let queue = self.queues[queues].of_class(class);
                (queue.cp, Bytes::new(queue.octets))
            }
        };
        (Queue { len, capacity: port.capacity(), rate: port.rate() }, cp)
    }

    /// Whether a queue of a port has a congestion point.
    pub(in crate::engine) fn has_cp(&self, id: PortId) -> bool {
        let port = &self.ports[id];
        match port.queues_in_use() {
            None => port.fifo().is_some_and(|fifo| fifo.cp.is_some()),
            Some(queues) => self.queues[queues].queues.iter().any(|queue| queue.cp.is_some()),
        }
    }
}
