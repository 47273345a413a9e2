//! The reaction point: alpha, and QCN's two stages.

use super::{Clamp, DcqcnRpParams, Form, Notice};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::parts::drift::Drift;
use crate::parts::rates::Rates;
use crate::parts::sampling::Countdown;
use crate::parts::stages::StageTest;
use crate::parts::window::{WindowRule, step_at};
use crate::roles::{Endpoint, EventKinds, Flight, Gauge, ReactionPoint, RpCapabilities, Signal, Stamp, TransportEvent};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// How often the sender was told lately, from 0 to 1.
///
/// Its periods need no timer: what passed unheard is made up for at the next look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alpha {
    pub(super) value: f64,
    /// The end of the last period that counts in `value`.
    since: Instant,
    /// A CNP came after that.
    heard: bool,
}

impl Alpha {
    const fn new(now: Instant, value: f64) -> Alpha {
        Alpha { value, since: now, heard: false }
    }

    /// Counts the periods that have ended: the first with what was heard in it, the others as silent.
    pub(super) fn settle(&mut self, now: Instant, params: &DcqcnRpParams) {
        let periods = now.since(self.since).ps() / params.alpha_period.ps();
        if periods == 0 {
            return;
        }
        self.since += Span::from_ps(periods * params.alpha_period.ps());
        if std::mem::take(&mut self.heard) {
            self.rise(params.g);
            self.fall(periods - 1, params.g);
        } else {
            self.fall(periods, params.g);
        }
    }

    fn rise(&mut self, g: f64) {
        self.value = (1.0 - g) * self.value + g;
    }

    fn fall(&mut self, periods: u64, g: f64) {
        self.value *= libm::pow(1.0 - g, periods as f64);
    }
}

/// The reaction point: a rate limiter's rate.
#[derive(Clone, Debug)]
pub struct DcqcnRp {
    params: DcqcnRpParams,
    line_rate: BitRate,
    /// Its base round-trip time is the parameter's, where that is set.
    endpoint: Endpoint,
    pub(super) state: DcqcnState,
}

#[derive(Clone, Debug)]
pub(super) enum DcqcnState {
    /// Frames pass at line rate; alpha, if it is kept.
    Free(Option<Alpha>),
    /// A limiter is installed.
    Limiting(DcqcnLimiter),
}

#[derive(Clone, Debug)]
pub(super) struct DcqcnLimiter {
    pub(super) rates: Rates,
    pub(super) alpha: Alpha,
    byte_count: Countdown,
    pub(super) byte_stage: u32,
    time_end: Instant,
    pub(super) time_stage: u32,
    drift: Drift,
    /// When a CNP that was heard cuts, for NICs.
    cut_at: Instant,
    /// A boundary of the reduce periods.
    period_start: Instant,
}

impl DcqcnRp {
    /// A reaction point that does not limit yet.
    pub(super) fn new(mut params: DcqcnRpParams, endpoint: Endpoint) -> DcqcnRp {
        let line_rate = endpoint.line_rate;
        params.ai_rate = step_at(params.ai_rate, params.steps_for, line_rate);
        params.hai_rate = step_at(params.hai_rate, params.steps_for, line_rate);
        let endpoint = endpoint.with_base_rtt(params.base_rtt, params.base_rtt_of);
        DcqcnRp { params, line_rate, endpoint, state: DcqcnState::Free(None) }
    }

    fn on_cnp(&mut self, now: Instant) {
        let params = &self.params;
        if let DcqcnState::Free(alpha) = &self.state {
            let alpha = alpha.unwrap_or(Alpha::new(now, params.alpha_initial));
            self.state = DcqcnState::Limiting(DcqcnLimiter::new(now, alpha, params, self.line_rate));
        }
        let DcqcnState::Limiting(limiter) = &mut self.state else { unreachable!("a limiter was installed above") };
        match params.form {
            Form::Published => {
                limiter.alpha.settle(now, params);
                limiter.cut(now, params);
                limiter.alpha.rise(params.g);
                limiter.alpha.since = now;
            }
            Form::Nic => limiter.await_cut(now, params),
        }
    }

    /// At line rate the limiter has nothing left to do.
    fn release_if_done(&mut self) {
        if let DcqcnState::Limiting(limiter) = &self.state
            && limiter.rates.current == self.line_rate
            && limiter.cut_at == Instant::NEVER
        {
            self.state = DcqcnState::Free(self.params.alpha_kept.then_some(limiter.alpha));
        }
    }
}

impl DcqcnLimiter {
    fn new(now: Instant, alpha: Alpha, params: &DcqcnRpParams, line_rate: BitRate) -> DcqcnLimiter {
        let rate = params.first_rate.map_or(line_rate, |rate| rate.min(line_rate));
        let mut drift = Drift::new(params.drift);
        drift.start(now);
        DcqcnLimiter {
            rates: Rates::at(rate),
            alpha,
            byte_count: Countdown::new(params.byte_reset.unwrap_or(Bytes::ZERO)),
            byte_stage: 0,
            time_end: now + params.time_reset,
            time_stage: 0,
            drift,
            cut_at: Instant::NEVER,
            period_start: now,
        }
    }

    /// A CNP of a NIC: remembered for alpha, and for the start of the next reduce period.
    fn await_cut(&mut self, now: Instant, params: &DcqcnRpParams) {
        self.alpha.settle(now, params);
        self.alpha.heard = true;
        let period = params.reduce_period.ps();
        let ended = now.since(self.period_start).ps() / period;
        self.period_start += Span::from_ps(ended * period);
        self.cut_at = self.cut_at.min(self.period_start + params.reduce_period);
    }

    fn cut(&mut self, now: Instant, params: &DcqcnRpParams) {
        let clamp = match params.clamp {
            Clamp::Always => true,
            Clamp::AfterIncrease => self.byte_stage != 0 || self.time_stage != 0,
            Clamp::AfterByteIncrease => self.byte_stage != 0,
        };
        if clamp {
            self.rates.aim_at_current();
        }
        let left = (1.0 - self.alpha.value * params.cut_share).max(params.min_dec_fac);
        let cut = self.rates.current.scaled_rounded_down(left).max(params.min_rate);
        self.rates.current = self.rates.current.min(cut);
        (self.byte_stage, self.time_stage) = (0, 0);
        self.time_end = now + params.time_reset;
        if let Some(octets) = params.byte_reset {
            self.byte_count.restart_exactly(octets);
        }
        self.cut_at = Instant::NEVER;
    }

    /// An increase event, after the stage of the cycle that ended has moved.
    pub(super) fn increase(&mut self, params: &DcqcnRpParams, line_rate: BitRate) {
        let (low, high) = (self.byte_stage.min(self.time_stage), self.byte_stage.max(self.time_stage));
        let recovering = match params.stage_test {
            StageTest::Above => high <= params.threshold,
            StageTest::Reached => high < params.threshold,
        };
        // Without a byte counter the timer alone leads to hyper increase.
        let low = if params.byte_reset.is_none() { high.saturating_sub(1) } else { low };
        if low > params.threshold {
            self.rates.raise_target(params.hai_step.step(params.hai_rate, low - params.threshold));
        } else if !recovering {
            self.rates.raise_target(params.ai_rate);
        }
        if params.target_capped {
            self.rates.target = self.rates.target.min(line_rate);
        }
        self.rates.approach(line_rate);
    }
}

impl ReactionPoint for DcqcnRp {
    fn capabilities(&self) -> RpCapabilities {
        let echoes = self.params.notice == Notice::Echo;
        RpCapabilities {
            events: if echoes { EventKinds::ACKNOWLEDGEMENTS } else { EventKinds::NONE },
            permits_windows: self.params.window != WindowRule::Open,
            ..RpCapabilities::LIMITER
        }
    }

    #[inline]
    fn on_transport(&mut self, now: Instant, event: &TransportEvent<'_>, _: &Flight, _: &mut Dice) {
        if let TransportEvent::Acknowledged(ack) = event
            && ack.marked > 0
            && self.params.notice == Notice::Echo
        {
            self.on_cnp(now);
        }
    }

    fn window(&self) -> Option<Bytes> {
        self.params.window.window(&self.endpoint, self.gauge().current_rate)
    }

    #[inline]
    fn on_sent(&mut self, _: Instant, sent: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        if let DcqcnState::Limiting(limiter) = &mut self.state
            && let Some(octets) = self.params.byte_reset
            && limiter.byte_count.passed(sent)
        {
            limiter.byte_stage += 1;
            limiter.byte_count.restart_exactly(octets);
            limiter.increase(&self.params, self.line_rate);
            self.release_if_done();
        }
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        if *signal == Signal::Cnp && self.params.notice == Notice::Cnp {
            self.on_cnp(now);
        }
    }

    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        let DcqcnState::Limiting(limiter) = &mut self.state else { return };
        if now >= limiter.cut_at {
            limiter.alpha.settle(now, &self.params);
            limiter.cut(now, &self.params);
        }
        let (timer, drift) = (now >= limiter.time_end, limiter.drift.due(now));
        if timer {
            limiter.time_stage += 1;
            limiter.time_end = now + self.params.time_reset;
            limiter.increase(&self.params, self.line_rate);
        }
        if let Some(step) = drift {
            limiter.rates.drift(step, self.line_rate);
        }
        if timer || drift.is_some() {
            self.release_if_done();
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        match &self.state {
            DcqcnState::Free(_) => Instant::NEVER,
            DcqcnState::Limiting(limiter) => limiter.time_end.min(limiter.cut_at).min(limiter.drift.next()),
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match &self.state {
            DcqcnState::Free(_) => None,
            DcqcnState::Limiting(limiter) => Some(limiter.rates.current),
        }
    }

    fn gauge(&self) -> Gauge {
        let rates = match &self.state {
            DcqcnState::Free(_) => Rates::at(self.line_rate),
            DcqcnState::Limiting(limiter) => limiter.rates,
        };
        Gauge { current_rate: rates.current, target_rate: rates.target }
    }
}

impl RpFastPath for DcqcnRp {
    #[inline]
    fn count_only(&mut self, sent: Bytes, _: Bytes) -> bool {
        match &mut self.state {
            DcqcnState::Limiting(limiter) => self.params.byte_reset.is_none() || limiter.byte_count.holds(sent),
            DcqcnState::Free(_) => true,
        }
    }

    fn on_sent_may_be_late(&self) -> bool {
        true
    }

    /// Alpha falls by itself, and only a mark raises it.
    fn ignores_unmarked_acknowledgements(&self) -> bool {
        true
    }
}
