//! QCN whose feedback is computed in the network card, from queue lengths that the switch sends.
//!
//! ```text
//!   switch:  each 1 KB of arrivals, while something is queued:  queue length --> source of the frame
//!   card:    counts the octets they stand for; where a switch would sample, takes the length:
//!            Fb = -(offset + w growth) < 0 --> its own limiter, as a CNM would
//! ```
//!
//! Silence means an empty queue, and changes nothing: neither the count nor the length remembered. The next
//! sample follows from the feedback, by QCN's table, whatever its sign. The limiter is QCN's, and lets pass
//! whole multiples of a rate step.
//!
//! Source: deck 002, Fb Value Computation at the NIC Side and Typical Parameter Values. What a message stands
//! for, that each congestion point has a count of its own, and where the rate is rounded are readings.

use super::qcn;
use crate::definition::{Family, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::{CpFastPath, RpFastPath};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::feedback::{Quantizer, Scale};
use crate::parts::forward::forward;
use crate::parts::sampling::{self, Sampler};
use crate::roles::{
    Arrival, Cnm, CongestionPoint, CpAction, CpId, Gauge, NoNotification, Queue, QueueLen, ReactionPoint, Signal,
    SignalKind,
};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// QCN with feedback computed in the network card.
pub struct NicFb;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct CpParams {
        /// Octets of arrivals from one message to the next.
        message_every: Bytes, "ConMes, sampling rate", Range::at_least(1.0);
        /// Whether discarded frames count as arrivals.
        count_discarded: bool, "", Range::ANY;
    }
}

params! {
    /// Parameters of the network card: the congestion point's that it stands in for, and the reaction point's.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RpParams {
        /// Queue length the loop steers to.
        set_point: Bytes, "Qeq", Range::at_least(100.0);
        /// Weight of queue growth against queue offset in the feedback.
        w: f64, "w", Range::between(0.000_976_562_5, 1024.0);
        /// Octets between samples while there is no congestion.
        sample_base: Bytes, "base marking", Range::at_least(1.0);
        /// Octets of arrivals a message stands for; unset, what it says itself.
        message_octets: Option<Bytes>, "1 KB", Range::at_least(1.0);
        /// Bits of the quantized feedback.
        fb_bits: u32, "Fb", Range::between(3.0, 8.0);
        /// Full width of the random spread of samples and cycles: 0.3 is 0.85 to 1.15.
        jitter_width: f64, "margin of randomness", Range::between(0.0, 1.9);
        /// The limiter's rates are multiples of this, rounded down; unset, any rate.
        rate_step: Option<BitRate>, "", Range::POSITIVE;
        /// Length of a timer cycle in fast recovery, and half of it later.
        time_reset: Span, "Timer period", Range::at_least(1e6);
        /// Length of a byte-counter cycle in fast recovery, and half of it later.
        byte_reset: Bytes, "Byte counter limit", Range::at_least(1.0);
        /// Cycles of fast recovery.
        threshold: u32, "FR threshold", Range::between(1.0, 1000.0);
        /// Step of the target rate in active increase.
        ai_rate: BitRate, "R_AI", Range::at_least(0.0);
        /// Step of the target rate in hyper-active increase.
        hai_rate: BitRate, "R_HAI", Range::at_least(0.0);
        /// How much a hyper-active increase adds.
        hai_step: qcn::HaiStep, "", Range::ANY;
        /// Decrease per unit of quantized feedback.
        gd: f64, "Gd", Range::between(0.0, 1.0);
        /// The rate is never cut below this.
        min_rate: BitRate, "Min rate", Range::POSITIVE;
        /// When a stage counts as past fast recovery.
        stage_test: qcn::StageTest, "", Range::ANY;
        /// At the end of the first cycle a target above ten times the current rate falls to an eighth.
        target_rate_reduction: bool, "TRR", Range::ANY;
        /// How often the rate drifts up by itself, whatever is heard; 0 s for never.
        drift_every: Span, "drift interval, Td", Range::at_least(0.0);
        /// How far it drifts each time.
        drift_step: BitRate, "drift increase, Rd", Range::at_least(0.0);
    }
}

const CP_DECK002: CpParams = CpParams { message_every: Bytes::new(1000), count_discarded: false };

const RP_DECK002: RpParams = RpParams {
    set_point: Bytes::new(33_000),
    w: 2.0,
    sample_base: Bytes::new(150_000),
    message_octets: Some(Bytes::new(1000)),
    fb_bits: 6,
    jitter_width: 0.3,
    rate_step: None,
    time_reset: Span::from_ms(10),
    byte_reset: Bytes::new(150_000),
    threshold: 5,
    ai_rate: BitRate::mbps(5),
    hai_rate: BitRate::mbps(50),
    hai_step: qcn::HaiStep::Scaled,
    gd: 1.0 / 128.0,
    min_rate: BitRate::mbps(10),
    stage_test: qcn::StageTest::Above,
    target_rate_reduction: true,
    drift_every: Span::ZERO,
    drift_step: BitRate::ZERO,
};

/// The values in brackets on the slide: what the hardware has.
const RP_NEC_FULCRUM_10G: RpParams = RpParams {
    rate_step: Some(BitRate::bps(3_200_000)),
    ai_rate: BitRate::bps(3_100_000),
    hai_rate: BitRate::bps(51_200_000),
    min_rate: BitRate::bps(9_600_000),
    ..RP_DECK002
};

impl Family for NicFb {
    type CpParams = CpParams;
    type RpParams = RpParams;
    type Cp = Cp;
    type Rp = Rp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<CpParams, RpParams>] = &[Member {
        name: "nic_fb",
        title: "QCN with feedback computed in the network card",
        source: "deck 002",
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
    const FIELDS: (&'static [Field], &'static [Field]) = (CpParams::FIELDS, RpParams::FIELDS);

    fn set_point(_: &CpParams, params: &RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &CpParams, id: CpId) -> Cp {
        Cp { params: *params, id, arrived: Bytes::ZERO }
    }

    fn reaction_point(params: &RpParams, line_rate: BitRate) -> Rp {
        let limiter = qcn::RpParams {
            time_reset: params.time_reset,
            byte_reset: params.byte_reset,
            threshold: params.threshold,
            ai_rate: params.ai_rate,
            hai_rate: params.hai_rate,
            hai_step: params.hai_step,
            gd: params.gd,
            min_rate: params.min_rate,
            jitter_width: params.jitter_width,
            stage_test: params.stage_test,
            target_rate_reduction: params.target_rate_reduction,
            drift_every: params.drift_every,
            drift_step: params.drift_step,
            ..qcn::RP_DECK001
        };
        Rp { params: *params, line_rate, limiter: qcn::Rp::new(limiter, line_rate), heard: Vec::new() }
    }
}

const ABOUT: &str = "\
A switch that cannot compute feedback sends its queue length to the source of a frame for each 1 KB that
arrives, as long as something is queued. The network card takes some of these messages as samples,
computes the feedback as a QCN switch would, and hands it to its own limiter when it is negative. The
limiter is QCN's with a timer of 10 ms.

   switch -- queue length, each 1 KB --> card: counts, samples, Fb < 0 --> limiter: current *= 1 - Gd Fb
";

/// The congestion point: tells how long its queue is.
#[derive(Clone, Debug)]
pub struct Cp {
    params: CpParams,
    id: CpId,
    /// Octets since the count last came to a message.
    arrived: Bytes,
}

impl CongestionPoint for Cp {
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

impl CpFastPath for Cp {}

/// The reaction point: samples what it is told, and limits as QCN does.
#[derive(Clone, Debug)]
pub struct Rp {
    params: RpParams,
    line_rate: BitRate,
    limiter: qcn::Rp,
    /// A count for each congestion point heard from.
    heard: Vec<(CpId, Sampler)>,
}

impl Rp {
    /// Counts a message; the feedback if it is a sample and tells of congestion.
    fn sample(&mut self, message: &QueueLen, dice: &mut Dice) -> Option<Cnm> {
        let RpParams { set_point, w, fb_bits: bits, sample_base, message_octets, jitter_width, .. } = self.params;
        let known = self.heard.iter().position(|(cp, _)| *cp == message.cp);
        let place = known.unwrap_or_else(|| {
            self.heard.push((message.cp, Sampler::new(sample_base)));
            self.heard.len() - 1
        });
        let sampler = &mut self.heard[place].1;
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

impl ReactionPoint for Rp {
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

impl RpFastPath for Rp {
    forward!(RpFastPath to self.limiter: on_sent_may_be_late);
}

#[cfg(test)]
mod tests;
