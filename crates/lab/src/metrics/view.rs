//! A run as metrics look at it: bins, samples and windows.

use crate::fabric::{Fabric, Shares};
use crate::scenario::Scenario;
use qcnlab_sim::{Finished, FlowTally, TcpTally, Trace};
use qcnlab_units::Instant;
use std::collections::HashMap;
use std::ops::Range;

/// A run as metrics look at it: bins and samples of the bottleneck, and the windows. Times are ps.
pub(super) struct View<'a> {
    pub(super) done: &'a Finished,
    link_bps: f64,
    offered_bps: f64,
    pub(super) hotspot_bps: Option<f64>,
    set_point: Option<f64>,
    bin: u64,
    queue_every: u64,
    /// Octets a bin, all flows that cross the bottleneck together.
    bins: Vec<u64>,
    /// Queue lengths, one each `queue_every`.
    samples: Vec<f64>,
    pub(super) before: Range<u64>,
    pub(super) during: Option<Range<u64>>,
    pub(super) after: Option<Range<u64>>,
    /// From the end of warm-up to the end.
    whole: Range<u64>,
    fabric: &'a Fabric,
}

const MS: u64 = 1_000_000_000;

impl<'a> View<'a> {
    pub(super) fn new(scenario: &Scenario, fabric: &'a Fabric, done: &'a Finished) -> View<'a> {
        let end = scenario.duration.ps();
        let hotspot = scenario.hotspots.first();
        let next_start = scenario.hotspots.get(1).map_or(end, |next| next.from.ps());
        let bin = scenario.record.throughput_bin.ps();
        View {
            done,
            link_bps: fabric.link_bps,
            offered_bps: fabric.offered_bps,
            hotspot_bps: hotspot.map(|h| h.rate.as_f64()),
            set_point: scenario.scheme.set_point().map(|b| b.as_f64()),
            bin,
            queue_every: scenario.record.queue_every.ps(),
            bins: total_bins(&done.trace, bin, end, &fabric.crossing),
            samples: samples(&done.trace, fabric.bottleneck),
            before: scenario.warmup.ps()..hotspot.map_or(end, |h| h.from.ps()),
            during: hotspot.map(|h| h.from.ps()..h.until.ps()),
            after: hotspot.map(|h| h.until.ps()..next_start),
            whole: scenario.warmup.ps()..end,
            fabric,
        }
    }

    /// What the link and the sources allow.
    pub(super) fn possible_bps(&self) -> f64 {
        self.link_bps.min(self.offered_bps)
    }

    fn bin_bps(&self, index: usize) -> f64 {
        self.bins[index] as f64 * 8.0 / (self.bin as f64 * 1e-12)
    }

    /// The bins that lie wholly inside a window.
    fn bins_in(&self, window: Range<u64>) -> Range<usize> {
        let first = window.start.div_ceil(self.bin) as usize;
        let last = ((window.end / self.bin) as usize).min(self.bins.len());
        first..last.max(first)
    }

    pub(super) fn mean_bps(&self, window: Range<u64>) -> Option<f64> {
        let bins = self.bins_in(window);
        let count = bins.len();
        (count > 0).then(|| bins.map(|i| self.bin_bps(i)).sum::<f64>() / count as f64)
    }

    pub(super) fn before_bps(&self) -> Option<f64> {
        self.mean_bps(self.before.clone())
    }

    pub(super) fn utilisation(&self, window: Range<u64>) -> Option<f64> {
        Some(self.mean_bps(window)? / self.link_bps)
    }

    /// From the end of the hotspot to the end of the first bin from which on every bin of
    /// `hold_ms` (at least one bin) is at `bps` or above.
    pub(super) fn first_bin_after_hotspot(&self, bps: f64, hold_ms: u64) -> Option<f64> {
        let after = self.after.clone()?;
        let bins = self.bins_in(after.clone());
        let hold = ((hold_ms * MS).div_ceil(self.bin) as usize).max(1);
        let mut run = 0;
        for index in bins {
            run = if self.bin_bps(index) >= bps { run + 1 } else { 0 };
            if run == hold {
                let end_of_first = (index + 2 - hold) as u64 * self.bin;
                return Some((end_of_first - after.start) as f64 / MS as f64);
            }
        }
        None
    }

    pub(super) fn onset_ms(&self) -> Option<f64> {
        let limit = 2.0 * self.set_point?;
        let during = self.during.clone()?;
        let hold = (10 * MS).div_ceil(self.queue_every);
        let first = during.start.div_ceil(self.queue_every);
        let last = (during.end / self.queue_every).min(self.samples.len() as u64);
        let mut run = 0;
        for index in first..last {
            run = if self.samples[index as usize] <= limit { run + 1 } else { 0 };
            if run == hold {
                return Some(((index + 1 - hold) * self.queue_every - during.start) as f64 / MS as f64);
            }
        }
        None
    }

    /// The windows outside the hotspot and its recovery.
    fn outside(&self) -> Vec<Range<u64>> {
        let mut windows = vec![self.before.clone()];
        if let Some(after) = &self.after {
            let recovery = self.before_bps().and_then(|bps| self.first_bin_after_hotspot(0.95 * bps, 10));
            let recovered = after.start + (recovery.unwrap_or(0.0) * MS as f64) as u64;
            windows.push(recovered.min(after.end)..after.end);
        }
        windows
    }

    pub(super) fn outside_bps(&self) -> Option<f64> {
        let bins: Vec<f64> =
            self.outside().into_iter().flat_map(|window| self.bins_in(window)).map(|i| self.bin_bps(i)).collect();
        (!bins.is_empty()).then(|| mean(&bins))
    }

    pub(super) fn queue(&self, of: impl Fn(&[f64]) -> f64) -> Option<f64> {
        self.queue_in(self.outside(), of)
    }

    /// `of` over the queue samples inside `windows`.
    pub(super) fn queue_in(&self, windows: Vec<Range<u64>>, of: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let mut inside = Vec::new();
        for window in windows {
            let first = (window.start.div_ceil(self.queue_every) as usize).min(self.samples.len());
            let last = (window.end.div_ceil(self.queue_every) as usize).min(self.samples.len());
            inside.extend_from_slice(&self.samples[first..last.max(first)]);
        }
        (!inside.is_empty()).then(|| of(&inside))
    }

    pub(super) fn of_tcp(&self, of: impl Fn(&TcpTally) -> u64) -> f64 {
        self.done.flows.iter().filter_map(|flow| flow.tcp.as_ref()).map(of).sum::<u64>() as f64
    }

    /// Octets each flow got in bins that begin in one of `windows`, and how many seconds these are.
    fn octets(&self, windows: &[Range<u64>]) -> (Vec<f64>, f64) {
        let rows = &self.done.trace.throughput;
        let mut sums = vec![0.0; self.done.flows.len()];
        for ((time, flow), bytes) in rows.time.iter().zip(&rows.flow).zip(&rows.bytes) {
            if windows.iter().any(|window| window.contains(time)) {
                sums[*flow as usize] += *bytes as f64;
            }
        }
        let all = self.bins.len() as u64;
        let begins = |window: &Range<u64>| window.start.div_ceil(self.bin)..window.end.div_ceil(self.bin).min(all);
        let bins: usize = windows.iter().map(|window| begins(window).count()).sum();
        (sums, bins as f64 * self.bin as f64 * 1e-12)
    }

    pub(super) fn jain(&self) -> Option<f64> {
        let (sums, _) = self.octets(&self.outside());
        let total: f64 = sums.iter().sum();
        let squares: f64 = sums.iter().map(|x| x * x).sum();
        (squares > 0.0).then(|| total * total / (sums.len() as f64 * squares))
    }

    /// Mean rates from the end of warm-up to the end, of the flows wanted: told whether a flow crosses the bottleneck.
    pub(super) fn whole_gbps(&self, wanted: impl Fn(bool) -> bool) -> Option<Vec<f64>> {
        let (sums, seconds) = self.octets(std::slice::from_ref(&self.whole));
        let flows = sums.iter().zip(&self.fabric.crossing).filter(|(_, crosses)| wanted(**crosses));
        (seconds > 0.0).then(|| flows.map(|(bytes, _)| bytes * 8e-9 / seconds).collect())
    }

    pub(super) fn rate_ratio(&self) -> Option<f64> {
        let rates = self.whole_gbps(|crosses| crosses)?;
        let smallest = rates.iter().copied().reduce(f64::min).filter(|rate| *rate > 0.0)?;
        Some(rates.iter().copied().fold(smallest, f64::max) / smallest)
    }

    pub(super) fn shares(&self) -> Option<&Shares> {
        self.fabric.shares()
    }

    /// How far the mean rates outside the hotspot and its recovery are from `shares`, in bit/s.
    pub(super) fn off(&self, shares: &[f64]) -> Option<f64> {
        let (sums, seconds) = self.octets(&self.outside());
        let part = |(bytes, share): (&f64, &f64)| (bytes * 8.0 / seconds / share - 1.0).powi(2);
        (seconds > 0.0).then(|| mean(&sums.iter().zip(shares).map(part).collect::<Vec<_>>()).sqrt())
    }

    pub(super) fn unfinished(&self) -> f64 {
        let waits = |tally: &&FlowTally| tally.total_bytes.is_some() && tally.finished == Instant::NEVER;
        self.done.flows.iter().filter(waits).count() as f64
    }

    /// `of` over the slowdowns of all flows that have one, smallest first.
    pub(super) fn slowdown(&self, of: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let mut known: Vec<f64> = slowdowns(self.fabric, self.done).into_iter().flatten().collect();
        known.sort_unstable_by(f64::total_cmp);
        (!known.is_empty()).then(|| of(&known))
    }

    pub(super) fn paused_frac(&self) -> f64 {
        let rows = &self.done.trace.pauses;
        let mut sums: HashMap<(u32, Option<u8>), u64> = HashMap::new();
        for (((start, end), port), class) in rows.start.iter().zip(&rows.end).zip(&rows.port).zip(&rows.class) {
            *sums.entry((*port, *class)).or_default() += end.min(&self.whole.end).saturating_sub(*start);
        }
        sums.values().copied().max().unwrap_or(0) as f64 / self.whole.end as f64
    }
}

/// For each flow the time it took by the time it would have taken alone, if it finished and both are known.
pub(crate) fn slowdowns(fabric: &Fabric, done: &Finished) -> Vec<Option<f64>> {
    let one = |(flow, tally): (usize, &FlowTally)| {
        let (start, alone) = fabric.alone(flow)?;
        let took = (tally.finished != Instant::NEVER).then(|| tally.finished.since(start))?;
        Some(took.seconds() / alone.seconds())
    };
    done.flows.iter().enumerate().map(one).collect()
}

/// Octets a bin of the flows that cross the bottleneck.
fn total_bins(trace: &Trace, bin: u64, end: u64, crossing: &[bool]) -> Vec<u64> {
    let mut bins = vec![0; (end / bin) as usize];
    let rows = &trace.throughput;
    for ((time, flow), bytes) in rows.time.iter().zip(&rows.flow).zip(&rows.bytes) {
        if crossing[*flow as usize] {
            bins[(time / bin) as usize] += bytes;
        }
    }
    bins
}

fn samples(trace: &Trace, port: u32) -> Vec<f64> {
    let rows = &trace.queues;
    rows.port.iter().zip(&rows.bytes).filter(|(p, _)| **p == port).map(|(_, bytes)| *bytes as f64).collect()
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}
