//! 3-point QCN: ports write feedback on frames, destinations reflect it, sources hear of room too (reconstruction).
//!
//! Between reflections the limiter climbs as QCN's does.
//!
//! Source: deck 001 names 3-point QCN and says what spoke against it (paths that differ from frame to frame). The
//! three roles are in the authors' pseudo code. Everything else here is a reading.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
QCN with a third point, the destination. A port writes its feedback, of either sign, on the frames that it
samples, and on frames that an earlier port has marked; the worse feedback stays. The destination returns
the feedback of marked frames to the source. So a source also learns when the worst port of its path has
room. Negative feedback cuts the rate as in QCN. From the third positive feedback in a row on, each is an
increase event with the step of hyper-active increase.

   source --frame--> port: sampled, or marked before: writes Fb, if worse than what is there --> destination
      ^                                                                                            |
      +------------------------------- reflection: the worst Fb of the path -----------------------+

   Fb < 0: QCN's cut, and the count of good news is 0
   Fb > 0: good news; from the third in a row on each is an increase event: target += R_HAI times its count,
           current = (current + target) / 2
";

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::feedback::{Quantized, Quantizer, Scale};
use crate::parts::forward::forward;
use crate::parts::sampling::{self, Sampler};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Delivered, Endpoint, NotificationPoint, Queue, ReactionPoint,
    Signal, SignalKind,
};
use qcnlab_units::{Bytes, Instant};

/// 3-point QCN.
pub struct ThreePoint;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ThreePointCpParams {
        sampler: qcn::QcnCpParams => set_point, w, sample_base, jitter_width;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ThreePointRpParams {
        /// Reflections with room, in a row, from which on each is an increase event; 0 never lets them.
        good_news: u32, "", Range::ANY;
        limiter: qcn::QcnRpParams => time_reset, byte_reset, threshold, ai_rate, hai_rate, hai_step, gd, min_dec_fac, min_rate,
            jitter_width, target_rate_reduction, drift_every, drift_step, drift_restart;
    }
}

const CP_DECK001: ThreePointCpParams = ThreePointCpParams { sampler: qcn::CP_DECK001 };

const RP_DECK001: ThreePointRpParams = ThreePointRpParams {
    good_news: 3,
    limiter: qcn::QcnRpParams { creation: qcn::Creation::AnyCnm, ..qcn::RP_DECK001 },
};

/// Bits of the feedback's size.
const BITS: u32 = 6;

/// The mark of no feedback: 1 is the most room, 127 the worst congestion.
const NEUTRAL: i16 = 1 << BITS;

impl Family for ThreePoint {
    type CpParams = ThreePointCpParams;
    type RpParams = ThreePointRpParams;
    type Cp = ThreePointCp;
    type Rp = ThreePointRp;
    type Np = ThreePointNp;
    const MEMBERS: &'static [Member<ThreePointCpParams, ThreePointRpParams>] = &[Member {
        name: "qcn_three_point",
        title: "3-point QCN (reconstruction)",
        source: "deck 001, where it is named",
        generation: Generation::Qau,
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
    const FIELDS: (&'static [Field], &'static [Field]) = (ThreePointCpParams::FIELDS, ThreePointRpParams::FIELDS);

    fn set_point(params: &ThreePointCpParams, _: &ThreePointRpParams) -> Option<Bytes> {
        Some(params.sampler.set_point)
    }

    fn congestion_point(params: &ThreePointCpParams, _: CpId) -> ThreePointCp {
        ThreePointCp { params: params.sampler, sampler: Sampler::new(params.sampler.sample_base) }
    }

    fn reaction_point(params: &ThreePointRpParams, Endpoint { line_rate, .. }: Endpoint) -> ThreePointRp {
        ThreePointRp { params: *params, limiter: qcn::QcnRp::new(params.limiter, line_rate), news: 0 }
    }

    fn notification_point(_: &ThreePointRpParams) -> Option<ThreePointNp> {
        Some(ThreePointNp)
    }
}

/// The congestion point: writes feedback on frames.
#[derive(Clone, Debug)]
pub struct ThreePointCp {
    params: qcn::QcnCpParams,
    sampler: Sampler,
}

impl ThreePointCp {
    fn feedback(&self, q_offset: i64, q_delta: i64) -> Quantized {
        let qcn::QcnCpParams { set_point, w, .. } = self.params;
        Scale { set_point, w, bits: BITS, quantizer: Quantizer::Floor }.quantize(q_offset, q_delta)
    }

    /// The mark of feedback, from 1 to 127: the worse, the larger.
    const fn mark(fb: Quantized) -> u8 {
        let size = fb.size as i16;
        (if fb.negative { NEUTRAL + size } else { NEUTRAL - size }) as u8
    }
}

impl CongestionPoint for ThreePointCp {
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
        let mark = ThreePointCp::mark(fb);
        if mark > frame.mark { CpAction::Mark(mark) } else { CpAction::Nothing }
    }
}

impl CpFastPath for ThreePointCp {}

/// The notification point: reflects what is written on frames.
#[derive(Clone, Copy, Debug)]
pub struct ThreePointNp;

impl NotificationPoint for ThreePointNp {
    #[inline]
    fn on_frame(&mut self, _: Instant, frame: &Delivered) -> Option<Signal> {
        (frame.controlled && frame.mark > 0).then(|| Signal::Reflection(NEUTRAL - i16::from(frame.mark)))
    }
}

/// The reaction point: QCN's limiter, and an ear for good news.
#[derive(Clone, Debug)]
pub struct ThreePointRp {
    params: ThreePointRpParams,
    limiter: qcn::QcnRp,
    /// Reflections with room since the last without.
    news: u32,
}

impl ReactionPoint for ThreePointRp {
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
            let qcn::QcnRpParams { hai_step, hai_rate, .. } = self.params.limiter;
            self.limiter.increase(hai_step.step(hai_rate, self.news - self.params.good_news + 1));
        }
    }
}

impl RpFastPath for ThreePointRp {
    forward!(RpFastPath to self.limiter: on_sent_may_be_late);
}

#[cfg(test)]
mod tests;
