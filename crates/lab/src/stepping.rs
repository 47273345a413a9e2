//! A run in steps, for who shows it while it goes on.

use crate::clock::CpuClock;
use crate::error::RunError;
use crate::estimate::Estimate;
use crate::fabric::Fabric;
use crate::metrics::{self, Meter};
use crate::outcome::Outcome;
use crate::replication::{Replication, halted};
use crate::tasks::Options;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_sim::{Engine, NodeId, PortId, PortState, Trace};
use qcnlab_units::{Bytes, Id, IdVec, Instant};
use serde_json::{Value, json};
use std::sync::Arc;

/// One replication of a scenario, which its caller advances. It has the rows, totals and metrics of one that
/// [`run`](crate::run) runs.
pub struct SteppedRun {
    scenario: Scenario,
    seed: u64,
    replication: u32,
    fabric: Arc<Fabric>,
    meter: Meter,
    engine: Engine,
    cpu_s: f64,
}

impl SteppedRun {
    /// Builds the run, at time zero. `seed` is the scenario's own where it is `None`.
    ///
    /// # Errors
    /// When flows drawn at random give something that cannot work, or there is not memory for it.
    pub fn new(scenario: Scenario, seed: Option<u64>, replication: u32) -> Result<SteppedRun, RunError> {
        let options = Options { replications: Some(1), jobs: Some(1), seed, ..Options::default() };
        Estimate::of(std::slice::from_ref(&scenario), &options).check(&options).map_err(RunError::Memory)?;
        let seed = seed.unwrap_or(scenario.seed);
        let fabric = Fabric::new(&scenario, Draw { seed, replication });
        let fabric = Arc::new(fabric.map_err(|error| RunError::Scenario { replication, error })?);
        let engine = Engine::new(&fabric.plan(&scenario, seed, replication));
        let meter = Meter::new(&scenario, &fabric);
        Ok(SteppedRun { scenario, seed, replication, fabric, meter, engine, cpu_s: 0.0 })
    }

    /// Advances it: what is due before `until` happens. False when it has come to its end.
    ///
    /// # Errors
    /// When a capture cannot be replayed.
    pub fn advance(&mut self, until: Instant) -> Result<bool, RunError> {
        let clock = CpuClock::start();
        let meter = &mut self.meter;
        let goes_on = self.engine.advance(until, &mut |trace| meter.read_rows(trace));
        self.cpu_s += clock.seconds();
        goes_on.map_err(|halt| halted(&self.scenario, self.replication, halt))
    }

    /// The rows so far. Of a scenario with `record.tables = false` there are none.
    pub fn rows(&self) -> &Trace {
        self.engine.so_far().recorded()
    }

    /// Each port as the last step left it, in the order of [`network_json`](SteppedRun::network_json).
    pub fn ports(&self) -> IdVec<PortId, PortState> {
        self.engine.so_far().port_states()
    }

    /// Returns what the run is built of, as JSON: `nodes` with `name` and `host`; `ports` with `name`, `from` and `to`
    /// (nodes by index), `rate_bps`, `delay_s`, `buffer_bytes` (null without a limit), `recorded` and `peer`; `flows` with
    /// `name`, `crosses` (the bottleneck) and `path`, the first of its paths; and `bottleneck`, a port by index.
    pub fn network_json(&self) -> String {
        let fabric = &self.fabric;
        let outputs = |node: NodeId| fabric.ports.iter().filter(move |port| port.from == node).count();
        let forwards = |node: NodeId| {
            let path = |path: &[PortId]| path[1..].iter().any(|port| fabric.ports[*port].from == node);
            fabric.flows.iter().flat_map(|flow| &flow.paths).any(path)
        };
        let nodes = fabric.nodes.enumerate();
        let ports = fabric.ports.iter().map(|port| {
            json!({
                "name": port.name,
                "from": port.from.number(),
                "to": port.to.number(),
                "rate_bps": port.rate.get(),
                "delay_s": port.delay.seconds(),
                "buffer_bytes": port.capacity.map(Bytes::get),
                "recorded": port.recorded,
                "peer": port.peer.map(Id::number),
            })
        });
        let numbers = |path: &[PortId]| -> Vec<u32> { path.iter().map(|port| port.number()).collect() };
        let flows =
            fabric.flows.iter().zip(fabric.crossing.iter()).map(
                |(flow, crosses)| json!({ "name": &*flow.name, "crosses": crosses, "path": numbers(&flow.paths[0]) }),
            );
        json!({
            "nodes": nodes
                .map(|(id, node)| json!({ "name": node.name, "host": !forwards(id), "outputs": outputs(id) }))
                .collect::<Value>(),
            "ports": ports.collect::<Value>(),
            "flows": flows.collect::<Value>(),
            "bottleneck": fabric.bottleneck.number(),
        })
        .to_string()
    }

    /// Runs to the end, audits and measures.
    ///
    /// # Errors
    /// When a run breaks a law of conservation, or a capture cannot be replayed.
    pub fn end(self) -> Result<Outcome, RunError> {
        let SteppedRun { scenario, seed, replication, fabric, mut meter, engine, mut cpu_s } = self;
        let clock = CpuClock::start();
        let done = engine.end(&mut |trace| meter.read_rows(trace));
        let done = done.map_err(|halt| halted(&scenario, replication, halt))?;
        let metrics = metrics::measure(&scenario, &fabric, meter, &done);
        cpu_s += clock.seconds();
        let replications = vec![Replication { done, metrics, cpu_s, flow_level: false, fabric, causes: None }];
        Ok(Outcome { scenario, seed, replications })
    }
}
