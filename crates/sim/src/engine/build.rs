//! From a plan to an engine at time zero.

mod network;
mod senders;

use super::Engine;
use super::adaptive::Adaptive;
use super::changes::changes;
use super::dependencies::Dependencies;
use super::domain::Domain;
use super::ending::RunEnd;
use super::granting::Granting;
use super::recording::Recording;
use super::schedule::{Event, Schedule, Sizes, Spacing};
use super::signalling::Signalling;
use crate::ids::{FlowId, Id, IdVec, NodeId, PortId};
use crate::plan::{Feedback, Plan, PortPlan, Ties, Traffic};
use crate::rate_limiter::Materials;
use crate::source::Source;
use crate::wheel::Wheel;
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{Dice, Purpose};
use qcnlab_units::{BitRate, Bytes, Instant, Span};

/// How often the control is read, in events; a power of two.
const CHECK_EVERY: u64 = 1 << 14;
/// As [`CHECK_EVERY`], with a scheme from outside, whose calls may take their time.
const CHECK_FOREIGN_EVERY: u64 = 1 << 7;

impl Engine {
    /// A run of `plan`, at time zero.
    ///
    /// # Panics
    /// When the plan names what is not there, or the end lies past [`Wheel::HORIZON`]: who builds plans checks that.
    pub fn new(plan: &Plan) -> Engine {
        assert!(plan.end.ps() < Wheel::HORIZON, "a run ends within two and a half simulated hours");
        let (network, sinks) = network::network(plan);
        let materials = Materials::of(plan);
        let senders = senders::senders(plan, materials);
        let check_every = if matches!(plan.scheme, Config::Foreign(_)) { CHECK_FOREIGN_EVERY } else { CHECK_EVERY };
        let mut engine = Engine {
            schedule: Schedule::new(Sizes::default(), Spacing::default()),
            signalling: Signalling::new(plan, &senders),
            recording: Recording::new(plan, sinks, longest_last_link(plan)),
            network,
            domain: plan.domain.as_ref().map(|domain| Box::new(Domain::new(domain))),
            adaptive: Adaptive::new(plan),
            dependencies: Dependencies::new(plan, &senders.materials),
            granting: None,
            senders,
            changes: changes(plan),
            check_every,
            attend_every: check_every,
            capture: None,
            run_end: RunEnd::new(plan),
        };
        engine.granting = Granting::new(plan, &engine.senders.materials, &engine.network);
        engine.find_defended(plan);
        engine.choose_lazy(plan);
        engine.choose_fifo(plan);
        engine.network.ports.ids().for_each(|port| engine.network.find_ignored(port));
        engine.add_adapters();
        engine.schedule = engine.schedule_of(plan);
        engine.schedule_first();
        engine
    }

    /// Nothing pending. What decides between events of one instant is keyed by names, so that it does not depend on
    /// the order in which a plan lists its ports and flows.
    fn schedule_of(&self, plan: &Plan) -> Schedule {
        let sizes = self.sizes(plan);
        if plan.ties == Ties::PortOrder {
            return Schedule::new(sizes, spacing(plan));
        }
        let key = |name: &str| Dice::new(plan.seed, plan.replication, name, Purpose::Order).below(u32::MAX);
        let ports: IdVec<PortId, u32> = plan.ports.iter().map(|port| key(&port.name)).collect();
        let flows: IdVec<FlowId, u32> = plan.flows.iter().map(|flow| key(&flow.name)).collect();
        let granting = plan.nodes.iter().filter(|_| self.granting.is_some());
        let nodes: IdVec<NodeId, u32> = granting.map(|node| key(&node.name)).collect();
        Schedule::drawing(sizes, spacing(plan), |event| match event {
            Event::TransmissionEnd(queues) | Event::PauseEffect(queues) => ports[self.network.queues[queues].port],
            Event::Arrival(port) => ports[port],
            Event::PauseRefresh(input) => ports[self.network.inputs[input].port],
            Event::AdapterService(adapter) => ports[self.senders.adapters[adapter].port],
            Event::SignalArrival(limiter) | Event::RpWake(limiter) | Event::Release(limiter) => {
                flows[self.senders.limiters.first_flow(limiter)]
            }
            Event::TransportTimer(flow) | Event::SourceFrame(flow) => flows[flow],
            Event::Grant(node) => nodes[node],
            Event::GeneratorFrame(generator) => {
                let generators = plan.generators.iter().map(|generator| &generator.name);
                let mut names = generators.chain(plan.replays.iter().map(|replay| &replay.name));
                key(names.nth(generator.number() as usize).unwrap_or_else(|| unreachable!("it is one of the plan's")))
            }
            Event::NetworkChange | Event::DeadlockCheck | Event::QueueSample | Event::RateSample => 0,
        })
    }

    fn sizes(&self, plan: &Plan) -> Sizes {
        let connections = plan.flows.iter().any(|flow| flow.traffic.acknowledged());
        Sizes {
            queues: self.network.queues.len(),
            limiters: self.senders.limiters.len(),
            signalled: if plan.feedback == Feedback::Ideal { self.senders.limiters.len() } else { 0 },
            // As many as flows, if any flow is a connection.
            connections: if connections { plan.flows.len() } else { 0 },
            granting: self.granting.as_ref().map_or(0, |granting| granting.nodes()),
            ports: self.network.ports.len(),
            flows: self.senders.flows.len(),
            generators: self.senders.generators.len() + self.senders.replays.len(),
            adapters: self.senders.adapters.len(),
            inputs: self.network.inputs.len(),
        }
    }

    /// Sets the first event of everything that acts by itself.
    fn schedule_first(&mut self) {
        if let Some((first, _)) = self.changes.front() {
            self.schedule.set(Event::NetworkChange, *first);
        }
        for flow in self.senders.flows.ids() {
            let sender = &self.senders.flows[flow];
            if sender.lazy {
                self.schedule_lazy_arrival(flow);
                continue;
            }
            match &sender.source {
                Source::Saturated { next, .. } if sender.adapter.is_none() => {
                    self.schedule.set(Event::Release(sender.limiter), *next);
                }
                Source::Saturated { next, .. } | Source::Constant { next, .. } => {
                    self.schedule.set(Event::SourceFrame(flow), *next);
                }
                Source::Fed { .. } | Source::Replayed(_) => {}
                Source::Tcp(connection) => self.schedule.set(Event::SourceFrame(flow), connection.start),
                // One that waits for others has no start yet, and so no event.
                Source::Roce(_) | Source::Planned => self.schedule.set(Event::SourceFrame(flow), sender.start),
                Source::Ended(_) => unreachable!("nothing has ended yet"),
            }
        }
        for (id, generator) in self.senders.generators.enumerate() {
            if generator.next < generator.stop {
                self.schedule.set(Event::GeneratorFrame(id), generator.next);
            }
        }
        self.schedule_replays();
        if self.recording.queue_every() > Span::ZERO {
            self.schedule.set(Event::QueueSample, Instant::ZERO);
        }
        if self.recording.rates_every() > Span::ZERO {
            self.schedule.set(Event::RateSample, Instant::ZERO);
        }
        if self.network.inputs.iter().any(|input| input.pause.is_some()) {
            self.schedule.set(Event::DeadlockCheck, Instant::ZERO + Engine::DEADLOCK_CHECK_EVERY);
        }
    }
}

/// Events are as far apart as frames that enter a link anywhere, if everybody sends as much as the links on the way can
/// carry. Most are set when a frame enters a link, for when it reaches the far end.
fn spacing(plan: &Plan) -> Spacing {
    let mut bits = vec![0u64; plan.ports.len()];
    let mut frame = Bytes::ZERO;
    for flow in &plan.flows {
        let line = plan.ports[flow.paths[0][0] as usize].rate;
        let wants = match flow.traffic {
            Traffic::Constant { rate } | Traffic::Saturated { ceiling: Some(rate), .. } => rate.min(line),
            _ => line,
        };
        flow.paths[0].iter().for_each(|port| bits[*port as usize] = bits[*port as usize].saturating_add(wants.get()));
        frame = frame.max(flow.frame);
    }
    let carried = bits.iter().zip(&plan.ports).map(|(bits, port)| port.rate.get().min(*bits));
    let rate = carried.fold(0, u64::saturating_add);
    let crosses = |port: &PortPlan| port.delay + port.latency + port.rate.time_for_rounded_up(frame + port.overhead);
    Spacing {
        apart: BitRate::bps(rate).time_for_rounded_up(frame),
        ahead: plan.ports.iter().map(crosses).max().unwrap_or(Span::ZERO),
    }
}

/// The longest time from the end of a transmission on a flow's last link to the sink.
fn longest_last_link(plan: &Plan) -> Span {
    let last = plan.flows.iter().filter_map(|flow| flow.paths[0].last());
    let takes = |port: &u32| plan.ports[*port as usize].delay + plan.ports[*port as usize].latency;
    last.map(takes).max().unwrap_or(Span::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Net, greedy};

    /// Hosts a and b send to c and d over a switch: a all it can, 10 Gb/s, and b 1 Gb/s.
    fn two_senders() -> Net {
        let mut net = Net::new(&["a", "b", "c", "d", "s"]);
        for host in ["a", "b", "c", "d"] {
            net.link(host, "s", BitRate::gbps(10), Span::from_us(1));
        }
        net.flow("a", "c", 0, greedy());
        net.flow("b", "c", 0, Traffic::Constant { rate: BitRate::gbps(1) });
        net
    }

    /// 10 Gb/s on the link of a, 1 on that of b, and of their 11 as many as fit, 10, on that to c: 21 Gb/s in frames of
    /// 12 000 bits, one each 571.43 ns. A frame with 20 octets around it takes 1.216 us, and 1.5 us to cross. A ceiling of
    /// 4 Gb/s leaves 4 + 1 + 5.
    #[test]
    fn events_are_as_far_apart_as_frames_that_the_links_can_carry() {
        let mut net = two_senders();
        let link = net.port("b->s") as usize;
        net.plan.ports[link].overhead = Bytes::new(20);
        net.plan.ports[link].latency = Span::from_ns(500);
        net.plan.flows[1].frame = Bytes::new(500);
        let Spacing { apart, ahead } = spacing(&net.plan);
        assert_eq!((apart.ps(), ahead.ps()), (571_429, 2_716_000));
        net.plan.flows[0].traffic = Traffic::Saturated { ceiling: Some(BitRate::gbps(4)), total: None };
        assert_eq!(spacing(&net.plan).apart.ps(), 1_200_000);
    }

    /// 1 us and a latency of 4 us to c, 3 us to d.
    #[test]
    fn the_longest_way_to_a_sink_has_delay_and_latency() {
        let mut net = two_senders();
        assert_eq!(longest_last_link(&net.plan), Span::from_us(1));
        net.flow("b", "d", 0, greedy());
        let (to_c, to_d) = (net.port("s->c") as usize, net.port("s->d") as usize);
        net.plan.ports[to_d].delay = Span::from_us(3);
        assert_eq!(longest_last_link(&net.plan), Span::from_us(3));
        net.plan.ports[to_c].latency = Span::from_us(4);
        assert_eq!(longest_last_link(&net.plan), Span::from_us(5));
    }
}
