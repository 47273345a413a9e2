//! Plans: the nodes, ports, flows, service changes and scheme of a run. Components are numbered by their position.

use crate::ids::{FlowId, IdVec, LimiterId, NodeId, PortId};
use crate::path_choice::PathChoice;
use crate::replay::ReplaySource;
use crate::shared_buffer::SharedBufferPlan;
use crate::watchdog::WatchdogPlan;
use crate::wred::WredPlan;
use crate::{roce, tcp};
use qcnlab_schemes::ReactionPoint;
use qcnlab_schemes::dice::{Dice, Purpose};
pub use qcnlab_schemes::driver::{PausePlan, PauseRule, PauseScope, PauseTarget};
use qcnlab_schemes::registry::Config;
use qcnlab_units::{BitRate, Bytes, Instant, Name, Paths, Span};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Everything an [`Engine`](crate::Engine) is built from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Switches and hosts.
    pub nodes: IdVec<NodeId, NodePlan>,
    /// One entry for each direction of each link.
    pub ports: IdVec<PortId, PortPlan>,
    /// What is sent along which ports.
    pub flows: FlowPlans,
    /// Generators, which put frames into the queues of flows whose traffic is [`Traffic::Fed`].
    pub generators: Vec<GeneratorPlan>,
    /// Replays, which put frames into the queues of flows whose traffic is [`Traffic::Replayed`].
    pub replays: Vec<ReplayPlan>,
    /// Flows that wait for others to complete; at most one entry for each.
    pub dependencies: Vec<DependencyPlan>,
    /// Changes of service rate, in order of time.
    pub services: Vec<ServiceChange>,
    /// Failures of links; of one link none while it is down.
    pub failures: Vec<LinkFailure>,
    /// Hosts that pause their links, whatever they hold.
    pub storms: Vec<PauseStorm>,
    /// Changes of flows' paths.
    pub reroutes: Vec<Reroute>,
    /// Which of several paths a frame takes.
    pub path_choice: PathChoice,
    /// The longest way between two hosts of the network, whether or not a flow takes it; empty where no scheme asks.
    pub longest_way: Vec<LinkPlan>,
    /// How signals travel back.
    pub feedback: Feedback,
    /// The congestion notification domain; `None` where all ports and hosts take part in everything.
    pub domain: Option<DomainPlan>,
    /// The scheme of watched ports' congestion points and of senders.
    pub scheme: Config,
    /// The run ends here. Transmissions that end at this instant have ended; nothing else that is due then happens.
    pub end: Instant,
    /// Whether it ends before, when each flow with an end has finished or has lost a frame that nothing sends again.
    pub drains: bool,
    /// Seed of every random stream.
    pub seed: u64,
    /// Which replication this is; part of every stream's key.
    pub replication: u32,
    /// What is recorded.
    pub record: Record,
    /// What has events, beyond the result.
    pub events: Events,
    /// Which of several equal events of one instant comes first.
    pub ties: Ties,
}

/// What a link adds to the time of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// Its rate.
    pub rate: BitRate,
    /// Propagation, and the latency of what stands at its end.
    pub delay: Span,
    /// Octets that each frame takes on it beyond its own.
    pub overhead: Bytes,
}

impl From<&PortPlan> for LinkPlan {
    fn from(port: &PortPlan) -> LinkPlan {
        LinkPlan { rate: port.rate, delay: port.delay + port.latency, overhead: port.overhead }
    }
}

impl LinkPlan {
    /// Twice its delay, and what a frame takes on it: its part of a base round-trip time, in which the acknowledgement
    /// counts for nothing, as in HPCC's simulator.
    pub fn round_trip(&self, frame: Bytes) -> Span {
        self.delay + self.delay + self.rate.time_for_rounded_up(frame + self.overhead)
    }
}

impl Plan {
    /// Every path that a flow takes at some time, with its flow.
    pub(crate) fn all_paths(&self) -> impl Iterator<Item = (&FlowPlan, &[PortId])> {
        let first = self.flows.iter().flat_map(|flow| flow.paths.iter().map(move |path| (flow, path)));
        let later = self.reroutes.iter();
        let later = later.flat_map(|each| each.paths.iter().map(|path| (&self.flows[each.flow], &**path)));
        first.chain(later)
    }

    /// For each port whether its link is in a storm of pauses at some time.
    pub(crate) fn storming_ports(&self) -> IdVec<PortId, bool> {
        let mut storming = IdVec::for_each_of(&self.ports, false);
        for port in self.storms.iter().map(|storm| storm.port) {
            storming[port] = true;
            self.ports[port].peer.into_iter().for_each(|peer| storming[peer] = true);
        }
        storming
    }

    /// For each port whether its link fails at some time.
    pub(crate) fn failing_ports(&self) -> IdVec<PortId, bool> {
        let mut failing = IdVec::for_each_of(&self.ports, false);
        for port in self.failures.iter().map(|failure| failure.port) {
            failing[port] = true;
            self.ports[port].peer.into_iter().for_each(|peer| failing[peer] = true);
        }
        failing
    }

    /// Whether reaction points send probes along their flows' paths.
    pub(crate) fn sends_probes(&self) -> bool {
        let Some(flow) = self.flows.first() else { return false };
        let rate = self.ports[flow.paths[0][0]].rate;
        self.scheme.reaction_point(rate).capabilities().sends_probes
    }

    /// The class of the frames that carry signals back, as a bit; 0 if none do.
    pub(crate) fn signal_class(&self) -> u8 {
        match self.feedback {
            Feedback::Frames { class, .. } if self.scheme.speaks() => 1 << class,
            Feedback::Frames { .. } | Feedback::Ideal => 0,
        }
    }
}

/// Who takes part in congestion notification (IEEE 802.1Q clause 32), as it is when the run starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainPlan {
    /// For each port, what its link and the node behind it do.
    pub ports: IdVec<PortId, DomainPort>,
    /// For each flow the limiter that hears a message without CN-TAG; `None` where its host has no reaction points.
    pub untagged: IdVec<FlowId, Option<LimiterId>>,
}

/// What becomes of frames that leave by a port. Classes are a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainPort {
    /// Classes whose queues have congestion points, if the port is watched.
    pub points: u8,
    /// Classes whose frames leave without CN-TAG.
    pub untags: u8,
    /// The class that frames of each class have in the node at the far end. A frame whose class changes is no longer
    /// under congestion control.
    pub remaps: [u8; 8],
}

impl DomainPort {
    /// A port that changes nothing and has a congestion point for every class.
    pub const NEUTRAL: DomainPort = DomainPort { points: u8::MAX, untags: 0, remaps: [0, 1, 2, 3, 4, 5, 6, 7] };

    /// Whether frames leave as they come and keep their class.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.untags == 0 && self.remaps == Self::NEUTRAL.remaps
    }
}

/// What has events. Both variants give the same results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// The end of a transmission where a port is paused, serves several classes, or frees a buffer that holds back
    /// other frames; a frame's release where the sender shares its link or its reaction point must be told at once;
    /// an arrival where more is done about it than to count it.
    #[default]
    WhereNeeded,
    /// Each of these, everywhere: slower; for tests and for measuring.
    Everywhere,
}

/// Which of several events of one kind comes first when they fall on one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// An order drawn anew for each instant from the seed, the replication and the components' names: nobody is
    /// preferred.
    #[default]
    Drawn,
    /// The order of the components' numbers: of two frames, that which arrives over the port with the lower number.
    PortOrder,
}

/// A switch or a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Octets it holds of frames that arrived over one link, shared by all its outputs; frames that do
    /// not fit are dropped. `None` for no limit.
    pub input_memory: Option<Bytes>,
    /// The memory that all its inputs and outputs share, instead of `input_memory`.
    pub shared_buffer: Option<SharedBufferPlan>,
    /// When it pauses the far ends of its links.
    pub pause: Option<PausePlan>,
    /// What becomes of RoCE packets that its queues have no room for; `None` if they are dropped.
    pub trim: Option<TrimPlan>,
    /// When it takes a paused queue for stuck.
    pub watchdog: Option<WatchdogPlan>,
    /// For each class the octets that a turn adds to what it may send (deficit round robin); 0 for a strict class. All
    /// strict classes go first, the highest first. `None` where all are strict. No flow starts at such a node.
    pub quanta: Option<[Bytes; 8]>,
}

impl NodePlan {
    /// Whether it counts what it holds by input.
    pub(crate) const fn counts(&self) -> bool {
        self.input_memory.is_some() || self.pause.is_some() || self.shared_buffer.is_some()
    }

    /// Whether it pauses its links by what it holds of each input, and resumes them.
    pub(crate) fn pauses_by_holding(&self) -> bool {
        self.pause.is_some_and(|pause| pause.rule.resumes())
    }
}

/// How packets are cut to their heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimPlan {
    /// What is left.
    pub size: Bytes,
    /// The class of heads, 0 to 7.
    pub class: u8,
    /// The share of a link that heads get while other frames wait for it, in thousandths; 1000 for all.
    pub share: u16,
}

/// A queue and the link behind it.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Its name, written from->to; the key of its random streams.
    pub name: String,
    /// The node it belongs to.
    pub from: NodeId,
    /// The node at the far end.
    pub to: NodeId,
    /// Service rate at the start.
    pub rate: BitRate,
    /// Propagation delay of the link.
    pub delay: Span,
    /// Time the node at the far end takes to get a frame to its queue.
    pub latency: Span,
    /// Octets each class's queue holds, the frame in transmission included; `None` for no limit.
    pub capacity: Option<Bytes>,
    /// Wire time spent on each frame beyond its own octets.
    pub overhead: Bytes,
    /// Whether its queues have congestion points.
    pub watched: bool,
    /// Thresholds of single queues, for marks and early drops; of several for a class the first holds.
    pub wred: Vec<WredPlan>,
    /// Whether its queue is recorded.
    pub recorded: bool,
    /// The port of the other direction of the same link; needed for whatever travels back over it.
    pub peer: Option<PortId>,
}

/// A source, its rate limiter and its paths to the sink. What many flows have alike stands in its [settings](FlowSettings),
/// and reads and changes like fields of its own.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The flow's name, like no other's; the key of its random streams.
    pub name: Name,
    /// Paths from the source to the sink: ports in order. All start at one port and end at one port; with
    /// several, each frame takes one as [`Plan::path_choice`] says.
    pub paths: Paths<PortId>,
    /// What the source wants to send.
    pub traffic: Traffic,
    /// When it starts; of a flow that [waits for others](Plan::dependencies), how long after they have completed.
    pub start: Instant,
    /// Its limiter: flows of one host that name the same number share one limiter and one reaction point.
    /// Numbers count up from 0 without gaps.
    pub limiter: LimiterId,
    /// The rest, which flows share until one is changed.
    pub settings: Arc<FlowSettings>,
}

/// What flows of an entry of traffic have alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowSettings {
    /// Class of a flow's frames, 0 to 7; the highest goes first.
    pub class: u8,
    /// Frame size; the last frame of a flow may be shorter.
    pub frame: Bytes,
    /// A random time up to this is added to the start.
    pub start_jitter: Span,
    /// When it stops offering frames; what waits for its limiter is still sent.
    pub stop: Instant,
    /// Whether its priority is under congestion control.
    pub controlled: bool,
    /// Whether its frames carry a CN-TAG.
    pub cn_tag: bool,
    /// Octets that wait at the source for the limiter at most; more is dropped there. `None` for no limit.
    pub room: Option<Bytes>,
    /// The limiter's rates are whole multiples of this, rounded down but never to zero; `None` for any rate.
    pub rate_step: Option<BitRate>,
    /// Octets that the limiter sends back to back, instead of the scheme's own number.
    pub burst: Option<Bytes>,
}

/// Frames of 1500 octets in class 0, under congestion control, from the start to the end of the run, and no limit at the
/// source.
impl Default for FlowSettings {
    fn default() -> FlowSettings {
        FlowSettings {
            class: 0,
            frame: Bytes::new(1500),
            start_jitter: Span::ZERO,
            stop: Instant::NEVER,
            controlled: true,
            cn_tag: true,
            room: None,
            rate_step: None,
            burst: None,
        }
    }
}

impl Deref for FlowPlan {
    type Target = FlowSettings;

    fn deref(&self) -> &FlowSettings {
        &self.settings
    }
}

impl DerefMut for FlowPlan {
    fn deref_mut(&mut self) -> &mut FlowSettings {
        Arc::make_mut(&mut self.settings)
    }
}

impl FlowPlan {
    /// Returns when it starts in a replication, its jitter drawn.
    pub fn drawn_start(&self, seed: u64, replication: u32) -> Instant {
        let mut dice = Dice::new(seed, replication, &self.name, Purpose::Start);
        self.start + self.start_jitter.scaled_rounded_down(dice.uniform(0.0, 1.0))
    }
}

/// The flows of a plan. The plans of a scenario's replications, and the engines that run them, share one list; who changes
/// a flow of a plan changes a copy.
#[derive(Clone, Debug, Default)]
pub struct FlowPlans(Arc<IdVec<FlowId, FlowPlan>>);

impl From<IdVec<FlowId, FlowPlan>> for FlowPlans {
    fn from(flows: IdVec<FlowId, FlowPlan>) -> FlowPlans {
        FlowPlans(Arc::new(flows))
    }
}

impl FromIterator<FlowPlan> for FlowPlans {
    fn from_iter<T: IntoIterator<Item = FlowPlan>>(flows: T) -> FlowPlans {
        flows.into_iter().collect::<IdVec<_, _>>().into()
    }
}

impl Deref for FlowPlans {
    type Target = IdVec<FlowId, FlowPlan>;

    fn deref(&self) -> &IdVec<FlowId, FlowPlan> {
        &self.0
    }
}

impl DerefMut for FlowPlans {
    fn deref_mut(&mut self) -> &mut IdVec<FlowId, FlowPlan> {
        Arc::make_mut(&mut self.0)
    }
}

impl<'a> IntoIterator for &'a FlowPlans {
    type Item = &'a FlowPlan;
    type IntoIter = std::slice::Iter<'a, FlowPlan>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut FlowPlans {
    type Item = &'a mut FlowPlan;
    type IntoIter = std::slice::IterMut<'a, FlowPlan>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// What a source wants to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Always one more frame, at most at `ceiling`, until `total` octets are sent.
    Saturated {
        /// The source's own limit; `None` for the link's rate.
        ceiling: Option<BitRate>,
        /// Octets in all; `None` for no end.
        total: Option<Bytes>,
    },
    /// A frame each 8 L / rate, exactly in the long run. Frames that the limiter holds back wait.
    Constant {
        /// Offered rate, counted on frame octets.
        rate: BitRate,
    },
    /// Frames come from a [`GeneratorPlan`] and wait.
    Fed,
    /// Frames with sizes of their own come from a [`ReplayPlan`] and wait.
    Replayed,
    /// A TCP connection; acknowledgements travel back as frames.
    Tcp {
        /// How it behaves.
        config: Arc<tcp::Config>,
        /// Octets of the stream; `None` for no end.
        total: Option<Bytes>,
    },
    /// A message on a RoCE queue pair; acknowledgements travel back as frames.
    Roce {
        /// How the queue pair behaves.
        config: Arc<roce::QpConfig>,
        /// Octets of the message; `None` for no end.
        total: Option<Bytes>,
    },
}

impl Traffic {
    /// Whether receivers acknowledge it, with frames that travel back.
    pub(crate) const fn acknowledged(&self) -> bool {
        matches!(self, Traffic::Tcp { .. } | Traffic::Roce { .. })
    }

    /// The class of those frames, where that of the data is `class`; `None` if there are none.
    pub(crate) fn ack_class(&self, class: u8) -> Option<u8> {
        match self {
            Traffic::Tcp { .. } => Some(class),
            Traffic::Roce { config, .. } => Some(config.ack_class.unwrap_or(class)),
            Traffic::Saturated { .. } | Traffic::Constant { .. } | Traffic::Fed | Traffic::Replayed => None,
        }
    }
}

impl Traffic {
    /// Octets in all, where it has an end.
    pub const fn total(&self) -> Option<Bytes> {
        match self {
            Traffic::Saturated { total, .. } | Traffic::Tcp { total, .. } | Traffic::Roce { total, .. } => *total,
            Traffic::Constant { .. } | Traffic::Fed | Traffic::Replayed => None,
        }
    }
}

/// Puts frames into the queues of one or several flows of a host, each time one of them at random.
#[derive(Clone, Debug)]
pub struct GeneratorPlan {
    /// Its name; the key of its random streams.
    pub name: String,
    /// The flows; all have [`Traffic::Fed`] and one frame size.
    pub flows: Vec<FlowId>,
    /// When frames come.
    pub process: Process,
    /// When it starts.
    pub start: Instant,
    /// A random time up to this is added to the start.
    pub start_jitter: Span,
    /// When it stops.
    pub stop: Instant,
}

/// Puts frames that were recorded elsewhere into the queues of flows, at their times and with their sizes.
#[derive(Clone, Debug)]
pub struct ReplayPlan {
    /// Its name; what decides between its frames and others of one instant is drawn by it.
    pub name: String,
    /// The flows, in the order in which frames number them; all have [`Traffic::Replayed`].
    pub flows: Vec<FlowId>,
    /// Where the frames come from.
    pub source: Arc<dyn ReplaySource>,
    /// From then on no frame comes.
    pub stop: Instant,
}

/// When frames come. Rates count frame octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// At equal distances.
    Constant {
        /// Mean rate.
        rate: BitRate,
    },
    /// At exponential distances.
    Poisson {
        /// Mean rate.
        rate: BitRate,
    },
    /// At equal distances while on, not at all while off. Begins on.
    OnOff {
        /// Rate while on.
        rate: BitRate,
        /// Mean time on.
        on: Span,
        /// Mean time off.
        off: Span,
        /// Whether the times are exponential; otherwise each is its mean.
        exponential: bool,
    },
}

impl Process {
    /// Returns the rate of its frames, without overhead; of on/off traffic that while on.
    pub const fn rate(&self) -> BitRate {
        match *self {
            Process::Constant { rate } | Process::Poisson { rate } | Process::OnOff { rate, .. } => rate,
        }
    }

    /// Returns the mean rate of its frames, bit/s.
    pub fn mean_bps(&self) -> f64 {
        match *self {
            Process::Constant { rate } | Process::Poisson { rate } => rate.as_f64(),
            Process::OnOff { rate, on, off, .. } => rate.as_f64() * on.seconds() / (on.seconds() + off.seconds()),
        }
    }
}

/// A flow that starts when others have completed, and its [`FlowPlan::start`] has passed since then. Its traffic and theirs
/// are [`Traffic::Roce`] or [`Traffic::Tcp`], with an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyPlan {
    /// The flow that waits.
    pub flow: FlowId,
    /// What it waits for, each flow once.
    pub after: Vec<(FlowId, CompletesAt)>,
    /// How long after these it may start, where that is not at once.
    pub delays: Option<Box<WaitDelays>>,
    /// From then on it does not start.
    pub until: Instant,
}

/// How long after each flow that it waits for a flow may start. Its [`FlowPlan::start`] comes beyond.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitDelays {
    /// For each of the others, in their order; those that are not there are 0.
    pub each: Vec<Span>,
    /// Before that it does not start.
    pub not_before: Instant,
}

/// Where a message, or what a connection carries, has to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletesAt {
    /// At the receiver: its last octet has come.
    Receiver,
    /// At the sender: its last octet has been acknowledged.
    Sender,
}

/// A port serves at another rate from some instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceChange {
    /// When.
    pub at: Instant,
    /// Which port.
    pub port: PortId,
    /// The new rate, above zero.
    pub rate: BitRate,
}

/// A link is down for some time, in both directions: what is on it or waits for it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFailure {
    /// The port of one direction.
    pub port: PortId,
    /// When it fails.
    pub from: Instant,
    /// When it comes back; [`Instant::NEVER`] if it does not.
    pub until: Instant,
}

/// A host that pauses classes of its link again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseStorm {
    /// The port that it sends pauses by.
    pub port: PortId,
    /// The classes, a bit each; all eight for 802.3x.
    pub classes: u8,
    /// When it begins.
    pub from: Instant,
    /// When it sends XON.
    pub until: Instant,
}

/// A flow's frames take other paths from some instant on. Frames that have left their host keep their path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reroute {
    /// When.
    pub at: Instant,
    /// Which flow.
    pub flow: FlowId,
    /// Its paths, as in [`FlowPlan::paths`], with the same first and last port.
    pub paths: Vec<Vec<PortId>>,
}

/// How signals travel back to sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// After the propagation delay of the way back, and nothing else.
    Ideal,
    /// As frames over the reverse links, where they queue and take time.
    Frames {
        /// Their size.
        size: Bytes,
        /// Their class, 0 to 7.
        class: u8,
    },
}

/// What is recorded, and how finely. A span of zero records nothing of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Between samples of queue lengths.
    pub queue_every: Span,
    /// Between samples of rates.
    pub rates_every: Span,
    /// Width of throughput and drop bins.
    pub bin: Span,
    /// Whether each message is logged.
    pub messages: bool,
    /// Whether rows stay to the end, for tables. Otherwise drops are not logged, and other rows go when they have been
    /// shown once, by [`Engine::run_watched`](crate::Engine::run_watched).
    pub kept: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::net::{Net, greedy};
    use crate::testing;

    #[test]
    fn receivers_acknowledge_connections_and_queue_pairs_alone() {
        let tcp = Traffic::Tcp { config: testing::connection(tcp::Flavour::Reno).into(), total: None };
        let roce = Traffic::Roce { config: testing::queue_pair(roce::QpRecovery::GoBackN).into(), total: None };
        let others = [
            Traffic::Saturated { ceiling: None, total: None },
            Traffic::Constant { rate: BitRate::gbps(1) },
            Traffic::Fed,
            Traffic::Replayed,
        ];
        for traffic in &others {
            assert!(!traffic.acknowledged() && traffic.ack_class(3).is_none(), "{traffic:?}");
        }
        assert!(tcp.acknowledged() && roce.acknowledged());
        assert_eq!([tcp.ack_class(3), roce.ack_class(3)], [Some(3); 2]);
        let mut config = testing::queue_pair(roce::QpRecovery::GoBackN);
        config.ack_class = Some(5);
        assert_eq!(Traffic::Roce { config: config.into(), total: None }.ack_class(3), Some(5));
    }

    /// Flows of one rule share its settings; the one that is changed has its own from then on.
    #[test]
    fn a_flow_that_is_changed_changes_no_other() {
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", BitRate::gbps(10), Span::from_us(1));
        net.flow("a", "b", 0, greedy());
        let mut flows: IdVec<FlowId, FlowPlan> = IdVec::from(vec![net.plan.flows[FlowId::new(0)].clone(); 2]);
        assert!(Arc::ptr_eq(&flows[FlowId::new(0)].settings, &flows[FlowId::new(1)].settings));
        flows[FlowId::new(1)].class = 5;
        assert_eq!(flows.iter().map(|flow| flow.class).collect::<Vec<_>>(), [0, 5]);
        let plans = FlowPlans::from(flows);
        let mut copy = plans.clone();
        copy[FlowId::new(0)].stop = Instant::ZERO;
        assert_eq!([&plans, &copy].map(|plans| plans[FlowId::new(0)].stop), [Instant::NEVER, Instant::ZERO]);
    }

    /// Two links of 5 us with 2 us to the queue behind: 14 us to and fro. 1500 octets and 20 of overhead at 10 Gb/s take
    /// 1.216 us.
    #[test]
    fn a_link_adds_its_delay_twice_and_a_frame_to_a_round_trip() {
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", BitRate::gbps(10), Span::from_us(5));
        let port =
            PortPlan { latency: Span::from_us(2), overhead: Bytes::new(20), ..net.plan.ports[PortId::new(0)].clone() };
        let link = LinkPlan::from(&port);
        assert_eq!((link.delay, link.overhead), (Span::from_us(7), Bytes::new(20)));
        assert_eq!(link.round_trip(Bytes::new(1500)), Span::from_ns(15_216));
    }

    #[test]
    fn a_port_changes_what_it_untags_or_remaps() {
        let untags = DomainPort { untags: 1, ..DomainPort::NEUTRAL };
        let remaps = DomainPort { remaps: [0, 1, 2, 3, 4, 5, 6, 6], ..DomainPort::NEUTRAL };
        let no_points = DomainPort { points: 0, ..DomainPort::NEUTRAL };
        let nothing = [DomainPort::NEUTRAL, no_points, untags, remaps].map(|port| port.changes_nothing());
        assert_eq!(nothing, [true, true, false, false]);
    }

    /// The first flow has two paths and takes a third later; the second has one.
    #[test]
    fn paths_are_those_at_the_start_and_those_of_reroutes() {
        let path = |ports: &[u32]| -> Vec<PortId> { ports.iter().copied().map(PortId::new).collect() };
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", BitRate::gbps(10), Span::from_us(1));
        net.flow("a", "b", 0, greedy());
        net.flow("a", "b", 0, greedy());
        net.plan.flows[FlowId::new(0)].paths = vec![path(&[0]), path(&[0, 1])].into();
        let paths = vec![path(&[0, 1, 0])];
        net.plan.reroutes = vec![Reroute { at: Instant::ZERO + Span::from_us(1), flow: FlowId::new(0), paths }];
        let all: Vec<(&str, usize)> = net.plan.all_paths().map(|(flow, path)| (&*flow.name, path.len())).collect();
        assert_eq!(all, [("a->b/0", 1), ("a->b/0", 2), ("a->b/1", 1), ("a->b/0", 3)]);
    }
}
