//! QCN+ (QCN-SP): QCN, and probes that fetch feedback of either sign and measure the round trip (reconstruction).
//!
//! What the reaction point makes of a known round trip (gain tuning r1.01): one cut in each; byte-counter cycles
//! of at least 2 RTT rate octets; W grows with RTT / N, N being link capacity over rate; the gain of positive
//! feedback halves for each millisecond. Without answers it is QCN.
//!
//! Source: deck 004: QCN+, Gain Tuning r1.01, and Mandatory and Optional Behavioral Spec of QCN+. The deck lists
//! what each side must and may do, and no protocol: when a probe is sent, who answers a path probe, the factor of
//! W and the law of positive feedback are readings.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
QCN, with a second control loop beside it. A limiter sends a small probe each millisecond or round trip. The
congestion point that it hears from answers with queue offset and growth, of either sign. A path probe is
answered by the first port without room, or returned by the destination. Answers raise the rate where there
is room, and measure the round trip. The longer the round trip, the gentler the loop: one cut in each round
trip, longer cycles, more weight on growth, half the raise for each millisecond. Without answers it is plain
QCN.

             CNM or answer with Fb < 0, at most one each RTT: QCN's cut
   free ------------------------------------------------------------> limited, QCN's own climb
     ^       rate reaches C                                              |  ^  answer with Fb > 0:
     +-------------------------------------------------------------------+  |  rate += Gi Fb C / 2^(RTT / 1 ms)
                                                                            |
   probe loop while limited:   ask --> wait --answer--> RTT = now - asked --+--> next period --> ask
                                         |  no answer in time: RTT forgotten, plain QCN      ^
                                         +---------------------------------------------------+
";

mod rp;

pub use rp::QcnPlusRp;

use super::qcn;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::fast_path::CpFastPath;
use crate::params::{Field, Range};
use crate::parts::feedback::Scale;
use crate::parts::forward::forward;
use crate::parts::returning::ReturnsProbes;
use crate::roles::{Answer, CongestionPoint, CpId, Endpoint, Probe, ProbeAction, ProbeKind, Queue, Signal, SignalKind};
use crate::{choice, params};
use qcnlab_units::{Bytes, Instant, Span};

/// QCN+.
pub struct QcnPlus;

choice! {
    /// Which probes a limiter sends.
    pub enum Probing {
        /// To the congestion point of the last message, which answers.
        Directed = "directed",
        /// Along the path: the first congestion point without room answers, else the destination.
        Path = "path",
        /// Directed and path probes in turn.
        Both = "both",
        /// None.
        None = "none",
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct QcnPlusRpParams {
        /// Which probes a limiter sends.
        probing: Probing, "", Range::ANY;
        /// From a probe to the next; longer where the round trip is.
        probe_every: Span, "", Range::at_least(1e6);
        /// A probe without an answer after so long is lost, and the round trip unknown.
        answer_timeout: Span, "", Range::at_least(1e6);
        /// Set point of the congestion points, by which the reaction point scales feedback.
        set_point: Bytes, "Qeq", Range::at_least(100.0);
        /// Bits of feedback.
        fb_bits: u32, "8-bit quantization", Range::between(3.0, 8.0);
        /// Weight of queue growth against queue offset while the round trip is unknown or short.
        w: f64, "baseW", Range::between(0.000_976_562_5, 1024.0);
        /// What each 100 us of round trip adds to W for a flow that fills the link.
        w_factor: f64, "factor", Range::at_least(0.0);
        /// W is never larger.
        w_max: f64, "", Range::between(0.0, 1024.0);
        /// Share of the line rate that a unit of positive feedback adds at RTT 0; 0 ignores positive feedback.
        gi: f64, "Gi", Range::between(0.0, 1.0);
        /// The gain of positive feedback halves for so much round trip.
        gi_half: Span, "", Range::POSITIVE;
        /// Positive feedback a path probe stands for when its destination returns it.
        returned_fb: u32, "", Range::between(0.0, 255.0);
        /// Byte-counter cycles are at least so many round trips of octets long at the current rate.
        cycle_round_trips: f64, "2 RTT rate", Range::at_least(0.0);
        /// Whether only one cut in each round trip is made.
        one_cut_per_rtt: bool, "", Range::ANY;
        limiter: qcn::QcnRpParams => clock, time_reset, byte_reset, threshold, ai_rate, gd, min_dec_fac, min_rate, short_cycles,
            jitter_width, target_rate_reduction, drift_every, drift_step, drift_restart;
    }
}

const RP_IBM_ZRL: QcnPlusRpParams = QcnPlusRpParams {
    probing: Probing::Directed,
    probe_every: Span::from_ms(1),
    answer_timeout: Span::from_ms(10),
    set_point: qcn::CP_IBM_ZRL.set_point,
    fb_bits: qcn::CP_IBM_ZRL.fb_bits,
    w: qcn::CP_IBM_ZRL.w,
    w_factor: 2.0,
    w_max: 32.0,
    gi: 0.1 / 255.0,
    gi_half: Span::from_ms(1),
    returned_fb: 1,
    cycle_round_trips: 2.0,
    one_cut_per_rtt: true,
    limiter: qcn::RP_IBM_ZRL,
};

const RP_IBM_ZRL_M1500KB: QcnPlusRpParams =
    QcnPlusRpParams { set_point: qcn::CP_IBM_ZRL_M1500KB.set_point, ..RP_IBM_ZRL };

impl Family for QcnPlus {
    type CpParams = qcn::QcnCpParams;
    type RpParams = QcnPlusRpParams;
    type Cp = QcnPlusCp;
    type Rp = QcnPlusRp;
    type Np = ReturnsProbes;
    const MEMBERS: &'static [Member<qcn::QcnCpParams, QcnPlusRpParams>] = &[Member {
        name: "qcn_plus",
        title: "QCN+, QCN with probes (reconstruction)",
        source: "deck 004, QCN+",
        generation: Generation::Qau,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[
            Preset {
                name: "IBM_ZRL",
                about: "Deck 004 at M = 150 KB, with directed probes. The deck gives the rules of gain tuning and no factor of \
                        W: 2 for each 100 us, within 32, is ours; so are the probe each 1 ms and Gi, ECM's 0.1/255.",
                cp: qcn::CP_IBM_ZRL,
                rp: RP_IBM_ZRL,
            },
            Preset {
                name: "IBM_ZRL_M1500KB",
                about: "Deck 004, Simulation Parameters of its RTT study: the same at M = 1.5 MB, set point 375 KB.",
                cp: qcn::CP_IBM_ZRL_M1500KB,
                rp: RP_IBM_ZRL_M1500KB,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::Answer, SignalKind::Returned];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Cnm, SignalKind::Answer];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::Returned];
    const FIELDS: (&'static [Field], &'static [Field]) = (qcn::QcnCpParams::FIELDS, QcnPlusRpParams::FIELDS);

    fn set_point(params: &qcn::QcnCpParams, _: &Self::RpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &qcn::QcnCpParams, id: CpId) -> QcnPlusCp {
        QcnPlusCp { params: *params, id, sampler: qcn::QcnCp::new(*params, id) }
    }

    fn reaction_point(params: &QcnPlusRpParams, Endpoint { line_rate, .. }: Endpoint) -> QcnPlusRp {
        QcnPlusRp::new(*params, line_rate)
    }

    fn notification_point(params: &QcnPlusRpParams) -> Option<ReturnsProbes> {
        (params.probing != Probing::None).then_some(ReturnsProbes)
    }
}

/// The congestion point: QCN's, and it answers probes.
#[derive(Clone, Debug)]
pub struct QcnPlusCp {
    params: qcn::QcnCpParams,
    id: CpId,
    sampler: qcn::QcnCp,
}

impl CongestionPoint for QcnPlusCp {
    forward!(CongestionPoint to self.sampler: on_arrival);

    fn on_probe(&mut self, _: Instant, probe: &mut Probe, queue: Queue) -> ProbeAction {
        let (q_offset, q_delta) = self.sampler.load(queue.len);
        let answers = match probe.kind {
            ProbeKind::Directed(cp) => cp == self.id,
            ProbeKind::Path => self.scale().quantize(q_offset, q_delta).negative,
        };
        if !answers {
            return ProbeAction::Pass;
        }
        let Probe { asked_at, .. } = *probe;
        ProbeAction::Answer(Signal::Answer(Answer { cp: self.id, asked_at, q_offset, q_delta, capacity: queue.rate }))
    }
}

impl CpFastPath for QcnPlusCp {}

impl QcnPlusCp {
    const fn scale(&self) -> Scale {
        let qcn::QcnCpParams { set_point, w, fb_bits: bits, quantizer, .. } = self.params;
        Scale { set_point, w, bits, quantizer }
    }
}

#[cfg(test)]
mod tests;
