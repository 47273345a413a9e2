//! How long it takes from a source to a port or a receiver and back.

use crate::scenario::{Feedback, ResolvedScenario, Scenario, Topology};
use crate::topology::reverse;
use qcnlab_units::{Bytes, Span};

pub(super) struct Delays<'a> {
    scenario: &'a Scenario,
    ground: &'a ResolvedScenario,
}

impl<'a> Delays<'a> {
    pub(super) fn new(scenario: &'a Scenario, ground: &'a ResolvedScenario) -> Delays<'a> {
        Delays { scenario, ground }
    }

    /// For each way of each flow the time to `port`, or to the receiver, and back, s.
    pub(super) fn loops(&self, flows: &[usize], port: Option<u32>) -> Vec<f64> {
        let of_flow = |flow: &usize| {
            let frame = self.scenario.traffic[self.ground.flows[*flow].traffic].frame;
            self.ground.paths[*flow].iter().map(move |path| self.around(path, port, frame).seconds())
        };
        flows.iter().flat_map(of_flow).collect()
    }

    fn around(&self, path: &[u32], port: Option<u32>, frame: Bytes) -> Span {
        let ports = path.iter().take_while(|at| Some(**at) != port);
        ports.fold(Span::ZERO, |time, at| time + self.there(*at, frame) + self.back(*at))
    }

    fn there(&self, port: u32, frame: Bytes) -> Span {
        let link = self.ground.network.link(port);
        let way = link.delay + self.latency(port);
        if matches!(self.scenario.topology, Topology::Star(_)) {
            return way;
        }
        way + link.rate.time_for_rounded_up(frame + self.ground.overhead(self.scenario, port))
    }

    /// A message's way over the link of `port`: ideal, it takes what data takes; as a frame it passes the switch that
    /// the link leads back to. Its own length and its waiting are left out.
    fn back(&self, port: u32) -> Span {
        let passes = if self.scenario.feedback == Feedback::Ideal { port } else { reverse(port) };
        self.ground.network.link(port).delay + self.latency(passes)
    }

    /// The latency of the switch that a port leads to; none of a host.
    fn latency(&self, port: u32) -> Span {
        let (_, to) = self.ground.network.ends(port);
        self.ground.switch(self.scenario, to).map_or(Span::ZERO, |switch| switch.latency)
    }
}
