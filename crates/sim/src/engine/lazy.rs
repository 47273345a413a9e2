//! What needs no event: it is evaluated on demand.
//!
//! A *lazy* sender is alone on its link, and its reaction point may be told late of what passed. What it sends then
//! follows from what it knew at the last signal, so its frames are sent when somebody needs to know: when the oldest of
//! them reaches the far end, and before a signal, a timer or a change of the link takes effect. Each still leaves at its
//! own time. The link's one event stands for the next arrival, of a frame that need not have been sent yet.
//!
//! A [counting sink](FarEnd::CountingSink) only counts the frames that reach it. It does when the link's ring is full,
//! when rows are shown, and at the end of the run.

use super::Engine;
use super::schedule::Event;
use crate::frame::Frame;
use crate::ids::{FlowId, Id, LimiterId, PortId};
use crate::plan::{Events, Feedback, Plan};
use crate::port::{FarEnd, Mode, Port, Sole};
use crate::rate_limiter::RateLimiter;
use crate::sender::Sender;
use crate::source::Source;
use qcnlab_schemes::{ReactionPoint, RpFastPath};
use qcnlab_units::Instant;
use std::collections::HashMap;
use std::hint::select_unpredictable;

impl Engine {
    /// Finds lazy senders, senders that have a link that can be paused to themselves, and counting sinks.
    pub(super) fn choose_lazy(&mut self, plan: &Plan) {
        if plan.events == Events::Everywhere {
            return;
        }
        let uses = uses(plan);
        for (port, used) in self.network.ports.iter_mut().zip(&uses) {
            // A run that drains must know at once that a flow has finished.
            if !plan.drains
                && port.far_end() == FarEnd::Node
                && !self.signalling.notifies()
                && used.only_last
                && !used.by_others
            {
                port.set_far_end(FarEnd::CountingSink);
            }
        }
        let mut flows_of = vec![0u32; self.senders.limiters.len()];
        self.senders.flows.iter().for_each(|sender| flows_of[sender.limiter.number() as usize] += 1);
        for flow in self.senders.flows.ids() {
            let sender = &mut self.senders.flows[flow];
            let observed = self.network.has_cp(sender.port);
            let planned = &plan.ports[sender.port.number() as usize];
            let port = &mut self.network.ports[sender.port];
            let used = &uses[sender.port.number() as usize];
            let rp = self.senders.limiters.get(sender.limiter).map(|limiter| &limiter.driver.rp);
            let alone = used.flows == 1
                && flows_of[sender.limiter.number() as usize] == 1
                && !used.by_others
                && planned.capacity.is_none()
                && !observed
                && !plan.nodes[planned.from as usize].counts();
            sender.lazy = alone
                && !planned.recorded
                && matches!(sender.source, Source::Saturated { .. } | Source::Constant { .. })
                && rp.is_some_and(|rp| !rp.capabilities().limits || rp.on_sent_may_be_late())
                && !self.senders.probe;
            let sole = Sole { sender: flow, queues: port.queues() };
            let one_class = sole.queues.is_some_and(|queues| self.network.queues[queues].queues.len() == 1);
            if sender.lazy {
                port.set_mode(Mode::Lazy(sole));
            } else if alone && one_class {
                port.set_mode(Mode::Alone(sole));
            }
        }
    }

    /// Sends what a lazy sender has to send before `until`.
    pub(super) fn send_lazily(&mut self, until: Instant, flow: FlowId) {
        while let Some(at) = self.next_lazy_start(flow).filter(|at| *at < until) {
            let frame = self.pass_limiter(at, flow);
            self.network.ports[self.senders.flows[flow].port].enqueue_plain(at, frame);
        }
    }

    /// The frame that arrives now over a lazy sender's empty link; sets the event for the next.
    #[inline(always)]
    pub(super) fn cross_empty_link(&mut self, now: Instant, id: PortId, flow: FlowId) -> Frame {
        let Engine { network, senders, recording, schedule, .. } = self;
        let port = &mut network.ports[id];
        let sender = &mut senders.flows[flow];
        let limiter_id = sender.limiter;
        let limiter = &mut senders.limiters[limiter_id];
        let size = sender.next_size();
        let takes = port.transmission(size);
        let at = Instant::from_ps(now.ps() - port.delay().ps() - takes);
        let full = u64::from(sender.frame);
        sender.source.update_waiting(at, sender.stop, sender.room, |at| recording.on_refusal(at, id, flow, full));
        let frame = sender.next_plain_frame(at, flow, limiter);
        recording.on_sent(flow, size);
        if limiter.driver.saw_last
            && let Some(wake) = limiter.driver.changed_wake()
        {
            schedule.set(Event::RpWake(limiter_id), wake);
        }
        port.count_crossed(at, takes, size);
        match sender.next_over_empty_link(limiter, port) {
            Some(next) => schedule.set(Event::Arrival(id), next),
            None => schedule.cancel(Event::Arrival(id)),
        }
        frame
    }

    /// As [`send_lazily`](Engine::send_lazily), for the limiter of a sender that may be lazy.
    pub(super) fn update_limiter(&mut self, until: Instant, limiter: LimiterId) {
        let flow = self.senders.limiters[limiter].last_flow;
        if self.senders.flows[flow].lazy {
            self.send_lazily(until, flow);
        }
    }

    /// As [`send_lazily`](Engine::send_lazily), for all lazy senders.
    pub(super) fn update_senders(&mut self, until: Instant) {
        for flow in self.senders.flows.ids() {
            if self.senders.flows[flow].lazy {
                self.send_lazily(until, flow);
            }
        }
    }

    /// Sets the event for the next arrival over a lazy sender's link.
    pub(super) fn schedule_lazy_arrival(&mut self, flow: FlowId) {
        let port = self.senders.flows[flow].port;
        match self.network.ports[port].next_arrival() {
            Some(at) => self.schedule.set(Event::Arrival(port), at),
            None => self.schedule_over_empty_link(flow),
        }
    }

    fn schedule_over_empty_link(&mut self, flow: FlowId) {
        let sender = &self.senders.flows[flow];
        let port = &self.network.ports[sender.port];
        let event = Event::Arrival(sender.port);
        match sender.next_over_empty_link(&self.senders.limiters[sender.limiter], port) {
            Some(at) => self.schedule.set(event, at),
            None => self.schedule.cancel(event),
        }
    }

    fn next_lazy_start(&self, flow: FlowId) -> Option<Instant> {
        let sender = &self.senders.flows[flow];
        sender.next_lazy_start(&self.senders.limiters[sender.limiter], &self.network.ports[sender.port])
    }

    /// As [`count_delivered`](Engine::count_delivered), for all counting sinks.
    pub(super) fn count_all_delivered(&mut self, until: Instant) {
        for port in self.network.ports.ids() {
            if self.network.ports[port].far_end() == FarEnd::CountingSink {
                self.count_delivered(until, port);
            }
        }
    }

    /// Counts what reached the counting sink of a port before `until`.
    #[inline]
    pub(super) fn count_delivered(&mut self, until: Instant, id: PortId) {
        if self.network.ports[id].observes_departures() {
            self.network.update_queue(until, id);
        }
        let port = &mut self.network.ports[id];
        while let Some(at) = port.next_arrival().filter(|at| *at < until) {
            let frame = port.take_arrived();
            let path = self.network.routes.paths[frame.path()];
            self.recording.deliver(at, &path, at.ps() - port.delay().ps(), frame.octets());
        }
    }
}

impl Sender {
    /// When a lazy sender's next frame leaves, from what is known now.
    #[inline(always)]
    fn next_lazy_start(&self, limiter: &RateLimiter, port: &Port) -> Option<Instant> {
        let (ready, ends) = match &self.source {
            Source::Saturated { next, left, .. } if *left > 0 => (*next, self.stop),
            Source::Constant { next, waiting, .. } => {
                // One comparison is for both: nothing arrives at or after `stop`, and what waits arrived before.
                let ready = select_unpredictable(*waiting > 0, Instant::ZERO, *next);
                if ready >= self.stop {
                    return None;
                }
                (ready, Instant::NEVER)
            }
            _ => return None,
        };
        let at = ready.max(limiter.driver.pacer.next()).max(port.next_start());
        (at < ends).then_some(at)
    }

    /// When a lazy sender's next frame reaches the far end of its empty link, from what is known now.
    #[inline(always)]
    fn next_over_empty_link(&self, limiter: &RateLimiter, port: &Port) -> Option<Instant> {
        let at = self.next_lazy_start(limiter, port)?;
        let takes = port.transmission(self.next_size()) + port.delay().ps();
        Some(Instant::from_ps(at.ps().saturating_add(takes)))
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
pub(super) struct PortUse {
    /// Flows that pass it.
    flows: u32,
    /// It is the last of every path it is on; nobody answers segments behind it.
    only_last: bool,
    /// Something other than data may pass it: signals, acknowledgements, probes; or it may fail or be
    /// paused.
    pub(super) by_others: bool,
}

pub(super) fn uses(plan: &Plan) -> Vec<PortUse> {
    let mut uses = vec![PortUse { only_last: true, ..PortUse::default() }; plan.ports.len()];
    let signals = plan.signal_class() != 0;
    let probes = plan.feedback != Feedback::Ideal && plan.sends_probes();
    let mut later: HashMap<u32, Vec<u32>> = HashMap::new();
    for each in &plan.reroutes {
        later.entry(each.flow).or_default().extend(each.paths.iter().flatten());
    }
    for (flow, number) in plan.flows.iter().zip(0u32..) {
        let acknowledged = flow.traffic.acknowledged();
        let others = later.get(&number).into_iter().flatten();
        let mut ports: Vec<u32> = flow.paths.iter().flatten().chain(others).copied().collect();
        ports.sort_unstable();
        ports.dedup();
        let last = flow.paths[0][flow.paths[0].len() - 1];
        for number in ports {
            let used = &mut uses[number as usize];
            used.flows += 1;
            used.only_last &= number == last && !acknowledged;
            used.by_others |= probes;
            if let Some(peer) = plan.ports[number as usize].peer.filter(|_| signals || acknowledged) {
                uses[peer as usize].by_others = true;
            }
        }
    }
    let fail_or_storm = plan.failing_ports().into_iter().zip(plan.storming_ports());
    for (used, (fails, storms)) in uses.iter_mut().zip(fail_or_storm) {
        used.by_others |= fails || storms;
    }
    uses
}
