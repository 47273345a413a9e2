//! Sinks that only count.
//!
//! **When**: a link is the last of all paths over it, nobody answers what comes, no buffer and no congestion notification
//! domain is behind it, nothing but data comes over it, it cannot fail, and the run does not drain, which has to know at once
//! that a flow is complete. **Why the run is the same**: such an arrival changes totals and bins alone, and both take the
//! time at which the frame arrived from the frame. So frames stay on the link, and are counted when it is full of them, when
//! rows are shown and at the end. **Switch**: [`Events::Everywhere`].

use super::super::network::Network;
use super::super::recording::Recording;
use super::PortUse;
use crate::ids::{IdVec, PortId};
use crate::plan::{Events, Plan};
use qcnlab_units::Instant;

/// Finds the sinks that only count; `answers` says whether destinations answer data.
pub(in crate::engine) fn choose(plan: &Plan, uses: &IdVec<PortId, PortUse>, answers: bool, network: &mut Network) {
    // A run that drains must know at once that a flow has finished.
    if plan.events == Events::Everywhere || plan.drains || answers {
        return;
    }
    for (port, used) in uses.enumerate() {
        if used.only_last && !used.by_others {
            network.only_count_behind(port);
        }
    }
}

/// Counts what has reached the counting sink of a full link, and has the link take more if that frees too little.
#[cold]
#[inline(never)]
pub(in crate::engine) fn count_full_link(now: Instant, port: PortId, network: &mut Network, recording: &mut Recording) {
    network.take_delivered(now, port, |at, path, left, octets| {
        recording.deliver(at, path, left, octets);
    });
    network.make_room(port);
}

/// Counts what reached any counting sink before `until`.
pub(in crate::engine) fn count_all_delivered(until: Instant, network: &mut Network, recording: &mut Recording) {
    network.take_all_delivered(until, |at, path, left, octets| {
        recording.deliver(at, path, left, octets);
    });
}
