//! Changes of service rates on a schedule.

use super::Engine;
use super::schedule::Event;
use crate::ids::{Id, PortId};
use crate::port::{FarEnd, Mode};
use qcnlab_units::Instant;

impl Engine {
    /// Makes the changes of service rate that are due.
    pub(super) fn change_services(&mut self, now: Instant) {
        while let Some(change) = self.service_changes.front().copied() {
            if change.at > now {
                return self.schedule.set(Event::ServiceChange, change.at);
            }
            self.service_changes.pop_front();
            let id = PortId::new(change.port);
            let lazy_sender = self.network.ports[id].lazy_sender();
            if let Some(flow) = lazy_sender {
                self.send_lazily(now, flow);
            }
            self.network.update_queue(now, id);
            let port = &mut self.network.ports[id];
            let old = port.rate();
            port.change_rate(now, change.rate);
            if let Some(flow) = lazy_sender {
                self.schedule_lazy_arrival(flow);
            } else if port.far_end != FarEnd::CountingSink
                && let Some(arrival) = port.next_arrival()
            {
                self.schedule.set(Event::Arrival(id), arrival);
            }
            match self.network.ports[id].mode {
                Mode::Queues(queues) => self.rescale_transmission(now, queues, old),
                Mode::Alone(sole) => self.link_changed(now, sole.sender),
                Mode::Plain | Mode::Fifo(_) | Mode::Lazy(_) => {}
            }
        }
    }
}
