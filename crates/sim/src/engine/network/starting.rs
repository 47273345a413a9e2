//! Transmissions that start, at ports with priority queues.

use super::Network;
use crate::engine::schedule::{Event, Schedule};
use crate::ids::QueuesId;
use crate::priority_queues::{Addressed, Transmitting};
use qcnlab_units::Instant;

/// Octets of a pause frame.
const PAUSE_FRAME: u64 = 64;

impl Network {
    /// Starts the next transmission of an idle port, if one may start: pause frames first, then the highest class that
    /// is not paused, unless classes take turns.
    pub(in crate::engine) fn start_transmission(&mut self, now: Instant, id: QueuesId, schedule: &mut Schedule) {
        let queues = &mut self.queues[id];
        let port = &self.ports[queues.port];
        if let Some(pause) = queues.pause_frames.pop_front() {
            let octets = match pause.about {
                Addressed::Isolation { octets, .. } => {
                    queues.isolation_messages_sent += 1;
                    u64::from(octets)
                }
                Addressed::Classes | Addressed::Queue(_) => {
                    queues.pause_frames_sent += 1;
                    queues.storm_frames_sent += u64::from(pause.storm);
                    PAUSE_FRAME
                }
            };
            queues.transmitting = Transmitting::Pause(pause);
            queues.ends = now.ps() + port.transmission(octets);
            return schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
        }
        if queues.beyond_strict {
            return self.start_in_turn(now, id, schedule);
        }
        let mut resumes = u64::MAX;
        for (position, queue) in (0u8..).zip(&queues.queues) {
            let adapter = queues.adapter.filter(|_| queues.at_adapter & 1 << queue.class != 0);
            if queue.frames.is_empty() && adapter.is_none() {
                continue;
            }
            if queue.pause.until() > now.ps() {
                resumes = resumes.min(queue.pause.until());
                continue;
            }
            if let Some(adapter) = adapter.filter(|_| queue.frames.is_empty()) {
                return schedule.set(Event::AdapterService(adapter), now);
            }
            let stamped = queue.cp.is_some();
            let size = queue.frames.at(queue.frames.head()).octets();
            queues.transmitting = Transmitting::Head(position);
            queues.ends = now.ps() + port.transmission(size);
            schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
            if stamped {
                self.stamp_head(now, id, usize::from(position));
            }
            return;
        }
        if resumes < u64::MAX {
            schedule.set(Event::TransmissionEnd(id), Instant::from_ps(resumes));
        }
    }

    /// The transmissions of a first-in first-out port end at other times than before: its adapter, if a flow waits there,
    /// serves after them.
    pub(super) fn reschedule_adapter(&self, now: Instant, id: QueuesId, schedule: &mut Schedule) {
        let queues = &self.queues[id];
        if let Some(adapter) = queues.adapter
            && queues.at_adapter != 0
        {
            let free = self.ports[queues.port].busy_until();
            schedule.set(Event::AdapterService(adapter), free.max(now));
        }
    }
}
