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
        let (mut frame, told) = self.take(now, number, came);
        frame.leave_queue(number as u16);
        Some((frame, told))
    }

    /// Takes a frame that waits, whether its queue is stopped or not: it is lost. Returns whom to tell to go on; `came` says where a
    /// frame came from.
    pub(crate) fn lose(&mut self, now: Instant, came: impl Fn(&Frame) -> CameOver) -> Option<(Frame, Option<Told>)> {
        let number = self.queues.iter().position(|queue| !queue.frames.is_empty())?;
        Some(self.take(now, number, came))
    }

    /// Takes the oldest frame of a queue.
    fn take(&mut self, now: Instant, number: usize, came: impl Fn(&Frame) -> CameOver) -> (Frame, Option<Told>) {
        let queue = &mut self.queues[number];
        let frame = queue.frames.pop();
        queue.octets -= frame.octets();
        if queue.frames.is_empty() {
            self.active -= u32::from(!queue.paused);
            self.round_robin.emptied(number);
        }
        let queued = described(&frame, number as u16, came(&frame));
        let goes_on = self.point.on_dequeue(now, &queued, frame.is_tagged_in_queue());
        let told = queued.upstream.filter(|_| goes_on).map(|upstream| Told { upstream, stops: false });
        (frame, told)
    }

    /// Lets all queues go on.
    pub(crate) fn let_all_go(&mut self) {
        (0..self.queues.len()).for_each(|number| self.pause(number as u16, false));
    }

    /// The queues at the beginning of a link that are stopped from here.
    pub(crate) fn stopped_over(&self, link: PortId) -> Vec<Upstream> {
        let mut stopped = self.point.stopped();
        stopped.retain(|upstream| upstream.link == link.number());
        stopped
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::flag;
    use qcnlab_schemes::Purpose;
    use std::sync::{Arc, Mutex};

    /// What a point was told of a queue: its octets, the active queues, and where the frame came from; or that it was stopped.
    #[derive(Debug, PartialEq)]
    enum Heard {
        Queued(u64, u32, Option<u32>),
        Paused(u16, bool),
    }

    /// Has a queue for each flow, that of its number; notes what it hears.
    #[derive(Debug)]
    struct Listener(Arc<Mutex<Vec<Heard>>>);

    impl BackpressurePoint for Listener {
        fn queues(&self) -> u16 {
            4
        }

        fn quantum(&self) -> Bytes {
            Bytes::new(1500)
        }

        fn queue_for(&mut self, _: Instant, flow: qcnlab_schemes::FlowId, _: &mut Dice) -> u16 {
            flow.0 as u16
        }

        fn on_enqueue(&mut self, frame: &QueuedFrame, queues: QueuesNow) -> Held {
            let heard = Heard::Queued(queues.len.get(), queues.active, frame.upstream.map(|upstream| upstream.queue));
            self.0.lock().unwrap().push(heard);
            Held::default()
        }

        fn on_dequeue(&mut self, _: Instant, _: &QueuedFrame, _: bool) -> bool {
            false
        }

        fn stopped(&self) -> Vec<Upstream> {
            [(0, 2), (1, 1), (0, 3)].map(|(link, queue)| Upstream { link, queue }).to_vec()
        }

        fn on_queue_pause(&mut self, queue: u16, paused: bool) {
            self.0.lock().unwrap().push(Heard::Paused(queue, paused));
        }
    }

    fn came(flow: u32) -> CameOver {
        CameOver { flow: FlowId::new(flow), link: PortId::new(0), from_host: true, hop_rtt: Span::from_us(2) }
    }

    /// Frames of 100 octets, and what the point hears of each step.
    fn heard(steps: impl FnOnce(&mut FlowQueues, &dyn Fn(&mut FlowQueues, u32, u8))) -> Vec<Heard> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut queues =
            FlowQueues::new(3, Box::new(Listener(Arc::clone(&heard))), Dice::new(1, 0, "s->c", Purpose::Queueing));
        steps(&mut queues, &|queues, flow, flags| {
            let mut frame = Frame::of_class(3, 100);
            frame.set(flags);
            assert_eq!(queues.enqueue(Instant::ZERO, frame, came(flow), BitRate::gbps(10)), None);
        });
        drop(queues);
        Arc::into_inner(heard).unwrap().into_inner().unwrap()
    }

    /// A queue that is stopped is not active, whether it was stopped with frames or without; one that has sent its last is not
    /// either. Who is told twice hears it once.
    #[test]
    fn queues_with_frames_that_may_send_are_active() {
        let all = heard(|queues, enters| {
            enters(queues, 0, flag::CONTROLLED);
            enters(queues, 1, flag::CONTROLLED);
            queues.pause(0, true);
            queues.pause(0, true);
            queues.pause(2, true);
            enters(queues, 2, flag::CONTROLLED);
            enters(queues, 0, flag::CONTROLLED);
            assert!(queues.dequeue(Instant::ZERO, |_| came(1)).is_some());
            assert!(queues.dequeue(Instant::ZERO, |_| came(1)).is_none());
            queues.pause(2, false);
            enters(queues, 3, flag::CONTROLLED);
            assert_eq!(queues.waiting().count(), 4);
        });
        use Heard::{Paused, Queued};
        let expected = [
            Queued(100, 1, Some(0)),
            Queued(100, 2, Some(1)),
            Paused(0, true),
            Paused(2, true),
            Queued(100, 1, Some(2)),
            Queued(200, 1, Some(0)),
            Paused(2, false),
            Queued(100, 2, Some(3)),
        ];
        assert_eq!(all, expected);
    }

    /// What waits is lost, from queues that are stopped, too; then all may send.
    #[test]
    fn a_lost_frame_leaves_its_queue() {
        let all = heard(|queues, enters| {
            enters(queues, 1, flag::CONTROLLED);
            enters(queues, 2, flag::CONTROLLED);
            enters(queues, 1, flag::CONTROLLED);
            queues.pause(1, true);
            let lost = |queues: &mut FlowQueues| queues.lose(Instant::ZERO, |_| came(1)).is_some();
            assert_eq!([lost(queues), lost(queues), lost(queues), lost(queues)], [true, true, true, false]);
            assert_eq!((queues.waiting().count(), queues.active), (0, 0));
            queues.let_all_go();
            enters(queues, 1, flag::CONTROLLED);
            assert_eq!(queues.stopped_over(PortId::new(0)).len(), 2);
        });
        let last = &all[all.len() - 2..];
        assert_eq!(last, [Heard::Paused(1, false), Heard::Queued(100, 1, Some(1))]);
    }

    #[test]
    fn frames_that_nobody_controls_are_not_stopped() {
        assert_eq!(heard(|queues, enters| enters(queues, 1, 0)), [Heard::Queued(100, 1, None)]);
    }
}
