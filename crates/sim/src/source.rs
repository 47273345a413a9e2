//! Sources: when a frame is ready to be sent, and what waits.

use crate::connection::Connection;
use crate::frame::{Frame, Payload};
use crate::ids::{FlowId, Id};
use crate::packets::Packets;
use crate::plan::{FlowPlan, Process, Traffic};
use crate::queue_pair::QueuePair;
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
            Traffic::Tcp { config, total } => Source::Tcp(Box::new(Connection::new(config, *total, flow, start))),
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

    /// Has a packet that leaves, if it is one of RoCE, carry its number and time; returns it, and the time of a timer
    /// that this starts.
    #[cold]
    #[inline(never)]
    pub(crate) fn segment_left(
        &mut self,
        now: Instant,
        mut frame: Frame,
        packets: &mut Packets,
    ) -> (Frame, Option<Instant>) {
        let Source::Roce(pair) = self else { return (frame, None) };
        frame.set_tag(packets.send(now, frame.tag(), frame.path().number()).number());
        (frame, pair.changed_timer())
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
            Source::Roce(pair) => pair.take(now),
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
            Source::Tcp(_) | Source::Roce(_) => unreachable!("its frames carry segments or packets"),
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
            _ => self.flows[self.dice.below(self.flows.len() as u32) as usize],
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
mod tests {
    use super::*;
    use crate::ids::Id;
    use qcnlab_schemes::Purpose;

    #[test]
    fn the_clock_is_exact_in_the_long_run() {
        // 12 000 bits at 1.05 Gb/s: 11 428 571.43 ps; 7 ticks are 80 us exactly.
        let mut clock = FrameClock::new(Bytes::new(1500), BitRate::mbps(1050));
        let ticks: Vec<u64> = (0..7).map(|_| clock.tick().ps()).collect();
        assert_eq!(ticks.iter().sum::<u64>(), 80_000_000);
        assert!(ticks.iter().all(|t| (11_428_571..=11_428_572).contains(t)));
    }

    fn frames_in(process: Process, ms: u64) -> Vec<u64> {
        let dice = Dice::new(1, 0, "generator", Purpose::Traffic);
        let mut generator =
            Generator::new(vec![FlowId::new(0)], process, Bytes::new(1250), Instant::ZERO, Instant::NEVER, dice);
        let end = Instant::ZERO + Span::from_ms(ms);
        let mut times = Vec::new();
        while generator.next < end {
            times.push(generator.next.ps());
            generator.advance();
        }
        times
    }

    #[test]
    fn poisson_frames_have_the_rate() {
        // 10 000 bits at 1 Gb/s: one in 10 us, 100 000 in a second, give or take 316.
        let times = frames_in(Process::Poisson { rate: BitRate::gbps(1) }, 1000);
        assert!(times.len().abs_diff(100_000) < 1300, "{}", times.len());
    }

    #[test]
    fn fixed_times_on_and_off_are_kept() {
        // On for 1 ms at one frame in 10 us: 100 frames; then nothing for 3 ms.
        let (on, off) = (Span::from_ms(1), Span::from_ms(3));
        let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: false };
        let times = frames_in(process, 8);
        assert_eq!(times.len(), 200);
        assert_eq!((times[0], times[99], times[100]), (0, 990_000_000, 4_000_000_000));
    }

    /// A frame each 10 us; on until 25 us, off for 40 us from then on, not from the frame that would have been next:
    /// 65 us. On until 90 us, the frame at 95 us comes no more: 130 us.
    #[test]
    fn the_off_time_counts_from_the_end_of_the_on_time() {
        let (on, off) = (Span::from_us(25), Span::from_us(40));
        let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: false };
        let us: Vec<u64> = frames_in(process, 1).iter().map(|ps| ps / 1_000_000).take(8).collect();
        assert_eq!(us, [0, 10, 20, 65, 75, 85, 130, 140]);
    }

    /// On for 20 us: the frame at 20 us is the first that comes no more.
    #[test]
    fn a_frame_at_the_end_of_the_on_time_waits_for_the_next() {
        let (on, off) = (Span::from_us(20), Span::from_us(5));
        let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: false };
        let us: Vec<u64> = frames_in(process, 1).iter().map(|ps| ps / 1_000_000).take(5).collect();
        assert_eq!(us, [0, 10, 25, 35, 50]);
    }

    fn us(n: u64) -> Instant {
        Instant::ZERO + Span::from_us(n)
    }

    /// A frame each 10 us until 30 us: those of 0, 10 and 20 us. What waits then is still sent.
    #[test]
    fn a_constant_source_that_stops_sends_what_waits() {
        let clock = FrameClock::new(Bytes::new(1250), BitRate::gbps(1));
        let mut source = Source::Constant { clock, next: us(0), waiting: 0 };
        source.update_waiting(us(20), us(30), u64::MAX, |_| panic!("there is room"));
        assert_eq!(source.next_arrival(us(30)), None);
        assert_eq!(source.next_arrival(us(31)), Some(us(30)));
        source.update_waiting(us(90), us(30), u64::MAX, |_| panic!("there is room"));
        let backlogs: Vec<u64> = (0..3).map(|_| source.take(us(90), 1250).backlog).collect();
        assert_eq!(backlogs, [2500, 1250, 0]);
        assert_eq!(source.next_ready(us(90), us(30)), None);
    }

    /// A saturated source with a ceiling: 12 us between frames, none at its stop or after it.
    #[test]
    fn a_saturated_source_stops_at_its_stop() {
        let mut source = Source::Saturated { gap: Span::from_us(12), next: us(0), left: u64::MAX };
        assert_eq!(source.next_ready(us(0), us(13)), Some(us(0)));
        let payload = source.take(us(0), 1500);
        assert_eq!((payload.size, payload.backlog), (1500, 0));
        assert_eq!(source.next_ready(us(1), us(13)), Some(us(12)));
        assert_eq!(source.next_ready(us(1), us(12)), None, "it would be ready when it stops");
        assert_eq!(source.next_ready(us(13), us(13)), None, "it was ready and could not go");
        assert!(matches!(source, Source::Saturated { left: u64::MAX, .. }), "without an end nothing is counted");
    }

    /// The first frame of a Poisson generator comes after a drawn gap, not at the start.
    #[test]
    fn a_poisson_generator_does_not_begin_with_a_frame() {
        let first = frames_in(Process::Poisson { rate: BitRate::gbps(1) }, 1)[0];
        let expected = Dice::new(1, 0, "generator", Purpose::Traffic).exponential() * 10e6;
        assert!(first.abs_diff(expected as u64) <= 1, "{first} where {expected} is right");
    }

    #[test]
    fn exponential_times_on_and_off_have_their_means() {
        // Half of the time on: 50 000 frames in a second; 500 periods, so within some 6 % of it.
        let (on, off) = (Span::from_ms(1), Span::from_ms(1));
        let process = Process::OnOff { rate: BitRate::gbps(1), on, off, exponential: true };
        let count = frames_in(process, 1000).len();
        assert!(count.abs_diff(50_000) < 8000, "{count}");
    }

    #[test]
    fn what_finds_no_room_is_refused_at_its_own_time() {
        let mut source = Source::Constant {
            clock: FrameClock::new(Bytes::new(1250), BitRate::gbps(1)),
            next: Instant::ZERO,
            waiting: 0,
        };
        let mut refused = Vec::new();
        source.update_waiting(Instant::ZERO + Span::from_us(40), Instant::NEVER, 3, |at| refused.push(at.ps()));
        assert_eq!(refused, [30_000_000, 40_000_000]);
        assert_eq!(source.take(Instant::ZERO, 1250).backlog, 2500);
    }

    #[test]
    fn the_last_frame_of_a_flow_may_be_shorter() {
        let mut source = Source::Saturated { gap: Span::ZERO, next: Instant::ZERO, left: 3100 };
        let sizes: Vec<u16> = (0..3).map(|_| source.take(Instant::ZERO, 1500).size).collect();
        assert_eq!(sizes, [1500, 1500, 100]);
        assert_eq!(source.next_ready(Instant::ZERO, Instant::NEVER), None);
    }
}
