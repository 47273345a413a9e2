//! A run as metrics see it.

use super::flow_octets::FlowOctets;
use super::meter::Meter;
use super::tallies::{SampleStats, Streak};
use crate::fabric::{Fabric, Shares};
use crate::scenario::Scenario;
use qcnlab_sim::{Finished, FlowTally, TcpTally};
use qcnlab_units::Instant;
use std::ops::Range;

/// A run as metrics see it: the sums of the meter, and the totals.
pub(super) struct RunView<'a> {
    pub(super) done: &'a Finished,
    pub(super) meter: Meter<'a>,
    pub(super) hotspot_bps: Option<f64>,
    fabric: &'a Fabric,
}

const MS: f64 = 1e9;

impl<'a> RunView<'a> {
    pub(super) fn new(
        scenario: &Scenario,
        fabric: &'a Fabric,
        mut meter: Meter<'a>,
        done: &'a Finished,
    ) -> RunView<'a> {
        meter.close();
        let hotspot_bps = scenario.hotspots.first().map(|hotspot| hotspot.rate.as_f64());
        RunView { done, meter, hotspot_bps, fabric }
    }

    /// A rate as a share of what the link carries.
    pub(super) fn of_link(&self, bps: Option<f64>) -> Option<f64> {
        Some(bps? / self.fabric.link_bps)
    }

    /// From the end of the hotspot to the end of the first bin of a streak.
    pub(super) fn ms_after_hotspot(&self, streak: &Streak) -> Option<f64> {
        let after = self.meter.windows.after.as_ref()?;
        Some((self.end_of(streak.first()?) - after.start) as f64 / MS)
    }

    fn end_of(&self, bin: u64) -> u64 {
        (bin + 1) * self.meter.windows.bin
    }

    pub(super) fn onset_ms(&self) -> Option<f64> {
        let during = self.meter.windows.during.as_ref()?;
        Some((self.meter.queue.onset.first()? * self.meter.windows.queue_every - during.start) as f64 / MS)
    }

    fn recovered(&self) -> bool {
        self.meter.bins.recovery.first().is_some()
    }

    /// The windows outside the hotspot and its recovery.
    fn outside(&self) -> Vec<Range<u64>> {
        let windows = &self.meter.windows;
        let from = |after: &Range<u64>| self.meter.bins.recovery.first().map_or(after.start, |bin| self.end_of(bin));
        let after = windows.after.as_ref().map(|after| from(after)..after.end);
        [windows.before.clone()].into_iter().chain(after).collect()
    }

    pub(super) fn outside_bps(&self) -> Option<f64> {
        let bins = &self.meter.bins;
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

    pub(super) fn of_tcp(&self, of: impl Fn(&TcpTally) -> u64) -> f64 {
        self.done.flows.iter().filter_map(|flow| flow.tcp.as_ref()).map(of).sum::<u64>() as f64
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
        let flows = self.meter.octets.whole.iter().zip(&self.fabric.crossing).filter(|(_, crosses)| counts(**crosses));
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

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
