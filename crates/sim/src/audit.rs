//! The audit at the end of every run: nothing appears and nothing vanishes.

use crate::frame::{Frame, flag};
use crate::ids::{FlowId, IdVec};
use crate::input_buffer::InputBuffer;
use crate::port::{Port, PortCount};
use crate::priority_queues::PriorityQueues;
use crate::trace::{Counters, Tally};

/// A law of conservation that a run broke: a bug in the simulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{whose}: {what}: {left} on one side, {right} on the other")]
pub struct Violation {
    /// Which port, node or flow.
    pub whose: String,
    /// Which law.
    pub what: &'static str,
    /// What came in.
    pub left: u64,
    /// What is accounted for.
    pub right: u64,
}

fn law(whose: &str, what: &'static str, left: u64, right: u64) -> Result<(), Violation> {
    if left == right { Ok(()) } else { Err(Violation { whose: whose.to_owned(), what, left, right }) }
}

fn bytes<'a>(frames: impl Iterator<Item = &'a Frame>) -> u64 {
    frames.map(Frame::octets).sum()
}

/// Checks a port: what it accepted has arrived at the far end or is still held.
pub(crate) fn port(name: &str, port: &Port, queues: Option<&PriorityQueues>) -> Result<(), Violation> {
    let waiting = || port.waiting().chain(queues.into_iter().flat_map(PriorityQueues::waiting));
    let held = || port.on_the_wire().chain(waiting());
    let count = port.count;
    let frames = held().count() as u64;
    let gone = count.arrived_frames + count.lost_frames;
    law(name, "frames accepted = arrived + lost with the link + held", count.accepted_frames, gone + frames)?;
    let gone = count.arrived_bytes + count.lost_bytes;
    law(name, "octets accepted = arrived + lost with the link + held", count.accepted_bytes, gone + bytes(held()))?;
    law(name, "octets queued = octets that have not left", port.queue_len().get(), bytes(waiting()))
}

/// Checks an input buffer: what it counts is queued at its node's outputs.
pub(crate) fn input(name: &str, input: &InputBuffer, queued: u64) -> Result<(), Violation> {
    law(name, "octets counted at the far end = octets queued there", input.held(), queued)
}

/// Checks a shared buffer: what is in use is what its groups use, and what the frames queued at its node take.
pub(crate) fn shared_buffer(name: &str, used: u64, by_group: u64, taken: u64) -> Result<(), Violation> {
    law(name, "octets of the shared buffer in use = octets that its groups use", used, by_group)?;
    law(name, "octets of the shared buffer in use = octets that queued frames take", used, taken)
}

/// Checks what a queue counts for one input: as much is queued there.
pub(crate) fn queue_by_input(name: &str, counted: u64, queued: u64) -> Result<(), Violation> {
    law(name, "octets counted for an input = octets of that input queued", counted, queued)
}

/// Checks the allowance of an input buffer, as it was and as it is after a recount: no more was promised than is free.
pub(crate) fn allowance(name: &str, promised: u64, free: u64) -> Result<(), Violation> {
    law(name, "octets that may be admitted uncounted = as much of the free buffer", promised, promised.min(free))
}

/// Octets of everything that arrived at a node, was sent there, left, was received or was dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeTotals {
    arrived: u64,
    pub(crate) sent: u64,
    left: u64,
    pub(crate) received: u64,
    pub(crate) dropped: u64,
}

impl NodeTotals {
    pub(crate) fn new(sent: u64, received: u64) -> NodeTotals {
        NodeTotals { sent, received, ..NodeTotals::default() }
    }

    /// Adds one of its ports.
    pub(crate) fn add_output(&mut self, count: &PortCount) {
        self.left += count.accepted_bytes;
        self.dropped += count.dropped_bytes;
    }

    /// Adds a port that leads to it.
    pub(crate) fn add_input(&mut self, count: &PortCount) {
        self.arrived += count.arrived_bytes;
    }

    pub(crate) fn check(&self, name: &str) -> Result<(), Violation> {
        let what = "octets that arrived or were sent = left + received + dropped";
        law(name, what, self.arrived + self.sent, self.left + self.received + self.dropped)
    }
}

/// Checks every flow: what its source sent was delivered, was dropped, or is still in the fabric.
pub(crate) fn flows<'a>(
    names: impl Iterator<Item = &'a str>,
    tallies: &IdVec<FlowId, Tally>,
    flow_of: impl Fn(&Frame) -> FlowId,
    ports: impl Iterator<Item = &'a Port>,
    queues: impl Iterator<Item = &'a PriorityQueues>,
) -> Result<(), Violation> {
    let mut inside: IdVec<FlowId, u64> = tallies.iter().map(|_| 0).collect();
    let held = ports.flat_map(Port::held).chain(queues.flat_map(PriorityQueues::waiting));
    for frame in held.filter(|frame| !frame.is(flag::NOT_DATA)) {
        inside[flow_of(frame)] += 1;
    }
    for ((name, tally), inside) in names.zip(tallies.iter()).zip(inside.iter()) {
        let accounted = tally.delivered + tally.dropped + inside;
        law(name, "frames sent = delivered + dropped + in the fabric", tally.sent, accounted)?;
    }
    Ok(())
}

/// Checks the signals and probes: each was heard, was lost with its frame, or is under way.
pub(crate) fn signals(counters: &Counters, signals: u64, probes: u64) -> Result<(), Violation> {
    let right = counters.messages_heard + counters.messages_ignored + counters.messages_lost + signals;
    law("feedback", "messages sent = heard + ignored + lost + under way", counters.messages_sent, right)?;
    law("feedback", "probes sent = ended + under way", counters.probes_sent, counters.probes_ended + probes)
}

/// Checks the heads of packets that were cut: each reached its destination, was lost, or is under way.
pub(crate) fn heads(counters: &Counters, heads: u64) -> Result<(), Violation> {
    law(
        "queue pairs",
        "packets trimmed = heads ended + under way",
        counters.packets_trimmed,
        counters.heads_ended + heads,
    )
}

/// Checks what RoCE packets carry: each entry is a packet or an acknowledgement in the fabric, or the newest that a
/// receiver has not answered.
pub(crate) fn packets(under_way: u64, in_fabric: u64, unanswered: u64) -> Result<(), Violation> {
    law("queue pairs", "packets under way = in the fabric + not answered yet", under_way, in_fabric + unanswered)
}

/// Checks the acknowledgements: each was heard, was lost, or is in the fabric.
pub(crate) fn acks<'a>(
    counters: &Counters,
    ports: impl Iterator<Item = &'a Port>,
    queues: impl Iterator<Item = &'a PriorityQueues>,
) -> Result<(), Violation> {
    let held = ports.flat_map(Port::held).chain(queues.flat_map(PriorityQueues::waiting));
    let inside = held.filter(|frame| frame.is(flag::ACK)).count() as u64;
    let right = counters.acks_heard + counters.acks_lost + inside;
    law("connections", "acknowledgements sent = heard + lost + in the fabric", counters.acks_sent, right)
}
