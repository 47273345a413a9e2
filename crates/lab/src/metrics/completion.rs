//! How long flows of a size took, or have taken so far.

use crate::fabric::Fabric;
use qcnlab_sim::{Finished, FlowId, FlowTally};
use qcnlab_units::{Instant, Span};

/// A flow of a size that started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Completion {
    /// From its start to the delivery of its last octet, over RoCE to its acknowledgement. If it did not finish, what that
    /// is at least: the time to the end of the run, and what it would have taken alone.
    pub(crate) took: Span,
    /// What it would have taken alone in the network.
    pub(crate) alone: Span,
    /// Whether it finished.
    pub(crate) finished: bool,
}

impl Completion {
    /// Times as long as alone. Of a flow that did not finish a lower bound.
    pub(crate) fn slowdown(&self) -> f64 {
        self.took.seconds() / self.alone.seconds()
    }
}

/// For each flow how long it took, if it has a size and started.
pub(crate) fn completions(fabric: &Fabric, done: &Finished) -> Vec<Option<Completion>> {
    let one = |(flow, tally): (FlowId, &FlowTally)| {
        let alone = fabric.alone(flow)?.ideal;
        let finished = tally.finished != Instant::NEVER;
        let took = || match finished {
            true => tally.finished.since(tally.started),
            false => done.end.since(tally.started).max(alone),
        };
        (tally.started < done.end).then(|| Completion { took: took(), alone, finished })
    };
    done.flows.enumerate().map(one).collect()
}

/// The smallest of sorted values that `percent` per cent of them do not exceed.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}
