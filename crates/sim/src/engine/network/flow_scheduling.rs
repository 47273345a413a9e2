//! Which frame goes next at a port that keeps flows apart, and the messages upstream that follow when one leaves its queue.

use super::Network;
use crate::engine::schedule::{Event, Schedule};
use crate::flow_queues::{CameOver, Told};
use crate::frame::Frame;
use crate::ids::{Id, PortId, QueuesId};
use crate::priority_queues::{Addressed, PauseFrame, Transmitting};
use qcnlab_units::{Instant, Span};

impl Network {
    /// As [`start_transmission`](Network::start_transmission), between frames, at a port with queues for flows: the highest
    /// class first, and of the class that has them what is not data.
    #[cold]
    pub(super) fn start_by_flow(&mut self, now: Instant, id: QueuesId, schedule: &mut Schedule) {
        let mut resumes = u64::MAX;
        for position in 0..self.queues[id].queues.len() {
            let queue = &self.queues[id].queues[position];
            let (empty, until) = (queue.frames.is_empty(), queue.pause.until());
            if until > now.ps() {
                resumes = if queue.octets > 0 { resumes.min(until) } else { resumes };
                continue;
            }
            if empty && !self.take_from_flow_queues(now, id, position, schedule) {
                continue;
            }
            let queues = &mut self.queues[id];
            let frames = &queues.queues[position].frames;
            let size = frames.at(frames.head()).octets();
            queues.transmitting = Transmitting::Head(position as u8);
            queues.ends = now.ps() + self.ports[queues.port].transmission(size);
            schedule.set(Event::TransmissionEnd(id), Instant::from_ps(queues.ends));
            return;
        }
        if resumes < u64::MAX {
            schedule.set(Event::TransmissionEnd(id), Instant::from_ps(resumes));
        }
    }

    /// Hands the next frame of the queues for flows over to the queue of their class, if that is at `position` and a frame may
    /// go; returns whether.
    fn take_from_flow_queues(&mut self, now: Instant, id: QueuesId, position: usize, schedule: &mut Schedule) -> bool {
        let class = self.queues[id].queues[position].class;
        // The queues are out of their place while the rest of the network is asked where a frame came from.
        let Some(mut flows) = self.queues[id].flows.take_if(|flows| flows.class == class) else { return false };
        let next = flows.dequeue(now, |frame| self.came_over(frame));
        let queues = &mut self.queues[id];
        queues.flows = Some(flows);
        let Some((frame, told)) = next else { return false };
        queues.queues[position].frames.push(frame);
        let port = queues.port;
        if let Some(told) = told {
            self.tell_upstream(now, port, told, schedule);
        }
        true
    }

    /// Where a data frame that is at a switch came from.
    pub(super) fn came_over(&self, frame: &Frame) -> CameOver {
        let link = self.ingress_port(frame);
        let delay = self.ports[link].delay();
        CameOver {
            flow: self.flow_of(frame),
            link,
            from_host: frame.hop() == 1,
            hop_rtt: Span::from_ps(2 * delay.ps()),
        }
    }

    /// Sends a message to a queue upstream; `because` is the port whose queue led to it.
    pub(super) fn tell_upstream(&mut self, now: Instant, because: PortId, told: Told, schedule: &mut Schedule) {
        let Told { upstream, stops } = told;
        let reverse = self.reverse_of(PortId::new(upstream.link));
        let Some(id) = self.ports[reverse].queues_in_use() else { return };
        let quanta = if stops { u16::MAX } else { 0 };
        let about = Addressed::Queue(upstream.queue);
        let queues = &mut self.queues[id];
        queues.queue_pause_frame(PauseFrame { classes: 0, quanta, endless: stops, storm: false, because, about });
        if queues.is_idle() {
            // It starts by an event of this instant: this may be the start of a transmission at another port.
            schedule.set(Event::TransmissionEnd(id), now);
        }
    }
}
