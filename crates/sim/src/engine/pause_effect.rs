//! A pause frame takes effect at the other end of its link.

use super::Engine;
use super::schedule::Event;
use crate::ids::QueuesId;
use crate::port::Mode;
use qcnlab_units::Instant;

impl Engine {
    /// The oldest pause frame that left `sender` takes effect at the other end of the link.
    pub(super) fn apply_pause(&mut self, now: Instant, sender: QueuesId) {
        let queues = &mut self.network.queues[sender];
        let Some((_, frame)) = queues.pauses_in_flight.pop_front() else { return };
        if let Some((next, _)) = queues.pauses_in_flight.front() {
            self.schedule.set(Event::PauseEffect(sender), Instant::from_ps(*next));
        }
        let port = self.network.reverse_of(self.network.queues[sender].port);
        let mode = self.network.ports[port].mode();
        match mode {
            Mode::Lazy(sole) => self.send_lazily(now, sole.sender),
            Mode::Alone(_) => {}
            Mode::Plain | Mode::Fifo(_) | Mode::Queues(_) => self.use_priority_queues(now, port),
        }
        let Some(id) = self.network.ports[port].queues() else { return };
        self.pause_classes(now, id, frame);
        self.network.show_pauses(now, id, frame.classes);
        self.tell_paused(now, port, frame);
        let queues = &self.network.queues[id];
        if let Mode::Lazy(sole) | Mode::Alone(sole) = mode {
            self.network.ports[port].paused_until = queues.queues[0].pause.until();
            match mode {
                Mode::Lazy(_) => self.schedule_lazy_arrival(sole.sender),
                _ => self.link_changed(now, sole.sender),
            }
        } else if queues.is_idle() {
            self.start_transmission(now, id);
        }
    }
}
