//! How much memory runs take, told before they begin.
//!
//! Each thing of a scenario counts with as many octets as the allocator was seen to hand out for it;
//! `tests/memory.rs` holds the sums between 0.8 and 2.5 times what runs take. [`PAUSED_PORT`] and [`MESSAGE`] are not counted
//! but fitted, to what whole runs of messages over RoCE take; the same file holds such runs between 0.8 and 1.2:
//! `cargo test --release -p qcnlab-lab --test memory`.

#[cfg(feature = "files")]
use crate::available::available;
use crate::tasks::{Options, Task};
use qcnlab_scenario::{Counts, Scenario};
use qcnlab_schemes::Signal;
use qcnlab_units::Span;
use std::num::NonZero;

/// What memory is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nodes, links and their queues.
    Network,
    /// Flows with their limiters, paths and totals.
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate([f64; Part::ALL.len()]);

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

/// Octets of a run whatever its scenario: its thread, and the table of pending events.
const RUN: u64 = 144 << 10;
/// Octets of a node, with its name.
const NODE: u64 = 256;
/// Octets of a port, with its name and empty queues.
const PORT: u64 = 768;
/// What it takes on top where links are paused: queues by class, and counts of what arrived.
const PAUSED_PORT: u64 = 2480;
/// Octets of a flow while its run goes on, and those that stay after it.
const FLOW: u64 = 1152;
const FLOW_KEPT: u64 = 512;
/// Octets of a message that has its queue pair and its limiter only while it lasts, beyond those that stay after the run.
const MESSAGE: u64 = 128;
/// What a TCP connection takes on top.
const CONNECTION: u64 = 1536;
/// Octets of a link of a flow's path.
const HOP: u64 = 16;
/// Octets of a frame.
const FRAME: u64 = 24;
/// Octets of a row of each table of samples. Bins count with those of drops, which flows without loss do not have.
const QUEUE_ROW: u64 = 20;
const RATES_ROW: u64 = 28;
const BIN_ROW: u64 = 52;
/// Octets of a row of a bin that is not kept, while it waits for the metrics in columns that grow, and how many bins may
/// wait: a short run with few events is over before they are read.
const UNREAD_BIN_ROW: u64 = 26;
const UNREAD_BINS: u64 = 100;
const MESSAGE_ROW: u64 = 16 + size_of::<Signal>() as u64;
/// Octets of a table when it is made of rows and written, for each octet of the rows.
const WRITING: f64 = 2.5;

impl Part {
    /// All of them, in the order of [`Estimate`].
    pub const ALL: [Part; 7] =
        [Part::Network, Part::Flows, Part::Frames, Part::Queues, Part::Rates, Part::Bins, Part::Messages];

    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// Its name, and what makes it smaller.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Part::Network => ("nodes and links", "take a smaller topology"),
            Part::Flows => ("flows", "take fewer flows"),
            Part::Frames => ("frames in queues and on links", "take smaller buffers or shorter links"),
            Part::Queues => ("samples of queues", "set record.queue_every higher, or record.tables = false"),
            Part::Rates => ("samples of rates", "set record.rates_every higher, or record.tables = false"),
            Part::Bins => ("throughput and drops by bin", "set record.throughput_bin higher, or record.tables = false"),
            Part::Messages => ("messages", "set record.tables = false"),
        }
    }
}

impl Estimate {
    /// Estimate what `qcnlab_lab::run` takes for these scenarios, and what makes tables of the outcomes and writes
    /// them.
    pub fn of(scenarios: &[Scenario], options: &Options) -> Estimate {
        let replications = |s: &Scenario| options.replications.unwrap_or(s.replications);
        let kept = |s: &Scenario| {
            let totals = Estimate::default().with(Part::Flows, s.counts.flows * FLOW_KEPT);
            Estimate::running_and_rows(s, options).1.times(1.0 + WRITING).plus(totals).times(f64::from(replications(s)))
        };
        let all = scenarios.iter().map(|s| u64::from(replications(s))).sum();
        let kept = scenarios.iter().map(kept).fold(Estimate::default(), Estimate::plus);
        let running = |s: &Scenario| Estimate::running_and_rows(s, options).0;
        kept.plus(Estimate::largest(scenarios.iter().map(running)).times(jobs(options, all)))
    }

    /// Estimate what [`run_each`](crate::run_each) takes, if what it hands on does not stay.
    pub fn of_each(scenarios: &[Scenario], tasks: &[Task], options: &Options) -> Estimate {
        let one = |s: &Scenario| {
            let (running, rows) = Estimate::running_and_rows(s, options);
            running.plus(rows)
        };
        let used = scenarios.iter().enumerate().filter(|(index, _)| tasks.iter().any(|task| task.scenario == *index));
        Estimate::largest(used.map(|(_, s)| one(s))).times(jobs(options, tasks.len() as u64))
    }

    /// Returns the octets in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum::<f64>() as u64
    }

    /// Returns the octets of one part.
    pub const fn part(&self, part: Part) -> u64 {
        self.0[part as usize] as u64
    }

    /// Returns the part that takes most.
    pub fn largest_part(&self) -> Part {
        let most = |a: Part, b: Part| if self.part(b) > self.part(a) { b } else { a };
        Part::ALL.into_iter().reduce(most).unwrap_or(Part::Network)
    }

    /// Refuses what does not fit into the memory that is available. Where the system does not say, all fits.
    pub(crate) fn check(&self, options: &Options) -> Result<(), MemoryShortage> {
        let Some(available) = available().filter(|available| self.total() > *available) else { return Ok(()) };
        let part = self.largest_part();
        let fewer = options.jobs != Some(1) && matches!(part, Part::Network | Part::Flows | Part::Frames);
        let advice = format!("{}{}", part.words().1, if fewer { ", or run one at a time (-j 1)" } else { "" });
        Err(MemoryShortage { estimate: *self, available, advice })
    }

    /// What a run takes while it goes on, and its rows; one without packets has no frames and no rows.
    fn running_and_rows(scenario: &Scenario, options: &Options) -> (Estimate, Estimate) {
        let running = Estimate::running(scenario);
        match options.flow_level {
            true => (running.without(Part::Frames).without(Part::Bins), Estimate::default()),
            false => (running, Estimate::rows(scenario)),
        }
    }

    fn without(self, part: Part) -> Estimate {
        self.with(part, 0)
    }

    /// What a run takes while it goes on, without its rows.
    fn running(scenario: &Scenario) -> Estimate {
        let Counts { nodes, ports, flows, short_lived, connections, hops, frames, .. } = scenario.counts;
        let record = &scenario.record;
        let bins = scenario.duration.ps() / record.throughput_bin.ps().max(1);
        let pausing = if scenario.counts.pauses { ports * PAUSED_PORT } else { 0 };
        let unread = if record.tables { 0 } else { flows.saturating_mul(bins.min(UNREAD_BINS)) };
        Estimate::default()
            .with(Part::Bins, unread.saturating_mul(UNREAD_BIN_ROW))
            .with(Part::Network, RUN + nodes * NODE + ports * PORT + pausing)
            .with(
                Part::Flows,
                (flows - short_lived) * FLOW + short_lived * MESSAGE + connections * CONNECTION + hops * HOP,
            )
            .with(Part::Frames, frames.saturating_mul(FRAME))
    }

    /// The rows that a run keeps for tables.
    fn rows(scenario: &Scenario) -> Estimate {
        let Counts { flows, connections, recorded, messages, .. } = scenario.counts;
        let record = &scenario.record;
        if !record.tables {
            return Estimate::default();
        }
        let rows = |count: u64, every: Span| count.saturating_mul(scenario.duration.ps() / every.ps().max(1) + 1);
        Estimate::default()
            .with(Part::Queues, rows(recorded, record.queue_every).saturating_mul(QUEUE_ROW))
            .with(Part::Rates, rows(flows + connections, record.rates_every).saturating_mul(RATES_ROW))
            .with(Part::Bins, rows(flows, record.throughput_bin).saturating_mul(BIN_ROW))
            .with(Part::Messages, messages.saturating_mul(MESSAGE_ROW))
    }

    fn with(mut self, part: Part, octets: u64) -> Estimate {
        self.0[part as usize] = octets as f64;
        self
    }

    fn plus(self, other: Estimate) -> Estimate {
        Estimate(std::array::from_fn(|part| self.0[part] + other.0[part]))
    }

    fn times(self, factor: f64) -> Estimate {
        Estimate(self.0.map(|octets| octets * factor))
    }

    fn largest(all: impl Iterator<Item = Estimate>) -> Estimate {
        all.max_by_key(Estimate::total).unwrap_or_default()
    }
}

/// Nobody says how much memory there is.
#[cfg(not(feature = "files"))]
fn available() -> Option<u64> {
    None
}

/// Runs at a time.
fn jobs(options: &Options, tasks: u64) -> f64 {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    (options.jobs.filter(|jobs| *jobs > 0).unwrap_or_else(cores) as u64).min(tasks) as f64
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
        let most = Estimate([u64::MAX as f64; Part::ALL.len()]);
        assert_eq!(most.plus(most).times(4.0).total(), u64::MAX);
        assert_eq!(most.largest_part(), Part::Network);
    }
}
