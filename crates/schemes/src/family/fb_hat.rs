//! QCN with Fb-hat: the byte counter runs in shorter cycles while little congestion is heard of (reconstruction).
//!
//! There is no timer: the limiter is QCN's with the byte counter alone.
//!
//! Source: deck 000 names Fb-hat among what was tried at the source without a timer, and deck 004 says that it
//! runs "no Fb-hat, no cycle shrinking". No source read defines it; everything here is a reading.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
QCN with the byte counter alone. A source remembers how much congestion it has heard of: each message moves
a mean towards the message's feedback, and each byte-counter cycle without a message moves it towards zero.
The smaller the mean, the shorter the cycles, down to a quarter. So a source that hears nothing raises its
rate faster. Ports are QCN's.

   message:              Fb-hat = (1 - g) Fb-hat + g |Fb|, then QCN's cut
   byte-counter cycle:   Fb-hat = (1 - g) Fb-hat, then QCN's increase
   length of a cycle:    BC_LIMIT max(1/4, Fb-hat / reference), at most BC_LIMIT
";

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::parts::forward::forward;
use crate::roles::{Cnm, CpId, Endpoint, NoNotification, ReactionPoint, Signal, SignalKind, Stamp};
use qcnlab_units::{Bytes, Instant};

/// QCN with Fb-hat.
pub struct FbHat;

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FbHatRpParams {
        /// Share of a new observation in Fb-hat.
        g: f64, "", Range::above_zero_to(1.0);
        /// Fb-hat from which up cycles have their full length, in units of quantized feedback.
        reference: f64, "", Range::POSITIVE;
        /// The shortest cycle, as a share of the full one.
        shortest: f64, "", Range::above_zero_to(1.0);
        limiter: qcn::QcnRpParams => byte_reset, threshold, ai_rate, gd, min_dec_fac, min_rate, short_cycles, jitter_width,
            target_rate_reduction, drift_every, drift_step, drift_restart;
    }
}

const RP_DECK000: FbHatRpParams = FbHatRpParams {
    g: 0.25,
    reference: 8.0,
    shortest: 0.25,
    limiter: qcn::QcnRpParams { clock: qcn::Clock::ByteCounter, ..qcn::RP_DECK000 },
};

impl Family for FbHat {
    type CpParams = qcn::QcnCpParams;
    type RpParams = FbHatRpParams;
    type Cp = qcn::QcnCp;
    type Rp = FbHatRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<qcn::QcnCpParams, FbHatRpParams>] = &[Member {
        name: "qcn_fb_hat",
        title: "QCN with Fb-hat (reconstruction)",
        source: "decks 000 and 004, where it is named",
        generation: Generation::Qau,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "DECK000",
            about: "QCN, byte counter only, with deck 000's parameters. g 1/4, the reference 8 and the shortest cycle of a \
                    quarter are ours.",
            cp: qcn::CP_DECK000,
            rp: RP_DECK000,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm];
    const FIELDS: (&'static [Field], &'static [Field]) = (qcn::QcnCpParams::FIELDS, FbHatRpParams::FIELDS);

    fn set_point(params: &qcn::QcnCpParams, _: &FbHatRpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &qcn::QcnCpParams, id: CpId) -> qcn::QcnCp {
        qcn::QcnCp::new(*params, id)
    }

    fn reaction_point(params: &FbHatRpParams, Endpoint { line_rate, .. }: Endpoint) -> FbHatRp {
        FbHatRp { params: *params, limiter: qcn::QcnRp::new(params.limiter, line_rate), fb_hat: 0.0, heard: false }
    }
}

/// The reaction point: QCN's byte counter, and the mean that sets its length.
#[derive(Clone, Debug)]
pub struct FbHatRp {
    params: FbHatRpParams,
    limiter: qcn::QcnRp,
    fb_hat: f64,
    /// Whether a message came in the cycle that goes on.
    heard: bool,
}

impl FbHatRp {
    /// Moves Fb-hat towards an observation.
    fn observe(&mut self, size: f64) {
        self.fb_hat += self.params.g * (size - self.fb_hat);
    }

    /// Cycles from now on have the length that goes with this Fb-hat.
    fn set_cycle(&mut self, fb_hat: f64) {
        let share = (fb_hat / self.params.reference).clamp(self.params.shortest, 1.0);
        self.limiter.set_byte_reset(Bytes::new((self.params.limiter.byte_reset.as_f64() * share) as u64));
    }

    /// The next cycle to start is the one after this one has ended, with a message or without.
    fn set_next_cycle(&mut self) {
        self.set_cycle(if self.heard { self.fb_hat } else { self.fb_hat * (1.0 - self.params.g) });
    }
}

impl ReactionPoint for FbHatRp {
    forward!(ReactionPoint to self.limiter: on_wake, next_wake, limit, pacing, gauge);

    #[inline]
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        let stage = self.limiter.byte_stage();
        let stamp = self.limiter.on_sent(now, sent, backlog, dice);
        if self.limiter.byte_stage() > stage {
            if !std::mem::take(&mut self.heard) {
                self.observe(0.0);
            }
            self.set_next_cycle();
        }
        stamp
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        let Signal::Cnm(Cnm { quantized_fb: fb @ 1.., .. }) = signal else { return };
        // A message in the first cycle leaves the byte counter alone; any other starts a cycle.
        self.heard = self.limiter.is_limiting() && self.limiter.byte_stage() == 0;
        if self.limiter.is_limiting() {
            self.observe(f64::from(*fb));
        } else {
            self.fb_hat = f64::from(*fb);
        }
        self.set_cycle(self.fb_hat);
        self.limiter.on_signal(now, signal, dice);
        self.set_next_cycle();
    }
}

impl RpFastPath for FbHatRp {
    forward!(RpFastPath to self.limiter: on_sent_may_be_late);
}

#[cfg(test)]
mod tests;
