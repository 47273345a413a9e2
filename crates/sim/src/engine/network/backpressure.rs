//! Ports that keep flows apart: frames join the queue of their flow, and queues one hop upstream stop and go on.
//!
//! A message to stop or to go on is a pause frame that names one queue in place of classes: it goes before all frames and
//! crosses one link. At a switch it stops a queue of the port there; at a host, which has a queue for each flow, a flow.

use super::{Hop, Network};
use crate::engine::schedule::{Event, Schedule};
use crate::flow_queues::{CameOver, Told};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, Id, PortId, QueuesId};
use crate::priority_queues::{PauseFrame, Transmitting};
use qcnlab_units::{Instant, Span};

/// Whom a message to stop a queue reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Stopped {
    /// A queue of a switch, which has done what it says.
    Queue,
    /// A flow of a host.
    Flow(FlowId),
}

impl Network {
    /// As [`forward`](Network::forward), of a data frame at a port with queues for its flow.
    #[cold]
    pub(super) fn forward_by_flow(
        &mut self,
        now: Instant,
        id: PortId,
        queues: QueuesId,
        frame: Frame,
        schedule: &mut Schedule,
    ) -> Hop {
        let of_port = &mut self.queues[queues];
        if !self.ports[id].admit(of_port.of_class(frame.class()).octets, frame.octets()) {
            of_port.of_class_mut(frame.class()).dropped_frames += 1;
            return Hop::Refused { port: id, frame, shows: false };
        }
        let came = self.came_over(&frame);
        let of_port = &mut self.queues[queues];
        let input = of_port.counts(&frame).then(|| self.inputs[self.routes.input_of(&frame)].place);
        let queue = of_port.of_class_mut(frame.class());
        queue.count_frame_in(&frame, input);
        let len = queue.octets;
        let rate = self.ports[id].rate();
        let told = of_port.flows.as_mut().and_then(|flows| flows.enqueue(now, frame, came, rate));
        if let Some(told) = told {
            self.tell_upstream(now, id, told, schedule);
        }
        if self.queues[queues].is_idle() {
            self.start_transmission(now, queues, schedule);
        }
        if self.pauses_by_threshold && frame.is(flag::BUFFERED) {
            self.check_pause_threshold(now, id, &frame, len, schedule);
        }
        Hop::Taken
    }

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
    fn came_over(&self, frame: &Frame) -> CameOver {
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
    fn tell_upstream(&mut self, now: Instant, because: PortId, told: Told, schedule: &mut Schedule) {
        let Told { upstream, stops } = told;
        let reverse = self.reverse_of(PortId::new(upstream.link));
        let quanta = if stops { u16::MAX } else { 0 };
        let queue = Some(upstream.queue);
        let frame = PauseFrame { classes: 0, quanta, endless: stops, storm: false, because, queue };
        self.send_pause_frame(now, reverse, frame, schedule);
    }

    /// A message to a queue of a port has arrived: returns whom it reaches.
    pub(in crate::engine) fn take_queue_pause(
        &mut self,
        now: Instant,
        port: PortId,
        queue: u32,
        stops: bool,
        schedule: &mut Schedule,
    ) -> Stopped {
        let of_switch = self.ports[port].queues_in_use().filter(|queues| self.queues[*queues].flows.is_some());
        let Some(id) = of_switch else { return Stopped::Flow(FlowId::new(queue)) };
        let queues = &mut self.queues[id];
        if let Some(flows) = &mut queues.flows {
            flows.pause(queue as u16, stops);
        }
        if queues.is_idle() {
            self.start_transmission(now, id, schedule);
        }
        Stopped::Queue
    }
}
