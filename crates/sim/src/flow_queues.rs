//! The queues of a port that keeps flows apart: they take turns, and each can be stopped from downstream.
//!
//! They stand before the queue of one class, the one under congestion control. What is not data waits in that queue, and
//! goes first. When nothing waits there, the flow queue whose turn it is hands its oldest frame over, which the port then
//! transmits. A frame that left keeps the number of its queue for one link; while it waits at the next port, it keeps
//! the number of the queue that it came from.

use crate::deficit_round_robin::{DeficitRoundRobin, Head};
use crate::frame::{Frame, Ring};
use crate::ids::{FlowId, Id, PortId};
use qcnlab_schemes::{BackpressurePoint, Dice, Held, QueuedFrame, QueuesNow, Upstream};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// One of a port's queues for flows.
#[derive(Debug)]
struct FlowQueue {
    frames: Ring,
    octets: u64,
    paused: bool,
}

/// A port's queues for flows, and what is computed there.
#[derive(Debug)]
pub(crate) struct FlowQueues {
    /// The class whose data waits in them.
    pub(crate) class: u8,
    point: Box<dyn BackpressurePoint>,
    dice: Dice,
    queues: Vec<FlowQueue>,
    round_robin: DeficitRoundRobin,
    /// How many have frames and are not stopped.
    active: u32,
}

/// Where a frame comes from, and how far that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CameOver {
    pub(crate) flow: FlowId,
    /// The port of the link that it came over.
    pub(crate) link: PortId,
    /// Whether that is a host's.
    pub(crate) from_host: bool,
    /// Twice the link's delay.
    pub(crate) hop_rtt: Span,
}

/// A queue one hop upstream that is told to stop, or to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) upstream: Upstream,
    pub(crate) stops: bool,
}

impl FlowQueues {
    pub(crate) fn new(class: u8, point: Box<dyn BackpressurePoint>, dice: Dice) -> FlowQueues {
        let (count, quantum) = (usize::from(point.queues()), point.quantum().get());
        let queue = || FlowQueue { frames: Ring::new(), octets: 0, paused: false };
        FlowQueues {
            class,
            queues: (0..count).map(|_| queue()).collect(),
            round_robin: DeficitRoundRobin::new(vec![quantum; count]),
            point,
            dice,
            active: 0,
        }
    }

    /// Queues a frame that the port has admitted, which serves at `rate`; returns whom to tell to stop.
    pub(crate) fn enqueue(&mut self, now: Instant, mut frame: Frame, came: CameOver, rate: BitRate) -> Option<Told> {
        let number = self.point.queue_for(now, qcnlab_schemes::FlowId(came.flow.number()), &mut self.dice);
        let queue = &mut self.queues[usize::from(number)];
        self.active += u32::from(queue.frames.is_empty() && !queue.paused);
        queue.octets += frame.octets();
        let queues = QueuesNow { len: Bytes::new(queue.octets), active: self.active, rate };
        let queued = described(&frame, number, came);
        let Held { tagged, stops } = self.point.on_enqueue(&queued, queues);
        frame.tag_in_queue(tagged);
        queue.frames.push(frame);
        queued.upstream.filter(|_| stops).map(|upstream| Told { upstream, stops: true })
    }

    /// Takes the frame that goes next, if one may go, with the number of its queue on it; returns whom to tell to go on.
    /// `came` says where a frame came from.
    pub(crate) fn dequeue(&mut self, now: Instant, came: impl Fn(&Frame) -> CameOver) -> Option<(Frame, Option<Told>)> {
        let queues = &self.queues;
        let head = |number: usize| match &queues[number] {
            FlowQueue { frames, .. } if frames.is_empty() => Head::Empty,
            FlowQueue { paused: true, .. } => Head::Paused,
            FlowQueue { frames, .. } => Head::Octets(frames.at(frames.head()).octets()),
        };
        let number = self.round_robin.serve(head)?;
        let queue = &mut self.queues[number];
        let mut frame = queue.frames.pop();
        queue.octets -= frame.octets();
        if queue.frames.is_empty() {
            self.active -= 1;
            self.round_robin.emptied(number);
        }
        let queued = described(&frame, number as u16, came(&frame));
        let goes_on = self.point.on_dequeue(now, &queued, frame.is_tagged_in_queue());
        frame.leave_queue(number as u16);
        let told = queued.upstream.filter(|_| goes_on).map(|upstream| Told { upstream, stops: false });
        Some((frame, told))
    }

    /// Stops one of the queues, or lets it go on.
    pub(crate) fn pause(&mut self, number: u16, paused: bool) {
        let queue = &mut self.queues[usize::from(number)];
        if queue.paused != paused {
            queue.paused = paused;
            if !queue.frames.is_empty() {
                self.active = if paused { self.active - 1 } else { self.active + 1 };
            }
            self.point.on_queue_pause(number, paused);
        }
    }

    /// The frames that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flat_map(|queue| queue.frames.since(queue.frames.head()))
    }
}

/// A frame as the point of the port is told of it. What is not under control is not stopped, nor is what left a port
/// without such queues.
fn described(frame: &Frame, queue: u16, came: CameOver) -> QueuedFrame {
    let number = if came.from_host { Some(came.flow.number()) } else { frame.left_queue().map(u32::from) };
    let number = number.filter(|_| frame.is(crate::frame::flag::CONTROLLED));
    QueuedFrame {
        flow: qcnlab_schemes::FlowId(came.flow.number()),
        queue,
        upstream: number.map(|queue| Upstream { link: came.link.number(), queue }),
        hop_rtt: came.hop_rtt,
    }
}
