//! Counts what takes memory in a run of a scenario.

use super::counts::Counts;
use super::resolved::ResolvedScenario;
use super::types::{Feedback, Scenario};
use crate::topology::reverse;
use qcnlab_units::Span;

/// Messages for each frame at a busy congestion point: between QCN's in its steady state and ECM's. A guess.
const MESSAGES_PER_FRAME: f64 = 0.005;
/// Frames that queue where less is offered than a port carries.
const IDLE_QUEUE: f64 = 16.0;

impl Counts {
    pub(crate) fn of(scenario: &Scenario, resolved: &ResolvedScenario) -> Counts {
        let paths = || resolved.paths.iter().flatten();
        let connection = |flow: &&super::FlowSpec| scenario.traffic[flow.traffic].connection().is_some();
        let mut counts = Counts {
            nodes: resolved.network.nodes.len() as u64,
            flows: resolved.flows.len() as u64,
            connections: resolved.flows.iter().filter(connection).count() as u64,
            hops: paths().map(|path| path.len() as u64).sum(),
            recorded: resolved.recorded.iter().filter(|recorded| **recorded).count() as u64,
            ..Counts::default()
        };
        let pauses = resolved.pauses.iter().any(Option::is_some);
        let both_ways = scenario.feedback != Feedback::Ideal || pauses || counts.connections > 0;
        for (port, (offered_bps, frame)) in (0u32..).zip(offered(scenario, resolved)) {
            if !resolved.crossed[port as usize] {
                continue;
            }
            counts.ports += 1 + u64::from(both_ways && !resolved.crossed[reverse(port) as usize]);
            if frame > 0.0 {
                let (frames, messages) = frames_and_messages(scenario, resolved, port, offered_bps, frame);
                counts.frames = counts.frames.saturating_add(frames);
                counts.messages += messages;
            }
        }
        counts
    }
}

/// What flows offer to each port, bit/s, and the octets of their shortest frames, 0 where no flow is known.
fn offered(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<(f64, f64)> {
    let mut offered = vec![(0.0, 0.0); resolved.network.ports() as usize];
    for ((flow, paths), wanted) in resolved.flows.iter().zip(&resolved.paths).zip(&resolved.wanted_bps) {
        let frame = scenario.traffic[flow.traffic].frame.as_f64();
        for port in paths.iter().flatten() {
            let (bps, shortest) = &mut offered[*port as usize];
            *bps += wanted / paths.len() as f64;
            *shortest = if *shortest == 0.0 { frame } else { frame.min(*shortest) };
        }
    }
    offered
}

/// The most frames in the queue of a port and on its link, and the messages of its congestion point. `frame` is in
/// octets.
fn frames_and_messages(
    scenario: &Scenario,
    resolved: &ResolvedScenario,
    port: u32,
    offered_bps: f64,
    frame: f64,
) -> (u64, u64) {
    let (from, to) = resolved.network.ends(port);
    let link = resolved.network.link(port);
    let frames = |bps: f64, time: Span| bps.max(0.0) * time.seconds() / 8.0 / frame;
    let link_bps = link.rate.as_f64();
    let hotspots = scenario.hotspots.iter().zip(&resolved.hotspots).filter(|(_, slowed)| **slowed == port);
    let of_hotspots = hotspots.map(|(h, _)| frames(offered_bps - h.rate.as_f64(), h.until - h.from));
    let backlog = frames(offered_bps - link_bps, scenario.duration) + of_hotspots.sum::<f64>();
    let busy = offered_bps >= 0.9 * link_bps || backlog > 0.0;
    let switch = |node: u32| resolved.switch(scenario, node);
    let input_memory = || switch(from).and_then(|switch| switch.input_memory);
    let receive_buffer = || resolved.adapter(scenario, from).and_then(|adapter| adapter.receive_buffer);
    let queued = match resolved.capacity(scenario, port).or_else(input_memory).or_else(receive_buffer) {
        Some(room) if busy => frames(offered_bps, scenario.duration).min(room.as_f64() / frame),
        _ => backlog,
    };
    let latency = switch(to).map_or(Span::ZERO, |switch| switch.latency);
    let travelling = frames(offered_bps, (link.delay + latency).min(scenario.duration));
    // Rings of frames grow by doubling.
    let room = ((queued + travelling).clamp(IDLE_QUEUE, 1e18) as u64).next_power_of_two();
    let speaks = busy && resolved.watched(scenario, port) && scenario.scheme.speaks();
    let passing = if speaks { frames(offered_bps.min(link_bps), scenario.duration) } else { 0.0 };
    (room, (passing * MESSAGES_PER_FRAME) as u64)
}
