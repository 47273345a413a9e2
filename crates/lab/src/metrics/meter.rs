//! What metrics need of a run, taken from its rows as they come, so that the rows need not stay.
//!
//! Most of it is sums over windows that are known before the run. The time from recovery on is not: it begins at the
//! end of the first bin of a row of good ones that lasts, and whether it lasts shows later. So each row that begins
//! starts the sums of that time anew, and what is younger than the bins counted so far waits for them.

use super::tallies::{Hold, Mean, Spread};
use super::windows::Windows;
use crate::fabric::Fabric;
use crate::scenario::Scenario;
use qcnlab_sim::Trace;
use std::collections::{HashMap, VecDeque};

const MS: u64 = 1_000_000_000;

/// Reads the rows of one run.
pub(crate) struct Meter<'a> {
    pub(super) windows: Windows,
    crossing: &'a [bool],
    bottleneck: u32,
    rows_stay: bool,
    /// Rows read already: of throughput, of queues, of pauses.
    read: [usize; 3],
    pub(super) bins: Bins,
    pub(super) octets: Octets,
    pub(super) queue: Samples,
    /// Picoseconds for which each port, and class where classes stop by themselves, was stopped.
    paused: HashMap<(u32, Option<u8>), u64>,
}

/// Rates through the bottleneck, bit/s, bin by bin.
pub(super) struct Bins {
    /// Those that some flow's row is missing of, the first of them being number `next`.
    open: VecDeque<OpenBin>,
    next: u64,
    pub(super) before: Mean,
    pub(super) during: Mean,
    pub(super) after: Mean,
    /// Before the hotspot and after it.
    pub(super) around: Mean,
    /// Before the hotspot and from recovery on.
    pub(super) outside: Mean,
    /// The row of good bins that is the recovery.
    pub(super) recovery: Hold,
    /// What the link and the sources allow.
    possible_bps: f64,
    pub(super) one_at_95: Hold,
    pub(super) five_ms_at_95: Hold,
}

#[derive(Default)]
struct OpenBin {
    /// Octets of all flows that cross the bottleneck.
    octets: u64,
    /// Flows whose rows are there.
    rows: usize,
    /// Octets by flow, where they may be from recovery on; otherwise empty.
    by_flow: Vec<u64>,
}

/// Octets by flow, of bins that begin in a window.
pub(super) struct Octets {
    pub(super) whole: Vec<u64>,
    pub(super) before: Vec<u64>,
    pub(super) after: Vec<u64>,
    /// From recovery on.
    pub(super) recovered: Vec<u64>,
}

/// Lengths of the bottleneck's queue, octets.
pub(super) struct Samples {
    count: u64,
    pub(super) before: Spread,
    pub(super) during: Spread,
    pub(super) after: Spread,
    /// From recovery on.
    pub(super) recovered: Spread,
    /// Samples of the time after the hotspot that are younger than the bins counted so far: when, and octets.
    waiting: VecDeque<(u64, u64)>,
    limit: Option<f64>,
    pub(super) onset: Hold,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(scenario: &Scenario, fabric: &'a Fabric) -> Meter<'a> {
        let windows = Windows::of(scenario);
        let flows = fabric.crossing.len();
        let sums = |needed: bool| vec![0; if needed { flows } else { 0 }];
        let hot = windows.after.is_some();
        Meter {
            crossing: &fabric.crossing,
            bottleneck: fabric.bottleneck,
            rows_stay: scenario.record.tables,
            read: [0; 3],
            bins: Bins::new(&windows, fabric.possible_bps()),
            octets: Octets { whole: sums(true), before: sums(true), after: sums(hot), recovered: sums(hot) },
            queue: Samples::new(&windows, scenario),
            paused: HashMap::new(),
            windows,
        }
    }

    /// Reads the rows that were not there the last time. Unless rows stay, all are new.
    pub(crate) fn look(&mut self, trace: &Trace) {
        let [throughput, queues, pauses] = self.read;
        let rows = &trace.queues;
        for row in queues..rows.time.len() {
            if rows.port[row] == self.bottleneck {
                self.queue.push(&self.windows, &self.bins, rows.time[row], rows.bytes[row]);
            }
        }
        let rows = &trace.throughput;
        for row in throughput..rows.time.len() {
            self.count(rows.time[row], rows.flow[row] as usize, rows.bytes[row]);
        }
        let rows = &trace.pauses;
        for row in pauses..rows.start.len() {
            let end = rows.end[row].min(self.windows.whole.end);
            *self.paused.entry((rows.port[row], rows.class[row])).or_default() += end.saturating_sub(rows.start[row]);
        }
        if self.rows_stay {
            self.read = [trace.throughput.time.len(), trace.queues.time.len(), trace.pauses.start.len()];
        }
    }

    /// Counts what a run without flows has no rows of, and what still waits.
    pub(super) fn close(&mut self) {
        while self.bins.next < self.windows.all_bins() {
            let bin = self.bins.open.pop_front().unwrap_or_default();
            self.close_bin(&bin);
        }
        self.queue.catch_up(u64::MAX);
    }

    /// The share of the run during which the port that was stopped longest was stopped.
    pub(super) fn paused_frac(&self) -> f64 {
        self.paused.values().copied().max().unwrap_or(0) as f64 / self.windows.whole.end as f64
    }

    /// Counts a row: octets of a flow in the bin that begins at `time`.
    fn count(&mut self, time: u64, flow: usize, octets: u64) {
        let bins = &mut self.bins;
        let place = (time / self.windows.bin - bins.next) as usize;
        if place >= bins.open.len() {
            bins.open.resize_with(place + 1, OpenBin::default);
        }
        let bin = &mut bins.open[place];
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
                bin.by_flow.resize(self.crossing.len(), 0);
                bin.by_flow[flow] += octets;
            } else {
                sums.recovered[flow] += octets;
            }
        }
        while bins_complete(&self.bins, self.crossing.len()) {
            let bin = self.bins.open.pop_front().unwrap_or_default();
            self.close_bin(&bin);
        }
    }

    /// Every row of the oldest open bin is there.
    fn close_bin(&mut self, bin: &OpenBin) {
        self.queue.catch_up((self.bins.next + 1) * self.windows.bin);
        self.octets.recovered.iter_mut().zip(&bin.by_flow).for_each(|(sum, octets)| *sum += octets);
        if self.bins.close(&self.windows, bin.octets) {
            self.octets.recovered.fill(0);
            self.queue.recovered = Spread::default();
        }
    }
}

fn bins_complete(bins: &Bins, flows: usize) -> bool {
    bins.open.front().is_some_and(|bin| bin.rows == flows)
}

impl Bins {
    fn new(windows: &Windows, possible_bps: f64) -> Bins {
        let after = windows.after.as_ref().map_or(0..0, |after| windows.bins_in(after));
        let level = !windows.bins_in(&windows.before).is_empty();
        let hold = |ms: u64| Hold::new(after.clone(), (ms * MS).div_ceil(windows.bin));
        Bins {
            open: VecDeque::new(),
            next: 0,
            before: Mean::default(),
            during: Mean::default(),
            after: Mean::default(),
            around: Mean::default(),
            outside: Mean::default(),
            recovery: if level { hold(10) } else { Hold::new(0..0, 1) },
            possible_bps,
            one_at_95: hold(0),
            five_ms_at_95: hold(5),
        }
    }

    /// Counts the octets of the next bin. True if the time from recovery on may begin at its end.
    fn close(&mut self, windows: &Windows, octets: u64) -> bool {
        let place = self.next;
        self.next += 1;
        let bps = octets as f64 * 8.0 / (windows.bin as f64 * 1e-12);
        let is_in = |window: &Option<_>| window.as_ref().is_some_and(|window| windows.bins_in(window).contains(&place));
        if windows.bins_in(&windows.before).contains(&place) {
            self.before.push(bps);
            self.around.push(bps);
        }
        if is_in(&windows.during) {
            self.during.push(bps);
        }
        if is_in(&windows.after) {
            self.after.push(bps);
            self.around.push(bps);
            self.outside.push(bps);
        }
        self.one_at_95.push(place, bps >= 0.95 * self.possible_bps);
        self.five_ms_at_95.push(place, bps >= 0.95 * self.possible_bps);
        let begins = self.recovery.push(place, self.before.value().is_some_and(|before| bps >= 0.95 * before));
        if begins {
            self.outside = self.before;
        }
        begins
    }
}

impl Samples {
    fn new(windows: &Windows, scenario: &Scenario) -> Samples {
        let every = windows.queue_every;
        let places = windows.during.as_ref().map_or(0..0, |during| during.start.div_ceil(every)..during.end / every);
        Samples {
            count: 0,
            before: Spread::default(),
            during: Spread::default(),
            after: Spread::default(),
            recovered: Spread::default(),
            waiting: VecDeque::new(),
            limit: scenario.scheme.set_point().map(|set_point| 2.0 * set_point.as_f64()),
            onset: Hold::new(places, (10 * MS).div_ceil(every)),
        }
    }

    fn push(&mut self, windows: &Windows, bins: &Bins, time: u64, octets: u64) {
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

    /// Counts what waits and is older than `until`.
    fn catch_up(&mut self, until: u64) {
        while let Some((time, octets)) = self.waiting.front().copied()
            && time < until
        {
            self.recovered.push(octets);
            self.waiting.pop_front();
        }
    }
}
