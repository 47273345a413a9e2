//! Frames that join the queue of a port.

use super::Engine;
use super::network::Network;
use super::schedule::Event;
use crate::frame::Frame;
use crate::ids::{PortId, QueuesId};
use crate::port::{FarEnd, Mode};
use qcnlab_units::Instant;

impl Engine {
    /// Queues a frame; returns false when it does not fit.
    pub(super) fn enqueue(&mut self, now: Instant, id: PortId, frame: Frame) -> bool {
        match self.network.ports[id].mode() {
            Mode::Plain | Mode::Alone(_) | Mode::Lazy(_) => {
                self.enqueue_plain(now, id, frame);
                true
            }
            Mode::Fifo(_) => self.enqueue_fifo(now, id, frame),
            Mode::Queues(queues) => {
                let refused = self.network.queues[queues].guarded && self.network.refuses(id, queues, &frame);
                !refused && self.enqueue_by_class(now, id, queues, frame)
            }
        }
    }

    /// Queues a frame at a plain port.
    #[inline(always)]
    pub(super) fn enqueue_plain(&mut self, now: Instant, id: PortId, frame: Frame) {
        let mut port = &mut self.network.ports[id];
        if matches!(port.far_end(), FarEnd::CountingSink) {
            if port.ring().is_full() {
                self.make_room(now, id);
                port = &mut self.network.ports[id];
            }
            port.enqueue_plain(now, frame);
        } else if let Some(arrival) = port.enqueue_plain(now, frame) {
            self.schedule.set(Event::Arrival(id), arrival);
        }
    }

    /// Queues a frame at a first-in first-out port.
    #[inline(always)]
    pub(super) fn enqueue_fifo(&mut self, now: Instant, id: PortId, frame: Frame) -> bool {
        let mut port = &mut self.network.ports[id];
        if !port.surely_fits(frame.octets()) {
            self.network.update_queue(now, id);
            port = &mut self.network.ports[id];
        }
        if !port.admit_fifo(frame.octets()) {
            return false;
        }
        // Where a congestion point stamps telemetry, no departure is ignored.
        let starts = port.ignored_up_to() == 0 && port.queue_len().get() == frame.octets();
        if matches!(port.far_end(), FarEnd::CountingSink) {
            if port.ring().is_full() {
                self.make_room(now, id);
                port = &mut self.network.ports[id];
            }
            port.transmit(now, frame);
        } else if let Some(arrival) = port.transmit(now, frame) {
            self.schedule.set(Event::Arrival(id), arrival);
        }
        if starts {
            self.network.stamp_first(now, id);
        }
        true
    }

    /// Counts what has reached a counting sink, and has the full ring of its link grow if that frees too little.
    pub(super) fn make_room(&mut self, now: Instant, id: PortId) {
        self.count_delivered(now, id);
        self.network.ports[id].ring_mut().reserve_half();
    }

    #[inline(always)]
    pub(super) fn enqueue_by_class(&mut self, now: Instant, id: PortId, queues: QueuesId, frame: Frame) -> bool {
        let Network { ports, queues: of_ports, inputs, routes, .. } = &mut self.network;
        let of_port = &mut of_ports[queues];
        if !ports[id].admit(of_port.of_class(frame.class()).octets, frame.octets()) {
            of_port.of_class_mut(frame.class()).dropped_frames += 1;
            return false;
        }
        let input = of_port.counts(&frame).then(|| inputs[routes.input_of(&frame)].position);
        of_port.enqueue(frame, input);
        if of_port.is_idle() {
            self.start_transmission(now, queues);
        }
        true
    }
}
