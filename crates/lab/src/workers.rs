//! Runs tasks on all cores; the caller gets each result as soon as it is there.
//!
//! Replications of a scenario share its fabric, which is made when the first of them starts and dropped when the last
//! has ended. Scenarios share none, even of one topology: making one is a small part of a run (of a fat-tree with
//! k = 8 that runs for 20 ms of simulated time, 2 ms of 500 ms).

use crate::error::RunError;
use crate::estimate::Estimate;
use crate::fabric::Fabric;
use crate::flow_level;
use crate::replication::{Replication, replicate};
use crate::tasks::{Options, Task};
use qcnlab_scenario::threads;
use qcnlab_scenario::{Draw, Scenario};
use qcnlab_schemes::registry::Config;
use qcnlab_sim::Control;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Run `tasks`, started in their order. As each ends, call `ended` with its index and its result, on the thread that
/// ran it.
///
/// A task that fails does not stop the others. After a stop through `control` none is started any more, and those
/// under way end with [`RunError::Cancelled`].
///
/// # Errors
/// Without threads, or without memory for as many runs at a time.
pub fn run_each(
    scenarios: &[Scenario],
    tasks: &[Task],
    options: &Options,
    control: &Control,
    ended: impl Fn(usize, Result<Replication, RunError>) + Sync,
) -> Result<(), RunError> {
    Estimate::of_each(scenarios, tasks, options).check(options).map_err(RunError::Memory)?;
    let jobs = options.jobs.filter(|jobs| *jobs > 0).unwrap_or_else(threads::cores).min(tasks.len());
    let shared = Shared::of(scenarios, tasks, options);
    let next = AtomicUsize::new(0);
    let work = || {
        while !control.cancel.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(number) else { return };
            ended(number, shared[task.scenario].run(task.replication, control));
        }
    };
    let foreign = scenarios.iter().find_map(|scenario| match &scenario.scheme {
        Config::Foreign(scheme) => Some(scheme),
        _ => None,
    });
    threads::on_each(jobs, || match foreign {
        Some(scheme) => scheme.on_thread(&mut || work()),
        None => work(),
    })
    .map_err(|error| RunError::Threads { jobs, why: error.to_string() })
}

/// What the replications of a scenario share.
struct Shared<'a> {
    scenario: &'a Scenario,
    seed: u64,
    flow_level: bool,
    /// How many have not ended.
    left: AtomicUsize,
    fabric: Mutex<Option<Arc<Fabric>>>,
}

impl Shared<'_> {
    fn of<'a>(scenarios: &'a [Scenario], tasks: &[Task], options: &Options) -> Vec<Shared<'a>> {
        let mut left = vec![0; scenarios.len()];
        tasks.iter().for_each(|task| left[task.scenario] += 1);
        let each = scenarios.iter().zip(left).map(|(scenario, left)| Shared {
            scenario,
            seed: options.seed.unwrap_or(scenario.seed),
            flow_level: options.flow_level,
            left: AtomicUsize::new(left),
            fabric: Mutex::new(None),
        });
        each.collect()
    }

    fn run(&self, replication: u32, control: &Control) -> Result<Replication, RunError> {
        let fabric = self.fabric(replication);
        let replicate = if self.flow_level { flow_level::replicate } else { replicate };
        let result = fabric.and_then(|fabric| replicate(self.scenario, self.seed, fabric, replication, control));
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.kept() = None;
        }
        result
    }

    /// A fabric of its own if flows are drawn at random, otherwise the one all share.
    fn fabric(&self, replication: u32) -> Result<Arc<Fabric>, RunError> {
        if self.scenario.draws_flows() {
            return self.make(replication);
        }
        let mut kept = self.kept();
        if let Some(fabric) = &*kept {
            return Ok(fabric.clone());
        }
        let fabric = self.make(0)?;
        *kept = Some(fabric.clone());
        Ok(fabric)
    }

    fn make(&self, replication: u32) -> Result<Arc<Fabric>, RunError> {
        let make = if self.flow_level { Fabric::without_packets } else { Fabric::new };
        let fabric = make(self.scenario, Draw { seed: self.seed, replication });
        fabric.map(Arc::new).map_err(|error| RunError::Scenario { replication, error })
    }

    fn kept(&self) -> MutexGuard<'_, Option<Arc<Fabric>>> {
        self.fabric.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
