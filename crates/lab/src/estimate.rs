//! How much memory runs take, told before they begin.

use crate::available::available;
use crate::scenario::{Counts, Scenario};
use crate::tasks::{Options, Task};
use qcnlab_schemes::Signal;
use qcnlab_units::Span;
use std::num::NonZero;

/// What memory is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nodes, links and their queues.
    Network,
    /// Flows with their limiters, ways and totals.
    Flows,
    /// Frames in queues and on links.
    Frames,
    /// Samples of queues.
    Queues,
    /// Samples of rates and of TCP windows.
    Rates,
    /// Throughput by bin, and drops by bin.
    Bins,
    /// Messages of congestion points.
    Messages,
}

/// Octets by what they are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate([u64; Part::ALL.len()]);

/// More memory is needed than is available.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "not enough memory: about {} are needed and {} are there; {} of it for {}: {advice}", size(estimate.total()),
    size(*available), size(estimate.part(estimate.largest_part())), estimate.largest_part().name()
)]
pub struct MemoryShortage {
    /// What is needed.
    pub estimate: Estimate,
    /// Octets that are available.
    pub available: u64,
    /// What to do.
    pub advice: String,
}

/// Octets of a table's rows when a table is made of them and written, for each octet of the rows themselves.
const OUT: f64 = 2.5;
/// Octets of a run of next to nothing: its thread, and what it notes down between two looks.
const START: u64 = 64 << 10;
/// Octets of rows that are shown before they go, for each flow: some bins.
const SHOWN: u64 = 200;

impl Part {
    /// All of them, in the order of [`Estimate`].
    pub const ALL: [Part; 7] =
        [Part::Network, Part::Flows, Part::Frames, Part::Queues, Part::Rates, Part::Bins, Part::Messages];

    /// Its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Network => "nodes and links",
            Part::Flows => "flows",
            Part::Frames => "frames in queues and on links",
            Part::Queues => "samples of queues",
            Part::Rates => "samples of rates",
            Part::Bins => "throughput and drops by bin",
            Part::Messages => "messages",
        }
    }

    /// What makes it smaller.
    const fn advice(self) -> &'static str {
        match self {
            Part::Network => "take a smaller topology",
            Part::Flows => "take fewer flows",
            Part::Frames => "take smaller buffers or shorter links",
            Part::Queues => "set record.queue_every higher, or record.tables = false",
            Part::Rates => "set record.rates_every higher, or record.tables = false",
            Part::Bins => "set record.throughput_bin higher, or record.tables = false",
            Part::Messages => "set record.tables = false",
        }
    }
}

impl Estimate {
    /// What `qcnlab_lab::run` takes for these scenarios, and what makes tables of the outcomes and writes them.
    pub fn of(scenarios: &[Scenario], options: &Options) -> Estimate {
        let tasks = |s: &Scenario| u64::from(options.replications.unwrap_or(s.replications));
        let stays = |s: &Scenario| Estimate::rows(s).times(1.0 + OUT).and(Estimate::totals(s)).times(tasks(s) as f64);
        let all = scenarios.iter().map(tasks).sum();
        let once = |s: &Scenario| Estimate::shared(s).times(if s.draws_flows() { tasks(s) as f64 } else { 1.0 });
        let stay = scenarios.iter().fold(Estimate::default(), |sum, s| sum.and(stays(s)).and(once(s)));
        stay.and(Estimate::largest(scenarios.iter().map(Estimate::working)).times(jobs(options, all) as f64))
    }

    /// What [`run_each`](crate::run_each) takes, if what it hands on does not stay.
    pub fn of_each(scenarios: &[Scenario], tasks: &[Task], options: &Options) -> Estimate {
        let one = |s: &Scenario| Estimate::working(s).and(Estimate::shared(s)).and(Estimate::rows(s));
        let used = scenarios.iter().enumerate().filter(|(index, _)| tasks.iter().any(|task| task.scenario == *index));
        Estimate::largest(used.map(|(_, s)| one(s))).times(jobs(options, tasks.len() as u64) as f64)
    }

    /// Octets in all.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, part| sum.saturating_add(*part))
    }

    /// Octets of one part.
    pub const fn part(&self, part: Part) -> u64 {
        self.0[part as usize]
    }

    /// The part that takes most.
    pub fn largest_part(&self) -> Part {
        let most = |a: Part, b: Part| if self.part(b) > self.part(a) { b } else { a };
        Part::ALL.into_iter().reduce(most).unwrap_or(Part::Network)
    }

    /// Refuses what does not fit into the memory that is there. Where the system does not say, all fits.
    pub(crate) fn check(&self, options: &Options) -> Result<(), MemoryShortage> {
        let Some(available) = available().filter(|available| self.total() > *available) else { return Ok(()) };
        let part = self.largest_part();
        let fewer = options.jobs != Some(1) && matches!(part, Part::Network | Part::Flows | Part::Frames);
        let advice = format!("{}{}", part.advice(), if fewer { ", or run one at a time (-j 1)" } else { "" });
        Err(MemoryShortage { estimate: *self, available, advice })
    }

    /// What a run takes while it goes on, without its rows.
    fn working(scenario: &Scenario) -> Estimate {
        let engine = &scenario.counts.engine;
        let mut one = Estimate::default();
        one.0[Part::Network as usize] = START + engine.network_octets();
        one.0[Part::Flows as usize] = engine.flow_octets().saturating_add(engine.flows * SHOWN);
        one.0[Part::Frames as usize] = engine.frame_octets();
        one
    }

    /// What the runs of a scenario share: its network, its flows and their names.
    fn shared(scenario: &Scenario) -> Estimate {
        let engine = &scenario.counts.engine;
        let mut all = Estimate::default();
        all.0[Part::Flows as usize] = engine.plan_octets();
        all
    }

    /// What stays of a run beside its rows.
    fn totals(scenario: &Scenario) -> Estimate {
        let mut all = Estimate::default();
        all.0[Part::Flows as usize] = scenario.counts.engine.flows * size_of::<qcnlab_sim::FlowTally>() as u64;
        all
    }

    /// The rows that a run keeps for tables.
    fn rows(scenario: &Scenario) -> Estimate {
        let Counts { engine, recorded, losing, messages, several_sinks } = &scenario.counts;
        let record = &scenario.record;
        let mut rows = Estimate::default();
        if !record.tables {
            return rows;
        }
        let times = |every: Span| scenario.duration.ps() / every.ps().max(1) + 1;
        let octets = |count: u64, every: Span, each: u64| count.saturating_mul(times(every)).saturating_mul(each);
        let put = |rows: &mut Estimate, part: Part, octets: u64| rows.0[part as usize] = octets;
        put(&mut rows, Part::Queues, octets(*recorded, record.queue_every, 20));
        put(&mut rows, Part::Rates, octets(engine.flows + engine.connections, record.rates_every, 28));
        let bins = octets(engine.flows, record.throughput_bin, if *several_sinks { 32 } else { 20 });
        put(&mut rows, Part::Bins, bins.saturating_add(octets(*losing, record.throughput_bin, 32)));
        put(&mut rows, Part::Messages, messages.saturating_mul(16 + size_of::<Signal>() as u64));
        rows
    }

    fn and(self, other: Estimate) -> Estimate {
        Estimate(std::array::from_fn(|part| self.0[part].saturating_add(other.0[part])))
    }

    fn times(self, factor: f64) -> Estimate {
        Estimate(self.0.map(|part| (part as f64 * factor) as u64))
    }

    fn largest(all: impl Iterator<Item = Estimate>) -> Estimate {
        all.max_by_key(Estimate::total).unwrap_or_default()
    }
}

/// Runs at a time.
fn jobs(options: &Options, tasks: u64) -> u64 {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    (options.jobs.filter(|jobs| *jobs > 0).unwrap_or_else(cores) as u64).min(tasks)
}

/// Octets as text, to two digits or more.
pub(crate) fn size(octets: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = octets as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(value < 9.95 && unit > 0);
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_text() {
        let sizes = [0, 999, 1000, 9949, 9950, 999_499, 999_500, 12_345_678, u64::MAX];
        let texts = ["0 B", "999 B", "1.0 KB", "9.9 KB", "10 KB", "999 KB", "1.0 MB", "12 MB", "18 EB"];
        assert_eq!(sizes.map(size), texts);
    }

    #[test]
    fn sums_do_not_overflow() {
        let most = Estimate([u64::MAX; Part::ALL.len()]);
        assert_eq!(most.and(most).times(4.0).total(), u64::MAX);
        assert_eq!(most.largest_part(), Part::Network);
    }
}
