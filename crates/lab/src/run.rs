//! Replications of scenarios on all cores.
//!
//! Every replication is an [`Engine`] of its own; results come back in the order of
//! the scenarios and replications, so the number of threads changes nothing but time.

use crate::estimate::{Estimate, size};
use crate::fabric::Fabric;
use crate::metrics::{self, METRICS, Meter};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables;
use crate::tasks::{all_tasks, run_each};
use cpu_time::ThreadTime;
use qcnlab_schemes::foreign::{self, Failure};
use qcnlab_sim::{Control, Counters, Engine, Finished, Halt, Violation};
use qcnlab_units::Instant;
use serde_json::{Map, Value, json};
use std::sync::{Arc, OnceLock};

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Seed of the random streams; `None` for each scenario's own.
    pub seed: Option<u64>,
    /// Replications; `None` for each scenario's own.
    pub replications: Option<u32>,
    /// Threads; `None` for one a core.
    pub jobs: Option<usize>,
}

/// Why there are no results.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// Somebody stopped it.
    #[error("stopped")]
    Cancelled,
    /// Flows drawn at random gave something that cannot work.
    #[error("replication {replication}: {error}")]
    Scenario {
        /// Which replication.
        replication: u32,
        /// What cannot work.
        error: ScenarioError,
    },
    /// A run broke a law of conservation.
    #[error(
        "scenario {scenario}, replication {replication}: conservation is broken at {violation}; this is a bug in qcnlab"
    )]
    Violation {
        /// The scenario's name.
        scenario: String,
        /// Which replication.
        replication: u32,
        /// The law.
        violation: Violation,
    },
    /// A scheme from outside failed, or broke the contract of its role.
    #[error("replication {replication}: {failure}")]
    Foreign {
        /// Which replication.
        replication: u32,
        /// What happened.
        failure: Failure,
    },
    /// Links that are paused wait for each other in a circle.
    #[error(
        "scenario {scenario}, replication {replication}: deadlock at {:.6} s: {} stopped by PAUSE, each waiting for \
         the next and the last for the first; take a link out of the circle, or leave pause off", at.seconds(),
        links.join(", ")
    )]
    Deadlock {
        /// The scenario's name.
        scenario: String,
        /// Which replication.
        replication: u32,
        /// When it was found.
        at: Instant,
        /// The stopped ports in order.
        links: Vec<String>,
    },
    /// There is not enough memory for it.
    #[error(
        "not enough memory: about {} are needed and {} are there; {} of it for {}: {advice}", size(estimate.total()),
        size(*there), size(estimate.part(estimate.largest_part())), estimate.largest_part().name()
    )]
    Memory {
        /// What is needed.
        estimate: Estimate,
        /// Octets that are there.
        there: u64,
        /// What to do.
        advice: String,
    },
    /// The threads could not be started.
    #[error("cannot start {jobs} threads: {why}")]
    Threads {
        /// How many were asked for.
        jobs: usize,
        /// What the system said.
        why: String,
    },
}

/// What one scenario gave.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario.
    pub scenario: Scenario,
    /// The seed it ran with.
    pub seed: u64,
    /// One entry for each replication, in order.
    pub replications: Vec<Replication>,
}

/// What one replication gave.
#[derive(Debug)]
pub struct Replication {
    /// The trace, if tables are recorded, and the totals.
    pub done: Finished,
    /// Values in the order of [`METRICS`].
    pub metrics: Vec<Option<f64>>,
    /// CPU seconds the engine took. Differs from run to run.
    pub cpu_s: f64,
    pub(crate) fabric: Arc<Fabric>,
}

/// Runs every replication of every scenario.
///
/// # Errors
/// When stopped through `control`, when a run breaks a law, without threads, or, before any begins, when there is not
/// memory for all of it.
pub fn run(scenarios: &[Scenario], options: &Options, control: &Control) -> Result<Vec<Outcome>, RunError> {
    Estimate::of(scenarios, options).check(options)?;
    let tasks = all_tasks(scenarios, options);
    let results: Vec<OnceLock<_>> = tasks.iter().map(|_| OnceLock::new()).collect();
    run_each(scenarios, &tasks, options, control, |number, result| {
        results[number].get_or_init(|| result);
    })?;
    let empty =
        |s: &Scenario| Outcome { scenario: s.clone(), seed: options.seed.unwrap_or(s.seed), replications: Vec::new() };
    let mut outcomes: Vec<Outcome> = scenarios.iter().map(empty).collect();
    for (task, result) in tasks.iter().zip(results) {
        outcomes[task.scenario].replications.push(result.into_inner().unwrap_or(Err(RunError::Cancelled))?);
    }
    Ok(outcomes)
}

/// One replication on a fabric that is made already.
pub(crate) fn replicate(
    scenario: &Scenario,
    seed: u64,
    fabric: Arc<Fabric>,
    rep: u32,
    control: &Control,
) -> Result<Replication, RunError> {
    let start = ThreadTime::now();
    let plan = fabric.plan(scenario, seed, rep);
    let mut meter = Meter::new(scenario, &fabric);
    let ran = foreign::guard(|| Engine::new(&plan).run_watched(control, &mut |trace| meter.look(trace)));
    let ran = ran.map_err(|failure| RunError::Foreign { replication: rep, failure })?;
    let done = ran.map_err(|halt| match halt {
        Halt::Cancelled => RunError::Cancelled,
        Halt::Deadlock { at, links } => {
            RunError::Deadlock { scenario: scenario.name.clone(), replication: rep, at, links }
        }
        Halt::Violation(violation) => {
            RunError::Violation { scenario: scenario.name.clone(), replication: rep, violation }
        }
    })?;
    let cpu_s = start.elapsed().as_secs_f64();
    let metrics = metrics::measure(scenario, &fabric, meter, &done);
    Ok(Replication { done, metrics, cpu_s, fabric })
}

impl Outcome {
    /// CPU seconds the engine took, over all replications.
    pub fn cpu_s(&self) -> f64 {
        self.replications.iter().map(|r| r.cpu_s).sum()
    }

    /// The table called `name`, or `None` when there is none of that name.
    pub fn table(&self, name: &str) -> Option<tables::Table> {
        tables::build(self, name)
    }

    /// Metrics and totals as JSON: the same in every run of the same scenario and seed, but for `cpu_s`.
    pub fn summary_json(&self) -> String {
        let mut by_name = Map::new();
        for (index, metric) in METRICS.iter().enumerate() {
            let values: Vec<Option<f64>> = self.replications.iter().map(|r| r.metrics[index]).collect();
            let mut known: Vec<f64> = values.iter().copied().flatten().collect();
            known.sort_unstable_by(f64::total_cmp);
            by_name.insert(
                metric.name.to_owned(),
                json!({
                    "unit": metric.unit,
                    "median": median(&known),
                    "min": known.first(),
                    "max": known.last(),
                    "values": values,
                }),
            );
        }
        let total = |of: fn(&Counters) -> u64| -> u64 { self.replications.iter().map(|r| of(&r.done.counters)).sum() };
        let first = self.replications.first().map(|replication| &replication.fabric);
        let summary = json!({
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "hash": self.scenario.hash(),
            "seed": self.seed,
            "replications": self.replications.len(),
            "scheme": self.scenario.scheme.name(),
            "preset": self.scenario.scheme.preset(),
            "flows": first.map(|fabric| fabric.flow_names.len()),
            "bottleneck": first.map(|fabric| fabric.bottleneck_json()),
            "metrics": Value::Object(by_name),
            "counters": {
                "frame_hops": total(|c| c.frame_hops),
                "events": total(|c| c.events),
                "frames_sent": total(|c| c.frames_sent),
                "frames_delivered": total(|c| c.frames_delivered),
                "frames_dropped": total(|c| c.frames_dropped),
                "frames_refused": total(|c| c.frames_refused),
                "pause_frames": total(|c| c.pause_frames),
                "messages_sent": total(|c| c.messages_sent),
                "messages_heard": total(|c| c.messages_heard),
                "messages_lost": total(|c| c.messages_lost),
            },
            "cpu_s": self.cpu_s(),
        });
        format!("{summary:#}\n")
    }
}

/// The middle value of sorted numbers; the mean of the two middle ones when their count is even.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper)) }
}
