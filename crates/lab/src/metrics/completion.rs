//! How long flows of a size took, or have taken so far.

use crate::fabric::Fabric;
use qcnlab_sim::{Finished, FlowTally};
use qcnlab_units::{Instant, Span};

/// A flow of a size that started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Completion {
    /// From its start to the delivery of its last octet or, if it did not finish, to the end of the run.
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
    let one = |(flow, tally): (usize, &FlowTally)| {
        let alone = fabric.alone(flow)?.ideal;
        let finished = tally.finished != Instant::NEVER;
        let until = if finished { tally.finished } else { done.end };
        (tally.started < done.end).then(|| Completion { took: until.since(tally.started), alone, finished })
    };
    done.flows.iter().enumerate().map(one).collect()
}

/// The smallest of sorted values that `percent` per cent of them do not exceed.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}
