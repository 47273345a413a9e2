//! HPCC with PINT: an octet of telemetry, which ports write by the logarithm of their load, in place of 42.
//!
//! Source: Ben Basat and others, PINT: Probabilistic In-band Network Telemetry (SIGCOMM 2020), by the simulator of HPCC's
//! authors (alibaba-edu/High-Precision-Congestion-Control at 9f4be2a, mode 10), restated. The simulator reckons with
//! tables of logarithms; here the formulas behind them are computed. It has a form of two octets, too, which is not here.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Each port keeps a mean of its load, by HPCC's measure. On a packet that starts to leave it writes that load as
an octet: the logarithm to the base 1.05, rounded up or down at random, so that no error adds up. A packet keeps the largest
octet of its path, and the acknowledgement brings it back. Of the acknowledgements the sender takes a share, drawn
at random, and does what HPCC does with the load that the octet stands for. For traffic over RoCE.

   each port:  dt since the packet before, at most T:
                 U = U * (T - dt)/T + queue * dt / (B * T * T) + (octets sent since) / (B * T)
   octet:      c = 1 + log_1.05(U / 0.001), rounded at random;  0 below;  read back as 0.001 * 1.05^(c - 1)

   an acknowledgement, with probability `sample`:
     U >= eta, or stage >= max_stage:   R = Rc / (U / eta) + R_AI       stage = 0  } kept, and Rc = R, once a
     otherwise:                         R = Rc + R_AI                   stage += 1 } round trip
";

pub mod code;
mod rp;

pub use rp::HpccPintRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::dice::Dice;
use crate::family::hpcc::{HpccRpParams, RP_HPCC_SIMULATOR as RP_HPCC};
use crate::fast_path::CpFastPath;
use crate::params;
use crate::params::{Field, Range};
use crate::roles::{
    Arrival, CongestionPoint, CpAction, CpCapabilities, CpId, Endpoint, NoNotification, Queue, SignalKind,
};
use qcnlab_units::{Bytes, Instant, Span};

/// HPCC with PINT.
pub struct HpccPint;

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PintCpParams {
        /// The time over which a port takes the mean of its load: the base round-trip time of the network.
        mean_over: Span, "T, m_maxRtt", Range::at_least(1e3);
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HpccPintRpParams {
        /// The share of acknowledgements that it takes, drawn at random.
        sample: f64, "p, PINT_PROB", Range::above_zero_to(1.0);
        hpcc: HpccRpParams => form, eta, max_stage, additive_window, expected_flows, ai_rate, steps_for, min_rate, window,
            base_rtt, base_rtt_of, header, ack_header;
    }
}

const CP_HPCC_SIMULATOR: PintCpParams = PintCpParams { mean_over: Span::from_us(13) };

const RP_HPCC_SIMULATOR: HpccPintRpParams = HpccPintRpParams {
    sample: 1.0,
    hpcc: HpccRpParams { header: Bytes::new(1), ack_header: Bytes::new(1), ..RP_HPCC },
};

impl Family for HpccPint {
    type CpParams = PintCpParams;
    type RpParams = HpccPintRpParams;
    type Cp = PintCp;
    type Rp = HpccPintRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<PintCpParams, HpccPintRpParams>] = &[Member {
        name: "hpcc_pint",
        title: "HPCC with PINT",
        source: "Ben Basat and others, PINT (2020); HPCC's simulator",
        generation: Generation::TelemetryAndTargets,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "HPCC_SIMULATOR",
                about: "As the simulator of HPCC's authors runs it: the rate is the state, base 1.05, every acknowledgement counts. The \
                        13 us over which ports take the mean are those of its fabric: set cp.mean_over to the longest round trip \
                        of yours. The load of code 1, 0.001, is ours.",
                cp: CP_HPCC_SIMULATOR,
                rp: RP_HPCC_SIMULATOR,
            },
            Preset {
                name: "HPCC_SIMULATOR_SAMPLED",
                about: "As HPCC_SIMULATOR, with one acknowledgement in 16 (PINT_PROB 0.0625).",
                cp: CP_HPCC_SIMULATOR,
                rp: HpccPintRpParams { sample: 1.0 / 16.0, ..RP_HPCC_SIMULATOR },
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (PintCpParams::FIELDS, HpccPintRpParams::FIELDS);

    fn set_point(_: &PintCpParams, _: &HpccPintRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &PintCpParams, _: CpId) -> PintCp {
        PintCp { mean_over: params.mean_over, load: 0.0, last: Instant::ZERO, sent: Bytes::ZERO }
    }

    fn reaction_point(params: &HpccPintRpParams, endpoint: Endpoint) -> HpccPintRp {
        HpccPintRp::new(*params, endpoint)
    }
}

/// The congestion point: the mean load of its port.
#[derive(Clone, Debug)]
pub struct PintCp {
    mean_over: Span,
    /// U.
    load: f64,
    /// When the last packet started, and what the port had sent before it.
    last: Instant,
    sent: Bytes,
}

impl PintCp {
    /// Takes a packet into the mean: it starts now, and leaves `queue` behind; before it the port had sent `sent` octets.
    fn measure(&mut self, now: Instant, sent: Bytes, queue: Queue) -> f64 {
        let mean_over = self.mean_over.ps() as f64;
        let passed = (now.since(self.last).ps() as f64).min(mean_over) / mean_over;
        let carried = queue.rate.as_f64() / 8.0e12 * mean_over;
        let octets = sent.saturating_sub(self.sent).as_f64();
        self.load = self.load * (1.0 - passed) + queue.len.as_f64() * passed / carried + octets / carried;
        (self.last, self.sent) = (now, sent);
        self.load
    }
}

impl CongestionPoint for PintCp {
    fn capabilities(&self) -> CpCapabilities {
        CpCapabilities { codes_departures: true, ..CpCapabilities::ARRIVALS_ONLY }
    }

    #[inline]
    fn on_arrival(&mut self, _: Instant, _: &Arrival, _: Queue, _: &mut Dice) -> CpAction {
        CpAction::Nothing
    }

    #[inline]
    fn departure_code(&mut self, now: Instant, sent: Bytes, queue: Queue, dice: &mut Dice) -> u8 {
        code::write(self.measure(now, sent, queue), dice)
    }
}

impl CpFastPath for PintCp {
    fn ignores_arrivals(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
