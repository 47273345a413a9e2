//! What can be wrong with a scenario, and what to do.

use super::domain_fault::DomainFault;
use super::pause_fault::PauseFault;
use crate::foreign::LoadError;
use qcnlab_network::PatternError;
use qcnlab_network::topology::TopologyError;
use qcnlab_schemes::params::ParamError;
use qcnlab_traffic::replay::ReplayFault;
use qcnlab_traffic::{ArrivalsError, CollectiveError, SheetError, SizesError};
use qcnlab_units::nearest;
use qcnlab_units::{BitRate, Bytes, Span};

/// What is wrong, without its position.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The octets are not UTF-8 text.
    #[error("the file is not UTF-8 text: octet {offset} cannot be read")]
    NotUtf8 {
        /// The first octet that cannot be read, counted from 0.
        offset: usize,
    },
    /// The octets are what gzip has packed.
    #[error("the file is gzip")]
    Gzip,
    /// The text is not TOML or JSON.
    #[error("{what}")]
    Syntax {
        /// What the parser says.
        what: String,
        /// Whether the text ends there.
        cut_off: bool,
    },
    /// A key no table of this name has.
    #[error("unknown key '{key}' in {table}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table.
        table: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// What the table may have.
        known: Vec<&'static str>,
    },
    /// A key that has another name now.
    #[error("key '{key}' in {table} is now called '{now}'")]
    RenamedKey {
        /// The old name.
        key: String,
        /// The table.
        table: String,
        /// The new name.
        now: &'static str,
    },
    /// A key that belongs to another kind of the same table.
    #[error("'{key}' does not belong to a {table} with {by} = \"{kind}\"")]
    KeyOfOtherKind {
        /// The key.
        key: String,
        /// The table.
        table: String,
        /// The key that chooses the kind.
        by: &'static str,
        /// The kind chosen.
        kind: String,
        /// The kind that has the key.
        owner: &'static str,
    },
    /// The one word for arrivals and transport that traffic once had.
    #[error("traffic has no 'kind': what is offered is 'arrivals', and what carries it 'transport'")]
    FormerKind {
        /// What to write instead.
        now: String,
    },
    /// Kinds that do not go together.
    #[error("{} = \"{}\" does not go with {} = \"{}\"", keys[0], words[0], keys[1], words[1])]
    NotTogether {
        /// The keys that choose them.
        keys: [&'static str; 2],
        /// The kinds.
        words: [&'static str; 2],
        /// What goes with the first.
        fits: &'static [&'static str],
    },
    /// A key of traffic without transport, beside one.
    #[error("'{key}' is for traffic without transport, and transport is \"{transport}\"")]
    PacedByTransport {
        /// The key.
        key: &'static str,
        /// The transport.
        transport: &'static str,
    },
    /// A key that must be there is not.
    #[error("{table} has no '{key}'")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// The table.
        table: String,
        /// What to write, as an example.
        example: String,
    },
    /// A value of another kind than its key takes, or one that stands where a table belongs, or the other way round.
    #[error("{actual} stands where {expected} is expected")]
    Shape {
        /// What stands there.
        actual: String,
        /// What should.
        expected: &'static str,
        /// What to write, as an example.
        example: String,
    },
    /// A key with more levels than any has.
    #[error("a key of more than {limit} levels")]
    TooDeep {
        /// The most that are read.
        limit: usize,
    },
    /// One table stands where there can be several.
    #[error("'{name}' is a list of tables: each is written [[{name}]]")]
    NotAList {
        /// The list.
        name: &'static str,
    },
    /// A value its field does not accept.
    #[error("{0}")]
    Value(ParamError),
    /// No scheme has this name.
    #[error("unknown scheme '{name}'")]
    UnknownScheme {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A scheme from outside that nothing here can load.
    #[error("scheme '{name}' comes from outside, and nothing here loads '{prefix}:' schemes")]
    NoLoader {
        /// The name.
        name: String,
        /// What stands before the colon.
        prefix: String,
    },
    /// A scheme from outside that cannot be used.
    #[error("scheme '{name}' cannot be used: {}", error.why)]
    ForeignScheme {
        /// The name.
        name: String,
        /// Why.
        error: LoadError,
    },
    /// The scheme has no such preset.
    #[error("scheme '{scheme}' has no preset '{name}'")]
    UnknownPreset {
        /// The preset.
        name: String,
        /// The scheme.
        scheme: String,
        /// The presets it has.
        known: Vec<&'static str>,
    },
    /// No scenario inside the package has this name.
    #[error("unknown scenario '{name}'")]
    UnknownScenario {
        /// The name.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// An override without a value.
    #[error("an override is written key=value")]
    NoAssignment,
    /// An override that goes into something that has no keys.
    #[error("'{key}' is a value and has no '{below}'")]
    NotATable {
        /// The key.
        key: String,
        /// What was looked for in it.
        below: String,
    },
    /// An override of an entry that is not there.
    #[error("there is no {list}.{entry}: the scenario has {count}")]
    NoEntry {
        /// The list.
        list: String,
        /// What stands where a number belongs.
        entry: String,
        /// How many entries there are.
        count: usize,
    },
    /// A value beyond the end of the run.
    #[error("{what} at {value}, but the run ends at {duration}")]
    BeyondEnd {
        /// What does, with its verb.
        what: &'static str,
        /// Its time.
        value: Span,
        /// The duration.
        duration: Span,
    },
    /// Traffic that starts when no flow starts any more.
    #[error("the traffic starts at {start}, but no flow starts from stop_arrivals on, {stop}")]
    AfterArrivals {
        /// Its start.
        start: Span,
        /// `stop_arrivals`.
        stop: Span,
    },
    /// A key about flows that the scenario does not have.
    #[error("{key} is set, but the scenario has no flows {flows}")]
    NoSuchFlows {
        /// The key.
        key: &'static str,
        /// What flows it is about.
        flows: &'static str,
    },
    /// Something ends before it begins.
    #[error("{what} ends at {end}, which is not after its beginning at {begin}")]
    EndsBeforeBegin {
        /// What does.
        what: &'static str,
        /// When it begins.
        begin: Span,
        /// When it ends.
        end: Span,
    },
    /// Two hotspots at one port at a time.
    #[error("this hotspot begins at {begin}, before the previous one at {port} ends at {end}")]
    Overlap {
        /// The port.
        port: String,
        /// When the later one begins.
        begin: Span,
        /// When the earlier one ends.
        end: Span,
    },
    /// The scheme steers to a queue that cannot be.
    #[error("the set point ({set_point}) is not below the buffer ({buffer})")]
    SetPoint {
        /// The set point.
        set_point: Bytes,
        /// The buffer.
        buffer: Bytes,
        /// The key of the buffer.
        raise: &'static str,
    },
    /// An `output_buffer` for a queue whose size the topology gives.
    #[error("topology.buffer already gives the size of the queue at {port}")]
    BufferTwice {
        /// The port of the queue.
        port: String,
    },
    /// A TCP frame without payload.
    #[error("a frame of {frame} has no room for payload beside {headers} of headers")]
    NoPayload {
        /// The frame.
        frame: Bytes,
        /// The headers.
        headers: Bytes,
    },
    /// A TCP window that lets nothing go.
    #[error("a window of {window} lets no segment of {segment} go")]
    Window {
        /// The receiver's window.
        window: Bytes,
        /// The payload of a full segment.
        segment: Bytes,
    },
    /// Growth in congestion avoidance for a flavour that has its own.
    #[error("congestion_avoidance is for flavours reno and newreno: cubic and bic grow by their own laws")]
    OwnGrowth,
    /// How reordering is borne, for the recovery that is not chosen.
    #[error("{key} is for recovery {recovery}")]
    OtherRecovery {
        /// The key.
        key: &'static str,
        /// The recovery that it is for.
        recovery: &'static str,
    },
    /// A wait for packets out of order where none are kept.
    #[error("reorder_wait is for a receiver that keeps packets out of order, and reorder_buffer is 0")]
    NothingReordered,
    /// A reading of BIC for a flavour that is another.
    #[error("{key} is for flavour bic: leave it out, or set flavour = \"bic\"")]
    OnlyBic {
        /// The key.
        key: &'static str,
    },
    /// RoCE timeouts out of order.
    #[error("rto_low ({low}) is above rto ({high})")]
    RtoLow {
        /// The timeout while few packets are in flight.
        low: Span,
        /// The timeout otherwise.
        high: Span,
    },
    /// A scheme hears of events of a transport, and its traffic has none.
    #[error("scheme '{scheme}' hears of each {}, which this traffic does not have", heard.join(" and "))]
    NoTransport {
        /// The scheme.
        scheme: String,
        /// What it hears of.
        heard: Vec<&'static str>,
    },
    /// Flows share a limiter, and the scheme hears of the acknowledgements of one.
    #[error(
        "scheme '{scheme}' hears of each flow's acknowledgements, but {flows} flows of '{host}' share {limiters} limiters"
    )]
    SharedLimiter {
        /// The scheme.
        scheme: String,
        /// The host.
        host: String,
        /// Its flows.
        flows: u32,
        /// Its limiters.
        limiters: u32,
    },
    /// A scheme reads telemetry that a switch does not write.
    #[error("scheme '{scheme}' reads telemetry of each switch, and '{switch}' writes none")]
    NoTelemetry {
        /// The scheme.
        scheme: String,
        /// The switch.
        switch: String,
    },
    /// Ports keep the flows of two classes apart.
    #[error("ports of scheme '{scheme}' keep flows of one class apart, and its traffic has the priorities {} and {}", classes.0, classes.1)]
    OneClassApart {
        /// The scheme.
        scheme: String,
        /// Two of its priorities.
        classes: (u32, u32),
    },
    /// The class of congesting flows has other frames.
    #[error("scheme '{scheme}' queues congesting flows in class {class}, which {what}")]
    CongestingClass {
        /// The scheme.
        scheme: String,
        /// The class.
        class: u8,
        /// Who has it.
        what: &'static str,
    },
    /// Ports keep flows apart, and something else that does not go with that.
    #[error("ports of scheme '{scheme}' keep flows in queues of their own; {what} cannot stand beside that")]
    NotBesideQueues {
        /// The scheme.
        scheme: String,
        /// What it is.
        what: &'static str,
    },
    /// TCP timeouts out of order.
    #[error("{name} ({least}) is above max_rto ({most})")]
    Rto {
        /// The key.
        name: &'static str,
        /// Its value.
        least: Span,
        /// The largest timeout.
        most: Span,
    },
    /// A switch with two kinds of memory.
    #[error("'{switch}' has a shared buffer and an input memory for each link")]
    TwoMemories {
        /// The switch.
        switch: String,
    },
    /// Nothing of a shared buffer is left to share.
    #[error("the buffer of '{switch}' ({size}) is all taken: {reserves} of reserves and {headroom} of headroom")]
    PoolBelowReserves {
        /// The whole buffer.
        size: Bytes,
        /// The reserves of all groups.
        reserves: Bytes,
        /// The headroom of all groups.
        headroom: Bytes,
        /// The switch.
        switch: String,
    },
    /// A link that fails while it is down.
    #[error("{link} fails at {begin}, when it is already down")]
    FailsTwice {
        /// The link.
        link: String,
        /// When.
        begin: Span,
    },
    /// A switch that the topology does not have.
    #[error("the topology has no switch '{name}'")]
    NoSuchSwitch {
        /// The name.
        name: String,
        /// The switches that there are.
        known: Vec<String>,
    },
    /// A way between nodes that no link joins.
    #[error("no link joins '{from}' and '{to}'")]
    NoLinkOnRoute {
        /// One node.
        from: String,
        /// The next.
        to: String,
    },
    /// Heads as long as the frames that are cut.
    #[error("trim_to ({trim}) is no shorter than the frames that it cuts ({frame})")]
    TrimAboveFrame {
        /// The heads.
        trim: Bytes,
        /// The frames.
        frame: Bytes,
    },
    /// A key about heads where nothing is cut.
    #[error("{key} is for heads of packets, and nothing is cut")]
    NothingTrimmed {
        /// The key.
        key: &'static str,
    },
    /// Ways that are recycled, of traffic without acknowledgements of packets.
    #[error(
        "routing.multipath = \"reps\" recycles the ways of acknowledged packets, and traffic.{traffic} (transport {transport}) has none"
    )]
    NotAcknowledged {
        /// The entry of traffic, from 0.
        traffic: usize,
        /// Its transport.
        transport: &'static str,
    },
    /// Ways that are recycled, with one acknowledgement for several packets.
    #[error(
        "routing.multipath = \"reps\" needs an acknowledgement of each packet, and one for {every} tells the way of one alone"
    )]
    Coalesced {
        /// Packets that an acknowledgement answers.
        every: u32,
    },
    /// A key of another rule by which ways are chosen.
    #[error("{key} is for routing.multipath = \"{rule}\"")]
    OfOtherMultipath {
        /// The key.
        key: &'static str,
        /// The rule that it belongs to.
        rule: &'static str,
    },
    /// Weights of classes that cannot be read.
    #[error("'{text}' gives no weights of classes")]
    Weights {
        /// What stands there.
        text: String,
    },
    /// A quantum for classes that are all strict.
    #[error("quantum is for classes that take turns, and all are strict")]
    QuantumWithoutWeights,
    /// A ramp that falls.
    #[error("k_min ({k_min}) is above k_max ({k_max})")]
    Ramp {
        /// Where the ramp begins.
        k_min: Bytes,
        /// Where it ends.
        k_max: Bytes,
    },
    /// A part that is no power of two.
    #[error("{alpha} is no power of two")]
    Alpha {
        /// The part.
        alpha: f64,
        /// The next lower power of two.
        below: f64,
        /// The next higher one.
        above: f64,
    },
    /// No frame fits.
    #[error("a frame of {frame} does not fit the buffer ({buffer})")]
    FrameAboveBuffer {
        /// The frame.
        frame: Bytes,
        /// The buffer.
        buffer: Bytes,
    },
    /// A rate the source's link cannot carry.
    #[error("the source's link ({link}) cannot carry {}{rate}{overhead}", if *constant { "a constant " } else { "" })]
    RateAboveLink {
        /// The rate.
        rate: BitRate,
        /// The link's rate.
        link: BitRate,
        /// "" or " with overhead".
        overhead: &'static str,
        /// Whether frames come at equal distances.
        constant: bool,
    },
    /// A host or port the topology does not have.
    #[error("the topology has no {what} '{name}' to use here")]
    NotInTopology {
        /// "port" or "host".
        what: &'static str,
        /// The name.
        name: String,
        /// What can stand here.
        known: Vec<String>,
    },
    /// A pattern that cannot be read.
    #[error("'{pattern}' is no pattern: {error}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        error: PatternError,
    },
    /// A pattern that matches no host.
    #[error("'{pattern}' {}", if *switch { "is a switch: only hosts send and receive" } else { "matches no host" })]
    NoHost {
        /// The pattern.
        pattern: String,
        /// Whether it is a switch's name.
        switch: bool,
        /// The hosts there are.
        hosts: Vec<String>,
    },
    /// A pattern that matches no switch or host, or no port.
    #[error("'{pattern}' matches no {what}{}", if *what == "port" { " that a flow crosses" } else { "" })]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// "switch", "host" or "port".
        what: &'static str,
        /// What there is.
        known: Vec<String>,
    },
    /// Two sides that should pair up and do not.
    #[error("{left} on one side cannot be paired with {right} on the other")]
    Unpaired {
        /// Names on the left.
        left: usize,
        /// Names on the right.
        right: usize,
        /// Whether one name may take several of the other side.
        shared: bool,
    },
    /// More flows than a run can have.
    #[error("the traffic has {flows} flows or more, and a run can have {limit}")]
    TooManyFlows {
        /// The flows counted so far.
        flows: usize,
        /// The limit.
        limit: usize,
    },
    /// More of something than a run can have.
    #[error("there are {count} {what}, and a run can have {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A file that cannot be read.
    #[error("'{path}' cannot be read: {why}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        why: String,
    },
    /// A list of flows or sizes with a bad line.
    #[error("{0}")]
    Sheet(SheetError),
    /// Flow sizes that are none.
    #[error("{0}")]
    Sizes(SizesError),
    /// Flows that cannot be drawn.
    #[error("{0}")]
    Arrivals(ArrivalsError),
    /// A collective operation that has no schedule.
    #[error("{0}")]
    Collective(CollectiveError),
    /// A key that the collective operation does not ask for, or lacks.
    #[error("'{key}' goes with {owner}, and {instead} stands here")]
    NotOfCollective {
        /// The key.
        key: &'static str,
        /// What it goes with.
        owner: &'static str,
        /// What stands there.
        instead: String,
    },
    /// Waits are told apart where nothing waits.
    #[error("record.waits is about collective operations, and no [[traffic]] has arrivals = \"collective\"")]
    WaitsOfNothing,
    /// Waits are told apart where nothing follows segments.
    #[error("record.waits follows packets of transport roce, and traffic.{traffic} has transport tcp")]
    WaitsOfConnections {
        /// The entry.
        traffic: usize,
    },
    /// Hosts by a stride that is not there.
    #[error("placement stride needs the number of hosts from one rank to the next")]
    NoStride,
    /// Hosts by a file that is not there.
    #[error("placement file needs a rankfile with the host of each rank")]
    NoRankfile,
    /// Incast to several.
    #[error("incast goes to one host, and 'to' matches {receivers}")]
    OneReceiver {
        /// How many match.
        receivers: usize,
    },
    /// Traffic that cannot be spread frame by frame.
    #[error("each flow of these arrivals is between two hosts and cannot be spread over several")]
    NotSpread,
    /// `[[link]]` in a topology that is not written out.
    #[error("[[link]] belongs to a [topology] of kind 'graph'")]
    LinksOfOtherKind,
    /// A graph without links.
    #[error("a [topology] of kind 'graph' has no [[link]]")]
    NoLinks,
    /// A network that cannot be, or a pair of hosts that no way joins.
    #[error("{0}")]
    Topology(TopologyError),
    /// Classes that are not eight.
    #[error("'{text}' names no classes: they are numbers from 0 to 7")]
    Priorities {
        /// What stands there.
        text: String,
    },
    /// A capture that cannot be replayed.
    #[error("'{file}': {fault}")]
    Replay {
        /// The file.
        file: String,
        /// What is wrong.
        fault: ReplayFault,
    },
    /// A key that captures have no use for.
    #[error("'{key}' does not go with a capture: its frames have their times and their hosts")]
    NotOfCaptures {
        /// The key.
        key: &'static str,
    },
    /// Pausing that cannot work.
    #[error("{0}")]
    Pause(PauseFault),
    /// A congestion notification domain that cannot be.
    #[error("{0}")]
    Domain(DomainFault),
    /// More rows than a run should write.
    #[error("recording would give {rows} rows in one run, more than {limit}")]
    TooManyRows {
        /// The rows.
        rows: u128,
        /// The limit.
        limit: u128,
    },
}

/// Names in a line: all of them, or the first and the last ones.
fn listing(names: &[String]) -> String {
    const FEW: usize = 6;
    match names {
        [] => "none".to_owned(),
        [.., last] if names.len() > FEW => format!("{}, ... {last} ({} in all)", names[..3].join(", "), names.len()),
        few => few.join(", "),
    }
}

/// The nearest of the names there are, or all of them.
pub(super) fn near_or_all(word: &str, what: &str, names: &[String]) -> String {
    match nearest(word, names.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean \"{nearest}\"?"),
        None => format!("the {what} are {}", listing(names)),
    }
}

impl Fault {
    /// What to write instead, or where to look.
    pub fn hint(&self) -> Option<String> {
        let did_you_mean = |nearest: &Option<String>| nearest.as_ref().map(|n| format!("did you mean \"{n}\"?"));
        Some(match self {
            Fault::Gzip => "unpack it first, with gunzip".to_owned(),
            Fault::NotUtf8 { .. } => "save the file as UTF-8".to_owned(),
            Fault::Syntax { cut_off: true, .. } => "the text ends here: it may have been cut off".to_owned(),
            Fault::UnknownKey { key, nearest: Some(nearest), .. } if key == nearest => {
                format!("'{key}' belongs to no table: it stands before the first one")
            }
            Fault::UnknownKey { nearest, known, .. } => {
                let list = || format!("its keys are {}", known.join(", "));
                match did_you_mean(nearest) {
                    Some(nearest) => nearest,
                    None if known.is_empty() => "it has no keys".to_owned(),
                    None => list(),
                }
            }
            Fault::RenamedKey { now, .. } => format!("write {now}"),
            Fault::KeyOfOtherKind { owner, key, by, .. } => format!("'{key}' belongs to {by} = \"{owner}\""),
            Fault::FormerKind { now } => format!("write {now}"),
            Fault::NotTogether { keys, fits, .. } => {
                let words: Vec<String> = fits.iter().map(|word| format!("\"{word}\"")).collect();
                format!("write {} = {}", keys[1], words.join(" or "))
            }
            Fault::PacedByTransport { key, .. } => format!("leave {key} out; a transport sends at its own pace"),
            Fault::MissingKey { example, .. } => format!("add {example}"),
            Fault::Shape { example, .. } => format!("write {example}"),
            Fault::TooDeep { .. } => "the keys of a scenario have up to three, as scheme.cp.set_point".to_owned(),
            Fault::Value(ParamError::Unit(error)) => return error.hint(),
            Fault::Value(ParamError::Choice { written, choices }) => {
                return did_you_mean(&nearest(written, choices.iter().map(|c| c.name)));
            }
            Fault::UnknownScheme { nearest, .. } => listed(did_you_mean(nearest), "schemes"),
            Fault::NoLoader { prefix, .. } if prefix == "python" => {
                "run it from Python: the qcnlab command, or qcnlab.run(...)".to_owned()
            }
            Fault::NoLoader { .. } => "install a loader for it (qcnlab_scenario::foreign::install)".to_owned(),
            Fault::ForeignScheme { error, .. } => return error.hint.clone(),
            Fault::UnknownPreset { name, known, .. } => match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("did you mean \"{nearest}\"? Its presets are {}", known.join(", ")),
                None => format!("its presets are {}", known.join(", ")),
            },
            Fault::UnknownScenario { nearest, .. } => listed(did_you_mean(nearest), "scenarios"),
            Fault::NoAssignment => "for example topology.rtt=200us or scheme.cp.w=2".to_owned(),
            Fault::NoEntry { list, count, .. } => match count {
                0 => format!("write [[{list}]] in the file"),
                1 => format!("write {list}.0, or just {list}"),
                n => format!("entries are counted from 0: {list}.0 to {list}.{}", n - 1),
            },
            Fault::AfterArrivals { .. } => "let it start before, or stop arrivals later".to_owned(),
            Fault::NoSuchFlows { flows: "that arrive", .. } => {
                "leave it out, or add traffic with arrivals = \"flows\", \"incast\" or \"list\"".to_owned()
            }
            Fault::NoSuchFlows { .. } => "leave it out, or give flows a size".to_owned(),
            Fault::SetPoint { raise, .. } => format!("lower scheme.cp.set_point or raise {raise}"),
            Fault::BufferTwice { .. } => "leave output_buffer out, and set topology.buffer".to_owned(),
            Fault::NotInTopology { known, .. } if known.len() == 1 => format!("write \"{}\"", known[0]),
            Fault::NotInTopology { what, name, known } => near_or_all(name, &format!("{what}s"), known),
            Fault::NoHost { pattern, hosts, .. } => near_or_all(pattern, "hosts", hosts),
            Fault::NoMatch { pattern, what, known } => {
                let plural = if *what == "switch" { "switches".to_owned() } else { format!("{what}s") };
                near_or_all(pattern, &plural, known)
            }
            Fault::Unpaired { shared: false, .. } => "write as many on both sides".to_owned(),
            Fault::Unpaired { .. } => "write as many on both sides, or a whole multiple on one".to_owned(),
            Fault::TooManyFlows { .. } => "make from or to match fewer hosts, or use spread = \"paired\"".to_owned(),
            Fault::Collective(error) => error.hint(),
            Fault::NotOfCollective { key, owner, .. } => format!("leave {key} out, or use {owner}"),
            Fault::WaitsOfNothing | Fault::WaitsOfConnections { .. } => "leave waits out".to_owned(),
            Fault::NoRankfile => "add rankfile = \"ranks.csv\", a CSV file with the columns rank and host".to_owned(),
            Fault::NoStride => "add stride = 8, with eight hosts to a server".to_owned(),
            Fault::NotSpread => "use arrivals = \"constant\", \"poisson\" or \"on_off\", or another spread".to_owned(),
            Fault::NoLinks => "add [[link]] with from = \"host{1..4}\" and to = \"switch\"".to_owned(),
            Fault::Priorities { .. } => "write \"3\", \"0, 3\" or \"0..7\"".to_owned(),
            Fault::Pause(fault) => return fault.hint(),
            Fault::Replay { fault, .. } => return fault.hint(),
            Fault::NotOfCaptures { key } => format!("leave {key} out"),
            Fault::Domain(fault) => return fault.hint(),
            Fault::TooManyRows { .. } => "record less finely, or set record.tables = false".to_owned(),
            Fault::NoTransport { .. } => {
                "add transport = \"roce\" to this traffic: its arrivals are \"saturated\", \"flows\", \"incast\", \"list\" or \"collective\""
                    .to_owned()
            }
            Fault::SharedLimiter { .. } => "leave max_rps out".to_owned(),
            Fault::OneClassApart { .. } => "give all traffic under control one priority".to_owned(),
            Fault::CongestingClass { .. } => {
                "set scheme.cp.congesting_priority to a class that nothing else has".to_owned()
            }
            Fault::NotBesideQueues { .. } => "leave it out, or choose another scheme".to_owned(),
            Fault::NoTelemetry { .. } => "leave congestion_points out, or choose another scheme".to_owned(),
            Fault::TwoMemories { .. } => "leave input_memory out, or name other switches in only".to_owned(),
            Fault::PoolBelowReserves { .. } => {
                "raise size, or lower reserve or headroom; headroom_pool lets groups share headroom".to_owned()
            }
            Fault::Alpha { below, above, .. } => {
                let part = |x: f64| if x < 1.0 { format!("\"1/{}\"", 1.0 / x) } else { x.to_string() };
                format!("write {} or {}", part(*below), part(*above))
            }
            Fault::FailsTwice { .. } => "let it come back before, or write one failure".to_owned(),
            Fault::NoSuchSwitch { name, known } => near_or_all(name, "switches", known),
            Fault::NoLinkOnRoute { .. } => {
                "via has every switch on the way, from the one at the sender to the one at the receiver".to_owned()
            }
            Fault::TrimAboveFrame { .. } => "lower trim_to".to_owned(),
            Fault::NotAcknowledged { .. } => {
                "add transport = \"roce\" to this traffic, or use another routing.multipath".to_owned()
            }
            Fault::Coalesced { .. } => "leave ack_every out, or use another routing.multipath".to_owned(),
            Fault::OfOtherMultipath { key, rule } => format!("add multipath = \"{rule}\", or leave {key} out"),
            Fault::NothingTrimmed { .. } => "add trim_to = \"64 B\", or leave it out".to_owned(),
            Fault::Weights { .. } => {
                "write \"3: 2, 5: 1\": classes from 0 to 7, each once, with weights from 1 to 1000".to_owned()
            }
            Fault::QuantumWithoutWeights => "add weights = \"3: 2, 5: 1\", or leave it out".to_owned(),
            Fault::Ramp { .. } => "raise k_max or lower k_min".to_owned(),
            Fault::OtherRecovery { key, recovery } => format!("leave {key} out, or set recovery = \"{recovery}\""),
            Fault::NothingReordered => "set reorder_buffer, or leave reorder_wait out".to_owned(),
            Fault::RtoLow { .. } => "raise rto or lower rto_low".to_owned(),
            _ => return None,
        })
    }
}

fn listed(hint: Option<String>, what: &str) -> String {
    let list = format!("`qcnlab list {what}` shows all");
    hint.map_or(list.clone(), |hint| format!("{hint} {list}"))
}
