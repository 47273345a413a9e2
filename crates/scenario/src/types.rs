//! What a scenario says, as plain values; each table of a file is declared here, once.

use super::arrivals::Arrivals;
use super::counts::Counts;
use super::devices::{Adapters, Pause, Route, Routing, Switches, Watchdog, Wred};
use super::document::Document;
use super::domain::{Defence, Domain};
use super::entry::Pairing;
use super::fields::{FRAME, POSITIVE_UP_TO_LONGEST, UP_TO_LONGEST};
use super::incidents::{Failure, PauseStorm};
use super::shapes::{Links, Topology};
use super::shared_buffer::SharedBuffer;
use super::transport::Transport;
use qcnlab_schemes::params::{Fallback, Range};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{choice, params, variants};
use qcnlab_traffic::replay::CaptureSurvey;
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
        pub counts: Counts,
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
        /// When what is offered.
        pub arrivals: Arrivals,
        /// What carries it.
        pub transport: Transport,
        /// The file that flows, sizes or hosts were read from, for messages.
        pub(super) file: Option<String>,
        /// What a capture holds.
        pub survey: Option<Arc<CaptureSurvey>>,
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
        /// Whether what the slowest rank of each collective operation waited for is told cause by cause: queueing, pauses,
        /// rate limits and retransmission. The run is repeated for it, with every event.
        waits: bool, "", Range::ANY, Fallback::Text("false");
    }
}
