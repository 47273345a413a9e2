//! E2CM, extended Ethernet congestion management: ECM, and probes that measure the path's own queue (reconstruction).
//!
//! Probes must travel as frames do: one that waits in no queue measures none.
//!
//! The switch goes first: a probe sent before its last cut is not heard. Frames carry no tag, so switches
//! send no positive feedback.
//!
//! Source: the first slides of IBM Zurich's E2CM (March 2007): per-path ECM, a hybrid with end-to-end probing.
//! Only that outline could be read; the rest is ECM's law on a path's queue, which is a reading.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
ECM whose sources also measure by themselves. After a switch has limited a flow, the flow's source sends a
probe for each 30 KB, and the destination returns it. From the round trip and from what was sent meanwhile
the source computes how much of its own traffic waits on the path. It applies ECM's law to this amount:
below five frames the rate rises by a step, above them it falls by a share. Negative feedback from a switch
takes precedence.

            BCN with Fb < 0: ECM's cut
   free -------------------------------> limited --- each 30 KB sent: probe --> destination returns it
     ^      rate reaches C                  ^                                        |
     +--------------------------------------+  Qp = octets sent meanwhile * (1 - base RTT / RTT)
                                            |  Fbp = (Qp_eq - Qp) - W (Qp - Qp before)
                                            +-- Fbp > 0: rate += Gi Fbp Ru      Fbp < 0: rate *= 1 - Gd |Fbp|
";

use super::ecm;
use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::fast_path::RpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::parts::forward::forward;
use crate::parts::returning::ReturnsProbes;
use crate::roles::{Bcn, CpId, Endpoint, Probe, ProbeKind, ReactionPoint, RpCapabilities, Signal, SignalKind, Stamp};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// E2CM.
pub struct E2cm;

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct E2cmRpParams {
        /// Octets sent from a probe to the next.
        probe_octets: Bytes, "", Range::at_least(1.0);
        /// Octets of its own that a flow keeps queued on its path.
        path_set_point: Bytes, "Qp_eq", Range::at_least(1.0);
        limiter: ecm::EcmRpParams => gi, gd, w, rate_unit, min_rate, max_decrease, drift_every, drift_step, drift_restart;
    }
}

const RP_IBM_ZRL: E2cmRpParams =
    E2cmRpParams { probe_octets: Bytes::new(30_000), path_set_point: Bytes::new(7_500), limiter: ecm::RP_IBM_ZRL };

impl Family for E2cm {
    type CpParams = ecm::EcmCpParams;
    type RpParams = E2cmRpParams;
    type Cp = ecm::EcmCp;
    type Rp = E2cmRp;
    type Np = ReturnsProbes;
    const MEMBERS: &'static [Member<ecm::EcmCpParams, E2cmRpParams>] = &[Member {
        name: "e2cm",
        title: "E2CM, ECM with end-to-end probes (reconstruction)",
        source: "IBM Zurich, E2CM (2007)",
        generation: Generation::Qau,
        status: Status::Reconstruction,
        about: ABOUT,
        presets: &[Preset {
            name: "IBM_ZRL",
            about: "ECM as deck 004 has it, M = 150 KB. The probe each 30 KB and the path's set point of five frames are ours. \
                    Probes must travel as frames (feedback.kind = frames): ideal ones wait in no queue and measure none.",
            cp: ecm::CP_IBM_ZRL,
            rp: RP_IBM_ZRL,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[SignalKind::Bcn, SignalKind::Returned];
    const CP_SPEAKS: &'static [SignalKind] = &[SignalKind::Bcn];
    const NP_SPEAKS: &'static [SignalKind] = &[SignalKind::Returned];
    const FIELDS: (&'static [Field], &'static [Field]) = (ecm::EcmCpParams::FIELDS, E2cmRpParams::FIELDS);

    fn set_point(params: &ecm::EcmCpParams, _: &E2cmRpParams) -> Option<Bytes> {
        Some(params.set_point)
    }

    fn congestion_point(params: &ecm::EcmCpParams, id: CpId) -> ecm::EcmCp {
        ecm::Ecm::congestion_point(params, id)
    }

    fn reaction_point(params: &E2cmRpParams, endpoint: Endpoint) -> E2cmRp {
        E2cmRp {
            params: *params,
            line_rate: endpoint.line_rate,
            limiter: ecm::Ecm::reaction_point(&params.limiter, endpoint),
            sent: Bytes::ZERO,
            probe_at: None,
            heard_from: Instant::ZERO,
            base_rtt: Span::MAX,
            path_len: 0,
        }
    }

    fn notification_point(_: &E2cmRpParams) -> Option<ReturnsProbes> {
        Some(ReturnsProbes)
    }
}

/// The reaction point: ECM's limiter, and the probes.
#[derive(Clone, Debug)]
pub struct E2cmRp {
    params: E2cmRpParams,
    line_rate: BitRate,
    limiter: ecm::EcmRp,
    /// Octets sent.
    sent: Bytes,
    /// The count of octets at which the next probe goes, while limited.
    probe_at: Option<Bytes>,
    /// Probes sent before this are not heard.
    heard_from: Instant,
    /// The shortest round trip seen.
    base_rtt: Span,
    /// Qp when the last probe came back, octets.
    path_len: i64,
}

impl E2cmRp {
    /// Starts probing with the limiter, and ends it with it.
    const fn keep_probing(&mut self) {
        if self.limiter.holder().is_none() {
            self.probe_at = None;
        } else if self.probe_at.is_none() {
            self.probe_at = Some(self.sent);
            self.path_len = 0;
        }
    }

    /// The octets of this flow that were queued when `probe` came back at `now`.
    fn occupancy(&self, rtt: Span, probe: &Probe) -> i64 {
        let meanwhile = self.sent.saturating_sub(probe.sent).as_f64();
        let queued = rtt.ps().saturating_sub(self.base_rtt.ps()) as f64;
        (meanwhile * queued / rtt.ps().max(1) as f64) as i64
    }

    fn on_returned(&mut self, now: Instant, probe: &Probe, dice: &mut Dice) {
        let Some(cp) = self.limiter.holder() else { return };
        if probe.asked_at < self.heard_from || probe.asked_at > now {
            return;
        }
        let rtt = now.since(probe.asked_at);
        self.base_rtt = self.base_rtt.min(rtt);
        let len = self.occupancy(rtt, probe);
        let q_delta = len - std::mem::replace(&mut self.path_len, len);
        let q_offset = self.params.path_set_point.signed() - len;
        self.limiter.on_signal(now, &Signal::Bcn(Bcn { cp, q_offset, q_delta, stop: false }), dice);
    }
}

impl ReactionPoint for E2cmRp {
    forward!(ReactionPoint to self.limiter: next_wake, limit, pacing, gauge);

    #[inline]
    fn on_sent(&mut self, now: Instant, sent: Bytes, backlog: Bytes, dice: &mut Dice) -> Stamp {
        self.sent += sent;
        let _ = self.limiter.on_sent(now, sent, backlog, dice);
        Stamp::default()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, dice: &mut Dice) {
        match signal {
            Signal::Bcn(_) => {
                let before = self.limiter.gauge().current_rate;
                self.limiter.on_signal(now, signal, dice);
                if self.limiter.gauge().current_rate < before {
                    self.heard_from = now;
                }
            }
            Signal::Returned(probe) => self.on_returned(now, probe, dice),
            _ => {}
        }
        self.keep_probing();
    }

    fn on_wake(&mut self, now: Instant, dice: &mut Dice) {
        self.limiter.on_wake(now, dice);
        self.keep_probing();
    }

    fn capabilities(&self) -> RpCapabilities {
        RpCapabilities::PROBING_LIMITER
    }

    #[inline]
    fn take_probe(&mut self, now: Instant) -> Option<Probe> {
        if self.sent < self.probe_at? {
            return None;
        }
        self.probe_at = Some(self.sent + self.params.probe_octets);
        Some(Probe { kind: ProbeKind::Path, asked_at: now, sent: self.sent, rate: self.line_rate })
    }
}

impl RpFastPath for E2cmRp {}

#[cfg(test)]
mod tests;
