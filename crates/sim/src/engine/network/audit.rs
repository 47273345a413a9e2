//! The audit of the network: frames and octets in and out of ports, buffers and nodes.

use super::{Counting, Network};
use crate::audit::{self, Violation};
use crate::frame::{Frame, flag};
use crate::ids::{FlowId, IdVec, InputSlot, NodeId, PortId};
use crate::input_buffer::InputBuffer;
use crate::port::Port;
use crate::priority_queues::PriorityQueues;
use crate::trace::{Counters, Tally};
use qcnlab_units::Instant;

/// What others say about the frames of the network.
pub(in crate::engine) struct Books<'a> {
    pub(in crate::engine) tallies: &'a IdVec<FlowId, Tally>,
    pub(in crate::engine) counters: &'a Counters,
    /// Names of the flows.
    pub(in crate::engine) names: Vec<&'a str>,
    /// Heads of packets under way.
    pub(in crate::engine) heads: u64,
}

impl Network {
    /// Checks what its ports, its queues and its buffers hold at the end, and what every flow has sent and received.
    pub(in crate::engine) fn audit(
        &mut self,
        end: Instant,
        books: &Books<'_>,
        ends: impl Iterator<Item = (PortId, PortId)>,
    ) -> Result<(), Violation> {
        let allowance = |input: &InputBuffer| self.ports[input.port].allowance();
        let promised: Vec<u64> = self.inputs.iter().map(allowance).collect();
        for node in self.nodes.ids() {
            if self.nodes[node].counting == Counting::ByAllowance {
                self.recount(end, node);
            }
        }
        for (link, port) in self.links.iter().zip(self.ports.iter()) {
            audit::port(&link.name, port, port.queues().map(|queues| &self.queues[queues]))?;
        }
        self.audit_inputs(&promised)?;
        self.audit_nodes(books, ends)?;
        self.audit_shared_buffers(&promised)?;
        let flow_of = |frame: &Frame| self.flow_of(frame);
        audit::flows(books.names.iter().copied(), books.tallies, flow_of, self.ports.iter(), self.queues.iter())?;
        audit::acks(books.counters, self.ports.iter(), self.queues.iter())
    }

    fn audit_inputs(&self, promised: &[u64]) -> Result<(), Violation> {
        let by_input: IdVec<PortId, IdVec<InputSlot, u64>> =
            self.ports.ids().map(|output| self.recount_by_input(output)).collect();
        for ((id, input), promised) in self.inputs.enumerate().zip(promised.iter().copied()) {
            let link = &self.links[input.port];
            if input.shared.is_none() {
                audit::allowance(&link.name, promised, self.ports[input.port].allowance())?;
            }
            let mut held = 0;
            for output in &self.nodes[link.to].outputs {
                let queued = by_input[*output].get(input.slot).copied().unwrap_or(0);
                if let Some(counted) = self.counted_from(*output, id, u8::MAX) {
                    audit::queue_by_input(&self.links[*output].name, counted, queued)?;
                }
                held += queued;
            }
            audit::input(&link.name, input, held)?;
        }
        Ok(())
    }

    /// Checks the octets in and out of every node; `ends` are the first and the last port of each flow.
    fn audit_nodes(&self, books: &Books<'_>, ends: impl Iterator<Item = (PortId, PortId)>) -> Result<(), Violation> {
        let mut totals: IdVec<NodeId, audit::NodeTotals> =
            self.nodes.iter().map(|node| audit::NodeTotals::new(node.control_sent, node.control_received)).collect();
        for (port, link) in self.ports.iter().zip(self.links.iter()) {
            totals[link.from].add_output(&port.count);
            totals[link.to].add_input(&port.count);
        }
        for input in self.inputs.iter() {
            totals[self.links[input.port].to].dropped += input.dropped_bytes;
        }
        for ((first, last), tally) in ends.zip(books.tallies.iter()) {
            totals[self.links[first].from].sent += tally.sent_bytes;
            totals[self.links[last].to].received += tally.delivered_bytes;
        }
        self.nodes.iter().zip(totals.iter()).try_for_each(|(node, totals)| totals.check(&node.name))
    }

    /// Checks what the packets of queue pairs carry: `is_pair` says whether a flow is one, and `unanswered` how many
    /// packets receivers have not answered.
    pub(in crate::engine) fn audit_packets(
        &self,
        books: &Books<'_>,
        is_pair: impl Fn(FlowId) -> bool,
        unanswered: u64,
    ) -> Result<(), Violation> {
        let held = self.ports.iter().flat_map(Port::held);
        let waiting = self.queues.iter().flat_map(PriorityQueues::waiting);
        let carries = |frame: &&Frame| frame.is(flag::SEGMENT | flag::ACK) && is_pair(self.flow_of(frame));
        let in_fabric = held.chain(waiting).filter(carries).count() as u64;
        audit::packets(self.packets.under_way(), in_fabric + books.heads, unanswered)
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
}
