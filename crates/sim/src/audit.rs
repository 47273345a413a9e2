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

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_units::{BitRate, Bytes, Instant, Span};

    /// Numbers that fulfil a law; one more in any of them breaks it.
    fn breaks_with_any<const N: usize>(numbers: [u64; N], checks: impl Fn([u64; N]) -> Result<(), Violation>) {
        assert_eq!(checks(numbers), Ok(()));
        for broken in 0..N {
            let mut more = numbers;
            more[broken] += 1;
            assert!(checks(more).is_err(), "number {broken} of {numbers:?} is in no law");
        }
    }

    /// 10 = 5 + 2 + 2 + 1 and 7 = 4 + 3; 6 = 4 + 2; 9 = 6 + 3; 8 = 5 + 3.
    #[test]
    fn counters_that_do_not_add_up_are_a_violation() {
        breaks_with_any([10, 5, 2, 2, 1, 7, 4, 3], |[sent, heard, ignored, lost, under_way, probes, ended, inside]| {
            let counters = Counters {
                messages_sent: sent,
                messages_heard: heard,
                messages_ignored: ignored,
                messages_lost: lost,
                probes_sent: probes,
                probes_ended: ended,
                ..Counters::default()
            };
            signals(&counters, under_way, inside)
        });
        breaks_with_any([6, 4, 2], |[packets_trimmed, heads_ended, under_way]| {
            heads(&Counters { packets_trimmed, heads_ended, ..Counters::default() }, under_way)
        });
        breaks_with_any([9, 6, 3], |[under_way, in_fabric, unanswered]| packets(under_way, in_fabric, unanswered));
        breaks_with_any([8, 5, 3], |[acks_sent, acks_heard, acks_lost]| {
            let counters = Counters { acks_sent, acks_heard, acks_lost, ..Counters::default() };
            acks(&counters, [].iter(), [].iter())
        });
        breaks_with_any([8, 5, 3], |[sent, delivered, dropped]| {
            let mut tally = Tally::new(None);
            (tally.sent, tally.delivered, tally.dropped) = (sent, delivered, dropped);
            let tallies: IdVec<FlowId, Tally> = [tally].into_iter().collect();
            flows(["a"].into_iter(), &tallies, |_| unreachable!("nothing is held"), [].iter(), [].iter())
        });
    }

    #[test]
    fn octets_of_a_buffer_that_do_not_add_up_are_a_violation() {
        breaks_with_any([5, 5], |[counted, queued]| queue_by_input("p", counted, queued));
        // What is in use is held against both others.
        breaks_with_any([5, 5, 5], |[used, by_group, taken]| shared_buffer("s", used, by_group, taken));
        assert_eq!([4, 5].map(|promised| allowance("p", promised, 5)), [Ok(()), Ok(())]);
        let said = allowance("p", 6, 5).expect_err("more than is free").to_string();
        assert_eq!(
            said,
            "p: octets that may be admitted uncounted = as much of the free buffer: 6 on one side, 5 on the other"
        );
    }

    /// 1000 octets come and 500 are sent; 900 leave, 200 are received, 300 find no room in an output, 100 in an input.
    #[test]
    fn octets_of_a_node_that_do_not_add_up_are_a_violation() {
        breaks_with_any([1000, 500, 900, 200, 300, 100], |[arrived, sent, left, received, no_room, not_admitted]| {
            let mut totals = NodeTotals::new(sent, received);
            totals.add_input(&PortCount { arrived_bytes: arrived, accepted_bytes: 77, ..PortCount::default() });
            totals.add_output(&PortCount { accepted_bytes: left, dropped_bytes: no_room, ..PortCount::default() });
            totals.dropped += not_admitted;
            totals.check("n")
        });
    }

    /// A port that holds one frame of 1500 octets has accepted three, of which one arrived and one was lost with its link.
    #[test]
    fn frames_of_a_port_that_do_not_add_up_are_a_violation() {
        let mut held = Port::new(BitRate::gbps(10), Span::from_us(5), None, Bytes::ZERO);
        assert!(held.admit_fifo(1500));
        held.transmit(Instant::ZERO, Frame::of_class(0, 1500));
        breaks_with_any([3, 1, 1, 3600, 1600, 500], |numbers| {
            let mut held = held.clone();
            let [accepted_frames, arrived_frames, lost_frames, accepted_bytes, arrived_bytes, lost_bytes] = numbers;
            held.count = PortCount {
                accepted_frames,
                arrived_frames,
                lost_frames,
                accepted_bytes,
                arrived_bytes,
                lost_bytes,
                ..PortCount::default()
            };
            port("p", &held, None)
        });
    }
}
