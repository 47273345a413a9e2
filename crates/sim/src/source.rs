//! Sources: when a frame is ready to be sent, and what waits.

use crate::connection::Connection;
use crate::frame::Payload;
use crate::ids::FlowId;
use crate::plan::{FlowPlan, Process, Traffic};
use crate::queue_pair::{EndedPair, QueuePair};
use crate::replay::WaitingFrames;
use qcnlab_schemes::Dice;
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// What waits to be sent, and when more arrives.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Always one more frame while octets are `left`; the next no earlier than `next`.
    Saturated { gap: Span, next: Instant, left: u64 },
    /// `waiting` frames as of the last update; one more arrives at `next`, and so on. While frames wait, more
    /// arrive without an event of their own.
    Constant { clock: FrameClock, next: Instant, waiting: u64 },
    /// `waiting` frames; a generator adds more.
    Fed { waiting: u64 },
    /// Segments of a connection.
    Tcp(Box<Connection>),
    /// Packets of a queue pair.
    Roce(Box<QueuePair>),
    /// A message that has not begun; its queue pair is made then.
    Planned,
    /// A message that is over, and its queue pair gone.
    Ended(EndedPair),
    /// Frames with sizes of their own; a replay adds more.
    Replayed(Box<WaitingFrames>),
}

impl Source {
    pub(crate) fn new(flow: &FlowPlan, start: Instant) -> Source {
        match &flow.traffic {
            Traffic::Saturated { ceiling, total } => {
                let gap = ceiling.map_or(Span::ZERO, |rate| rate.time_for_rounded_up(flow.frame));
                Source::Saturated { gap, next: start, left: total.map_or(u64::MAX, Bytes::get) }
            }
            Traffic::Constant { rate } => {
                Source::Constant { clock: FrameClock::new(flow.frame, *rate), next: start, waiting: 0 }
            }
            Traffic::Fed => Source::Fed { waiting: 0 },
            Traffic::Tcp { config, total } => Source::Tcp(Box::new(Connection::new(config, *total, flow))),
            Traffic::Roce { config, total } => Source::Roce(Box::new(QueuePair::new(config, *total, start))),
            Traffic::Replayed => Source::Replayed(Box::default()),
        }
    }

    /// Updates the number of waiting frames. Calls `refused` with the arrival time of each frame that found the queue,
    /// which holds `room` frames, full.
    #[inline]
    pub(crate) fn update_waiting(&mut self, now: Instant, stop: Instant, room: u64, mut refused: impl FnMut(Instant)) {
        if let Source::Constant { clock, next, waiting } = self {
            while *next <= now && *next < stop {
                if *waiting < room {
                    *waiting += 1;
                } else {
                    refused(*next);
                }
                *next += clock.tick();
            }
        }
    }

    /// When the next frame is ready to be sent, if that is known.
    #[inline]
    pub(crate) fn next_ready(&self, now: Instant, stop: Instant) -> Option<Instant> {
        match self {
            Source::Saturated { next, left, .. } if *left > 0 && (*next).max(now) < stop => Some(*next),
            Source::Constant { waiting, .. } | Source::Fed { waiting } if *waiting > 0 => Some(now),
            Source::Tcp(connection) if connection.has_waiting() => Some(now),
            Source::Roce(pair) if now < stop => pair.next_ready(),
            Source::Replayed(waiting) if !waiting.is_empty() => Some(now),
            _ => None,
        }
    }

    /// When the next frame arrives by itself, although none is ready now.
    #[inline]
    pub(crate) fn next_arrival(&self, stop: Instant) -> Option<Instant> {
        match self {
            Source::Constant { next, .. } if *next < stop => Some(*next),
            _ => None,
        }
    }

    /// Takes the payload of a frame of at most `frame` octets.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Instant, frame: u16) -> Payload {
        match self {
            Source::Tcp(connection) => connection.take(now),
            Source::Roce(_) | Source::Planned | Source::Ended(_) => {
                unreachable!("packets are sent with what they carry")
            }
            Source::Replayed(waiting) => waiting.take(),
            Source::Saturated { .. } | Source::Constant { .. } | Source::Fed { .. } => self.take_plain(now, frame),
        }
    }

    /// As [`take`](Source::take), of a source whose frames carry neither segments nor packets and have one size.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, now: Instant, frame: u16) -> Payload {
        match self {
            Source::Saturated { gap, next, left } => {
                *next = now + *gap;
                let size = (*left).min(u64::from(frame)) as u16;
                if *left != u64::MAX {
                    *left -= u64::from(size);
                }
                Payload { size, backlog: 0, segment: None }
            }
            Source::Constant { waiting, .. } | Source::Fed { waiting } => {
                *waiting -= 1;
                Payload { size: frame, backlog: *waiting * u64::from(frame), segment: None }
            }
            Source::Tcp(_) | Source::Roce(_) | Source::Planned | Source::Ended(_) => {
                unreachable!("its frames carry segments or packets")
            }
            Source::Replayed(_) => unreachable!("its frames have sizes of their own"),
        }
    }
}

/// Ticks every 8 L / rate: whole picoseconds, and exact in the long run, because
/// the remainder of each tick is carried to the next.
#[derive(Clone, Debug)]
pub(crate) struct FrameClock {
    whole: u64,
    part: u64,
    carried: u64,
    rate: u64,
}

impl FrameClock {
    pub(crate) fn new(frame: Bytes, rate: BitRate) -> FrameClock {
        let bit_ps = u128::from(frame.bits()) * 1_000_000_000_000;
        let rate = u128::from(rate.get());
        FrameClock { whole: (bit_ps / rate) as u64, part: (bit_ps % rate) as u64, carried: 0, rate: rate as u64 }
    }

    #[inline]
    pub(crate) fn tick(&mut self) -> Span {
        self.carried += self.part;
        let mut ps = self.whole;
        if self.carried >= self.rate {
            self.carried -= self.rate;
            ps += 1;
        }
        Span::from_ps(ps)
    }
}

/// Puts frames into the queues of flows.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    pub(crate) flows: Vec<FlowId>,
    pub(crate) next: Instant,
    pub(crate) stop: Instant,
    pub(crate) dice: Dice,
    process: Process,
    clock: FrameClock,
    /// When the present on-time ends.
    on_until: Instant,
}

impl Generator {
    pub(crate) fn new(
        flows: Vec<FlowId>,
        process: Process,
        frame: Bytes,
        start: Instant,
        stop: Instant,
        dice: Dice,
    ) -> Self {
        let (Process::Constant { rate } | Process::Poisson { rate } | Process::OnOff { rate, .. }) = process;
        let clock = FrameClock::new(frame, rate);
        let mut generator = Generator { flows, next: start, stop, dice, process, clock, on_until: Instant::NEVER };
        match process {
            Process::Constant { .. } => {}
            Process::Poisson { .. } => generator.next = start + generator.drawn(generator.clock_span(), true),
            Process::OnOff { on, exponential, .. } => generator.on_until = start + generator.drawn(on, exponential),
        }
        generator
    }

    /// Moves on to the next frame.
    pub(crate) fn advance(&mut self) {
        match self.process {
            Process::Constant { .. } => self.next += self.clock.tick(),
            Process::Poisson { .. } => {
                let mean = self.clock.tick();
                let gap = self.drawn(mean, true);
                self.next += gap;
            }
            Process::OnOff { on, off, exponential, .. } => {
                self.next += self.clock.tick();
                while self.next >= self.on_until {
                    self.next = self.on_until + self.drawn(off, exponential);
                    self.on_until = self.next + self.drawn(on, exponential);
                }
            }
        }
    }

    /// Draws one of the flows.
    pub(crate) fn pick(&mut self) -> FlowId {
        match self.flows[..] {
            [only] => only,
            _ => self.dice.pick(&self.flows),
        }
    }

    fn clock_span(&self) -> Span {
        Span::from_ps(self.clock.whole)
    }

    fn drawn(&mut self, mean: Span, exponential: bool) -> Span {
        if exponential { mean.scaled_rounded_down(self.dice.exponential()) } else { mean }
    }
}

#[cfg(test)]
mod tests;
