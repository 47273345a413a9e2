//! theta-PowerTCP: PowerTCP without the help of switches, by the round-trip time and its slope.
//!
//! Source: Addanki, Michel and Schmid, PowerTCP: Pushing the Performance Limits of Datacenter Networks (NSDI 2022), its
//! form without switch support, as the implementation for Linux of the authors' group has it (inet-tub/powertcp-linux at
//! 081028f). The form of the simulator is restated from inet-tub/ns3-datacenter at 060976e.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
PowerTCP for networks whose switches report nothing. Acknowledgements return the time at which a packet was
sent. The sender uses the round-trip time in place of the voltage, and its slope in place of what arrives
beyond the rate of the link. For traffic over RoCE.

   p = ((rtt - rtt before) / (time since) + 1) * rtt / tau,  the first factor at least a half;  with dt = time since, at most tau:
   P = (1 - dt/tau) * P + (dt/tau) * p

   once a round trip:   W = gamma * (W old / P + beta) + (1 - gamma) * W,  at most B of the host * tau;   W old = W

   rate = W / tau;  in steady state a queue of n * beta octets for n flows, as PowerTCP
";

mod rp;

pub use rp::ThetaPowertcpRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params::{Field, Range};
use crate::parts::power::PowerForm;
use crate::parts::window::{BaseRttOf, WindowRule};
use crate::roles::{CpId, Endpoint, NoCongestionPoint, NoNotification, SignalKind};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Span};

/// theta-PowerTCP.
pub struct ThetaPowertcp;

choice! {
    /// How often theta-PowerTCP does something.
    pub enum PowerRhythm {
        /// At every acknowledgement.
        Acknowledgement = "acknowledgement",
        /// At the first acknowledgement of what was sent after the last time.
        RoundTrip = "round_trip",
    }
}

params! {
    /// Switches take no part: no parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ThetaPowertcpCpParams {}
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ThetaPowertcpRpParams {
        /// Which of the two machines.
        form: PowerForm, "", Range::ANY;
        /// When the power is measured: the slope is that since the last measurement.
        measures: PowerRhythm, "", Range::ANY;
        /// When the window or the rate is set; never without a measurement.
        updates: PowerRhythm, "", Range::ANY;
        /// Weight of what the power says, beside the window that is.
        gamma: f64, "gamma", Range::above_zero_to(1.0);
        /// Additive step of the window, form window; unset, the host's rate times the base round-trip time by
        /// `expected_flows`.
        beta: Option<Bytes>, "beta", Range::at_least(1.0);
        /// Flows that a host's link is expected to carry, for `beta`.
        expected_flows: u32, "N", Range::between(1.0, 1e6);
        /// Additive step of the rate, form rate.
        ai_rate: BitRate, "", Range::at_least(0.0);
        /// One more than the slope counts as this at least.
        least_current: f64, "", Range::between(0.0, 1.0);
        /// The base round-trip time counts as this many times itself where round-trip times are divided by it.
        tau_factor: f64, "", Range::between(1.0, 10.0);
        /// The smoothed power to begin with; unset, the first that is measured.
        first_power: Option<f64>, "", Range::POSITIVE;
        /// The rate never falls below this.
        min_rate: BitRate, "MIN_RATE", Range::POSITIVE;
        /// How many octets may be in flight, form rate.
        window: WindowRule, "HAS_WIN, VAR_WIN", Range::ANY;
        /// The base round-trip time; unset, what `base_rtt_of` says.
        base_rtt: Option<Span>, "tau", Range::at_least(1e3);
        /// Which base round-trip time counts, where none is given.
        base_rtt_of: BaseRttOf, "GLOBAL_T", Range::ANY;
        /// Octets that it adds to each data packet, for the time at which it was sent.
        header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const RP_NSDI2022: ThetaPowertcpRpParams = ThetaPowertcpRpParams {
    form: PowerForm::Window,
    measures: PowerRhythm::Acknowledgement,
    updates: PowerRhythm::RoundTrip,
    gamma: 0.9,
    beta: None,
    expected_flows: 10,
    ai_rate: BitRate::mbps(150),
    least_current: 0.5,
    tau_factor: 1.0,
    first_power: None,
    min_rate: BitRate::mbps(10),
    window: WindowRule::Scaled,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Path,
    header: Bytes::ZERO,
};

const RP_POWERTCP_LINUX: ThetaPowertcpRpParams =
    ThetaPowertcpRpParams { measures: PowerRhythm::RoundTrip, least_current: 0.0, ..RP_NSDI2022 };

const RP_NS3_DATACENTER: ThetaPowertcpRpParams = ThetaPowertcpRpParams {
    form: PowerForm::Rate,
    updates: PowerRhythm::Acknowledgement,
    gamma: 0.7,
    tau_factor: 1.05,
    first_power: Some(1.0),
    min_rate: BitRate::mbps(100),
    ..RP_NSDI2022
};

impl Family for ThetaPowertcp {
    type CpParams = ThetaPowertcpCpParams;
    type RpParams = ThetaPowertcpRpParams;
    type Cp = NoCongestionPoint;
    type Rp = ThetaPowertcpRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<ThetaPowertcpCpParams, ThetaPowertcpRpParams>] = &[Member {
        name: "theta_powertcp",
        title: "theta-PowerTCP",
        source: "Addanki and others, PowerTCP (2022)",
        generation: Generation::TelemetryAndTargets,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "NSDI2022",
                about: "The window form with gamma 0.9, which measures at each acknowledgement and moves once a round trip. That \
                        beta is for 10 flows and that the first power starts the smoothed one is as the authors' group has it \
                        for Linux. What arrives counts as half of the link's rate at least, as in the authors' simulator: \
                        without this a queue that drains has no power, and windows jump to their caps. The least rate of \
                        10 Mb/s is ours.",
                cp: ThetaPowertcpCpParams {},
                rp: RP_NSDI2022,
            },
            Preset {
                name: "POWERTCP_LINUX",
                about: "As the authors' group has it for Linux: it measures once a round trip, too, and has no floor. Flows that \
                        start together at line rate swing for ever. Its whole numbers are not restated.",
                cp: ThetaPowertcpCpParams {},
                rp: RP_POWERTCP_LINUX,
            },
            Preset {
                name: "NS3_DATACENTER",
                about: "As the authors' simulator runs it: the rate is the state, at every acknowledgement, steps of 150 Mb/s at \
                        any line rate in beta's place, gamma 0.7, a slope of -0.5 at least, and 1.05 tau. That the window follows \
                        the rate and the least rate of 100 Mb/s are HPCC's simulator's or ours: its configuration was not read.",
                cp: ThetaPowertcpCpParams {},
                rp: RP_NS3_DATACENTER,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (ThetaPowertcpCpParams::FIELDS, ThetaPowertcpRpParams::FIELDS);

    fn set_point(_: &ThetaPowertcpCpParams, _: &ThetaPowertcpRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &ThetaPowertcpCpParams, _: CpId) -> NoCongestionPoint {
        NoCongestionPoint
    }

    fn reaction_point(params: &ThetaPowertcpRpParams, endpoint: Endpoint) -> ThetaPowertcpRp {
        ThetaPowertcpRp::new(*params, endpoint)
    }
}

#[cfg(test)]
mod tests;
