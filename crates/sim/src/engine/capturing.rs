//! Captures: what leaves chosen ports, reported frame by frame in the order of time.
//!
//! A captured run has [an event for each arrival](crate::plan::Events::Everywhere). Just before the arrival is handled,
//! the frame is still on the link: it left the port one propagation delay ago. Ports have different delays, so reports
//! wait until no earlier one can come. A run without capture pays nothing: the loop attends to captures where it
//! attends to its control, and then at every event.

use super::Engine;
use super::schedule::Event;
use super::signalling::{ControlFrame, SignalOf};
use crate::departure::{DataFacts, Departure, FrameFacts, SignalFacts};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, Id, IdVec, LimiterId, PortId, QueuesId};
use crate::packets::AckKind;
use crate::priority_queues::PauseFrame;
use crate::source::Source;
use qcnlab_schemes::{EventKind, Signal};
use qcnlab_units::{Bytes, Instant};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// Takes what captured ports send, in the order of time; breaks when it wants no more.
pub type Sink<'a> = &'a mut dyn FnMut(&Departure) -> ControlFlow<()>;

/// Which ports are captured, and what waits to be reported.
pub(super) struct Capture {
    ports: IdVec<PortId, bool>,
    /// Frames of each flow that have left its first port.
    numbers: IdVec<FlowId, u32>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    reported: u64,
    /// The longest time from a departure to the event that tells of it, ps.
    lag: u64,
}

/// A report that waits, by time and then in the order in which reports were made.
struct Waiting {
    departure: Departure,
    order: u64,
}

impl Waiting {
    fn key(&self) -> (Instant, u64) {
        (self.departure.at, self.order)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Capture {
    fn report(&mut self, at: Instant, port: PortId, frame: FrameFacts) {
        self.reported += 1;
        let departure = Departure { at, port: port.number(), frame };
        self.waiting.push(Reverse(Waiting { departure, order: self.reported }));
    }

    /// Hands out what left before `until`.
    fn hand_out(&mut self, until: Instant, sink: Sink<'_>) -> ControlFlow<()> {
        while let Some(Reverse(first)) = self.waiting.peek()
            && first.departure.at < until
        {
            sink(&first.departure)?;
            self.waiting.pop();
        }
        ControlFlow::Continue(())
    }
}

impl Engine {
    /// Captures `ports`, by their index in the plan; its [`Events`](crate::Events) must be everywhere.
    pub(super) fn start_capture(&mut self, ports: &[u32]) {
        let mut captured: IdVec<PortId, bool> = self.network.ports.iter().map(|_| false).collect();
        ports.iter().for_each(|port| captured[PortId::new(*port)] = true);
        let delays = self.network.ports.iter().map(|port| port.delay().ps());
        let pauses = self.network.queues.iter().map(|queues| queues.pause_delay);
        self.capture = Some(Box::new(Capture {
            ports: captured,
            numbers: self.senders.flows.iter().map(|_| 0).collect(),
            waiting: BinaryHeap::new(),
            reported: 0,
            lag: delays.chain(pauses).max().unwrap_or(0),
        }));
        self.attend_every = 1;
    }

    /// Reports what is about to arrive, and hands out what is old enough.
    pub(super) fn capture_event(&mut self, now: Instant, event: Event, sink: Sink<'_>) -> ControlFlow<()> {
        match event {
            Event::Arrival(port) => self.capture_arrival(now, port),
            Event::PauseEffect(queues) => {
                if let Some((takes_effect, pause)) = self.network.queues[queues].pauses_in_flight.front().copied() {
                    self.capture_pause(queues, takes_effect, pause);
                }
            }
            _ => {}
        }
        let Some(capture) = &mut self.capture else { return ControlFlow::Continue(()) };
        capture.hand_out(Instant::from_ps(now.ps().saturating_sub(capture.lag)), sink)
    }

    /// At the end of the run: reports what is still on links, and hands everything out.
    pub(super) fn capture_rest(&mut self, sink: Sink<'_>) -> ControlFlow<()> {
        if self.capture.is_none() {
            return ControlFlow::Continue(());
        }
        for port in self.network.ports.ids() {
            self.network.update_queue(self.run_end.at(), port);
            for position in 0..self.network.ports[port].on_the_wire().count() {
                self.capture_frame(port, position as u32);
            }
        }
        for queues in self.network.queues.ids() {
            for position in 0..self.network.queues[queues].pauses_in_flight.len() {
                let (takes_effect, pause) = self.network.queues[queues].pauses_in_flight[position];
                self.capture_pause(queues, takes_effect, pause);
            }
        }
        let end = self.run_end.at();
        self.capture.as_mut().map_or(ControlFlow::Continue(()), |capture| capture.hand_out(end, sink))
    }

    fn capture_arrival(&mut self, now: Instant, port: PortId) {
        if self.network.ports[port].observes_departures() {
            self.network.update_queue(now, port);
        }
        self.capture_frame(port, 0);
    }

    /// Reports the frame at this position of a link, from the oldest; on its flow's first link, numbers it.
    fn capture_frame(&mut self, id: PortId, position: u32) {
        let Some(capture) = &mut self.capture else { return };
        let port = &mut self.network.ports[id];
        let slot = port.ring().head().wrapping_add(position);
        let left = Instant::from_ps(port.ring().at(slot).arrival - port.delay().ps());
        let frame = port.ring_mut().at_mut(slot);
        if frame.hop() == 0 && !frame.is(flag::SEGMENT | flag::NOT_DATA) {
            let number = &mut capture.numbers[self.network.routes.paths[frame.path()].flow];
            frame.set_tag(*number);
            *number = number.wrapping_add(1);
        }
        if capture.ports[id] {
            let mut frame = *frame;
            if let Some(domain) = &self.domain {
                domain.ports[id].untag(&mut frame);
            }
            let facts = self.facts_of(frame);
            if let Some(capture) = &mut self.capture {
                capture.report(left, id, facts);
            }
        }
    }

    fn capture_pause(&mut self, id: QueuesId, takes_effect: u64, pause: PauseFrame) {
        let queues = &self.network.queues[id];
        let Some(capture) = self.capture.as_mut().filter(|capture| capture.ports[queues.port]) else { return };
        let classes = (pause.classes != u8::MAX).then_some(pause.classes);
        let facts = FrameFacts::Pause { classes, quanta: pause.quanta };
        capture.report(Instant::from_ps(takes_effect - queues.pause_delay), queues.port, facts);
    }

    fn facts_of(&self, frame: Frame) -> FrameFacts {
        let mut flow = data_facts(self.network.flow_of(&frame), &frame);
        let (mut negative, mut echo) = (false, false);
        if frame.is(flag::SEGMENT | flag::ACK)
            && let Source::Roce(pair) = &self.senders.flows[self.network.flow_of(&frame)].source
        {
            let packet = self.network.packets.get(frame.packet());
            flow.number = if frame.is(flag::ACK) { packet.expected } else { packet.number };
            negative = packet.kind != AckKind::Positive;
            echo = frame.is(flag::ACK) && packet.marked > 0 && pair.hears(EventKind::Acknowledgement);
        }
        if frame.is(flag::ACK) {
            return FrameFacts::Ack { flow, negative, echo };
        }
        if !frame.is(flag::CONTROL) {
            return FrameFacts::Data(flow);
        }
        match *self.signalling.carried(&frame) {
            ControlFrame::Head(packet) => {
                let number = self.network.packets.get(packet).number;
                FrameFacts::Data(DataFacts { number, segment: true, ..flow })
            }
            ControlFrame::Probe(probe) => FrameFacts::Probe { flow, probe },
            ControlFrame::Signal(SignalOf { signal, sampled, sampled_at }) => FrameFacts::Signal(SignalFacts {
                signal,
                sampled: data_facts(self.network.flow_of(&sampled), &sampled),
                sampled_at: sampled_at.number(),
                carried: Some((Bytes::new(frame.octets()), frame.class())),
                heard: false,
            }),
        }
    }

    /// A signal of ideal feedback starts at `port` now and reaches its reaction point at `heard_at`.
    #[cold]
    pub(super) fn capture_ideal(
        &mut self,
        now: Instant,
        port: PortId,
        sampled: &Frame,
        heard_at: Instant,
        signal: Signal,
    ) {
        let Some(capture) = &mut self.capture else { return };
        let flow = self.network.flow_of(sampled);
        let facts = SignalFacts {
            signal,
            sampled: data_facts(flow, sampled),
            sampled_at: port.number(),
            carried: None,
            heard: false,
        };
        if capture.ports[port] {
            capture.report(now, port, FrameFacts::Signal(facts));
        }
        let host = self.senders.flows[flow].port;
        if capture.ports[host] {
            capture.report(heard_at, host, FrameFacts::Signal(SignalFacts { heard: true, ..facts }));
        }
    }

    /// A signal that travelled as `frame` has reached the host of its limiter.
    #[cold]
    pub(super) fn capture_heard(&mut self, now: Instant, frame: &Frame, of: SignalOf) {
        let (flow, host) = (
            self.network.flow_of(&of.sampled),
            self.host_port(self.senders.flows[self.network.flow_of(frame)].limiter),
        );
        let Some(capture) = self.capture.as_mut().filter(|capture| capture.ports[host]) else { return };
        let facts = SignalFacts {
            signal: of.signal,
            sampled: data_facts(flow, &of.sampled),
            sampled_at: of.sampled_at.number(),
            carried: Some((Bytes::new(frame.octets()), frame.class())),
            heard: true,
        };
        capture.report(now, host, FrameFacts::Signal(facts));
    }

    fn host_port(&self, limiter: LimiterId) -> PortId {
        self.senders.flows[self.senders.limiters[limiter].last_flow].port
    }
}

fn data_facts(flow: FlowId, frame: &Frame) -> DataFacts {
    DataFacts {
        flow: flow.number(),
        number: frame.tag(),
        size: Bytes::new(frame.octets()),
        class: frame.class(),
        segment: frame.is(flag::SEGMENT),
        controlled: frame.is(flag::CONTROLLED),
        cn_tagged: frame.is(flag::CN_TAGGED),
        asks_bandwidth: frame.is(flag::ASKS_BANDWIDTH),
        limited_by: frame.limited_by().checked_sub(1).map(u32::from),
        mark: frame.mark(),
    }
}
