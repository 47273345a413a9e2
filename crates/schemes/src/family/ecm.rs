//! ECM, Ethernet congestion management, first called BCN: additive increase, multiplicative decrease.
//!
//! The message carries queue offset and queue growth; the reaction point computes
//! Fb = offset - W growth, in 64-octet pages. In ECM-Q the port rounds each of the two to a code of
//! eight bits first, the offset on a scale of one set point either way and the growth on one of two, and
//! the message carries what the codes stand for; so one reaction point serves both.
//!
//! Source: deck 001 (parameters), deck 004 (ECM_MAX, drift, ECM-Q; the ranges of its codes are a reading), the DCB
//! managed objects of Linux (meaning of the reaction point's bounds).

/// The state diagram of ECM and ECM-Q.
macro_rules! diagram {
    () => {
        "
            first message with negative feedback: limiter at C, then the cut
   free -----------------------------------------------------------------> limited
     ^      rate reaches C                                                  |  ^
     +----------------------------------------------------------------------+  | a random wait is over:
                                                        BCN(0,0): stop |       | restart at Rmin
                                                                       v       |
                                                                      stopped -+
   limited:  Fb < 0  rate *= 1 - Gd |Fb|      Fb > 0  rate += Gi Fb Ru      each Td: rate += Rd
"
    };
}

/// ECM in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = concat!(
    "\
A switch port samples arriving frames. It tells their sources how far the queue is from its set point, and
how much it has grown since the last sample. While the queue is above the set point, the source of any
sampled frame gets negative feedback. Below the set point only sources that this port has limited get
answers: their frames carry a tag that names the port. These answers are the positive feedback.

Positive feedback Fb adds Gi Fb Ru to the source's rate: Gi is a gain, Ru the unit of rates. Negative
feedback multiplies the rate by 1 - Gd |Fb|. So the increase is additive, the decrease multiplicative.
A drift timer adds a little by itself. Feedback counts pages of 64 octets. The largest negative feedback
halves the rate, and the largest positive feedback adds a tenth of 10 Gb/s.
",
    diagram!()
);

/// The same of ECM-Q.
const ABOUT_ECM_Q: &str = concat!(
    "\
ECM whose messages carry two codes of eight bits in place of queue offset and growth. The port divides
the offset by its set point and the growth by twice that, rounds each to one of 127 steps either way, and
what is larger counts as the last step. The reaction point is ECM's. The deck says that both are
quantized, separately and with respect to the set point; the ranges are a reading.
",
    diagram!()
);

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params::{Field, Range};
use crate::parts::drift::{Drift, DriftParams};
use crate::parts::sampling::{Sampler, Sampling};
use crate::roles::{
    Arrival, Bcn, CongestionPoint, CpAction, CpId, Endpoint, Gauge, NoNotification, Queue, ReactionPoint, Signal,
    SignalKind, Stamp,
};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Octets in the unit that feedback is counted in. Deck 001's Qeq 375, Qsc 1600 and Qmc 2400 close
/// exactly with 64 octets: 24 000, 102 400 and 153 600.
const PAGE: f64 = 64.0;

/// ECM (BCN) and ECM-Q.
pub struct Ecm;

choice! {
    /// At which queue lengths a port sends positive feedback.
    pub enum Positive {
        /// At any: above the set point, too, when the queue shrinks fast enough.
        Anywhere = "anywhere",
        /// Not above the set point: a message from there is negative or is not sent.
        Below = "below",
    }
}

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EcmCpParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "Qeq", Range::at_least(100.0);
        /// Weight of queue growth, as the reaction points have it in `scheme.rp.w`; with `positive` at its default no
        /// message of the port depends on it.
        w: f64, "W", Range::between(0.0, 1024.0);
        /// Octets between samples.
        sample_base: Bytes, "sampling interval", Range::at_least(1.0);
        /// Which arriving frames are sampled.
        sampling: Sampling, "sampling probability Ps", Range::ANY;
        /// Full width of the random spread of the sampling interval: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// From this queue length up every sampled frame gets full-scale negative feedback; unset, never.
        full_scale_threshold: Option<Bytes>, "Qmc, ECM_MAX", Range::POSITIVE;
        /// From this queue length up, the threshold of severe congestion, sampled frames get BCN(0,0), which stops their
        /// source; unset, never.
        stop_threshold: Option<Bytes>, "Qsc, ECM(0,0), ECM00", Range::POSITIVE;
        /// Longer queues count as this long in the offset; unset, no clamp.
        saturate_at: Option<Bytes>, "Qsat", Range::POSITIVE;
        /// Bits of the codes, sign included, that offset and growth are rounded to: of one set point and of
        /// two, either way; unset, the message carries octets.
        code_bits: Option<u32>, "8-bit quantization", Range::between(2.0, 16.0);
        /// What the codes divide offset and growth by in place of the set point; unset, the set point.
        code_scale: Option<Bytes>, "", Range::at_least(100.0);
        /// At which queue lengths positive feedback is sent.
        positive: Positive, "", Range::ANY;
        /// Whether discarded frames count towards the sampling interval and may be sampled. False: only octets that are
        /// enqueued count, as cpSampleBase says. True: a frame that a full queue discards is sampled as others are, and its
        /// source gets feedback on the queue at its limit. QCN discards a twentieth as many frames at deck 001's hotspot
        /// then, and up to twice as many where a buffer of thirty set points or more overflows.
        count_discarded: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EcmRpParams {
        /// Increase per 64-octet page of positive feedback, in units of `rate_unit`.
        gi: f64, "Gi", Range::at_least(0.0);
        /// Decrease per 64-octet page of negative feedback, as a share of the rate.
        gd: f64, "Gd", Range::between(0.0, 1.0);
        /// Weight of queue growth against queue offset in the feedback.
        w: f64, "W", Range::between(0.0, 1024.0);
        /// The rate that `gi` multiplies.
        rate_unit: BitRate, "Ru", Range::POSITIVE;
        /// The rate is never cut below this, and a stopped source restarts here.
        min_rate: BitRate, "Rmin, rp_rmin", Range::POSITIVE;
        /// The rate never rises above this; unset, the line rate.
        max_rate: Option<BitRate>, "rp_c, C", Range::POSITIVE;
        /// The largest share one message takes off the rate.
        max_decrease: f64, "rp_alpha", Range::above_zero_to(1.0);
        drift: DriftParams => drift_every, drift_step, drift_restart;
        /// After BCN(0,0) a source waits a random time up to this.
        stop_wait: Span, "Tmax, rp_tmax", Range::POSITIVE;
        /// Each further BCN(0,0) during the wait doubles it, up to this.
        stop_wait_max: Span, "", Range::POSITIVE;
    }
}

/// What deck 001 says of the congestion point.
pub const CP_DECK001: EcmCpParams = EcmCpParams {
    set_point: Bytes::new(24_000),
    w: 2.0,
    sample_base: Bytes::new(18_000),
    sampling: Sampling::Octets,
    jitter_width: 0.3,
    full_scale_threshold: Some(Bytes::new(153_600)),
    stop_threshold: None,
    saturate_at: None,
    code_bits: None,
    code_scale: None,
    positive: Positive::Anywhere,
    count_discarded: false,
};

/// Deck 004, Congestion Management Parameters, at M = 150 KB.
pub const CP_IBM_ZRL: EcmCpParams = EcmCpParams {
    set_point: Bytes::new(37_500),
    sample_base: Bytes::new(150_000),
    full_scale_threshold: Some(Bytes::new(150_000)),
    ..CP_DECK001
};

/// What deck 001 says of the reaction point.
pub const RP_DECK001: EcmRpParams = EcmRpParams {
    gi: 0.53333,
    gd: 0.000_266_67,
    w: 2.0,
    rate_unit: BitRate::mbps(1),
    min_rate: BitRate::mbps(1),
    max_rate: None,
    max_decrease: 0.5,
    drift: DriftParams::each(Span::from_ms(1), BitRate::mbps(1)),
    stop_wait: Span::from_ms(1),
    stop_wait_max: Span::from_ms(64),
};

/// Full-scale feedback of deck 004's set point, in pages: (2 W + 1) Qeq = 187 500 octets.
const FULL_IBM_ZRL: f64 = 5.0 * 37_500.0 / PAGE;

/// Deck 004's gains are 0.1 (10 Gb/s / Ru) / 255 and 0.5/255 per unit of full scale / 255. Per page: full
/// scale adds 1 Gb/s and halves the rate.
pub const RP_IBM_ZRL: EcmRpParams = EcmRpParams {
    gi: 1000.0 / FULL_IBM_ZRL,
    gd: 0.5 / FULL_IBM_ZRL,
    drift: DriftParams::each(Span::from_ms(20), BitRate::mbps(4)),
    ..RP_DECK001
};

impl Family for Ecm {
    type CpParams = EcmCpParams;
    type RpParams = EcmRpParams;
    type Cp = EcmCp;
    type Rp = EcmRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<EcmCpParams, EcmRpParams>] = &[
        Member {
            name: "ecm",
            title: "ECM (BCN)",
            source: "deck 001; deck 004",
            generation: Generation::Qau,
            status: Status::ReadingsChosen,
            about: ABOUT,
            presets: &[
                Preset {
                    name: "DECK001",
                    about: "Deck 001, Simulation Parameters, Gi 0.53333. The sampling interval is not printed; \
                        3 ms and 214 ms together need one message per 18 KB.",
                    cp: CP_DECK001,
                    rp: RP_DECK001,
                },
                Preset {
                    name: "DECK001_STABILITY_ADJUSTED",
                    about: "The same with Gi a hundred times smaller, as deck 001 sets it for RTT 200 us.",
                    cp: CP_DECK001,
                    rp: EcmRpParams { gi: 0.005_333_3, ..RP_DECK001 },
                },
                Preset { name: "IBM_ZRL", about: ABOUT_IBM_ZRL, cp: CP_IBM_ZRL, rp: RP_IBM_ZRL },
            ],
        },
        Member {
            name: "ecm_q",
            title: "ECM-Q, ECM with quantized feedback",
            source: "deck 004, Congestion Management Parameters",
            generation: Generation::Qau,
            status: Status::ReadingsChosen,
            about: ABOUT_ECM_Q,
            presets: &[Preset {
                name: "IBM_ZRL",
                about: ABOUT_IBM_ZRL,
                cp: EcmCpParams { code_bits: Some(8), ..CP_IBM_ZRL },
                rp: RP_IBM_ZRL,
            }],
        },
    ];
    const HEARS: &'static [SignalKind] = &[SignalKind::Bcn];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Bcn];
    const FIELDS: (&'static [Field], &'static [Field]) = (EcmCpParams::FIELDS, EcmRpParams::FIELDS);

    fn set_point(params: &EcmCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &EcmCpParams, id: CpId) -> EcmCp {
        EcmCp { params: *params, id, sampler: Sampler::new(params.sample_base) }
    }

    fn reaction_point(params: &EcmRpParams, Endpoint { line_rate, .. }: Endpoint) -> EcmRp {
        EcmRp {
            params: *params,
            max_rate: params.max_rate.unwrap_or(line_rate),
            state: EcmState::Free,
            drift: Drift::new(params.drift),
        }
    }
}

const ABOUT_IBM_ZRL: &str = "Deck 004, Congestion Management Parameters, at M = 150 KB and 10 Gb/s: set point M/4, one sample in a hundred \
     frames, W 2, full scale halves the rate or adds a tenth of 10 Gb/s, Qmc = M, drift 4 Mb/s each 20 ms, no \
     ECM(0,0). Gains are per 64-octet page here and per 255th of full scale there.";

/// The congestion point: tells sampled sources where the queue stands.
#[derive(Clone, Debug)]
pub struct EcmCp {
    params: EcmCpParams,
    id: CpId,
    sampler: Sampler,
}

impl CongestionPoint for EcmCp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        if !self.sampler.takes(frame, self.params.count_discarded) {
            return CpAction::Nothing;
        }
        self.sample(frame, queue, dice)
    }
}

impl CpFastPath for EcmCp {
    #[inline]
    fn count_only(&mut self, controlled: bool, admitted: bool, size: Bytes) -> bool {
        self.sampler.count_only(controlled, admitted, size, self.params.count_discarded)
    }
}

impl EcmCp {
    fn sample(&mut self, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        let params = &self.params;
        let len = queue.len.signed();
        let counted = params.saturate_at.map_or(len, |limit| len.min(limit.signed()));
        let q_offset = params.set_point.signed() - counted;
        let q_delta = self.sampler.growth(len);
        self.sampler.restart_by(params.sampling, params.sample_base.as_f64(), params.jitter_width, dice);
        let reached = |level: Option<Bytes>| level.is_some_and(|level| queue.len >= level);
        let message =
            Bcn { cp: self.id, q_offset: self.coded(q_offset, 1), q_delta: self.coded(q_delta, 2), stop: false };
        if reached(params.full_scale_threshold) {
            // Fb = -(2W + 1) Qeq: an offset of -Qeq and a growth of 2 Qeq.
            let set_point = params.set_point.signed();
            return send(Bcn { q_offset: -set_point, q_delta: 2 * set_point, ..message });
        }
        if reached(params.stop_threshold) {
            return send(Bcn { q_offset: 0, q_delta: 0, stop: true, ..message });
        }
        let above = queue.len > params.set_point;
        if above && params.positive == Positive::Below && self.feedback(&message) > 0.0 {
            return CpAction::Nothing;
        }
        if above || frame.limited_by == Some(self.id) {
            return send(message);
        }
        CpAction::Nothing
    }
}

impl EcmCp {
    /// Fb = offset - W growth, octets, as a reaction point with the port's W computes it.
    fn feedback(&self, message: &Bcn) -> f64 {
        message.q_offset as f64 - self.params.w * message.q_delta as f64
    }

    /// The octets that stand for `octets` in a message: the nearest code's, on a scale of so many set points.
    fn coded(&self, octets: i64, set_points: i64) -> i64 {
        let Some(bits) = self.params.code_bits else { return octets };
        let largest = f64::from((1u32 << (bits - 1)) - 1);
        let scale = self.params.code_scale.unwrap_or(self.params.set_point);
        let step = (set_points * scale.signed()) as f64 / largest;
        ((octets as f64 / step).round().clamp(-largest, largest) * step).round() as i64
    }
}

fn send(message: Bcn) -> CpAction {
    CpAction::Send(Signal::Bcn(message))
}

/// The reaction point: one rate, pushed up and down by feedback.
#[derive(Clone, Debug)]
pub struct EcmRp {
    params: EcmRpParams,
    max_rate: BitRate,
    state: EcmState,
    drift: Drift,
}

#[derive(Clone, Debug)]
enum EcmState {
    /// Frames pass at line rate.
    Free,
    /// A limiter is installed; frames carry the tag of `cp`.
    Limited { rate: BitRate, cp: CpId },
    /// BCN(0,0) was heard: nothing leaves until `until`, drawn from a range of `wait`.
    Stopped { until: Instant, wait: Span, cp: CpId },
}

impl EcmRp {
    /// The congestion point that holds the limiter, which frames name; `None` without one.
    #[inline]
    pub const fn holder(&self) -> Option<CpId> {
        match self.state {
            EcmState::Free => None,
            EcmState::Limited { cp, .. } | EcmState::Stopped { cp, .. } => Some(cp),
        }
    }

    fn on_bcn(&mut self, now: Instant, bcn: &Bcn, dice: &mut Dice) {
        if bcn.stop {
            return self.on_stop(now, bcn.cp, dice);
        }
        let fb = (bcn.q_offset as f64 - self.params.w * bcn.q_delta as f64) / PAGE;
        let (rate, holder) = match self.state {
            EcmState::Free => (self.max_rate, None),
            EcmState::Limited { rate, cp } => (rate, Some(cp)),
            EcmState::Stopped { .. } => return,
        };
        if fb < 0.0 {
            if holder.is_none() {
                self.drift.start(now);
            } else {
                self.drift.heard(now);
            }
            let share = (self.params.gd * -fb).min(self.params.max_decrease);
            let rate = rate.scaled_rounded_down(1.0 - share).max(self.params.min_rate);
            self.state = EcmState::Limited { rate, cp: bcn.cp };
        } else if holder == Some(bcn.cp) {
            // Only the congestion point that holds the limiter may raise it.
            self.drift.heard(now);
            self.raise(rate, self.params.rate_unit.scaled_rounded_down(self.params.gi * fb), bcn.cp);
        }
    }

    fn on_stop(&mut self, now: Instant, cp: CpId, dice: &mut Dice) {
        let wait = match self.state {
            EcmState::Stopped { wait, .. } => (wait + wait).min(self.params.stop_wait_max),
            _ => self.params.stop_wait,
        };
        let until = now + wait.scaled_rounded_down(dice.uniform(0.0, 1.0));
        self.state = EcmState::Stopped { until, wait, cp };
    }

    /// Adds to the rate; at the top the limiter is removed.
    fn raise(&mut self, rate: BitRate, step: BitRate, cp: CpId) {
        let rate = rate + step;
        if rate >= self.max_rate {
            self.state = EcmState::Free;
            self.drift.stop();
        } else {
            self.state = EcmState::Limited { rate, cp };
        }
    }
}

impl ReactionPoint for EcmRp {
    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp { limited_by: self.holder(), probe: false }
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        if let Signal::Bcn(bcn) = signal {
            self.on_bcn(now, bcn, dice);
        }
    }

    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        if let EcmState::Stopped { until, cp, .. } = self.state
            && now >= until
        {
            self.state = EcmState::Limited { rate: self.params.min_rate, cp };
            self.drift.start(now);
        }
        if let EcmState::Limited { rate, cp } = self.state
            && let Some(step) = self.drift.due(now)
        {
            self.raise(rate, step, cp);
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        match self.state {
            EcmState::Free => Instant::NEVER,
            EcmState::Limited { .. } => self.drift.next(),
            EcmState::Stopped { until, .. } => until,
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match self.state {
            EcmState::Free => self.params.max_rate,
            EcmState::Limited { rate, .. } => Some(rate),
            EcmState::Stopped { .. } => Some(BitRate::ZERO),
        }
    }

    fn gauge(&self) -> Gauge {
        let rate = match self.state {
            EcmState::Free => self.max_rate,
            EcmState::Limited { rate, .. } => rate,
            EcmState::Stopped { .. } => BitRate::ZERO,
        };
        Gauge::at(rate)
    }
}

impl RpFastPath for EcmRp {
    #[inline]
    fn count_only(&mut self, _: Bytes, _: Bytes) -> bool {
        matches!(self.state, EcmState::Free)
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
