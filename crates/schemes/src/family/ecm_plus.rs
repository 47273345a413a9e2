//! ECM+: QCN with the timer alone, whose length follows the messages.
//!
//! Deck 001 calls timer-only QCN with an adaptive timer ECM+: ECM without positive feedback, whose drift
//! timer does all the increasing. A timer that runs out makes the next one T c, or T - a; a message before
//! that makes it T d, or T + b.
//!
//! Source: deck 001, Timer-only QCN = ECM+. It gives the rule and no constants: c, d, a, b, the first timer
//! and its bounds are readings, and so is that a burst of messages counts once.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
QCN with the timer alone, and a timer that adapts. If it runs out, the next one is shorter. If a message
comes first, the next one is longer. So a source that hears few messages raises its rate quickly, and a
source that hears many raises it slowly. This replaces the byte counter. The ports are QCN's.

             CNM before the timer runs out: T longer; cut, stage 0, timer restarted
        +------------------------------------------------------+
        v                                                      |
   fast recovery, T a cycle ---- stage past F ----> active increase, T/2 a cycle
   current = (current+target)/2                     target += R_AI

   at the end of every cycle: T shorter
";

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::params::{Field, Range};
use crate::parts::forward::forward;
use crate::roles::{Cnm, CpId, Endpoint, NoNotification, ReactionPoint, Signal, SignalKind};
use crate::{choice, params};
use qcnlab_units::{Bytes, Instant, Span};

/// ECM+.
pub struct EcmPlus;

choice! {
    /// How the timer is made shorter and longer.
    pub enum Adaptation {
        /// Times `shrink_factor`, times `stretch_factor`.
        Multiplicative = "multiplicative",
        /// Less `shrink_step`, plus `stretch_step`.
        Additive = "additive",
    }
}

choice! {
    /// Which messages make the timer longer.
    pub enum Stretching {
        /// The first after the timer ran out, and then one each timer period.
        OncePerPeriod = "once_per_period",
        /// Each message.
        EveryMessage = "every_message",
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EcmPlusRpParams {
        /// The timer a new limiter starts with.
        time_reset: Span, "T, TIMER_PERIOD", Range::at_least(1e6);
        /// The timer is never shorter.
        time_min: Span, "", Range::at_least(1e6);
        /// The timer is never longer.
        time_max: Span, "", Range::at_least(1e6);
        /// How the timer is made shorter and longer.
        adaptation: Adaptation, "", Range::ANY;
        /// What a timer that runs out is multiplied by, in the multiplicative form.
        shrink_factor: f64, "c", Range::above_zero_to(1.0);
        /// What a message multiplies the timer by, in the multiplicative form.
        stretch_factor: f64, "d", Range::between(1.0, 100.0);
        /// What is taken off a timer that runs out, in the additive form.
        shrink_step: Span, "a", Range::at_least(0.0);
        /// What a message adds to the timer, in the additive form.
        stretch_step: Span, "b", Range::at_least(0.0);
        /// Which messages make the timer longer.
        stretching: Stretching, "", Range::ANY;
        limiter: qcn::QcnRpParams => threshold, short_cycles, ai_rate, gd, min_dec_fac, min_rate, jitter_width,
            target_rate_reduction, drift_every, drift_step, drift_restart;
    }
}

const RP_DECK001: EcmPlusRpParams = EcmPlusRpParams {
    time_reset: qcn::RP_DECK001.time_reset,
    time_min: Span::from_ms(1),
    time_max: Span::from_ms(60),
    adaptation: Adaptation::Multiplicative,
    shrink_factor: 0.9,
    stretch_factor: 1.1,
    shrink_step: Span::from_ms(1),
    stretch_step: Span::from_ms(1),
    stretching: Stretching::OncePerPeriod,
    limiter: qcn::QcnRpParams { clock: qcn::Clock::Timer, ..qcn::RP_DECK001 },
};

impl Family for EcmPlus {
    type CpParams = qcn::QcnCpParams;
    type RpParams = EcmPlusRpParams;
    type Cp = qcn::QcnCp;
    type Rp = EcmPlusRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<qcn::QcnCpParams, EcmPlusRpParams>] = &[Member {
        name: "ecm_plus",
        title: "ECM+, timer-only QCN with an adaptive timer (reconstruction)",
        source: "deck 001, Timer-only QCN = ECM+",
        generation: Generation::Qau,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[
            Preset {
                name: "DECK001_MULTIPLICATIVE",
                about: "Deck 001's simulation parameters and the form T c, T d. The deck gives no c and no d: 0.9 and 1.1, \
                        from 15 ms, within 1 and 60 ms, are ours.",
                cp: qcn::CP_DECK001,
                rp: RP_DECK001,
            },
            Preset {
                name: "DECK001_ADDITIVE",
                about: "The same in the form T - a, T + b. The deck gives no a and no b: 1 ms each is ours.",
                cp: qcn::CP_DECK001,
                rp: EcmPlusRpParams { adaptation: Adaptation::Additive, ..RP_DECK001 },
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm];
    const FIELDS: (&'static [Field], &'static [Field]) = (qcn::QcnCpParams::FIELDS, EcmPlusRpParams::FIELDS);

    fn set_point(params: &qcn::QcnCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &qcn::QcnCpParams, id: CpId) -> qcn::QcnCp {
        qcn::QcnCp::new(*params, id)
    }

    fn reaction_point(params: &EcmPlusRpParams, Endpoint { line_rate, .. }: Endpoint) -> EcmPlusRp {
        let limiter = qcn::QcnRpParams { time_reset: params.time_reset, ..params.limiter };
        EcmPlusRp { params: *params, limiter: qcn::QcnRp::new(limiter, line_rate), stretch_from: Instant::ZERO }
    }
}

/// The reaction point: QCN's limiter with the timer alone, told how long its next cycle is.
#[derive(Clone, Debug)]
pub struct EcmPlusRp {
    params: EcmPlusRpParams,
    limiter: qcn::QcnRp,
    /// From here on the next message makes the timer longer.
    stretch_from: Instant,
}

impl EcmPlusRp {
    /// A message came while the timer was running.
    fn stretch(&mut self, now: Instant) {
        if now < self.stretch_from {
            return;
        }
        let (period, params) = (self.limiter.time_reset(), &self.params);
        let longer = match params.adaptation {
            Adaptation::Multiplicative => period.scaled_rounded_down(params.stretch_factor),
            Adaptation::Additive => period + params.stretch_step,
        };
        let longer = longer.min(params.time_max);
        self.limiter.set_time_reset(longer);
        if params.stretching == Stretching::OncePerPeriod {
            self.stretch_from = now + longer;
        }
    }

    /// The timer ran out. That is never before `stretch_from`: a message that makes the timer longer restarts it, too.
    fn shrink(&mut self) {
        let (period, params) = (self.limiter.time_reset(), &self.params);
        let shorter = match params.adaptation {
            Adaptation::Multiplicative => period.scaled_rounded_down(params.shrink_factor),
            Adaptation::Additive => Span::from_ps(period.ps().saturating_sub(params.shrink_step.ps())),
        };
        self.limiter.set_time_reset(shorter.max(params.time_min));
    }
}

impl ReactionPoint for EcmPlusRp {
    forward!(ReactionPoint to self.limiter: on_sent, next_wake, limit, pacing, gauge);

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        if let Signal::Cnm(Cnm { quantized_fb: 1.., .. }) = signal {
            if !self.limiter.is_limiting() {
                self.limiter.set_time_reset(self.params.time_reset);
                self.stretch_from = now;
            } else {
                self.stretch(now);
            }
        }
        self.limiter.on_signal(now, signal, dice);
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        if now >= self.limiter.time_end() {
            self.shrink();
        }
        self.limiter.on_wake(now, dice);
    }
}

impl RpFastPath for EcmPlusRp {
    forward!(RpFastPath to self.limiter: on_sent_may_be_late);
}

#[cfg(test)]
mod tests;
