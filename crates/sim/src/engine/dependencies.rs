//! Flows that wait for others to complete.

use crate::ids::{FlowId, IdVec};
use crate::plan::{CompletesAt, Plan};
use crate::rate_limiter::Materials;
use qcnlab_units::{Instant, Span, ids};
use std::collections::HashMap;

ids! {
    /// An entry of the plan's flows that wait.
    struct WaitingId;
}

/// Which flows wait for which.
#[derive(Default)]
pub(super) struct Dependencies {
    waiting: IdVec<WaitingId, WaitingFlow>,
    /// For each flow that others wait for their entries of `waiting`, in the plan's order, and where it has to be
    /// complete, and how long after that they may start.
    waiters: HashMap<FlowId, Vec<(CompletesAt, WaitingId, Span)>>,
}

/// A flow that has not started.
struct WaitingFlow {
    flow: FlowId,
    /// How many flows it still waits for; `None` if it never starts.
    open: Option<usize>,
    /// The latest of the times at which those that are complete let it start.
    ready: Instant,
    /// From when all of them let it to its start.
    delay: Span,
    /// From then on it does not start.
    until: Instant,
}

impl Dependencies {
    pub(super) fn new(plan: &Plan, materials: &Materials) -> Dependencies {
        let mut all = Dependencies::default();
        for each in &plan.dependencies {
            let delays =
                each.delays.iter().flat_map(|delays| &delays.each).copied().chain(std::iter::repeat(Span::ZERO));
            let id = all.waiting.next_id();
            for ((before, at), delay) in each.after.iter().zip(delays) {
                all.waiters.entry(*before).or_default().push((*at, id, delay));
            }
            let delay = materials.start(&plan.flows[each.flow]).since(Instant::ZERO);
            let (flow, open) = (each.flow, Some(each.after.len()));
            let ready = each.delays.as_ref().map_or(Instant::ZERO, |delays| delays.not_before);
            let until = each.until.min(plan.end);
            all.waiting.push(WaitingFlow { flow, open, ready, delay, until });
        }
        all
    }

    /// A flow is complete: returns those that waited for nothing else, and when they start, if they do.
    pub(super) fn completed(
        &mut self,
        now: Instant,
        flow: FlowId,
        here: CompletesAt,
    ) -> Vec<(FlowId, Option<Instant>)> {
        let mut free = Vec::new();
        for (at, id, delay) in self.waiters.get(&flow).into_iter().flatten() {
            let waiting = &mut self.waiting[*id];
            let Some(open) = waiting.open.as_mut().filter(|_| *at == here) else { continue };
            *open -= 1;
            waiting.ready = waiting.ready.max(now + *delay);
            if *open == 0 {
                free.push((waiting.flow, Some(waiting.ready + waiting.delay).filter(|start| *start < waiting.until)));
            }
        }
        free
    }

    /// A flow never starts, and so none that waits for it: returns how many these are.
    pub(super) fn abandon(&mut self, flow: FlowId) -> usize {
        let (mut lost, mut count) = (vec![flow], 0);
        while let Some(flow) = lost.pop() {
            count += 1;
            for (_, id, _) in self.waiters.remove(&flow).into_iter().flatten() {
                let waiting = &mut self.waiting[id];
                lost.extend(waiting.open.take().map(|_| waiting.flow));
            }
        }
        count
    }
}
