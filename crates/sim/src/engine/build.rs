//! From a plan to an engine at time zero.

use super::Engine;
use super::changes::Changes;
use super::dependencies::Dependencies;
use super::ending::RunEnd;
use super::granting::Granting;
use super::network::Network;
use super::periodic::DEADLOCK_CHECK_EVERY;
use super::recording::Recording;
use super::schedule::{Event, Schedule, Sizes, Spacing};
use super::senders::Senders;
use super::senders::{Outlet, ReplayFailed, SenderCounts};
use super::shortcuts::{self, counting_sinks, on_demand, own_links};
use super::signalling::Signalling;
use super::{Ending, network, senders};
use crate::ids::{FlowId, Id, IdVec, NodeId, PortId};
use crate::plan::{Feedback, Plan, PortPlan, Ties, Traffic};
use crate::rate_limiter::Materials;
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
        let (mut network, sinks) = network::network(plan);
        let materials = Materials::of(plan);
        let mut senders = senders::senders(plan, materials);
        let check_every = if matches!(plan.scheme, Config::Foreign(_)) { CHECK_FOREIGN_EVERY } else { CHECK_EVERY };
        let signalling = Signalling::new(plan, senders.counts().limiters, senders.lasting());
        let uses = shortcuts::uses(plan);
        counting_sinks::choose(plan, &uses, signalling.notifies(), &mut network);
        on_demand::choose(plan, &uses, &mut network, &mut senders);
        own_links::choose(plan, &uses, &mut network, &senders);
        network.compute_departures(plan);
        network.give_allowances();
        network.find_all_ignored();
        for (queues, adapter) in senders.add_adapters(|port| network.pausable(port)) {
            network.add_adapter(queues, adapter);
        }
        let granting = Granting::new(plan, senders.materials(), |port| network.destination(port));
        let mut engine = Engine {
            schedule: Schedule::new(Sizes::default(), Spacing::default()),
            signalling,
            recording: Recording::new(plan, sinks, longest_last_link(plan)),
            network,
            dependencies: Dependencies::new(plan, senders.materials()),
            granting,
            senders,
            changes: Changes::new(plan),
            check_every,
            attend_every: check_every,
            capture: None,
            run_end: RunEnd::new(plan),
        };
        let granting = engine.granting.as_ref().map_or(0, |granting| granting.nodes());
        engine.schedule = schedule_of(plan, &engine.network, &engine.senders, granting);
        schedule_first(&mut engine);
        engine
    }
}

/// Sets the first event of everything that acts by itself.
fn schedule_first(engine: &mut Engine) {
    for flow in engine.senders.flows() {
        if engine.senders.outlet(flow) == Outlet::OnDemand {
            engine.hosts().schedule_on_demand(flow);
        }
    }
    let Engine { schedule, senders, recording, network, changes, run_end, .. } = engine;
    if let Some(first) = changes.next() {
        schedule.set(Event::NetworkChange, first);
    }
    senders.schedule_first(schedule);
    if senders.schedule_replays(schedule) == Err(ReplayFailed) {
        run_end.end_now(Instant::ZERO, Ending::Time);
    }
    if recording.queue_every() > Span::ZERO {
        schedule.set(Event::QueueSample, Instant::ZERO);
    }
    if recording.rates_every() > Span::ZERO {
        schedule.set(Event::RateSample, Instant::ZERO);
    }
    if network.pauses() {
        schedule.set(Event::DeadlockCheck, Instant::ZERO + DEADLOCK_CHECK_EVERY);
    }
}

/// Nothing pending. What decides between events of one instant is keyed by names, so that it does not depend on
/// the order in which a plan lists its ports and flows.
fn schedule_of(plan: &Plan, network: &Network, senders: &Senders, granting: usize) -> Schedule {
    let sizes = Sizes { granting, ..sizes(plan, network, senders) };
    if plan.ties == Ties::PortOrder {
        return Schedule::new(sizes, spacing(plan));
    }
    let key = |name: &str| Dice::new(plan.seed, plan.replication, name, Purpose::Order).below(u32::MAX);
    let ports: IdVec<PortId, u32> = plan.ports.iter().map(|port| key(&port.name)).collect();
    let flows: IdVec<FlowId, u32> = plan.flows.iter().map(|flow| key(&flow.name)).collect();
    let nodes: IdVec<NodeId, u32> = plan.nodes.iter().take(granting).map(|node| key(&node.name)).collect();
    Schedule::drawing(sizes, spacing(plan), |event| match event {
        Event::TransmissionEnd(queues) | Event::PauseEffect(queues) => ports[network.port_of_queues(queues)],
        Event::Arrival(port) => ports[port],
        Event::PauseRefresh(input) => ports[network.port_of_input(input)],
        Event::AdapterService(adapter) => ports[senders.adapter_port(adapter)],
        Event::SignalArrival(limiter) | Event::RpWake(limiter) | Event::Release(limiter) => {
            flows[senders.first_flow(limiter)]
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

fn sizes(plan: &Plan, network: &Network, senders: &Senders) -> Sizes {
    let connections = plan.flows.iter().any(|flow| flow.traffic.acknowledged());
    let [ports, queues, inputs] = network.counts();
    let SenderCounts { limiters, adapters, generators } = senders.counts();
    Sizes {
        queues,
        limiters,
        signalled: if plan.feedback == Feedback::Ideal { limiters } else { 0 },
        // As many as flows, if any flow is a connection.
        connections: if connections { plan.flows.len() } else { 0 },
        granting: 0,
        ports,
        flows: plan.flows.len(),
        generators,
        adapters,
        inputs,
    }
}

/// Events are as far apart as frames that enter a link anywhere, if everybody sends as much as the links on the way can
/// carry. Most are set when a frame enters a link, for when it reaches the far end.
fn spacing(plan: &Plan) -> Spacing {
    let mut bits = IdVec::for_each_of(&plan.ports, 0u64);
    let mut frame = Bytes::ZERO;
    for flow in &plan.flows {
        let line = plan.ports[flow.paths[0][0]].rate;
        let wants = match flow.traffic {
            Traffic::Constant { rate } | Traffic::Saturated { ceiling: Some(rate), .. } => rate.min(line),
            _ => line,
        };
        flow.paths[0].iter().for_each(|port| bits[*port] = bits[*port].saturating_add(wants.get()));
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
    let takes = |port: &PortId| plan.ports[*port].delay + plan.ports[*port].latency;
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
        let link = net.port("b->s");
        net.plan.ports[link].overhead = Bytes::new(20);
        net.plan.ports[link].latency = Span::from_ns(500);
        net.plan.flows[FlowId::new(1)].frame = Bytes::new(500);
        let Spacing { apart, ahead } = spacing(&net.plan);
        assert_eq!((apart.ps(), ahead.ps()), (571_429, 2_716_000));
        net.plan.flows[FlowId::new(0)].traffic = Traffic::Saturated { ceiling: Some(BitRate::gbps(4)), total: None };
        assert_eq!(spacing(&net.plan).apart.ps(), 1_200_000);
    }

    /// 1 us and a latency of 4 us to c, 3 us to d.
    #[test]
    fn the_longest_way_to_a_sink_has_delay_and_latency() {
        let mut net = two_senders();
        assert_eq!(longest_last_link(&net.plan), Span::from_us(1));
        net.flow("b", "d", 0, greedy());
        let (to_c, to_d) = (net.port("s->c"), net.port("s->d"));
        net.plan.ports[to_d].delay = Span::from_us(3);
        assert_eq!(longest_last_link(&net.plan), Span::from_us(3));
        net.plan.ports[to_c].latency = Span::from_us(4);
        assert_eq!(longest_last_link(&net.plan), Span::from_us(5));
    }
}
