//! How long collective operations took, what they could have taken, and what held the slowest rank up.
//!
//! A message takes from its start until its last octet is there, or acknowledged where the next one waits for that. This time has
//! parts that sum to it: serialisation and propagation, which it would take alone; waiting in the network, by how much longer than
//! alone its last packet was on its way; and waiting at the sender, which is the rest: the link shared with other messages of
//! the host, rate limits, pauses of its port and packets sent again are not told apart there. A scenario that asks for it
//! (`record.waits`) is run again, and [these are](causes).

use crate::fabric::{EntryId, Fabric};
use qcnlab_scenario::{Arrivals, Scenario};
use qcnlab_sim::{Finished, FlowId, FlowTally, NodeId, PortId};
use qcnlab_traffic::{Collective, CollectiveMessage, MessageId, RankId, ideal_completion};
use qcnlab_units::{BitRate, Bytes, Id, IdVec, Instant, Span, ids};
use std::collections::BTreeMap;

mod causes;
mod json;
#[cfg(test)]
mod tests;

use causes::Causes;
pub(crate) use causes::{CausesByFlow, causes};

ids! {
    /// A round of an operation.
    pub(crate) struct RoundId;
}

/// An operation of a run.
pub(crate) struct CollectiveRun<'a> {
    fabric: &'a Fabric,
    done: &'a Finished,
    /// Its entry of `[[traffic]]`, from 0.
    entry: usize,
    collective: Collective,
    messages: IdVec<MessageId, CollectiveMessage>,
    /// Its first message among the flows.
    first: FlowId,
    /// The node of each rank.
    hosts: IdVec<RankId, NodeId>,
    /// The causes of the times of messages, where they are known.
    causes: Option<&'a CausesByFlow>,
}

/// What the time from the start of an operation to a rank's completion went by with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeParts {
    /// Before the first message of the chain started.
    pub(crate) later_start: Span,
    /// Computation between messages, with their jitter.
    pub(crate) computation: Span,
    pub(crate) serialisation: Span,
    pub(crate) propagation: Span,
    pub(crate) waiting_at_sender: Span,
    pub(crate) waiting_in_network: Span,
    /// From the last octet's arrival until the sender knew.
    pub(crate) acknowledgement: Span,
}

impl TimeParts {
    fn all(&self) -> [(&'static str, Span); 7] {
        [
            ("later_start_s", self.later_start),
            ("computation_s", self.computation),
            ("serialisation_s", self.serialisation),
            ("propagation_s", self.propagation),
            ("waiting_at_sender_s", self.waiting_at_sender),
            ("waiting_in_network_s", self.waiting_in_network),
            ("acknowledgement_s", self.acknowledgement),
        ]
    }

    fn add(&mut self, other: &TimeParts) {
        self.later_start = self.later_start + other.later_start;
        self.computation = self.computation + other.computation;
        self.serialisation = self.serialisation + other.serialisation;
        self.propagation = self.propagation + other.propagation;
        self.waiting_at_sender = self.waiting_at_sender + other.waiting_at_sender;
        self.waiting_in_network = self.waiting_in_network + other.waiting_in_network;
        self.acknowledgement = self.acknowledgement + other.acknowledgement;
    }

    fn waiting(&self) -> Span {
        self.waiting_at_sender + self.waiting_in_network
    }
}

/// What became of a message. Times are [`Instant::NEVER`] where that did not happen.
struct Fate {
    /// When its last octet was there.
    received: Instant,
    /// When its sender knew.
    acknowledged: Instant,
    /// When the packet or segment that completed it left its sender.
    last_sent: Instant,
    /// Packets or segments that went again.
    sent_again: u64,
    timeouts: u64,
}

/// A message of the chain that ends with a rank's last one.
pub(crate) struct ChainLink {
    pub(crate) message: MessageId,
    /// From its start to when the next one could start, without what lies before its start.
    pub(crate) parts: TimeParts,
    /// When it started.
    pub(crate) started: Instant,
}

/// What an operation takes at least.
pub(crate) struct LowerBound {
    pub(crate) span: Span,
    pub(crate) why: String,
}

/// The time that octets take at a rate, rounded down: that of several frames one after the other is no less.
fn time_at_least(rate: BitRate, octets: Bytes) -> Span {
    Span::from_ps((u128::from(octets.bits()) * 1_000_000_000_000 / u128::from(rate.get())) as u64)
}

/// By how much one span is longer than another, if it is.
fn beyond(one: Span, other: Span) -> Span {
    Span::from_ps(one.ps().saturating_sub(other.ps()))
}

impl<'a> CollectiveRun<'a> {
    /// The operations of a run.
    pub(crate) fn all(scenario: &Scenario, fabric: &'a Fabric, done: &'a Finished) -> Vec<CollectiveRun<'a>> {
        let is = |entry: &usize| matches!(scenario.traffic[*entry].arrivals, Arrivals::Collective(_));
        (0..scenario.traffic.len()).filter(is).map(|entry| CollectiveRun::new(scenario, fabric, done, entry)).collect()
    }

    fn new(scenario: &Scenario, fabric: &'a Fabric, done: &'a Finished, entry: usize) -> CollectiveRun<'a> {
        let entry_id = EntryId::at(entry);
        let first = fabric.entries.find_id(|of| *of == entry_id).unwrap_or(fabric.entries.next_id());
        let flows = fabric.entries.enumerate().filter(|(_, of)| **of == entry_id);
        let ends: Vec<(NodeId, NodeId)> = flows.map(|(flow, _)| fabric.ends(flow)).collect();
        let mut nodes: Vec<NodeId> = ends.iter().flat_map(|(from, to)| [*from, *to]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let Some(collective) = scenario.traffic[entry].collective(nodes.len() as u32) else {
            unreachable!("the entry is a collective operation")
        };
        let Ok(messages) = collective.messages() else { unreachable!("a checked operation has a schedule") };
        let mut hosts = IdVec::from(nodes);
        for (message, (from, to)) in messages.iter().zip(ends) {
            hosts[message.from] = from;
            hosts[message.to] = to;
        }
        CollectiveRun { fabric, done, entry, collective, messages, first, hosts, causes: None }
    }

    /// The same, told the causes of the times of messages.
    pub(crate) const fn with_causes(mut self, causes: &'a CausesByFlow) -> CollectiveRun<'a> {
        self.causes = Some(causes);
        self
    }

    /// The flow that a message is.
    fn flow(&self, message: MessageId) -> FlowId {
        FlowId::new(self.first.number() + message.number())
    }

    fn tally(&self, message: MessageId) -> &FlowTally {
        &self.done.flows[self.flow(message)]
    }

    /// What became of a message, whatever carried it.
    fn fate(&self, message: MessageId) -> Fate {
        let tally = self.tally(message);
        match (&tally.roce, &tally.tcp) {
            (Some(roce), _) => Fate {
                received: roce.received,
                acknowledged: tally.finished,
                last_sent: roce.last_sent,
                sent_again: roce.retransmitted,
                timeouts: roce.timeouts,
            },
            (None, Some(tcp)) => Fate {
                received: tally.finished,
                acknowledged: tcp.acknowledged,
                last_sent: tcp.last_sent,
                sent_again: tcp.retransmitted,
                timeouts: tcp.timeouts,
            },
            (None, None) => unreachable!("messages are queue pairs or connections"),
        }
    }

    /// When the last octet of a message was there, if it was.
    fn received(&self, message: MessageId) -> Option<Instant> {
        Some(self.fate(message).received).filter(|at| *at != Instant::NEVER)
    }

    /// When the first message started, if one did.
    pub(crate) fn began(&self) -> Option<Instant> {
        let free = self.messages.enumerate().filter(|(_, message)| message.after.is_empty());
        free.map(|(id, _)| self.tally(id).started).min().filter(|at| *at < self.done.end)
    }

    /// For each round when each rank had completed it; `None` for one to which nothing comes and for one that had not.
    pub(crate) fn completed(&self) -> IdVec<RoundId, IdVec<RankId, Option<Instant>>> {
        let mut all = self.by_round(IdVec::for_each_of(&self.hosts, Some(Instant::ZERO)));
        for (id, message) in self.messages.enumerate() {
            let rank = &mut all[RoundId::new(message.round)][message.to];
            *rank = rank.zip(self.received(id)).map(|(before, now)| before.max(now));
        }
        let came = |at: Option<Instant>| at.filter(|at| *at > Instant::ZERO);
        all.into_iter().map(|round| round.into_iter().map(came).collect()).collect()
    }

    /// One like `item` for each round.
    fn by_round<T: Clone>(&self, item: T) -> IdVec<RoundId, T> {
        (0..self.collective.rounds).map(|_| item.clone()).collect()
    }

    /// When all was there, if it was.
    pub(crate) fn ended(&self) -> Option<Instant> {
        let all: Option<Vec<Instant>> = self.messages.ids().map(|id| self.received(id)).collect();
        all?.into_iter().max()
    }

    /// Returns the chain of messages that ends with the last one to come, the first of them first: each was the last that the
    /// next one waited for. `None` if something did not come.
    pub(crate) fn chain(&self) -> Option<Vec<ChainLink>> {
        let end = self.ended()?;
        let mut id = self.messages.ids().find(|id| self.received(*id) == Some(end))?;
        let mut until = end;
        let mut chain = Vec::new();
        loop {
            let started = self.tally(id).started;
            let mut parts = self.parts(id, until);
            let before = self.messages[id].after.iter().map(|other| (*other, self.heard(id, *other)));
            // Of several at one instant the first.
            let last = before.reduce(|last, other| if other.1 > last.1 { other } else { last });
            match last {
                Some((_, at)) => parts.computation = started.since(at),
                None => parts.later_start = started.since(self.began()?),
            }
            chain.push(ChainLink { message: id, parts, started });
            let Some((before, at)) = last else { break };
            (id, until) = (before, at);
        }
        chain.reverse();
        Some(chain)
    }

    /// When the sender of `id` knew that `other` was complete.
    fn heard(&self, id: MessageId, other: MessageId) -> Instant {
        match self.messages[other].to == self.messages[id].from {
            true => self.fate(other).received,
            false => self.fate(other).acknowledged,
        }
    }

    /// The parts of a message's time from its start until the next one could start.
    fn parts(&self, id: MessageId, until: Instant) -> TimeParts {
        let (started, fate) = (self.tally(id).started, self.fate(id));
        let took = fate.received.since(started);
        let flow = self.flow(id);
        let hops: Vec<_> = self.fabric.flows[flow].paths[0].iter().map(|port| self.fabric.hop(*port)).collect();
        let (octets, frame) = (self.fabric.octets(flow).unwrap_or_default(), self.fabric.flows[flow].frame);
        let alone = ideal_completion(octets, frame, &hops);
        let delays = hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.delay + hop.latency);
        let waited = beyond(took, alone);
        // Alone the last packet leaves once those before it have.
        let earlier = octets.get().div_ceil(frame.get()).saturating_sub(1);
        let each = hops.first().map_or(Span::ZERO, |hop| hop.rate.time_for_rounded_up(frame + hop.overhead));
        let on_its_way_alone = beyond(alone, Span::from_ps(each.ps() * earlier));
        let in_network = beyond(fate.received.since(fate.last_sent), on_its_way_alone).min(waited);
        let moving = took - waited;
        let propagation = delays.min(moving);
        TimeParts {
            serialisation: moving - propagation,
            propagation,
            waiting_at_sender: waited - in_network,
            waiting_in_network: in_network,
            acknowledgement: until.since(fate.received.min(until)),
            ..TimeParts::default()
        }
    }

    /// How long a message waited, by its causes if they are known.
    fn waited(&self, link: &ChainLink) -> Span {
        let known = self.causes.and_then(|causes| causes.get(&self.flow(link.message)));
        known.map_or(link.parts.waiting(), Causes::waiting)
    }

    /// Returns what the operation takes at least: the longest chain of messages, each as if alone in the network, or the port
    /// that needs longest for all of its messages that have no other way.
    pub(crate) fn bound(&self) -> LowerBound {
        let chain = self.longest_alone();
        let mut bound = LowerBound {
            span: chain,
            why: "the longest chain of messages, each alone in the network at the links' own rates".to_owned(),
        };
        let mut ports: BTreeMap<PortId, (Bytes, Bytes, Span)> = BTreeMap::new();
        for id in self.messages.ids() {
            let flow = self.flow(id);
            let plan = &self.fabric.flows[flow];
            let octets = self.fabric.octets(flow).unwrap_or_default();
            let frames = octets.get().div_ceil(plan.frame.get());
            let smallest = Bytes::new(octets.get() - (frames - 1) * plan.frame.get());
            let way = &plan.paths[0];
            for (hop, port) in way.iter().enumerate() {
                if !plan.paths.iter().all(|path| path.contains(port)) {
                    continue;
                }
                let others =
                    way.iter().enumerate().filter(|(other, _)| *other != hop).map(|(_, port)| self.fabric.hop(*port));
                let rest = others.fold(Span::ZERO, |sum, hop| {
                    sum + hop.delay + hop.latency + hop.rate.time_for_rounded_up(smallest + hop.overhead)
                });
                let own = self.fabric.hop(*port);
                let rest = rest + own.delay + own.latency;
                let on_wire = octets + Bytes::new(frames * own.overhead.get());
                let all = ports.entry(*port).or_insert((Bytes::ZERO, Bytes::ZERO, rest));
                *all = (all.0 + on_wire, all.1 + octets, all.2.min(rest));
            }
        }
        for (port, (on_wire, octets, rest)) in ports {
            let busy = time_at_least(self.fabric.hop(port).rate, on_wire);
            if busy + rest > bound.span {
                let name = &self.fabric.ports[port].name;
                bound = LowerBound {
                    span: busy + rest,
                    why: format!("port {name}, which sends {octets} of it, headers included, at its link's own rate"),
                };
            }
        }
        bound
    }

    /// The longest chain of messages, each as if alone in the network, computation included.
    fn longest_alone(&self) -> Span {
        let mut known: IdVec<MessageId, (Span, Span)> = IdVec::with_capacity(self.messages.len());
        let (mut first, mut last) = (Span::from_ps(u64::MAX), Span::ZERO);
        for (id, message) in self.messages.enumerate() {
            let flow = self.flow(id);
            let plan = &self.fabric.flows[flow];
            let heard = |other: &MessageId| {
                let (received, acknowledged) = known[*other];
                if self.messages[*other].to == message.from { received } else { acknowledged }
            };
            let ready = message.after.iter().map(heard).max().unwrap_or(Span::ZERO) + plan.start.since(Instant::ZERO);
            let hops: Vec<_> = plan.paths[0].iter().map(|port| self.fabric.hop(*port)).collect();
            let one_way = ideal_completion(self.fabric.octets(flow).unwrap_or_default(), plan.frame, &hops);
            let both_ways = one_way + self.fabric.way_of_acknowledgement(flow);
            if message.after.is_empty() {
                first = first.min(ready);
            }
            last = last.max(ready + one_way);
            known.push((ready + one_way, ready + both_ways));
        }
        beyond(last, first)
    }

    /// For each port how long it took to send what flows sent over it, at its lowest rate; what may take several ways counts
    /// on each by its share.
    fn busy(&self) -> IdVec<PortId, f64> {
        let mut octets = IdVec::for_each_of(&self.fabric.ports, 0.0);
        for (plan, tally) in self.fabric.flows.iter().zip(&self.done.flows) {
            for port in plan.paths.iter().flatten() {
                let overhead = self.fabric.ports[*port].overhead.get() * tally.sent;
                octets[*port] += (tally.sent_bytes + overhead) as f64 / plan.paths.len() as f64;
            }
        }
        let time = |(port, octets): (PortId, f64)| 8.0 * octets / self.fabric.lowest_rate(port, self.done.end).as_f64();
        self.fabric.ports.ids().zip(octets).map(time).collect()
    }

    /// How long ports on the way of a message were paused while it was sent, the longest of them; `None` without a record.
    fn paused(&self, link: &ChainLink, until: Instant) -> Span {
        let pauses = &self.done.trace.pauses;
        let way = &self.fabric.flows[self.flow(link.message)].paths[0];
        let mut of_port: BTreeMap<u32, u64> = BTreeMap::new();
        for row in 0..pauses.start.len() {
            if way.contains(&PortId::new(pauses.port[row])) {
                let (start, end) = (pauses.start[row].max(link.started.ps()), pauses.end[row].min(until.ps()));
                *of_port.entry(pauses.port[row]).or_default() += end.saturating_sub(start);
            }
        }
        Span::from_ps(of_port.into_values().max().unwrap_or(0))
    }

    fn name(&self, message: MessageId) -> &str {
        &self.fabric.flows[self.flow(message)].name
    }

    fn host(&self, rank: RankId) -> &str {
        &self.fabric.nodes[self.hosts[rank]].name
    }
}
