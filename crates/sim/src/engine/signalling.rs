//! Feedback on its way: what control frames carry, which signals of ideal feedback wait to be heard, and who answers at
//! destinations. Like the other parts it sets its own events in the schedule that it is handed.

use super::effects::Counted;
use super::schedule::{Event, Schedule};
use crate::frame::{Frame, Parts, flag};
use crate::ids::{ControlFrameId, FlowId, Id, IdVec, LimiterId, PacketId, PathId, PortId};
use crate::plan::{Feedback, Plan};
use qcnlab_schemes::registry::AnyNp;
use qcnlab_schemes::{Probe, Signal};
use qcnlab_units::{Bytes, Instant};
use std::collections::VecDeque;

/// Feedback on its way, and who answers at destinations.
pub(super) struct Signalling {
    feedback: Feedback,
    /// An entry for each flow, or none at all; a message has one while it lasts.
    notification_points: IdVec<FlowId, Option<Box<AnyNp>>>,
    /// Under ideal feedback signals on their way to each limiter, in order of arrival; `None` before the first and when the
    /// limiter is gone.
    in_flight: IdVec<LimiterId, Option<Box<InFlight>>>,
    /// What control frames carry, and the entries that are free.
    control_frames: IdVec<ControlFrameId, ControlFrame>,
    free: Vec<ControlFrameId>,
}

/// Signals on their way to a limiter, and when each arrives.
type InFlight = VecDeque<(Instant, Signal)>;

/// What a control frame carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum ControlFrame {
    /// In reverse, to a reaction point.
    Signal(SignalOf),
    /// Forward, along the path of a flow.
    Probe(Probe),
    /// Forward, the head of a packet that was cut.
    Head(PacketId),
}

impl ControlFrame {
    /// What counts it if it is lost.
    pub(super) const fn counts_as_lost(&self) -> Counted {
        match self {
            ControlFrame::Signal(_) => Counted::MessageLost,
            ControlFrame::Probe(_) => Counted::ProbeEnded,
            ControlFrame::Head(_) => Counted::HeadEnded,
        }
    }
}

/// A signal, and the frame that it answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalOf {
    /// What it says.
    pub(super) signal: Signal,
    /// The frame that it answers.
    pub(super) sampled: Frame,
    /// The port whose queue that frame came to, or that it left last.
    pub(super) sampled_at: PortId,
}

/// Where a control frame starts, and how it travels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) size: Bytes,
    pub(super) class: u8,
    pub(super) path: PathId,
    pub(super) hop: u8,
    /// [`flag::REVERSE`] or nothing.
    pub(super) direction: u8,
}

/// How many of each kind are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnderWay {
    pub(super) signals: u64,
    pub(super) probes: u64,
    pub(super) heads: u64,
}

impl Signalling {
    /// Nothing on its way, in a run with so many limiters; `lasting` says of each flow whether it is there from the start of
    /// the run to its end.
    pub(super) fn new(plan: &Plan, limiters: usize, lasting: impl Iterator<Item = bool>) -> Signalling {
        let notifies = plan.scheme.notification_point().is_some();
        let point = |lasts| if lasts { plan.scheme.notification_point().map(Box::new) } else { None };
        let heard = if plan.feedback == Feedback::Ideal { limiters } else { 0 };
        Signalling {
            feedback: plan.feedback,
            notification_points: lasting.filter(|_| notifies).map(point).collect(),
            in_flight: (0..heard).map(|_| None).collect(),
            control_frames: IdVec::new(),
            free: Vec::new(),
        }
    }

    /// How signals travel.
    pub(super) const fn feedback(&self) -> Feedback {
        self.feedback
    }

    /// Whether destinations answer data frames or probes.
    #[inline(always)]
    pub(super) fn notifies(&self) -> bool {
        !self.notification_points.is_empty()
    }

    /// The notification point of a flow, if its destination answers.
    #[inline(always)]
    pub(super) fn notification_point(&mut self, flow: FlowId) -> Option<&mut AnyNp> {
        self.notification_points.get_mut(flow)?.as_deref_mut()
    }

    /// A message begins, and its destination answers by this notification point.
    pub(super) fn begin(&mut self, flow: FlowId, point: Option<AnyNp>) {
        if let Some(slot) = self.notification_points.get_mut(flow) {
            *slot = point.map(Box::new);
        }
    }

    /// A message is over, and its notification point is asked no more.
    pub(super) fn end(&mut self, flow: FlowId) {
        self.begin(flow, None);
    }

    /// A frame that carries a signal, a probe or a head, until somebody takes that.
    pub(super) fn frame(&mut self, carried: ControlFrame, leg: Leg) -> Frame {
        let Leg { size, class, path, hop, direction } = leg;
        let size = u16::try_from(size.get()).expect("a frame has at most 65 535 octets");
        let tag = self.keep(carried).number();
        let flags = flag::CONTROL | direction;
        Frame::new(Parts { size, class, path, hop, tag, flags, limited_by: 0 })
    }

    /// Keeps what a control frame carries until it is taken.
    fn keep(&mut self, carried: ControlFrame) -> ControlFrameId {
        match self.free.pop() {
            Some(id) => {
                self.control_frames[id] = carried;
                id
            }
            None => self.control_frames.push(carried),
        }
    }

    /// What a control frame carries.
    pub(super) fn carried(&self, frame: &Frame) -> &ControlFrame {
        &self.control_frames[frame.carries()]
    }

    /// Has a control frame carry something else from now on.
    pub(super) fn replace(&mut self, frame: &Frame, carried: ControlFrame) {
        self.control_frames[frame.carries()] = carried;
    }

    /// Takes what a control frame carries, at the end of its way.
    pub(super) fn take(&mut self, frame: &Frame) -> ControlFrame {
        let id = frame.carries();
        self.free.push(id);
        self.control_frames[id]
    }

    /// Whether signals are on their way to a limiter under ideal feedback.
    pub(super) fn reach(&self, limiter: LimiterId) -> bool {
        self.in_flight.get(limiter).is_some_and(|signals| signals.as_ref().is_some_and(|signals| !signals.is_empty()))
    }

    /// A limiter is gone, and no signal is on its way to it.
    pub(super) fn forget(&mut self, limiter: LimiterId) {
        self.in_flight.get_mut(limiter).map(Option::take);
    }

    /// Ideal feedback: has a signal reach its limiter at `at`.
    pub(super) fn send_ideally(&mut self, at: Instant, limiter: LimiterId, signal: Signal, schedule: &mut Schedule) {
        if let Some(first) = self.deliver_at(at, limiter, signal) {
            schedule.set(Event::SignalArrival(limiter), first);
        }
    }

    /// As [`send_ideally`](Signalling::send_ideally), unscheduled: returns the time if it is now the first to come there.
    #[must_use]
    fn deliver_at(&mut self, at: Instant, limiter: LimiterId, signal: Signal) -> Option<Instant> {
        let in_flight = self.in_flight[limiter].get_or_insert_default();
        let position = in_flight.partition_point(|entry| entry.0 <= at);
        in_flight.insert(position, (at, signal));
        (position == 0).then_some(at)
    }

    /// Ideal feedback: takes the signal that reaches a limiter now.
    pub(super) fn hear_ideally(&mut self, limiter: LimiterId, schedule: &mut Schedule) -> Option<Signal> {
        let (signal, next) = self.hear(limiter)?;
        if let Some(at) = next {
            schedule.set(Event::SignalArrival(limiter), at);
        }
        Some(signal)
    }

    /// As [`hear_ideally`](Signalling::hear_ideally); returns when the next one comes, too, which is not scheduled.
    fn hear(&mut self, limiter: LimiterId) -> Option<(Signal, Option<Instant>)> {
        let in_flight = self.in_flight[limiter].as_mut()?;
        let (_, signal) = in_flight.pop_front()?;
        Some((signal, in_flight.front().map(|(at, _)| *at)))
    }

    /// What is on its way at the end of a run.
    pub(super) fn under_way(&self) -> UnderWay {
        let mut free: IdVec<ControlFrameId, bool> = self.control_frames.iter().map(|_| false).collect();
        self.free.iter().for_each(|id| free[*id] = true);
        let ideally: usize = self.in_flight.iter().flatten().map(|signals| signals.len()).sum();
        let mut all = UnderWay { signals: ideally as u64, ..UnderWay::default() };
        for (control, _) in self.control_frames.iter().zip(free.iter()).filter(|(_, free)| !**free) {
            match control {
                ControlFrame::Signal(_) => all.signals += 1,
                ControlFrame::Probe(_) => all.probes += 1,
                ControlFrame::Head(_) => all.heads += 1,
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_schemes::ProbeKind;
    use qcnlab_units::BitRate;

    fn signalling() -> Signalling {
        Signalling {
            feedback: Feedback::Ideal,
            notification_points: IdVec::new(),
            in_flight: std::iter::once(None).collect(),
            control_frames: IdVec::new(),
            free: Vec::new(),
        }
    }

    /// Four signals on their way to one limiter, sent with different times to go: they are heard in the order of arrival,
    /// and of two that arrive at one instant the one that was sent first. The loop is told of the first of them: 7000, then
    /// 5000, which comes before it.
    #[test]
    fn signals_are_heard_in_the_order_in_which_they_arrive() {
        let limiter = LimiterId::new(0);
        let mut signalling = signalling();
        let scheduled = [(7000, 1), (5000, 2), (7000, 3), (6000, 4)].map(|(at, says)| {
            let first = signalling.deliver_at(Instant::from_ps(at), limiter, Signal::Reflection(says));
            first.map(Instant::ps)
        });
        assert_eq!(scheduled, [Some(7000), Some(5000), None, None]);
        let heard: Vec<(Signal, Option<u64>)> = std::iter::from_fn(|| signalling.hear(limiter))
            .map(|(signal, next)| (signal, next.map(Instant::ps)))
            .collect();
        let next = [Some(6000), Some(7000), Some(7000), None];
        assert_eq!(heard, [2, 4, 1, 3].map(Signal::Reflection).into_iter().zip(next).collect::<Vec<_>>());
    }

    /// Two frames under way carry a head and a probe. The entry of the one that is lost carries the next, and what is under
    /// way is counted without it.
    #[test]
    fn what_is_taken_is_no_longer_under_way() {
        let mut signalling = signalling();
        let leg = Leg { size: Bytes::new(64), class: 6, path: PathId::new(0), hop: 0, direction: 0 };
        let head = |number| ControlFrame::Head(PacketId::new(number));
        let rate = BitRate::gbps(10);
        let probe = Probe { kind: ProbeKind::Path, asked_at: Instant::ZERO, sent: Bytes::ZERO, rate };
        let first = signalling.frame(head(7), leg);
        let second = signalling.frame(ControlFrame::Probe(probe), leg);
        assert_eq!(signalling.under_way(), UnderWay { signals: 0, probes: 1, heads: 1 });
        let lost = signalling.take(&first);
        assert!(matches!(lost, ControlFrame::Head(packet) if packet == PacketId::new(7)));
        assert_eq!(lost.counts_as_lost(), Counted::HeadEnded);
        assert_eq!(signalling.under_way(), UnderWay { signals: 0, probes: 1, heads: 0 });
        let third = signalling.frame(head(8), leg);
        assert_eq!(third.carries(), first.carries());
        assert_eq!(signalling.take(&second).counts_as_lost(), Counted::ProbeEnded);
        assert!(signalling.deliver_at(Instant::ZERO, LimiterId::new(0), Signal::Reflection(1)).is_some());
        assert_eq!(signalling.under_way(), UnderWay { signals: 1, probes: 0, heads: 1 });
    }
}
