//! Swift: a window in packets that follows the delay of the fabric, down to less than one packet in flight.
//!
//! Source: Kumar and others, Swift: Delay is Simple and Effective for Congestion Control in the Datacenter (SIGCOMM 2020).
//! Its rules and numbers are restated from the simulator of Falcon, which runs Swift (falcon-transport/isekai at ab3a028,
//! `rue/algorithm/swift`), and from Falcon's specification, revision 0.9, section 10. The parameters of the production
//! networks of the paper are not public.

/// The scheme in words, with its state diagram: what lists, `explain` and the pages show.
const ABOUT: &str = "\
Acknowledgements return the time at which a packet was sent. From it the sender computes the delay and
compares it with a target. The target is longer for more hops. It is also longer for smaller windows, so
that many flows have room for one packet each. The window counts packets; if it is below one, packets leave
one by one with a gap. No switch takes part. For traffic over RoCE.

   target D = base + hops * per_hop + between 0 and fs_max: a / sqrt(W) - a / sqrt(fs_most),
              a = fs_max / (1 / sqrt(fs_least) - 1 / sqrt(fs_most))

   each acknowledgement of k packets, with delay d:
     d < D                               W += ai * k / W, or ai * k where W < 1
     d >= D, a round trip after a cut    W *= 1 - min(mdf * (d - D) / d, max_mdf)

   a loss, a round trip after a cut      W *= 1 - max_mdf;  after retransmit_limit timeouts in a row  W = least

   in flight: whole packets of W, one at least; where W < 1, packets start a round trip / W after each other
";

mod rp;

pub use rp::SwiftRp;

use crate::definition::{Family, Generation, Member, Preset, Status};
use crate::params;
use crate::params::{Field, Range};
use crate::roles::{CpId, Endpoint, NoCongestionPoint, NoNotification, SignalKind};
use qcnlab_units::{Bytes, Span};

/// Swift.
pub struct Swift;

params! {
    /// Switches take no part: no parameters.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SwiftCpParams {}
}

params! {
    /// Parameters of the reaction point. Windows are in packets.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SwiftRpParams {
        /// The part of the target that is the same for all flows.
        base_delay: Span, "fabric_base_delay", Range::at_least(1e3);
        /// What each switch of the path adds to the target.
        per_hop: Span, "topo_scaling_per_hop", Range::at_least(0.0);
        /// The most that a small window adds to the target.
        fs_max: Span, "fs_range, max_flow_scaling", Range::at_least(0.0);
        /// Up to this window the target has all of `fs_max`.
        fs_least: f64, "fs_min_cwnd, min_flow_scaling_window", Range::POSITIVE;
        /// From this window on the target has none of it; where it is not more than `fs_least`, it is a step here.
        fs_most: f64, "fs_max_cwnd, max_flow_scaling_window", Range::POSITIVE;
        /// Packets that a window of acknowledgements adds.
        ai: f64, "ai, fabric_additive_increment_factor", Range::POSITIVE;
        /// Share of what is beyond the target in the delay that a cut takes off.
        mdf: f64, "beta, fabric_multiplicative_decrease_factor", Range::above_zero_to(1.0);
        /// The most that a cut takes off.
        max_mdf: f64, "max_mdf, max_fabric_multiplicative_decrease", Range::above_zero_to(1.0);
        /// The least window.
        min_window: f64, "min_cwnd, min_fabric_congestion_window", Range::POSITIVE;
        /// The largest window, never less than the least.
        max_window: f64, "max_cwnd, max_fabric_congestion_window", Range::POSITIVE;
        /// The window to begin with.
        first_window: f64, "", Range::POSITIVE;
        /// Share of the smoothed delay that a new one leaves.
        delay_kept: f64, "delay_smoothing_alpha", Range::between(0.0, 0.999);
        /// Timeouts in a row after which the window is the least.
        retransmit_limit: u32, "RETX_RESET_THRESHOLD, retransmit_limit", Range::between(1.0, 255.0);
        /// Octets that it adds to each data packet.
        header: Bytes, "", Range::between(0.0, 256.0);
        /// Octets that it adds to each acknowledgement.
        ack_header: Bytes, "", Range::between(0.0, 256.0);
    }
}

const RP_FALCON_SIMULATOR: SwiftRpParams = SwiftRpParams {
    base_delay: Span::from_us(25),
    per_hop: Span::from_us(1),
    fs_max: Span::from_us(100),
    fs_least: 0.1,
    fs_most: 256.0,
    ai: 1.0,
    mdf: 0.8,
    max_mdf: 0.5,
    min_window: 0.01,
    max_window: 256.0,
    first_window: 32.0,
    delay_kept: 0.0,
    retransmit_limit: 3,
    header: Bytes::ZERO,
    ack_header: Bytes::ZERO,
};

impl Family for Swift {
    type CpParams = SwiftCpParams;
    type RpParams = SwiftRpParams;
    type Cp = NoCongestionPoint;
    type Rp = SwiftRp;
    type Np = NoNotification;
    const MEMBERS: &'static [Member<SwiftCpParams, SwiftRpParams>] = &[Member {
        name: "swift",
        title: "Swift",
        source: "Kumar and others, Swift (2020)",
        generation: Generation::TelemetryAndTargets,
        status: Status::ReadingsChosen,
        about: ABOUT,
        presets: &[Preset {
            name: "FALCON_SIMULATOR",
            about: "As the simulator of Falcon has it: targets from 25 us, 1 us for each switch and up to 100 us for small windows; \
                    steps of a packet, cuts of 0.8 of the excess and a half at most, windows of 0.01 to 256 packets from 32 on. \
                    Its unit of time, 131.072 ns, is not restated, nor its window for the receiver's buffer, of which \
                    acknowledgements say nothing here, nor how it moves flows to other paths. Receivers answer at once, so that \
                    the delay of the fabric is the round-trip time. Octets of its headers are not known: none are added.",
            cp: SwiftCpParams {},
            rp: RP_FALCON_SIMULATOR,
        }],
    }];
    const HEARS: &'static [SignalKind] = &[];
    const CP_SPEAKS: &'static [SignalKind] = &[];
    const FIELDS: (&'static [Field], &'static [Field]) = (SwiftCpParams::FIELDS, SwiftRpParams::FIELDS);

    fn set_point(_: &SwiftCpParams, _: &SwiftRpParams) -> Option<Bytes> {
        None
    }

    fn congestion_point(_: &SwiftCpParams, _: CpId) -> NoCongestionPoint {
        NoCongestionPoint
    }

    fn reaction_point(params: &SwiftRpParams, endpoint: Endpoint) -> SwiftRp {
        SwiftRp::new(*params, endpoint)
    }
}

#[cfg(test)]
mod tests;
