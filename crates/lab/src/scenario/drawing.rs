//! Finite flows: those that are drawn at random and those that a file lists.

use super::fault::Fault;
use super::located::LocatedFault;
use super::types::{Scenario, TrafficKind};
use crate::files;
use crate::flows::{
    CellFault, Incast, ListedFlow, Poisson, SheetError, Sizes, read_flows, read_sizes, starting_before,
};
use crate::topology::Network;
use qcnlab_schemes::{Dice, Purpose};
use qcnlab_units::{Bytes, Instant, Span};
use std::path::Path;

/// Which random draws flows come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// The seed of the run.
    pub(crate) seed: u64,
    /// Which replication.
    pub(crate) replication: u32,
}

/// A flow from one host to another, with what is its own if it is drawn at random or listed in a file.
pub(super) struct HostPair {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) start: Span,
    pub(super) size: Option<Bytes>,
    pub(super) class: Option<u8>,
    /// Positions among the pairs of the same entry of those that it waits for.
    pub(super) after: Vec<usize>,
}

/// The flows that a CSV text lists. Those with a time of their own start before the run ends: one that never starts is a
/// mistake, as it is of other traffic.
pub(super) fn listed(
    scenario: &Scenario,
    network: &Network,
    text: &str,
    traffic: usize,
) -> Result<Vec<HostPair>, LocatedFault> {
    let key = format!("traffic.{traffic}.flows");
    let file = scenario.traffic[traffic].file.as_deref().unwrap_or(&key);
    let hosts: Vec<&str> = network.hosts().map(|host| &*network.nodes[host as usize].name).collect();
    let flows = read_flows(text.as_bytes(), file, &hosts);
    let flows = flows.map_err(|error| LocatedFault::new(Fault::Sheet(error), &[&key]))?;
    let at = |flow: &ListedFlow, key: &str, fault| {
        let error = SheetError { file: file.to_owned(), line: flow.line, column: None, fault: Box::new(fault) };
        LocatedFault::new(Fault::Sheet(error), &[key.to_owned(), format!("traffic.{traffic}.flows")])
    };
    let kind = match scenario.traffic[traffic].kind {
        TrafficKind::List { .. } => Some("list"),
        TrafficKind::TcpList { .. } => Some("tcp_list"),
        _ => None,
    };
    if let Some((kind, waiting)) = kind.zip(flows.iter().find(|flow| !flow.after.is_empty())) {
        return Err(at(waiting, &key, CellFault::CannotWait { kind }));
    }
    let end = scenario.duration;
    let late = |flow: &&ListedFlow| flow.after.is_empty() && flow.start >= Instant::ZERO + end;
    if let Some(flow) = flows.iter().find(late) {
        return Err(at(flow, "duration", CellFault::AfterTheRun { start: flow.start.since(Instant::ZERO), end }));
    }
    let stop = Instant::ZERO + scenario.arrivals_end();
    let node = |name: &str| network.node(name).unwrap_or_else(|| unreachable!("a listed host is there"));
    let pair = |flow: ListedFlow| HostPair {
        from: node(&flow.from),
        to: node(&flow.to),
        start: flow.start.since(Instant::ZERO),
        size: Some(flow.size),
        class: flow.class,
        after: flow.after,
    };
    Ok(starting_before(stop, flows).into_iter().map(pair).collect())
}

/// The flows of one entry that are drawn for a replication.
pub(super) fn drawn(
    scenario: &Scenario,
    network: &Network,
    traffic: usize,
    (senders, receivers): (&[u32], &[u32]),
    draw: Draw,
) -> Result<Vec<HostPair>, LocatedFault> {
    let entry = &scenario.traffic[traffic];
    let key = |name: &str| format!("traffic.{traffic}.{name}");
    let mut dice = Dice::new(draw.seed, draw.replication, &format!("traffic{}", traffic + 1), Purpose::Traffic);
    let stop = scenario.arrivals_end();
    let (start, stop) = (Instant::ZERO + entry.start, Instant::ZERO + entry.stop.map_or(stop, |own| own.min(stop)));
    let drawn = match &entry.kind {
        TrafficKind::Flows { sizes: text, load }
        | TrafficKind::TcpFlows { sizes: text, load, .. }
        | TrafficKind::RoceFlows { sizes: text, load, .. } => {
            let sizes =
                sizes(text, entry.file.as_deref()).map_err(|fault| LocatedFault::new(fault, &[key("sizes")]))?;
            let to_others = |host: &u32| receivers.iter().any(|to| to != host);
            let senders: Vec<u32> = senders.iter().copied().filter(to_others).collect();
            let mut sends = vec![false; network.nodes.len()];
            senders.iter().for_each(|host| sends[*host as usize] = true);
            let links = network.links.iter().filter(|link| sends[link.a as usize] || sends[link.b as usize]);
            let rate = links.map(|link| link.rate).min().unwrap_or_default();
            Poisson { load: *load, rate, sizes, start, stop }.draw(&senders, receivers, &mut dice)
        }
        TrafficKind::Incast { size, senders: count, period }
        | TrafficKind::TcpIncast { size, senders: count, period, .. }
        | TrafficKind::RoceIncast { size, senders: count, period, .. } => {
            let [to] = *receivers else {
                return Err(LocatedFault::new(Fault::OneReceiver { receivers: receivers.len() }, &[key("to")]));
            };
            let incast = Incast { senders: *count as usize, size: *size, start, period: *period, stop };
            incast.draw(senders, to, &mut dice)
        }
        _ => unreachable!("only finite flows are drawn"),
    };
    let keys = ["load", "senders", "to", "from"].map(key);
    let flows = drawn.map_err(|error| LocatedFault::new(Fault::Arrivals(error), &keys))?;
    let pair = |flow: crate::flows::Arrival| HostPair {
        from: flow.from,
        to: flow.to,
        start: flow.start.since(Instant::ZERO),
        size: Some(flow.size),
        class: None,
        after: Vec::new(),
    };
    Ok(flows.into_iter().map(pair).collect())
}

/// A distribution of sizes: one size, a published distribution's name, or a table as CSV text.
fn sizes(text: &str, file: Option<&str>) -> Result<Sizes, Fault> {
    if text.contains('\n') || file.is_some() {
        return read_sizes(text.as_bytes(), file.unwrap_or("sizes")).map_err(Fault::Sheet);
    }
    if let Ok(size) = text.parse::<Bytes>() {
        return Sizes::fixed(size).map_err(Fault::Sizes);
    }
    Sizes::named(text).map_err(Fault::Sizes)
}

/// Replaces the names of CSV files by what the files hold. Names are relative to the folder of the scenario file.
pub(super) fn load_files(scenario: &mut Scenario) -> Result<(), LocatedFault> {
    let folder = Path::new(&scenario.origin.name).parent().unwrap_or(Path::new("")).to_owned();
    for (i, traffic) in scenario.traffic.iter_mut().enumerate() {
        let (name, text) = match &mut traffic.kind {
            TrafficKind::Capture { hosts: Some(hosts), .. } => ("hosts", hosts),
            TrafficKind::List { flows } | TrafficKind::TcpList { flows, .. } | TrafficKind::RoceList { flows, .. } => {
                ("flows", flows)
            }
            TrafficKind::Flows { sizes, .. }
            | TrafficKind::TcpFlows { sizes, .. }
            | TrafficKind::RoceFlows { sizes, .. }
                if sizes.ends_with(".csv") =>
            {
                ("sizes", sizes)
            }
            _ => continue,
        };
        if !text.contains('\n') {
            let path = folder.join(&*text);
            let why = |error: std::io::Error| Fault::File { path: path.display().to_string(), why: error.to_string() };
            *text = files::read_to_string(&path)
                .map_err(|error| LocatedFault::new(why(error), &[format!("traffic.{i}.{name}")]))?;
            traffic.file = Some(path.display().to_string());
        }
    }
    Ok(())
}
