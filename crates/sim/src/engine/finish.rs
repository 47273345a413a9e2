//! The end of a run: the last bins, the totals, the audit.

use super::network::{Counting, Network, PortCp, Routes};
use super::recording::NetworkTotals;
use super::schedule::{Schedule, Sizes, Spacing};
use super::signalling::UnderWay;
use super::{Engine, Finished, Halt};
use crate::audit::{self, Violation};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, Id, IdVec, NodeId, PortId, QueuesId};
use crate::input_buffer::InputBuffer;
use crate::plan::{FlowPlan, PauseScope};
use crate::port::Port;
use crate::priority_queues::PriorityQueues;
use crate::rate_limiter::RateLimiters;
use crate::sender::Sender;
use crate::source::Source;
use crate::trace::{FlowTally, PointTally, Tally, TcpTally, Trace};
use qcnlab_schemes::driver::EndedPause;
use qcnlab_units::{Bytes, Instant};

impl Engine {
    /// Closes the last bins, sums the totals and checks them.
    pub(super) fn finish(mut self, observer: &mut dyn FnMut(&Trace)) -> Result<Finished, Halt> {
        self.update_senders(self.run_end.at());
        self.count_all_delivered(self.run_end.at());
        self.count_departed();
        self.record_last_pauses();
        self.recording.close(self.run_end.at(), self.network.totals(), observer);
        self.audit()?;
        let points = self.network.cps.iter().map(|cp| self.network.point_tally(cp)).collect();
        let (end, ending) = (self.run_end.at(), self.run_end.ending().clone());
        let plan_of = |flow: FlowId| self.recording.plan_of(flow);
        let made = |flow: FlowId| self.senders.materials.limiter(plan_of(flow), flow);
        let limiters = self.senders.limiters.counts(made).map(|count| count.until(end)).collect();
        // Totals of many flows take as much memory as what follows, which is not asked any more.
        (self.senders.limiters, self.network.routes) = (RateLimiters::default(), Routes::default());
        self.schedule = Schedule::new(Sizes::default(), Spacing::default());
        let flows = self.senders.flows.enumerate().zip(self.recording.tallies().iter());
        let flows = flows.map(|((flow, sender), tally)| totals(sender, self.recording.plan_of(flow), tally)).collect();
        let (trace, counters) = self.recording.into_results();
        Ok(Finished { trace, counters, flows, points, limiters, end, ending })
    }

    /// Puts what left its last port by the end, and is still on the wire, into the bins.
    fn count_departed(&mut self) {
        for id in self.network.ports.ids() {
            self.network.update_queue(self.run_end.at(), id);
            let port = &self.network.ports[id];
            for frame in port.on_the_wire().filter(|frame| !frame.is(flag::NOT_DATA)) {
                let path = self.network.routes.paths[frame.path()];
                if frame.hop() + 1 == path.len {
                    let left = frame.arrival - port.delay().ps();
                    self.recording.on_departed(&path, left, frame.octets());
                }
            }
        }
    }

    /// Records the pauses that are in force, or were the last of their class.
    fn record_last_pauses(&mut self) {
        for queues in self.network.queues.ids() {
            let port = self.network.queues[queues].port;
            for (class, pause) in self.network.last_pauses(queues, self.run_end.at()) {
                self.recording.on_pause(port, class, pause);
            }
        }
    }

    fn audit(&mut self) -> Result<(), Violation> {
        let allowance = |input: &InputBuffer| self.network.ports[input.port].allowance();
        let promised: Vec<u64> = self.network.inputs.iter().map(allowance).collect();
        for node in self.network.nodes.ids() {
            if self.network.nodes[node].counting == Counting::ByAllowance {
                self.network.recount(self.run_end.at(), node);
            }
        }
        let network = &self.network;
        for (link, port) in network.links.iter().zip(network.ports.iter()) {
            audit::port(&link.name, port, port.queues().map(|queues| &network.queues[queues]))?;
        }
        let by_input: IdVec<PortId, Vec<u64>> =
            network.ports.ids().map(|output| network.recount_by_input(output)).collect();
        for ((id, input), promised) in network.inputs.enumerate().zip(promised.iter().copied()) {
            let link = &network.links[input.port];
            if input.shared.is_none() {
                audit::allowance(&link.name, promised, network.ports[input.port].allowance())?;
            }
            let mut held = 0;
            for output in &network.nodes[link.to].outputs {
                let queued = by_input[*output].get(input.position as usize).copied().unwrap_or(0);
                if let Some(counted) = network.counted_from(*output, id, u8::MAX) {
                    audit::queue_by_input(&network.links[*output].name, counted, queued)?;
                }
                held += queued;
            }
            audit::input(&link.name, input, held)?;
        }
        self.audit_nodes()?;
        network.audit_shared_buffers(&promised)?;
        let flow_of = |frame: &Frame| network.flow_of(frame);
        let recording = &self.recording;
        audit::flows(recording.names(), recording.tallies(), flow_of, network.ports.iter(), network.queues.iter())?;
        let UnderWay { signals, probes, heads } = self.signalling.under_way();
        audit::signals(recording.counters(), signals, probes)?;
        audit::heads(recording.counters(), heads)?;
        audit::acks(recording.counters(), network.ports.iter(), network.queues.iter())?;
        self.audit_packets(heads)
    }

    /// Checks what the packets of queue pairs carry.
    fn audit_packets(&self, heads: u64) -> Result<(), Violation> {
        let network = &self.network;
        let is_pair = |flow| matches!(self.senders.flows[flow].source, Source::Roce(_));
        let held = network.ports.iter().flat_map(Port::held);
        let waiting = network.queues.iter().flat_map(PriorityQueues::waiting);
        let carries = |frame: &&Frame| frame.is(flag::SEGMENT | flag::ACK) && is_pair(network.flow_of(frame));
        let in_fabric = held.chain(waiting).filter(carries).count() as u64;
        let unanswered = self.senders.flows.iter().filter(|sender| match &sender.source {
            Source::Roce(pair) => pair.unanswered.newest.is_some(),
            _ => false,
        });
        audit::packets(network.packets.under_way(), in_fabric + heads, unanswered.count() as u64)
    }

    /// Checks the octets in and out of every node.
    fn audit_nodes(&self) -> Result<(), Violation> {
        let network = &self.network;
        let mut totals: IdVec<NodeId, audit::NodeTotals> =
            network.nodes.iter().map(|node| audit::NodeTotals::new(node.control_sent, node.control_received)).collect();
        for (port, link) in network.ports.iter().zip(network.links.iter()) {
            totals[link.from].add_output(&port.count);
            totals[link.to].add_input(&port.count);
        }
        for input in network.inputs.iter() {
            totals[network.links[input.port].to].dropped += input.dropped_bytes;
        }
        for (sender, tally) in self.senders.flows.iter().zip(self.recording.tallies().iter()) {
            totals[network.links[sender.port].from].sent += tally.sent_bytes;
            let last = network.routes.last_port(sender.first_path);
            totals[network.links[last].to].received += tally.delivered_bytes;
        }
        network.nodes.iter().zip(totals.iter()).try_for_each(|(node, totals)| totals.check(&node.name))
    }
}

impl Network {
    /// What its ports and queues have counted.
    fn totals(&self) -> NetworkTotals {
        NetworkTotals {
            pause_frames: self.queues.iter().map(|queues| queues.pause_frames_sent).sum(),
            storm_frames: self.queues.iter().map(|queues| queues.storm_frames_sent).sum(),
            frame_hops: self.ports.iter().map(|port| port.count.accepted_frames).sum(),
        }
    }

    /// The pauses of a port that are in force at `now`, or were the last of their class and are not recorded. A pause
    /// of the whole link is one, without a class.
    pub(super) fn last_pauses(
        &self,
        id: QueuesId,
        now: Instant,
    ) -> impl Iterator<Item = (Option<u8>, EndedPause<PortId>)> {
        let queues = &self.queues[id];
        let input = self.ports[queues.port].input().map(|input| &self.inputs[input]);
        let scope = input.and_then(|input| input.pause.as_ref()).map(|pause| pause.sender.plan.scope);
        let whole_link = scope == Some(PauseScope::Link);
        let classes = queues.queues.iter().take(if whole_link { 1 } else { usize::MAX });
        classes.filter_map(move |queue| {
            Some((if whole_link { None } else { Some(queue.class) }, queue.pause.last(now.ps())?))
        })
    }

    /// Checks shared buffers: what is in use is what the groups use, and what the frames that wait take; and there is
    /// room for what was `promised` to each input.
    fn audit_shared_buffers(&self, promised: &[u64]) -> Result<(), Violation> {
        for (id, node) in self.nodes.enumerate() {
            let Some(shared) = node.shared else { continue };
            let promised = self.inputs.iter().zip(promised).filter(|(input, _)| self.links[input.port].to == id);
            audit::allowance(&node.name, promised.map(|(_, octets)| octets).sum(), self.shared_room(id))?;
            let memory = &self.shared_buffers[shared];
            let waiting = node.outputs.iter().flat_map(|output| self.queued(*output));
            let taken =
                waiting.filter(|frame| frame.is(flag::BUFFERED)).map(|frame| memory.takes(frame.octets())).sum();
            audit::shared_buffer(&node.name, memory.used(), memory.recounted(), taken)?;
        }
        Ok(())
    }

    /// The totals of a congestion point. Where a port has one queue, the port counts for it.
    fn point_tally(&self, cp: &PortCp) -> PointTally {
        let port = &self.ports[cp.port];
        let queues = port.queues().map(|queues| &self.queues[queues]);
        let several = queues.filter(|queues| queues.queues.len() > 1);
        let (accepted, discarded, held) = match (several, cp.class) {
            (Some(queues), Some(class)) => {
                let queue = queues.of_class(class);
                let held = queue.frames.since(queue.frames.head()).count();
                (queue.accepted_frames, queue.dropped_frames, held)
            }
            _ => {
                let held = self.queued(cp.port).count();
                (port.count.accepted_frames, port.count.dropped_frames, held)
            }
        };
        PointTally {
            port: cp.port.number(),
            class: cp.class,
            transmitted: accepted - held as u64,
            discarded,
            sent: cp.sent,
        }
    }
}

/// The totals of a flow, and of its connection or queue pair if it has one.
fn totals(sender: &Sender, plan: &FlowPlan, tally: &Tally) -> FlowTally {
    let totals = FlowTally { started: sender.start, ..tally.close() };
    let roce = match &sender.source {
        Source::Roce(pair) => Some(pair.tally()),
        Source::Ended(pair) => Some(pair.tally(plan.traffic.total().unwrap_or_default())),
        Source::Planned => match Source::new(plan, sender.start) {
            Source::Roce(pair) => Some(pair.tally()),
            _ => None,
        },
        _ => None,
    };
    if roce.is_some() {
        return FlowTally { total_bytes: plan.traffic.total().map(Bytes::get), roce, ..totals };
    }
    let Source::Tcp(connection) = &sender.source else { return totals };
    let stats = connection.sender.stats();
    let tcp = TcpTally {
        in_order_bytes: connection.in_order(),
        segments: stats.segments,
        retransmitted: stats.retransmitted,
        fast_retransmits: stats.fast_retransmits,
        timeouts: stats.timeouts,
    };
    FlowTally { total_bytes: connection.total.map(Bytes::get), tcp: Some(tcp), ..totals }
}
