//! A run as metrics see it.

use super::completion::{Completion, completions};
use super::flow_octets::FlowOctets;
use super::meter::{Meter, RateSums};
use super::tallies::SampleStats;
use crate::fabric::{Fabric, Shares};
use qcnlab_scenario::Scenario;
use qcnlab_sim::{Counters, Ending, Finished, FlowTally, RoceTally, TcpTally};
use std::ops::Range;

/// A run as metrics see it: the sums of the meter, and the totals.
pub(super) struct RunView<'a> {
    pub(super) done: &'a Finished,
    pub(super) meter: Meter,
    /// Rate of the bottleneck during the hotspot, bit/s.
    pub(super) hotspot_bps: Option<f64>,
    pub(super) parts: Parts,
    fabric: &'a Fabric,
    completions: Vec<Completion>,
}

/// What a scenario may have that discards frames or sends them.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) storms: bool,
    pub(super) watchdogs: bool,
    pub(super) failures: bool,
    pub(super) trimming: bool,
}

const MS: f64 = 1e9;

impl<'a> RunView<'a> {
    pub(super) fn new(scenario: &Scenario, fabric: &'a Fabric, mut meter: Meter, done: &'a Finished) -> RunView<'a> {
        meter.close(done.end.ps());
        let hotspot_bps = scenario.hotspots.first().map(|hotspot| match fabric.hotspot_at_bottleneck {
            true => hotspot.rate.as_f64(),
            false => fabric.link_bps,
        });
        let completions = completions(fabric, done).into_iter().flatten().collect();
        let parts = Parts {
            storms: !scenario.pause_storms.is_empty(),
            watchdogs: !scenario.watchdogs.is_empty(),
            failures: !scenario.failures.is_empty(),
            trimming: scenario.switches.iter().any(|switch| switch.trim_to.is_some()),
        };
        RunView { done, meter, hotspot_bps, parts, fabric, completions }
    }

    /// The rates through the bottleneck, if they are known: each flow crosses it with all its frames or with none.
    pub(super) fn through(&self) -> Option<&RateSums> {
        self.fabric.always_crossed.then_some(&self.meter.bins)
    }

    /// A total of the run, if the scenario has what it counts.
    pub(super) fn count_if(&self, has: bool, of: fn(&Counters) -> u64) -> Option<f64> {
        has.then(|| of(&self.done.counters) as f64)
    }

    /// A rate as a share of what the link carries.
    pub(super) fn share_of_link(&self, bps: Option<f64>) -> Option<f64> {
        Some(bps? / self.fabric.link_bps)
    }

    /// From the end of the hotspot to the start of a bin.
    pub(super) fn ms_after_hotspot(&self, bin: impl Fn(&RateSums) -> Option<u64>) -> Option<f64> {
        let bin = bin(self.through()?)?;
        let after = self.meter.windows.after.as_ref()?;
        Some((bin * self.meter.windows.bin - after.start) as f64 / MS)
    }

    pub(super) fn onset_ms(&self) -> Option<f64> {
        let during = self.meter.windows.during.as_ref()?;
        Some((self.meter.queue.onset.first()? * self.meter.windows.queue_every - during.start) as f64 / MS)
    }

    fn recovered(&self) -> bool {
        self.recovery_bin().is_some()
    }

    /// The first bin of the recovery, if there is one and throughput tells it.
    fn recovery_bin(&self) -> Option<u64> {
        self.through()?.recovery.first()
    }

    /// The windows outside the hotspot and its recovery.
    fn outside(&self) -> Vec<Range<u64>> {
        let windows = &self.meter.windows;
        let from = |after: &Range<u64>| self.recovery_bin().map_or(after.start, |bin| bin * windows.bin);
        let after = windows.after.as_ref().map(|after| from(after)..after.end);
        [windows.before.clone()].into_iter().chain(after).collect()
    }

    pub(super) fn outside_bps(&self) -> Option<f64> {
        let bins = self.through()?;
        if self.recovered() { bins.outside.value() } else { bins.around.value() }
    }

    /// `of` the queue samples outside the hotspot and its recovery.
    pub(super) fn queue(&self, of: impl Fn(&SampleStats) -> f64) -> Option<f64> {
        let queue = &self.meter.queue;
        let all = queue.before + if self.recovered() { queue.recovered } else { queue.after };
        (!all.is_empty()).then(|| of(&all))
    }

    pub(super) fn queue_during(&self) -> Option<f64> {
        let during = &self.meter.queue.during;
        (!during.is_empty()).then(|| during.mean())
    }

    /// A sum over all connections and queue pairs.
    pub(super) fn sum_over_transports(&self, tcp: fn(&TcpTally) -> u64, roce: fn(&RoceTally) -> u64) -> f64 {
        let of = |flow: &FlowTally| flow.tcp.as_ref().map_or(0, tcp) + flow.roce.as_ref().map_or(0, roce);
        self.done.flows.iter().map(of).sum::<u64>() as f64
    }

    /// What each queue pair counted; `None` without any.
    pub(super) fn queue_pair_counts(&self, roce: fn(&RoceTally) -> u64) -> Option<impl Iterator<Item = u64>> {
        let pairs = || self.done.flows.iter().filter_map(|flow| flow.roce.as_ref());
        pairs().next().map(|_| pairs().map(roce))
    }

    /// Octets of each flow outside the hotspot and its recovery.
    pub(super) fn octets_outside(&self) -> FlowOctets {
        let octets = &self.meter.octets;
        let after = if self.recovered() { &octets.recovered } else { &octets.after };
        let rest = after.iter().copied().chain(std::iter::repeat(0));
        let sums = octets.before.iter().zip(rest).map(|(before, rest)| (before + rest) as f64).collect();
        FlowOctets { octets: sums, seconds: self.meter.windows.seconds(&self.outside()) }
    }

    /// Octets from the end of warm-up to the end, of the flows that count: told whether a flow crosses the bottleneck.
    pub(super) fn octets_whole(&self, counts: fn(bool) -> bool) -> FlowOctets {
        let windows = &self.meter.windows;
        let seconds = windows.seconds(std::slice::from_ref(&windows.whole));
        let flows =
            self.meter.octets.whole.iter().zip(self.fabric.crossing.iter()).filter(|(_, crosses)| counts(**crosses));
        FlowOctets { octets: flows.map(|(octets, _)| *octets as f64).collect(), seconds }
    }

    pub(super) fn shares(&self) -> Option<&Shares> {
        self.fabric.shares()
    }

    /// Root mean square relative difference of the mean rates outside the hotspot and its recovery from `shares`, bit/s.
    pub(super) fn off(&self, shares: &[f64]) -> Option<f64> {
        let FlowOctets { octets: sums, seconds } = self.octets_outside();
        let part = |(bytes, share): (&f64, &f64)| (bytes * 8.0 / seconds / share - 1.0).powi(2);
        (seconds > 0.0).then(|| mean(&sums.iter().zip(shares).map(part).collect::<Vec<_>>()).sqrt())
    }

    /// Flows of a size that started.
    pub(super) fn started(&self) -> f64 {
        self.completions.len() as f64
    }

    /// Those of them that did not finish.
    pub(super) fn unfinished(&self) -> f64 {
        self.completions.iter().filter(|one| !one.finished).count() as f64
    }

    /// Flows of a size that did not start.
    pub(super) fn never_started(&self) -> f64 {
        let sized = self.done.flows.ids().filter(|flow| self.fabric.alone(*flow).is_some()).count();
        (sized - self.completions.len()) as f64
    }

    /// `of` the values that `value` gives for flows of a size that started, smallest first.
    pub(super) fn completion(&self, value: fn(&Completion) -> f64, of: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let mut values: Vec<f64> = self.completions.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        (!values.is_empty()).then(|| of(&values))
    }

    /// When the run was found to stand still in a circle of pauses, ms.
    pub(super) fn deadlock_ms(&self) -> Option<f64> {
        matches!(self.done.ending, Ending::Deadlock { .. }).then(|| self.done.end.ps() as f64 / MS)
    }
}

/// How long a flow took, or has taken so far, ms.
pub(super) fn took_ms(completion: &Completion) -> f64 {
    completion.took.ps() as f64 / MS
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
