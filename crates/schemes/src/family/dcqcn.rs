//! DCQCN, QCN's descendant for routed networks: one-bit marks, answered by the receiver, with a memory at the sender.
//!
//! There are two machines under this name, and `form` keeps them apart. As published, each CNP cuts at once and
//! raises alpha. As NICs ship it, alpha moves once a period, up or down, and a cut waits for the start of the
//! next reduce period, so that a burst of CNPs cuts once. Over a transport marks may come back on acknowledgements
//! instead of CNPs, and a window may bound what is in flight beside the rate.
//!
//! Source: Zhu and others, Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015); for NICs, the
//! parameters that ConnectX firmware lists and their documentation.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
A port marks frames that leave it. The longer its queue, the more frames it marks. The receiver answers a
marked frame with a congestion notification packet (CNP), but sends each flow no second one within
`cnp_interval`. The sender keeps a number alpha, which grows with each CNP and shrinks without. A CNP takes
alpha/2 off the sender's rate. The rate rises again as QCN's does, by a timer and a byte counter. The preset
SIGCOMM2015 is the published algorithm; CONNECTX is what network cards ship.

   port:      marks departing frames with probability 0 up to Kmin, a ramp to Pmax at Kmax, 1 above
   receiver:  marked frame, none answered within N  -->  CNP

             CNP: target = current (as `clamp` says), current *= 1 - alpha/2, stages = 0, alpha rises
            +-----------------------------------------------------------------+
            v                                                                 |
   fast recovery --- a stage reaches F ---> additive increase --- both past F ---> hyper increase
   target stays                             target += R_AI                target += R_HAI (times i)
                 at every event: current = (current + target) / 2

   alpha falls by the factor 1 - g each period without a CNP
";

mod rp;

pub use rp::DcqcnRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params::{Field, Range};
use crate::parts::drift::DriftParams;
use crate::parts::ecn::{MarkAt, RampCp, RampParams};
use crate::parts::stages::{HaiStep, StageTest};
use crate::parts::window::{BaseRttOf, WindowRule};
use crate::roles::{CpId, Delivered, Endpoint, NotificationPoint, Signal, SignalKind};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// DCQCN.
pub struct Dcqcn;

choice! {
    /// Which of the two machines.
    pub enum Form {
        /// Each CNP cuts at once, then raises alpha; alpha falls each period that has passed since.
        Published = "published",
        /// Alpha moves at the end of each period, up if a CNP came in it; a cut waits for the next reduce period.
        Nic = "nic",
    }
}

choice! {
    /// What a receiver does with marks that come within `cnp_interval` of its last CNP.
    pub enum CnpRule {
        /// It forgets them: the next CNP answers the first marked frame after the interval.
        Forget = "forget",
        /// It remembers them: the first frame after the interval is answered if it or one since the last CNP was marked.
        WindowEnd = "window_end",
        /// It looks once an interval, counted from the flow's first frame: the first frame from then on is answered if
        /// it or one since the last time was marked.
        Poll = "poll",
    }
}

choice! {
    /// When a cut sets the target to the rate before it.
    pub enum Clamp {
        /// At every cut.
        Always = "always",
        /// If a timer or byte-counter cycle has ended since the last cut.
        AfterIncrease = "after_increase",
        /// If a byte-counter cycle has ended since the last cut.
        AfterByteIncrease = "after_byte_increase",
    }
}

choice! {
    /// How a sender learns that its frames were marked.
    pub enum Notice {
        /// The receiver answers marks with CNPs.
        Cnp = "cnp",
        /// Acknowledgements echo the marks: each that echoes one is heard as a CNP. For traffic over RoCE.
        Echo = "echo",
    }
}

params! {
    /// Parameters of the host: the reaction point, and the notification point's `cnp_interval`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DcqcnRpParams {
        /// Which of the two machines.
        form: Form, "", Range::ANY;
        /// As a receiver: the shortest time between two CNPs for one flow.
        cnp_interval: Span, "N, min_time_between_cnps", Range::at_least(0.0);
        /// What a receiver does with marks that come within `cnp_interval` of its last CNP.
        cnp_rule: CnpRule, "", Range::ANY;
        /// Alpha of a new limiter.
        alpha_initial: f64, "alpha, initial_alpha_value / 1024", Range::between(0.0, 1.0);
        /// Share of a new observation in alpha.
        g: f64, "g, 1 - dce_tcp_g / 1024", Range::above_zero_to(1.0);
        /// Time between two moves of alpha.
        alpha_period: Span, "K, dce_tcp_rtt", Range::at_least(1e6);
        /// Whether alpha outlives the limiter.
        alpha_kept: bool, "", Range::ANY;
        /// Share of alpha that a cut takes off the rate.
        cut_share: f64, "2^(10 - rpg_gd)", Range::above_zero_to(1.0);
        /// The shortest time between two cuts, for NICs.
        reduce_period: Span, "rate_reduce_monitor_period", Range::at_least(1e6);
        /// The least share of the rate that one cut leaves.
        min_dec_fac: f64, "rpg_min_dec_fac", Range::above_zero_to(1.0);
        /// The rate is never cut below this.
        min_rate: BitRate, "rpg_min_rate", Range::POSITIVE;
        /// The rate of a new limiter, before its first cut; unset, the line rate.
        first_rate: Option<BitRate>, "rate_to_set_on_first_cnp", Range::POSITIVE;
        /// When a cut sets the target to the rate before it.
        clamp: Clamp, "clamp_tgt_rate, clamp_tgt_rate_after_time_inc", Range::ANY;
        /// Length of a timer cycle.
        time_reset: Span, "T, rpg_time_reset", Range::at_least(1e6);
        /// Length of a byte-counter cycle; unset, there is none.
        byte_reset: Option<Bytes>, "B, rpg_byte_reset", Range::at_least(1.0);
        /// Cycles of fast recovery, as `stage_test` counts them.
        threshold: u32, "F, rpg_threshold", Range::between(1.0, 1000.0);
        /// Whether fast recovery ends at stage F or after it; hyper increase needs both stages past F.
        stage_test: StageTest, "", Range::ANY;
        /// Step of the target rate in additive increase.
        ai_rate: BitRate, "R_AI, rpg_ai_rate", Range::at_least(0.0);
        /// Step of the target rate in hyper increase.
        hai_rate: BitRate, "R_HAI, rpg_hai_rate", Range::at_least(0.0);
        /// How much a hyper increase adds.
        hai_step: HaiStep, "", Range::ANY;
        drift: DriftParams => drift_every, drift_step;
        /// How a sender learns that its frames were marked.
        notice: Notice, "", Range::ANY;
        /// Whether the target rate is capped at the line rate.
        target_capped: bool, "", Range::ANY;
        /// The line rate that `ai_rate` and `hai_rate` are for: at another they grow and shrink with it. Unset, they
        /// are the same at every host.
        steps_for: Option<BitRate>, "", Range::POSITIVE;
        /// How many octets may be in flight, over RoCE.
        window: WindowRule, "HAS_WIN, VAR_WIN", Range::ANY;
        /// The base round-trip time that the window is for; unset, what `base_rtt_of` says.
        base_rtt: Option<Span>, "T", Range::at_least(1e3);
        /// Which base round-trip time counts, where none is given.
        base_rtt_of: BaseRttOf, "GLOBAL_T", Range::ANY;
    }
}

const CP_SIGCOMM2015: RampParams = RampParams {
    k_min: Bytes::new(5_000),
    k_max: Bytes::new(200_000),
    p_max: 0.01,
    mark_at: MarkAt::Departure,
    thresholds_for: None,
};

const RP_SIGCOMM2015: DcqcnRpParams = DcqcnRpParams {
    form: Form::Published,
    cnp_interval: Span::from_us(50),
    cnp_rule: CnpRule::Forget,
    alpha_initial: 1.0,
    g: 1.0 / 256.0,
    alpha_period: Span::from_us(55),
    alpha_kept: true,
    cut_share: 0.5,
    reduce_period: Span::from_us(50),
    min_dec_fac: 0.5,
    min_rate: BitRate::mbps(100),
    first_rate: None,
    clamp: Clamp::Always,
    time_reset: Span::from_us(55),
    byte_reset: Some(Bytes::new(10_000_000)),
    threshold: 5,
    stage_test: StageTest::Reached,
    ai_rate: BitRate::mbps(40),
    hai_rate: BitRate::mbps(200),
    hai_step: HaiStep::Scaled,
    drift: DriftParams::OFF,
    notice: Notice::Cnp,
    target_capped: false,
    steps_for: None,
    window: WindowRule::Open,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Path,
};

const CP_CONNECTX: RampParams =
    RampParams { k_min: Bytes::new(100_000), k_max: Bytes::new(400_000), p_max: 0.2, ..CP_SIGCOMM2015 };

const RP_CONNECTX: DcqcnRpParams = DcqcnRpParams {
    form: Form::Nic,
    cnp_interval: Span::from_us(4),
    cnp_rule: CnpRule::Forget,
    alpha_initial: 1023.0 / 1024.0,
    g: 5.0 / 1024.0,
    alpha_period: Span::from_us(1),
    alpha_kept: false,
    cut_share: 0.5,
    reduce_period: Span::from_us(4),
    min_dec_fac: 0.5,
    min_rate: BitRate::mbps(1),
    first_rate: None,
    clamp: Clamp::AfterIncrease,
    time_reset: Span::from_us(300),
    byte_reset: Some(Bytes::new(32_767 * 64)),
    threshold: 1,
    stage_test: StageTest::Above,
    ai_rate: BitRate::mbps(5),
    hai_rate: BitRate::mbps(50),
    hai_step: HaiStep::Constant,
    drift: DriftParams::OFF,
    notice: Notice::Cnp,
    target_capped: false,
    steps_for: None,
    window: WindowRule::Open,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Path,
};

const CP_HPCC_SIMULATOR: RampParams = RampParams {
    k_min: Bytes::new(400_000),
    k_max: Bytes::new(1_600_000),
    p_max: 0.2,
    mark_at: MarkAt::Departure,
    thresholds_for: Some(BitRate::gbps(100)),
};

const RP_HPCC_SIMULATOR: DcqcnRpParams = DcqcnRpParams {
    alpha_initial: 1.0,
    g: 1.0 / 256.0,
    alpha_kept: true,
    min_dec_fac: 0.5,
    min_rate: BitRate::gbps(1),
    byte_reset: None,
    ai_rate: BitRate::mbps(20),
    hai_rate: BitRate::mbps(200),
    notice: Notice::Echo,
    target_capped: true,
    steps_for: Some(BitRate::gbps(100)),
    base_rtt_of: BaseRttOf::Network,
    ..RP_CONNECTX
};

impl Family for Dcqcn {
    type CpParams = RampParams;
    type RpParams = DcqcnRpParams;
    type Cp = RampCp;
    type Rp = DcqcnRp;
    type Np = DcqcnNp;
    const MEMBERS: &'static [Member<RampParams, DcqcnRpParams>] = &[Member {
        name: "dcqcn",
        title: "DCQCN",
        source: "Zhu and others, DCQCN (2015); ConnectX firmware",
        generation: Generation::MarksAndDelay,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "SIGCOMM2015",
                about: "As published, for 40 Gb/s: N 50 us, K and T 55 us, B 10 MB, F 5, g 1/256, R_AI 40 Mb/s, marking from \
                        5 KB to 200 KB at 1 %. R_HAI 200 Mb/s and the least rate of 100 Mb/s are the authors' simulator's. Needs a buffer \
                        that holds more than 200 KB, or pauses.",
                cp: CP_SIGCOMM2015,
                rp: RP_SIGCOMM2015,
            },
            Preset {
                name: "CONNECTX",
                about: "As NICs ship it: the defaults that ConnectX-4 and later firmware lists. The byte counter of 32 767 is \
                        read in units of 64 octets. Marking from 100 KB to 400 KB at 20 %, as HPCC's authors set it at 25 Gb/s.",
                cp: CP_CONNECTX,
                rp: RP_CONNECTX,
            },
            Preset {
                name: "HPCC_SIMULATOR",
                about: "As the simulator of HPCC's authors runs it (mode dcqcn of its run.py), for traffic over RoCE: marks come \
                        back on acknowledgements, no byte counter, increase timer 300 us, steps 20 and 200 Mb/s and marking \
                        from 400 KB to 1600 KB at 20 % for 100 Gb/s, scaled at other rates.",
                cp: CP_HPCC_SIMULATOR,
                rp: RP_HPCC_SIMULATOR,
            },
            Preset {
                name: "HPCC_SIMULATOR_WINDOW",
                about: "As HPCC_SIMULATOR, with a window of the rate times the base round-trip time (its dcqcn_vwin).",
                cp: CP_HPCC_SIMULATOR,
                rp: DcqcnRpParams { window: WindowRule::Scaled, ..RP_HPCC_SIMULATOR },
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnp];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnp];
    const FIELDS: (&'static [Field], &'static [Field]) = (RampParams::FIELDS, DcqcnRpParams::FIELDS);

    fn set_point(_: &RampParams, _: &Self::RpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &RampParams, _: CpId) -> RampCp {
        RampCp::new(*params)
    }

    fn reaction_point(params: &DcqcnRpParams, endpoint: Endpoint) -> DcqcnRp {
        DcqcnRp::new(*params, endpoint)
    }

    fn notification_point(params: &DcqcnRpParams) -> Option<DcqcnNp> {
        (params.notice == Notice::Cnp).then(|| DcqcnNp::new(params))
    }
}

/// The notification point: answers marked frames, not too often.
///
/// It has no clock of its own: what is due at a moment goes out with the first frame from then on.
#[derive(Clone, Debug)]
pub struct DcqcnNp {
    rule: CnpRule,
    interval: Span,
    /// From here on a frame may be answered; a poll is due. `None` before the first frame.
    next: Option<Instant>,
    /// Whether a marked frame waits for its answer.
    marked: bool,
}

impl DcqcnNp {
    fn new(params: &DcqcnRpParams) -> DcqcnNp {
        DcqcnNp { rule: params.cnp_rule, interval: params.cnp_interval, next: None, marked: false }
    }

    /// The first of `due`, `due` + interval, ... after `now`.
    fn poll_after(&self, due: Instant, now: Instant) -> Instant {
        let interval = self.interval.ps().max(1);
        let passed = now.since(due).ps() / interval;
        due + Span::from_ps(interval * (passed + 1))
    }
}

impl NotificationPoint for DcqcnNp {
    #[inline]
    fn on_frame(&mut self, now: Instant, frame: &Delivered) -> Option<Signal> {
        let marked = frame.controlled && frame.mark != 0;
        let due = match (self.next, self.rule) {
            (Some(next), _) => next,
            (None, CnpRule::Forget | CnpRule::WindowEnd) => now,
            (None, CnpRule::Poll) => now + self.interval,
        };
        if now < due {
            self.next = Some(due);
            self.marked |= marked && self.rule != CnpRule::Forget;
            return None;
        }
        let answered = marked || self.marked;
        self.marked = false;
        self.next = match self.rule {
            CnpRule::Poll => Some(self.poll_after(due, now)),
            CnpRule::Forget | CnpRule::WindowEnd if answered => Some(now + self.interval),
            CnpRule::Forget | CnpRule::WindowEnd => Some(due),
        };
        answered.then_some(Signal::Cnp)
    }
}

#[cfg(test)]
mod tests;
