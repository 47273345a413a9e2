//! Metrics: each is defined once, here, in words and in code.

use crate::fabric::Fabric;
use crate::scenario::Scenario;
use qcnlab_sim::{Finished, Trace};
use std::ops::Range;

/// A metric's name, unit and definition.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in tables and files; ends in its unit where it has one.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its unit, or "" for a bare number.
    pub unit: &'static str,
    /// The definition.
    pub about: &'static str,
    /// Where it is taken from.
    pub source: &'static str,
    of: fn(&View) -> Option<f64>,
}

/// Every metric, in the order of tables.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "recovery_ms",
        title: "recovery",
        unit: "ms",
        about: "From the end of the hotspot to the end of the first throughput bin from which on the bottleneck \
                carries at least 95 % of its mean before the hotspot for 10 ms. None when it never does.",
        source: "decks 000 and 001, recovery time",
        of: |view| view.first_bin_after_hotspot(0.95 * view.before_bps()?, 10),
    },
    Metric {
        name: "rec95_ms",
        title: "first at 95 %",
        unit: "ms",
        about: "From the end of the hotspot to the end of the first throughput bin at 95 % or more of what the link \
                and the sources allow: the smaller of link rate and offered rate.",
        source: "deck 001, recovery time, read as a single bin",
        of: |view| view.first_bin_after_hotspot(0.95 * view.possible_bps(), 0),
    },
    Metric {
        name: "rec95s_ms",
        title: "five at 95 %",
        unit: "ms",
        about: "As rec95_ms, but the bin is the first of five 1 ms in a row at 95 % or more.",
        source: "deck 001, recovery time, read as a lasting level",
        of: |view| view.first_bin_after_hotspot(0.95 * view.possible_bps(), 5),
    },
    Metric {
        name: "onset_ms",
        title: "settling at onset",
        unit: "ms",
        about: "From the start of the hotspot until the queue stays at or below twice the set point for 10 ms. \
                None when it never does, or the scheme has no set point.",
        source: "deck 000, Downward Transience",
        of: |view| view.onset_ms(),
    },
    Metric {
        name: "util_before",
        title: "utilisation before",
        unit: "",
        about: "Octets through the bottleneck from the end of warm-up to the start of the hotspot (without one, to \
                the end), as a share of what the link could carry.",
        source: "-",
        of: |view| view.utilisation(view.before.clone()),
    },
    Metric {
        name: "util_during",
        title: "utilisation during",
        unit: "",
        about: "Octets through the bottleneck during the hotspot, as a share of what its reduced rate could carry.",
        source: "-",
        of: |view| Some(view.mean_bps(view.during.clone()?)? / view.hotspot_bps?),
    },
    Metric {
        name: "util_after",
        title: "utilisation after",
        unit: "",
        about: "Octets through the bottleneck from the end of the hotspot to the end of the run, recovery included, \
                as a share of what the link could carry.",
        source: "-",
        of: |view| view.utilisation(view.after.clone()?),
    },
    Metric {
        name: "throughput_outside_gbps",
        title: "throughput outside",
        unit: "Gb/s",
        about: "Mean rate through the bottleneck outside the hotspot and its recovery: from the end of warm-up to \
                its start, and from the end of recovery (of the hotspot, where there is no recovery) to the end.",
        source: "-",
        of: |view| Some(view.outside_bps()? * 1e-9),
    },
    Metric {
        name: "queue_mean_bytes",
        title: "queue mean",
        unit: "B",
        about: "Mean of the bottleneck's queue samples outside the hotspot and its recovery.",
        source: "-",
        of: |view| view.queue(mean),
    },
    Metric {
        name: "queue_std_bytes",
        title: "queue std",
        unit: "B",
        about: "Standard deviation of the bottleneck's queue samples outside the hotspot and its recovery.",
        source: "-",
        of: |view| view.queue(deviation),
    },
    Metric {
        name: "queue_max_bytes",
        title: "queue max",
        unit: "B",
        about: "Largest of the bottleneck's queue samples outside the hotspot and its recovery.",
        source: "-",
        of: |view| view.queue(|samples| samples.iter().copied().fold(0.0, f64::max)),
    },
    Metric {
        name: "queue_empty_frac",
        title: "queue empty",
        unit: "",
        about: "Share of the bottleneck's queue samples outside the hotspot and its recovery at which it is empty.",
        source: "-",
        of: |view| view.queue(|samples| samples.iter().filter(|b| **b == 0.0).count() as f64 / samples.len() as f64),
    },
    Metric {
        name: "drops",
        title: "drops",
        unit: "frames",
        about: "Frames that full queues discarded in the whole run.",
        source: "-",
        of: |view| Some(view.done.counters.frames_dropped as f64),
    },
    Metric {
        name: "messages",
        title: "messages",
        unit: "messages",
        about: "Messages that congestion points sent in the whole run.",
        source: "-",
        of: |view| Some(view.done.counters.messages_sent as f64),
    },
    Metric {
        name: "false_alarms",
        title: "false alarms",
        unit: "",
        about: "Times a reaction point concluded from silence that its path has bandwidth although a congestion \
                point on the path had had none ever since it asked, in the whole run. Zero for schemes that \
                never conclude that.",
        source: "deck 000, SONAR",
        of: |view| Some(view.done.counters.false_alarms as f64),
    },
    Metric {
        name: "jain",
        title: "Jain index",
        unit: "",
        about: "Jain's fairness index of the sources' mean rates outside the hotspot and its recovery: \
                (sum x)^2 / (n sum x^2), 1 when all are equal, 1/n when one has all.",
        source: "Jain, Chiu, Hawe 1984, DEC-TR-301",
        of: |view| view.jain(),
    },
];

/// The metrics of one run, in the order of [`METRICS`].
pub(crate) fn measure(scenario: &Scenario, fabric: &Fabric, done: &Finished) -> Vec<Option<f64>> {
    let view = View::new(scenario, fabric, done);
    METRICS.iter().map(|metric| (metric.of)(&view)).collect()
}

/// A run as metrics look at it: bins and samples of the bottleneck, and the windows. Times are ps.
struct View<'a> {
    done: &'a Finished,
    link_bps: f64,
    offered_bps: f64,
    hotspot_bps: Option<f64>,
    set_point: Option<f64>,
    bin: u64,
    queue_every: u64,
    /// Octets a bin, all flows together.
    bins: Vec<u64>,
    /// Queue lengths, one each `queue_every`.
    samples: Vec<f64>,
    before: Range<u64>,
    during: Option<Range<u64>>,
    after: Option<Range<u64>>,
}

const MS: u64 = 1_000_000_000;

impl<'a> View<'a> {
    fn new(scenario: &Scenario, fabric: &'a Fabric, done: &'a Finished) -> View<'a> {
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
        }
    }

    /// What the link and the sources allow.
    fn possible_bps(&self) -> f64 {
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

    fn mean_bps(&self, window: Range<u64>) -> Option<f64> {
        let bins = self.bins_in(window);
        let count = bins.len();
        (count > 0).then(|| bins.map(|i| self.bin_bps(i)).sum::<f64>() / count as f64)
    }

    fn before_bps(&self) -> Option<f64> {
        self.mean_bps(self.before.clone())
    }

    fn utilisation(&self, window: Range<u64>) -> Option<f64> {
        Some(self.mean_bps(window)? / self.link_bps)
    }

    /// From the end of the hotspot to the end of the first bin from which on every bin of
    /// `hold_ms` (at least one bin) is at `bps` or above.
    fn first_bin_after_hotspot(&self, bps: f64, hold_ms: u64) -> Option<f64> {
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

    fn onset_ms(&self) -> Option<f64> {
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

    fn outside_bps(&self) -> Option<f64> {
        let bins: Vec<f64> =
            self.outside().into_iter().flat_map(|window| self.bins_in(window)).map(|i| self.bin_bps(i)).collect();
        (!bins.is_empty()).then(|| mean(&bins))
    }

    fn queue(&self, of: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let mut inside = Vec::new();
        for window in self.outside() {
            let first = (window.start.div_ceil(self.queue_every) as usize).min(self.samples.len());
            let last = (window.end.div_ceil(self.queue_every) as usize).min(self.samples.len());
            inside.extend_from_slice(&self.samples[first..last.max(first)]);
        }
        (!inside.is_empty()).then(|| of(&inside))
    }

    fn jain(&self) -> Option<f64> {
        let rows = &self.done.trace.throughput;
        let outside = self.outside();
        let mut sums = vec![0.0; self.done.flows.len()];
        for ((time, flow), bytes) in rows.time.iter().zip(&rows.flow).zip(&rows.bytes) {
            if outside.iter().any(|window| window.contains(time)) {
                sums[*flow as usize] += *bytes as f64;
            }
        }
        let total: f64 = sums.iter().sum();
        let squares: f64 = sums.iter().map(|x| x * x).sum();
        (squares > 0.0).then(|| total * total / (sums.len() as f64 * squares))
    }
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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}
