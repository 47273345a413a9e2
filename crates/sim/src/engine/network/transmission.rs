//! Transmissions that end, at ports with priority queues.

use super::Network;
use crate::engine::schedule::{Event, Schedule};
use crate::frame::flag;
use crate::ids::{FlowId, PortId, QueuesId};
use crate::port::{FarEnd, rescaled};
use crate::priority_queues::Transmitting;
use qcnlab_schemes::Queue;
use qcnlab_units::{BitRate, Bytes, Instant};

impl Network {
    /// A transmission ends, or a paused class may resume. Returns the port of a link to a counting sink that is full of
    /// frames.
    pub(in crate::engine) fn end_transmission(
        &mut self,
        now: Instant,
        id: QueuesId,
        schedule: &mut Schedule,
    ) -> Option<PortId> {
        let queues = &mut self.queues[id];
        match queues.transmitting {
            Transmitting::Nothing => self.after_transmission(now, id, schedule),
            Transmitting::Down => {}
            Transmitting::Head(position) => return self.end_of_frame(now, id, position, schedule),
            Transmitting::Pause(pause) => {
                queues.transmitting = Transmitting::Nothing;
                let takes_effect = now.ps() + queues.pause_delay;
                queues.pauses_in_flight.push_back((takes_effect, pause));
                if queues.pauses_in_flight.len() == 1 {
                    schedule.set(Event::PauseEffect(id), Instant::from_ps(takes_effect));
                }
                self.after_transmission(now, id, schedule);
            }
        }
        None
    }

    /// The frame at the head of the queue at `position` has left.
    #[inline(always)]
    fn end_of_frame(&mut self, now: Instant, id: QueuesId, position: u8, schedule: &mut Schedule) -> Option<PortId> {
        let queues = &mut self.queues[id];
        let port_id = queues.port;
        let (mut frame, left, cp) = queues.dequeue_transmitted(position);
        if frame.is(flag::BUFFERED) {
            let input = self.routes.input_of(&frame);
            if queues.counts_inputs {
                let slot = self.inputs[input].slot;
                queues.queues[usize::from(position)].count_out(slot, frame.octets());
            }
            self.free_at(now, input, &frame, schedule);
            frame.clear(flag::BUFFERED);
        }
        let port = &mut self.ports[port_id];
        let queue = Queue { len: Bytes::new(left), capacity: port.capacity(), rate: port.rate() };
        if let Some(cp) = cp {
            self.cps[cp].mark_departing(now, &mut frame, queue);
        }
        port.put_on_the_wire(now, frame);
        let mut full = None;
        if port.far_end() == FarEnd::CountingSink {
            full = port.ring().is_full().then_some(port_id);
        } else if let Some(arrival) = port.next_arrival() {
            schedule.set(Event::Arrival(port_id), arrival);
        }
        if let Some(cp) = cp {
            self.cps[cp].on_departure(now, queue.len);
        }
        // Freeing the buffer may have sent XON, which starts the transmission of a pause frame.
        if self.queues[id].is_idle() {
            self.after_transmission(now, id, schedule);
        }
        full
    }

    /// Between two transmissions: the next one starts, or the port needs its priority queues no more.
    fn after_transmission(&mut self, now: Instant, id: QueuesId, schedule: &mut Schedule) {
        if !self.return_to_fifo(now, id, schedule) {
            self.start_transmission(now, id, schedule);
        }
    }

    /// A port serves at another rate. Returns the sender that has its link to itself, if one has.
    pub(in crate::engine) fn change_rate(
        &mut self,
        now: Instant,
        id: PortId,
        rate: BitRate,
        schedule: &mut Schedule,
    ) -> Option<FlowId> {
        self.update_queue(now, id);
        let port = &mut self.ports[id];
        let old = port.rate();
        port.change_rate(now, rate);
        self.find_ignored(id);
        let port = &self.ports[id];
        if port.sender_on_demand().is_none()
            && port.far_end() != FarEnd::CountingSink
            && let Some(arrival) = port.next_arrival()
        {
            schedule.set(Event::Arrival(id), arrival);
        }
        let (sender, queues) = (port.sole_sender(), port.queues());
        if let Some(in_use) = port.queues_in_use() {
            self.rescale_transmission(now, in_use, old, schedule);
        } else if let (None, Some(queues)) = (sender, queues) {
            self.reschedule_adapter(now, queues, schedule);
        }
        sender
    }

    /// The link's rate has changed from `old`: what is left of the transmission goes at the new rate.
    fn rescale_transmission(&mut self, now: Instant, id: QueuesId, old: BitRate, schedule: &mut Schedule) {
        let queues = &mut self.queues[id];
        if !queues.is_idle() && queues.transmitting != Transmitting::Down {
            let new = self.ports[queues.port].rate();
            queues.ends = now.ps() + rescaled(queues.ends - now.ps(), old, new);
            schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
        }
    }
}
