//! The roles a scheme plays, and what both sides may count on.
//!
//! 1. Time never runs backwards: `now` is at or after every earlier `now`.
//! 2. A machine asks for a wake-up with `next_wake`; it may come late, and a
//!    wake-up that finds nothing due does nothing.
//! 3. What a machine wants done comes back as a small value that must be used.
//! 4. Every random number comes from the dice passed in.
//! 5. A frame keeps the largest mark written on it. It is seen by later congestion points and by the destination.
//! 6. A probe queues for a port as data does, after the congestion point there has seen it; the first that answers
//!    takes it off its way, else the destination's notification point gets it.

use crate::dice::Dice;
use qcnlab_units::{BitRate, Bytes, Instant};

/// Which congestion point a signal comes from (the CPID of 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpId(pub u32);

/// Which flow a frame belongs to: flows are counted from 0, without gaps, by whoever runs the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId(pub u32);

/// The queue a congestion point watches.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Octets in the queue, the arriving frame included if it was admitted.
    pub len: Bytes,
    /// Octets the queue holds at most.
    pub capacity: Bytes,
    /// The rate its port is served at now.
    pub rate: BitRate,
}

/// A frame that arrives at a congestion point.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its flow.
    pub flow: FlowId,
    /// Its size.
    pub size: Bytes,
    /// Whether the queue took it; otherwise it was discarded.
    pub admitted: bool,
    /// Whether its priority is under congestion control (a CNPV of 802.1Q).
    pub controlled: bool,
    /// Whether it carries a CN-TAG.
    pub cn_tagged: bool,
    /// The congestion point whose limiter paced it, where frames say so (the rate-limited tag of BCN).
    pub limited_by: Option<CpId>,
    /// Whether its source asks with it if there is bandwidth (the special frame of SONAR).
    pub probe: bool,
    /// The largest mark that congestion points have written on it so far; 0 is none.
    pub mark: u8,
}

/// A frame that reaches its destination.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Its size.
    pub size: Bytes,
    /// The largest mark that congestion points wrote on it; 0 is none.
    pub mark: u8,
    /// Whether its priority is under congestion control.
    pub controlled: bool,
}

/// Whom a probe asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Every congestion point on the way, and the destination.
    Path,
    /// This congestion point; where the probe does not meet it, the destination.
    Directed(CpId),
}

/// A small frame that a reaction point sends along its flow's path to learn something. It is not data:
/// no congestion point samples it, and the limiter does not count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whom it asks.
    pub kind: ProbeKind,
    /// When it was sent.
    pub asked_at: Instant,
    /// Octets of data its source had sent before it, counted from where the scheme likes.
    pub sent: Bytes,
    /// A rate that congestion points may lower; it starts at the source's line rate.
    pub rate: BitRate,
}

/// What a reaction point writes on a frame that leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Stamp {
    /// The congestion point that holds its limiter, where the scheme tags frames.
    pub limited_by: Option<CpId>,
    /// Whether the frame asks if there is bandwidth.
    pub probe: bool,
}

/// A congestion notification message of 802.1Qau.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cnm {
    /// Who sends it.
    pub cp: CpId,
    /// Quantized feedback: how bad congestion is, from 1 up. 802.1Q has 6 bits.
    pub quantized_fb: u8,
    /// Set point less queue length, octets; negative above the set point.
    pub q_offset: i64,
    /// Queue growth since the last sample, octets.
    pub q_delta: i64,
}

/// A backward congestion notification of BCN and ECM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bcn {
    /// Who sends it.
    pub cp: CpId,
    /// Set point less queue length, octets; positive when there is room.
    pub q_offset: i64,
    /// Queue growth since the last sample, octets.
    pub q_delta: i64,
    /// BCN(0,0): stop sending for a while.
    pub stop: bool,
}

/// How long a queue is, told by a congestion point that leaves the rest to the sender (ConMes of deck 002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLen {
    /// Who sends it.
    pub cp: CpId,
    /// Octets queued.
    pub len: Bytes,
    /// Octets that arrived there since its last message to anyone.
    pub arrived: Bytes,
}

/// A congestion point's answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Who answers.
    pub cp: CpId,
    /// When the probe was sent.
    pub asked_at: Instant,
    /// Set point less queue length, octets; positive when there is room.
    pub q_offset: i64,
    /// Queue growth since the last sample, octets.
    pub q_delta: i64,
    /// The rate the port is served at.
    pub capacity: BitRate,
}

/// What one machine tells another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// 802.1Qau.
    Cnm(Cnm),
    /// BCN and ECM.
    Bcn(Bcn),
    /// A switch's answer to a special frame: it has no bandwidth to spare.
    Echo(CpId),
    /// Fb99: no congestion, but no bandwidth to spare either; hold back.
    PushBack(CpId),
    /// A receiver's answer to marked frames (congestion notification packet of DCQCN).
    Cnp,
    /// Queue length, for senders that compute feedback themselves.
    QueueLen(QueueLen),
    /// A congestion point's answer to a probe.
    Answer(Answer),
    /// A probe that its destination sends back as it came.
    Returned(Probe),
    /// A mark that a destination sends back, as feedback: negative is congestion.
    Reflection(i16),
}

/// The kinds of signal a scheme hears and speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalKind {
    /// Congestion notification message.
    Cnm,
    /// Backward congestion notification.
    Bcn,
    /// Echo of a special frame.
    Echo,
    /// Push-back.
    PushBack,
    /// Congestion notification packet.
    Cnp,
    /// Queue length.
    QueueLen,
    /// Answer to a probe.
    Answer,
    /// Returned probe.
    Returned,
    /// Reflected mark.
    Reflection,
}

impl SignalKind {
    /// Every kind.
    pub const ALL: &'static [SignalKind] = &[
        SignalKind::Cnm,
        SignalKind::Bcn,
        SignalKind::Echo,
        SignalKind::PushBack,
        SignalKind::Cnp,
        SignalKind::QueueLen,
        SignalKind::Answer,
        SignalKind::Returned,
        SignalKind::Reflection,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            SignalKind::Cnm => "CNM",
            SignalKind::Bcn => "BCN",
            SignalKind::Echo => "echo",
            SignalKind::PushBack => "push-back",
            SignalKind::Cnp => "CNP",
            SignalKind::QueueLen => "queue length",
            SignalKind::Answer => "probe answer",
            SignalKind::Returned => "returned probe",
            SignalKind::Reflection => "reflection",
        }
    }
}

impl Signal {
    /// Which kind it is.
    pub const fn kind(&self) -> SignalKind {
        match self {
            Signal::Cnm(_) => SignalKind::Cnm,
            Signal::Bcn(_) => SignalKind::Bcn,
            Signal::Echo(_) => SignalKind::Echo,
            Signal::PushBack(_) => SignalKind::PushBack,
            Signal::Cnp => SignalKind::Cnp,
            Signal::QueueLen(_) => SignalKind::QueueLen,
            Signal::Answer(_) => SignalKind::Answer,
            Signal::Returned(_) => SignalKind::Returned,
            Signal::Reflection(_) => SignalKind::Reflection,
        }
    }

    /// Feedback where the message carries it: minus the quantized feedback of a CNM, the feedback of a reflection.
    pub const fn fb(&self) -> Option<i32> {
        match self {
            Signal::Cnm(cnm) => Some(-(cnm.quantized_fb as i32)),
            Signal::Reflection(fb) => Some(*fb as i32),
            _ => None,
        }
    }

    /// Queue offset and growth, octets, where the message carries them.
    pub const fn queue(&self) -> Option<(i64, i64)> {
        match self {
            Signal::Cnm(m) => Some((m.q_offset, m.q_delta)),
            Signal::Bcn(m) => Some((m.q_offset, m.q_delta)),
            Signal::Answer(m) => Some((m.q_offset, m.q_delta)),
            _ => None,
        }
    }
}

/// What a congestion point wants done about an arriving frame: one thing. One that would send and mark
/// sends now, and marks the next frame.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum CpAction {
    /// Nothing.
    Nothing,
    /// Send this to the source of the frame.
    Send(Signal),
    /// Write this on the frame, from 1 up. A frame keeps the largest mark written on it, for its destination to
    /// see. What the number says is the scheme's: DCQCN's 1 is ECN's "congestion experienced".
    Mark(u8),
}

/// What a congestion point does with a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum ProbeAction {
    /// Let it go on, as it is now.
    Pass,
    /// Take it off its way, and send this to its source.
    Answer(Signal),
}

/// How a limiter spaces frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Octets counted for each frame on top of its own.
    pub overhead: Bytes,
    /// Octets let go back to back before the limiter waits for them.
    pub burst: Bytes,
}

/// What a reaction point shows to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Rate it lets pass now.
    pub current_rate: BitRate,
    /// Rate it climbs back to.
    pub target_rate: BitRate,
    /// How often it has concluded from silence that its path has bandwidth.
    pub alarms: u32,
    /// When it last asked.
    pub asked_at: Instant,
}

/// What a switch port computes.
pub trait CongestionPoint {
    /// A frame arrived and was admitted or discarded.
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction;

    /// Counts a frame of `size` octets and answers true, if counting is all [`Self::on_arrival`] would do about it
    /// whatever the queue; otherwise changes nothing. Saves the look at the queue.
    fn lets_pass(&mut self, controlled: bool, admitted: bool, size: Bytes) -> bool {
        let _ = (controlled, admitted, size);
        false
    }

    /// Whether [`Self::on_departure`] is wanted. The same all through a run.
    fn watches_departures(&self) -> bool {
        false
    }

    /// A frame left at `now`; `len` octets stay queued. Called only where wanted.
    fn on_departure(&mut self, now: Instant, len: Bytes) {
        let _ = (now, len);
    }

    /// Whether [`Self::departure_mark`] is wanted. The same all through a run.
    fn marks_departures(&self) -> bool {
        false
    }

    /// What to write on a data frame that left at `now`, as [`CpAction::Mark`] would; 0 for nothing. `controlled`
    /// tells whether it is under congestion control, `queue` what stays. Called only where wanted.
    fn departure_mark(&mut self, now: Instant, controlled: bool, queue: Queue, dice: &mut Dice) -> u8 {
        let _ = (now, controlled, queue, dice);
        0
    }

    /// A probe arrived, before it queues for the port; `queue` is what it finds. It may lower the probe's rate.
    fn on_probe(&mut self, now: Instant, probe: &mut Probe, queue: Queue) -> ProbeAction {
        let _ = (now, probe, queue);
        ProbeAction::Pass
    }

    /// Since when the port has had no bandwidth to spare, where the scheme keeps track and it has none. For observers.
    fn no_bandwidth_since(&self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }
}

/// What a sender's rate limiter computes.
pub trait ReactionPoint {
    /// A frame of `sent` octets leaves; `backlog` octets wait behind the limiter. Says what to write on it.
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp;
    /// Counts a frame that leaves and answers true, if counting is all [`Self::on_sent`] would do about it: nothing to
    /// write on it, limit and wake-up as they are. Otherwise changes nothing.
    fn lets_pass(&mut self, sent: Bytes, backlog: Bytes) -> bool {
        let _ = (sent, backlog);
        false
    }
    /// A signal came in.
    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice);
    /// The time asked for has come.
    fn on_wake(&mut self, now: Instant, dice: &mut Dice);
    /// When to be woken; [`Instant::NEVER`] for not at all.
    fn next_wake(&self) -> Instant;
    /// Whether it never limits and never asks to be woken, whatever happens: then nothing is told to it.
    fn never_limits(&self) -> bool {
        false
    }
    /// Whether [`Self::on_sent`] may be called late, in order and before any other call, with the time at which the
    /// frame left: a frame that leaves then never brings the next wake-up forward. The same all through a run.
    fn may_be_told_late(&self) -> bool {
        false
    }
    /// Whether [`Self::take_probe`] is to be called. The same all through a run.
    fn sends_probes(&self) -> bool {
        false
    }
    /// A probe to send now, if one is due. Called only where wanted, after each of the calls above that
    /// take a `now`; the probe overtakes what waits behind the limiter.
    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        let _ = now;
        None
    }
    /// The rate frames may leave at, or `None` when it does not limit.
    fn limit(&self) -> Option<BitRate>;
    /// How the limiter spaces frames. The same all through a run.
    fn pacing(&self) -> Pacing;
    /// Rates for an observer.
    fn gauge(&self) -> Gauge;
}

/// What a receiver answers, one for each flow that ends there.
pub trait NotificationPoint {
    /// A data frame arrived. What comes back goes to its source.
    #[must_use]
    fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
        let _ = (now, frame);
        None
    }

    /// A probe arrived that no congestion point answered. What comes back goes to its source.
    #[must_use]
    fn on_probe(&mut self, now: Instant, probe: &Probe) -> Option<Signal> {
        let _ = (now, probe);
        None
    }
}

/// The notification point of schemes whose receivers answer nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoNotification;

impl NotificationPoint for NoNotification {}
