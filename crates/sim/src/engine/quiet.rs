//! What needs no event.
//!
//! A *quiet* sender is alone on its link, and its limiter may be told late of what passed. What it does then follows
//! from what it knew when it was last spoken to, so its frames are let go when somebody asks: when the oldest of them
//! reaches the far end, and before a signal, a timer or a change of the link comes in. Each still leaves at its own
//! time. The link's one event stands for the next arrival, of a frame that need not have been let go yet.
//!
//! Over a *counted* link frames only come to be counted at the far end. They are when the link's ring is full, when rows
//! are shown, or at the end of the run.

use super::Engine;
use super::build::{sends_probes, signal_class};
use crate::frame::Frame;
use crate::plan::{Events, Feedback, Plan, Traffic};
use crate::port::{NONE, Port};
use crate::sender::{Reaction, Sender};
use crate::source::Source;
use qcnlab_schemes::{ReactionPoint, RpFastPath};
use qcnlab_units::Instant;
use std::hint::select_unpredictable;

impl Engine {
    /// Finds quiet senders and counted links.
    pub(super) fn lay_quiet(&mut self, plan: &Plan) {
        if plan.events == Events::Everywhere {
            return;
        }
        let uses = uses(plan);
        for (index, port) in self.ports.iter_mut().enumerate() {
            let counts = port.input == NONE && self.notifications.is_empty();
            port.counted = counts && uses[index].only_last && !uses[index].others;
        }
        let mut flows_at = vec![0u32; self.reactions.len()];
        self.senders.iter().for_each(|sender| flows_at[sender.limiter as usize] += 1);
        for (flow, sender) in (0u32..).zip(&mut self.senders) {
            let planned = &plan.ports[sender.port as usize];
            let port = &mut self.ports[sender.port as usize];
            let used = &uses[sender.port as usize];
            let rp = &self.reactions[sender.limiter as usize].rp;
            let alone = used.flows == 1 && flows_at[sender.limiter as usize] == 1;
            sender.quiet = alone
                && !used.others
                && planned.capacity.is_none()
                && !planned.recorded
                && port.cp == NONE
                && !plan.nodes[planned.from as usize].counts()
                && matches!(sender.source, Source::Saturated { .. } | Source::Constant { .. })
                && (!rp.capabilities().limits || rp.on_sent_may_be_late())
                && !self.probes;
            if sender.quiet {
                port.feeder = flow;
            }
        }
    }

    /// Lets go what a quiet sender let go before `until`.
    pub(super) fn let_go(&mut self, until: Instant, flow: u32) {
        while let Some(at) = self.due(flow).filter(|at| *at < until) {
            let frame = self.let_one_go(at, flow);
            self.ports[self.senders[flow as usize].port as usize].enqueue_plainly(at, frame);
        }
    }

    /// The frame that arrives now over a quiet sender's empty link, and the event for the next.
    #[inline(always)]
    pub(super) fn pass_link(&mut self, now: Instant, index: u32) -> Frame {
        let port = &self.ports[index as usize];
        let flow = port.feeder;
        let size = self.senders[flow as usize].next_size();
        let takes = port.transmission(size);
        let at = Instant::from_ps(now.ps() - port.delay().ps() - takes);
        let frame = self.let_one_go(at, flow);
        self.ports[index as usize].pass(at, takes, size);
        self.expect_over_empty_link(flow);
        frame
    }

    /// As [`let_go`](Engine::let_go), for the limiter of a sender that may be quiet.
    pub(super) fn let_go_of(&mut self, until: Instant, limiter: u32) {
        let flow = self.reactions[limiter as usize].flow;
        if self.senders[flow as usize].quiet {
            self.let_go(until, flow);
        }
    }

    /// As [`let_go`](Engine::let_go), for all quiet senders.
    pub(super) fn let_all_go(&mut self, until: Instant) {
        for flow in 0..self.senders.len() {
            if self.senders[flow].quiet {
                self.let_go(until, flow as u32);
            }
        }
    }

    /// Sets the event for the next arrival over a quiet sender's link.
    pub(super) fn expect(&mut self, flow: u32) {
        let index = self.senders[flow as usize].port;
        match self.ports[index as usize].next_arrival() {
            Some(at) => self.wheel.set(self.entities.arrive + index, at),
            None => self.expect_over_empty_link(flow),
        }
    }

    #[inline(always)]
    fn expect_over_empty_link(&mut self, flow: u32) {
        let sender = &self.senders[flow as usize];
        let port = &self.ports[sender.port as usize];
        let entity = self.entities.arrive + sender.port;
        let Some(at) = sender.due(&self.reactions[sender.limiter as usize], port) else {
            return self.wheel.clear(entity);
        };
        let takes = port.transmission(sender.next_size()) + port.delay().ps();
        self.wheel.set(entity, at.ps().saturating_add(takes));
    }

    fn due(&self, flow: u32) -> Option<Instant> {
        let sender = &self.senders[flow as usize];
        sender.due(&self.reactions[sender.limiter as usize], &self.ports[sender.port as usize])
    }

    /// As [`count_arrived`](Engine::count_arrived), for all counted links.
    pub(super) fn count_all_arrived(&mut self, until: Instant) {
        for index in 0..self.ports.len() {
            if self.ports[index].counted {
                self.count_arrived(until, index as u32);
            }
        }
    }

    /// Counts what came over a counted link before `until`.
    #[inline]
    pub(super) fn count_arrived(&mut self, until: Instant, index: u32) {
        if self.ports[index as usize].acts {
            self.settle(until, index);
        }
        let port = &mut self.ports[index as usize];
        while let Some(at) = port.next_arrival().filter(|at| *at < until.ps()) {
            let frame = port.take_arrived();
            let path = self.paths[frame.path() as usize];
            self.recorder.count_left(path.end, path.member, at - port.delay().ps(), frame.octets());
            self.tallies[path.flow as usize].deliver(Instant::from_ps(at), frame.octets());
        }
    }
}

impl Sender {
    /// When a quiet sender lets its next frame go, as things stand.
    #[inline(always)]
    fn due(&self, reaction: &Reaction, port: &Port) -> Option<Instant> {
        let (wanted, ends) = match &self.source {
            Source::Saturated { next, left, .. } if *left > 0 => (*next, self.stop),
            Source::Constant { next, waiting, .. } => {
                // One comparison is for both: nothing comes at or after `stop`, and what waits came before.
                let wanted = select_unpredictable(*waiting > 0, Instant::ZERO, *next);
                if wanted >= self.stop {
                    return None;
                }
                (wanted, Instant::NEVER)
            }
            _ => return None,
        };
        let at = wanted.max(reaction.limiter.next()).max(port.may_start());
        (at < ends).then_some(at)
    }

    /// Octets of the next frame.
    fn next_size(&self) -> u64 {
        match self.source {
            Source::Saturated { left, .. } => left.min(u64::from(self.frame)),
            _ => u64::from(self.frame),
        }
    }
}

/// Who uses a port.
#[derive(Clone, Default)]
struct Use {
    /// Flows that pass it.
    flows: u32,
    /// It is the last of every way it is on, and of one at least; nobody answers segments behind it.
    only_last: bool,
    /// Something else may pass it: signals, acknowledgements, probes.
    others: bool,
}

fn uses(plan: &Plan) -> Vec<Use> {
    let mut uses = vec![Use { only_last: true, ..Use::default() }; plan.ports.len()];
    let back = signal_class(plan);
    let probes = plan.feedback != Feedback::Ideal && sends_probes(plan);
    for flow in &plan.flows {
        let tcp = matches!(flow.traffic, Traffic::Tcp { .. });
        let mut ports: Vec<u32> = flow.paths.iter().flatten().copied().collect();
        ports.sort_unstable();
        ports.dedup();
        let last = flow.paths[0][flow.paths[0].len() - 1];
        for index in ports {
            let used = &mut uses[index as usize];
            used.flows += 1;
            used.only_last &= index == last && !tcp;
            used.others |= probes;
            if let Some(peer) = plan.ports[index as usize].peer.filter(|_| back != 0 || tcp) {
                uses[peer as usize].others = true;
            }
        }
    }
    for (used, port) in uses.iter_mut().zip(&plan.ports) {
        used.only_last &= used.flows > 0 && !plan.nodes[port.to as usize].counts();
    }
    uses
}
