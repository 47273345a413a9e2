//! Replications of scenarios as a list of tasks.

use qcnlab_scenario::Scenario;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Seed of the random streams; `None` for each scenario's own.
    pub seed: Option<u64>,
    /// Replications; `None` for each scenario's own.
    pub replications: Option<u32>,
    /// Threads; `None` for one a core.
    pub jobs: Option<usize>,
    /// Whether flows share links and there are no packets.
    pub flow_level: bool,
}

/// One replication of one scenario of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Index of the scenario in the list.
    pub scenario: usize,
    /// Which replication, from 0.
    pub replication: u32,
}

/// Every replication of every scenario, in order.
pub fn all_tasks(scenarios: &[Scenario], options: &Options) -> Vec<Task> {
    let each = |(scenario, s): (usize, &Scenario)| {
        (0..options.replications.unwrap_or(s.replications)).map(move |replication| Task { scenario, replication })
    };
    scenarios.iter().enumerate().flat_map(each).collect()
}

/// Returns the simulated picoseconds that `tasks` take: `control.done_ps` at the end. A run whose waits are told apart is
/// repeated for that, if an operation ends in it.
pub fn work_ps(scenarios: &[Scenario], tasks: &[Task]) -> u64 {
    let times = |scenario: &Scenario| if scenario.record.waits { 2 } else { 1 };
    tasks.iter().map(|task| &scenarios[task.scenario]).map(|scenario| times(scenario) * scenario.duration.ps()).sum()
}
