//! AF-QCN: QCN whose ports tell flows above their fair share to slow down more.
//!
//! The limiter is QCN's, and so are the sampling and its table, which go by the queue alone.
//!
//! Source: Kabbani, Alizadeh, Yasuda, Pan and Prabhakar, AF-QCN (2010): the two formulas. How the arrival rate is
//! measured, alpha, the rounding and that a port speaks only where QCN would are readings.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
QCN that shares a link by flow and weight. A port measures how fast each flow arrives. A flow's fair share
is its part, by weight, of all that arrives. The port sends messages when QCN would. Their feedback is a
mean of QCN's feedback and of how far the frame's flow is above its share. So a flow above its share hears
of more congestion, and a flow at or below it of less. Reaction points are QCN's.

   each interval, for each flow i:   r_i moves towards what arrived
   fair share of flow i:             f_i = W_i / sum W * sum r
   at a sample that finds congestion, for the frame's flow i:
                                     Fb = (1 - alpha) Fb_QCN + alpha full scale [1 - f_i / r_i]+
";

mod shares;

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::CpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Endpoint, NoNotification, Queue, Signal, SignalKind,
};
use qcnlab_units::{Bytes, Instant, Span};
use shares::Shares;

/// AF-QCN.
pub struct AfQcn;

params! {
    /// Parameters of the congestion point: QCN's, and how it measures and weighs flows.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AfQcnCpParams {
        sampler: qcn::QcnCpParams => set_point, w, sample_base, jitter_width, fb_bits, count_discarded;
        /// Share of the fairness feedback in the whole; 0 is QCN.
        alpha: f64, "alpha", Range::between(0.0, 1.0);
        /// How long arrivals are counted for one measurement of each flow's rate.
        measure_every: Span, "", Range::at_least(1e6);
        /// Share of a new measurement in the flow's rate.
        measure_gain: f64, "", Range::above_zero_to(1.0);
        /// How many flows, from the first, weigh `weight`; all others weigh 1.
        weighted_flows: u32, "", Range::ANY;
        /// What those flows weigh.
        weight: f64, "W_i", Range::POSITIVE;
    }
}

const CP_DECK001: AfQcnCpParams = AfQcnCpParams {
    sampler: qcn::CP_DECK001,
    alpha: 0.5,
    measure_every: Span::from_ms(1),
    measure_gain: 0.25,
    weighted_flows: 0,
    weight: 1.0,
};

impl Family for AfQcn {
    type CpParams = AfQcnCpParams;
    type RpParams = qcn::QcnRpParams;
    type Cp = AfQcnCp;
    type Rp = qcn::QcnRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<AfQcnCpParams, qcn::QcnRpParams>] = &[Member {
        name: "af_qcn",
        title: "AF-QCN, approximate fairness (reconstruction)",
        source: "Kabbani and others, AF-QCN (2010)",
        generation: Generation::Qau,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "DECK001",
            about: "QCN with deck 001's parameters. Alpha 0.5, rates measured each 1 ms and averaged with a gain of 0.25, \
                    and equal weights are ours.",
            cp: CP_DECK001,
            rp: qcn::RP_DECK001,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm];
    const FIELDS: (&'static [Field], &'static [Field]) = (AfQcnCpParams::FIELDS, qcn::QcnRpParams::FIELDS);

    fn set_point(params: &AfQcnCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.sampler.set_point)
    }

    fn congestion_point(params: &AfQcnCpParams, id: CpId) -> AfQcnCp {
        AfQcnCp {
            sampler: qcn::QcnCp::new(params.sampler, id),
            shares: Shares::new(params.measure_every, params.measure_gain, params.weighted_flows, params.weight),
            alpha: params.alpha,
            levels: f64::from((1u32 << params.sampler.fb_bits) - 1),
        }
    }

    fn reaction_point(params: &qcn::QcnRpParams, Endpoint { line_rate, .. }: Endpoint) -> qcn::QcnRp {
        qcn::QcnRp::new(*params, line_rate)
    }
}

/// The congestion point: QCN's, with an eye on each flow's share.
#[derive(Clone, Debug)]
pub struct AfQcnCp {
    sampler: qcn::QcnCp,
    shares: Shares,
    alpha: f64,
    /// The largest quantized feedback.
    levels: f64,
}

impl CongestionPoint for AfQcnCp {
    #[inline]
    fn on_arrival(&mut self, now: Instant, frame: &Arrival, queue: Queue, dice: &mut Dice) -> CpAction {
        if frame.controlled {
            self.shares.on_arrival(now, frame.flow, frame.size);
        }
        match self.sampler.on_arrival(now, frame, queue, dice) {
            CpAction::Send(Signal::Cnm(cnm)) => self.weigh(frame, cnm),
            other => other,
        }
    }
}

impl CpFastPath for AfQcnCp {}

impl AfQcnCp {
    /// Mixes QCN's feedback with the flow's excess over its share, to the nearest whole number.
    fn weigh(&self, frame: &Arrival, cnm: Cnm) -> CpAction {
        let fairness = self.levels * self.shares.excess(frame.flow);
        let mixed = (1.0 - self.alpha) * f64::from(cnm.quantized_fb) + self.alpha * fairness;
        let quantized_fb = mixed.round() as u8;
        if quantized_fb == 0 {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::Cnm(Cnm { quantized_fb, ..cnm }))
    }
}

#[cfg(test)]
mod tests;
