//! PowerTCP: a window divided by the power of the path, which switches report the parts of.
//!
//! There are two machines under this name, and `form` keeps them apart. As published, the window is what it controls, and
//! the rate that paces it follows. In the authors' simulator the rate is the state.
//!
//! Source: Addanki, Michel and Schmid, PowerTCP: Pushing the Performance Limits of Datacenter Networks (NSDI 2022),
//! Algorithm 1, as the implementation for Linux of the authors' group has it (inet-tub/powertcp-linux at 081028f). The form
//! of the simulator is restated from inet-tub/ns3-datacenter at 060976e.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Each port writes on a packet that leaves it: the time, its queue, the octets it has sent, its rate, as for
HPCC. The sender computes the power of a port. It multiplies the rate at which octets arrive at the port
(the current) by the octets on their way through it (the voltage). Power rises both with the length of the
queue and with its growth. The sender divides its window by it. For traffic over RoCE.

   each hop:  current = (queue - queue before + octets sent since) / (time since)
              voltage = queue + B * tau;  a current of B / 2 at least
   the largest p = current * voltage / (B * B * tau), with dt = time since, at most tau:
              P = (1 - dt/tau) * P + (dt/tau) * p

   each acknowledgement:   W = gamma * (W old / P + beta) + (1 - gamma) * W,  at most B of the host * tau
                              W old is the window at which what is acknowledged was sent

   rate = W / tau;  in steady state P = 1 + n * beta / (B * tau): a queue of n * beta octets for n flows
";

mod rp;

pub use rp::PowertcpRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::power::{OldWindow, PowerForm};
use crate::parts::telemetry::{TelemetryCp, TelemetryParams};
use crate::parts::window::{BaseRttOf, WindowRule};
use crate::roles::{CpId, Endpoint, NoNotification, SignalKind};
use qcnlab_units::{BitRate, Bytes, Span};

/// PowerTCP.
pub struct Powertcp;

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PowertcpRpParams {
        /// Which of the two machines.
        form: PowerForm, "", Range::ANY;
        /// Weight of what the power says, beside the window that is.
        gamma: f64, "gamma", Range::above_zero_to(1.0);
        /// The power that is steered to, where nothing queues and nothing is added.
        eta: f64, "eta, U_TARGET", Range::above_zero_to(1.0);
        /// Which window, or rate, the power divides.
        old_window: OldWindow, "GetCwnd", Range::ANY;
        /// Additive step of the window, form window; unset, the host's rate times the base round-trip time by
        /// `expected_flows`.
        beta: Option<Bytes>, "beta", Range::at_least(1.0);
        /// Flows that a host's link is expected to carry, for `beta`.
        expected_flows: u32, "N", Range::between(1.0, 1e6);
        /// Additive step of the rate, form rate.
        ai_rate: BitRate, "", Range::at_least(0.0);
        /// The current counts as this share of the link's rate at least.
        least_current: f64, "", Range::between(0.0, 1.0);
        /// The smoothed power to begin with; unset, the first that is measured.
        first_power: Option<f64>, "", Range::POSITIVE;
        /// The rate never falls below this.
        min_rate: BitRate, "MIN_RATE", Range::POSITIVE;
        /// How many octets may be in flight, form rate.
        window: WindowRule, "HAS_WIN, VAR_WIN", Range::ANY;
        /// The base round-trip time, the same for all flows; unset, what `base_rtt_of` says.
        base_rtt: Option<Span>, "tau", Range::at_least(1e3);
        /// Which base round-trip time counts, where none is given.
        base_rtt_of: BaseRttOf, "GLOBAL_T", Range::ANY;
        /// Octets that telemetry adds to each data packet.
        header: Bytes, "", Range::between(0.0, 256.0);
        /// Octets that telemetry adds to each acknowledgement.
        ack_header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const RP_NSDI2022: PowertcpRpParams = PowertcpRpParams {
    form: PowerForm::Window,
    gamma: 0.9,
    eta: 1.0,
    old_window: OldWindow::Sending,
    beta: None,
    expected_flows: 10,
    ai_rate: BitRate::mbps(150),
    least_current: 0.5,
    first_power: None,
    min_rate: BitRate::mbps(10),
    window: WindowRule::Scaled,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Network,
    header: Bytes::new(42),
    ack_header: Bytes::new(42),
};

const RP_POWERTCP_LINUX: PowertcpRpParams =
    PowertcpRpParams { old_window: OldWindow::RoundTrip, least_current: 0.0, ..RP_NSDI2022 };

const RP_NS3_DATACENTER: PowertcpRpParams = PowertcpRpParams {
    form: PowerForm::Rate,
    old_window: OldWindow::RoundTrip,
    least_current: 0.0,
    eta: 0.95,
    first_power: Some(1.0),
    min_rate: BitRate::mbps(100),
    ack_header: Bytes::new(28),
    ..RP_NSDI2022
};

impl Family for Powertcp {
    type CpParams = TelemetryParams;
    type RpParams = PowertcpRpParams;
    type Cp = TelemetryCp;
    type Rp = PowertcpRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<TelemetryParams, PowertcpRpParams>] = &[Member {
        name: "powertcp",
        title: "PowerTCP",
        source: "Addanki and others, PowerTCP (2022)",
        generation: Generation::TelemetryAndTargets,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "NSDI2022",
                about: "The window form with gamma 0.9. That beta is for 10 flows, that the window is capped at its first value, \
                        and that the first power starts the smoothed one is as the authors' group has it for Linux; that the current \
                        counts as half of the link's rate at least is as their simulator had it at 6ddb4a4. Without this a \
                        queue that drains has no power, and windows jump to their caps. Telemetry \
                        has the 42 octets of HPCC's, and one tau, that of the longest way, is for all flows. The least rate of \
                        10 Mb/s is ours.",
                cp: TelemetryParams::EXACT,
                rp: RP_NSDI2022,
            },
            Preset {
                name: "POWERTCP_LINUX",
                about: "As the authors' group has it for Linux: the old window is noted once a round trip, and the \
                        current has no floor. The old window is then that of \
                        packets sent later than those that met the power: a few flows swing between an empty link and their \
                        caps. Its whole numbers are not restated.",
                cp: TelemetryParams::EXACT,
                rp: RP_POWERTCP_LINUX,
            },
            Preset {
                name: "NS3_DATACENTER",
                about: "As the authors' simulator runs it: the rate is the state, steps of 150 Mb/s at any line rate in beta's \
                        place, the power is divided by 0.95 and starts at 1, and what is kept beside it is the rate of a round \
                        trip ago. That the window follows the rate, the units of telemetry and the least rate of 100 Mb/s are \
                        those of HPCC's simulator or ours: its configuration was not read.",
                cp: TelemetryParams {
                    sent_unit: Bytes::new(512),
                    queue_unit: Bytes::new(320),
                    time_unit: Span::from_ns(1),
                },
                rp: RP_NS3_DATACENTER,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (TelemetryParams::FIELDS, PowertcpRpParams::FIELDS);

    fn set_point(_: &TelemetryParams, _: &PowertcpRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &TelemetryParams, _: CpId) -> TelemetryCp {
        TelemetryCp::new(*params)
    }

    fn reaction_point(params: &PowertcpRpParams, endpoint: Endpoint) -> PowertcpRp {
        PowertcpRp::new(params, endpoint)
    }
}

#[cfg(test)]
mod tests;
