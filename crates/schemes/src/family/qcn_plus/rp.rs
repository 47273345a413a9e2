//! The reaction point: QCN's limiter, tuned by what probes bring back.

use super::{Probing, QcnPlusRpParams};
use crate::dice::Dice;
use crate::family::qcn;
use crate::fast_path::RpFastPath;
use crate::parts::feedback::{Quantized, Quantizer, Scale};
use crate::parts::forward::forward;
use crate::roles::{Cnm, CpId, Probe, ProbeKind, ReactionPoint, RpCapabilities, Signal, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// The reaction point: QCN's limiter, and the probe loop that tunes it.
#[derive(Clone, Debug)]
pub struct QcnPlusRp {
    params: QcnPlusRpParams,
    line_rate: BitRate,
    limiter: qcn::QcnRp,
    /// The congestion point of the last message.
    target: CpId,
    /// What the last answer said of its link; the line rate until then.
    capacity: BitRate,
    /// The round trip of the last answer, while answers come.
    pub(super) rtt: Option<Span>,
    probing: ProbeLoop,
    /// Whether the last probe was a path probe.
    last_was_path: bool,
}

/// The probe loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeLoop {
    /// No limiter, or no probing.
    Off,
    /// A probe is to be sent.
    Due,
    /// A probe is on its way since `asked_at`, given up at `until`.
    Waiting { kind: ProbeKind, asked_at: Instant, until: Instant },
    /// The next probe is due at `until`.
    Resting { until: Instant },
}

impl QcnPlusRp {
    /// A reaction point that does not limit yet.
    pub(super) fn new(params: QcnPlusRpParams, line_rate: BitRate) -> QcnPlusRp {
        QcnPlusRp {
            params,
            line_rate,
            limiter: qcn::QcnRp::new(params.limiter, line_rate),
            target: CpId(0),
            capacity: line_rate,
            rtt: None,
            probing: ProbeLoop::Off,
            last_was_path: false,
        }
    }

    /// W for the round trip and the rate there is: baseW + factor (RTT / 100 us) / N.
    pub(super) fn w(&self) -> f64 {
        let Some(rtt) = self.rtt else { return self.params.w };
        let n = self.capacity.as_f64() / self.limiter.gauge().current_rate.as_f64();
        let hundreds = rtt.ps() as f64 / Span::from_us(100).ps() as f64;
        (self.params.w + self.params.w_factor * hundreds / n).min(self.params.w_max).max(self.params.w)
    }

    /// Feedback as the reaction point sees it: on the congestion points' scale, with its own W.
    fn feedback(&self, q_offset: i64, q_delta: i64) -> Quantized {
        let QcnPlusRpParams { set_point, w, fb_bits: bits, .. } = self.params;
        let scale = Scale { set_point, w, bits, quantizer: Quantizer::Floor };
        scale.quantize_weighted(q_offset, q_delta, self.w())
    }

    /// What a unit of positive feedback adds: Gi halves for each `gi_half` of round trip.
    fn raise(&mut self, units: u32) {
        let halvings = self.rtt.map_or(0.0, |rtt| rtt.ps() as f64 / self.params.gi_half.ps() as f64);
        let gain = self.params.gi * libm::exp2(-halvings) * f64::from(units);
        self.limiter.raise(self.line_rate.scaled_rounded_down(gain));
    }

    fn on_cnm(&mut self, now: Instant, cnm: &Cnm, dice: &mut Dice) {
        let seen = if self.rtt.is_some() {
            Cnm { quantized_fb: self.feedback(cnm.q_offset, cnm.q_delta).congestion(), ..*cnm }
        } else {
            *cnm
        };
        self.target = cnm.cp;
        self.cut(now, seen, dice);
    }

    /// Negative feedback, from a message or an answer, goes to QCN's limiter.
    fn cut(&mut self, now: Instant, cnm: Cnm, dice: &mut Dice) {
        self.tune();
        self.limiter.on_signal(now, &Signal::Cnm(cnm), dice);
        self.keep_probing();
    }

    /// Carries the round trip into the limiter.
    fn tune(&mut self) {
        let QcnPlusRpParams { cycle_round_trips, one_cut_per_rtt, .. } = self.params;
        let rtt = self.rtt.unwrap_or(Span::ZERO);
        let octets =
            self.limiter.gauge().current_rate.bytes_in_rounded_down(rtt.scaled_rounded_down(cycle_round_trips));
        self.limiter.set_byte_reset(self.params.limiter.byte_reset.max(octets));
        self.limiter.set_cut_spacing(if one_cut_per_rtt { rtt } else { Span::ZERO });
    }

    /// Starts the probe loop with the limiter, and ends it with it.
    fn keep_probing(&mut self) {
        if !self.limiter.is_limiting() || self.params.probing == Probing::None {
            self.probing = ProbeLoop::Off;
        } else if self.probing == ProbeLoop::Off {
            self.probing = ProbeLoop::Due;
        }
    }

    /// Something came back: whether it is what was asked for. If so, the round trip is known and the loop rests.
    fn accept(&mut self, now: Instant, asked_at: Instant) -> Option<ProbeKind> {
        let ProbeLoop::Waiting { kind, asked_at: ours, .. } = self.probing else { return None };
        if ours != asked_at || now < ours {
            return None;
        }
        let rtt = now.since(asked_at);
        self.rtt = Some(rtt);
        self.probing = ProbeLoop::Resting { until: asked_at + rtt.max(self.params.probe_every) };
        Some(kind)
    }

    fn on_answer(&mut self, now: Instant, cp: CpId, q_offset: i64, q_delta: i64, dice: &mut Dice) {
        let fb = self.feedback(q_offset, q_delta);
        if fb.negative {
            self.cut(now, Cnm { cp, quantized_fb: fb.size, q_offset, q_delta }, dice);
        } else {
            self.raise(u32::from(fb.size));
            self.tune();
            self.keep_probing();
        }
    }

    fn next_kind(&self) -> ProbeKind {
        match self.params.probing {
            Probing::Path => ProbeKind::Path,
            Probing::Both if !self.last_was_path => ProbeKind::Path,
            _ => ProbeKind::Directed(self.target),
        }
    }
}

impl ReactionPoint for QcnPlusRp {
    forward!(ReactionPoint to self.limiter: limit, pacing, gauge);

    #[inline]
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        let stamp = self.limiter.on_sent(now, sent, backlog, dice);
        self.keep_probing();
        stamp
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        match signal {
            Signal::Cnm(cnm) => self.on_cnm(now, cnm, dice),
            Signal::Answer(answer) if self.accept(now, answer.asked_at).is_some() => {
                self.capacity = answer.capacity;
                self.on_answer(now, answer.cp, answer.q_offset, answer.q_delta, dice);
            }
            Signal::Returned(probe) if self.accept(now, probe.asked_at) == Some(ProbeKind::Path) => {
                self.raise(self.params.returned_fb);
                self.tune();
                self.keep_probing();
            }
            _ => {}
        }
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        match self.probing {
            ProbeLoop::Waiting { until, .. } if now >= until => {
                self.rtt = None;
                self.tune();
                self.probing = ProbeLoop::Due;
            }
            ProbeLoop::Resting { until } if now >= until => self.probing = ProbeLoop::Due,
            _ => {}
        }
        self.limiter.on_wake(now, dice);
        self.keep_probing();
    }

    #[inline]
    fn next_wake(&self) -> Instant {
        let probe = match self.probing {
            ProbeLoop::Off | ProbeLoop::Due => Instant::NEVER,
            ProbeLoop::Waiting { until, .. } | ProbeLoop::Resting { until } => until,
        };
        probe.min(self.limiter.next_wake())
    }

    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities { sends_probes: self.params.probing != Probing::None, ..RpCapabilities::LIMITER }
    }

    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        if self.probing != ProbeLoop::Due {
            return None;
        }
        let kind = self.next_kind();
        self.last_was_path = kind == ProbeKind::Path;
        self.probing = ProbeLoop::Waiting { kind, asked_at: now, until: now + self.params.answer_timeout };
        Some(Probe { kind, asked_at: now, sent: Bytes::ZERO, rate: self.line_rate })
    }
}

impl RpFastPath for QcnPlusRp {}
