//! QCN whose feedback is computed in the network card, from queue lengths that the switch sends.
//!
//! Silence means an empty queue, and changes nothing: neither the count nor the length remembered. The next
//! sample follows from the feedback, by QCN's table, whatever its sign. The limiter is QCN's, and lets pass
//! whole multiples of a rate step.
//!
//! Source: deck 002, Fb Value Computation at the NIC Side and Typical Parameter Values. What a message stands
//! for, that each congestion point has a count of its own, and where the rate is rounded are readings.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
A switch that cannot compute feedback sends its queue length to the source of a frame, once for each 1 KB
that arrives while something is queued. The network card takes some of these messages as samples and
computes the feedback as a QCN switch would. If the feedback is negative, it goes to the card's own limiter,
which is QCN's with a timer of 10 ms.

   switch:  each 1 KB of arrivals, while something is queued:  queue length --> source of the frame
   card:    counts the octets they stand for; where a switch would sample, takes the length:
            Fb = -(offset + w growth) < 0 --> its own limiter, as a CNM would
";

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::feedback::{Quantizer, Scale};
use crate::parts::forward::forward;
use crate::parts::rates::CutParams;
use crate::parts::sampling::{self, Sampler};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Endpoint, Gauge, NoNotification, Queue, QueueLen, ReactionPoint,
    Signal, SignalKind,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// QCN with feedback computed in the network card.
pub struct NicFb;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NicFbCpParams {
        /// Octets of arrivals from one message to the next.
        message_every: Bytes, "ConMes, sampling rate", Range::at_least(1.0);
        /// Whether discarded frames count as arrivals.
        count_discarded: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the network card: the congestion point's that it stands in for, and the reaction point's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NicFbRpParams {
        sampler: qcn::QcnCpParams => set_point, w, sample_base;
        /// Octets of arrivals a message stands for; unset, what it says itself.
        message_octets: Option<Bytes>, "1 KB", Range::at_least(1.0);
        sampler => fb_bits;
        /// Full width of the random spread of samples and cycles: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// The limiter's rates are multiples of this, rounded down; unset, any rate.
        rate_step: Option<BitRate>, "", Range::POSITIVE;
        limiter: qcn::QcnRpParams => time_reset, byte_reset, threshold, ai_rate, hai_rate, hai_step, early_hai, gd, min_rate, stage_test,
            target_rate_reduction, timer_on_cnm, drift_every, drift_step, drift_restart;
    }
}

const CP_DECK002: NicFbCpParams = NicFbCpParams { message_every: Bytes::new(1000), count_discarded: false };

const RP_DECK002: NicFbRpParams = NicFbRpParams {
    sampler: qcn::CP_DECK001,
    limiter: qcn::QcnRpParams { time_reset: Span::from_ms(10), ..qcn::RP_DECK001 },
    message_octets: Some(Bytes::new(1000)),
    jitter_width: 0.3,
    rate_step: None,
};

/// The values in brackets on the slide: what the hardware has.
const RP_NEC_FULCRUM_10G: NicFbRpParams = NicFbRpParams {
    rate_step: Some(BitRate::bps(3_200_000)),
    limiter: qcn::QcnRpParams {
        ai_rate: BitRate::bps(3_100_000),
        hai_rate: BitRate::bps(51_200_000),
        cut: CutParams { min_rate: BitRate::bps(9_600_000), ..RP_DECK002.limiter.cut },
        ..RP_DECK002.limiter
    },
    ..RP_DECK002
};

impl Family for NicFb {
    type CpParams = NicFbCpParams;
    type RpParams = NicFbRpParams;
    type Cp = NicFbCp;
    type Rp = NicFbRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<NicFbCpParams, NicFbRpParams>] = &[Member {
        name: "nic_fb",
        title: "QCN with feedback computed in the network card",
        source: "deck 002",
        generation: Generation::Qau,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "NEC_FULCRUM_10G",
                about: "Deck 002, Typical Parameter Values, as implemented: minimum rate 9.6, R_AI 3.1, R_HAI 51.2 Mb/s. The \
                        rate step of 3.2 Mb/s is ours: 9.6 and 51.2 are 3 and 16 of it. The switch's 300 ns are the \
                        network's to add.",
                cp: CP_DECK002,
                rp: RP_NEC_FULCRUM_10G,
            },
            Preset {
                name: "DECK002",
                about: "Deck 002, Typical Parameter Values, as designed: 10, 5 and 50 Mb/s, and no rate step.",
                cp: CP_DECK002,
                rp: RP_DECK002,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::QueueLen];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::QueueLen];
    const FIELDS: (&'static [Field], &'static [Field]) = (NicFbCpParams::FIELDS, NicFbRpParams::FIELDS);

    fn set_point(_: &NicFbCpParams, params: &NicFbRpParams) -> Option<Bytes> {
        Some(params.sampler.set_point)
    }

    fn congestion_point(params: &NicFbCpParams, id: CpId) -> NicFbCp {
        NicFbCp { params: *params, id, arrived: Bytes::ZERO }
    }

    fn reaction_point(params: &NicFbRpParams, Endpoint { line_rate, .. }: Endpoint) -> NicFbRp {
        let limiter = qcn::QcnRpParams { jitter_width: params.jitter_width, ..params.limiter };
        NicFbRp { params: *params, line_rate, limiter: qcn::QcnRp::new(limiter, line_rate), heard: Vec::new() }
    }
}

/// The congestion point: tells how long its queue is.
#[derive(Clone, Debug)]
pub struct NicFbCp {
    params: NicFbCpParams,
    id: CpId,
    /// Octets since the count last came to a message.
    arrived: Bytes,
}

impl CongestionPoint for NicFbCp {
    #[inline]
    fn on_arrival(&mut self, _: Instant, frame: &Arrival, queue: Queue, _: &mut Dice) -> CpAction {
        if !frame.controlled || !(frame.admitted || self.params.count_discarded) {
            return CpAction::Nothing;
        }
        self.arrived += frame.size;
        if self.arrived < self.params.message_every {
            return CpAction::Nothing;
        }
        let arrived = std::mem::take(&mut self.arrived);
        let own = if frame.admitted { frame.size } else { Bytes::ZERO };
        if queue.len <= own {
            return CpAction::Nothing;
        }
        CpAction::Send(Signal::QueueLen(QueueLen { cp: self.id, len: queue.len, arrived }))
    }
}

impl CpFastPath for NicFbCp {}

/// The reaction point: samples what it is told, and limits as QCN does.
#[derive(Clone, Debug)]
pub struct NicFbRp {
    params: NicFbRpParams,
    line_rate: BitRate,
    limiter: qcn::QcnRp,
    /// A count for each congestion point heard from.
    heard: Vec<(CpId, Sampler)>,
}

impl NicFbRp {
    /// Counts a message; the feedback if it is a sample and tells of congestion.
    fn sample(&mut self, message: &QueueLen, dice: &mut Dice) -> Option<Cnm> {
        let NicFbRpParams { message_octets, jitter_width, .. } = self.params;
        let qcn::QcnCpParams { set_point, w, fb_bits: bits, sample_base, .. } = self.params.sampler;
        let known = self.heard.iter().position(|(cp, _)| *cp == message.cp);
        let index = known.unwrap_or_else(|| {
            self.heard.push((message.cp, Sampler::new(sample_base)));
            self.heard.len() - 1
        });
        let sampler = &mut self.heard[index].1;
        if !sampler.counts(message_octets.unwrap_or(message.arrived)) {
            return None;
        }
        let len = message.len.signed();
        let (q_offset, q_delta) = (set_point.signed() - len, sampler.growth(len));
        let scale = Scale { set_point, w, bits, quantizer: Quantizer::Floor };
        let quantized_fb = scale.quantize(q_offset, q_delta).congestion();
        sampler.restart(sampling::interval(sample_base, quantized_fb, bits), jitter_width, dice);
        (quantized_fb > 0).then_some(Cnm { cp: message.cp, quantized_fb, q_offset, q_delta })
    }

    /// What the hardware can pace.
    fn stepped(&self, rate: BitRate) -> BitRate {
        match self.params.rate_step {
            Some(step) if rate < self.line_rate => BitRate::bps((rate.get() / step.get()).max(1) * step.get()),
            _ => rate,
        }
    }
}

impl ReactionPoint for NicFbRp {
    forward!(ReactionPoint to self.limiter: on_sent, on_wake, next_wake, pacing);

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        if let Signal::QueueLen(message) = signal
            && let Some(cnm) = self.sample(message, dice)
        {
            self.limiter.on_signal(now, &Signal::Cnm(cnm), dice);
        }
    }

    #[inline]
    fn limit(&self) -> Option<BitRate> {
        self.limiter.limit().map(|rate| self.stepped(rate).min(self.line_rate))
    }

    fn gauge(&self) -> Gauge {
        let gauge = self.limiter.gauge();
        Gauge { current_rate: self.stepped(gauge.current_rate).min(self.line_rate), ..gauge }
    }
}

impl RpFastPath for NicFbRp {
    forward!(RpFastPath to self.limiter: on_sent_may_be_late);
}

#[cfg(test)]
mod tests;
