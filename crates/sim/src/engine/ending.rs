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
    /// Flows with an end.
    flows: usize,
    /// The plan's end.
    planned: Instant,
}

impl RunEnd {
    /// The end that a plan asks for.
    pub(super) fn new(plan: &Plan) -> RunEnd {
        let flows = plan.flows.iter().filter(|flow| flow.traffic.total().is_some()).count();
        RunEnd {
            at: plan.end,
            ending: Ending::Time,
            stop: plan.end,
            drains: plan.drains,
            open_flows: flows,
            flows,
            planned: plan.end,
        }
    }

    /// Flows with an end, if the run is over with them; otherwise 0.
    pub(super) const fn counted(&self) -> u64 {
        if self.drains { self.flows as u64 } else { 0 }
    }

    /// How many of these have ended.
    pub(super) const fn closed(&self) -> u64 {
        if self.drains { (self.flows - self.open_flows) as u64 } else { 0 }
    }

    /// How far the run is at `now`: if it is over with its flows, as large a part of its time as flows have ended.
    pub(super) fn reached(&self, now: Instant) -> Instant {
        match self.counted() {
            0 => now,
            all => {
                Instant::from_ps((u128::from(self.planned.ps()) * u128::from(self.closed()) / u128::from(all)) as u64)
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, greedy};
    use crate::plan::Traffic;
    use qcnlab_units::{BitRate, Bytes, Span};

    /// Three flows with an end and one without, in a run of a second. One of the three has ended: it is a third of the run
    /// that is over with them, and nothing but the time of one that is not.
    #[test]
    fn a_run_of_messages_is_as_far_as_they_are() {
        let at = |ms: u64| Instant::ZERO + Span::from_ms(ms);
        let mut net = Net::new(&["a", "b"]);
        net.link("a", "b", BitRate::gbps(10), Span::from_us(1));
        for _ in 0..3 {
            net.flow("a", "b", 0, Traffic::Saturated { ceiling: None, total: Some(Bytes::new(1500)) });
        }
        net.flow("a", "b", 0, greedy());
        (net.plan.end, net.plan.drains) = (at(999), true);
        let mut end = RunEnd::new(&net.plan);
        assert_eq!((end.counted(), end.closed(), end.reached(at(500))), (3, 0, at(0)));
        end.close_flow(at(600));
        assert_eq!((end.closed(), end.reached(at(600))), (1, at(333)));
        end.end_now(at(700), Ending::Time);
        assert_eq!(end.reached(at(700)), at(333), "that it ends early changes nothing of what was planned");
        net.plan.drains = false;
        let end = RunEnd::new(&net.plan);
        assert_eq!((end.counted(), end.closed(), end.reached(at(500))), (0, 0, at(500)));
    }
}
