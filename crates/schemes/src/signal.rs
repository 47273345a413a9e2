//! Signals: what congestion points and notification points send to a reaction point.

use crate::facts::{CpId, Probe};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

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

impl Cnm {
    /// Octets of the unit in which a frame carries offset and delta (802.1Q clause 33.4).
    pub const QUEUE_UNIT: i64 = 64;

    /// What a standard frame carries of it: offset and delta in whole units, rounded towards zero, in 16 bits. Feedback
    /// of 6 bits stays as it is; more bits have no standard frame, and stay too.
    pub fn carried(self) -> Cnm {
        let carried =
            |octets: i64| (octets / Self::QUEUE_UNIT).clamp(i16::MIN.into(), i16::MAX.into()) * Self::QUEUE_UNIT;
        Cnm { q_offset: carried(self.q_offset), q_delta: carried(self.q_delta), ..self }
    }
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

/// A port tells the source of a frame to stop (source flow control).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePause {
    /// Who sends it.
    pub cp: CpId,
    /// For how long, from when it is heard.
    pub time: Span,
}

/// A message to a reaction point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// 802.1Qau.
    Cnm(Cnm),
    /// BCN and ECM.
    Bcn(Bcn),
    /// A switch's answer to a special frame: it has no bandwidth to spare.
    Echo(CpId),
    /// No congestion, but no bandwidth to spare either (Fb99): the source must wait longer before it speeds up.
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
    /// A receiver's answer to marked frames, with the rate at which the flow arrives (CNP of PCN).
    ReceivedRate(BitRate),
    /// A receiver permits so many octets from the start of a stream, those sent again counted anew.
    Credit(Bytes),
    /// A congestion point tells the source to stop for a time.
    SourcePause(SourcePause),
}

impl Signal {
    /// Refuse what is outside the ranges that its fields document.
    ///
    /// # Errors
    /// In words, which field is.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Signal::Cnm(Cnm { quantized_fb: 0, .. }) => {
                Err("sends a CNM with a quantized_fb of 0; it goes from 1 up, and no message says no congestion"
                    .to_owned())
            }
            Signal::Answer(Answer { capacity, .. }) if *capacity == BitRate::ZERO => {
                Err("sends an answer with a capacity of 0 b/s; a port serves at a rate above 0".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The kinds of signal.
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
    /// Congestion notification packet with the rate received.
    ReceivedRate,
    /// Credit.
    Credit,
    /// Pause of a source.
    SourcePause,
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
        SignalKind::ReceivedRate,
        SignalKind::Credit,
        SignalKind::SourcePause,
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
            SignalKind::ReceivedRate => "received rate",
            SignalKind::Credit => "credit",
            SignalKind::SourcePause => "source pause",
        }
    }
}

impl Signal {
    /// What a frame carries of it: of a CNM, what [`Cnm::carried`] says; anything else whole.
    pub fn carried(self) -> Signal {
        match self {
            Signal::Cnm(cnm) => Signal::Cnm(cnm.carried()),
            other => other,
        }
    }

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
            Signal::ReceivedRate(_) => SignalKind::ReceivedRate,
            Signal::Credit(_) => SignalKind::Credit,
            Signal::SourcePause(_) => SignalKind::SourcePause,
        }
    }

    /// The congestion point that the message says it is from, where it says one.
    pub const fn cp(&self) -> Option<CpId> {
        match self {
            Signal::Cnm(Cnm { cp, .. })
            | Signal::Bcn(Bcn { cp, .. })
            | Signal::Echo(cp)
            | Signal::PushBack(cp)
            | Signal::QueueLen(QueueLen { cp, .. })
            | Signal::Answer(Answer { cp, .. })
            | Signal::SourcePause(SourcePause { cp, .. }) => Some(*cp),
            Signal::Cnp | Signal::Returned(_) | Signal::Reflection(_) | Signal::ReceivedRate(_) | Signal::Credit(_) => {
                None
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Units of 64 octets towards zero: -27 000 / 64 = -421.9, 120 000 / 64 = 1875, and 16 bits at most.
    #[test]
    fn a_frame_carries_whole_units_of_64_octets() {
        let of = |q_offset, q_delta| {
            let cnm = Cnm { cp: CpId(3), quantized_fb: 56, q_offset, q_delta }.carried();
            assert_eq!((cnm.cp, cnm.quantized_fb), (CpId(3), 56));
            (cnm.q_offset, cnm.q_delta)
        };
        assert_eq!(of(-27_000, 120_000), (-421 * 64, 120_000));
        assert_eq!(of(-63, 63), (0, 0));
        assert_eq!(of(-3_000_000, 3_000_000), (-32_768 * 64, 32_767 * 64));
        assert_eq!(Signal::Cnp.carried(), Signal::Cnp);
    }

    /// What tables of messages show: feedback with its sign, offset and growth, of the kinds that carry them.
    #[test]
    fn feedback_and_queue_are_read_from_the_kinds_that_carry_them() {
        let cp = CpId(3);
        let (q_offset, q_delta, asked_at) = (-27_000, 12_000, Instant::ZERO);
        let cnm = Signal::Cnm(Cnm { cp, quantized_fb: 56, q_offset, q_delta });
        let bcn = Signal::Bcn(Bcn { cp, q_offset, q_delta, stop: false });
        let answer = Signal::Answer(Answer { cp, asked_at, q_offset, q_delta, capacity: BitRate::gbps(10) });
        let queue = Some((-27_000, 12_000));
        assert_eq!((cnm.fb(), cnm.queue()), (Some(-56), queue));
        assert_eq!((bcn.fb(), bcn.queue()), (None, queue));
        assert_eq!((answer.fb(), answer.queue()), (None, queue));
        for (fb, shown) in [(-5, Some(-5)), (7, Some(7))] {
            assert_eq!((Signal::Reflection(fb).fb(), Signal::Reflection(fb).queue()), (shown, None));
        }
        let len = QueueLen { cp, len: Bytes::new(1), arrived: Bytes::new(2) };
        let told = [Signal::ReceivedRate(BitRate::gbps(1)), Signal::Credit(Bytes::new(1000))];
        for signal in
            [Signal::Echo(cp), Signal::PushBack(cp), Signal::Cnp, Signal::QueueLen(len)].into_iter().chain(told)
        {
            assert_eq!((signal.fb(), signal.queue()), (None, None), "{signal:?}");
        }
    }
}
