//! Transmissions that start, at ports with priority queues, and ports that need those only while something is paused.
//!
//! The one class of such a port can be paused, pause frames may go before it, and what leaves it frees buffers whose
//! watermarks matter. While nothing is paused, at the port or at its node's inputs, none of that makes a difference:
//! departures are computed on arrival, as at any first-in first-out port, and buffers are counted when they come near a
//! watermark. When something is paused or a pause frame has to go, the frames that have not left move to the queue of
//! their class, and the port has an event at the end of each transmission until all of that is over and as many frames
//! have left as were moved. So a frame is moved a few times at most, however often pauses begin and end.

use super::Engine;
use super::network::Network;
use super::schedule::Event;
use crate::ids::{PortId, QueuesId};
use crate::port::{FarEnd, Mode};
use crate::priority_queues::Transmitting;
use qcnlab_units::Instant;

/// Octets of a pause frame.
const PAUSE_FRAME: u64 = 64;

impl Engine {
    /// Starts the next transmission of an idle port, if one may start: pause frames first, then the highest class that
    /// is not paused, unless classes take turns.
    pub(super) fn start_transmission(&mut self, now: Instant, id: QueuesId) {
        let queues = &mut self.network.queues[id];
        let port = &self.network.ports[queues.port];
        if let Some(pause) = queues.pause_frames.pop_front() {
            queues.pause_frames_sent += 1;
            queues.storm_frames_sent += u64::from(pause.storm);
            queues.transmitting = Transmitting::Pause(pause);
            queues.ends = now.ps() + port.transmission(PAUSE_FRAME);
            return self.schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
        }
        if queues.round_robin.is_some() || queues.heads.is_some() {
            return self.start_by_weight(now, id);
        }
        let at_adapter = queues.adapter.map_or(0, |adapter| self.senders.adapters[adapter].ready);
        let mut resumes = u64::MAX;
        for (position, queue) in (0u8..).zip(&queues.queues) {
            let adapter = queues.adapter.filter(|_| at_adapter & 1 << queue.class != 0);
            if queue.frames.is_empty() && adapter.is_none() {
                continue;
            }
            if queue.pause.until() > now.ps() {
                resumes = resumes.min(queue.pause.until());
                continue;
            }
            if let Some(adapter) = adapter.filter(|_| queue.frames.is_empty()) {
                return self.schedule.set(Event::AdapterService(adapter), now);
            }
            let stamped = queue.cp.is_some();
            let size = queue.frames.at(queue.frames.head()).octets();
            queues.transmitting = Transmitting::Head(position);
            queues.ends = now.ps() + port.transmission(size);
            self.schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
            if stamped {
                self.network.stamp_head(now, id, usize::from(position));
            }
            return;
        }
        if resumes < u64::MAX {
            self.schedule.set(Event::TransmissionEnd(id), Instant::from_ps(resumes));
        }
    }

    /// Changes a first-in first-out port to its priority queues, if it has some.
    pub(super) fn use_priority_queues(&mut self, now: Instant, id: PortId) {
        let Mode::Fifo(fifo) = self.network.ports[id].mode() else { return };
        let Some(queues_id) = fifo.queues else { return };
        self.network.update_queue(now, id);
        let Network { ports, queues, inputs, routes, .. } = &mut self.network;
        let (port, queues) = (&mut ports[id], &mut queues[queues_id]);
        port.set_mode(Mode::Queues(queues_id));
        queues.unpaused = Some(fifo);
        if let Some(ends) = port.next_departure() {
            queues.transmitting = Transmitting::Head(0);
            queues.ends = ends;
            self.schedule.set(Event::TransmissionEnd(queues_id), Instant::from_ps(ends));
        }
        port.move_waiting(|frame| {
            let input = queues.counts(&frame).then(|| inputs[routes.input_of(&frame)].position);
            queues.enqueue(frame, input);
            queues.transmissions_due += 1;
        });
        if port.next_arrival().is_none() {
            self.schedule.cancel(Event::Arrival(id));
        }
    }

    /// Changes a port between two transmissions back to first in, first out, if nothing is paused; returns whether.
    pub(super) fn return_to_fifo(&mut self, now: Instant, id: QueuesId) -> bool {
        let queues = &mut self.network.queues[id];
        let Some(fifo) = queues.unpaused else { return false };
        if queues.transmissions_due > 0 || !queues.pause_frames.is_empty() {
            return false;
        }
        let node = &self.network.nodes[self.network.links[queues.port].from];
        let paused = node.paused_groups > 0 || queues.queues[0].pause.until() > now.ps();
        if paused {
            return false;
        }
        let port_id = queues.port;
        let port = &mut self.network.ports[port_id];
        port.set_mode(Mode::Fifo(fifo));
        let queue = &mut queues.queues[0];
        queue.reset_count();
        port.take_back(now, &mut queue.frames);
        if let Some(arrival) = port.next_arrival()
            && port.far_end() != FarEnd::CountingSink
        {
            self.schedule.set(Event::Arrival(port_id), arrival);
        }
        self.reschedule_adapter(now, id);
        self.network.stamp_first(now, port_id);
        true
    }

    /// The transmissions of a first-in first-out port end at other times than before: its adapter, if a flow waits there,
    /// serves after them.
    pub(super) fn reschedule_adapter(&mut self, now: Instant, queues: QueuesId) {
        if let Some(adapter) = self.network.queues[queues].adapter
            && self.senders.adapters[adapter].ready != 0
        {
            let free = self.network.ports[self.senders.adapters[adapter].port].busy_until();
            self.schedule.set(Event::AdapterService(adapter), free.max(now));
        }
    }
}
