//! QCN, quantized congestion notification (IEEE 802.1Qau): byte counter and timer, or either alone.
//!
//! ```text
//!                    CNM: target = current (not in the first cycle); current *= 1 - Gd Fb;
//!                         both stages 0; timer restarted
//!            +---------------------------------------------------------------+
//!            v                                                               |
//!   fast recovery --- one stage past F ---> active increase --- both ---> hyper-active increase
//!   current = (current+target)/2            target += R_AI                target += R_HAI * i
//! ```
//!
//! An increase event is the end of a byte-counter cycle or of a timer cycle. Each ends a
//! stage of its own counter; the two stages together choose the phase.
//!
//! Source: deck 001 (rules, parameters), deck 000 (target-rate reduction), 802.1Q clauses 30
//! to 32 (names), the CN MIB (defaults).

use crate::dice::Dice;
use crate::params::{Field, Range};
use crate::parts::sampling::{self, Countdown};
use crate::registry::{Family, Member, Preset, Status};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Gauge, Pacing, Queue, ReactionPoint, Signal, SignalKind,
};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// QCN in its final form and with one clock alone.
pub struct Qcn;

choice! {
    /// How feedback becomes a small number.
    pub enum Quantizer {
        /// Linear over the whole range, rounded down.
        Floor = "floor",
        /// Linear over the whole range, rounded to nearest.
        Round = "round",
        /// The most significant bits of the feedback in octets; tops out early.
        MostSignificantBits = "msb",
    }
}

choice! {
    /// What makes a reaction point start to limit.
    pub enum Creation {
        /// Feedback above zero and a queue above the set point.
        Congested = "congested",
        /// Any congestion notification message.
        AnyCnm = "any_cnm",
    }
}

choice! {
    /// When a reaction point stops limiting.
    pub enum Release {
        /// At line rate with nothing waiting behind the limiter.
        LineRateAndEmpty = "line_rate_and_empty",
        /// At line rate.
        LineRate = "line_rate",
    }
}

choice! {
    /// Which events raise the rate.
    pub enum Clock {
        /// The byte counter and the timer: QCN's final form.
        Both = "both",
        /// The byte counter alone: the first form.
        ByteCounter = "byte_counter",
        /// The timer alone.
        Timer = "timer",
    }
}

choice! {
    /// When a stage counts as past fast recovery.
    pub enum StageTest {
        /// Stage > F: F halvings, active increase at event F + 1, short cycles from stage F.
        Above = "gt",
        /// Stage >= F: F - 1 halvings, active increase at event F, short cycles in hyper-active increase only.
        Reached = "ge",
    }
}

choice! {
    /// How much a hyper-active increase adds.
    pub enum HaiStep {
        /// R_HAI times the number of events since both stages passed F.
        Scaled = "scaled",
        /// R_HAI each time.
        Constant = "constant",
    }
}

choice! {
    /// Which octets of a frame the limiter paces.
    pub enum RateAccounting {
        /// The frame's own.
        Frame = "frame",
        /// The frame's and 20 more for preamble and inter-frame gap, as the MIB counts rates.
        Wire = "wire",
    }
}

choice! {
    /// Whether the target rate has an upper bound.
    pub enum TargetCap {
        /// None: the target may pass the line rate, the current rate never does.
        None = "none",
        /// The line rate.
        LineRate = "line_rate",
    }
}

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CpParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "cpQSp, Q_EQ, Qeq", Range::at_least(100.0);
        /// Weight of queue growth against queue offset in the feedback.
        w: f64, "cpW, W", Range::between(0.000_976_562_5, 1024.0);
        /// Octets between samples while there is no congestion.
        sample_base: Bytes, "cpSampleBase, base marking", Range::at_least(1.0);
        /// Full width of the random spread of the sampling interval: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// Bits of the quantized feedback.
        fb_bits: u32, "QntzFb", Range::between(3.0, 8.0);
        /// How feedback becomes a small number.
        quantizer: Quantizer, "", Range::ANY;
        /// Whether the queue length at a sample counts the arriving frame.
        count_arriving: bool, "", Range::ANY;
        /// Whether discarded frames count towards the sampling interval and may be sampled.
        count_discarded: bool, "", Range::ANY;
        /// Whether frames without a CN-TAG get messages.
        notify_untagged: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RpParams {
        /// Which events raise the rate.
        clock: Clock, "", Range::ANY;
        /// Length of a timer cycle in fast recovery; half of it later.
        time_reset: Span, "rpgTimeReset, TIMER_PERIOD, T", Range::at_least(1e6);
        /// Length of a byte-counter cycle in fast recovery; half of it later.
        byte_reset: Bytes, "rpgByteReset, BC_LIMIT", Range::at_least(1.0);
        /// Cycles of fast recovery.
        threshold: u32, "rpgThreshold, FAST_RECOVERY_TH, F", Range::between(1.0, 1000.0);
        /// Step of the target rate in active increase.
        ai_rate: BitRate, "rpgAiRate, R_AI", Range::at_least(0.0);
        /// Step of the target rate in hyper-active increase.
        hai_rate: BitRate, "rpgHaiRate, R_HAI", Range::at_least(0.0);
        /// How much a hyper-active increase adds.
        hai_step: HaiStep, "", Range::ANY;
        /// Decrease per unit of quantized feedback.
        gd: f64, "rpgGd, GD, Gd", Range::between(0.0, 1.0);
        /// The least share of the rate that one message leaves.
        min_dec_fac: f64, "rpgMinDecFac", Range::above_zero_to(1.0);
        /// The rate is never cut below this.
        min_rate: BitRate, "rpgMinRate, MIN_RATE", Range::POSITIVE;
        /// The rate never rises above this; unset, the line rate.
        max_rate: Option<BitRate>, "rpgMaxRate, C", Range::POSITIVE;
        /// Full width of the random spread of byte-counter and timer cycles: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// When a stage counts as past fast recovery.
        stage_test: StageTest, "", Range::ANY;
        /// At the end of the first cycle a target above ten times the current rate falls to an eighth.
        target_rate_reduction: bool, "TRR", Range::ANY;
        /// Whether a message after a timer cycle alone also sets the target to the current rate.
        clamp_on_time: bool, "clamp_tgt_rate_after_time_inc", Range::ANY;
        /// Whether the target rate has an upper bound.
        target_cap: TargetCap, "", Range::ANY;
        /// What makes a reaction point start to limit.
        creation: Creation, "", Range::ANY;
        /// When a reaction point stops limiting.
        release: Release, "", Range::ANY;
        /// Which octets of a frame the limiter paces.
        rate_accounting: RateAccounting, "", Range::ANY;
        /// Octets the limiter lets go back to back before it waits for them; 0 paces every frame.
        burst: Bytes, "", Range::at_least(0.0);
    }
}

/// What deck 001 says of the congestion point.
const CP_DECK001: CpParams = CpParams {
    set_point: Bytes::new(33_000),
    w: 2.0,
    sample_base: Bytes::new(150_000),
    jitter_width: 0.3,
    fb_bits: 6,
    quantizer: Quantizer::Floor,
    count_arriving: true,
    count_discarded: false,
    notify_untagged: true,
};

/// What deck 001 says of the reaction point.
const RP_DECK001: RpParams = RpParams {
    clock: Clock::Both,
    time_reset: Span::from_ms(15),
    byte_reset: Bytes::new(150_000),
    threshold: 5,
    ai_rate: BitRate::mbps(5),
    hai_rate: BitRate::mbps(50),
    hai_step: HaiStep::Scaled,
    gd: 1.0 / 128.0,
    min_dec_fac: 0.5,
    min_rate: BitRate::mbps(10),
    max_rate: None,
    jitter_width: 0.3,
    stage_test: StageTest::Above,
    target_rate_reduction: true,
    clamp_on_time: false,
    target_cap: TargetCap::None,
    creation: Creation::Congested,
    release: Release::LineRateAndEmpty,
    rate_accounting: RateAccounting::Frame,
    burst: Bytes::ZERO,
};

const CP_IEEE: CpParams = CpParams { set_point: Bytes::new(26_000), ..CP_DECK001 };

const RP_IEEE: RpParams = RpParams { min_rate: BitRate::mbps(5), rate_accounting: RateAccounting::Wire, ..RP_DECK001 };

const CP_DECK000: CpParams = CP_DECK001;

/// Deck 000's starting point: target-rate reduction is what that deck adds to it. It prints no increase
/// step; 12 Mb/s is deck 004's, and the one that gives deck 000's recovery times.
const RP_DECK000: RpParams = RpParams { ai_rate: BitRate::mbps(12), target_rate_reduction: false, ..RP_DECK001 };

const ABOUT_DECK001: &str = "Deck 001, Simulation Parameters.";
const ABOUT_IEEE: &str = "Defaults of the IEEE8021-CN-MIB; rates count preamble and inter-frame gap.";
const ABOUT_DECK000: &str = "Deck 000 before its additions: set point 22 frames, w 2, no target-rate reduction. The increase step \
     is not on its slides; 12 Mb/s is deck 004's.";

impl Family for Qcn {
    type CpParams = CpParams;
    type RpParams = RpParams;
    type Cp = Cp;
    type Rp = Rp;
    const MEMBERS: &'static [Member<CpParams, RpParams>] = &[
        Member {
            name: "qcn",
            title: "QCN, final form",
            source: "deck 001; IEEE 802.1Qau",
            status: Status::ReadingsChosen,
            about: ABOUT,
            presets: &[
                Preset { name: "DECK001", about: ABOUT_DECK001, cp: CP_DECK001, rp: RP_DECK001 },
                Preset { name: "IEEE_8021Q", about: ABOUT_IEEE, cp: CP_IEEE, rp: RP_IEEE },
            ],
        },
        Member {
            name: "qcn_byte_counter",
            title: "QCN, byte counter only",
            source: "deck 001, A Synthesis; deck 000",
            status: Status::ReadingsChosen,
            about: ABOUT,
            presets: &[
                Preset {
                    name: "DECK001",
                    about: ABOUT_DECK001,
                    cp: CP_DECK001,
                    rp: RpParams { clock: Clock::ByteCounter, ..RP_DECK001 },
                },
                Preset {
                    name: "DECK000",
                    about: ABOUT_DECK000,
                    cp: CP_DECK000,
                    rp: RpParams { clock: Clock::ByteCounter, ..RP_DECK000 },
                },
                Preset {
                    name: "IEEE_8021Q",
                    about: ABOUT_IEEE,
                    cp: CP_IEEE,
                    rp: RpParams { clock: Clock::ByteCounter, ..RP_IEEE },
                },
            ],
        },
        Member {
            name: "qcn_timer",
            title: "QCN, timer only",
            source: "deck 001, Timer-only QCN",
            status: Status::ReadingsChosen,
            about: ABOUT,
            presets: &[
                Preset {
                    name: "DECK001",
                    about: ABOUT_DECK001,
                    cp: CP_DECK001,
                    rp: RpParams { clock: Clock::Timer, ..RP_DECK001 },
                },
                Preset {
                    name: "IEEE_8021Q",
                    about: ABOUT_IEEE,
                    cp: CP_IEEE,
                    rp: RpParams { clock: Clock::Timer, ..RP_IEEE },
                },
            ],
        },
    ];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm];
    const SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm];
    const FIELDS: (&'static [Field], &'static [Field]) = (CpParams::FIELDS, RpParams::FIELDS);

    fn set_point(params: &CpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &CpParams, id: CpId) -> Cp {
        Cp::new(*params, id)
    }

    fn reaction_point(params: &RpParams, line_rate: BitRate) -> Rp {
        Rp::new(*params, line_rate)
    }
}

const ABOUT: &str = "\
A switch port samples arriving frames, about one in a hundred. From the queue's offset above the
set point and its growth since the last sample it computes the feedback Fb = -(offset + w growth),
quantizes it to 6 bits, and, when Fb is negative, sends it to the frame's source. Worse congestion is
sampled more often, up to ten times.

The source's rate limiter cuts its current rate by Gd times the feedback, remembers the rate before
the cut as its target, and climbs back by itself: at each increase event it goes half way to the
target. An increase event is the end of a byte-counter cycle or of a timer cycle.

                 CNM: target = current (not in the first cycle), current *= 1 - Gd Fb, stages = 0
            +-----------------------------------------------------------------+
            v                                                                 |
   fast recovery --- one stage past F ---> active increase --- both ---> hyper-active increase
   target stays                            target += R_AI                target += R_HAI * i
                 at every event: current = (current + target) / 2
";

/// The congestion point: samples a queue and computes feedback.
#[derive(Clone, Debug)]
pub struct Cp {
    params: CpParams,
    id: CpId,
    /// cpQLenOld: queue length at the last sample.
    len_at_last_sample: i64,
    next_sample: Countdown,
}

impl Cp {
    /// A congestion point with an empty queue.
    pub const fn new(params: CpParams, id: CpId) -> Cp {
        Cp { params, id, len_at_last_sample: 0, next_sample: Countdown::new(params.sample_base) }
    }

    /// The quantized feedback for a queue of `len` octets: 0 is none.
    ///
    /// Fb = -(offset + w growth), clamped to [-Qsp (2w + 1), 0] and scaled to the bits there are.
    fn quantized_fb(&self, q_offset: i64, q_delta: i64) -> u8 {
        let CpParams { set_point, w, fb_bits, quantizer, .. } = self.params;
        let fb = q_offset as f64 - w * q_delta as f64;
        let largest = set_point.as_f64() * (2.0 * w + 1.0);
        let levels = f64::from((1u32 << fb_bits) - 1);
        let size = (-fb).clamp(0.0, largest);
        let quantized = match quantizer {
            Quantizer::Floor if size >= largest => levels,
            Quantizer::Floor => (size * levels / largest).floor(),
            Quantizer::Round => (size * levels / largest).round(),
            Quantizer::MostSignificantBits => {
                let spare = (largest as u64).ilog2() + 1 - fb_bits;
                f64::from(size as u32 >> spare)
            }
        };
        quantized as u8
    }
}

impl CongestionPoint for Cp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        if !frame.controlled || !(frame.admitted || self.params.count_discarded) {
            return CpAction::Nothing;
        }
        if !self.next_sample.passed(frame.size) {
            return CpAction::Nothing;
        }
        self.sample(frame, queue, dice)
    }
}

impl Cp {
    /// A sampling event. The remembered length moves whatever the sign of the feedback.
    fn sample(&mut self, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        let own = if frame.admitted && !self.params.count_arriving { frame.size } else { Bytes::ZERO };
        let len = queue.len.saturating_sub(own).signed();
        let q_offset = self.params.set_point.signed() - len;
        let q_delta = len - self.len_at_last_sample;
        let quantized_fb = self.quantized_fb(q_offset, q_delta);
        self.len_at_last_sample = len;
        let interval = sampling::interval(self.params.sample_base, quantized_fb, self.params.fb_bits);
        self.next_sample.restart(interval, self.params.jitter_width, dice);
        if quantized_fb == 0 || !(frame.cn_tagged || self.params.notify_untagged) {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::Cnm(Cnm { cp: self.id, quantized_fb, q_offset, q_delta }))
    }
}

/// The reaction point: a rate limiter's rate.
#[derive(Clone, Debug)]
pub struct Rp {
    params: RpParams,
    /// C: the current rate never passes it.
    max_rate: BitRate,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Frames pass at line rate.
    Free,
    /// A limiter is installed.
    Limiting(Limiter),
}

#[derive(Clone, Debug)]
struct Limiter {
    /// rpCurrentRate.
    current: BitRate,
    /// rpTargetRate.
    target: BitRate,
    /// rpByteCount: octets to the end of the byte-counter cycle.
    byte_count: Countdown,
    /// rpByteStage: byte-counter cycles ended since the last message.
    byte_stage: u32,
    /// RpWhile: the end of the timer cycle.
    time_end: Instant,
    /// rpTimeStage: timer cycles ended since the last message.
    time_stage: u32,
    /// Nothing waited behind the limiter at the last transmission.
    backlog_empty: bool,
    /// A frame was sent since the timer last ran out.
    sent_since_timer: bool,
}

/// What an increase event does, by the two stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    FastRecovery,
    ActiveIncrease,
    /// The number of events since both stages passed F, from 1 up.
    HyperActiveIncrease(u32),
}

impl Rp {
    /// A reaction point that does not limit yet.
    pub const fn new(params: RpParams, line_rate: BitRate) -> Rp {
        let max_rate = match params.max_rate {
            Some(rate) => rate,
            None => line_rate,
        };
        Rp { params, max_rate, state: State::Free }
    }

    fn on_cnm(&mut self, now: Instant, cnm: &Cnm) {
        let params = self.params;
        if cnm.quantized_fb == 0 {
            return;
        }
        if let State::Free = self.state {
            if params.creation == Creation::Congested && cnm.q_offset >= 0 {
                return;
            }
            self.state = State::Limiting(Limiter {
                current: self.max_rate,
                target: self.max_rate,
                byte_count: Countdown::new(params.byte_reset),
                byte_stage: 0,
                time_end: Instant::NEVER,
                time_stage: 0,
                backlog_empty: false,
                sent_since_timer: true,
            });
        }
        let State::Limiting(limiter) = &mut self.state else { unreachable!("a limiter was installed above") };
        limiter.cut(now, cnm.quantized_fb, &params);
    }

    /// Stops limiting if the rules of release allow it.
    fn release_if_done(&mut self) {
        if let State::Limiting(limiter) = &self.state
            && limiter.current == self.max_rate
            && (limiter.backlog_empty || self.params.release == Release::LineRate)
        {
            self.state = State::Free;
        }
    }
}

impl Limiter {
    /// A message came: deck 000, Rules for changing TR and CR.
    fn cut(&mut self, now: Instant, fb: u8, params: &RpParams) {
        // In the first cycle since the last message the target is left alone.
        let bytes_moved = params.clock != Clock::Timer && self.byte_stage != 0;
        let time_moved = (params.clock == Clock::Timer || params.clamp_on_time) && self.time_stage != 0;
        if bytes_moved || time_moved {
            self.target = self.current;
            self.byte_count.restart_exactly(params.byte_reset);
        }
        self.byte_stage = 0;
        self.time_stage = 0;
        let factor = (1.0 - params.gd * f64::from(fb)).max(params.min_dec_fac);
        self.current = self.current.scaled_rounded_down(factor).max(params.min_rate);
        if params.clock != Clock::ByteCounter {
            self.time_end = now + params.time_reset;
        }
        self.sent_since_timer = true;
    }

    /// A byte-counter cycle ended.
    fn end_byte_cycle(&mut self, params: &RpParams, max_rate: BitRate, dice: &mut Dice) {
        self.byte_stage += 1;
        let short = self.short_cycle(self.byte_stage, params);
        let octets = params.byte_reset.as_f64() * if short { 0.5 } else { 1.0 };
        self.byte_count.restart(octets, params.jitter_width, dice);
        self.increase(params, max_rate);
    }

    /// A timer cycle ended.
    fn end_time_cycle(&mut self, now: Instant, params: &RpParams, max_rate: BitRate, dice: &mut Dice) {
        self.time_stage += 1;
        let short = self.short_cycle(self.time_stage, params);
        let share = if short { 0.5 } else { 1.0 } * dice.jitter(params.jitter_width);
        self.time_end = now + params.time_reset.scaled_rounded_down(share);
        self.increase(params, max_rate);
    }

    /// Whether the cycle that starts at `stage` has half the length.
    fn short_cycle(&self, stage: u32, params: &RpParams) -> bool {
        match params.stage_test {
            StageTest::Above => stage >= params.threshold,
            StageTest::Reached => matches!(self.phase(params), Phase::HyperActiveIncrease(_)),
        }
    }

    fn phase(&self, params: &RpParams) -> Phase {
        // The last stage of fast recovery.
        let last = match params.stage_test {
            StageTest::Above => params.threshold,
            StageTest::Reached => params.threshold - 1,
        };
        let past = |stage: u32| stage > last;
        match (past(self.byte_stage), past(self.time_stage)) {
            (false, false) => Phase::FastRecovery,
            (true, true) => Phase::HyperActiveIncrease(self.byte_stage.min(self.time_stage) - last),
            _ => Phase::ActiveIncrease,
        }
    }

    /// Self-increase, at the end of a cycle of either kind.
    fn increase(&mut self, params: &RpParams, max_rate: BitRate) {
        let first_cycle = self.byte_stage == 1 || self.time_stage == 1;
        let far_below = self.target.get() > 10 * self.current.get();
        if params.target_rate_reduction && first_cycle && far_below {
            // Deck 000, Downward Transience.
            self.target = BitRate::bps(self.target.get() / 8);
        } else {
            self.target = self.target
                + match self.phase(params) {
                    Phase::FastRecovery => BitRate::ZERO,
                    Phase::ActiveIncrease => params.ai_rate,
                    Phase::HyperActiveIncrease(_) if params.hai_step == HaiStep::Constant => params.hai_rate,
                    Phase::HyperActiveIncrease(i) => BitRate::bps(params.hai_rate.get().saturating_mul(u64::from(i))),
                };
        }
        if params.target_cap == TargetCap::LineRate {
            self.target = self.target.min(max_rate);
        }
        self.current = self.current.midpoint_rounded_down(self.target).min(max_rate);
    }
}

impl ReactionPoint for Rp {
    #[inline]
    fn on_sent(&mut self, _: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) {
        let State::Limiting(limiter) = &mut self.state else { return };
        limiter.backlog_empty = backlog == Bytes::ZERO;
        limiter.sent_since_timer = true;
        if self.params.clock != Clock::Timer && limiter.current != self.max_rate && limiter.byte_count.passed(sent) {
            limiter.end_byte_cycle(&self.params, self.max_rate, dice);
        }
        self.release_if_done();
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        match signal {
            Signal::Cnm(cnm) => self.on_cnm(now, cnm),
            Signal::Bcn(_) => {}
        }
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        let State::Limiting(limiter) = &mut self.state else { return };
        if now < limiter.time_end {
            return;
        }
        // A limiter that sits idle at line rate for a whole cycle is not needed.
        if !limiter.sent_since_timer && limiter.current == self.max_rate {
            self.state = State::Free;
            return;
        }
        limiter.sent_since_timer = false;
        limiter.end_time_cycle(now, &self.params, self.max_rate, dice);
        self.release_if_done();
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        match &self.state {
            State::Free => Instant::NEVER,
            State::Limiting(limiter) => limiter.time_end,
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match &self.state {
            State::Free => self.params.max_rate,
            State::Limiting(limiter) => Some(limiter.current),
        }
    }

    fn pacing(&self) -> Pacing {
        let overhead = match self.params.rate_accounting {
            RateAccounting::Frame => 0,
            RateAccounting::Wire => 20,
        };
        Pacing { overhead: Bytes::new(overhead), burst: self.params.burst }
    }

    #[inline]
    fn limited_by(&self) -> Option<CpId> {
        None
    }

    fn gauge(&self) -> Gauge {
        match &self.state {
            State::Free => Gauge { current_rate: self.max_rate, target_rate: self.max_rate },
            State::Limiting(limiter) => Gauge { current_rate: limiter.current, target_rate: limiter.target },
        }
    }
}

#[cfg(test)]
mod tests;
