//! The delay from a source to a port, or to the receiver, and back.

use qcnlab_network::topology::PortId;
use qcnlab_scenario::{Feedback, ResolvedScenario, Scenario};
use qcnlab_units::{Bytes, Span};

pub(super) struct Delays<'a> {
    scenario: &'a Scenario,
    resolved: &'a ResolvedScenario,
}

impl<'a> Delays<'a> {
    pub(super) fn new(scenario: &'a Scenario, resolved: &'a ResolvedScenario) -> Delays<'a> {
        Delays { scenario, resolved }
    }

    /// The delay to `port`, or to the receiver, and back, s: one value for each path of each flow.
    pub(super) fn loops(&self, flows: &[usize], port: Option<PortId>) -> Vec<f64> {
        let of_flow = |flow: &usize| {
            let frame = self.scenario.traffic[self.resolved.flows[*flow].traffic].frame;
            self.resolved.paths[*flow].iter().map(move |path| self.round_trip(path, port, frame).seconds())
        };
        flows.iter().flat_map(of_flow).collect()
    }

    fn round_trip(&self, path: &[PortId], port: Option<PortId>, frame: Bytes) -> Span {
        let ports = path.iter().take_while(|at| Some(**at) != port);
        ports.fold(Span::ZERO, |time, at| time + self.towards(*at, frame) + self.back(*at))
    }

    fn towards(&self, port: PortId, frame: Bytes) -> Span {
        let link = self.resolved.network.link(port);
        let propagation = link.delay + self.latency(port);
        if self.scenario.topology.gives_rtt() {
            return propagation;
        }
        propagation + link.rate.time_for_rounded_up(frame + self.resolved.overhead(self.scenario, port))
    }

    /// The delay of a message over the link of `port`. Ideal feedback takes as long as data does; a feedback frame
    /// passes the switch that the link leads back to. Its transmission time and its queueing are left out.
    fn back(&self, port: PortId) -> Span {
        let passes = if self.scenario.feedback == Feedback::Ideal { port } else { port.reverse() };
        self.resolved.network.link(port).delay + self.latency(passes)
    }

    /// The latency of the switch at the far end of a port; zero of a host.
    fn latency(&self, port: PortId) -> Span {
        let (_, to) = self.resolved.network.ends(port);
        self.resolved.switch(self.scenario, to).map_or(Span::ZERO, |switch| switch.latency)
    }
}
