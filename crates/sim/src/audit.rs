//! The audit at the end of every run: nothing appears and nothing vanishes.

use crate::frame::{Frame, flag};
use crate::input::Input;
use crate::port::{Port, PortCount};
use crate::probe::{Counters, Tally};
use crate::turns::Turns;

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
pub(crate) fn port(name: &str, port: &Port, turns: Option<&Turns>) -> Result<(), Violation> {
    let waiting = || port.waiting().chain(turns.into_iter().flat_map(Turns::waiting));
    let held = || port.on_the_wire().chain(waiting());
    let count = port.count;
    let frames = held().count() as u64;
    law(name, "frames accepted = arrived + held", count.accepted_frames, count.arrived_frames + frames)?;
    law(name, "octets accepted = arrived + held", count.accepted_bytes, count.arrived_bytes + bytes(held()))?;
    law(name, "octets queued = octets that have not left", port.queue_len().get(), bytes(waiting()))
}

/// Checks the memory of an input: what it counts is queued at its node's outputs.
pub(crate) fn input(name: &str, input: &Input, queued: u64) -> Result<(), Violation> {
    law(name, "octets counted at the far end = octets queued there", input.held(), queued)
}

/// Checks the room of an input that let octets in uncounted: there is as much as it would still have let in.
pub(crate) fn room(name: &str, promised: u64, left: u64) -> Result<(), Violation> {
    law(name, "octets that may come in uncounted = as much of the room that is left", promised, promised.min(left))
}

/// Octets of everything that came to a node, was made, left, was taken or was lost there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node {
    came: u64,
    pub(crate) made: u64,
    out: u64,
    pub(crate) taken: u64,
    pub(crate) lost: u64,
}

impl Node {
    pub(crate) fn new(made: u64, taken: u64) -> Node {
        Node { made, taken, ..Node::default() }
    }

    /// One of its ports.
    pub(crate) fn out(&mut self, count: &PortCount) {
        self.out += count.accepted_bytes;
        self.lost += count.dropped_bytes;
    }

    /// A port that leads to it.
    pub(crate) fn came(&mut self, count: &PortCount) {
        self.came += count.arrived_bytes;
    }

    pub(crate) fn check(&self, name: &str) -> Result<(), Violation> {
        let what = "octets that came or were made = left + taken + lost";
        law(name, what, self.came + self.made, self.out + self.taken + self.lost)
    }
}

/// Checks every flow: what its source sent was delivered, was discarded, or is still in the fabric.
pub(crate) fn flows<'a>(
    names: impl Iterator<Item = &'a str>,
    tallies: &[Tally],
    flow_of: impl Fn(u32) -> u32,
    ports: impl Iterator<Item = &'a Port>,
    turns: impl Iterator<Item = &'a Turns>,
) -> Result<(), Violation> {
    let mut inside = vec![0u64; tallies.len()];
    let held = ports.flat_map(Port::held).chain(turns.flat_map(Turns::waiting));
    for frame in held.filter(|frame| !frame.is(flag::NOT_DATA)) {
        inside[flow_of(frame.path()) as usize] += 1;
    }
    for ((name, tally), inside) in names.zip(tallies).zip(inside) {
        let accounted = tally.delivered + tally.dropped + inside;
        law(name, "frames sent = delivered + dropped + in the fabric", tally.sent, accounted)?;
    }
    Ok(())
}

/// Checks the signals and probes: each was heard, was lost with its frame, or is under way.
pub(crate) fn signals(counters: &Counters, signals: u64, probes: u64) -> Result<(), Violation> {
    let right = counters.messages_heard + counters.messages_lost + signals;
    law("feedback", "messages sent = heard + lost + under way", counters.messages_sent, right)?;
    law("feedback", "probes sent = ended + under way", counters.probes_sent, counters.probes_ended + probes)
}

/// Checks the acknowledgements: each was heard, was lost, or is in the fabric.
pub(crate) fn acks<'a>(
    counters: &Counters,
    ports: impl Iterator<Item = &'a Port>,
    turns: impl Iterator<Item = &'a Turns>,
) -> Result<(), Violation> {
    let held = ports.flat_map(Port::held).chain(turns.flat_map(Turns::waiting));
    let inside = held.filter(|frame| frame.is(flag::ACK)).count() as u64;
    let right = counters.acks_heard + counters.acks_lost + inside;
    law("connections", "acknowledgements sent = heard + lost + in the fabric", counters.acks_sent, right)
}
