//! From a scenario to the ports, links and flows a run is made of.

use crate::scenario::{Feedback, Scenario, Star, Topology, TrafficKind};
use qcnlab_sim::{Ends, FlowPlan, NodePlan, Plan, PortPlan, Record, ServiceChange, Traffic};
use qcnlab_units::{BitRate, Instant, Span};

/// The plan of one replication.
pub(crate) fn plan(scenario: &Scenario, seed: u64, replication: u32) -> Plan {
    let Topology::Star(star) = &scenario.topology;
    let (ports, bottleneck) = (star_ports(star, scenario.feedback != Feedback::Ideal), bottleneck(scenario));
    let flows = scenario
        .flows()
        .into_iter()
        .map(|flow| {
            let traffic = &scenario.traffic[flow.traffic];
            FlowPlan {
                name: flow.source_name,
                paths: vec![vec![flow.source_index as u32, bottleneck]],
                class: 0,
                traffic: match traffic.kind {
                    TrafficKind::Saturated { max_rate } => Traffic::Saturated { ceiling: max_rate, total: None },
                    TrafficKind::Constant { rate } => Traffic::Constant { rate },
                },
                frame: traffic.frame,
                start: Instant::ZERO + flow.start,
                start_jitter: traffic.start_jitter,
                stop: traffic.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
                controlled: traffic.controlled,
                cn_tag: traffic.cn_tag,
                limiter: flow.source_index as u32,
                room: None,
                rate_step: None,
                burst: None,
            }
        })
        .collect();
    let services = services(scenario, &ports);
    let record = &scenario.record;
    Plan {
        nodes: nodes(star),
        ports,
        flows,
        generators: Vec::new(),
        ends: Ends::WhereNeeded,
        services,
        feedback: match scenario.feedback {
            Feedback::Ideal => qcnlab_sim::Feedback::Ideal,
            Feedback::Frames { frame } => qcnlab_sim::Feedback::Frames { size: frame, class: 7 },
        },
        scheme: scenario.scheme.clone(),
        end: Instant::ZERO + scenario.duration,
        seed,
        replication,
        record: Record {
            queue_every: record.queue_every,
            rates_every: if record.tables { record.rates_every } else { Span::ZERO },
            bin: record.throughput_bin,
            messages: record.tables,
        },
    }
}

/// Names of the ports of a scenario, by index.
pub(crate) fn port_names(scenario: &Scenario) -> Vec<String> {
    let Topology::Star(star) = &scenario.topology;
    star_ports(star, false).into_iter().map(|port| port.name).collect()
}

/// Index of the port the metrics speak of.
pub(crate) fn bottleneck(scenario: &Scenario) -> u32 {
    let Topology::Star(star) = &scenario.topology;
    star.sources
}

fn nodes(star: &Star) -> Vec<NodePlan> {
    let sources = (1..=star.sources).map(|i| format!("source{i}"));
    let names = sources.chain(["switch".to_owned(), "sink".to_owned()]);
    names.map(|name| NodePlan { name, ..NodePlan::default() }).collect()
}

/// One port for each source, the bottleneck, and the ways back if signals are frames.
fn star_ports(star: &Star, ways_back: bool) -> Vec<PortPlan> {
    let switch = star.sources;
    let port = |name: String, (from, to): (u32, u32), peer: Option<u32>| PortPlan {
        name,
        from,
        to,
        latency: Span::ZERO,
        rate: star.rate,
        delay: star.rtt.half_rounded_down(),
        capacity: None,
        overhead: star.frame_overhead,
        watched: false,
        recorded: false,
        peer,
    };
    let sources = star.sources;
    let back = |i: u32| ways_back.then_some(sources + 1 + i);
    let mut plans: Vec<PortPlan> =
        (0..sources).map(|i| port(format!("source{}->switch", i + 1), (i, switch), back(i))).collect();
    plans.push(PortPlan {
        rate: star.bottleneck_rate,
        delay: star.sink_delay,
        capacity: Some(star.buffer),
        watched: true,
        recorded: true,
        ..port("switch->sink".to_owned(), (switch, switch + 1), None)
    });
    if ways_back {
        plans.extend((0..sources).map(|i| port(format!("switch->source{}", i + 1), (switch, i), Some(i))));
    }
    plans
}

/// Each hotspot is a change of rate and a change back, unless the next one starts just then.
fn services(scenario: &Scenario, ports: &[PortPlan]) -> Vec<ServiceChange> {
    let mut changes = Vec::new();
    for hotspot in &scenario.hotspots {
        let index = ports.iter().position(|port| port.name == hotspot.port);
        let index = index.expect("a checked hotspot names a port");
        let change = |at: Span, rate: BitRate| ServiceChange { at: Instant::ZERO + at, port: index as u32, rate };
        changes.push(change(hotspot.from, hotspot.rate));
        let goes_on = scenario.hotspots.iter().any(|next| next.port == hotspot.port && next.from == hotspot.until);
        if !goes_on {
            changes.push(change(hotspot.until, ports[index].rate));
        }
    }
    changes.sort_by_key(|change| change.at);
    changes
}

/// The rate the sources together want to send, as far as their links allow.
pub(crate) fn offered(scenario: &Scenario) -> BitRate {
    let Topology::Star(star) = &scenario.topology;
    let wanted = |traffic: usize| match scenario.traffic[traffic].kind {
        TrafficKind::Saturated { max_rate } => max_rate.unwrap_or(star.rate),
        TrafficKind::Constant { rate } => rate,
    };
    scenario.flows().iter().map(|flow| wanted(flow.traffic).min(star.rate)).fold(BitRate::ZERO, |a, b| a + b)
}

/// The bottleneck's own rate, outside hotspots.
pub(crate) fn link_rate(scenario: &Scenario) -> BitRate {
    let Topology::Star(star) = &scenario.topology;
    star.bottleneck_rate
}
