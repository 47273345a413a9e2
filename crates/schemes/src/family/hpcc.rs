//! HPCC: a window, or a rate, set by the load that switches report of themselves.
//!
//! There are two machines under this name, and `form` keeps them apart. As published, the window is what it controls, and
//! the rate that paces it follows. In the authors' simulator the rate is the state, and the window follows.
//!
//! Source: Li and others, HPCC: High Precision Congestion Control (SIGCOMM 2019), Algorithm 1. The form of the simulator
//! is restated from alibaba-edu/High-Precision-Congestion-Control at 9f4be2a.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Each port writes on a packet that leaves it: the time, its queue, the octets it has sent, its rate. Acknowledgements
carry this back. The sender computes how full the fullest link of its path is, and sets its window so that this link
would be filled to a share eta, by default 95 %. For traffic over RoCE.

   each hop:  u = min(queue, queue before) / (B * T) + (octets sent since) / (time since) / B
   the largest u, with tau = time since, at most T:   U = (1 - tau/T) * U + (tau/T) * u

   each acknowledgement:
     U >= eta, or stage >= max_stage:   W = Wc / (U / eta) + W_AI       stage = 0  } kept, and Wc = W, once a
     otherwise:                         W = Wc + W_AI                   stage += 1 } round trip

   rate = W / T;  in steady state U = eta + n * W_AI / (B * T) for n flows
";

mod rp;

pub use rp::HpccRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params::{Field, Range};
use crate::parts::telemetry::{TelemetryCp, TelemetryParams};
use crate::parts::window::{BaseRttOf, WindowRule};
use crate::roles::{CpId, Endpoint, NoNotification, SignalKind};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Span};

/// HPCC.
pub struct Hpcc;

choice! {
    /// What HPCC controls.
    pub enum HpccForm {
        /// The window, as published; the rate follows.
        Window = "window",
        /// The rate, as the authors' simulator has it; `window` says how the window follows.
        Rate = "rate",
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct HpccRpParams {
        /// Which of the two machines.
        form: HpccForm, "", Range::ANY;
        /// The load that links are steered to.
        eta: f64, "eta, U_TARGET", Range::above_zero_to(1.0);
        /// Additive steps in a row before the next multiplicative one.
        max_stage: u32, "maxStage, MI_THRESH", Range::between(0.0, 1000.0);
        /// Additive step of the window, form window; unset, the largest for which `expected_flows` leave no queue.
        additive_window: Option<Bytes>, "W_AI", Range::at_least(1.0);
        /// Flows that a link is expected to carry, for the additive step of the window.
        expected_flows: u32, "N", Range::between(1.0, 1e6);
        /// Additive step of the rate, form rate.
        ai_rate: BitRate, "RATE_AI", Range::at_least(0.0);
        /// The line rate that `ai_rate` is for: at another it grows and shrinks with it. Unset, it is the same at every
        /// host.
        steps_for: Option<BitRate>, "", Range::POSITIVE;
        /// The rate never falls below this.
        min_rate: BitRate, "MIN_RATE", Range::POSITIVE;
        /// How many octets may be in flight, form rate.
        window: WindowRule, "HAS_WIN, VAR_WIN", Range::ANY;
        /// The base round-trip time, the same for all flows in the paper; unset, what `base_rtt_of` says.
        base_rtt: Option<Span>, "T", Range::at_least(1e3);
        /// Which base round-trip time counts, where none is given.
        base_rtt_of: BaseRttOf, "GLOBAL_T", Range::ANY;
        /// Octets that telemetry adds to each data packet.
        header: Bytes, "", Range::between(0.0, 256.0);
        /// Octets that telemetry adds to each acknowledgement.
        ack_header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const RP_SIGCOMM2019: HpccRpParams = HpccRpParams {
    form: HpccForm::Window,
    eta: 0.95,
    max_stage: 5,
    additive_window: None,
    expected_flows: 100,
    ai_rate: BitRate::mbps(50),
    steps_for: Some(BitRate::gbps(100)),
    min_rate: BitRate::mbps(10),
    window: WindowRule::Scaled,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Network,
    header: Bytes::new(42),
    ack_header: Bytes::new(42),
};

const CP_HPCC_SIMULATOR: TelemetryParams =
    TelemetryParams { sent_unit: Bytes::new(512), queue_unit: Bytes::new(320), time_unit: Span::from_ns(1) };

pub(super) const RP_HPCC_SIMULATOR: HpccRpParams = HpccRpParams {
    form: HpccForm::Rate,
    max_stage: 0,
    ai_rate: BitRate::mbps(40),
    min_rate: BitRate::gbps(1),
    ack_header: Bytes::new(28),
    ..RP_SIGCOMM2019
};

impl Family for Hpcc {
    type CpParams = TelemetryParams;
    type RpParams = HpccRpParams;
    type Cp = TelemetryCp;
    type Rp = HpccRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<TelemetryParams, HpccRpParams>] = &[Member {
        name: "hpcc",
        title: "HPCC",
        source: "Li and others, HPCC (2019)",
        generation: Generation::TelemetryAndTargets,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "SIGCOMM2019",
                about: "As published: eta 0.95, five additive steps, W_AI for 100 flows, 42 octets of telemetry for five hops on \
                        data and acknowledgements; one T for all flows, that of the longest way. The window is capped at its first value, line rate times base round-trip \
                        time: the paper gives no cap, the authors' simulator caps the rate. The least rate of 10 Mb/s is ours.",
                cp: TelemetryParams::EXACT,
                rp: RP_SIGCOMM2019,
            },
            Preset {
                name: "HPCC_SIMULATOR",
                about: "As the authors' simulator runs it: the rate is the state, no additive stages, steps of 40 Mb/s and telemetry \
                        in units for 100 Gb/s (INT_MULTI 4). Its counters wrap; ours do not.",
                cp: CP_HPCC_SIMULATOR,
                rp: RP_HPCC_SIMULATOR,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (TelemetryParams::FIELDS, HpccRpParams::FIELDS);

    fn set_point(_: &TelemetryParams, _: &HpccRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &TelemetryParams, _: CpId) -> TelemetryCp {
        TelemetryCp::new(*params)
    }

    fn reaction_point(params: &HpccRpParams, endpoint: Endpoint) -> HpccRp {
        HpccRp::new(*params, endpoint)
    }
}

#[cfg(test)]
mod tests;
