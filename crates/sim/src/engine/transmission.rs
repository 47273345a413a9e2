//! Transmissions that end, at ports with priority queues.

use super::Engine;
use super::schedule::Event;
use crate::frame::flag;
use crate::ids::QueuesId;
use crate::port::{FarEnd, rescaled};
use crate::priority_queues::Transmitting;
use qcnlab_schemes::Queue;
use qcnlab_units::{BitRate, Bytes, Instant};

impl Engine {
    /// A transmission ends, or a paused class may resume.
    pub(super) fn end_transmission(&mut self, now: Instant, id: QueuesId) {
        let queues = &mut self.network.queues[id];
        match queues.transmitting {
            Transmitting::Nothing => self.after_transmission(now, id),
            Transmitting::Down => {}
            Transmitting::Head(position) => self.end_of_frame(now, id, position),
            Transmitting::Pause(pause) => {
                queues.transmitting = Transmitting::Nothing;
                let takes_effect = now.ps() + queues.pause_delay;
                queues.pauses_in_flight.push_back((takes_effect, pause));
                if queues.pauses_in_flight.len() == 1 {
                    self.schedule.set(Event::PauseEffect(id), Instant::from_ps(takes_effect));
                }
                self.after_transmission(now, id);
            }
        }
    }

    /// The frame at the head of the queue at `position` has left.
    #[inline(always)]
    fn end_of_frame(&mut self, now: Instant, id: QueuesId, position: u8) {
        let queues = &mut self.network.queues[id];
        let port_id = queues.port;
        let (mut frame, left, cp) = queues.dequeue_transmitted(position);
        if frame.is(flag::BUFFERED) {
            let input = self.network.routes.input_of(&frame);
            if queues.counts_inputs {
                let position_of_input = self.network.inputs[input].position;
                queues.queues[usize::from(position)].count_out(position_of_input, frame.octets());
            }
            self.free_at(now, input, &frame);
            frame.clear(flag::BUFFERED);
        }
        let port = &mut self.network.ports[port_id];
        let queue = Queue { len: Bytes::new(left), capacity: port.capacity(), rate: port.rate() };
        if let Some(cp) = cp {
            self.network.cps[cp].mark_departing(now, &mut frame, queue);
        }
        port.put_on_the_wire(now, frame);
        if port.far_end() == FarEnd::CountingSink {
            if port.ring().is_full() {
                self.make_room(now, port_id);
            }
        } else if let Some(arrival) = port.next_arrival() {
            self.schedule.set(Event::Arrival(port_id), arrival);
        }
        if let Some(cp) = cp {
            self.network.cps[cp].on_departure(now, queue.len);
        }
        // Freeing the buffer may have sent XON, which starts the transmission of a pause frame.
        if self.network.queues[id].is_idle() {
            self.after_transmission(now, id);
        }
    }

    /// Between two transmissions: the next one starts, or the port needs its priority queues no more.
    fn after_transmission(&mut self, now: Instant, id: QueuesId) {
        if !self.return_to_fifo(now, id) {
            self.start_transmission(now, id);
        }
    }

    /// The link's rate has changed from `old`: what is left of the transmission goes at the new rate.
    pub(super) fn rescale_transmission(&mut self, now: Instant, id: QueuesId, old: BitRate) {
        let queues = &mut self.network.queues[id];
        if !queues.is_idle() && queues.transmitting != Transmitting::Down {
            let new = self.network.ports[queues.port].rate();
            queues.ends = now.ps() + rescaled(queues.ends - now.ps(), old, new);
            self.schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
        }
    }
}
