//! 3-point QCN: ports write feedback on frames, destinations reflect it, sources hear of room too (reconstruction).
//!
//! ```text
//!   source --frame--> port: sampled, or marked before: writes Fb, if worse than what is there --> destination
//!      ^                                                                                            |
//!      +------------------------------- reflection: the worst Fb of the path -----------------------+
//!
//!   Fb < 0: QCN's cut, and the count of good news is 0
//!   Fb > 0: good news; from the third in a row on each is an increase event: target += R_HAI times its count,
//!           current = (current + target) / 2
//! ```
//!
//! Between reflections the limiter climbs as QCN's does.
//!
//! Source: deck 001 names 3-point QCN and says what spoke against it (paths that differ from frame to frame). The
//! three roles are in the authors' pseudo code. Everything else here is a reading.

use super::qcn;
use crate::definition::{Family, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::feedback::{Quantized, Quantizer, Scale};
use crate::parts::forward::forward;
use crate::parts::sampling::{self, Sampler};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Delivered, NotificationPoint, Queue, ReactionPoint, Signal,
    SignalKind,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// 3-point QCN.
pub struct ThreePoint;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CpParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "Q_EQ, Qeq", Range::at_least(100.0);
        /// Weight of queue growth against queue offset in the feedback.
        w: f64, "W", Range::between(0.000_976_562_5, 1024.0);
        /// Octets between samples while there is no congestion.
        sample_base: Bytes, "base marking", Range::at_least(1.0);
        /// Full width of the random spread of the sampling interval: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RpParams {
        /// Reflections with room, in a row, from which on each is an increase event; 0 never lets them.
        good_news: u32, "", Range::ANY;
        /// Length of a timer cycle in fast recovery, and half of it later.
        time_reset: Span, "T", Range::at_least(1e6);
        /// Length of a byte-counter cycle in fast recovery, and half of it later.
        byte_reset: Bytes, "BC_LIMIT", Range::at_least(1.0);
        /// Cycles of fast recovery.
        threshold: u32, "F", Range::between(1.0, 1000.0);
        /// Step of the target rate in active increase.
        ai_rate: BitRate, "R_AI", Range::at_least(0.0);
        /// Step of the target rate in hyper-active increase, and on good news.
        hai_rate: BitRate, "R_HAI", Range::at_least(0.0);
        /// How much each of both adds: `hai_rate`, or that times its count.
        hai_step: qcn::HaiStep, "", Range::ANY;
        /// Decrease per unit of quantized feedback.
        gd: f64, "Gd", Range::between(0.0, 1.0);
        /// The least share of the rate that one message leaves.
        min_dec_fac: f64, "rpgMinDecFac", Range::above_zero_to(1.0);
        /// The rate is never cut below this.
        min_rate: BitRate, "MIN_RATE", Range::POSITIVE;
        /// Full width of the random spread of cycles.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// At the end of the first cycle a target above ten times the current rate falls to an eighth.
        target_rate_reduction: bool, "TRR", Range::ANY;
        /// How often the rate drifts up by itself, whatever is heard; 0 s for never.
        drift_every: Span, "drift interval, Td", Range::at_least(0.0);
        /// How far it drifts each time.
        drift_step: BitRate, "drift increase, Rd", Range::at_least(0.0);
    }
}

const CP_DECK001: CpParams = CpParams {
    set_point: qcn::CP_DECK001.set_point,
    w: qcn::CP_DECK001.w,
    sample_base: qcn::CP_DECK001.sample_base,
    jitter_width: qcn::CP_DECK001.jitter_width,
};

const RP_DECK001: RpParams = RpParams {
    good_news: 3,
    time_reset: qcn::RP_DECK001.time_reset,
    byte_reset: qcn::RP_DECK001.byte_reset,
    threshold: qcn::RP_DECK001.threshold,
    ai_rate: qcn::RP_DECK001.ai_rate,
    hai_rate: qcn::RP_DECK001.hai_rate,
    hai_step: qcn::RP_DECK001.hai_step,
    gd: qcn::RP_DECK001.gd,
    min_dec_fac: qcn::RP_DECK001.min_dec_fac,
    min_rate: qcn::RP_DECK001.min_rate,
    jitter_width: qcn::RP_DECK001.jitter_width,
    target_rate_reduction: qcn::RP_DECK001.target_rate_reduction,
    drift_every: qcn::RP_DECK001.drift_every,
    drift_step: qcn::RP_DECK001.drift_step,
};

/// Bits of the feedback's size.
const BITS: u32 = 6;

/// The mark of no feedback: 1 is the most room, 127 the worst congestion.
const NEUTRAL: i16 = 1 << BITS;

impl Family for ThreePoint {
    type CpParams = CpParams;
    type RpParams = RpParams;
    type Cp = Cp;
    type Rp = Rp;
    type Np = Np;
    const MEMBERS: &'static [Member<CpParams, RpParams>] = &[Member {
        name: "qcn_three_point",
        title: "3-point QCN (reconstruction)",
        source: "deck 001, where it is named",
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "DECK001",
            about: "QCN with deck 001's parameters. What good news does, and that it takes three in a row, is ours.",
            cp: CP_DECK001,
            rp: RP_DECK001,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Reflection];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::Reflection];
    const FIELDS: (&'static [Field], &'static [Field]) = (CpParams::FIELDS, RpParams::FIELDS);

    fn set_point(params: &CpParams, _: &RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &CpParams, _: CpId) -> Cp {
        Cp { params: *params, sampler: Sampler::new(params.sample_base) }
    }

    fn reaction_point(params: &RpParams, line_rate: BitRate) -> Rp {
        let limiter = qcn::RpParams {
            time_reset: params.time_reset,
            byte_reset: params.byte_reset,
            threshold: params.threshold,
            ai_rate: params.ai_rate,
            hai_rate: params.hai_rate,
            hai_step: params.hai_step,
            gd: params.gd,
            min_dec_fac: params.min_dec_fac,
            min_rate: params.min_rate,
            jitter_width: params.jitter_width,
            target_rate_reduction: params.target_rate_reduction,
            drift_every: params.drift_every,
            drift_step: params.drift_step,
            creation: qcn::Creation::AnyCnm,
            ..qcn::RP_DECK001
        };
        Rp { params: *params, limiter: qcn::Rp::new(limiter, line_rate), news: 0 }
    }

    fn notification_point(_: &RpParams) -> Option<Np> {
        Some(Np)
    }
}

const ABOUT: &str = "\
QCN with a third point. A port writes its feedback, of either sign, on frames that it samples, and on
frames that a port before it has marked; the worse feedback stays. The destination reflects marked frames'
feedback to the source, so that a source also hears of room on the path's worst port. Negative feedback
cuts as in QCN. From the third good news in a row on, each is an increase event with the step of
hyper-active increase.

   source --> port: mark --> port: the worse mark --> destination
      ^------------- reflection ---------------------------+
";

/// The congestion point: writes feedback on frames.
#[derive(Clone, Debug)]
pub struct Cp {
    params: CpParams,
    sampler: Sampler,
}

impl Cp {
    fn feedback(&self, q_offset: i64, q_delta: i64) -> Quantized {
        let CpParams { set_point, w, .. } = self.params;
        Scale { set_point, w, bits: BITS, quantizer: Quantizer::Floor }.quantize(q_offset, q_delta)
    }

    /// The mark of feedback, from 1 to 127: the worse, the larger.
    const fn mark(fb: Quantized) -> u8 {
        let size = fb.size as i16;
        (if fb.negative { NEUTRAL + size } else { NEUTRAL - size }) as u8
    }
}

impl CongestionPoint for Cp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        let sampled = self.sampler.takes(frame, false);
        if !sampled && (frame.mark == 0 || !frame.controlled || !frame.admitted) {
            return CpAction::Nothing;
        }
        let len = queue.len.signed();
        let q_offset = self.params.set_point.signed() - len;
        let fb = if sampled {
            let q_delta = self.sampler.growth(len);
            let fb = self.feedback(q_offset, q_delta);
            let interval = sampling::interval(self.params.sample_base, fb.congestion(), BITS);
            self.sampler.restart(interval, self.params.jitter_width, dice);
            fb
        } else {
            self.feedback(q_offset, len - self.sampler.last_len())
        };
        let mark = Cp::mark(fb);
        if mark > frame.mark { CpAction::Mark(mark) } else { CpAction::Nothing }
    }
}

impl CpFastPath for Cp {}

/// The notification point: reflects what is written on frames.
#[derive(Clone, Copy, Debug)]
pub struct Np;

impl NotificationPoint for Np {
    #[inline]
    fn on_frame(&mut self, _: Instant, frame: &Delivered) -> Option<Signal> {
        (frame.controlled && frame.mark > 0).then(|| Signal::Reflection(NEUTRAL - i16::from(frame.mark)))
    }
}

/// The reaction point: QCN's limiter, and an ear for good news.
#[derive(Clone, Debug)]
pub struct Rp {
    params: RpParams,
    limiter: qcn::Rp,
    /// Reflections with room since the last without.
    news: u32,
}

impl ReactionPoint for Rp {
    forward!(ReactionPoint to self.limiter: on_sent, on_wake, next_wake, limit, pacing, gauge);

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        let Signal::Reflection(fb) = *signal else { return };
        if fb <= 0 {
            self.news = 0;
            let quantized_fb = u8::try_from(fb.unsigned_abs()).unwrap_or(u8::MAX);
            let cnm = Cnm { cp: CpId(0), quantized_fb, q_offset: -1, q_delta: 0 };
            return self.limiter.on_signal(now, &Signal::Cnm(cnm), dice);
        }
        self.news = self.news.saturating_add(1);
        if self.params.good_news > 0 && self.news >= self.params.good_news {
            let count = match self.params.hai_step {
                qcn::HaiStep::Scaled => u64::from(self.news - self.params.good_news + 1),
                qcn::HaiStep::Constant => 1,
            };
            self.limiter.increase(BitRate::bps(self.params.hai_rate.get().saturating_mul(count)));
        }
    }
}

impl RpFastPath for Rp {
    forward!(RpFastPath to self.limiter: on_sent_may_be_late);
}

#[cfg(test)]
mod tests;
