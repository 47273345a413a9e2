//! How much there is of everything in a run of a scenario: what its memory follows from.

use super::counts::Counts;
use super::resolved::ResolvedScenario;
use super::types::{Feedback, Scenario};
use crate::topology::reverse;
use qcnlab_sim::Needs;
use qcnlab_units::{Bytes, Span};

/// Messages for each frame at a busy congestion point: between QCN's in its steady state and ECM's. A guess.
const MESSAGES_A_FRAME: f64 = 0.005;
/// Frames that queue at most where less is offered than a port carries.
const IDLE_QUEUE: u64 = 32;

impl Counts {
    pub(crate) fn of(scenario: &Scenario, resolved: &ResolvedScenario) -> Counts {
        let ports = Load::of_ports(scenario, resolved);
        let mut counts = Counts { engine: flows(scenario, resolved), ..Counts::default() };
        let engine = &mut counts.engine;
        engine.nodes = resolved.network.nodes.len() as u64;
        let pauses = resolved.pauses.iter().any(Option::is_some);
        let back = scenario.feedback != Feedback::Ideal || pauses || engine.connections > 0;
        let mut messages = 0.0;
        for (port, load) in (0u32..).zip(&ports).filter(|(port, _)| resolved.crossed[*port as usize]) {
            let (from, to) = resolved.network.ends(port);
            let reverse_too = u64::from(back && !resolved.crossed[reverse(port) as usize]);
            engine.ports += 1 + reverse_too;
            let takes_turns =
                resolved.pauses[to as usize].is_some() || resolved.memory(scenario, from).is_some() || back;
            engine.turns += u64::from(takes_turns) * (1 + reverse_too);
            engine.inputs += u64::from(resolved.memory(scenario, to).is_some());
            engine.add_frames(load.frames);
            if reverse_too > 0 {
                engine.add_frames(0);
            }
            counts.recorded += u64::from(resolved.recorded[port as usize]);
            if resolved.watched(scenario, port) && scenario.scheme.speaks() {
                engine.points += 1;
                messages += if load.busy { load.passing * MESSAGES_A_FRAME } else { 0.0 };
            }
        }
        counts.messages = messages as u64;
        let loses = |ways: &&Vec<Vec<u32>>| ways.iter().flatten().any(|port| ports[*port as usize].loses);
        counts.losing = resolved.paths.iter().filter(loses).count() as u64;
        let mut last = resolved.paths.iter().filter_map(|ways| ways.first()?.last());
        let first = last.next();
        counts.several_sinks = last.any(|port| Some(port) != first);
        counts
    }
}

fn flows(scenario: &Scenario, resolved: &ResolvedScenario) -> Needs {
    let connection = |flow: &&super::FlowSpec| scenario.traffic[flow.traffic].connection().is_some();
    let ways = || resolved.paths.iter().flatten();
    let sharing = resolved.flows.iter().filter(|flow| resolved.sends[flow.source_index] != 1).count();
    Needs {
        flows: resolved.flows.len() as u64,
        connections: resolved.flows.iter().filter(connection).count() as u64,
        adapters: sharing as u64,
        ways: ways().count() as u64,
        hops: ways().map(|way| way.len() as u64).sum(),
        ..Needs::default()
    }
}

/// What a port has to carry.
#[derive(Clone, Copy, Default)]
struct Load {
    /// Offered, bit/s of frame octets.
    bps: f64,
    /// Octets of the shortest frames.
    shortest: u64,
    /// Frames on the link and in the queue, at most.
    frames: u64,
    /// Frames that pass in the whole run, at most.
    passing: f64,
    /// Whether its queue may fill at some time.
    busy: bool,
    /// Whether frames may be discarded there.
    loses: bool,
}

impl Load {
    fn of_ports(scenario: &Scenario, resolved: &ResolvedScenario) -> Vec<Load> {
        let mut loads = vec![Load::default(); resolved.network.ports() as usize];
        for ((flow, ways), wanted) in resolved.flows.iter().zip(&resolved.paths).zip(&resolved.wanted_bps) {
            let frame = scenario.traffic[flow.traffic].frame.get();
            for port in ways.iter().flatten() {
                let load = &mut loads[*port as usize];
                load.bps += wanted / ways.len() as f64;
                load.shortest = if load.shortest == 0 { frame } else { load.shortest.min(frame) };
            }
        }
        for (port, load) in (0u32..).zip(&mut loads).filter(|(_, load)| load.shortest > 0) {
            load.work_out(scenario, resolved, port);
        }
        loads
    }

    fn work_out(&mut self, scenario: &Scenario, resolved: &ResolvedScenario, port: u32) {
        let link = resolved.network.link(port);
        let (from, to) = resolved.network.ends(port);
        let run = scenario.duration;
        let octets = |bps: f64, time: Span| (bps * time.seconds() / 8.0) as u64;
        let rate = link.rate.as_f64();
        let slowed = scenario.hotspots.iter().zip(&resolved.hotspots).filter(|(_, slowed)| **slowed == port);
        let excess = |rate: f64, time: Span| octets((self.bps - rate).max(0.0), time);
        let kept_back = slowed.map(|(hotspot, _)| excess(hotspot.rate.as_f64(), hotspot.until - hotspot.from));
        let kept_back = kept_back.fold(0, u64::saturating_add);
        self.busy = self.bps >= 0.9 * rate || kept_back > 0;
        self.loses = self.bps > rate || kept_back > 0;
        self.passing = octets(self.bps.min(rate), run) as f64 / self.shortest as f64;
        let room = resolved.capacity(scenario, port).or_else(|| resolved.memory(scenario, from));
        let offered = octets(self.bps, run);
        let queued = room.map_or_else(|| excess(rate, run).saturating_add(kept_back), |room| room.get().min(offered));
        let queued = if self.busy { queued } else { queued.min(IDLE_QUEUE * self.shortest) };
        let latency = resolved.switch(scenario, to).map_or(Span::ZERO, |switch| switch.latency);
        let way = (link.delay + latency).min(run);
        self.frames = queued.saturating_add(octets(self.bps.min(rate), way)) / self.shortest + 2;
    }
}

impl ResolvedScenario {
    /// Octets a node holds of what came in over one link.
    fn memory(&self, scenario: &Scenario, node: u32) -> Option<Bytes> {
        let switch = self.switch(scenario, node).and_then(|switch| switch.input_memory);
        switch.or_else(|| self.adapter(scenario, node).and_then(|adapter| adapter.receive_buffer))
    }
}
