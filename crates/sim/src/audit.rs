//! The audit at the end of every run: nothing appears and nothing vanishes.

use crate::frame::{Frame, flag};
use crate::port::Port;
use crate::probe::{Counters, FlowTally};

/// A law of conservation that a run broke: a bug in the simulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{whose}: {what}: {left} on one side, {right} on the other")]
pub struct Violation {
    /// Which port or flow.
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
    frames.map(|frame| u64::from(frame.size)).sum()
}

/// Checks a port: what it accepted has arrived at the far end or is still held.
pub(crate) fn port(name: &str, port: &Port) -> Result<(), Violation> {
    let count = port.count;
    let held = port.held().count() as u64;
    law(name, "frames accepted = arrived + held", count.accepted_frames, count.arrived_frames + held)?;
    let held = bytes(port.held());
    law(name, "octets accepted = arrived + held", count.accepted_bytes, count.arrived_bytes + held)?;
    law(name, "octets queued = octets that have not left", port.queue_len().get(), bytes(port.waiting()))
}

/// Checks every flow: what its source sent was delivered, was discarded, or is still in the fabric.
pub(crate) fn flows<'a>(
    names: impl Iterator<Item = &'a str>,
    tallies: &[FlowTally],
    ports: &[Port],
) -> Result<(), Violation> {
    let mut inside = vec![0u64; tallies.len()];
    for frame in ports.iter().flat_map(Port::held) {
        if frame.flags & flag::FEEDBACK == 0 {
            inside[frame.flow as usize] += 1;
        }
    }
    for ((name, tally), inside) in names.zip(tallies).zip(inside) {
        law(
            name,
            "frames sent = delivered + dropped + in the fabric",
            tally.sent,
            tally.delivered + tally.dropped + inside,
        )?;
    }
    Ok(())
}

/// Checks the signals: each was heard, was lost with its frame, or is under way.
pub(crate) fn signals(counters: &Counters, under_way: u64) -> Result<(), Violation> {
    let right = counters.messages_heard + counters.messages_lost + under_way;
    law("feedback", "messages sent = heard + lost + under way", counters.messages_sent, right)
}
