//! The roles a scheme plays, and what both sides may count on.
//!
//! 1. Time never runs backwards: `now` is at or after every earlier `now`.
//! 2. A machine asks for a wake-up with `next_wake`; it may come late, and a
//!    wake-up that finds nothing due does nothing.
//! 3. What a machine wants done comes back as a small value that must be used.
//! 4. Every random number comes from the dice passed in.

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
}

impl SignalKind {
    /// Every kind.
    pub const ALL: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::Bcn, SignalKind::Echo, SignalKind::PushBack];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            SignalKind::Cnm => "CNM",
            SignalKind::Bcn => "BCN",
            SignalKind::Echo => "echo",
            SignalKind::PushBack => "push-back",
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
        }
    }

    /// Feedback where the message carries it: minus the quantized feedback of a CNM.
    pub const fn fb(&self) -> Option<i32> {
        match self {
            Signal::Cnm(cnm) => Some(-(cnm.quantized_fb as i32)),
            Signal::Bcn(_) | Signal::Echo(_) | Signal::PushBack(_) => None,
        }
    }

    /// Queue offset and growth, octets, where the message carries them.
    pub const fn queue(&self) -> Option<(i64, i64)> {
        match self {
            Signal::Cnm(m) => Some((m.q_offset, m.q_delta)),
            Signal::Bcn(m) => Some((m.q_offset, m.q_delta)),
            Signal::Echo(_) | Signal::PushBack(_) => None,
        }
    }
}

/// What a congestion point wants done.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub enum CpAction {
    /// Nothing.
    Nothing,
    /// Send this to the source of the frame.
    Send(Signal),
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

    /// Whether [`Self::on_departure`] is wanted. The same all through a run.
    fn watches_departures(&self) -> bool {
        false
    }

    /// A frame left at `now`; `len` octets stay queued. Called only where wanted.
    fn on_departure(&mut self, now: Instant, len: Bytes) {
        let _ = (now, len);
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
    /// A signal came in.
    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice);
    /// The time asked for has come.
    fn on_wake(&mut self, now: Instant, dice: &mut Dice);
    /// When to be woken; [`Instant::NEVER`] for not at all.
    fn next_wake(&self) -> Instant;
    /// The rate frames may leave at, or `None` when it does not limit.
    fn limit(&self) -> Option<BitRate>;
    /// How the limiter spaces frames. The same all through a run.
    fn pacing(&self) -> Pacing;
    /// Rates for an observer.
    fn gauge(&self) -> Gauge;
}
