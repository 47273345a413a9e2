//! Captures: what leaves chosen ports, reported frame by frame in the order of time.
//!
//! A captured run has [an event for each arrival](crate::plan::Events::Everywhere). Just before the arrival is handled,
//! the frame is still on the link: it left the port one propagation delay ago. Ports have different delays, so reports
//! wait until no earlier one can come. A run without capture pays nothing: the loop attends to captures where it
//! attends to its control, and then at every event.

use super::network::{Network, PauseOnLink};
use super::schedule::Event;
use super::senders::Senders;
use super::signalling::{ControlFrame, SignalOf, Signalling};
use crate::departure::{DataFacts, Departure, FrameFacts, SignalFacts};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, IdVec, PortId};
use crate::packets::AckKind;
use qcnlab_schemes::Signal;
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
    /// Captures `ports`; its [`Events`](crate::Events) must be everywhere.
    pub(super) fn new(ports: &[PortId], network: &Network, senders: &Senders) -> Box<Capture> {
        let mut captured: IdVec<PortId, bool> = (0..network.counts()[0]).map(|_| false).collect();
        ports.iter().for_each(|port| captured[*port] = true);
        Box::new(Capture {
            ports: captured,
            numbers: senders.flows().map(|_| 0).collect(),
            waiting: BinaryHeap::new(),
            reported: 0,
            lag: network.longest_lag().ps(),
        })
    }

    /// Reports what is about to arrive, and hands out what is old enough.
    pub(super) fn on_event(
        &mut self,
        now: Instant,
        event: Event,
        (network, senders, signalling): (&mut Network, &Senders, &Signalling),
        sink: Sink<'_>,
    ) -> ControlFlow<()> {
        match event {
            Event::Arrival(port) => {
                let (left, frame) = network.frame_about_to_arrive(now, port, |flow| self.next_number(flow));
                self.report_frame(left, port, || facts_of(frame, network, senders, signalling));
            }
            Event::PauseEffect(queues) => {
                network.pause_about_to_arrive(queues).into_iter().for_each(|pause| self.report_pause(&pause));
            }
            _ => {}
        }
        self.hand_out(Instant::from_ps(now.ps().saturating_sub(self.lag)), sink)
    }

    /// At the end of the run: reports what is still on links, and hands everything out.
    pub(super) fn on_end(
        &mut self,
        end: Instant,
        (network, senders, signalling): (&mut Network, &Senders, &Signalling),
        sink: Sink<'_>,
    ) -> ControlFlow<()> {
        for (port, left, frame) in network.frames_on_links(end, |flow| self.next_number(flow)) {
            self.report_frame(left, port, || facts_of(frame, network, senders, signalling));
        }
        network.pauses_on_links().for_each(|pause| self.report_pause(&pause));
        self.hand_out(end, sink)
    }

    /// A signal of ideal feedback about `flow` starts at `port` now and reaches its host at `heard_at`, whose port is `host`.
    #[cold]
    pub(super) fn on_ideal(
        &mut self,
        (now, heard_at): (Instant, Instant),
        (port, host): (PortId, PortId),
        flow: FlowId,
        sampled: &Frame,
        signal: Signal,
    ) {
        let sampled = data_facts(flow, sampled);
        let facts = SignalFacts { signal, sampled, sampled_at: port, carried: None, heard: false };
        self.report_frame(now, port, || FrameFacts::Signal(facts));
        self.report_frame(heard_at, host, || FrameFacts::Signal(SignalFacts { heard: true, ..facts }));
    }

    /// A signal about `flow` that travelled as `frame` has reached its host, whose port is `host`.
    #[cold]
    pub(super) fn on_heard(&mut self, now: Instant, host: PortId, flow: FlowId, frame: &Frame, of: SignalOf) {
        let SignalOf { signal, sampled, sampled_at } = of;
        let sampled = data_facts(flow, &sampled);
        let carried = Some((Bytes::new(frame.octets()), frame.class()));
        let facts = SignalFacts { signal, sampled, sampled_at, carried, heard: true };
        self.report_frame(now, host, || FrameFacts::Signal(facts));
    }

    fn report(&mut self, at: Instant, port: PortId, frame: FrameFacts) {
        self.reported += 1;
        let departure = Departure { at, port, frame };
        self.waiting.push(Reverse(Waiting { departure, order: self.reported }));
    }

    /// The number of the next frame of a flow that leaves its first port.
    fn next_number(&mut self, flow: FlowId) -> u32 {
        let number = &mut self.numbers[flow];
        *number = number.wrapping_add(1);
        number.wrapping_sub(1)
    }

    /// Reports a frame, if its port is captured.
    fn report_frame(&mut self, at: Instant, port: PortId, facts: impl FnOnce() -> FrameFacts) {
        if self.ports[port] {
            self.report(at, port, facts());
        }
    }

    fn report_pause(&mut self, on_link: &PauseOnLink) {
        let PauseOnLink { port, left, pause } = on_link;
        let classes = (pause.classes != u8::MAX).then_some(pause.classes);
        self.report_frame(*left, *port, || FrameFacts::Pause { classes, quanta: pause.quanta });
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

/// What a captured frame says.
fn facts_of(frame: Frame, network: &Network, senders: &Senders, signalling: &Signalling) -> FrameFacts {
    let of = network.flow_of(&frame);
    let mut flow = data_facts(of, &frame);
    let (mut negative, mut echo) = (false, false);
    if frame.is(flag::SEGMENT | flag::ACK) && senders.is_pair(of) {
        let packet = network.packets().get(frame.packet());
        flow.number = if frame.is(flag::ACK) { packet.expected } else { packet.number };
        negative = packet.kind != AckKind::Positive;
        echo = frame.is(flag::ACK) && packet.marked > 0 && senders.hears_acknowledgements(of);
    }
    if frame.is(flag::ACK) {
        return FrameFacts::Ack { flow, negative, echo };
    }
    if !frame.is(flag::CONTROL) {
        return FrameFacts::Data(flow);
    }
    match *signalling.carried(&frame) {
        ControlFrame::Head(packet) => {
            let number = network.packets().get(packet).number;
            FrameFacts::Data(DataFacts { number, segment: true, ..flow })
        }
        ControlFrame::Probe(probe) => FrameFacts::Probe { flow, probe },
        ControlFrame::Signal(SignalOf { signal, sampled, sampled_at }) => FrameFacts::Signal(SignalFacts {
            signal,
            sampled: data_facts(network.flow_of(&sampled), &sampled),
            sampled_at,
            carried: Some((Bytes::new(frame.octets()), frame.class())),
            heard: false,
        }),
    }
}

fn data_facts(flow: FlowId, frame: &Frame) -> DataFacts {
    DataFacts {
        flow,
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
