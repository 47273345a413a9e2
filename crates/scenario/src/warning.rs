//! What can be run, but may not mean what its author thinks.

use super::arrivals::Arrivals;
use super::devices::Multipath;
use super::entry::Draw;
use super::resolved::ResolvedScenario;
use super::shapes::Topology;
use super::types::{Scenario, Traffic};
use qcnlab_network::topology::{NodeId, PortId};
use qcnlab_schemes::{CongestionPoint, CpCapabilities, CpId};
use qcnlab_sim::roce::QpRecovery;
use qcnlab_units::{Bytes, Span};
use std::collections::{HashMap, HashSet};

impl Scenario {
    /// Returns what a reader of its results should know beforehand, a sentence or two each.
    pub fn warnings(&self) -> Vec<String> {
        let entries: Vec<usize> =
            (0..self.traffic.len()).filter(|entry| repairs_no_loss(&self.traffic[*entry])).collect();
        let plain = [self.unlisted(), self.unanswered(), self.overtaken(), self.unmarked(), self.uncut()].concat();
        let cuts = self.switches.iter().any(|switch| switch.trim_to.is_some());
        if entries.is_empty() && self.domain.is_none() && !cuts {
            return plain;
        }
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(resolved) = self.resolve(draw) else { unreachable!("a checked scenario can be resolved") };
        let lost = entries.into_iter().filter_map(|entry| loss_without_repair(self, &resolved, entry));
        lost.chain(domain_warning(&resolved)).chain(self.crowded(&resolved)).chain(plain).collect()
    }

    /// Says of lists of flows that they have none.
    fn unlisted(&self) -> Vec<String> {
        let entries = self.traffic.iter().enumerate().filter_map(|(entry, traffic)| match &traffic.arrivals {
            Arrivals::List(list) => {
                let mut rows =
                    list.flows.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                rows.nth(1).is_none().then(|| (entry, traffic.file.as_deref().unwrap_or("its list of flows")))
            }
            _ => None,
        });
        let one = |(entry, list)| format!("traffic.{entry} sends nothing: {list} has a header and no flow below it");
        entries.map(one).collect()
    }

    /// Says that no signal can come back to a source while the run lasts.
    fn unanswered(&self) -> Vec<String> {
        match &self.topology {
            Topology::Star(star) if star.rtt >= self.duration => vec![format!(
                "topology.rtt ({}) is no shorter than the run ({}): nothing comes back to a source before it ends",
                star.rtt, self.duration
            )],
            _ => Vec::new(),
        }
    }

    /// Says of traffic that takes what comes late for lost that its frames overtake one another.
    fn overtaken(&self) -> Vec<String> {
        if !self.routing.multipath.spreads_flows() {
            return Vec::new();
        }
        let one = |(entry, traffic): (usize, &Traffic)| {
            let config = traffic.queue_pair()?;
            match config.recovery {
                QpRecovery::GoBackN if config.reorder_buffer == 0 => Some(format!(
                    "traffic.{entry} repairs by go-back-N, and frames of a flow may overtake one another: each that comes too \
                     early is sent again with all after it; use recovery = \"selective_repeat\", a reorder_buffer, or another \
                     routing.multipath"
                )),
                QpRecovery::SelectiveRepeat
                    if config.reordering_threshold == 1 && config.reordering_window == Span::ZERO =>
                {
                    Some(format!(
                        "traffic.{entry} takes a packet for lost when one other overtakes it, and frames of a flow may \
                         overtake one another: most repeats will be needless (spurious_repeats); set reordering_threshold to as \
                         many packets as may overtake one, or a reordering_window"
                    ))
                }
                _ => None,
            }
        };
        self.traffic.iter().enumerate().filter_map(one).collect()
    }

    /// Says that REPS cannot tell ways apart where nothing is marked.
    fn unmarked(&self) -> Vec<String> {
        let CpCapabilities { marks_departures, marks_arrivals, .. } =
            self.scheme.congestion_point(CpId(0)).capabilities();
        if self.routing.multipath != Multipath::Reps || marks_departures || marks_arrivals {
            return Vec::new();
        }
        vec![format!(
            "routing.multipath = \"reps\" leaves ways whose packets are marked, and the ports of scheme '{}' mark none: it leaves \
             those alone that lose packets",
            self.scheme.name()
        )]
    }

    /// Says of switches that cut packets that there are none.
    fn uncut(&self) -> Vec<String> {
        if self.traffic.iter().any(|traffic| traffic.queue_pair().is_some()) {
            return Vec::new();
        }
        let tables = self.switches.iter().enumerate().filter(|(_, switch)| switch.trim_to.is_some());
        let one = |(table, _)| {
            format!(
                "switch.{table}.trim_to cuts RoCE packets, and no traffic is over RoCE: it acts nowhere; leave it out, or add \
                 transport = \"roce\" to the traffic"
            )
        };
        tables.map(one).collect()
    }
}

impl Scenario {
    /// Says of switches that cut packets that heads may claim all of their share of a link: as many senders at line rate
    /// as go to one host, times what is left of a packet.
    fn crowded(&self, resolved: &ResolvedScenario) -> Option<String> {
        let switch = self.switches.iter().find(|switch| switch.trim_to.is_some())?;
        let (head, share) = (switch.trim_to?, switch.heads_share());
        let mut senders: HashMap<NodeId, HashSet<NodeId>> = HashMap::new();
        let mut frame = None;
        for flow in &resolved.flows {
            let traffic = &self.traffic[flow.traffic];
            if traffic.queue_pair().is_some() {
                senders.entry(flow.sink_index).or_default().insert(flow.source_index);
                frame = Some(frame.map_or(traffic.frame, |least: Bytes| least.min(traffic.frame)));
            }
        }
        let frame = frame?;
        let (host, most) =
            senders.iter().map(|(host, from)| (*host, from.len())).max_by_key(|(host, most)| (*most, *host))?;
        let claim = most as f64 * head.as_f64() / frame.as_f64();
        (claim >= share.min(0.8)).then(|| {
            format!(
                "{most} senders at line rate whose packets of {frame} are cut to {head} make heads for {:.0} % of the link to \
                 {}; trim_share lets them have {:.0} % of it while packets wait, and what is more waits or is lost",
                claim * 100.0,
                resolved.network.nodes[host].name,
                share * 100.0
            )
        })
    }
}

/// Whether it has flows of a size whose frames nothing sends again.
fn repairs_no_loss(traffic: &Traffic) -> bool {
    traffic.arrivals.kind().ends() && traffic.transport_headers().is_none()
}

/// Says what of a domain is simpler here than on real links.
fn domain_warning(resolved: &ResolvedScenario) -> Option<String> {
    let domain = resolved.domain.as_ref()?;
    let crossed = resolved.network.ports().filter(|port| resolved.crossed[*port]);
    let mut untags = crossed.filter(|port| domain.port_plan(*port).untags != 0);
    let settled = "LLDP has settled the modes of ports before the run starts, and they stay";
    Some(match untags.next() {
        None => settled.to_owned(),
        Some(first) => format!(
            "{settled}; a frame keeps its length where its CN-TAG is taken off, as at {}: on a real link it is 4 octets \
             shorter",
            resolved.network.port_name(first)
        ),
    })
}

/// Says of an entry that repairs no loss where on its flows' ways frames can be lost.
fn loss_without_repair(scenario: &Scenario, resolved: &ResolvedScenario, entry: usize) -> Option<String> {
    let flows = resolved.flows.iter().zip(&resolved.paths).filter(|(flow, _)| flow.traffic == entry);
    let mut lossy: Vec<PortId> = flows.flat_map(|(_, paths)| paths.iter().flatten().copied()).collect();
    lossy.sort_unstable();
    lossy.dedup();
    lossy.retain(|port| loses(scenario, resolved, *port));
    let first = resolved.network.port_name(*lossy.first()?);
    let where_ = match lossy.len() {
        1 => first,
        2 => format!("{first} and one other port"),
        more => format!("{first} and {} other ports", more - 1),
    };
    Some(format!(
        "traffic.{entry} sends nothing again, and frames can be lost at {where_}: a flow that loses a frame never \
         finishes, and counts as unfinished; let TCP or RoCE carry its flows, take the limits off the buffers, or add [pause]"
    ))
}

/// Whether frames can be lost at a port: its queue or the memory of its node is limited, and the node never pauses.
fn loses(scenario: &Scenario, resolved: &ResolvedScenario, port: PortId) -> bool {
    let (from, _) = resolved.network.ends(port);
    let memory = resolved.switch(scenario, from).and_then(|switch| switch.input_memory);
    let memory = memory.or_else(|| resolved.shared_size(scenario, from));
    let fails = resolved.failed.iter().any(|failed| failed.link == port.link());
    if fails || !resolved.wred[port].is_empty() {
        return true;
    }
    let limited = resolved.capacity(scenario, port).is_some() || memory.is_some();
    limited && resolved.pauses[from].is_none()
}
