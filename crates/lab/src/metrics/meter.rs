//! The sums that metrics need of a run, taken from its rows as they come, so that the rows need not be kept.
//!
//! Most sums are over windows that are known before the run. The time from recovery on is not: recovery begins with a bin
//! that is known only when the level has lasted, so the newest bins are kept one by one until then. Rows later than the
//! last complete bin wait until their bin is complete.

use super::recovery::Recovery;
use super::tallies::{RunningMean, SampleStats, Streak};
use super::windows::Windows;
use crate::fabric::Fabric;
use qcnlab_scenario::Scenario;
use qcnlab_sim::{FlowId, PortId, Trace};
use qcnlab_units::{Id, IdVec};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The share of what link and sources allow at which throughput has recovered.
const LEVEL: f64 = 0.95;

/// Reads the rows of one run.
pub(crate) struct Meter {
    pub(super) windows: Windows,
    crossing: Arc<IdVec<FlowId, bool>>,
    bottleneck: PortId,
    rows_stay: bool,
    /// Rows read already: of throughput, of queues, of pauses.
    rows_read: [usize; 3],
    pub(super) bins: RateSums,
    pub(super) octets: OctetSums,
    pub(super) queue: QueueSums,
    /// The newest bins, as many as recovery must last, until it is decided.
    newest: VecDeque<ClosedBin>,
    /// Picoseconds for which each port, and class where classes stop by themselves, was stopped.
    paused: HashMap<(u32, Option<u8>), u64>,
}

/// Rates through the bottleneck, bit/s, bin by bin.
pub(super) struct RateSums {
    /// Bins without the rows of all flows; the first one is number `next`.
    open: VecDeque<OpenBin>,
    next: u64,
    pub(super) before: RunningMean,
    pub(super) during: RunningMean,
    pub(super) after: RunningMean,
    /// Before the hotspot and after it.
    pub(super) around: RunningMean,
    /// Before the hotspot and from recovery on.
    pub(super) outside: RunningMean,
    pub(super) recovery: Recovery,
    /// The smaller of link rate and offered rate, bit/s.
    possible_bps: f64,
    pub(super) one_at_95: Streak,
    pub(super) lasting_at_95: Streak,
}

#[derive(Default)]
struct OpenBin {
    /// Octets of all flows that cross the bottleneck.
    octets: u64,
    /// Number of flows whose rows are read.
    rows: usize,
    /// Octets by flow while the recovery is not decided; otherwise empty.
    by_flow: IdVec<FlowId, u64>,
}

/// What a complete bin adds to the sums from recovery on.
struct ClosedBin {
    by_flow: IdVec<FlowId, u64>,
    queue: SampleStats,
}

/// Octets by flow, of bins that begin in a window.
pub(super) struct OctetSums {
    pub(super) whole: IdVec<FlowId, u64>,
    pub(super) before: IdVec<FlowId, u64>,
    pub(super) after: IdVec<FlowId, u64>,
    /// From recovery on.
    pub(super) recovered: IdVec<FlowId, u64>,
}

/// Lengths of the bottleneck's queue, octets.
pub(super) struct QueueSums {
    count: u64,
    pub(super) before: SampleStats,
    pub(super) during: SampleStats,
    pub(super) after: SampleStats,
    /// From recovery on.
    pub(super) recovered: SampleStats,
    /// Samples of the time after the hotspot that are younger than the bins counted so far: when, and octets.
    waiting: VecDeque<(u64, u64)>,
    limit: Option<f64>,
    pub(super) onset: Streak,
}

impl Meter {
    pub(crate) fn new(scenario: &Scenario, fabric: &Fabric) -> Meter {
        let windows = Windows::of(scenario);
        let sums = |needed: bool| if needed { IdVec::for_each_of(&fabric.crossing, 0) } else { IdVec::new() };
        let hot = windows.after.is_some();
        Meter {
            crossing: fabric.crossing.clone(),
            bottleneck: fabric.bottleneck,
            rows_stay: scenario.record.tables,
            rows_read: [0; 3],
            bins: RateSums::new(&windows, fabric.possible_bps()),
            octets: OctetSums { whole: sums(true), before: sums(true), after: sums(hot), recovered: sums(hot) },
            queue: QueueSums::new(&windows, scenario),
            newest: VecDeque::new(),
            paused: HashMap::new(),
            windows,
        }
    }

    /// Reads the rows that are new since the last call. Unless rows are kept, all are new.
    pub(crate) fn read_rows(&mut self, trace: &Trace) {
        let [throughput, queues, pauses] = self.rows_read;
        let rows = &trace.queues;
        for row in queues..rows.time.len() {
            if rows.port[row] == self.bottleneck.number() {
                self.queue.push(&self.windows, &self.bins, rows.time[row], rows.bytes[row]);
            }
        }
        let rows = &trace.throughput;
        for row in throughput..rows.time.len() {
            self.count(rows.time[row], FlowId::new(rows.flow[row]), rows.bytes[row]);
        }
        let rows = &trace.pauses;
        for row in pauses..rows.start.len() {
            let end = rows.end[row].min(self.windows.whole.end);
            *self.paused.entry((rows.port[row], rows.class[row])).or_default() += end.saturating_sub(rows.start[row]);
        }
        if self.rows_stay {
            self.rows_read = [trace.throughput.time.len(), trace.queues.time.len(), trace.pauses.start.len()];
        }
    }

    /// Completes the bins of a run without flows, and counts the samples that wait. The run ended at `end`, ps.
    pub(super) fn close(&mut self, end: u64) {
        self.windows.cut(end);
        while self.bins.next < self.windows.all_bins() {
            let bin = self.bins.open.pop_front().unwrap_or_default();
            self.close_bin(bin);
        }
        let rest = self.queue.take_until(u64::MAX);
        self.queue.recovered = self.queue.recovered + rest;
    }

    /// The share of the run during which the port that was stopped longest was stopped.
    pub(super) fn paused_frac(&self) -> f64 {
        self.paused.values().copied().max().unwrap_or(0) as f64 / self.windows.whole.end as f64
    }

    /// Counts a row: octets of a flow in the bin that begins at `time`.
    fn count(&mut self, time: u64, flow: FlowId, octets: u64) {
        let bins = &mut self.bins;
        let index = (time / self.windows.bin - bins.next) as usize;
        if index >= bins.open.len() {
            bins.open.resize_with(index + 1, OpenBin::default);
        }
        let bin = &mut bins.open[index];
        bin.rows += 1;
        bin.octets += if self.crossing[flow] { octets } else { 0 };
        let sums = &mut self.octets;
        if self.windows.whole.contains(&time) {
            sums.whole[flow] += octets;
        }
        if self.windows.before.contains(&time) {
            sums.before[flow] += octets;
        }
        if self.windows.after.as_ref().is_some_and(|after| after.contains(&time)) {
            sums.after[flow] += octets;
            if bins.recovery.is_open(bins.next) {
                if bin.by_flow.is_empty() {
                    bin.by_flow = IdVec::for_each_of(&self.crossing, 0);
                }
                bin.by_flow[flow] += octets;
            } else {
                sums.recovered[flow] += octets;
            }
        }
        while bins_complete(&self.bins, self.crossing.len()) {
            let bin = self.bins.open.pop_front().unwrap_or_default();
            self.close_bin(bin);
        }
    }

    /// Closes the oldest open bin, whose rows are all read.
    fn close_bin(&mut self, bin: OpenBin) {
        let queue = self.queue.take_until((self.bins.next + 1) * self.windows.bin);
        if self.newest.len() == self.bins.recovery.hold() {
            self.newest.pop_front();
        }
        self.newest.push_back(ClosedBin { by_flow: bin.by_flow, queue });
        self.bins.close(&self.windows, bin.octets);
        if self.bins.recovery.first().is_some() {
            for bin in self.newest.drain(..) {
                self.octets.recovered.iter_mut().zip(&bin.by_flow).for_each(|(sum, octets)| *sum += octets);
                self.queue.recovered = self.queue.recovered + bin.queue;
            }
        }
    }
}

fn bins_complete(bins: &RateSums, flows: usize) -> bool {
    bins.open.front().is_some_and(|bin| bin.rows == flows)
}

impl RateSums {
    fn new(windows: &Windows, possible_bps: f64) -> RateSums {
        let after = windows.after.as_ref().map_or(0..0, |after| windows.bins_in(after));
        let hold = |span: u64| Streak::new(after.clone(), span.div_ceil(windows.bin));
        let searched = if possible_bps > 0.0 { after.clone() } else { 0..0 };
        RateSums {
            open: VecDeque::new(),
            next: 0,
            before: RunningMean::default(),
            during: RunningMean::default(),
            after: RunningMean::default(),
            around: RunningMean::default(),
            outside: RunningMean::default(),
            recovery: Recovery::new(searched, LEVEL * possible_bps, windows.bin, windows.holds.recovery),
            possible_bps,
            one_at_95: hold(0),
            lasting_at_95: hold(windows.holds.rec95s),
        }
    }

    /// Counts the octets of the next bin.
    fn close(&mut self, windows: &Windows, octets: u64) {
        let index = self.next;
        self.next += 1;
        let bps = octets as f64 * 8.0 / (windows.bin as f64 * 1e-12);
        let is_in = |window: &Option<_>| window.as_ref().is_some_and(|window| windows.bins_in(window).contains(&index));
        if windows.bins_in(&windows.before).contains(&index) {
            self.before.push(bps);
            self.around.push(bps);
        }
        if is_in(&windows.during) {
            self.during.push(bps);
        }
        if is_in(&windows.after) {
            self.after.push(bps);
            self.around.push(bps);
            if self.recovery.first().is_some() {
                self.outside.push(bps);
            }
        }
        self.one_at_95.push(index, bps >= LEVEL * self.possible_bps);
        self.lasting_at_95.push(index, bps >= LEVEL * self.possible_bps);
        if self.recovery.push(index, bps) {
            self.outside = self.before;
            self.recovery.newest().for_each(|bps| self.outside.push(bps));
        }
    }
}

impl QueueSums {
    fn new(windows: &Windows, scenario: &Scenario) -> QueueSums {
        let every = windows.queue_every;
        let indices = windows.during.as_ref().map_or(0..0, |during| during.start.div_ceil(every)..during.end / every);
        QueueSums {
            count: 0,
            before: SampleStats::default(),
            during: SampleStats::default(),
            after: SampleStats::default(),
            recovered: SampleStats::default(),
            waiting: VecDeque::new(),
            limit: scenario.scheme.set_point().map(|set_point| 2.0 * set_point.as_f64()),
            onset: Streak::new(indices, windows.holds.onset.div_ceil(every)),
        }
    }

    fn push(&mut self, windows: &Windows, bins: &RateSums, time: u64, octets: u64) {
        self.onset.push(self.count, self.limit.is_some_and(|limit| octets as f64 <= limit));
        self.count += 1;
        if windows.before.contains(&time) {
            self.before.push(octets);
        }
        if windows.during.as_ref().is_some_and(|during| during.contains(&time)) {
            self.during.push(octets);
        }
        if windows.after.as_ref().is_some_and(|after| after.contains(&time)) {
            self.after.push(octets);
            if bins.recovery.is_open(bins.next) {
                self.waiting.push_back((time, octets));
            } else {
                self.recovered.push(octets);
            }
        }
    }

    /// Takes the samples that wait and are older than `until`.
    fn take_until(&mut self, until: u64) -> SampleStats {
        let mut taken = SampleStats::default();
        while let Some((time, octets)) = self.waiting.front().copied()
            && time < until
        {
            taken.push(octets);
            self.waiting.pop_front();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qcnlab_scenario::Draw;

    const PAIR: &str = r#"
title = "Two flows into one port"
duration = "10 ms"
[topology]
kind = "switch"
hosts = 3
rate = "10 Gb/s"
delay = "1 us"
[[traffic]]
arrivals = "constant"
from = "host{1..2}"
to = "host3"
rate = "4 Gb/s"
frame = "1500 B"
[[hotspot]]
port = "switch->host3"
from = "2 ms"
until = "4 ms"
rate = "1 Gb/s"
[scheme]
name = "none"
[record]
throughput_bin = "1 ms"
queue_every = "1 ms"
recovery_hold = "2 ms"
"#;

    /// Rows of one flow wait for those of the other: a bin is closed with the last of them, and samples are counted with their
    /// bin once the hotspot is over. Recovery begins with bin 5 and is known with bin 6, so what bin 5 has is kept until then,
    /// and later samples and octets need not wait. The sources offer 1 000 000 octets in a bin.
    #[test]
    fn what_is_decided_does_not_wait() {
        let scenario = Scenario::parse(PAIR.trim_start(), "pair.toml").unwrap_or_else(|error| panic!("{error}"));
        let fabric = Fabric::new(&scenario, Draw { seed: 1, replication: 0 }).unwrap_or_else(|error| panic!("{error}"));
        let mut meter = Meter::new(&scenario, &fabric);
        let ms = 1_000_000_000;
        let mut read = |bin: u64, octets: u64| {
            let mut rows = Trace::default();
            rows.queues.time = vec![bin * ms];
            rows.queues.port = vec![fabric.bottleneck.number()];
            rows.queues.bytes = vec![bin];
            rows.throughput.time = vec![bin * ms];
            rows.throughput.flow = vec![0];
            rows.throughput.bytes = vec![octets];
            meter.rows_stay = false;
            meter.read_rows(&rows);
            let open = (meter.bins.next, meter.bins.open.len());
            (rows.queues, rows.throughput.flow) = (Default::default(), vec![1]);
            meter.read_rows(&rows);
            assert_eq!((open, (meter.bins.next, meter.bins.open.len())), ((bin, 1), (bin + 1, 0)), "bin {bin}");
            (meter.queue.waiting.len(), meter.octets.recovered.clone(), meter.queue.recovered.mean())
        };
        for bin in 0..4 {
            assert_eq!(read(bin, 500_000).0, 0, "bin {bin}");
        }
        assert_eq!((read(4, 250_000).1, read(5, 500_000).1), (IdVec::from(vec![0, 0]), IdVec::from(vec![0, 0])));
        // 980 thousand of each flow and the samples 5 and 6; then 100 more, and the sample 7.
        assert_eq!(read(6, 480_000), (0, IdVec::from(vec![980_000; 2]), 5.5));
        assert_eq!(read(7, 100_000), (0, IdVec::from(vec![1_080_000; 2]), 6.0));
        assert_eq!(meter.bins.recovery.first(), Some(5));
    }

    /// The level is what link and sources allow, and not what was carried before.
    #[test]
    fn what_was_carried_before_the_hotspot_is_no_level() {
        let scenario = Scenario::parse(PAIR.trim_start(), "pair.toml").unwrap_or_else(|error| panic!("{error}"));
        let fabric = Fabric::new(&scenario, Draw { seed: 1, replication: 0 }).unwrap_or_else(|error| panic!("{error}"));
        for (before, after, recovery) in [(1000, 1000, Some(4)), (0, 950, Some(4)), (500, 949, None)] {
            let mut meter = Meter::new(&scenario, &fabric);
            for thousands in [before, before, 50, 50, after, after, after, after, after, after] {
                meter.bins.close(&meter.windows, thousands * 1000);
            }
            assert_eq!(meter.bins.recovery.first(), recovery, "{before} before, {after} after");
        }
    }
}
