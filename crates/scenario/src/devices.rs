//! What stands in a network and how it behaves: `[[switch]]`, `[[adapter]]`, `[pause]`, `[routing]`, `[[route]]`, `[[wred]]`,
//! `[[watchdog]]`.

use super::fields::{FRAME, POSITIVE_UP_TO_LONGEST, UP_TO_LONGEST};
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::parts::ecn::MarkAt;
use qcnlab_schemes::{choice, params};
use qcnlab_units::{BitRate, Bytes, Span};

params! {
    /// How switches are built. Of several tables the first whose pattern fits a switch holds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Switches {
        /// Switches that this table sets: a name, or a pattern in which * stands for any characters and {1..4} for numbers.
        only: String, "", Range::ANY, Fallback::Text("*");
        /// Octets each output queue holds, for each class, the frame in transmission included; left out, no limit.
        output_buffer: Option<Bytes>, "OQ limit", Range::POSITIVE;
        /// Octets held of frames that came in over one link, whatever their output; left out, no limit.
        input_memory: Option<Bytes>, "M", Range::POSITIVE;
        /// Time from a frame's last octet in to its place in the output queue.
        latency: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Whether its outputs have congestion points.
        congestion_points: bool, "", Range::ANY, Fallback::Text("true");
        /// Weights of classes that take turns on each output link (deficit round robin), such as "3: 2, 5: 1". Classes
        /// that it does not name are strict: they go first, the highest first. Left out, all are strict.
        weights: Option<String>, "DWRR weight, ETS", Range::ANY;
        /// Cut RoCE packets that find no room in an output queue or in the switch's memory to this many octets, instead of
        /// dropping them: the head goes on, and the receiver asks for the packet. Left out, they are dropped.
        trim_to: Option<Bytes>, "packet trimming", FRAME;
        /// Class of the heads; left out, 7.
        trim_priority: Option<u32>, "PCP", Range::between(0.0, 7.0);
        /// Share of a link that heads get at most while other frames wait for it; 1 for all of it, before all others. Left
        /// out, 0.25: the weight that Ultra Ethernet's description gives the class of trimmed packets.
        trim_share: Option<f64>, "WDRR weight of trimmed packets", Range::between(0.001, 1.0);
        /// Seed of the hash by which it chooses a way for each flow, with routing.multipath = "switch". Switches with one
        /// seed choose alike. Left out, each has its own.
        hash_seed: Option<u32>, "ECMP seed", Range::ANY;
        /// Octets that a turn adds for each unit of weight; left out, so many that the smallest weight sends one of the
        /// longest frames in a turn.
        quantum: Option<Bytes>, "", Range::POSITIVE;
    }
}

/// The share of a link that heads of packets get where nobody says otherwise: the weight of the class of trimmed packets in
/// Ultra Ethernet's description.
const HEADS_SHARE: f64 = 0.25;

impl Switches {
    /// The share of a link that heads get at most while other frames wait for it.
    pub fn heads_share(&self) -> f64 {
        self.trim_share.unwrap_or(HEADS_SHARE)
    }
}

params! {
    /// How hosts send and receive. Of several tables the first whose pattern fits a host holds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Adapters {
        /// Hosts that this table sets: a name, or a pattern in which * stands for any characters and {1..4} for numbers.
        only: String, "", Range::ANY, Fallback::Text("*");
        /// Rate limiters a host has; with more flows than limiters, flows share them in turn. Left out, one a flow.
        max_rps: Option<u32>, "", Range::between(1.0, 1e6);
        /// Octets that wait behind the limiters of one host, in equal parts for each of its flows; more is
        /// discarded there. Left out, no limit.
        input_buffer: Option<Bytes>, "IB", Range::POSITIVE;
        /// Octets a limiter lets go back to back; left out, what the scheme says.
        burst: Option<Bytes>, "", Range::at_least(0.0);
        /// Rates are whole multiples of this, rounded down but never to zero; left out, any rate.
        rate_step: Option<BitRate>, "", Range::POSITIVE;
        /// Octets held of what the host received and has not read; more is discarded, unless [[pause]] stops the
        /// link into it. Left out, no limit.
        receive_buffer: Option<Bytes>, "OB", Range::POSITIVE;
        /// Rate at which the host reads what it received; left out, the rate of its link.
        receive_rate: Option<BitRate>, "", Range::POSITIVE;
    }
}

choice! {
    /// Whether a full buffer stops the links into it.
    pub enum PauseKind {
        /// Never: frames that do not fit are discarded.
        None = "none",
        /// The whole link stops (802.3x).
        Link = "link",
        /// Classes stop one by one (802.1Qbb).
        Priority = "priority",
    }
}

choice! {
    /// When a pause frame is sent.
    pub enum PauseRule {
        /// By the octets held of one input: stop above the high watermark, go at the low one.
        Watermarks = "watermarks",
        /// By the length of the output queue a frame finds: stop for a fixed time.
        Threshold = "threshold",
        /// By what a priority group holds of the switch's [[shared_buffer]], which has the thresholds.
        Dynamic = "dynamic",
    }
}

choice! {
    /// Which links a frame that finds a long output queue stops.
    pub enum PauseTarget {
        /// The link that the frame came by.
        Arriving = "arriving",
        /// That link, and each whose frames wait in the queue.
        Queued = "queued",
        /// Every link into the node.
        All = "all",
    }
}

params! {
    /// When switches, and hosts that hold what they receive, stop the links into them. Of several tables the first
    /// whose pattern fits a node holds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Pause {
        /// Whether, and what, a pause frame stops.
        kind: PauseKind, "", Range::ANY, Fallback::Text("none");
        /// Classes that kind priority stops, such as "3" or "0, 3..5".
        priorities: String, "", Range::ANY, Fallback::Text("0..7");
        /// When a pause frame is sent.
        rule: PauseRule, "", Range::ANY, Fallback::Text("watermarks");
        /// Watermarks: stop above this many octets of one input, and of one class if classes stop by themselves;
        /// left out, the input memory or receive buffer, or an equal part of it for each such class in use, without
        /// the headroom.
        high: Option<Bytes>, "watermark_high", Range::POSITIVE;
        /// Watermarks: go at this many octets or fewer; left out, the hysteresis below the high watermark.
        low: Option<Bytes>, "watermark_low", Range::at_least(0.0);
        /// Watermarks: room kept for what still comes after the stop; left out, what the longest link can
        /// bring: round trip, reaction and latency at its rate, three frames and the pause frame.
        headroom: Option<Bytes>, "", Range::POSITIVE;
        /// Watermarks: how far the low one lies below the high one, if it is left out.
        hysteresis: Bytes, "", Range::at_least(0.0), Fallback::Text("10 KB");
        /// Threshold: stop from this many octets in the output queue on.
        threshold: Option<Bytes>, "pause threshold", Range::POSITIVE;
        /// Threshold: which links a frame stops that finds so many.
        stops: PauseTarget, "", Range::ANY, Fallback::Text("arriving");
        /// Time one pause frame asks for, in whole quanta of 512 bit times of the node's fastest link, rounded
        /// up; left out, the longest, 65535 quanta, or no end in a shared buffer of kind hpcc_simulator.
        interval: Option<Span>, "pause interval", POSITIVE_UP_TO_LONGEST;
        /// Time from a pause frame's last octet to its effect.
        reaction: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Switches and hosts that do it: a name or a pattern. Hosts do if they have a receive_buffer or a
        /// receive_rate.
        only: String, "", Range::ANY, Fallback::Text("*");
    }
}

choice! {
    /// Which of several equally short ways frames take.
    pub enum Multipath {
        /// Each flow one, by a hash of its name.
        Flow = "flow",
        /// Each flow one, which the switches on it choose: each the next link, by a hash of the flow's name and its own
        /// seed.
        Switch = "switch",
        /// Each frame one, at random: frames may overtake one another.
        Frame = "frame",
        /// Each frame of a flow the next: frames may overtake one another.
        RoundRobin = "round_robin",
        /// Each flowlet one, at random: a frame that leaves more than flowlet_gap after the one before begins a new one.
        Flowlet = "flowlet",
        /// Each packet that of one that was acknowledged without a mark, once, and one at random where there is none
        /// (recycled entropies). For RoCE with an acknowledgement of each packet; frames may overtake one another.
        Reps = "reps",
        /// Each frame the one that its switches choose: each compares the queues of a few links drawn at random and the
        /// shortest of its last choice (DRILL); frames may overtake one another.
        Drill = "drill",
        /// Each frame the one that its switches choose: each the link with the shortest queue (adaptive routing); frames
        /// may overtake one another.
        Adaptive = "adaptive",
        /// All flows the first.
        Single = "single",
    }
}

impl Multipath {
    /// Whether frames of a flow take all its ways, so that they may overtake one another.
    pub(crate) const fn spreads_flows(self) -> bool {
        match self {
            Multipath::Frame
            | Multipath::RoundRobin
            | Multipath::Flowlet
            | Multipath::Reps
            | Multipath::Drill
            | Multipath::Adaptive => true,
            Multipath::Flow | Multipath::Switch | Multipath::Single => false,
        }
    }
}

params! {
    /// How frames find their way: always by one with the fewest links.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Routing {
        /// Which of several equally short ways frames take.
        multipath: Multipath, "ECMP, packet spraying", Range::ANY, Fallback::Text("flow");
        /// Flowlets: the gap after which another way is drawn; left out, 100 us.
        flowlet_gap: Option<Span>, "", UP_TO_LONGEST;
        /// REPS: how long after a retransmission timeout only recycled ways are used; left out, 10 ms.
        reps_freeze: Option<Span>, "exit_freeze_after", UP_TO_LONGEST;
        /// REPS: packets of a flow that take ways at random after that; left out, 16.
        reps_explore: Option<u32>, "explore_counter", Range::between(0.0, 1e6);
        /// DRILL: links that a switch draws at random for a frame, to compare their queues; left out, 2.
        drill_samples: Option<u32>, "d", Range::between(1.0, 1e6);
        /// DRILL: links with the shortest queues of the last choice that a switch compares beside them; left out, 1.
        drill_memory: Option<u32>, "m", Range::between(0.0, 1e6);
        /// With multipath "flow" and "switch": queue pairs of two hosts, over which their messages go in turn. The hash is that of
        /// the queue pair, so that messages of one take one way (E-ECMP); left out, each message has a queue pair of its own.
        queue_pairs: Option<u32>, "QP, E-ECMP", Range::between(1.0, 1e6);
        /// How long after a link fails or comes back flows take other ways; left out, they keep theirs, and what needs
        /// the link is lost.
        converges_after: Option<Span>, "", UP_TO_LONGEST;
    }
}

params! {
    /// A way that frames take instead of a shortest one. Where several tables fit two hosts, routing.multipath chooses
    /// among their ways. A way written out is kept when a link on it fails.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Route {
        /// Hosts whose frames take it: a name or a pattern.
        from: String, "", Range::ANY;
        /// Hosts that they go to: a name or a pattern.
        to: String, "", Range::ANY;
        /// The switches on it, in order, such as "leaf1, spine2, leaf2".
        via: String, "", Range::ANY;
    }
}

params! {
    /// Thresholds of output queues of switches, for marks and early drops. Of several tables the first that fits a
    /// queue holds. With dcqcn and dctcp, frames under congestion control are marked by these thresholds instead of the
    /// scheme's own; all other data frames cannot carry a mark and are dropped when they arrive.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Wred {
        /// Ports of switches, written from->to: a name, or a pattern in which * stands for any characters and {1..4}
        /// for numbers.
        ports: String, "", Range::ANY, Fallback::Text("*");
        /// Classes of their queues, such as "3" or "0, 3..5".
        priorities: String, "", Range::ANY, Fallback::Text("0..7");
        /// Up to this queue length nothing is marked or dropped.
        k_min: Bytes, "Kmin, green_min_threshold", Range::at_least(0.0);
        /// Above this queue length everything is.
        k_max: Bytes, "Kmax, green_max_threshold", Range::at_least(0.0);
        /// Probability at k_max; the ramp from k_min leads there.
        p_max: f64, "Pmax, green_drop_probability", Range::between(0.0, 1.0), Fallback::Text("1");
        /// When a frame is marked.
        mark_at: MarkAt, "", Range::ANY, Fallback::Text("departure");
        /// The port's rate that the thresholds are for: at another they grow and shrink with it. Left out, they are the
        /// same at every port.
        thresholds_for: Option<BitRate>, "", Range::POSITIVE;
    }
}

choice! {
    /// What a watchdog does with a queue in a storm of pauses.
    pub enum WatchdogAction {
        /// What waits is lost, and what comes is dropped.
        Drop = "drop",
        /// Frames are sent as if nothing were paused.
        Forward = "forward",
    }
}

params! {
    /// The PFC watchdog of switches: it takes a queue that is paused for too long for stuck. Of several tables the first
    /// whose pattern fits a switch holds.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Watchdog {
        /// Switches that have it: a name or a pattern.
        only: String, "", Range::ANY, Fallback::Text("*");
        /// How long a queue with frames is paused without a break before that is a storm.
        detect_after: Span, "detection_time", POSITIVE_UP_TO_LONGEST, Fallback::Text("200 ms");
        /// How long no pause holds before the storm is over.
        restore_after: Span, "restoration_time", UP_TO_LONGEST, Fallback::Text("200 ms");
        /// How often the switch looks; left out, a quarter of detect_after.
        poll: Option<Span>, "POLL_INTERVAL", POSITIVE_UP_TO_LONGEST;
        /// What it does in a storm.
        action: WatchdogAction, "", Range::ANY, Fallback::Text("drop");
    }
}
