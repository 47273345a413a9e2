//! Why there is no live run.

use crate::sys::SysError;
use qcnlab_lab::RunError;
use qcnlab_scenario::ScenarioError;

/// What a scenario has and the data plane has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// A scheme from outside.
    #[error("the scheme {name} is from outside; live runs take schemes of the registry")]
    ForeignScheme {
        /// Its name.
        name: String,
    },
    /// A signal without a standard frame.
    #[error(
        "the scheme {scheme} sends signals of kind {kind}; live frames carry CNMs and queue reports: use another scheme"
    )]
    Signal {
        /// Its name.
        scheme: String,
        /// The signal.
        kind: &'static str,
    },
    /// Reaction points that hear of acknowledgements.
    #[error("the scheme {scheme} hears of acknowledgements; live adapters do not tell it: use another scheme")]
    Acknowledgements {
        /// Its name.
        scheme: String,
    },
    /// Switches that isolate congesting flows.
    #[error("ports of scheme {scheme} isolate congesting flows; live switches do not: use another scheme")]
    Isolation {
        /// Its name.
        scheme: String,
    },
    /// More flows than there are ports to tell them apart.
    #[error("{flows} flows are more than ports of UDP and TCP tell apart; have {most} at most")]
    Flows {
        /// How many there are.
        flows: usize,
        /// How many there can be.
        most: usize,
    },
    /// More TCP connections than there can be threads for.
    #[error("{connections} TCP connections are more than {most}, each with two threads; draw fewer flows")]
    Connections {
        /// How many there are.
        connections: usize,
        /// How many there can be.
        most: usize,
    },
    /// A flow with several paths.
    #[error(
        "the flow {flow} has several paths; live switches know one way to each host: set routing.multipath to \"single\""
    )]
    Paths {
        /// Its name.
        flow: String,
    },
    /// Flows to one host that leave a switch by different links.
    #[error(
        "flows to {host} leave {switch} by several links; live switches know one way to each host: set routing.multipath to \"single\""
    )]
    Ways {
        /// The host's name.
        host: String,
        /// The switch's name.
        switch: String,
    },
    /// A host that holds what it received.
    #[error("the host {host} has a receive buffer; live hosts read at once: leave receive_buffer and receive_rate out")]
    ReceiveBuffer {
        /// Its name.
        host: String,
    },
    /// A domain over links of which one direction is left out.
    #[error("a live [domain] wants feedback that crosses the links; set feedback.kind to frames")]
    DomainFeedback,
    /// Flows over RoCE, whose transport is the simulator's own.
    #[error("live flows are datagrams or TCP connections; use another kind of traffic than roce")]
    Roce,
    /// Traffic that iperf3 does not make.
    #[error("iperf3 sends TCP, constant and saturated traffic; the flow {flow} has another kind: use --traffic own")]
    IperfTraffic {
        /// The flow's name.
        flow: String,
    },
    /// Traffic that carries no marks, behind the kernel's shaper.
    #[error(
        "the kernel's shaper tells reaction points apart by marks on our own senders' sockets: use --traffic own, or --limiter adapter"
    )]
    HtbTraffic,
    /// A run too short for iperf3.
    #[error("iperf3 needs a run of {seconds} s; set a longer duration or a larger --scale")]
    IperfTime {
        /// The shortest run, s.
        seconds: u64,
    },
    /// A switch with one buffer for all its ports.
    #[error("the switch {switch} has a shared buffer; live switches count by input: leave [[shared_buffer]] out")]
    SharedBuffer {
        /// Its name.
        switch: String,
    },
    /// A switch whose classes take turns.
    #[error(
        "the classes of switch {switch} take turns; live switches serve the highest class first: leave weights out"
    )]
    Weights {
        /// Its name.
        switch: String,
    },
    /// Storms of pauses and watchdogs.
    #[error(
        "hosts of live runs send no storms of pauses, and live switches have no watchdog: leave [[pause_storm]] and [[watchdog]] out"
    )]
    Storm,
    /// Links that fail.
    #[error("links of live runs do not fail: leave [[failure]] out")]
    Failure,
    /// Thresholds of single queues.
    #[error("live switches have the scheme's thresholds alone: leave [[wred]] out")]
    Wred,
    /// Frames of a capture.
    #[error("live runs do not replay captures; use another kind of traffic")]
    Capture,
    /// A frame that is too long.
    #[error("frames of {octets} B are longer than {most} B, the longest that live links carry")]
    Frame {
        /// Its octets.
        octets: u64,
        /// The most.
        most: u64,
    },
    /// A scale that gives nothing.
    #[error("a scale of {scale} is outside 1 to 100000")]
    Scale {
        /// The scale.
        scale: u32,
    },
    /// Links that are too fast.
    #[error(
        "the fastest link has {mbps} Mb/s at scale {scale}; live runs take 1000 Mb/s at most: use --scale {enough}"
    )]
    TooFast {
        /// Its rate, Mb/s.
        mbps: u64,
        /// The scale.
        scale: u32,
        /// A scale that does.
        enough: u32,
    },
}

/// Why there is no live run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The scenario has what the data plane has not.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
    /// The system refused something.
    #[error("{0}; `qcnlab live doctor` tells what this machine can do")]
    System(#[from] SysError),
    /// The kernel has no shaper, or does not let it be used.
    #[error("the kernel cannot pace by HTB ({0}): use --limiter adapter, or a kernel with CONFIG_NET_SCH_HTB")]
    NoHtb(SysError),
    /// The slowed scenario cannot work, or there is no outcome.
    #[error("{0}")]
    Run(#[from] RunError),
    /// The slowed scenario cannot work.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// Something of the machine would be touched.
    #[error("{what}; nothing was changed")]
    NotOurs {
        /// What is wrong.
        what: String,
    },
    /// A host that is to be taken over and is not there.
    #[error("no host {name}; there are: {hosts}")]
    NoSuchHost {
        /// The name.
        name: String,
        /// Those that there are.
        hosts: String,
    },
    /// A prefix that would name a file elsewhere.
    #[error("the prefix '{prefix}' has a '/', and names of network namespaces have none; choose another")]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// A name for a namespace that is in use.
    #[error("a network namespace is named {name} already; choose a prefix, or remove it: ip netns delete {name}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Names for namespaces without the right to give them.
    #[error("names for network namespaces are root's to give; run as root")]
    NamesNeedRoot,
    /// A thread ended before its time.
    #[error("{thread} failed: {why}")]
    Thread {
        /// Which.
        thread: String,
        /// Why.
        why: String,
    },
}
