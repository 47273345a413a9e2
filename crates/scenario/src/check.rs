//! Refuses scenarios whose values contradict one another.

use super::arrivals::{Arrivals, Offered};
use super::companions::stray;
use super::counts::Counts;
use super::domain_fault::DomainFault;
use super::entry::Draw;
use super::error::ScenarioError;
use super::fault::Fault;
use super::located::LocatedFault;
use super::position::Position;
use super::recheck::Recheck;
use super::resolved::ResolvedScenario;
use super::routing::check_rule;
use super::types::{Scenario, Traffic};
use crate::foreign::LoadError;
use qcnlab_network::topology::PortId;
use qcnlab_schemes::params::Variants;
use qcnlab_schemes::{CongestionPoint, CpId, EventKind};
use qcnlab_sim::Process;
use qcnlab_sim::roce::QpRecovery;
use qcnlab_sim::tcp::{BicProbing, BicStep, Config, CongestionAvoidance, Flavour};
use qcnlab_units::{BitRate, Bytes, IdVec, Span};

/// Congestion points one run may have where frames carry the number of one.
const MOST_POINTS: usize = 65_534;
/// Links of one path.
const MOST_LINKS: usize = 254;
/// Rows one run may write.
const MOST_ROWS: u128 = 50_000_000;

fn refuse(fault: Fault, keys: &[impl ToString]) -> Result<(), LocatedFault> {
    Err(LocatedFault::new(fault, keys))
}

/// Reads the files a scenario names.
pub(crate) fn load(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    let loaded = super::loading::load_files(scenario).and_then(|()| super::replaying::survey(scenario));
    loaded.map_err(|fault| error(scenario, fault))
}

/// Refuse a scenario whose parts contradict one another; return the counts that its memory follows from.
pub(crate) fn check(scenario: &Scenario) -> Result<Counts, ScenarioError> {
    check_and_resolve(scenario, None).map(|resolved| Counts::of(scenario, &resolved))
}

/// Refuse a scenario whose parts contradict one another; return what follows from it. `known` is what follows from a
/// scenario that was checked, with what has to be made anew for this one.
pub(crate) fn check_and_resolve(
    scenario: &Scenario,
    known: Option<(ResolvedScenario, Recheck)>,
) -> Result<ResolvedScenario, ScenarioError> {
    let draw = Draw { seed: scenario.seed, replication: 0 };
    let rest = |()| match known {
        None | Some((_, Recheck::Ways)) => resolve(scenario, draw, None),
        Some((known, Recheck::Nothing)) => {
            #[cfg(test)]
            tests::assert_follows(scenario, draw, &known);
            Ok(known)
        }
        Some(known) => resolve(scenario, draw, Some(known)),
    };
    times(scenario)
        .and_then(|()| arrivals(scenario))
        .and_then(|()| hotspots(scenario))
        .and_then(rest)
        .map_err(|fault| error(scenario, fault))
}

impl Scenario {
    /// What follows from the scenario's tables, with the flows of one draw.
    ///
    /// # Errors
    /// When something in it cannot work, which [`Scenario::parse`] rules out unless flows are drawn at random.
    pub fn resolve(&self, draw: Draw) -> Result<ResolvedScenario, ScenarioError> {
        resolve(self, draw, None).map_err(|fault| error(self, fault))
    }
}

/// Resolves the tables, and refuses what contradicts what follows from them.
fn resolve(
    scenario: &Scenario,
    draw: Draw,
    known: Option<(ResolvedScenario, Recheck)>,
) -> Result<ResolvedScenario, LocatedFault> {
    signals(scenario)?;
    transport(scenario)?;
    super::apart::check(scenario)?;
    super::isolating::check(scenario)?;
    check_rule(scenario)?;
    let resolved = match known {
        Some((known, Recheck::Checks)) => known,
        Some((mut known, Recheck::Plans)) => {
            scenario.topology.set_delays(&mut known.network);
            known.plan(scenario)?;
            known
        }
        known => ResolvedScenario::of(scenario, draw, known.map(|(known, _)| known))?,
    };
    #[cfg(test)]
    tests::assert_follows(scenario, draw, &resolved);
    buffer_once(scenario, &resolved)?;
    sizes(scenario, &resolved)?;
    frames(scenario, &resolved)?;
    connections(scenario)?;
    trimming(scenario)?;
    domain(scenario, &resolved)?;
    limiters(scenario, &resolved)?;
    super::apart::check_flows(scenario, &resolved)?;
    super::isolating::check_flows(scenario, &resolved)?;
    telemetry(scenario, &resolved)?;
    set_point(scenario, &resolved)?;
    rows(scenario, &resolved)?;
    waits(scenario)?;
    Ok(resolved)
}

fn error(scenario: &Scenario, fault: LocatedFault) -> ScenarioError {
    scenario.origin.error(*fault.fault, &position(scenario, &fault.keys))
}

/// Returns the position of the first of `keys` that an override set, or else of the first that the file has.
fn position(scenario: &Scenario, keys: &[String]) -> Position {
    let present = || keys.iter().filter_map(|key| scenario.origin.root.find(key)).map(|node| &node.position);
    present()
        .find(|position| matches!(position, Position::Override(_)))
        .or_else(|| present().next())
        .cloned()
        .unwrap_or(Position::Key(String::new()))
}

fn times(scenario: &Scenario) -> Result<(), LocatedFault> {
    let duration = scenario.duration;
    let beyond =
        |what, value, key: String| refuse(Fault::BeyondEnd { what, value, duration }, &[key, "duration".to_owned()]);
    if scenario.warmup >= duration {
        return beyond("the warm-up ends", scenario.warmup, "warmup".to_owned());
    }
    if let Some(stop) = scenario.stop_arrivals.filter(|stop| *stop > duration) {
        return beyond("arrivals stop", stop, "stop_arrivals".to_owned());
    }
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        if traffic.start >= duration {
            return beyond("the traffic starts", traffic.start, format!("traffic.{i}.start"));
        }
        if let Some(stop) =
            scenario.stop_arrivals.filter(|stop| traffic.arrivals.kind().is_drawn() && traffic.start >= *stop)
        {
            let fault = Fault::AfterArrivals { start: traffic.start, stop };
            return refuse(fault, &[format!("traffic.{i}.start"), "stop_arrivals".to_owned()]);
        }
        if let Some(end) = traffic.stop.filter(|stop| *stop <= traffic.start) {
            let fault = Fault::EndsBeforeBegin { what: "the traffic", begin: traffic.start, end };
            return refuse(fault, &[format!("traffic.{i}.stop"), format!("traffic.{i}.start")]);
        }
    }
    Ok(())
}

/// The keys about flows that arrive or end have such flows.
fn arrivals(scenario: &Scenario) -> Result<(), LocatedFault> {
    let no = |key, flows| refuse(Fault::NoSuchFlows { key, flows }, &[key]);
    if scenario.stop_arrivals.is_some() && !scenario.traffic.iter().any(|traffic| traffic.arrivals.kind().arrives()) {
        return no("stop_arrivals", "that arrive");
    }
    if scenario.drain && !scenario.traffic.iter().any(|traffic| traffic.arrivals.kind().ends()) {
        return no("drain", "that end");
    }
    Ok(())
}

/// No two keys give the size of the built-in bottleneck's queue.
fn buffer_once(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let Some(bottleneck) = scenario.topology.built_in_bottleneck() else { return Ok(()) };
    let (switch, _) = resolved.network.ends(bottleneck.port);
    if resolved.switch(scenario, switch).is_none_or(|table| table.output_buffer.is_none()) {
        return Ok(());
    }
    let port = resolved.network.port_name(bottleneck.port);
    refuse(Fault::BufferTwice { port }, &[resolved.key(switch, "output_buffer")])
}

fn hotspots(scenario: &Scenario) -> Result<(), LocatedFault> {
    let duration = scenario.duration;
    for (i, hotspot) in scenario.hotspots.iter().enumerate() {
        let key = |name: &str| format!("hotspot.{i}.{name}");
        if hotspot.from >= duration {
            let fault = Fault::BeyondEnd { what: "the hotspot begins", value: hotspot.from, duration };
            return refuse(fault, &[key("from"), "duration".to_owned()]);
        }
        if hotspot.until <= hotspot.from {
            let fault = Fault::EndsBeforeBegin { what: "the hotspot", begin: hotspot.from, end: hotspot.until };
            return refuse(fault, &[key("until"), key("from")]);
        }
        if hotspot.until > duration {
            let fault = Fault::BeyondEnd { what: "the hotspot ends", value: hotspot.until, duration };
            return refuse(fault, &[key("until"), "duration".to_owned()]);
        }
    }
    let mut order: Vec<usize> = (0..scenario.hotspots.len()).collect();
    order.sort_by_key(|&i| (&scenario.hotspots[i].port, scenario.hotspots[i].from));
    for pair in order.windows(2) {
        let (earlier, later) = (&scenario.hotspots[pair[0]], &scenario.hotspots[pair[1]]);
        if earlier.port == later.port && later.from < earlier.until {
            let fault = Fault::Overlap { port: later.port.clone(), begin: later.from, end: earlier.until };
            return refuse(fault, &[format!("hotspot.{}.from", pair[1]), format!("hotspot.{}.until", pair[0])]);
        }
    }
    Ok(())
}

/// The network and its paths are within what the engine can number.
fn sizes(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let points = resolved.network.ports().filter(|port| resolved.watched(scenario, *port)).count();
    if points > MOST_POINTS && scenario.scheme.names_points() {
        let fault = Fault::TooMany { what: "congestion points", count: points, limit: MOST_POINTS };
        return refuse(fault, &["switch", "topology"]);
    }
    let longest = (0..).zip(&resolved.paths).max_by_key(|(_, paths)| paths[0].len());
    match longest {
        Some((flow, paths)) if paths[0].len() > MOST_LINKS => {
            let fault = Fault::TooMany { what: "links in a row", count: paths[0].len(), limit: MOST_LINKS };
            let flow: &super::FlowSpec = &resolved.flows[flow];
            refuse(fault, &[format!("traffic.{}.to", flow.traffic), "topology".to_owned()])
        }
        _ => Ok(()),
    }
}

/// Every frame fits every buffer on its path, and every steady rate fits its first link.
fn frames(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let overhead = scenario.topology.frame_overhead();
    for (flow, paths) in resolved.flows.iter().zip(&resolved.paths) {
        let traffic = &scenario.traffic[flow.traffic];
        let key = |name: &str| format!("traffic.{}.{name}", flow.traffic);
        let frame = traffic.frame;
        for port in paths.iter().flatten() {
            let (from, _) = resolved.network.ends(*port);
            let (switch, adapter) = (resolved.switch(scenario, from), resolved.adapter(scenario, from));
            let received = adapter.filter(|_| from != flow.source_index);
            let buffers = [
                (resolved.capacity(scenario, *port), "output_buffer"),
                (switch.and_then(|switch| switch.input_memory), "input_memory"),
                (received.and_then(|adapter| adapter.receive_buffer), "receive_buffer"),
            ];
            if let Some((Some(buffer), name)) = buffers.into_iter().find(|(b, _)| b.is_some_and(|b| frame > b)) {
                let keys = [key("frame"), "topology.buffer".to_owned(), resolved.key(from, name)];
                return refuse(Fault::FrameAboveBuffer { frame, buffer }, &keys);
            }
        }
        let host = flow.source_index;
        let waits = (flow.size.is_none() || traffic.connection().is_some()) && traffic.queue_pair().is_none();
        if let Some(buffer) = resolved.room(scenario, host).filter(|room| frame > *room && waits) {
            let keys = [resolved.key(host, "input_buffer"), key("frame")];
            return refuse(Fault::FrameAboveBuffer { frame, buffer }, &keys);
        }
        let link = resolved.network.link(paths[0][0]).rate;
        if let Offered::Stream(process) = traffic.offered()
            && on_the_wire(process.rate(), traffic, overhead) > link.as_f64()
        {
            let overhead = if overhead == Bytes::ZERO { "" } else { " with the frames' overhead" };
            let keys = [key("rate"), "topology.rate".to_owned(), "topology.frame_overhead".to_owned()];
            let (rate, constant) = (process.rate(), matches!(process, Process::Constant { .. }));
            return refuse(Fault::RateAboveLink { rate, link, overhead, constant }, &keys);
        }
    }
    Ok(())
}

/// Returns the rate of a stream on the wire, with overhead, in bit/s.
fn on_the_wire(rate: BitRate, traffic: &Traffic, overhead: Bytes) -> f64 {
    rate.as_f64() * (traffic.frame + overhead).as_f64() / traffic.frame.as_f64()
}

/// Every connection can send a segment, and its timeouts are in order.
fn connections(scenario: &Scenario) -> Result<(), LocatedFault> {
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        let paced = matches!(traffic.offered(), Offered::AllItCan { ceiling: Some(_), .. });
        if let Some(key) = stray("traffic", traffic.transport.word(), &[("max_rate", paced)]) {
            let fault = Fault::PacedByTransport { key, transport: traffic.transport.word() };
            return refuse(fault, &[format!("traffic.{i}.{key}"), format!("traffic.{i}.transport")]);
        }
        queue_pair(traffic, i)?;
        let Some(config) = traffic.connection() else { continue };
        let Config { headers, mss: segment, max_window, min_rto, max_rto, initial_rto, .. } = config;
        let key = |name: &str| format!("traffic.{i}.{name}");
        let frame = traffic.frame;
        if headers >= frame {
            return refuse(Fault::NoPayload { frame, headers }, &[key("headers"), key("frame")]);
        }
        if max_window < segment {
            return refuse(Fault::Window { window: max_window, segment }, &[key("max_window"), key("frame")]);
        }
        let flavour = match config.flavour {
            Flavour::Reno => "reno",
            Flavour::NewReno => "newreno",
            Flavour::Cubic => "cubic",
            Flavour::Bic => "bic",
        };
        let set = [
            ("congestion_avoidance", config.congestion_avoidance != CongestionAvoidance::ByteCounting),
            ("bic_step", config.bic_step != BicStep::EachAck),
            ("bic_probing", config.bic_probing != BicProbing::Doubling),
        ];
        if let Some(name) = stray("traffic", flavour, &set) {
            let fault = if name == "congestion_avoidance" { Fault::OwnGrowth } else { Fault::OnlyBic { key: name } };
            return refuse(fault, &[key(name), key("flavour")]);
        }
        for (name, least) in [("min_rto", min_rto), ("initial_rto", initial_rto)] {
            if least > max_rto {
                return refuse(Fault::Rto { name, least, most: max_rto }, &[key(name), key("max_rto")]);
            }
        }
    }
    Ok(())
}

/// Somebody sends in the domain, and nobody outside gets frames that it cannot read.
fn domain(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let Some(domain) = &resolved.domain else { return Ok(()) };
    let fault = |fault, keys: &[String]| Err(LocatedFault::new(Fault::Domain(fault), keys));
    let mut any = resolved.flows.is_empty();
    for (number, flow) in resolved.flows.iter().enumerate() {
        let class = resolved.class(scenario, flow);
        let key = |name: &str| format!("traffic.{}.{name}", flow.traffic);
        if domain.cnpvs & 1 << class == 0 {
            continue;
        }
        any = true;
        if !scenario.traffic[flow.traffic].controlled {
            return fault(DomainFault::Uncontrolled { priority: class }, &[key("controlled"), key("priority")]);
        }
        let sink = flow.sink_index;
        if domain.takes_part(sink) || !resolved.cn_tagged(scenario, number) {
            continue;
        }
        if resolved.paths[number].iter().any(|path| domain.at_the_end(path, class, true).1) {
            let host = resolved.network.nodes[sink].name.clone();
            let keys = ["defence", "domain.outside"].map(str::to_owned);
            return fault(DomainFault::TagAtOutsider { flow: flow.name.to_string(), host }, &keys);
        }
    }
    if any {
        return Ok(());
    }
    let keys = ["domain.priorities".to_owned(), "traffic.0.priority".to_owned()];
    fault(DomainFault::NoTraffic { domain: domain.cnpvs }, &keys)
}

/// Switches cut packets to less than they have.
fn trimming(scenario: &Scenario) -> Result<(), LocatedFault> {
    let pairs = scenario.traffic.iter().filter(|traffic| traffic.queue_pair().is_some());
    let shortest = pairs.map(|traffic| traffic.frame).min();
    for (number, switch) in scenario.switches.iter().enumerate() {
        let key = |name: &str| format!("switch.{number}.{name}");
        match (switch.trim_to, shortest) {
            (None, _) if switch.trim_priority.is_some() => {
                return refuse(Fault::NothingTrimmed { key: "trim_priority" }, &[key("trim_priority")]);
            }
            (None, _) if switch.trim_share.is_some() => {
                return refuse(Fault::NothingTrimmed { key: "trim_share" }, &[key("trim_share")]);
            }
            (Some(trim), Some(frame)) if trim >= frame => {
                return refuse(Fault::TrimAboveFrame { trim, frame }, &[key("trim_to"), "traffic.0.frame".to_owned()]);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Every queue pair can send a packet, and its timeouts are in order.
fn queue_pair(traffic: &Traffic, entry: usize) -> Result<(), LocatedFault> {
    let Some(config) = traffic.queue_pair() else { return Ok(()) };
    let key = |name: &str| format!("traffic.{entry}.{name}");
    let (frame, headers) = (traffic.frame, config.headers);
    if headers >= frame {
        return refuse(Fault::NoPayload { frame, headers }, &[key("headers"), key("frame")]);
    }
    if let Some(window) = config.window.filter(|window| *window < config.payload) {
        let fault = Fault::Window { window, segment: config.payload };
        return refuse(fault, &[key("window_limit"), key("frame")]);
    }
    if config.rto_low_packets > 0 && config.rto_low > config.rto {
        let fault = Fault::RtoLow { low: config.rto_low, high: config.rto };
        return refuse(fault, &[key("rto_low"), key("rto")]);
    }
    let (recovery, other) = match config.recovery {
        QpRecovery::GoBackN => ("go_back_n", "selective_repeat"),
        QpRecovery::SelectiveRepeat => ("selective_repeat", "go_back_n"),
    };
    let set = [
        ("reordering_threshold", config.reordering_threshold != 1),
        ("reordering_window", config.reordering_window != Span::ZERO),
        ("reorder_buffer", config.reorder_buffer != 0),
        ("reorder_wait", config.reorder_wait != config.nack_interval),
    ];
    if let Some(name) = stray("traffic", recovery, &set) {
        return refuse(Fault::OtherRecovery { key: name, recovery: other }, &[key(name), key("recovery")]);
    }
    if config.reorder_buffer == 0 && config.reorder_wait != config.nack_interval {
        return refuse(Fault::NothingReordered, &[key("reorder_wait"), key("reorder_buffer")]);
    }
    Ok(())
}

/// What the scheme's ports and receivers send is what its sources hear.
fn signals(scenario: &Scenario) -> Result<(), LocatedFault> {
    let Err(mismatch) = scenario.scheme.check_signals() else { return Ok(()) };
    let hint = Some("declare the same kinds as heard and as sent, or leave a kind out of both".to_owned());
    let error = LoadError { table: None, why: mismatch.to_string(), hint };
    refuse(Fault::ForeignScheme { name: scenario.scheme.name().to_owned(), error }, &["scheme.name"])
}

/// A scheme that hears of acknowledgements controls traffic that has some.
fn transport(scenario: &Scenario) -> Result<(), LocatedFault> {
    let events = scenario.scheme.events();
    let without = |traffic: &Traffic| traffic.controlled && traffic.queue_pair().is_none();
    match scenario.traffic.iter().position(without) {
        Some(entry) if !events.is_empty() => {
            let heard = events.iter().map(EventKind::name).collect();
            let fault = Fault::NoTransport { scheme: scenario.scheme.name().to_owned(), heard };
            refuse(
                fault,
                &[
                    format!("traffic.{entry}.transport"),
                    format!("traffic.{entry}.arrivals"),
                    "scheme.preset".to_owned(),
                    "scheme.name".to_owned(),
                ],
            )
        }
        _ => Ok(()),
    }
}

/// A scheme that hears of acknowledgements has a limiter for each flow: what it hears is of one queue pair.
fn limiters(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    if scenario.scheme.events().is_empty() || scenario.adapters.iter().all(|adapter| adapter.max_rps.is_none()) {
        return Ok(());
    }
    let mut flows = IdVec::for_each_of(&resolved.network.nodes, 0);
    resolved.flows.iter().for_each(|flow| flows[flow.source_index] += 1);
    for (host, flows) in resolved.network.nodes.ids().zip(flows) {
        let limiters = resolved.adapter(scenario, host).and_then(|adapter| adapter.max_rps);
        if let Some(limiters) = limiters.filter(|limiters| flows > *limiters) {
            let host_name = resolved.network.nodes[host].name.clone();
            let fault =
                Fault::SharedLimiter { scheme: scenario.scheme.name().to_owned(), host: host_name, flows, limiters };
            return refuse(fault, &[resolved.key(host, "max_rps"), "scheme.name".to_owned()]);
        }
    }
    Ok(())
}

/// Where a scheme reads telemetry, each switch on the way writes some.
fn telemetry(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    if !scenario.scheme.congestion_point(CpId(0)).capabilities().stamps_departures {
        return Ok(());
    }
    let silent = |port: &PortId| {
        let (from, _) = resolved.network.ends(*port);
        resolved.switch(scenario, from).is_some_and(|switch| !switch.congestion_points)
    };
    let Some(port) = resolved.paths.iter().flatten().flatten().copied().find(silent) else { return Ok(()) };
    let (from, _) = resolved.network.ends(port);
    let switch = resolved.network.nodes[from].name.clone();
    let fault = Fault::NoTelemetry { scheme: scenario.scheme.name().to_owned(), switch };
    refuse(fault, &[resolved.key(from, "congestion_points"), "scheme.name".to_owned()])
}

/// The set point of the scheme lies below every buffer.
fn set_point(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let Some(set_point) = scenario.scheme.set_point() else { return Ok(()) };
    for port in resolved.network.ports().filter(|port| resolved.watched(scenario, *port)) {
        if let Some(buffer) = resolved.capacity(scenario, port).filter(|buffer| set_point >= *buffer) {
            let (from, _) = resolved.network.ends(port);
            let built_in = scenario.topology.built_in_bottleneck().is_some_and(|bottleneck| bottleneck.port == port);
            let raise = if built_in { "topology.buffer" } else { "output_buffer" };
            let buffer_key = if built_in { raise.to_owned() } else { resolved.key(from, raise) };
            let keys = ["scheme.cp.set_point", &buffer_key, "scheme.preset", "scheme.name"];
            return refuse(Fault::SetPoint { set_point, buffer, raise }, &keys);
        }
    }
    Ok(())
}

fn rows(scenario: &Scenario, resolved: &ResolvedScenario) -> Result<(), LocatedFault> {
    let record = &scenario.record;
    if !record.tables {
        return Ok(());
    }
    let times = |every: Span| u128::from(scenario.duration.ps()) / u128::from(every.ps());
    let flows = resolved.flows.len() as u128;
    let queues = resolved.recorded.iter().filter(|recorded| **recorded).count() as u128;
    let parts = [
        (queues * times(record.queue_every), "record.queue_every"),
        (flows * times(record.rates_every), "record.rates_every"),
        (flows * times(record.throughput_bin), "record.throughput_bin"),
    ];
    let rows = parts.iter().map(|(rows, _)| rows).sum();
    if rows <= MOST_ROWS {
        return Ok(());
    }
    let finest = parts.iter().max_by_key(|(rows, _)| *rows).map_or("record", |(_, key)| key);
    refuse(Fault::TooManyRows { rows, limit: MOST_ROWS }, &[finest, "record", "topology.sources", "duration"])
}

/// What is waited for is told of collective operations alone.
fn waits(scenario: &Scenario) -> Result<(), LocatedFault> {
    if !scenario.record.waits {
        return Ok(());
    }
    let entries = scenario.traffic.iter().enumerate();
    let mut operations = entries.filter(|(_, traffic)| matches!(traffic.arrivals, Arrivals::Collective(_))).peekable();
    if operations.peek().is_none() {
        return refuse(Fault::WaitsOfNothing, &["record.waits"]);
    }
    match operations.find(|(_, traffic)| traffic.queue_pair().is_none()) {
        Some((number, _)) => refuse(Fault::WaitsOfConnections { traffic: number }, &["record.waits"]),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of another scenario is what follows from this one, but for propagation delays.
    pub(super) fn assert_follows(scenario: &Scenario, draw: Draw, kept: &ResolvedScenario) {
        let Ok(fresh) = ResolvedScenario::of(scenario, draw, None) else { panic!("{scenario:?} does not resolve") };
        let words = |resolved: &ResolvedScenario| {
            let mut resolved = resolved.clone();
            resolved.network.links.iter_mut().for_each(|link| link.delay = Span::ZERO);
            format!("{resolved:?}")
        };
        assert_eq!(words(kept), words(&fresh));
    }
}
