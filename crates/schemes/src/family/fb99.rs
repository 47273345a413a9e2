//! Fb99, path-based notices: limiters raise their rate by a timer, so ports without bandwidth push back.
//!
//! The port samples more often the larger the feedback is, on either side of zero. Negative feedback is
//! sent as QCN sends it. Without congestion, a sampled frame's source gets Fb99 if the port has no
//! bandwidth to spare, and nothing if it has.
//!
//! Source: deck 000, Method 2. The sampling law (the table on the size of the feedback, both signs on one
//! scale), what Fb99 does after fast recovery (one cycle back, as before), that it leaves the byte counter alone
//! and the increase rule are readings.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Limiters raise their rate by a timer as well as by a byte counter, so a path without spare bandwidth has to
hold them back. A port therefore sends messages to the sources of sampled frames even without congestion, as
long as its queue has not been short for 10 ms. A limiter that gets such a message keeps its rates and goes
back by one cycle.

              CNM: cut, cycle 1, timer restarted
        +-------------------------------------------+
        v                                           |
   cycle 1 .. F: current = (current + target) / 2   |
        |  ^                                        |
        |  +-- Fb99: one cycle back, timer restarted+
        v                                           |
   after F: target += Ri * cycle first -------------+

   A cycle ends when the timer runs out or the byte counter does, whichever is first.
";

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params::{Field, Range};
use crate::parts::bandwidth::{BandwidthDetector, BandwidthParams};
use crate::parts::cycles::{self, Cycles};
use crate::parts::feedback::{Quantizer, Scale};
use crate::parts::forward::forward;
use crate::parts::rates::Rates;
use crate::parts::sampling::{self, Sampler};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Endpoint, Gauge, NoNotification, Queue, ReactionPoint, Signal,
    SignalKind, Stamp,
};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// Path-based notices.
pub struct Fb99;

choice! {
    /// What a cycle after fast recovery adds to the target rate (deck 000, Rules for changing TR and CR).
    pub enum Increase {
        /// The step: active increase.
        Constant = "constant",
        /// The step times the number of the cycle, fast recovery's included: hyper-active increase.
        ByCycle = "by_cycle",
        /// The step times the number of increases.
        ByIncrease = "by_increase",
    }
}

choice! {
    /// Where Fb99 takes a limiter that is past fast recovery.
    pub enum StretchLater {
        /// One cycle back.
        OneBack = "one_back",
        /// To the last cycle of fast recovery.
        LastOfRecovery = "last_of_recovery",
        /// Nowhere: it stays in its cycle.
        Stay = "stay",
    }
}

params! {
    /// Parameters of the congestion point: QCN's, and the bandwidth detector's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Fb99CpParams {
        sampler: qcn::QcnCpParams => set_point, w, sample_base, sampling, jitter_width, count_discarded;
        bandwidth: BandwidthParams => available_below, available_after;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Fb99RpParams {
        /// The timer that ends a cycle.
        time_reset: Span, "T, bandwidth recovery timer", Range::at_least(1e6);
        /// The timer after fast recovery; unset, the same.
        time_reset_later: Option<Span>, "", Range::at_least(1e6);
        /// The octets that end a cycle.
        byte_reset: Bytes, "BC_LIMIT", Range::at_least(1.0);
        limiter: qcn::QcnRpParams => threshold;
        /// Step of the target rate after fast recovery.
        increase_rate: BitRate, "R_i, Ri", Range::at_least(0.0);
        /// What the step is multiplied by.
        increase: Increase, "AI, HAI, cycle_cnt", Range::ANY;
        /// Step of the target rate where the timer ends a cycle after fast recovery: hyper-active increase, which the
        /// multiplier is then for alone; where the byte counter does, the other step is added once. Unset, all cycles add
        /// the other step.
        hai_rate: Option<BitRate>, "HAI", Range::at_least(0.0);
        limiter => gd, min_dec_fac, min_rate, jitter_width, target_rate_reduction, drift_every, drift_step, drift_restart;
        /// Whether the end of a cycle restarts the timer and the byte counter, or only the one that ended it.
        restart_both: bool, "", Range::ANY;
        /// Whether Fb99 goes one cycle back; otherwise it only restarts the timer.
        stretch: bool, "cycle-stretching", Range::ANY;
        /// With `stretch`: where Fb99 takes a limiter past fast recovery.
        stretch_later: StretchLater, "", Range::ANY;
        /// With `stretch`: whether Fb99 restarts the byte counter as well as the timer.
        stretch_bytes: bool, "", Range::ANY;
    }
}

const CP_DECK000: Fb99CpParams = Fb99CpParams { sampler: qcn::CP_DECK000, bandwidth: BandwidthParams::DECK000 };

const RP_DECK000: Fb99RpParams = Fb99RpParams {
    limiter: qcn::RP_DECK000,
    time_reset: Span::from_ms(5),
    time_reset_later: None,
    byte_reset: qcn::RP_DECK000.byte_reset,
    increase_rate: BitRate::mbps(50),
    increase: Increase::ByCycle,
    hai_rate: None,
    restart_both: false,
    stretch: true,
    stretch_later: StretchLater::OneBack,
    stretch_bytes: false,
};

impl Family for Fb99 {
    type CpParams = Fb99CpParams;
    type RpParams = Fb99RpParams;
    type Cp = Fb99Cp;
    type Rp = Fb99Rp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<Fb99CpParams, Fb99RpParams>] = &[Member {
        name: "fb99",
        title: "Path-based notices (Fb99)",
        source: "deck 000, Method 2",
        generation: Generation::Qau,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "DECK000_T5MS",
                about: "Deck 000 with the 5 ms timer. The increase step is not on its slides; 50 Mb/s is deck 001's R_HAI.",
                cp: CP_DECK000,
                rp: RP_DECK000,
            },
            Preset {
                name: "DECK000_T7MS",
                about: "Deck 000 with the 7 ms timer, which it uses for 400 sources.",
                cp: CP_DECK000,
                rp: Fb99RpParams { time_reset: Span::from_ms(7), ..RP_DECK000 },
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::PushBack];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::PushBack];
    const FIELDS: (&'static [Field], &'static [Field]) = (Fb99CpParams::FIELDS, Fb99RpParams::FIELDS);

    fn set_point(params: &Fb99CpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.sampler.set_point)
    }

    fn congestion_point(params: &Fb99CpParams, id: CpId) -> Fb99Cp {
        Fb99Cp {
            params: params.sampler,
            id,
            sampler: Sampler::new(params.sampler.sample_base),
            bandwidth: BandwidthDetector::new(params.bandwidth),
        }
    }

    fn reaction_point(params: &Fb99RpParams, Endpoint { line_rate, .. }: Endpoint) -> Fb99Rp {
        Fb99Rp { params: *params, line_rate, state: Fb99State::Free }
    }
}

/// The congestion point: samples on either side of the set point.
#[derive(Clone, Debug)]
pub struct Fb99Cp {
    params: qcn::QcnCpParams,
    id: CpId,
    sampler: Sampler,
    bandwidth: BandwidthDetector,
}

impl CongestionPoint for Fb99Cp {
    forward!(CongestionPoint to self.bandwidth: capabilities, on_departure, no_bandwidth_since);

    #[inline]
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        self.bandwidth.on_len(now, queue.len);
        if !self.sampler.takes(frame, self.params.count_discarded) {
            return CpAction::Nothing;
        }
        let len = queue.len.signed();
        let q_offset = self.params.set_point.signed() - len;
        let q_delta = self.sampler.growth(len);
        let qcn::QcnCpParams { set_point, w, .. } = self.params;
        let fb = Scale { set_point, w, bits: 6, quantizer: Quantizer::Floor }.quantize(q_offset, q_delta);
        let interval = sampling::interval(self.params.sample_base, fb.size, 6);
        self.sampler.restart_by(self.params.sampling, interval, self.params.jitter_width, dice);
        if fb.negative {
            self.bandwidth.on_congestion(now);
            if fb.size == 0 {
                return CpAction::Nothing;
            }
            return CpAction::Send(Signal::Cnm(Cnm { cp: self.id, quantized_fb: fb.size, q_offset, q_delta }));
        }
        if self.bandwidth.available(now) {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::PushBack(self.id))
    }
}

impl CpFastPath for Fb99Cp {}

/// The reaction point: one row of cycles that a timer and a byte counter both move along.
#[derive(Clone, Debug)]
pub struct Fb99Rp {
    params: Fb99RpParams,
    line_rate: BitRate,
    state: Fb99State,
}

#[derive(Clone, Debug)]
enum Fb99State {
    Free,
    Limiting(Fb99Limiter),
}

#[derive(Clone, Debug)]
struct Fb99Limiter {
    cycles: Cycles,
    time_end: Instant,
}

impl Fb99Limiter {
    fn on_cnm(&mut self, now: Instant, fb: u8, params: &Fb99RpParams) {
        self.cycles.on_cnm(now, fb, params.byte_reset, &params.limiter.cut);
        self.time_end = now + params.time_reset;
    }

    fn on_push_back(&mut self, now: Instant, params: &Fb99RpParams) {
        if params.stretch {
            let Cycles { stage, byte_count, .. } = &mut self.cycles;
            *stage = match params.stretch_later {
                StretchLater::Stay if *stage > params.limiter.threshold => *stage,
                StretchLater::LastOfRecovery => stage.saturating_sub(1).min(params.limiter.threshold),
                StretchLater::OneBack | StretchLater::Stay => stage.saturating_sub(1),
            };
            if params.stretch_bytes {
                byte_count.restart_exactly(params.byte_reset);
            }
        }
        self.time_end = now + params.time_reset;
    }

    fn end_cycle(&mut self, now: Instant, by_time: bool, params: &Fb99RpParams, line_rate: BitRate, dice: &mut Dice) {
        let Cycles { rates, byte_count, stage, .. } = &mut self.cycles;
        *stage += 1;
        let past = stage.saturating_sub(params.limiter.threshold);
        if by_time || params.restart_both {
            let later = if past > 0 { params.time_reset_later } else { None };
            let period = later.unwrap_or(params.time_reset);
            self.time_end = now + period.scaled_rounded_down(dice.jitter(params.limiter.jitter_width));
        }
        if !by_time || params.restart_both {
            byte_count.restart(params.byte_reset.as_f64(), params.limiter.jitter_width, dice);
        }
        let reduced = *stage == 1 && params.limiter.target_rate_reduction && rates.reduce_target();
        if !reduced && past > 0 {
            let times = match params.increase {
                Increase::Constant => 1,
                Increase::ByCycle => *stage,
                Increase::ByIncrease => past,
            };
            let (step, times) = match params.hai_rate {
                None => (params.increase_rate, times),
                Some(hyper) if by_time => (hyper, times),
                Some(_) => (params.increase_rate, 1),
            };
            rates.raise_target(BitRate::bps(step.get().saturating_mul(u64::from(times))));
        }
        rates.approach(line_rate);
    }
}

impl ReactionPoint for Fb99Rp {
    #[inline]
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        if let Fb99State::Limiting(limiter) = &mut self.state {
            if limiter.cycles.byte_count.passed(sent) {
                limiter.end_cycle(now, false, &self.params, self.line_rate, dice);
            }
            if limiter.cycles.over(self.line_rate, backlog) {
                self.state = Fb99State::Free;
            }
        }
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        match (cycles::heard(signal, matches!(self.state, Fb99State::Limiting(_))), &mut self.state) {
            (Some(fb), Fb99State::Free) => {
                let drift = self.params.limiter.drift;
                let cycles = Cycles::new(now, self.line_rate, self.params.byte_reset, drift);
                let mut limiter = Fb99Limiter { cycles, time_end: Instant::NEVER };
                limiter.on_cnm(now, fb, &self.params);
                self.state = Fb99State::Limiting(limiter);
            }
            (Some(fb), Fb99State::Limiting(limiter)) => limiter.on_cnm(now, fb, &self.params),
            (None, Fb99State::Limiting(limiter)) if matches!(signal, Signal::PushBack(_)) => {
                limiter.on_push_back(now, &self.params);
            }
            _ => {}
        }
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        if let Fb99State::Limiting(limiter) = &mut self.state {
            if now >= limiter.time_end {
                limiter.end_cycle(now, true, &self.params, self.line_rate, dice);
            }
            limiter.cycles.drift_if_due(now, self.line_rate);
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        match &self.state {
            Fb99State::Free => Instant::NEVER,
            Fb99State::Limiting(limiter) => limiter.time_end.min(limiter.cycles.next_drift()),
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match &self.state {
            Fb99State::Free => None,
            Fb99State::Limiting(limiter) => Some(limiter.cycles.rates.current),
        }
    }

    fn gauge(&self) -> Gauge {
        let rates = match &self.state {
            Fb99State::Free => Rates::at(self.line_rate),
            Fb99State::Limiting(limiter) => limiter.cycles.rates,
        };
        Gauge { current_rate: rates.current, target_rate: rates.target }
    }
}

impl RpFastPath for Fb99Rp {}

#[cfg(test)]
mod tests;
