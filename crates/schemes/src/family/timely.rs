//! TIMELY: a rate that follows the round-trip time and its slope; and the form that was patched to settle.
//!
//! Source: Mittal and others, TIMELY: RTT-based Congestion Control for the Datacenter (SIGCOMM 2015); Zhu and others,
//! ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY (CoNEXT 2016) for the patch. The rhythm of decisions in
//! the preset HPCC_SIMULATOR is restated from HPCC's simulator, at 9f4be2a.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Acknowledgements return the time at which a packet was sent. The sender measures the round-trip time and its
slope, and sets its rate from them: once for a number of octets, or once a round trip. The rate rises while the
round trip is short or shrinks, and falls while it is long or grows. No switch takes part. For traffic over RoCE.

   slope = (1 - a) * slope + a * (rtt - rtt before);   gradient = slope / min_rtt

   rtt < t_low              R += step
   rtt > t_high             R *= 1 - beta * (1 - t_high / rtt)
   between, gradient <= 0   R += step, or 5 steps after five good decisions in a row
   between, gradient > 0    R *= 1 - beta * gradient

   patched, between:        w = 0 at gradient -1/4 and below, 1 at 1/4 and above, straight in between
                            R = R * (1 - beta * w * (rtt - reference) / reference) + step * (1 - w)
";

mod rp;

pub use rp::TimelyRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params::{Field, Range};
use crate::parts::window::{BaseRttOf, WindowRule};
use crate::roles::{CpId, Endpoint, NoCongestionPoint, NoNotification, SignalKind};
use crate::{choice, params};
use qcnlab_units::{BitRate, Bytes, Span};

/// TIMELY.
pub struct Timely;

choice! {
    /// How TIMELY's rate follows the slope between the two thresholds.
    pub enum TimelyForm {
        /// By the sign of the gradient, as published.
        Published = "published",
        /// By a weight of the gradient and the distance from a reference, which has one fixed point.
        Patched = "patched",
    }
}

params! {
    /// Switches take no part: no parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TimelyCpParams {}
}

params! {
    /// Parameters of the reaction point.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TimelyRpParams {
        /// How the rate follows the slope between the two thresholds.
        form: TimelyForm, "", Range::ANY;
        /// Octets acknowledged from one decision to the next, and `min_rtt` at least; unset, one decision a round trip.
        segment: Option<Bytes>, "segment", Range::at_least(1.0);
        /// Share of a new difference in the slope.
        gain: f64, "alpha, EWMA", Range::above_zero_to(1.0);
        /// The round-trip time that gradients are in units of.
        min_rtt: Span, "minRTT", Range::at_least(1e3);
        /// Below this round-trip time the rate rises.
        t_low: Span, "Tlow", Range::at_least(0.0);
        /// Above this round-trip time the rate falls.
        t_high: Span, "Thigh", Range::at_least(1e3);
        /// Share of the gradient, or of the distance, that a decision takes off.
        beta: f64, "beta", Range::above_zero_to(1.0);
        /// Step of the rate.
        ai_rate: BitRate, "delta", Range::at_least(0.0);
        /// Step of the rate in hyper-active increase.
        hai_rate: BitRate, "N delta", Range::at_least(0.0);
        /// Good decisions in a row before hyper-active increase.
        hai_after: u32, "N", Range::between(1.0, 1000.0);
        /// Whether hyper-active increase goes on below `t_low`.
        hai_below_low: bool, "", Range::ANY;
        /// The line rate that `ai_rate` and `hai_rate` are for: at another they grow and shrink with it. Unset, they
        /// are the same at every host.
        steps_for: Option<BitRate>, "", Range::POSITIVE;
        /// The reference of the patched form; unset, `t_low`.
        reference: Option<Span>, "RTTref", Range::at_least(1e3);
        /// The rate never falls below this.
        min_rate: BitRate, "", Range::POSITIVE;
        /// The rate at the start; unset, the line rate.
        first_rate: Option<BitRate>, "", Range::POSITIVE;
        /// How many octets may be in flight.
        window: WindowRule, "HAS_WIN, VAR_WIN", Range::ANY;
        /// The base round-trip time that the window is for; unset, what `base_rtt_of` says.
        base_rtt: Option<Span>, "T", Range::at_least(1e3);
        /// Which base round-trip time counts, where none is given.
        base_rtt_of: BaseRttOf, "GLOBAL_T", Range::ANY;
        /// Octets that it adds to each data packet, for the time at which it was sent.
        header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const RP_SIGCOMM2015: TimelyRpParams = TimelyRpParams {
    form: TimelyForm::Published,
    segment: Some(Bytes::new(64_000)),
    gain: 0.875,
    min_rtt: Span::from_us(20),
    t_low: Span::from_us(50),
    t_high: Span::from_us(500),
    beta: 0.8,
    ai_rate: BitRate::mbps(10),
    hai_rate: BitRate::mbps(50),
    hai_after: 5,
    hai_below_low: false,
    steps_for: Some(BitRate::gbps(10)),
    reference: None,
    min_rate: BitRate::mbps(10),
    first_rate: None,
    window: WindowRule::Open,
    base_rtt: None,
    base_rtt_of: BaseRttOf::Path,
    header: Bytes::ZERO,
};

const RP_CONEXT2016: TimelyRpParams =
    TimelyRpParams { form: TimelyForm::Patched, segment: Some(Bytes::new(16_000)), beta: 0.008, ..RP_SIGCOMM2015 };

const RP_HPCC_SIMULATOR: TimelyRpParams = TimelyRpParams {
    segment: None,
    ai_rate: BitRate::mbps(100),
    hai_rate: BitRate::mbps(500),
    hai_below_low: true,
    steps_for: Some(BitRate::gbps(100)),
    min_rate: BitRate::gbps(1),
    base_rtt_of: BaseRttOf::Network,
    header: Bytes::new(8),
    ..RP_SIGCOMM2015
};

impl Family for Timely {
    type CpParams = TimelyCpParams;
    type RpParams = TimelyRpParams;
    type Cp = NoCongestionPoint;
    type Rp = TimelyRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<TimelyCpParams, TimelyRpParams>] = &[Member {
        name: "timely",
        title: "TIMELY",
        source: "Mittal and others, TIMELY (2015); Zhu and others, ECN or Delay (2016)",
        generation: Generation::MarksAndDelay,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "SIGCOMM2015",
                about: "As published, for 10 Gb/s, steps scaled at other rates: segments of 64 KB, 50 and 500 us, beta 0.8, step \
                        10 Mb/s, five times that after five good decisions. It has many fixed points: flows that start \
                        unequal stay unequal. The least rate of 10 Mb/s is ours.",
                cp: TimelyCpParams {},
                rp: RP_SIGCOMM2015,
            },
            Preset {
                name: "CONEXT2016",
                about: "Patched TIMELY: as SIGCOMM2015, but between the thresholds the rate follows the distance of the \
                        round-trip time from a reference of 50 us, with beta 0.008 and segments of 16 KB. It settles at equal rates.",
                cp: TimelyCpParams {},
                rp: RP_CONEXT2016,
            },
            Preset {
                name: "HPCC_SIMULATOR",
                about: "As the simulator of HPCC's authors runs it: one decision a round trip, steps of 100 and 500 Mb/s for \
                        100 Gb/s, scaled at other rates, packets 8 octets longer.",
                cp: TimelyCpParams {},
                rp: RP_HPCC_SIMULATOR,
            },
            Preset {
                name: "HPCC_SIMULATOR_WINDOW",
                about: "As HPCC_SIMULATOR, with a window of the rate times the base round-trip time (its timely_vwin).",
                cp: TimelyCpParams {},
                rp: TimelyRpParams { window: WindowRule::Scaled, ..RP_HPCC_SIMULATOR },
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (TimelyCpParams::FIELDS, TimelyRpParams::FIELDS);

    fn set_point(_: &TimelyCpParams, _: &TimelyRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &TimelyCpParams, _: CpId) -> NoCongestionPoint {
        NoCongestionPoint
    }

    fn reaction_point(params: &TimelyRpParams, endpoint: Endpoint) -> TimelyRp {
        TimelyRp::new(*params, endpoint)
    }
}

#[cfg(test)]
mod tests;
