//! A port: queues of eight classes, a transmitter that keeps deadlines, and the link behind it as a delay line.
//!
//! Time is passed in. A frame's transmission ends when its octets have passed at the port's rate, whenever the loop
//! looks: a late look makes frames late, not the port slower. Frames then stay in the delay line for the propagation
//! of the link, and are handed out to be put on the real one.

use crate::spacing::Spaced;
use qcnlab_schemes::driver::{ClassPause, EndedPause};
use qcnlab_sim::{FlowId, PortId};
use qcnlab_units::{BitRate, Bytes};
use std::collections::VecDeque;

/// The port at the far end that led to a pause; not known here.
pub(crate) type Cause = ();

/// A frame that waits or travels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queued {
    pub(crate) octets: Vec<u8>,
    pub(crate) class: u8,
    /// The class that it had on the link over which it came.
    pub(crate) came_as: u8,
    /// Whether it carries a signal.
    pub(crate) is_signal: bool,
    /// The flow that it is data of.
    pub(crate) flow: Option<FlowId>,
    /// The input of the node that counts it.
    pub(crate) input: Option<PortId>,
    /// When it came, ps.
    pub(crate) arrived: u64,
    /// The limiter that it left, and how far behind the frame before.
    pub(crate) spaced: Option<Spaced>,
}

impl Queued {
    pub(crate) fn len(&self) -> u64 {
        self.octets.len() as u64
    }
}

#[derive(Debug, Default)]
struct ClassQueue {
    frames: VecDeque<Queued>,
    octets: u64,
    pause: ClassPause<Cause>,
}

/// What a port is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortShape {
    pub(crate) rate: BitRate,
    /// From the end of a transmission to the far end's queue, ps.
    pub(crate) delay: u64,
    /// Octets that each class's queue holds.
    pub(crate) capacity: u64,
    /// Octets of link time a frame beyond its own.
    pub(crate) overhead: u64,
}

/// A port and its link.
#[derive(Debug)]
pub(crate) struct Port {
    shape: PortShape,
    /// The link's own rate, which quanta are counted in.
    link: BitRate,
    classes: [ClassQueue; 8],
    /// Pause frames: they go first and are never paused.
    pause_frames: VecDeque<Queued>,
    /// The frame in transmission, and when that ends, ps. It still counts in its queue.
    transmitting: Option<(Queued, bool, u64)>,
    /// When the transmitter last became free, ps.
    free_at: u64,
    line: VecDeque<(u64, Queued)>,
    waiting: usize,
    /// Octets transmitted.
    pub(crate) sent: u64,
    /// Time during which it had something to send, ps, and octets transmitted in it.
    pub(crate) busy: u64,
    pub(crate) dropped_frames: u64,
}

/// A frame whose transmission has ended.
pub(crate) struct Departed<'a> {
    pub(crate) frame: &'a Queued,
    /// When, ps.
    pub(crate) at: u64,
    /// Octets that stay in its queue.
    pub(crate) left: u64,
}

impl Port {
    pub(crate) fn new(shape: PortShape) -> Port {
        Port {
            shape,
            link: shape.rate,
            classes: Default::default(),
            pause_frames: VecDeque::new(),
            transmitting: None,
            free_at: 0,
            line: VecDeque::new(),
            waiting: 0,
            sent: 0,
            busy: 0,
            dropped_frames: 0,
        }
    }

    pub(crate) fn rate(&self) -> BitRate {
        self.shape.rate
    }

    pub(crate) fn capacity(&self) -> Bytes {
        Bytes::new(self.shape.capacity)
    }

    /// Octets in the queue of a class, the frame in transmission included.
    pub(crate) fn queue_len(&self, class: u8) -> u64 {
        self.classes[usize::from(class & 7)].octets
    }

    /// Octets in all queues.
    pub(crate) fn all_queued(&self) -> u64 {
        self.classes.iter().map(|class| class.octets).sum()
    }

    /// Whether it transmits or holds anything.
    pub(crate) fn is_busy(&self) -> bool {
        self.transmitting.is_some() || self.waiting > 0
    }

    /// When the transmitter became free, ps.
    pub(crate) fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Before which time a class is paused, ps.
    pub(crate) fn paused_until(&self, class: u8) -> u64 {
        self.classes[usize::from(class & 7)].pause.until()
    }

    /// How long quanta last on the link, ps.
    pub(crate) fn quanta_ps(&self, quanta: u16) -> u64 {
        qcnlab_wire::Quanta(quanta).span_rounded_down(self.link).ps()
    }

    /// Queues a frame that comes at `at`; gives it back when its queue is full.
    pub(crate) fn enqueue(&mut self, at: u64, mut frame: Queued) -> Result<(), Queued> {
        let class = &mut self.classes[usize::from(frame.class & 7)];
        if class.octets + frame.len() > self.shape.capacity {
            self.dropped_frames += 1;
            return Err(frame);
        }
        class.octets += frame.len();
        frame.arrived = at;
        class.frames.push_back(frame);
        self.came(at);
        Ok(())
    }

    /// Queues a pause frame; one for the same classes that still waits is out of date.
    pub(crate) fn enqueue_pause(&mut self, at: u64, mut frame: Queued) {
        let before = self.pause_frames.len();
        // Opcode and class-enable vector tell which classes it is for.
        self.pause_frames.retain(|waiting| {
            waiting.octets.get(14..16) != frame.octets.get(14..16)
                || (waiting.octets.get(14..16) == Some(&[1, 1])
                    && waiting.octets.get(16..18) != frame.octets.get(16..18))
        });
        self.waiting -= before - self.pause_frames.len();
        frame.arrived = at;
        self.pause_frames.push_back(frame);
        self.came(at);
    }

    fn came(&mut self, at: u64) {
        if self.transmitting.is_none() && self.waiting == 0 {
            self.free_at = self.free_at.max(at);
        }
        self.waiting += 1;
    }

    /// Brings the port up to `now`: ends transmissions, each at its own time, and starts the next. `departed` sees the
    /// frames that leave.
    pub(crate) fn advance(&mut self, now: u64, mut departed: impl FnMut(Departed<'_>)) {
        loop {
            if let Some((_, _, end)) = &self.transmitting {
                if *end > now {
                    return;
                }
                self.end_transmission(&mut departed);
            } else if self.waiting == 0 || !self.start_transmission(now) {
                return;
            }
        }
    }

    fn end_transmission(&mut self, departed: &mut impl FnMut(Departed<'_>)) {
        let Some((frame, is_pause, end)) = self.transmitting.take() else { return };
        self.free_at = end;
        self.sent += frame.len();
        let mut left = 0;
        if !is_pause {
            let class = &mut self.classes[usize::from(frame.class & 7)];
            class.octets -= frame.len();
            left = class.octets;
        }
        departed(Departed { frame: &frame, at: end, left });
        self.line.push_back((end + self.shape.delay, frame));
    }

    /// Starts to transmit the first frame of the highest class that is not paused; returns whether one could be
    /// started by `now`.
    fn start_transmission(&mut self, now: u64) -> bool {
        let (frame, is_pause, at) = if let Some(frame) = self.pause_frames.pop_front() {
            let at = self.free_at.max(frame.arrived);
            (frame, true, at)
        } else {
            let ready = |class: &ClassQueue| {
                let first = class.frames.front()?;
                Some(self.free_at.max(class.pause.until()).max(first.arrived))
            };
            let Some(at) = self.classes.iter().filter_map(ready).min().filter(|at| *at <= now) else { return false };
            let highest = self.classes.iter_mut().rev().find(|class| ready_at(class, at));
            let Some(frame) = highest.and_then(|class| class.frames.pop_front()) else { return false };
            (frame, false, at)
        };
        self.waiting -= 1;
        let lasts = self.shape.rate.time_for_rounded_up(Bytes::new(frame.len() + self.shape.overhead)).ps();
        self.busy += lasts;
        self.transmitting = Some((frame, is_pause, at + lasts));
        true
    }

    /// Takes a frame that has reached the end of the delay line by `now`, with the time at which it did, ps.
    pub(crate) fn take_arrived(&mut self, now: u64) -> Option<(u64, Queued)> {
        if self.line.front()?.0 > now {
            return None;
        }
        self.line.pop_front()
    }

    /// When the port has to be looked at next, ps; `u64::MAX` for not before something comes.
    pub(crate) fn next_deadline(&self) -> u64 {
        let line = self.line.front().map_or(u64::MAX, |(due, _)| *due);
        let transmitter = match &self.transmitting {
            Some((_, _, end)) => *end,
            None if self.waiting > 0 => {
                let resumes = self.classes.iter().filter(|class| !class.frames.is_empty());
                resumes.map(|class| class.pause.until().max(self.free_at)).min().unwrap_or(u64::MAX)
            }
            None => u64::MAX,
        };
        line.min(transmitter)
    }

    /// Serves at another rate from `now` on; the port is up to date.
    pub(crate) fn change_rate(&mut self, now: u64, rate: BitRate) {
        if let Some((_, _, end)) = &mut self.transmitting {
            let left = u128::from(end.saturating_sub(now)) * u128::from(self.shape.rate.get());
            let scaled = left.div_ceil(u128::from(rate.get().max(1)));
            *end = now + u64::try_from(scaled).unwrap_or(u64::MAX / 4);
        }
        self.shape.rate = rate;
    }

    /// Pauses some classes, a bit each, for so many quanta, or resumes them. `ended` gets each pause that is over.
    pub(crate) fn pause(&mut self, now: u64, classes: u8, quanta: u16, mut ended: impl FnMut(u8, EndedPause<Cause>)) {
        let until = now.saturating_add(self.quanta_ps(quanta));
        for (number, class) in (0u8..).zip(&mut self.classes).filter(|(number, _)| classes & 1 << number != 0) {
            if let Some(pause) = class.pause.apply(now, until, quanta == 0, ()) {
                ended(number, pause);
            }
        }
    }

    /// The pauses that are in force at the end, or were the last of their class.
    pub(crate) fn last_pauses(&self, now: u64) -> impl Iterator<Item = (u8, EndedPause<Cause>)> {
        (0u8..).zip(&self.classes).filter_map(move |(number, class)| Some((number, class.pause.last(now)?)))
    }

    /// The frame that came last of a class.
    pub(crate) fn newest(&self, class: u8) -> Option<&Queued> {
        self.classes[usize::from(class & 7)].frames.back()
    }

    /// Every frame that it holds: queued, in transmission, on the line.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Queued> {
        let queued = self.classes.iter().flat_map(|class| &class.frames);
        let transmitting = self.transmitting.iter().map(|(frame, _, _)| frame);
        queued.chain(transmitting).chain(self.line.iter().map(|(_, frame)| frame))
    }
}

fn ready_at(class: &ClassQueue, at: u64) -> bool {
    class.pause.until() <= at && class.frames.front().is_some_and(|frame| frame.arrived <= at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// 100 Mb/s: an octet takes 80 ns, 1500 of them 120 us.
    fn port(delay: u64) -> Port {
        Port::new(PortShape { rate: BitRate::mbps(100), delay, capacity: 4500, overhead: 0 })
    }

    fn frame(class: u8, size: usize) -> Queued {
        Queued { octets: vec![0; size], class, ..Queued::default() }
    }

    /// Ends of transmissions up to `now`, us, with the octets that stayed.
    fn ends(port: &mut Port, now: u64) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        port.advance(now * US, |departed| all.push((departed.at / US, departed.left)));
        all
    }

    #[test]
    fn a_late_look_makes_no_port_slower() {
        let mut port = port(0);
        for _ in 0..3 {
            assert!(port.enqueue(10 * US, frame(0, 1500)).is_ok());
        }
        assert!(port.enqueue(10 * US, frame(0, 1)).is_err(), "4500 octets fit");
        assert_eq!(ends(&mut port, 129), []);
        assert_eq!(port.next_deadline(), 130 * US);
        assert_eq!(ends(&mut port, 500), [(130, 3000), (250, 1500), (370, 0)]);
        assert_eq!(port.next_deadline(), 130 * US, "the line is to be emptied");
        assert_eq!(std::iter::from_fn(|| port.take_arrived(500 * US)).count(), 3);
        // Idle since 370: the next frame starts when it comes.
        assert!(port.enqueue(600 * US, frame(0, 1500)).is_ok());
        assert_eq!(ends(&mut port, 720), [(720, 0)]);
    }

    #[test]
    fn the_highest_class_goes_first_and_a_paused_one_waits() {
        let mut port = port(50 * US);
        let mut ended = Vec::new();
        assert!(port.enqueue(0, frame(3, 1500)).is_ok());
        port.advance(0, |_| ());
        for class in [0, 3, 5] {
            assert!(port.enqueue(0, frame(class, 1500)).is_ok());
        }
        // 100 quanta of 512 bits at 100 Mb/s last 512 us. The frame in transmission is never cut short.
        port.pause(0, 1 << 5 | 1 << 3, 100, |class, pause| ended.push((class, pause)));
        assert_eq!(ends(&mut port, 300), [(120, 1500), (240, 0)], "class 3, then class 0");
        assert_eq!(port.next_deadline(), 170 * US, "the first frame has 50 us of line behind it");
        assert_eq!(
            (port.take_arrived(170 * US).map(|(at, _)| at), port.take_arrived(170 * US).is_some()),
            (Some(170 * US), false)
        );
        port.pause(400 * US, 1 << 3, 0, |class, pause| ended.push((class, pause)));
        assert_eq!(ended, [(3, (0, 400 * US, ()))]);
        assert_eq!(
            ends(&mut port, 1000),
            [(520, 0), (640, 0)],
            "class 3 at 400, class 5 when its pause runs off, at 512 busy till 520"
        );
        assert_eq!(port.last_pauses(1000 * US).collect::<Vec<_>>(), [(5, (0, 512 * US, ()))]);
    }

    /// Half of a frame is out after 60 us; the other half takes 1200 us at 5 Mb/s.
    #[test]
    fn a_new_rate_stretches_what_is_left() {
        let mut port = port(0);
        assert!(port.enqueue(0, frame(0, 1500)).is_ok());
        port.advance(60 * US, |_| ());
        port.change_rate(60 * US, BitRate::mbps(5));
        assert_eq!(ends(&mut port, 1259), []);
        assert_eq!(ends(&mut port, 1260), [(1260, 0)]);
    }

    #[test]
    fn a_pause_frame_goes_first_and_replaces_an_older_one() {
        let mut port = port(0);
        for _ in 0..2 {
            assert!(port.enqueue(0, frame(7, 1500)).is_ok());
        }
        port.advance(0, |_| ());
        port.enqueue_pause(0, frame(0, 60));
        port.enqueue_pause(0, frame(0, 61));
        let mut sizes = Vec::new();
        port.advance(1000 * US, |departed| sizes.push(departed.frame.octets.len()));
        assert_eq!(sizes, [1500, 61, 1500]);
        assert!(!port.is_busy());
    }
}
