//! Counts what takes memory in a run of a scenario.

use super::counts::Counts;
use super::resolved::ResolvedScenario;
use super::types::{Feedback, Hotspot, Scenario};
use qcnlab_network::topology::{NodeId, PortId};
use qcnlab_schemes::registry::Config;
use qcnlab_schemes::{EventKind, ReactionPoint, SignalKind};
use qcnlab_units::{BitRate, IdVec, Span};

/// Messages for each frame at a busy congestion point, as they were counted in the shipped hotspots of two sources: by
/// QCN 0.0023, by ECM 0.08, by DCQCN 0.006. BCN stand for themselves, CNM for themselves, DCQCN for all others.
const CNM_PER_FRAME: f64 = 0.0025;
const BCN_PER_FRAME: f64 = 0.06;
const OTHERS_PER_FRAME: f64 = 0.006;
/// Frames that queue where less is offered than a port carries.
const IDLE_QUEUE: f64 = 16.0;

impl Counts {
    pub(crate) fn of(scenario: &Scenario, resolved: &ResolvedScenario) -> Counts {
        let paths = || resolved.paths.iter().flatten();
        let connection = |flow: &&super::FlowSpec| scenario.traffic[flow.traffic].connection().is_some();
        let is_message =
            |flow: &&super::FlowSpec| flow.size.is_some() && scenario.traffic[flow.traffic].queue_pair().is_some();
        let mut counts = Counts {
            nodes: resolved.network.nodes.len() as u64,
            flows: resolved.flows.len() as u64,
            short_lived: if limiters_go(scenario, resolved) {
                resolved.flows.iter().filter(is_message).count() as u64
            } else {
                0
            },
            connections: resolved.flows.iter().filter(connection).count() as u64,
            hops: paths().map(|path| path.len() as u64).sum(),
            recorded: resolved.recorded.iter().filter(|recorded| **recorded).count() as u64,
            ..Counts::default()
        };
        let pauses = resolved.pauses.iter().any(Option::is_some);
        counts.pauses = pauses;
        let both_ways = scenario.feedback != Feedback::Ideal || pauses || counts.connections > 0;
        let mut first = resolved.network.by_port(false);
        resolved.paths.iter().flatten().for_each(|path| first[path[0]] = true);
        for (port, (offered_bps, frame)) in resolved.network.ports().zip(offered(scenario, resolved)) {
            if !resolved.crossed[port] {
                continue;
            }
            counts.ports += 1 + u64::from(both_ways && !resolved.crossed[port.reverse()]);
            if frame > 0.0 {
                let load = Load { offered_bps, frame, of_sender: first[port] };
                let (frames, messages) = frames_and_messages(scenario, resolved, port, &load);
                counts.frames = counts.frames.saturating_add(frames);
                counts.messages += messages;
            }
        }
        counts
    }
}

/// Whether messages have their queue pairs and limiters only while they last, by the engine's rule. Of limiters that flows
/// may share, all count as staying.
fn limiters_go(scenario: &Scenario, resolved: &ResolvedScenario) -> bool {
    let observed = scenario.record.tables || resolved.domain.is_some();
    let own = scenario.adapters.iter().all(|adapter| adapter.max_rps.is_none());
    if observed || !own || matches!(scenario.scheme, Config::Foreign(_)) {
        return false;
    }
    let told = scenario.scheme.reaction_point(BitRate::gbps(10)).capabilities();
    !told.sends_probes && !told.events.contains(EventKind::Pause)
}

/// What is sent over a port.
struct Load {
    /// By all flows, bit/s.
    offered_bps: f64,
    /// Octets of the shortest frame.
    frame: f64,
    /// Whether it is the port of a sender: what waits there is a number, not frames.
    of_sender: bool,
}

/// What flows offer to each port, bit/s, and the octets of their shortest frames, 0 where no flow is known. A sender
/// offers to the network what its link carries.
fn offered(scenario: &Scenario, resolved: &ResolvedScenario) -> IdVec<PortId, (f64, f64)> {
    let mut of_sender = resolved.network.by_port(0.0);
    for (paths, wanted) in resolved.paths.iter().zip(&resolved.wanted_bps) {
        of_sender[paths[0][0]] += wanted;
    }
    let part = |port: PortId| (resolved.network.link(port).rate.as_f64() / of_sender[port]).min(1.0);
    let mut offered = resolved.network.by_port((0.0, 0.0));
    for ((flow, paths), wanted) in resolved.flows.iter().zip(&resolved.paths).zip(&resolved.wanted_bps) {
        let frame = scenario.traffic[flow.traffic].frame.as_f64();
        for port in paths.iter().flatten() {
            let (bps, shortest) = &mut offered[*port];
            *bps += wanted * part(paths[0][0]) / paths.len() as f64;
            *shortest = if *shortest == 0.0 { frame } else { frame.min(*shortest) };
        }
    }
    offered
}

/// The most frames in the queue of a port and on its link, and the messages of its congestion point.
fn frames_and_messages(scenario: &Scenario, resolved: &ResolvedScenario, port: PortId, load: &Load) -> (u64, u64) {
    let Load { offered_bps, frame, of_sender } = *load;
    let (from, to) = resolved.network.ends(port);
    let link = resolved.network.link(port);
    let frames = |bps: f64, time: Span| bps.max(0.0) * time.seconds() / 8.0 / frame;
    let link_bps = link.rate.as_f64();
    let hotspots = || scenario.hotspots.iter().zip(&resolved.hotspots).filter(|(_, slowed)| **slowed == port);
    let of_hotspots = hotspots().map(|(h, _)| frames(offered_bps - h.rate.as_f64(), h.until - h.from));
    let backlog = frames(offered_bps - link_bps, scenario.duration) + of_hotspots.sum::<f64>();
    let busy = offered_bps >= 0.9 * link_bps || backlog > 0.0;
    let switch = |node: NodeId| resolved.switch(scenario, node);
    let input_memory = || switch(from).and_then(|switch| switch.input_memory);
    let receive_buffer = || resolved.adapter(scenario, from).and_then(|adapter| adapter.receive_buffer);
    let shared_buffer = || resolved.shared_size(scenario, from);
    let room = resolved.capacity(scenario, port).or_else(shared_buffer).or_else(input_memory).or_else(receive_buffer);
    let queued = match room {
        _ if of_sender => 0.0,
        Some(room) if busy => frames(offered_bps, scenario.duration).min(room.as_f64() / frame),
        _ => backlog,
    };
    let latency = switch(to).map_or(Span::ZERO, |switch| switch.latency);
    let travelling = frames(offered_bps.min(link_bps), (link.delay + latency).min(scenario.duration));
    // Rings of frames grow by doubling.
    let room = ((queued + travelling).clamp(IDLE_QUEUE, 1e18) as u64).next_power_of_two();
    let speaks = busy && resolved.watched(scenario, port) && scenario.scheme.speaks();
    let passing_bps = offered_bps.min(link_bps);
    let held_up = |(h, _): (&Hotspot, _)| frames(passing_bps - h.rate.as_f64(), h.until - h.from);
    let passing = frames(passing_bps, scenario.duration) - hotspots().map(held_up).sum::<f64>();
    (room, if speaks { (passing * messages_per_frame(scenario)) as u64 } else { 0 })
}

fn messages_per_frame(scenario: &Scenario) -> f64 {
    let hears = scenario.scheme.hears();
    if hears.contains(&SignalKind::Bcn) {
        BCN_PER_FRAME
    } else if hears.contains(&SignalKind::Cnm) {
        CNM_PER_FRAME
    } else {
        OTHERS_PER_FRAME
    }
}
