//! When a run ends: at the plan's end; if it drains, when no flow is open any more; or in a deadlock.

use crate::plan::Plan;
use qcnlab_units::Instant;

/// Why a run ended when it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    #[default]
    Time,
    /// It drains, and every flow with an end had finished, or had lost a frame that nothing sends again.
    Drained,
    /// Pauses wait for each other in a circle, and nothing in it will ever move again.
    Deadlock {
        /// The paused ports, each waiting for the next, the last for the first.
        circle: Vec<String>,
        /// When the last of them was paused.
        closed: Instant,
    },
}

/// When a run ends, as far as is known now, and why.
pub(super) struct RunEnd {
    at: Instant,
    ending: Ending,
    /// When the loop stops: at the end, or where the present [step](super::stepping) does.
    stop: Instant,
    /// Whether it ends with its last open flow.
    drains: bool,
    /// Flows with an end that have not come to it and still may. Only a run that drains counts each end.
    open_flows: usize,
}

impl RunEnd {
    /// The end that a plan asks for.
    pub(super) fn new(plan: &Plan) -> RunEnd {
        RunEnd {
            at: plan.end,
            ending: Ending::Time,
            stop: plan.end,
            drains: plan.drains,
            open_flows: plan.flows.iter().filter(|flow| flow.traffic.total().is_some()).count(),
        }
    }

    /// When the run ends.
    pub(super) const fn at(&self) -> Instant {
        self.at
    }

    /// Why it ends then.
    pub(super) const fn ending(&self) -> &Ending {
        &self.ending
    }

    /// When the loop stops.
    #[inline(always)]
    pub(super) const fn stop(&self) -> Instant {
        self.stop
    }

    /// Has the loop stop at `until`, or at the end if that comes first.
    pub(super) fn stop_at(&mut self, until: Instant) {
        self.stop = until.min(self.at);
    }

    /// Ends the run now.
    #[cold]
    pub(super) fn end_now(&mut self, now: Instant, ending: Ending) {
        self.at = now;
        self.stop = now;
        self.ending = ending;
    }

    /// A flow with an end has finished, or never will.
    #[cold]
    pub(super) fn close_flow(&mut self, now: Instant) {
        self.open_flows -= 1;
        if self.open_flows == 0 && self.drains && self.ending == Ending::Time {
            self.end_now(now, Ending::Drained);
        }
    }
}
