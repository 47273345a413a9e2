//! Ports that need their priority queues only while something is paused.
//!
//! **When**: a port has one class, which can be paused or whose departures free buffers with watermarks, and nothing else that
//! has to see each departure: no early drops, no watchdog, no link that fails. **Why the run is the same**: while nothing is
//! paused, at the port or at its node's inputs, pause frames that go first and watermarks make no difference. So departures
//! are computed on arrival, as at any first-in first-out port, and buffers are counted when they come near a watermark (see
//! [`allowances`](super::allowances)). When something is paused or a pause frame has to go, the frames that have not left move
//! to the queue of their class, and the port has an event at the end of each transmission until all of that is over and as
//! many frames have left as were moved, and a congestion point that sees pauses knows that they are over. So a frame is moved a
//! few times at most, however often pauses begin and end.
//! **Switch**: [`Events::Everywhere`].

use super::{Counting, Network};
use crate::engine::schedule::{Event, Schedule};
use crate::ids::{PortCpId, PortId, QueuesId};
use crate::plan::{Events, Plan};
use crate::port::{Departures, FarEnd, Fifo};
use crate::priority_queues::Transmitting;
use qcnlab_units::Instant;

impl Network {
    /// Has ports with priority queues of one class compute departures while nothing is paused. Their node pauses its
    /// links by what it holds of each, or does not count what it holds.
    pub(in crate::engine) fn compute_departures(&mut self, plan: &Plan) {
        if plan.events == Events::Everywhere {
            return;
        }
        let network = self;
        for (id, planned) in network.ports.ids().zip(&plan.ports) {
            let Some(queues) = network.ports[id].queues_in_use() else { continue };
            let [queue] = &network.queues[queues].queues[..] else { continue };
            let from = &plan.nodes[planned.from];
            let by_holding = from.pauses_by_holding();
            let shown = queue.cp.filter(|cp| network.cps[*cp].observes_departures());
            if network.queues[queues].always || (!by_holding && from.counts()) {
                continue;
            }
            let departures = shown.map_or(Departures::Unobserved, Departures::Shown);
            let arrivals = queue.cp.filter(|cp| network.cps[*cp].sees_arrivals).unwrap_or(PortCpId::MAX);
            network.ports[id].use_fifo(Fifo { cp: queue.cp, arrivals, departures, queues: Some(queues) });
            let node = &mut network.nodes[planned.from];
            node.computing.push(id);
            if by_holding {
                node.counting = Counting::ByAllowance;
            }
        }
    }

    /// Changes a first-in first-out port to its priority queues, if it has some.
    pub(super) fn use_priority_queues(&mut self, now: Instant, id: PortId, schedule: &mut Schedule) {
        let Some(fifo) = self.ports[id].fifo() else { return };
        let Some(queues_id) = fifo.queues else { return };
        self.update_queue(now, id);
        let Network { ports, queues, inputs, routes, .. } = self;
        let (port, queues) = (&mut ports[id], &mut queues[queues_id]);
        port.use_queues(queues_id);
        queues.unpaused = Some(fifo);
        if let Some(ends) = port.next_departure() {
            queues.transmitting = Transmitting::Head(0);
            queues.ends = ends;
            schedule.set(Event::TransmissionEnd(queues_id), Instant::from_ps(ends));
        }
        port.move_waiting(|frame| {
            let input = queues.counts(&frame).then(|| inputs[routes.input_of(&frame)].slot);
            queues.enqueue(frame, input);
            queues.transmissions_due += 1;
        });
        if port.next_arrival().is_none() {
            schedule.cancel(Event::Arrival(id));
        }
    }

    /// Changes a port between two transmissions back to first in, first out, if nothing is paused; returns whether.
    pub(super) fn return_to_fifo(&mut self, now: Instant, id: QueuesId, schedule: &mut Schedule) -> bool {
        let queues = &mut self.queues[id];
        let Some(fifo) = queues.unpaused else { return false };
        if queues.transmissions_due > 0 || !queues.pause_frames.is_empty() {
            return false;
        }
        let node = &self.nodes[self.links[queues.port].from];
        let paused = node.paused_groups > 0 || queues.queues[0].pause.until() > now.ps();
        // A congestion point is shown that a pause has run out when the next transmission starts.
        let told = queues.queues[0].cp.is_some_and(|cp| self.cps[cp].is_paused());
        if paused || told {
            return false;
        }
        let port_id = queues.port;
        let port = &mut self.ports[port_id];
        port.use_fifo(fifo);
        let queue = &mut queues.queues[0];
        queue.reset_count();
        port.take_back(now, &mut queue.frames);
        if let Some(arrival) = port.next_arrival()
            && port.far_end() != FarEnd::CountingSink
        {
            schedule.set(Event::Arrival(port_id), arrival);
        }
        self.reschedule_adapter(now, id, schedule);
        self.stamp_first(now, port_id);
        true
    }
}
