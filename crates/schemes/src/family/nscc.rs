//! NSCC, network-signal-based congestion control of Ultra Ethernet: a window by marks and delay together.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.6.13, through quotations of its pseudo-code, and the simulator of
//! the consortium (ultraethernet/uet-htsim at 40ccb05, which calls itself no specification), restated from both. What
//! they leave open is a parameter. The receiver's share of the window (`rcv_cwnd_pend`) and probes are not restated.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Ports mark packets by the length of their queue. Acknowledgements return the mark, the time at which the
packet was sent, and how many octets have arrived in all, in order or not. The sender compares the
queueing delay with a target, and acts by delay and mark together. Packets may take many paths: a mark
with a short delay says that one of them is busy, and that is for load balancing. Packets that switches
cut to their heads count as lost at once. For traffic over RoCE.

                     delay below the target D           delay D or more
   no mark           gain += alpha * x * (D - delay)    gain += fi * x
   mark              nothing                            once a base round trip, if the mean delay is above D:
                                                        W *= 1 - gamma * (mean - D) / mean, max_md at least

   x octets have arrived since the last acknowledgement;  every few packets W += gain / W;  once a round trip W += eta
   no delay for a window of octets:      W += fi_scale * x until there is some         (fast increase)
   cut, lost, or a very long delay, and hardly anything arrived in a round trip and D:
                                         W = what arrived; marks of what was in flight are ignored  (quick adapt)
   cut or lost otherwise:                W -= its octets;  of acknowledgements that say so one in a base round trip counts
";

mod rp;

pub use rp::NsccRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params;
use crate::params::{Field, Range};
use crate::parts::ecn::{MarkAt, RampCp, RampParams};
use crate::parts::window::BaseRttOf;
use crate::roles::{CpId, Endpoint, NoNotification, SignalKind};
use qcnlab_units::{BitRate, Bytes, Span};

/// NSCC.
pub struct Nscc;

params! {
    /// Parameters of the reaction point. What counts packets is scaled to the network: by its bandwidth-delay product
    /// over the 150 KB of 100 Gb/s and 12 us.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NsccRpParams {
        /// The round-trip time of the network; unset, what `network_rtt_of` says.
        network_rtt: Option<Span>, "network_rtt", Range::at_least(1e3);
        /// Which base round-trip time that is, where none is given.
        network_rtt_of: BaseRttOf, "", Range::ANY;
        /// The target of the queueing delay, in round-trip times of the network.
        target: f64, "target_Qdelay", Range::POSITIVE;
        /// The largest window and the first, in bandwidth-delay products of the flow's smallest round-trip time.
        max_window: f64, "maxwnd", Range::POSITIVE;
        /// What an octet that arrives without mark and in time adds, packets at delay 0 in a window of octets.
        alpha: f64, "alpha", Range::at_least(0.0);
        /// What an octet that arrives without mark and late adds, packets in a window of octets.
        fi: f64, "fi, fair increase", Range::at_least(0.0);
        /// What is added in each round trip, packets.
        eta: f64, "eta", Range::at_least(0.0);
        /// What an octet adds while there is no delay.
        fi_scale: f64, "fi_scale", Range::at_least(0.0);
        /// Up to this a delay counts as none, exclusive.
        no_delay: Span, "", Range::at_least(0.0);
        /// Share of the excess over the target that a cut takes off.
        gamma: f64, "gamma", Range::between(0.0, 1.0);
        /// A cut leaves this share of the window at least.
        max_md: f64, "max_md, max_md_jump", Range::between(0.0, 1.0);
        /// Share of a new delay in the mean.
        delay_share: f64, "delay_alpha", Range::above_zero_to(1.0);
        /// What is gained is added to the window after so many packets, or after a round trip.
        adjust_packets: f64, "adjust_bytes_threshold", Range::POSITIVE;
        /// Quick adapt acts where less than the largest window, halved so many times, has arrived.
        qa_gate: u32, "qa_gate", Range::between(0.0, 63.0);
        /// Quick adapt takes a delay above this for a loss, in targets.
        qa_threshold: f64, "qa_threshold", Range::POSITIVE;
        /// Octets that it adds to each data packet.
        header: Bytes, "", Range::between(0.0, 256.0);
        /// Octets that it adds to each acknowledgement.
        ack_header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const CP_UET_HTSIM: RampParams = RampParams {
    k_min: Bytes::new(30_000),
    k_max: Bytes::new(120_000),
    p_max: 1.0,
    mark_at: MarkAt::Departure,
    thresholds_for: Some(BitRate::gbps(100)),
};

const RP_UET_HTSIM: NsccRpParams = NsccRpParams {
    network_rtt: None,
    network_rtt_of: BaseRttOf::Network,
    target: 0.75,
    max_window: 1.5,
    alpha: 4.0,
    fi: 5.0,
    eta: 0.15,
    fi_scale: 0.25,
    no_delay: Span::from_us(1),
    gamma: 0.8,
    max_md: 0.5,
    delay_share: 0.0125,
    adjust_packets: 8.0,
    qa_gate: 3,
    qa_threshold: 4.0,
    header: Bytes::ZERO,
    ack_header: Bytes::ZERO,
};

impl Family for Nscc {
    type CpParams = RampParams;
    type RpParams = NsccRpParams;
    type Cp = RampCp;
    type Rp = NsccRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<RampParams, NsccRpParams>] = &[Member {
        name: "nscc",
        title: "NSCC of Ultra Ethernet",
        source: "Ultra Ethernet Specification (2025)",
        generation: Generation::UltraEthernet,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[
            Preset {
                name: "UET_HTSIM",
                about: "As the consortium's simulator has it, where switches cut packets (trim_to of [[switch]]): a target of 0.75 \
                        round trips, marks by a ramp from 0.2 to 0.8 of the bandwidth-delay product. That product is the one of \
                        100 Gb/s and 12 us here, 150 KB, scaled with the port's rate and not with the round trip: set k_min and \
                        k_max for another. Octets of its headers are the traffic's: none are added.",
                cp: CP_UET_HTSIM,
                rp: RP_UET_HTSIM,
            },
            Preset {
                name: "UET_HTSIM_NO_TRIMMING",
                about: "As UET_HTSIM, where switches do not cut packets: a target of a round trip.",
                cp: CP_UET_HTSIM,
                rp: NsccRpParams { target: 1.0, ..RP_UET_HTSIM },
            },
        ],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (RampParams::FIELDS, NsccRpParams::FIELDS);

    fn set_point(_: &RampParams, _: &NsccRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(params: &RampParams, _: CpId) -> RampCp {
        RampCp::new(*params)
    }

    fn reaction_point(params: &NsccRpParams, endpoint: Endpoint) -> NsccRp {
        NsccRp::new(*params, endpoint)
    }
}

#[cfg(test)]
mod tests;
