//! Parameters of QCN, and the sets of them that the sources print.

use crate::params::Range;
use crate::parts::drift::DriftParams;
use crate::parts::feedback::Quantizer;
use crate::parts::rates::CutParams;
use crate::parts::sampling::Sampling;
use crate::parts::stages::{HaiStep, StageTest};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Span};

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
    /// What a message does to the timer.
    pub enum TimerOnCnm {
        /// It starts a cycle anew, and the count of its cycles.
        Restarted = "restarted",
        /// Its cycle runs on; the count of its cycles starts anew.
        RunsOn = "runs_on",
        /// Nothing: cycle and count run on.
        Untouched = "untouched",
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
    pub struct QcnCpParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "cpQSp, Q_EQ, Qeq", Range::at_least(100.0);
        /// Weight of queue growth against queue offset in the feedback.
        w: f64, "cpW, W", Range::between(0.000_976_562_5, 1024.0);
        /// Octets between samples while there is no congestion.
        sample_base: Bytes, "cpSampleBase, base marking", Range::at_least(1.0);
        /// Which arriving frames are sampled.
        sampling: Sampling, "sampling probability Ps", Range::ANY;
        /// Whether worse congestion is sampled more often, by the table.
        adaptive_sampling: bool, "P 1..10 %", Range::ANY;
        /// Full width of the random spread of the sampling interval: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// Bits of the quantized feedback.
        fb_bits: u32, "QntzFb", Range::between(3.0, 8.0);
        /// How feedback becomes a small number.
        quantizer: Quantizer, "", Range::ANY;
        /// Whether the queue length at a sample counts the arriving frame.
        count_arriving: bool, "", Range::ANY;
        /// Whether discarded frames count towards the sampling interval and may be sampled. False: only octets that are
        /// enqueued count, as cpSampleBase says. True: a frame that a full queue discards is sampled as others are, and its
        /// source gets feedback on the queue at its limit. QCN discards a twentieth as many frames at deck 001's hotspot
        /// then, and up to twice as many where a buffer of thirty set points or more overflows.
        count_discarded: bool, "", Range::ANY;
        /// Whether frames without a CN-TAG get messages.
        notify_untagged: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct QcnRpParams {
        /// Which events raise the rate.
        clock: Clock, "", Range::ANY;
        /// Length of a timer cycle in fast recovery; later cycles may have half of it.
        time_reset: Span, "rpgTimeReset, TIMER_PERIOD, T", Range::at_least(1e6);
        /// What a message does to the timer.
        timer_on_cnm: TimerOnCnm, "", Range::ANY;
        /// Length of a byte-counter cycle in fast recovery; later cycles may have half of it.
        byte_reset: Bytes, "rpgByteReset, BC_LIMIT", Range::at_least(1.0);
        /// Whether cycles shrink with the port's sampling interval, which the last message's feedback tells by the sampling
        /// table: the packet's size over the probability of then. Full-scale feedback is what halves the rate.
        byte_reset_sampled: bool, "to_thresh", Range::ANY;
        /// Cycles of fast recovery.
        threshold: u32, "rpgThreshold, FAST_RECOVERY_TH, F", Range::between(1.0, 1000.0);
        /// Step of the target rate in active increase.
        ai_rate: BitRate, "rpgAiRate, R_AI", Range::at_least(0.0);
        /// Step of the target rate in hyper-active increase.
        hai_rate: BitRate, "rpgHaiRate, R_HAI", Range::at_least(0.0);
        /// How much a hyper-active increase adds.
        hai_step: HaiStep, "", Range::ANY;
        /// Whether each increase after fast recovery adds `ai_rate` times their count, in place of active and
        /// hyper-active increase: the first form of HAI.
        early_hai: bool, "R_i cycle_cnt", Range::ANY;
        cut: CutParams => gd, min_dec_fac;
        /// After a cut, messages are not heard for so long: the round trip, for one cut in each; 0 s hears all.
        cut_spacing: Span, "RTT filtering", Range::at_least(0.0);
        cut => min_rate;
        /// The rate never rises above this; unset, the line rate.
        max_rate: Option<BitRate>, "rpgMaxRate, C", Range::POSITIVE;
        /// Whether cycles after fast recovery have half the length.
        short_cycles: bool, "cycle shrinking", Range::ANY;
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
        drift: DriftParams => drift_every, drift_step, drift_restart;
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
pub const CP_DECK001: QcnCpParams = QcnCpParams {
    set_point: Bytes::new(33_000),
    w: 2.0,
    sample_base: Bytes::new(150_000),
    sampling: Sampling::Octets,
    adaptive_sampling: true,
    jitter_width: 0.3,
    fb_bits: 6,
    quantizer: Quantizer::Floor,
    count_arriving: true,
    count_discarded: false,
    notify_untagged: true,
};

/// What deck 001 says of the reaction point.
pub const RP_DECK001: QcnRpParams = QcnRpParams {
    clock: Clock::Both,
    time_reset: Span::from_ms(15),
    timer_on_cnm: TimerOnCnm::Restarted,
    byte_reset: Bytes::new(150_000),
    byte_reset_sampled: false,
    threshold: 5,
    ai_rate: BitRate::mbps(5),
    hai_rate: BitRate::mbps(50),
    hai_step: HaiStep::Scaled,
    early_hai: false,
    cut: CutParams { gd: 1.0 / 128.0, min_dec_fac: 0.5, min_rate: BitRate::mbps(10) },
    cut_spacing: Span::ZERO,
    max_rate: None,
    short_cycles: true,
    jitter_width: 0.3,
    stage_test: StageTest::Above,
    target_rate_reduction: true,
    clamp_on_time: false,
    target_cap: TargetCap::None,
    drift: DriftParams::OFF,
    creation: Creation::Congested,
    release: Release::LineRateAndEmpty,
    rate_accounting: RateAccounting::Frame,
    burst: Bytes::ZERO,
};

/// Defaults of the CN MIB.
pub const CP_IEEE: QcnCpParams = QcnCpParams { set_point: Bytes::new(26_000), ..CP_DECK001 };

/// Defaults of the CN MIB; rates count preamble and inter-frame gap.
pub const RP_IEEE: QcnRpParams = QcnRpParams {
    cut: CutParams { min_rate: BitRate::mbps(5), ..RP_DECK001.cut },
    rate_accounting: RateAccounting::Wire,
    ..RP_DECK001
};

/// What deck 000 says of the congestion point: 22 frames of 1500 octets, as deck 001.
pub const CP_DECK000: QcnCpParams = CP_DECK001;

/// Deck 000's starting point: target-rate reduction is what that deck adds to it. It prints no increase
/// step; 12 Mb/s is deck 004's, and the one that gives deck 000's recovery times.
pub const RP_DECK000: QcnRpParams =
    QcnRpParams { ai_rate: BitRate::mbps(12), target_rate_reduction: false, ..RP_DECK001 };

/// Deck 004, Congestion Management Parameters: set point a quarter of M = 150 KB, feedback of eight bits.
pub const CP_IBM_ZRL: QcnCpParams = QcnCpParams { set_point: Bytes::new(37_500), fb_bits: 8, ..CP_DECK001 };

/// Deck 004, Simulation Parameters of its RTT study: the same at M = 1.5 MB, set point 375 KB.
pub const CP_IBM_ZRL_M1500KB: QcnCpParams = QcnCpParams { set_point: Bytes::new(375_000), ..CP_IBM_ZRL };

/// Deck 004, Congestion Management Parameters and QCN: the byte counter alone, with one threshold of a
/// 1500-octet frame / 1 % = 150 KB in every cycle, and the drift timer. Full-scale feedback of 255 halves the rate.
pub const RP_IBM_ZRL: QcnRpParams = QcnRpParams {
    clock: Clock::ByteCounter,
    ai_rate: BitRate::mbps(12),
    cut: CutParams { gd: 0.5 / 255.0, min_rate: BitRate::mbps(1), ..RP_DECK001.cut },
    short_cycles: false,
    target_rate_reduction: false,
    drift: DriftParams::each(Span::from_ms(20), BitRate::mbps(4)),
    ..RP_DECK001
};
