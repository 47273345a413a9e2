//! The reaction point: a rate limiter's rate.

use super::params::{Clock, Creation, QcnRpParams, RateAccounting, Release, TargetCap, TimerOnCnm};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::drift::Drift;
use crate::parts::rates::Rates;
use crate::parts::sampling::{self, Countdown};
use crate::parts::stages::StageTest;
use crate::roles::{Cnm, Gauge, Pacing, ReactionPoint, Signal, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The reaction point: a rate limiter's rate.
#[derive(Clone, Debug)]
pub struct QcnRp {
    pub(super) params: QcnRpParams,
    /// C: the current rate never passes it.
    pub(super) max_rate: BitRate,
    pub(super) state: QcnState,
}

#[derive(Clone, Debug)]
pub(super) enum QcnState {
    /// Frames pass at line rate.
    Free,
    /// A limiter is installed.
    Limiting(QcnLimiter),
}

#[derive(Clone, Debug)]
pub(super) struct QcnLimiter {
    /// rpCurrentRate and rpTargetRate.
    pub(super) rates: Rates,
    /// rpByteCount: octets to the end of the byte-counter cycle.
    pub(super) byte_count: Countdown,
    /// The share of `byte_reset` that a cycle has.
    cycle_share: f64,
    /// rpByteStage: byte-counter cycles ended since the last message.
    pub(super) byte_stage: u32,
    /// RpWhile: the end of the timer cycle.
    time_end: Instant,
    /// rpTimeStage: timer cycles ended since the last message.
    pub(super) time_stage: u32,
    drift: Drift,
    /// Increase events since fast recovery ended.
    pub(super) increases: u32,
    /// Messages before this are not heard.
    deaf_until: Instant,
    /// Nothing waited behind the limiter at the last transmission.
    pub(super) backlog_empty: bool,
    /// A frame was sent since the timer last ran out.
    pub(super) sent_since_timer: bool,
}

/// What an increase event does, by the two stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    FastRecovery,
    ActiveIncrease,
    /// The number of events since both stages passed F, from 1 up.
    HyperActiveIncrease(u32),
}

impl QcnRp {
    /// A reaction point that does not limit yet.
    pub const fn new(params: QcnRpParams, line_rate: BitRate) -> QcnRp {
        let max_rate = match params.max_rate {
            Some(rate) => rate,
            None => line_rate,
        };
        QcnRp { params, max_rate, state: QcnState::Free }
    }

    /// Timer cycles that start from now on have this length, whatever the parameters say.
    pub const fn set_time_reset(&mut self, span: Span) {
        self.params.time_reset = span;
    }

    /// The length of the timer cycles that start from now on.
    pub const fn time_reset(&self) -> Span {
        self.params.time_reset
    }

    /// When the timer cycle ends; [`Instant::NEVER`] without a limiter or a timer.
    pub const fn time_end(&self) -> Instant {
        match &self.state {
            QcnState::Free => Instant::NEVER,
            QcnState::Limiting(limiter) => limiter.time_end,
        }
    }

    /// Byte-counter cycles that start from now on have this length, whatever the parameters say.
    pub const fn set_byte_reset(&mut self, octets: Bytes) {
        self.params.byte_reset = octets;
    }

    /// The length of the byte-counter cycles that start from now on.
    pub const fn byte_reset(&self) -> Bytes {
        self.params.byte_reset
    }

    /// After cuts from now on, messages are not heard for so long, whatever the parameters say.
    pub const fn set_cut_spacing(&mut self, span: Span) {
        self.params.cut_spacing = span;
    }

    /// Whether a limiter is installed.
    pub const fn is_limiting(&self) -> bool {
        matches!(self.state, QcnState::Limiting(_))
    }

    /// Byte-counter cycles that have ended since the last cut; 0 without a limiter.
    pub const fn byte_stage(&self) -> u32 {
        match &self.state {
            QcnState::Free => 0,
            QcnState::Limiting(limiter) => limiter.byte_stage,
        }
    }

    /// An increase event outside the clocks: the target rises by `step`, the current rate goes half the way.
    pub fn increase(&mut self, step: BitRate) {
        if let QcnState::Limiting(limiter) = &mut self.state {
            limiter.rates.raise_target(step);
            limiter.rates.approach(self.max_rate);
            self.release_if_done();
        }
    }

    /// Raises the current rate by `step`, as far as it may; the target is never left behind.
    pub fn raise(&mut self, step: BitRate) {
        if let QcnState::Limiting(limiter) = &mut self.state {
            limiter.rates.drift(step, self.max_rate);
            self.release_if_done();
        }
    }

    fn on_cnm(&mut self, now: Instant, cnm: &Cnm) {
        let params = self.params;
        if cnm.quantized_fb == 0 {
            return;
        }
        if let QcnState::Free = self.state {
            if params.creation == Creation::Congested && cnm.q_offset >= 0 {
                return;
            }
            let mut drift = Drift::new(params.drift);
            drift.start(now);
            self.state = QcnState::Limiting(QcnLimiter {
                rates: Rates::at(self.max_rate),
                byte_count: Countdown::new(params.cycle(params.cycle_share(cnm.quantized_fb))),
                cycle_share: 1.0,
                byte_stage: 0,
                time_end: Instant::NEVER,
                time_stage: 0,
                drift,
                increases: 0,
                deaf_until: now,
                backlog_empty: false,
                sent_since_timer: true,
            });
        }
        let QcnState::Limiting(limiter) = &mut self.state else { unreachable!("a limiter was installed above") };
        if now >= limiter.deaf_until {
            limiter.cut(now, cnm.quantized_fb, &params);
        }
    }

    /// A timer cycle ends. Returns false if that ends the limiter: one that sits idle at line rate for a whole cycle
    /// is not needed.
    pub(super) fn time_cycle_ended(&mut self, now: Instant, dice: &mut Dice) -> bool {
        let QcnState::Limiting(limiter) = &mut self.state else { return false };
        if !limiter.sent_since_timer && limiter.rates.current == self.max_rate {
            self.state = QcnState::Free;
            return false;
        }
        limiter.sent_since_timer = false;
        limiter.end_time_cycle(now, &self.params, self.max_rate, dice);
        true
    }

    /// Stops limiting if the rules of release allow it.
    pub(super) fn release_if_done(&mut self) {
        if let QcnState::Limiting(limiter) = &self.state
            && limiter.rates.current == self.max_rate
            && (limiter.backlog_empty || self.params.release == Release::LineRate)
        {
            self.state = QcnState::Free;
        }
    }
}

impl QcnRpParams {
    /// The share of `byte_reset` that cycles have after a message with feedback `fb`.
    fn cycle_share(&self, fb: u8) -> f64 {
        if !self.byte_reset_sampled {
            return 1.0;
        }
        let full_scale = 0.5 / self.cut.gd;
        let bits = (3..8).find(|bits| f64::from(1u32 << bits) >= full_scale).unwrap_or(8);
        sampling::share(fb, bits)
    }

    /// The octets of a cycle that has a share of `byte_reset`.
    fn cycle(&self, share: f64) -> Bytes {
        Bytes::new((self.byte_reset.as_f64() * share) as u64)
    }
}

impl QcnLimiter {
    /// A message came: deck 000, Rules for changing TR and CR.
    fn cut(&mut self, now: Instant, fb: u8, params: &QcnRpParams) {
        // In the first cycle since the last message the target is left alone.
        self.cycle_share = params.cycle_share(fb);
        let bytes_moved = params.clock != Clock::Timer && self.byte_stage != 0;
        let time_moved = (params.clock == Clock::Timer || params.clamp_on_time) && self.time_stage != 0;
        if bytes_moved || time_moved {
            self.rates.aim_at_current();
            self.byte_count.restart_exactly(params.cycle(self.cycle_share));
        }
        self.byte_stage = 0;
        if params.timer_on_cnm != TimerOnCnm::Untouched {
            self.time_stage = 0;
        }
        self.increases = 0;
        self.deaf_until = now + params.cut_spacing;
        self.rates.cut(fb, &params.cut);
        let idle = self.time_end == Instant::NEVER;
        if params.clock != Clock::ByteCounter && (idle || params.timer_on_cnm == TimerOnCnm::Restarted) {
            self.time_end = now + params.time_reset;
        }
        self.drift.heard(now);
        self.sent_since_timer = true;
    }

    /// A byte-counter cycle ended.
    pub(super) fn end_byte_cycle(&mut self, params: &QcnRpParams, max_rate: BitRate, dice: &mut Dice) {
        self.byte_stage += 1;
        let short = self.short_cycle(self.byte_stage, params);
        let octets = params.byte_reset.as_f64() * self.cycle_share * if short { 0.5 } else { 1.0 };
        self.byte_count.restart(octets, params.jitter_width, dice);
        self.increase(params, max_rate);
    }

    /// A timer cycle ended.
    fn end_time_cycle(&mut self, now: Instant, params: &QcnRpParams, max_rate: BitRate, dice: &mut Dice) {
        self.time_stage += 1;
        let short = self.short_cycle(self.time_stage, params);
        let share = if short { 0.5 } else { 1.0 } * dice.jitter(params.jitter_width);
        self.time_end = now + params.time_reset.scaled_rounded_down(share);
        self.increase(params, max_rate);
    }

    /// Whether the cycle that starts at `stage` has half the length.
    fn short_cycle(&self, stage: u32, params: &QcnRpParams) -> bool {
        match params.stage_test {
            _ if !params.short_cycles => false,
            StageTest::Above => stage >= params.threshold,
            StageTest::Reached => matches!(self.phase(params), Phase::HyperActiveIncrease(_)),
        }
    }

    pub(super) fn phase(&self, params: &QcnRpParams) -> Phase {
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
    pub(super) fn increase(&mut self, params: &QcnRpParams, max_rate: BitRate) {
        let first_cycle = self.byte_stage == 1 || self.time_stage == 1;
        let reduced = params.target_rate_reduction && first_cycle && self.rates.reduce_target();
        let phase = self.phase(params);
        self.increases += u32::from(phase != Phase::FastRecovery);
        if !reduced {
            self.rates.raise_target(match phase {
                Phase::FastRecovery => BitRate::ZERO,
                _ if params.early_hai => BitRate::bps(params.ai_rate.get().saturating_mul(u64::from(self.increases))),
                Phase::ActiveIncrease => params.ai_rate,
                Phase::HyperActiveIncrease(count) => params.hai_step.step(params.hai_rate, count),
            });
        }
        if params.target_cap == TargetCap::LineRate {
            self.rates.target = self.rates.target.min(max_rate);
        }
        self.rates.approach(max_rate);
    }
}

impl ReactionPoint for QcnRp {
    #[inline]
    fn on_sent(&mut self, _: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        let QcnState::Limiting(limiter) = &mut self.state else { return Stamp::default() };
        limiter.backlog_empty = backlog == Bytes::ZERO;
        limiter.sent_since_timer = true;
        if self.params.clock != Clock::Timer
            && limiter.rates.current != self.max_rate
            && limiter.byte_count.passed(sent)
        {
            limiter.end_byte_cycle(&self.params, self.max_rate, dice);
        }
        self.release_if_done();
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        if let Signal::Cnm(cnm) = signal {
            self.on_cnm(now, cnm);
        }
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        let QcnState::Limiting(limiter) = &mut self.state else { return };
        let (timer, drift) = (now >= limiter.time_end, limiter.drift.due(now));
        if timer && !self.time_cycle_ended(now, dice) {
            return;
        }
        if let (Some(step), QcnState::Limiting(limiter)) = (drift, &mut self.state) {
            limiter.rates.drift(step, self.max_rate);
        }
        if timer || drift.is_some() {
            self.release_if_done();
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        match &self.state {
            QcnState::Free => Instant::NEVER,
            QcnState::Limiting(limiter) => limiter.time_end.min(limiter.drift.next()),
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match &self.state {
            QcnState::Free => self.params.max_rate,
            QcnState::Limiting(limiter) => Some(limiter.rates.current),
        }
    }

    fn pacing(&self) -> Pacing {
        let overhead = match self.params.rate_accounting {
            RateAccounting::Frame => 0,
            RateAccounting::Wire => 20,
        };
        Pacing { overhead: Bytes::new(overhead), burst: self.params.burst }
    }

    fn gauge(&self) -> Gauge {
        match &self.state {
            QcnState::Free => Gauge::at(self.max_rate),
            QcnState::Limiting(QcnLimiter { rates, .. }) => {
                Gauge { current_rate: rates.current, target_rate: rates.target }
            }
        }
    }
}

impl RpFastPath for QcnRp {
    #[inline]
    fn count_only(&mut self, sent: Bytes, backlog: Bytes) -> bool {
        let QcnState::Limiting(limiter) = &mut self.state else { return true };
        if limiter.rates.current == self.max_rate
            || (self.params.clock != Clock::Timer && !limiter.byte_count.holds(sent))
        {
            return false;
        }
        limiter.backlog_empty = backlog == Bytes::ZERO;
        limiter.sent_since_timer = true;
        true
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }
}
