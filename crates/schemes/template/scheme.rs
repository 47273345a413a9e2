//! scheme_name: a source slows down at each message and speeds up by itself in between.
//!
//! A port sends a message at each sample that finds the queue above its set point. Every scheme that limits has the
//! drift timer; where a scheme raises its rates in other ways, too, it is off in the presets.
//!
//! A scheme that hears of acknowledgements, or permits a window, says so in `capabilities` and implements `on_transport`
//! and `window` beside the rest: `family/dctcp.rs` is one. It runs over traffic with transport roce.
//!
//! Source: deck and slide, paper or clause; a row in docs/reference/sources.md says what the short name means.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
A port samples arriving frames and tells their sources while its queue is above the set point. A source
that is told cuts its rate by a share; in between its rate rises by a step each period.

            CNM: rate *= 1 - decrease
   free ------------------------------> limited:  each drift_every: rate += drift_step
     ^          rate reaches C            |
     +------------------------------------+
";

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::drift::{Drift, DriftParams};
use crate::parts::sampling::Sampler;
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Endpoint, Gauge, NoNotification, Queue, ReactionPoint, Signal,
    SignalKind, Stamp,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The family: what the registry knows of these machines.
pub struct SchemeName;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SchemeNameCpParams {
        /// Queue length above which sources are told.
        set_point: Bytes, "Qeq", Range::at_least(100.0);
        /// Octets between samples.
        sample_base: Bytes, "sampling interval", Range::at_least(1.0);
        /// Full width of the random spread of the sampling interval: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SchemeNameRpParams {
        /// Share of the rate that one message takes off.
        decrease: f64, "", Range::above_zero_to(1.0);
        drift: DriftParams => drift_every, drift_step;
        /// The rate is never cut below this.
        min_rate: BitRate, "", Range::POSITIVE;
    }
}

const CP_TEMPLATE: SchemeNameCpParams =
    SchemeNameCpParams { set_point: Bytes::new(33_000), sample_base: Bytes::new(150_000), jitter_width: 0.3 };

const RP_TEMPLATE: SchemeNameRpParams = SchemeNameRpParams {
    decrease: 0.125,
    drift: DriftParams::each(Span::from_ms(1), BitRate::mbps(20)),
    min_rate: BitRate::mbps(10),
};

impl Family for SchemeName {
    type CpParams = SchemeNameCpParams;
    type RpParams = SchemeNameRpParams;
    type Cp = SchemeNameCp;
    type Rp = SchemeNameRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<SchemeNameCpParams, SchemeNameRpParams>] = &[Member {
        name: "scheme_name",
        title: "scheme_name",
        source: "name it",
        generation: Generation::TelemetryAndTargets,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "TEMPLATE",
            about: "The template's values. Name a preset after where its values come from.",
            cp: CP_TEMPLATE,
            rp: RP_TEMPLATE,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm];
    const FIELDS: (&'static [Field], &'static [Field]) = (SchemeNameCpParams::FIELDS, SchemeNameRpParams::FIELDS);

    fn set_point(params: &SchemeNameCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &SchemeNameCpParams, id: CpId) -> SchemeNameCp {
        SchemeNameCp { params: *params, id, sampler: Sampler::new(params.sample_base) }
    }

    fn reaction_point(params: &SchemeNameRpParams, Endpoint { line_rate, .. }: Endpoint) -> SchemeNameRp {
        SchemeNameRp { params: *params, line_rate, state: SchemeNameState::Free, drift: Drift::new(params.drift) }
    }
}

/// The congestion point: tells sampled sources while the queue is long.
#[derive(Clone, Debug)]
pub struct SchemeNameCp {
    params: SchemeNameCpParams,
    id: CpId,
    sampler: Sampler,
}

impl CongestionPoint for SchemeNameCp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        if !self.sampler.takes(frame, false) {
            return CpAction::Nothing;
        }
        self.sampler.restart(self.params.sample_base.as_f64(), self.params.jitter_width, dice);
        let len = queue.len.signed();
        let q_offset = self.params.set_point.signed() - len;
        let q_delta = self.sampler.growth(len);
        if q_offset >= 0 {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::Cnm(Cnm { cp: self.id, quantized_fb: 1, q_offset, q_delta }))
    }
}

impl CpFastPath for SchemeNameCp {}

/// The reaction point: one rate, cut by messages and raised by a timer.
#[derive(Clone, Debug)]
pub struct SchemeNameRp {
    params: SchemeNameRpParams,
    line_rate: BitRate,
    state: SchemeNameState,
    drift: Drift,
}

#[derive(Clone, Debug)]
enum SchemeNameState {
    /// Frames pass at line rate.
    Free,
    /// A limiter is installed.
    Limited { rate: BitRate },
}

impl SchemeNameRp {
    fn rate(&self) -> BitRate {
        match self.state {
            SchemeNameState::Free => self.line_rate,
            SchemeNameState::Limited { rate } => rate,
        }
    }
}

impl ReactionPoint for SchemeNameRp {
    #[inline]
    fn on_sent(&mut self, _: Instant, _: Bytes, _: Bytes, _: &mut Dice) -> Stamp {
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, _: &mut Dice) {
        let Signal::Cnm(Cnm { quantized_fb: 1.., .. }) = signal else { return };
        if let SchemeNameState::Free = self.state {
            self.drift.start(now);
        }
        let rate = self.rate().scaled_rounded_down(1.0 - self.params.decrease).max(self.params.min_rate);
        self.state = SchemeNameState::Limited { rate: rate.min(self.line_rate) };
    }

    fn on_wake(&mut self, now: Instant, _: &mut Dice) {
        let SchemeNameState::Limited { rate } = self.state else { return };
        let Some(step) = self.drift.due(now) else { return };
        let rate = rate + step;
        if rate < self.line_rate {
            self.state = SchemeNameState::Limited { rate };
        } else {
            self.state = SchemeNameState::Free;
            self.drift.stop();
        }
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        self.drift.next()
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        match self.state {
            SchemeNameState::Free => None,
            SchemeNameState::Limited { rate } => Some(rate),
        }
    }

    fn gauge(&self) -> Gauge {
        Gauge::at(self.rate())
    }
}

impl RpFastPath for SchemeNameRp {}

#[cfg(test)]
mod tests;
