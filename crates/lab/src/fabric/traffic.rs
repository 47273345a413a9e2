//! From the flows of a scenario to sources, limiters and generators.

use qcnlab_network::topology;
use qcnlab_network::topology::NodeId;
use qcnlab_scenario::{
    FlowSpec, Offered, Pairing, ResolvedScenario, Scenario, Traffic as TrafficEntry, limiters, pace,
};
use qcnlab_sim::{FlowId, FlowPlan, FlowSettings, GeneratorPlan, PortId, Process, ReplayPlan, Traffic, roce, tcp};
use qcnlab_traffic::replay::CaptureReplay;
use qcnlab_units::{Id, IdVec, Instant, Paths, Span};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Returns the flows of a scenario, and the generators of those whose frames arrive by themselves.
pub(super) fn plans(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    index: impl Fn(topology::PortId) -> PortId,
) -> (IdVec<FlowId, FlowPlan>, Vec<GeneratorPlan>) {
    let limiters = limiters(scenario, resolved);
    let transports: Vec<Carrier> = scenario.traffic.iter().map(Carrier::of).collect();
    let mut streams: HashMap<(usize, NodeId), usize> = HashMap::new();
    let mut generators: Vec<GeneratorPlan> = Vec::new();
    let mut flows = IdVec::with_capacity(resolved.flows.len());
    let paths = Paths::changed(&resolved.paths, |path| path.iter().map(|port| index(*port)).collect::<Vec<PortId>>());
    let mut alike: HashSet<Arc<FlowSettings>> = HashSet::new();
    for (number, (spec, paths)) in resolved.flows.iter().zip(paths).enumerate() {
        let traffic = traffic(scenario, spec, &transports[spec.traffic]);
        let own = settings(scenario, resolved, number, &traffic);
        let settings = alike.get(&own).cloned().unwrap_or_else(|| {
            let first = Arc::new(own);
            alike.insert(first.clone());
            first
        });
        let id = flows.push(FlowPlan {
            name: spec.name.clone(),
            paths,
            traffic,
            start: Instant::ZERO + spec.start,
            limiter: limiters[number],
            settings,
        });
        let Some(process) = process(scenario, spec) else { continue };
        if scenario.traffic[spec.traffic].spread == Pairing::Uniform {
            let stream = *streams.entry((spec.traffic, spec.source_index)).or_insert_with(|| {
                let name = format!("traffic{} at {}", spec.traffic + 1, resolved.network.nodes[spec.source_index].name);
                generators.push(generator(scenario, spec, name, process));
                generators.len() - 1
            });
            generators[stream].flows.push(id);
        } else {
            let mut alone = generator(scenario, spec, spec.name.to_string(), process);
            alone.flows.push(id);
            generators.push(alone);
        }
    }
    (flows, generators)
}

/// Returns the replays of a scenario's captures.
pub(super) fn replays(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<ReplayPlan> {
    let mut replays = Vec::new();
    for (entry, traffic) in scenario.traffic.iter().enumerate() {
        if traffic.offered() != Offered::Replayed {
            continue;
        }
        let (Some(survey), Some(pace)) = (&traffic.survey, pace(traffic)) else { continue };
        let flows = (0..).map(FlowId::new).zip(&resolved.flows).filter(|(_, flow)| flow.traffic == entry);
        let stop = traffic.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
        let (survey, start) = (survey.clone(), Instant::ZERO + traffic.start);
        let until = stop.min(Instant::ZERO + scenario.duration);
        replays.push(ReplayPlan {
            name: format!("traffic{} replayed", entry + 1),
            flows: flows.map(|(number, _)| number).collect(),
            source: Arc::new(CaptureReplay { survey, pace, start, until }),
            stop,
        });
    }
    replays
}

fn settings(scenario: &Scenario, resolved: &ResolvedScenario, number: usize, traffic: &Traffic) -> FlowSettings {
    let spec = &resolved.flows[number];
    let entry = &scenario.traffic[spec.traffic];
    let host = spec.source_index;
    let adapter = resolved.adapter(scenario, host);
    FlowSettings {
        class: resolved.class(scenario, spec),
        frame: entry.frame,
        start_jitter: if matches!(traffic, Traffic::Fed | Traffic::Replayed) { Span::ZERO } else { entry.start_jitter },
        stop: entry.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
        controlled: resolved.controlled(scenario, number),
        cn_tag: resolved.cn_tagged(scenario, number),
        room: resolved.room(scenario, host),
        rate_step: adapter.and_then(|adapter| adapter.rate_step),
        burst: adapter.and_then(|adapter| adapter.burst),
    }
}

/// What carries the flows of an entry, which share it.
enum Carrier {
    Frames,
    Tcp(Arc<tcp::Config>),
    Roce(Arc<roce::QpConfig>),
}

impl Carrier {
    fn of(entry: &TrafficEntry) -> Carrier {
        match (entry.connection(), entry.queue_pair()) {
            (Some(config), _) => Carrier::Tcp(config.into()),
            (None, Some(config)) => Carrier::Roce(config.into()),
            (None, None) => Carrier::Frames,
        }
    }
}

fn traffic(scenario: &Scenario, spec: &FlowSpec, carrier: &Carrier) -> Traffic {
    let entry = &scenario.traffic[spec.traffic];
    let offered = entry.offered();
    let (ceiling, total) = match offered {
        Offered::AllItCan { ceiling, total } => (ceiling, total),
        _ => (None, spec.size),
    };
    match carrier {
        Carrier::Tcp(config) => return Traffic::Tcp { config: config.clone(), total },
        Carrier::Roce(config) => return Traffic::Roce { config: config.clone(), total },
        Carrier::Frames => {}
    }
    match offered {
        Offered::AllItCan { .. } | Offered::Sized => Traffic::Saturated { ceiling, total },
        Offered::Stream(Process::Constant { rate }) if entry.spread != Pairing::Uniform => Traffic::Constant { rate },
        Offered::Stream(_) => Traffic::Fed,
        Offered::Replayed => Traffic::Replayed,
    }
}

/// When frames come, if a generator makes them.
fn process(scenario: &Scenario, spec: &FlowSpec) -> Option<Process> {
    let entry = &scenario.traffic[spec.traffic];
    match entry.offered() {
        Offered::Stream(Process::Constant { .. }) if entry.spread != Pairing::Uniform => None,
        Offered::Stream(process) => Some(process),
        _ => None,
    }
}

fn generator(scenario: &Scenario, spec: &FlowSpec, name: String, process: Process) -> GeneratorPlan {
    let entry = &scenario.traffic[spec.traffic];
    GeneratorPlan {
        name,
        flows: Vec::new(),
        process,
        start: Instant::ZERO + spec.start,
        start_jitter: entry.start_jitter,
        stop: entry.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop),
    }
}
