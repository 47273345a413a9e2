//! A port's priority queues and its transmitter: several classes, strict or in turns, PAUSE and PFC.
//!
//! Which frame is transmitted next is not known when a frame arrives, so such a port has an
//! event at the end of each transmission. The frame in transmission stays at the
//! head of its queue until then: it is never cut short, and it counts as queued.

use crate::deficit_round_robin::DeficitRoundRobin;
use crate::flow_queues::FlowQueues;
use crate::frame::{Frame, Ring, flag};
use crate::heads_share::HeadsShare;
use crate::ids::{AdapterId, FlowId, IdVec, InputSlot, PortCpId, PortId};
use crate::isolation::Isolation;
use crate::plan::TrimPlan;
use crate::port::Fifo;
use crate::watchdog::Watchdog;
use crate::wred::Wred;
use qcnlab_schemes::driver::ClassPause;
use qcnlab_units::BitRate;
use std::collections::VecDeque;

/// What a pause frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseFrame {
    /// The classes it addresses, a bit each; all eight for 802.3x.
    pub(crate) classes: u8,
    /// For how long they pause, in quanta of 512 bit times; 0 resumes them.
    pub(crate) quanta: u16,
    /// Whether they pause until a frame resumes them, however long.
    pub(crate) endless: bool,
    /// Whether a host sends it in a storm, whatever it holds.
    pub(crate) storm: bool,
    /// The port whose queue holds most of the octets that led to it.
    pub(crate) because: PortId,
    /// What it is about.
    pub(crate) about: Addressed,
}

/// What a pause frame is about, or a message that goes before all frames as a pause frame does. Messages address no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressed {
    /// Its classes.
    Classes,
    /// The one queue for flows, or at a host the flow, that it stops until another lets it go on.
    Queue(u32),
    /// A congesting flow, in a message of so many octets.
    Isolation { flow: FlowId, octets: u16 },
}

/// The queue of one class.
#[derive(Clone, Debug)]
pub(crate) struct ClassQueue {
    /// The class, 0 to 7.
    pub(crate) class: u8,
    pub(crate) frames: Ring,
    /// Octets of its frames, the one in transmission included.
    pub(crate) octets: u64,
    /// Of these, the octets that came in over each input of the node, by its position there; as many as occurred. See
    /// [`PriorityQueues::counts_inputs`].
    octets_from: IdVec<InputSlot, u64>,
    /// Frames that it took, and those that found no room.
    pub(crate) accepted_frames: u64,
    pub(crate) dropped_frames: u64,
    /// Its congestion point.
    pub(crate) cp: Option<PortCpId>,
    /// Its pause, and the port that led to it.
    pub(crate) pause: ClassPause<PortId>,
    /// What drops frames early.
    pub(crate) wred: Option<Box<Wred>>,
}

/// What the transmitter is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmitting {
    Nothing,
    /// The head of the queue at this position of [`PriorityQueues::queues`].
    Head(u8),
    Pause(PauseFrame),
    /// The link is down.
    Down,
}

/// The queues of a port, and its transmitter.
#[derive(Debug)]
pub(crate) struct PriorityQueues {
    pub(crate) port: PortId,
    /// Highest class first, but for one of congesting flows, which stands behind the queue that they come from.
    pub(crate) queues: Vec<ClassQueue>,
    /// For each class the position of its queue.
    position: [u8; 8],
    /// Pause frames that wait: they go before all classes and are never paused.
    pub(crate) pause_frames: VecDeque<PauseFrame>,
    pub(crate) transmitting: Transmitting,
    /// When the transmission ends, ps.
    pub(crate) ends: u64,
    /// The adapter whose flows it serves.
    pub(crate) adapter: Option<AdapterId>,
    /// The classes of which a flow waits there, a bit each.
    pub(crate) at_adapter: u8,
    /// Pause frames on the wire, and when they take effect, ps.
    pub(crate) pauses_in_flight: VecDeque<(u64, PauseFrame)>,
    /// The link's own rate, which quanta are counted in.
    pub(crate) link: BitRate,
    /// Propagation to the far end, and the time a pause takes to take effect there, ps.
    pub(crate) pause_delay: u64,
    /// How many pause frames were transmitted.
    pub(crate) pause_frames_sent: u64,
    /// Those of them that were sent in a storm.
    pub(crate) storm_frames_sent: u64,
    /// How many messages about congesting flows were transmitted, and how many the port has heard.
    pub(crate) isolation_messages_sent: u64,
    pub(crate) isolation_messages_heard: u64,
    /// Of those sent, how many were lost with the link.
    pub(crate) isolation_messages_lost: u64,
    /// Whether its queues are counted by input, too. They are where the node pauses links by watermarks: it has to know
    /// which output holds most of an input's octets, and what waits for a paused link.
    pub(crate) counts_inputs: bool,
    /// Whose turn it is, where some classes take turns.
    pub(crate) round_robin: Option<Box<DeficitRoundRobin>>,
    /// How packets are cut for which a queue has no room, if they are.
    pub(crate) trim: Option<TrimPlan>,
    /// How the heads of cut packets share the link with other frames, where they do not go before all.
    pub(crate) heads: Option<HeadsShare>,
    /// What takes its queues for stuck when pauses hold them up.
    pub(crate) watchdog: Option<Box<Watchdog>>,
    /// Queues for the flows of one class, in front of that class's queue.
    pub(crate) flows: Option<Box<FlowQueues>>,
    /// What isolates congesting flows of one class in the queue of another.
    pub(crate) isolation: Option<Box<Isolation>>,
    /// Whether more decides which frame is next than the order of classes: turns, shares, queues for flows, or the order of a flow.
    pub(crate) beyond_strict: bool,
    /// Whether more than room decides about an arriving frame: some queue may turn it away, or that of its flow is another.
    pub(crate) guarded: bool,
    /// Whether the port needs them whether or not anything is paused, and even with one class.
    pub(crate) always: bool,
    /// What the port is while nothing is paused, if it does not always need priority queues.
    pub(crate) unpaused: Option<Fifo>,
    /// How many more frames leave before the port becomes that again.
    pub(crate) transmissions_due: u32,
}

impl ClassQueue {
    /// Counts a frame that the port has admitted; `input` is the slot of the input to count it for, if there is one.
    #[inline(always)]
    pub(crate) fn count_frame_in(&mut self, frame: &Frame, input: Option<InputSlot>) {
        self.octets += frame.octets();
        self.accepted_frames += 1;
        if let Some(input) = input {
            self.count_in(input, frame.octets());
        }
    }

    #[inline]
    fn count_in(&mut self, input: InputSlot, size: u64) {
        *self.octets_from.get_or_grow(input) += size;
    }

    /// Counts a frame out that came in over the input at a position.
    #[inline]
    pub(crate) fn count_out(&mut self, input: InputSlot, size: u64) {
        self.octets_from[input] -= size;
    }

    /// How many of its frames are data.
    pub(crate) fn data_frames(&self) -> u32 {
        let all = self.frames.since(self.frames.head());
        all.filter(|frame| !frame.is(flag::NOT_DATA)).count() as u32
    }

    /// Counts nothing as queued: its frames went elsewhere.
    pub(crate) fn reset_count(&mut self) {
        self.octets = 0;
        self.octets_from.fill(0);
    }
}

impl PriorityQueues {
    /// `classes` has a bit for each class that the port carries.
    pub(crate) fn new(port: PortId, classes: u8, link: BitRate) -> PriorityQueues {
        let mut position = [u8::MAX; 8];
        let mut queues = Vec::new();
        for class in (0..8u8).rev().filter(|class| classes & 1 << class != 0) {
            position[usize::from(class)] = queues.len() as u8;
            queues.push(ClassQueue {
                class,
                frames: Ring::new(),
                octets: 0,
                octets_from: IdVec::new(),
                accepted_frames: 0,
                dropped_frames: 0,
                cp: None,
                pause: ClassPause::default(),
                wred: None,
            });
        }
        PriorityQueues {
            port,
            queues,
            position,
            pause_frames: VecDeque::new(),
            transmitting: Transmitting::Nothing,
            ends: 0,
            adapter: None,
            at_adapter: 0,
            pauses_in_flight: VecDeque::new(),
            link,
            pause_delay: 0,
            pause_frames_sent: 0,
            storm_frames_sent: 0,
            isolation_messages_sent: 0,
            isolation_messages_heard: 0,
            isolation_messages_lost: 0,
            counts_inputs: false,
            round_robin: None,
            trim: None,
            heads: None,
            watchdog: None,
            flows: None,
            isolation: None,
            beyond_strict: false,
            guarded: false,
            always: false,
            unpaused: None,
            transmissions_due: 0,
        }
    }

    /// Has the queue of a class go right after that of another, both of which it carries, whatever their numbers.
    pub(crate) fn move_behind(&mut self, class: u8, before: u8) {
        let moved = self.queues.remove(usize::from(self.position[usize::from(class)]));
        let at = self.queues.iter().position(|queue| queue.class == before).map_or(0, |position| position + 1);
        self.queues.insert(at, moved);
        for (position, queue) in (0u8..).zip(&self.queues) {
            self.position[usize::from(queue.class)] = position;
        }
    }

    /// The queue of a class that the port carries.
    #[inline]
    pub(crate) fn of_class(&self, class: u8) -> &ClassQueue {
        &self.queues[usize::from(self.position[usize::from(class)])]
    }

    #[inline]
    pub(crate) fn of_class_mut(&mut self, class: u8) -> &mut ClassQueue {
        &mut self.queues[usize::from(self.position[usize::from(class)])]
    }

    /// Whether the watchdog has the queue of a class drop what comes to it.
    pub(crate) fn drops(&self, class: u8) -> bool {
        let position = usize::from(self.position[usize::from(class)]);
        self.watchdog.as_ref().is_some_and(|watchdog| watchdog.drops(position))
    }

    /// Whether it has queues for the flows of a class.
    #[inline]
    pub(crate) fn keeps_apart(&self, class: u8) -> bool {
        self.flows.as_ref().is_some_and(|flows| flows.class == class)
    }

    /// Whether it counts a frame by the input that the frame came in over.
    #[inline]
    pub(crate) fn counts(&self, frame: &Frame) -> bool {
        self.counts_inputs && frame.is(flag::BUFFERED)
    }

    /// Queues a frame that the port has admitted; `input` is the slot of the input to count it for, if there is one.
    #[inline]
    pub(crate) fn enqueue(&mut self, frame: Frame, input: Option<InputSlot>) {
        let queue = self.of_class_mut(frame.class());
        queue.count_frame_in(&frame, input);
        queue.frames.push(frame);
    }

    /// Whether it transmits nothing.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.transmitting == Transmitting::Nothing
    }

    /// Dequeues the frame whose transmission ended from the queue at `position`; returns it, the octets that stay, and
    /// the queue's congestion point.
    pub(crate) fn dequeue_transmitted(&mut self, position: u8) -> (Frame, u64, Option<PortCpId>) {
        self.transmitting = Transmitting::Nothing;
        self.transmissions_due = self.transmissions_due.saturating_sub(1);
        let queue = &mut self.queues[usize::from(position)];
        let frame = queue.frames.pop();
        queue.octets -= frame.octets();
        if let Some(round_robin) = &mut self.round_robin
            && queue.frames.is_empty()
        {
            round_robin.emptied(usize::from(position));
        }
        (frame, queue.octets, queue.cp)
    }

    /// Takes the oldest frame that waits in the queue at `position`, in no transmission.
    pub(crate) fn take_waiting(&mut self, position: usize) -> Option<Frame> {
        let queue = &mut self.queues[position];
        if queue.frames.is_empty() {
            return None;
        }
        let frame = queue.frames.pop();
        queue.octets -= frame.octets();
        queue.accepted_frames -= 1;
        queue.dropped_frames += 1;
        if let Some(round_robin) = &mut self.round_robin
            && queue.frames.is_empty()
        {
            round_robin.emptied(position);
        }
        Some(frame)
    }

    /// Counts a frame as dropped that waited in front of the queue of its class; returns the position of that queue.
    pub(crate) fn lose_elsewhere(&mut self, frame: &Frame) -> usize {
        let queue = self.of_class_mut(frame.class());
        queue.octets -= frame.octets();
        queue.accepted_frames -= 1;
        queue.dropped_frames += 1;
        usize::from(self.position[usize::from(frame.class())])
    }

    /// Queues a pause frame. One for the same classes, or for the same queue, that still waits is out of date.
    pub(crate) fn queue_pause_frame(&mut self, frame: PauseFrame) {
        self.pause_frames.retain(|waiting| (waiting.classes, waiting.about) != (frame.classes, frame.about));
        self.pause_frames.push_back(frame);
    }

    /// Octets of some classes, a bit each, that came in over the input at a position, if that is counted.
    pub(crate) fn octets_from(&self, input: InputSlot, classes: u8) -> u64 {
        let of_classes = self.queues.iter().filter(|queue| classes & 1 << queue.class != 0);
        of_classes.filter_map(|queue| queue.octets_from.get(input)).sum()
    }

    /// How long that many quanta last, ps.
    pub(crate) fn quanta_ps(&self, quanta: u16) -> u64 {
        let bit_ps = u128::from(quanta) * 512 * 1_000_000_000_000;
        (bit_ps / u128::from(self.link.get())) as u64
    }

    /// Every frame that has not left.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Frame> {
        let in_flow_queues = self.flows.iter().flat_map(|flows| flows.waiting());
        self.queues.iter().flat_map(|queue| queue.frames.since(queue.frames.head())).chain(in_flow_queues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn classes_are_kept_highest_first() {
        let mut queues = PriorityQueues::new(PortId::new(0), 0b1000_1001, BitRate::gbps(10));
        let numbers: Vec<u8> = queues.queues.iter().map(|queue| queue.class).collect();
        assert_eq!(numbers, [7, 3, 0]);
        queues.enqueue(Frame::of_class(3, 100), None);
        assert_eq!((queues.of_class(3).octets, queues.of_class(7).octets), (100, 0));
        queues.enqueue(Frame::of_class(0, 200), None);
        queues.enqueue(Frame::of_class(7, 300), None);
        let waiting: Vec<u64> = queues.waiting().map(Frame::octets).collect();
        assert_eq!(waiting, [300, 100, 200]);
    }

    #[test]
    fn octets_are_counted_by_class_and_input() {
        let mut queues = PriorityQueues::new(PortId::new(0), 0b1001, BitRate::gbps(10));
        for (class, size, input) in [(0, 100, Some(1)), (3, 200, Some(1)), (3, 400, Some(0)), (3, 800, None)] {
            queues.enqueue(Frame::of_class(class, size), input.map(InputSlot::new));
        }
        let octets = |queues: &PriorityQueues, input| {
            [0b1001, 0b1000, 1].map(|all| queues.octets_from(InputSlot::new(input), all))
        };
        assert_eq!((octets(&queues, 0), octets(&queues, 1)), ([400, 400, 0], [300, 200, 100]));
        assert_eq!(octets(&queues, 2), [0, 0, 0]);
        queues.of_class_mut(3).count_out(InputSlot::new(1), 200);
        assert_eq!((octets(&queues, 1), queues.of_class(3).octets), ([100, 0, 100], 1400));
        queues.of_class_mut(3).reset_count();
        assert_eq!((octets(&queues, 0), queues.of_class(3).octets), ([0, 0, 0], 0));
    }

    #[test]
    fn a_quantum_is_512_bit_times_of_the_link() {
        // 512 bit at 10 Gb/s take 51.2 ns; 1875 of them 96 us; 65535 of them 3.355392 ms.
        let queues = PriorityQueues::new(PortId::new(0), 1, BitRate::gbps(10));
        assert_eq!(queues.quanta_ps(1), 51_200);
        assert_eq!(queues.quanta_ps(1875), 96_000_000);
        assert_eq!(queues.quanta_ps(65_535), 3_355_392_000);
    }

    /// A waiting frame that is taken was not accepted in the end, but dropped: of 700 octets in three frames 600 stay, then
    /// 400, then none.
    #[test]
    fn a_waiting_frame_that_is_taken_counts_as_dropped() {
        let mut queues = PriorityQueues::new(PortId::new(0), 1, BitRate::gbps(10));
        queues.round_robin = Some(Box::new(DeficitRoundRobin::new(vec![1500])));
        [100, 200, 400].into_iter().for_each(|size| queues.enqueue(Frame::of_class(0, size), None));
        let mut take = || {
            let octets = queues.take_waiting(0).map(|frame| frame.octets());
            let queue = queues.of_class(0);
            (octets, queue.octets, queue.accepted_frames, queue.dropped_frames)
        };
        let taken = [take(), take(), take(), take()];
        assert_eq!(taken, [(Some(100), 600, 2, 1), (Some(200), 400, 1, 2), (Some(400), 0, 0, 3), (None, 0, 0, 3)]);
    }
}
