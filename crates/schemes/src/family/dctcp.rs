//! DCTCP: a window cut by the share of octets that were marked.
//!
//! There are two machines under this name, and `form` keeps them apart. As published, the window is what it controls.
//! In the simulator of HPCC's authors the state is a rate, and the window follows from it.
//!
//! Source: Alizadeh and others, Data Center TCP (SIGCOMM 2010); RFC 8257. The form of the simulator is restated from
//! HPCC's, at 9f4be2a.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
A port marks each frame that meets more than K octets in the queue. Acknowledgements return the marks. The
sender keeps a mean alpha of the share of its octets that were marked, and updates it once for each window
of data. The first mark in a window of data takes alpha/2 off the window. Between marks the window grows as
Reno's does. For traffic over RoCE.

   alpha = (1 - g) * alpha + g * F                       once a window of data

              first mark, or a loss: W *= 1 - alpha/2 (loss: 1/2)
   growing -----------------------------------------------------> cut, until the data sent by then is acknowledged
      ^                                                             |
      +-------------------------------------------------------------+
   slow start: W += octets acknowledged; past the threshold: W += a packet each window of data

   form rate:  the same alpha; R *= 1 - alpha/2 at the first mark, R += ai_rate once a round trip without a cut,
               and the window is R times the base round-trip time
";

mod rp;

pub use rp::DctcpRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params::{Field, Range};
use crate::parts::ecn::{MarkAt, RampCp, RampParams};
use crate::parts::window::{BaseRttOf, WindowRule};
use crate::roles::{CpId, Endpoint, NoNotification, SignalKind};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Span};

/// DCTCP.
pub struct Dctcp;

choice! {
    /// What DCTCP controls.
    pub enum DctcpForm {
        /// The window, as published.
        Window = "window",
        /// The rate, as the simulator of HPCC's authors has it; `window` says how the window follows.
        Rate = "rate",
    }
}

params! {
    /// Parameters of the congestion point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DctcpCpParams {
        /// Above this queue length every frame is marked.
        threshold: Bytes, "K", Range::at_least(0.0);
        /// When a port marks a frame.
        mark_at: MarkAt, "", Range::ANY;
        /// The port's rate that the threshold is for: at another it grows and shrinks with it. Unset, it is the same at
        /// every port.
        thresholds_for: Option<BitRate>, "", Range::POSITIVE;
    }
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DctcpRpParams {
        /// Which of the two machines.
        form: DctcpForm, "", Range::ANY;
        /// Share of a new observation in alpha.
        g: f64, "g", Range::above_zero_to(1.0);
        /// Alpha at the start.
        alpha_initial: f64, "alpha", Range::between(0.0, 1.0);
        /// Window at the start, form window; unset, line rate times base round-trip time.
        initial_window: Option<Bytes>, "IW", Range::at_least(64.0);
        /// The window is never cut below this many packets, form window.
        min_window: u32, "", Range::between(1.0, 1000.0);
        /// The rate is never cut below this, form rate.
        min_rate: BitRate, "", Range::POSITIVE;
        /// Step of the rate once a round trip, form rate.
        ai_rate: BitRate, "DCTCP_RATE_AI", Range::at_least(0.0);
        /// The line rate that `ai_rate` is for: at another it grows and shrinks with it. Unset, it is the same at every
        /// host.
        steps_for: Option<BitRate>, "", Range::POSITIVE;
        /// How many octets may be in flight, form rate.
        window: WindowRule, "HAS_WIN, VAR_WIN", Range::ANY;
        /// The base round-trip time that windows are for; unset, what `base_rtt_of` says.
        base_rtt: Option<Span>, "T", Range::at_least(1e3);
        /// Which base round-trip time counts, where none is given.
        base_rtt_of: BaseRttOf, "GLOBAL_T", Range::ANY;
    }
}

const CP_RFC8257: DctcpCpParams =
    DctcpCpParams { threshold: Bytes::new(30_000), mark_at: MarkAt::Arrival, thresholds_for: Some(BitRate::gbps(1)) };

const RP_RFC8257: DctcpRpParams = DctcpRpParams {
    form: DctcpForm::Window,
    g: 1.0 / 16.0,
    alpha_initial: 1.0,
    initial_window: None,
    min_window: 2,
    min_rate: BitRate::gbps(1),
    ai_rate: BitRate::gbps(1),
    steps_for: Some(BitRate::gbps(100)),
    window: WindowRule::Open,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Path,
};

const CP_SIGCOMM2010: DctcpCpParams =
    DctcpCpParams { threshold: Bytes::new(97_500), thresholds_for: Some(BitRate::gbps(10)), ..CP_RFC8257 };

const CP_HPCC_SIMULATOR: DctcpCpParams = DctcpCpParams {
    threshold: Bytes::new(300_000),
    mark_at: MarkAt::Departure,
    thresholds_for: Some(BitRate::gbps(100)),
};

const RP_HPCC_SIMULATOR: DctcpRpParams = DctcpRpParams {
    form: DctcpForm::Rate,
    window: WindowRule::Scaled,
    base_rtt_of: BaseRttOf::Network,
    ai_rate: BitRate::mbps(615),
    ..RP_RFC8257
};

impl Family for Dctcp {
    type CpParams = DctcpCpParams;
    type RpParams = DctcpRpParams;
    type Cp = RampCp;
    type Rp = DctcpRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<DctcpCpParams, DctcpRpParams>] = &[Member {
        name: "dctcp",
        title: "DCTCP",
        source: "Alizadeh and others, DCTCP (2010); RFC 8257",
        generation: Generation::MarksAndDelay,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "SIGCOMM2010",
                about: "As published, for 10 Gb/s: K 65 packets of 1500 octets, scaled at other rates; g 1/16, alpha starts at 1. \
                        The window starts at line rate times base round-trip time, as hardware transports do; the sources \
                        leave it to TCP.",
                cp: CP_SIGCOMM2010,
                rp: RP_RFC8257,
            },
            Preset {
                name: "SIGCOMM2010_1G",
                about: "As SIGCOMM2010, with the paper's K of 20 packets of 1500 octets at 1 Gb/s.",
                cp: CP_RFC8257,
                rp: RP_RFC8257,
            },
            Preset {
                name: "HPCC_SIMULATOR",
                about: "As the simulator of HPCC's authors runs it: a rate with a window that follows, K 300 KB for 100 Gb/s, scaled \
                        at other rates, 615 Mb/s a round trip, as its configurations set it (1 Gb/s without one).",
                cp: CP_HPCC_SIMULATOR,
                rp: RP_HPCC_SIMULATOR,
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (DctcpCpParams::FIELDS, DctcpRpParams::FIELDS);

    fn set_point(_: &DctcpCpParams, _: &DctcpRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &DctcpCpParams, _: CpId) -> RampCp {
        let DctcpCpParams { threshold, mark_at, thresholds_for } = *params;
        RampCp::new(RampParams { k_min: threshold, k_max: threshold, p_max: 1.0, mark_at, thresholds_for })
    }

    fn reaction_point(params: &DctcpRpParams, endpoint: Endpoint) -> DctcpRp {
        DctcpRp::new(*params, endpoint)
    }
}

#[cfg(test)]
mod tests;
