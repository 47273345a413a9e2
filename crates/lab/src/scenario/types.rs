//! What a scenario says, as plain values; each table of a file is declared here, once.

use super::document::Document;
use qcnlab_schemes::params::{Choice, Fallback, Field, Range, Table, Value, Variants};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{params, variants};
use qcnlab_units::{BitRate, Bytes, Span};
use std::sync::Arc;

/// The name of a star's one bottleneck port.
pub const BOTTLENECK: &str = "switch->sink";
/// The longest duration an engine can schedule: two hours.
pub const LONGEST: Span = Span::from_ms(2 * 3600 * 1000);

const UP_TO_LONGEST: Range = Range::between(0.0, LONGEST.ps() as f64);
const POSITIVE_UP_TO_LONGEST: Range = Range::above_zero_to(LONGEST.ps() as f64);
/// From the smallest Ethernet frame to 64 KiB.
const FRAME: Range = Range::between(64.0, 65536.0);

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
        /// How long a run lasts in simulated time.
        duration: Span, "", POSITIVE_UP_TO_LONGEST;
        /// Metrics of the time before the first hotspot start here.
        warmup: Span, "", UP_TO_LONGEST, Fallback::Text("0 s");
        /// Runs of the scenario, each with its own random streams.
        replications: u32, "", Range::between(1.0, 1e6), Fallback::Text("1");
        /// Where the random streams start.
        seed: u64, "", Range::ANY, Fallback::Text("1");
    } with {
        /// The file's stem, or the name its text was given.
        pub name: String,
        /// Hosts, links and queues.
        pub topology: Topology,
        /// What the sources send; one entry or more.
        pub traffic: Vec<Traffic>,
        /// When which port is slowed, in order of time.
        pub hotspots: Vec<Hotspot>,
        /// How signals travel back to the sources.
        pub feedback: Feedback,
        /// The scheme with all its parameters.
        pub scheme: Config,
        /// What is written down, and how finely.
        pub record: Record,
        pub(super) origin: Arc<Document>,
    }
}

/// Hosts, links and queues.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Sources around one switch, and one sink.
    Star(Star),
}

params! {
    /// Sources `source1` to `sourceN` around one switch, and one `sink` behind the bottleneck `switch->sink`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Star {
        /// Number of sources, called source1, source2 and so on.
        sources: u32, "N", Range::between(1.0, 1e6);
        /// Rate of every link.
        rate: BitRate, "C", Range::POSITIVE;
        /// Rate of the link from the switch to the sink, outside hotspots.
        bottleneck_rate: BitRate, "", Range::POSITIVE, Fallback::Same("rate");
        /// Propagation from a source to the congestion point and back, half each way.
        rtt: Span, "", UP_TO_LONGEST;
        /// Propagation of the link to the sink.
        sink_delay: Span, "", UP_TO_LONGEST, Fallback::Half("rtt");
        /// Room in the bottleneck's queue, in frame octets.
        buffer: Bytes, "", Range::POSITIVE;
        /// Octets of wire time on top of each frame; 20 B stands for preamble and inter-frame gap.
        frame_overhead: Bytes, "", Range::between(0.0, 65536.0), Fallback::Text("0 B");
    }
}

params! {
    /// What the sources that match a pattern send.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Traffic {
        /// Sources that send it: a name, or a pattern in which * stands for any characters.
        from: String, "", Range::ANY, Fallback::Text("source*");
        /// Host that receives it.
        to: String, "", Range::ANY, Fallback::Text("sink");
        /// Length of every frame.
        frame: Bytes, "", FRAME;
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
    }
}

variants! {
    /// How a source offers frames.
    #[derive(Clone, Debug, PartialEq)]
    pub enum TrafficKind {
        /// There is always a frame to send.
        Saturated = "saturated" {
            /// The source's own ceiling; left out, the rate of its link.
            max_rate: Option<BitRate>, "", Range::POSITIVE;
        },
        /// Frames at equal distances.
        Constant = "constant" {
            /// Rate of the frames, without overhead.
            rate: BitRate, "", Range::POSITIVE;
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
        },
    }
}

params! {
    /// What a run writes down, and how finely.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Record {
        /// Distance of queue samples.
        queue_every: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("100 us");
        /// Distance of rate samples.
        rates_every: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 ms");
        /// Length of a throughput bin.
        throughput_bin: Span, "", POSITIVE_UP_TO_LONGEST, Fallback::Text("1 ms");
        /// Whether tables are kept; false gives metrics only.
        tables: bool, "", Range::ANY, Fallback::Text("true");
    }
}

impl Variants for Topology {
    const CHOICES: &'static [Choice] = &[Choice {
        name: "star",
        about: "Sources around one switch, and one sink behind the bottleneck switch->sink.",
    }];
    const FIELDS: &'static [&'static [Field]] = &[Star::FIELDS];

    fn word(&self) -> &'static str {
        match self {
            Topology::Star(_) => "star",
        }
    }

    fn values(&self) -> Vec<Option<Value>> {
        match self {
            Topology::Star(star) => values(star),
        }
    }

    fn from_values(word: &str, values: Vec<Option<Value>>) -> Topology {
        match word {
            "star" => Topology::Star(Star::from_values(values)),
            other => unreachable!("no topology is called {other}"),
        }
    }
}

/// All values of a table, in the order of its fields.
pub(super) fn values(table: &dyn Table) -> Vec<Option<Value>> {
    (0..table.fields().len()).map(|i| table.get(i)).collect()
}

/// One source's part in a scenario's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Position of the source in the topology, from 0.
    pub source_index: usize,
    /// The source's name.
    pub source_name: String,
    /// Position of the entry in [`Scenario::traffic`].
    pub traffic: usize,
    /// When it starts, before jitter.
    pub start: Span,
}

impl Topology {
    /// The sources' names, in order.
    pub fn source_names(&self) -> impl Iterator<Item = String> {
        match self {
            Topology::Star(star) => (1..=star.sources).map(|i| format!("source{i}")),
        }
    }
}

impl Scenario {
    /// Who sends what: wildcards expanded, in the order of traffic entries and then of sources.
    pub fn flows(&self) -> Vec<FlowSpec> {
        let names: Vec<String> = self.topology.source_names().collect();
        let mut flows = Vec::new();
        for (traffic, entry) in self.traffic.iter().enumerate() {
            let mut start = entry.start;
            for (source_index, name) in names.iter().enumerate().filter(|(_, name)| matches(&entry.from, name)) {
                flows.push(FlowSpec { source_index, source_name: name.clone(), traffic, start });
                start = start + entry.stagger;
            }
        }
        flows
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
    }
    name.ends_with(tail)
}
