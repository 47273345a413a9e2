//! What a scenario says, as plain values; each table of a file is declared here, once.

use super::counts::Counts;
use super::devices::{Adapters, Pause, Route, Routing, Switches, Watchdog, Wred};
use super::document::Document;
use super::domain::{Defence, Domain};
use super::fields::{FRAME, POSITIVE_UP_TO_LONGEST, UP_TO_LONGEST};
use super::incidents::{Failure, PauseStorm};
use super::shapes::{Links, Topology};
use super::shared_buffer::SharedBuffer;
use crate::flows::{Algorithm, Operation};
use crate::replay::{CaptureSurvey, CapturedDirection, FlowsBy, Replayed};
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{choice, params, variants};
use qcnlab_units::{BitRate, Bytes, Span};
use std::sync::Arc;

/// The port that a hotspot slows unless it names another.
pub const BOTTLENECK: &str = "switch->sink";

params! {
    /// A checked experiment: every value is set, and nothing in it contradicts another.
    ///
    /// Two scenarios are equal when their resolved forms are; the name and the
    /// text they were read from do not count. Overrides start from the file,
    /// not from fields changed since.
    #[derive(Clone, Debug)]
    pub struct Scenario {
        /// One line for people.
        title: String, "", Range::ANY, Fallback::Text("");
        /// What it shows and how to read it.
        about: Option<String>, "", Range::ANY;
        /// The deck or paper it comes from.
        source: Option<String>, "", Range::ANY;
        /// How long a run lasts in simulated time; with drain, at most.
        duration: Span, "", POSITIVE_UP_TO_LONGEST;
        /// No drawn or listed flow starts from then on; those that have started go on. Left out, flows start until the
        /// duration is over.
        stop_arrivals: Option<Span>, "", POSITIVE_UP_TO_LONGEST;
        /// Whether the run ends as soon as each flow of a size has finished, or has lost a frame that nothing sends
        /// again; at the latest after its duration. To let flows drain for 5 ms at most, set duration 5 ms after
        /// stop_arrivals.
        drain: bool, "", Range::ANY, Fallback::Text("false");
        /// Metrics of the time before the first hotspot start here.
        warmup: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Runs of the scenario, each with its own random streams.
        replications: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
        /// Where the random streams start.
        seed: u64, "", Range::ANY, Fallback::Text("1");
        /// Which of several frames that arrive at one instant is served first.
        ties: Ties, "", Range::ANY, Fallback::Text("drawn");
        /// How far the clock of each transmitter may be off, in millionths, either way; drawn once for each. 802.3
        /// allows 100.
        clock_tolerance_ppm: u32, "", Range::between(0.0, 10_000.0), Fallback::Text("0");
    } with {
        /// The file's stem, or the name its text was given.
        pub name: String,
        /// Hosts, switches and links.
        pub topology: Topology,
        /// The links of a topology of kind graph.
        pub links: Vec<Links>,
        /// How switches are built.
        pub switches: Vec<Switches>,
        /// Switches with one buffer for all their ports.
        pub shared_buffers: Vec<SharedBuffer>,
        /// Thresholds of single queues.
        pub wreds: Vec<Wred>,
        /// How hosts send.
        pub adapters: Vec<Adapters>,
        /// When switches and hosts stop the links into them.
        pub pauses: Vec<Pause>,
        /// When switches take a paused queue for stuck.
        pub watchdogs: Vec<Watchdog>,
        /// How frames find their way.
        pub routing: Routing,
        /// Ways written out.
        pub routes: Vec<Route>,
        /// Who takes part in congestion notification; `None` for everybody, without defences.
        pub domain: Option<Domain>,
        /// How ports defend the domain.
        pub defences: Vec<Defence>,
        /// What the sources send; one entry or more.
        pub traffic: Vec<Traffic>,
        /// When which port is slowed, in order of time.
        pub hotspots: Vec<Hotspot>,
        /// When which link is down.
        pub failures: Vec<Failure>,
        /// Hosts that pause their links, whatever they hold.
        pub pause_storms: Vec<PauseStorm>,
        /// How signals travel back to the sources.
        pub feedback: Feedback,
        /// The scheme with all its parameters.
        pub scheme: Config,
        /// What is written down, and how finely.
        pub record: Record,
        /// What its memory follows from, as it was read.
        pub(crate) counts: Counts,
        pub(super) origin: Arc<Document>,
    }
}

choice! {
    /// What decides between frames that arrive at one instant, and between other equal events of one instant.
    pub enum Ties {
        /// An order drawn anew for each instant: no source and no link is preferred.
        Drawn = "drawn",
        /// The order in which the topology lists its links. Whoever is listed first is served first, every time.
        PortOrder = "port_order",
    }
}

choice! {
    /// Which rank of a collective operation is on which host.
    pub enum Placement {
        /// Ranks follow the order of the hosts.
        Linear = "linear",
        /// The order of the hosts is drawn anew for each replication.
        Random = "random",
        /// Every stride-th host first, then their next neighbours, and so on: with as many hosts (rails) to a server as the
        /// stride, the first rail of all servers, then the second.
        Stride = "stride",
    }
}

choice! {
    /// How the hosts of `from` and `to` are brought together.
    pub enum Pairing {
        /// Every sender has a flow of its own to every receiver.
        Each = "each",
        /// The first sender has a flow to the first receiver, the second to the second, and so on.
        Paired = "paired",
        /// Every sender spreads one stream over all receivers: each frame goes to one of them at random.
        Uniform = "uniform",
    }
}

params! {
    /// What the hosts that match a pattern send. Nobody sends to itself.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Traffic {
        /// Hosts that send it: a name, or a pattern in which * stands for any characters and {1..4} for numbers.
        from: String, "", Range::ANY, Fallback::Text("source*");
        /// Hosts that receive it: a name or a pattern.
        to: String, "", Range::ANY, Fallback::Text("sink");
        /// How senders and receivers are brought together.
        spread: Pairing, "", Range::ANY, Fallback::Text("each");
        /// Length of every frame; the last one of a flow may be shorter.
        frame: Bytes, "", FRAME;
        /// Class of its frames; the highest goes first.
        priority: u32, "PCP", Range::between(0.0, 7.0), Fallback::Text("0");
        /// When the first source matched starts.
        start: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// How much later each further source starts.
        stagger: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Each source starts later by a random time up to this.
        start_jitter: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// When the sources stop; left out, they send to the end.
        stop: Option<Span>, "", POSITIVE_UP_TO_LONGEST;
        /// Whether its priority is under congestion control.
        controlled: bool, "CNPV", Range::ANY, Fallback::Text("true");
        /// Whether its frames carry a CN-TAG.
        cn_tag: bool, "CN-TAG", Range::ANY, Fallback::Text("true");
    } with {
        /// How frames are offered.
        pub kind: TrafficKind,
        /// The file that flows, sizes or hosts were read from, for messages.
        pub(super) file: Option<String>,
        /// What a capture holds.
        pub(crate) survey: Option<Arc<CaptureSurvey>>,
    }
}

choice! {
    /// How long the times of on/off traffic are.
    pub enum Times {
        /// Exponential, with the means given.
        Exponential = "exponential",
        /// Always the means given.
        Fixed = "fixed",
    }
}

choice! {
    /// Congestion control of a TCP sender.
    pub enum TcpFlavour {
        /// RFC 5681.
        Reno = "reno",
        /// RFC 6582.
        NewReno = "newreno",
        /// RFC 9438.
        Cubic = "cubic",
        /// Binary increase, of Xu, Harfoush and Rhee, INFOCOM 2004.
        Bic = "bic",
    }
}

choice! {
    /// How the window of Reno and NewReno grows in congestion avoidance (RFC 5681, 3.1). CUBIC and BIC have their own
    /// growth.
    pub enum CongestionAvoidance {
        /// A segment more when a whole window of octets has been acknowledged, which RFC 5681 recommends.
        ByteCounting = "byte_counting",
        /// SMSS * SMSS / cwnd octets more at each acknowledgement of new data: equation 3 of RFC 5681.
        PerAck = "per_ack",
    }
}

choice! {
    /// Whether three duplicate acknowledgements start fast recovery when they ask for what a timeout or a recovery has
    /// already sent again.
    pub enum RecoverGuard {
        /// As the flavour's document says: off for reno (RFC 5681 has no such guard), rfc6582 for the others.
        ByFlavour = "by_flavour",
        /// No, until an acknowledgement covers more than `recover`, the highest segment that had been sent then.
        Rfc6582 = "rfc6582",
        /// Yes: any three do.
        Off = "off",
    }
}

choice! {
    /// From when the round trip of a segment is counted, for the retransmission timeout.
    pub enum RttFrom {
        /// When TCP hands the segment to the adapter: the wait at the rate limiter and for the link counts.
        Handover = "handover",
        /// When its first octet leaves the host.
        Departure = "departure",
    }
}

choice! {
    /// When BIC chooses how far its window goes in a round trip.
    pub enum BicStep {
        /// At each acknowledgement, as the paper's pseudo code has it and Linux does.
        EachAck = "each_ack",
        /// Once a round trip, as the paper's words have it.
        EachRound = "each_round",
    }
}

choice! {
    /// How BIC goes beyond the window that it had at the last loss.
    pub enum BicProbing {
        /// By one segment in a round trip, then two, four and so on, as in the paper.
        Doubling = "doubling",
        /// By the steps of the search in reverse order, from the smallest on; Linux does so, with other numbers.
        Mirrored = "mirrored",
    }
}

choice! {
    /// How a RoCE transport repairs lost packets.
    pub enum Recovery {
        /// Everything from the lost packet on goes again.
        GoBackN = "go_back_n",
        /// The lost packets alone go again (IRN).
        SelectiveRepeat = "selective_repeat",
    }
}

/// Declares the kinds of traffic; those after `over TCP` have the keys of a connection beside their own, those after
/// `over RoCE` the keys of a queue pair.
macro_rules! traffic_kinds {
    (
        { $($plain:tt)* }
        over TCP { $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal { $($own:tt)* }, )* }
        over RoCE { $( $(#[doc = $pair_doc:literal])+ $pair:ident = $pair_word:literal { $($pair_own:tt)* }, )* }
    ) => {
        variants! {
            /// How a source offers frames.
            #[derive(Clone, Debug, PartialEq)]
            pub enum TrafficKind {
                $($plain)*
                $(
                    $(#[doc = $doc])+
                    $variant = $word {
                        /// Congestion control of the sender.
                        flavour: TcpFlavour, "", Range::ANY, Fallback::Text("reno");
                        $($own)*
                        /// Octets of each frame that are not payload.
                        headers: Bytes, "", Range::between(0.0, 256.0), Fallback::Text("40 B");
                        /// Length of the frame that carries an acknowledgement.
                        ack_frame: Bytes, "", FRAME, Fallback::Text("64 B");
                        /// Segments sent before the first acknowledgement.
                        initial_window: u32, "IW", Range::between(1.0, 1000.0), Fallback::Text("3");
                        /// Octets on their way at most: the receiver's window.
                        max_window: Bytes, "", Range::POSITIVE, Fallback::Text("65536 B");
                        /// Retransmission timeout before the first measurement.
                        initial_rto: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 s");
                        /// Smallest retransmission timeout.
                        min_rto: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 s");
                        /// Largest retransmission timeout.
                        max_rto: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("60 s");
                        /// Granularity of the timer.
                        granularity: Span, "G", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 ms");
                        /// How long a receiver waits for a second segment before it acknowledges the first; 0 s to
                        /// acknowledge each at once.
                        delayed_ack: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
                        /// How the window of Reno and NewReno grows in congestion avoidance.
                        congestion_avoidance: CongestionAvoidance, "", Range::ANY, Fallback::Text("byte_counting");
                        /// Whether duplicates of what was already sent again start fast recovery.
                        recover_guard: RecoverGuard, "recover", Range::ANY, Fallback::Text("by_flavour");
                        /// From when the round trip of a segment is counted.
                        rtt_from: RttFrom, "RTT", Range::ANY, Fallback::Text("handover");
                        /// When BIC chooses how far its window goes in a round trip.
                        bic_step: BicStep, "", Range::ANY, Fallback::Text("each_ack");
                        /// How BIC goes beyond the window that it had at the last loss.
                        bic_probing: BicProbing, "", Range::ANY, Fallback::Text("doubling");
                    },
                )*
                $(
                    $(#[doc = $pair_doc])+
                    $pair = $pair_word {
                        $($pair_own)*
                        /// How lost packets are repaired.
                        recovery: Recovery, "", Range::ANY, Fallback::Text("go_back_n");
                        /// Octets of each frame that are not payload: Ethernet with FCS 18, IPv4 20, UDP 8, BTH 12,
                        /// ICRC 4. What a scheme adds comes on top.
                        headers: Bytes, "", Range::between(0.0, 256.0), Fallback::Text("62 B");
                        /// Length of the frame that carries an acknowledgement: the same with AETH 4.
                        ack_frame: Bytes, "", Range::between(40.0, 65535.0), Fallback::Text("66 B");
                        /// Class of that frame; left out, that of the data.
                        ack_priority: Option<u32>, "", Range::between(0.0, 7.0);
                        /// Packets that one acknowledgement answers.
                        ack_every: u32, "", Range::between(1.0, 10000.0), Fallback::Text("1");
                        /// How long fewer packets wait for an acknowledgement.
                        ack_delay: Span, "", UP_TO_LONGEST, Fallback::Text("10 us");
                        /// The least time between two negative acknowledgements for the same packet, go_back_n.
                        nack_interval: Span, "", UP_TO_LONGEST, Fallback::Text("500 us");
                        /// Octets in flight at most, whatever the scheme permits; left out, any number.
                        window_limit: Option<Bytes>, "", Range::POSITIVE;
                        /// Retransmission timeout.
                        rto: Span, "RTO_high", POSITIVE_UP_TO_LONGEST, Fallback::Text("16 ms");
                        /// Retransmission timeout while few packets are in flight.
                        rto_low: Span, "RTO_low", POSITIVE_UP_TO_LONGEST, Fallback::Text("100 us");
                        /// How many packets are few; 0 for none.
                        rto_low_packets: u32, "N", Range::between(0.0, 10000.0), Fallback::Text("0");
                    },
                )*
            }
        }
    };
}

traffic_kinds! {
    {
        /// There is always a frame to send.
        Saturated = "saturated" {
            /// The source's own ceiling; left out, the rate of its link.
            max_rate: Option<BitRate>, "", Range::POSITIVE;
            /// Octets in all; left out, no end.
            size: Option<Bytes>, "", Range::POSITIVE;
        },
        /// Frames at equal distances.
        Constant = "constant" {
            /// Rate of the frames, without overhead.
            rate: BitRate, "", Range::POSITIVE;
        },
        /// Frames at exponential distances.
        Poisson = "poisson" {
            /// Mean rate of the frames, without overhead.
            rate: BitRate, "", Range::POSITIVE;
        },
        /// Frames at equal distances for a while, then none for a while; it begins with frames.
        OnOff = "on_off" {
            /// Rate of the frames while on, without overhead.
            rate: BitRate, "", Range::POSITIVE;
            /// Mean time on.
            on: Span, "Ton", POSITIVE_UP_TO_LONGEST;
            /// Mean time off.
            off: Span, "Toff", POSITIVE_UP_TO_LONGEST;
            /// How long the times are.
            times: Times, "", Range::ANY, Fallback::Text("exponential");
        },
        /// Flows of random sizes that start at random, independently of each other, between random hosts.
        Flows = "flows" {
            /// How large flows are: a size such as 64 KB for all, the name of a published distribution such as
            /// web_search, or a CSV file with the columns size and part, the part of flows up to that size.
            sizes: String, "", Range::ANY;
            /// Part of its link's rate that each sender sends on average; of several rates the smallest counts.
            load: f64, "", Range::above_zero_to(1.0);
        },
        /// Several of the senders at a time send to the one receiver, over and over.
        Incast = "incast" {
            /// What each of them sends.
            size: Bytes, "", Range::POSITIVE;
            /// How many send at a time, drawn anew each time.
            senders: u32, "", Range::between(1.0, 1e6);
            /// Time from one burst to the next.
            period: Span, "", POSITIVE_UP_TO_LONGEST;
        },
        /// Flows that are written out; from and to do not count.
        List = "list" {
            /// A CSV file with the columns from, to, size, start and, if wanted, class; or such text itself.
            flows: String, "", Range::ANY;
        },
        /// Frames or flows of a capture. Addresses that send take the hosts of from, addresses that receive those of to,
        /// in the order in which they appear; no frame is longer than frame.
        Capture = "capture" {
            /// The capture, pcapng or pcap; its name is relative to the scenario's file.
            file: String, "", Range::ANY;
            /// Digest of the file, as sha256sum prints it. Left out, any file is taken, and the resolved scenario has
            /// the digest of the one that was there.
            sha256: Option<String>, "", Range::ANY;
            /// What is sent again.
            replay: Replayed, "", Range::ANY, Fallback::Text("frames");
            /// What tells flows apart.
            flows_by: FlowsBy, "", Range::ANY, Fallback::Text("five_tuple");
            /// Interfaces whose frames count: names or numbers, or a pattern.
            interfaces: String, "", Range::ANY, Fallback::Text("*");
            /// Frames of which direction count.
            direction: CapturedDirection, "", Range::ANY, Fallback::Text("both");
            /// Frames before this are left out; in time of the capture, from its first frame on. What is at this time
            /// is sent at start.
            window_start: Span, "", Range::between(0.0, 1e18), Fallback::Text("0 s");
            /// Frames from this on are left out; left out, there is no end.
            window_end: Option<Span>, "", Range::above_zero_to(1e18);
            /// What distances in time are multiplied by: 2 is half as fast.
            time_scale: f64, "", Range::between(1e-6, 1e6), Fallback::Text("1");
            /// What the octets of each flow are multiplied by. Of frames whole ones are left out or repeated, at their
            /// times.
            rate_scale: f64, "", Range::between(1e-6, 1000.0), Fallback::Text("1");
            /// Which address is which host: a CSV file with the columns address and host, or such text itself; from
            /// and to then do not count.
            hosts: Option<String>, "", Range::ANY;
            /// Whether frames with an 802.1Q tag keep its priority; the others have priority.
            keep_priority: bool, "PCP", Range::ANY, Fallback::Text("false");
            /// Octets that each frame had beyond those that the capture counts: 4 B for the FCS where frame counts it.
            fcs: Bytes, "FCS", Range::between(0.0, 64.0), Fallback::Text("0 B");
        },
    }
    over TCP {
        /// A TCP connection, whose acknowledgements travel back as frames. A full segment fills a frame.
        Tcp = "tcp" {
            /// Octets in all; left out, no end.
            size: Option<Bytes>, "", Range::POSITIVE;
        },
        /// As flows, each over a TCP connection of its own.
        TcpFlows = "tcp_flows" {
            /// How large flows are, as for kind flows.
            sizes: String, "", Range::ANY;
            /// Part of its link's rate that each sender sends on average, payload alone; of several rates the
            /// smallest counts.
            load: f64, "", Range::above_zero_to(1.0);
        },
        /// As incast, each flow over a TCP connection of its own.
        TcpIncast = "tcp_incast" {
            /// What each of them sends.
            size: Bytes, "", Range::POSITIVE;
            /// How many send at a time, drawn anew each time.
            senders: u32, "", Range::between(1.0, 1e6);
            /// Time from one burst to the next.
            period: Span, "", POSITIVE_UP_TO_LONGEST;
        },
        /// As list, each flow over a TCP connection of its own.
        TcpList = "tcp_list" {
            /// A CSV file with the columns from, to, size, start and, if wanted, class; or such text itself.
            flows: String, "", Range::ANY;
        },
    }
    over RoCE {
        /// A message on a RoCE queue pair, whose acknowledgements travel back as frames. A full packet fills a frame.
        Roce = "roce" {
            /// Octets in all; left out, no end.
            size: Option<Bytes>, "", Range::POSITIVE;
        },
        /// As flows, each a message on a queue pair of its own.
        RoceFlows = "roce_flows" {
            /// How large flows are, as for kind flows.
            sizes: String, "", Range::ANY;
            /// Part of its link's rate that each sender sends on average, payload alone; of several rates the
            /// smallest counts.
            load: f64, "", Range::above_zero_to(1.0);
        },
        /// As incast, each flow a message on a queue pair of its own.
        RoceIncast = "roce_incast" {
            /// What each of them sends.
            size: Bytes, "", Range::POSITIVE;
            /// How many send at a time, drawn anew each time.
            senders: u32, "", Range::between(1.0, 1e6);
            /// Time from one burst to the next.
            period: Span, "", POSITIVE_UP_TO_LONGEST;
        },
        /// As list, each flow a message on a queue pair of its own.
        RoceList = "roce_list" {
            /// A CSV file with the columns from, to, size, start and, if wanted, class, id and after; or such text
            /// itself. A flow waits for those whose ids are in after, and starts when they have completed and start has
            /// passed since then.
            flows: String, "", Range::ANY;
        },
        /// A collective operation among hosts, whose messages wait for one another, each a message on a queue pair of its own;
        /// from and to do not count.
        Collective = "collective" {
            /// What the ranks do together.
            operation: Operation, "", Range::ANY;
            /// In which order they send to whom; left out, ring for all_reduce, reduce_scatter and all_gather, tree for
            /// broadcast, direct for all_to_all and moe, stages for pipeline.
            algorithm: Option<Algorithm>, "", Range::ANY;
            /// Octets of each rank's buffer: of what it puts in or, with all_gather, has in the end. Of a pipeline those of
            /// a micro-batch.
            size: Bytes, "", Range::POSITIVE;
            /// Hosts of the ranks: a pattern, or names with commas between them in the order of the ranks.
            ranks: String, "", Range::ANY, Fallback::Text("host*");
            /// Which rank is on which of these hosts.
            placement: Placement, "", Range::ANY, Fallback::Text("linear");
            /// Of placement stride: hosts from one rank to the next.
            stride: Option<u32>, "", Range::between(1.0, 1e6);
            /// Shares of the buffer with messages of their own, at once: several queue pairs between two ranks.
            channels: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
            /// Messages that each one is cut into. A chunk leaves when the one before is acknowledged, and is passed on when
            /// it has come.
            chunks: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
            /// How often the operation is carried out. A rank begins the next round when it has completed the one before.
            rounds: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
            /// How long a rank computes: before each round but the first, before an expert sends its tokens back, and before a
            /// stage passes a micro-batch on.
            compute: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
            /// Of moe: the expert at rank r, from 0, is chosen in proportion to 1 / (r + 1)^skew; left out, all alike.
            skew: Option<f64>, "", Range::between(0.0, 10.0);
            /// Of a pipeline: how many micro-batches; left out, one.
            microbatches: Option<u32>, "", Range::between(1.0, 1e6);
        },
    }
}

params! {
    /// A time during which a port serves at another rate.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Hotspot {
        /// The port, written from->to.
        port: String, "", Range::ANY, Fallback::Text(BOTTLENECK);
        /// When it begins.
        from: Span, "", UP_TO_LONGEST;
        /// When the port's own rate returns.
        until: Span, "", POSITIVE_UP_TO_LONGEST;
        /// Rate of service in between.
        rate: BitRate, "", Range::POSITIVE;
    }
}

variants! {
    /// How signals travel from a congestion point back to a source.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Feedback {
        /// After a fixed delay: the propagation of the way back.
        Ideal = "ideal",
        /// As frames on the reverse links.
        Frames = "frames" {
            /// Length of the frame that carries a signal.
            frame: Bytes, "", FRAME, Fallback::Text("64 B");
            /// Class of that frame; the highest goes first.
            priority: u32, "PCP", Range::between(0.0, 7.0), Fallback::Text("7");
        },
    }
}

params! {
    /// What a run writes down, and how finely.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Record {
        /// Port that metrics call the bottleneck, written from->to; left out, that of the first hotspot or
        /// else the one most is offered to.
        bottleneck: Option<String>, "", Range::ANY;
        /// Ports whose queues are recorded: a name, or a pattern such as core->node{1..3}; left out, the
        /// bottleneck and the ports of hotspots.
        queues: Option<String>, "", Range::ANY;
        /// Distance of queue samples.
        queue_every: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("100 us");
        /// Distance of rate samples. Left out, it is 1 ms or, in a run shorter than 100 ms, the least of 1, 2, 5, 10, ...
        /// us of which at most 100 fill the run.
        rates_every: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Rule("1 ms, finer below 100 ms");
        /// Length of a throughput bin. Left out, it follows the duration as `rates_every` does.
        throughput_bin: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Rule("1 ms, finer below 100 ms");
        /// How long throughput must last to count: at 95 % of its mean before the hotspot for `recovery_ms`, at the
        /// limit for `regain_ms`. Rounded up to whole bins.
        recovery_hold: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("10 ms");
        /// How long throughput must last at 95 % of what link and sources allow, for `rec95s_ms`. Rounded up to whole
        /// bins.
        rec95s_hold: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("5 ms");
        /// How long the queue must stay at or below twice the set point, for `onset_ms`. Rounded up to whole distances
        /// of samples.
        onset_hold: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("10 ms");
        /// Whether tables are kept; false gives metrics only.
        tables: bool, "", Range::ANY, Fallback::Text("true");
    }
}
