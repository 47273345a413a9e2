//! Metrics over any window of time, from the traces of one replication.
//!
//! A metric that has a window of its own ([`Definition`]) is the same formula over another window. The metrics of
//! [`WINDOW_METRICS`] exist over a given window only.

use super::flow_octets::FlowOctets;
use super::recovery::recovery_bin;
use super::tallies::SampleStats;
use super::{Definition, METRICS};
use qcnlab_units::nearest;
use std::ops::Range;

/// The traces of one replication, rows in order of time; `[start, end)` rows are found by the time they begin.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Times of the bottleneck's queue samples, s.
    pub queue_time_s: Vec<f64>,
    /// Lengths of the bottleneck's queue, octets.
    pub queue_bytes: Vec<u64>,
    /// Time between two samples, s.
    pub queue_every_s: f64,
    /// Starts of throughput bins, s; one row for each flow and bin.
    pub bin_time_s: Vec<f64>,
    /// Index of the row's flow, from 0.
    pub bin_flow: Vec<u32>,
    /// Rate of the flow in the bin, bit/s.
    pub bin_rate_bps: Vec<f64>,
    /// Length of a bin, s.
    pub bin_s: f64,
    /// How long a level of throughput must last to count, s (`record.recovery_hold`).
    pub recovery_hold_s: f64,
    /// Number of flows.
    pub flows: usize,
    /// Times of frames dropped at the bottleneck, s.
    pub drop_time_s: Vec<f64>,
    /// Frames dropped there.
    pub dropped_frames: Vec<u64>,
}

/// Why a metric has no value over a window.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// There is no such metric.
    #[error("no metric is named '{name}'{}", nearest.as_ref().map_or_else(String::new, |n| format!("; did you mean '{n}'?")))]
    Unknown {
        /// The name.
        name: String,
        /// A name that is like it.
        nearest: Option<String>,
    },
    /// The metric is of the whole run.
    #[error("'{name}' is a metric of the whole run; it has no window")]
    WholeRun {
        /// The metric.
        name: String,
    },
    /// The window is empty or no time.
    #[error("the window from {from} s to {until} s is empty; it must begin at 0 or later and end after that")]
    Empty {
        /// Its beginning, s.
        from: f64,
        /// Its end, s.
        until: f64,
    },
    /// The metric needs a level.
    #[error("'{name}' needs a limit, in {unit}")]
    NoLimit {
        /// The metric.
        name: String,
        /// The limit's unit.
        unit: &'static str,
    },
}

/// A metric that exists over a given window only.
#[derive(Clone, Copy, Debug)]
pub struct WindowMetric {
    /// Its name; ends in its unit where it has one.
    pub name: &'static str,
    /// Its unit, or "" for a bare number.
    pub unit: &'static str,
    /// Unit of the limit that it takes, or "" if it takes none.
    pub limit: &'static str,
    /// The definition.
    pub about: &'static str,
    of: fn(&RowsInWindow, f64) -> Option<f64>,
}

/// Every metric that exists over a given window only.
pub const WINDOW_METRICS: &[WindowMetric] = &[
    WindowMetric {
        name: "queue_spread_bytes",
        unit: "B",
        limit: "",
        about: "95 % quantile of the queue samples less the 5 % one, with linear interpolation.",
        of: |rows, _| Some(quantile(&rows.queue, 0.95)? - quantile(&rows.queue, 0.05)?),
    },
    WindowMetric {
        name: "first_fall_ms",
        unit: "ms",
        limit: "B",
        about: "From the start of the window until the queue, once above the limit, falls back to it. 0 if it is never \
                above.",
        of: |rows, limit| rows.first_fall_s(limit).map(|s| s * 1e3),
    },
    WindowMetric {
        name: "regain_ms",
        unit: "ms",
        limit: "Gb/s",
        about: "From the start of the window to the start of the first bin from which on the flows carry the limit \
                together, on average over 1 ms and over record.recovery_hold, by default 10 ms.",
        of: |rows, limit| rows.regain_s(limit).map(|s| s * 1e3),
    },
    WindowMetric {
        name: "ramp_ms",
        unit: "ms",
        limit: "Gb/s",
        about: "From the first bin at twice the limit to the first at 95 % of the highest bin.",
        of: |rows, limit| rows.ramp_s(limit).map(|s| s * 1e3),
    },
    WindowMetric {
        name: "lowest_bin_gbps",
        unit: "Gb/s",
        limit: "",
        about: "Rate of the flows together in the bin in which it is lowest.",
        of: |rows, _| rows.totals_gbps().into_iter().reduce(f64::min),
    },
    WindowMetric {
        name: "rate_swing",
        unit: "",
        limit: "",
        about: "Standard deviation of a flow's rate from bin to bin as a share of its mean, averaged over flows.",
        of: |rows, _| rows.rate_swing(),
    },
    WindowMetric {
        name: "bottleneck_drops",
        unit: "frames",
        limit: "",
        about: "Frames dropped at the bottleneck.",
        of: |rows, _| Some(rows.dropped as f64),
    },
];

/// A metric over the window from `window.0` up to `window.1`, s; `None` where the window has no value.
///
/// Queue samples and bins count if they begin in the window. Metrics of throughput are of all flows of `traces`: those of
/// the bottleneck, such as `bottleneck_gbps`, too.
///
/// # Errors
/// For an unknown name, a metric of the whole run, an empty window, and a missing `limit`.
pub fn metric_in_window(
    name: &str,
    traces: &Traces,
    window: (f64, f64),
    limit: Option<f64>,
) -> Result<Option<f64>, WindowError> {
    let (from, until) = window;
    if !(from >= 0.0 && until > from && until.is_finite()) {
        return Err(WindowError::Empty { from, until });
    }
    let rows = RowsInWindow::new(traces, ps(from)..ps(until));
    if let Some(metric) = WINDOW_METRICS.iter().find(|metric| metric.name == name) {
        let missing = || WindowError::NoLimit { name: name.to_owned(), unit: metric.limit };
        let limit = if metric.limit.is_empty() { 0.0 } else { limit.ok_or_else(missing)? };
        return Ok((metric.of)(&rows, limit));
    }
    let names = || METRICS.iter().map(|metric| metric.name).chain(WINDOW_METRICS.iter().map(|metric| metric.name));
    match METRICS.iter().find(|metric| metric.name == name).map(|metric| metric.definition) {
        Some(Definition::Queue(of)) => Ok((!rows.queue.is_empty()).then(|| of(&rows.queue_stats()))),
        Some(Definition::Outside(of) | Definition::Whole(_, of) | Definition::Through(of)) => {
            Ok(of(&rows.flow_octets()))
        }
        Some(Definition::Run(_)) => Err(WindowError::WholeRun { name: name.to_owned() }),
        None => {
            let nearest = nearest(name, names());
            Err(WindowError::Unknown { name: name.to_owned(), nearest })
        }
    }
}

/// Picoseconds of a time in s.
fn ps(seconds: f64) -> u64 {
    (seconds * 1e12).round() as u64
}

/// The rows of a window.
struct RowsInWindow {
    /// Queue samples, octets.
    queue: Vec<u64>,
    queue_every_s: f64,
    /// Octets of each flow, bin by bin.
    bins: Vec<Vec<f64>>,
    bin_s: f64,
    recovery_hold_s: f64,
    dropped: u64,
}

impl RowsInWindow {
    fn new(traces: &Traces, window: Range<u64>) -> RowsInWindow {
        let inside = |time: &f64| window.contains(&ps(*time));
        let queue = traces.queue_time_s.iter().zip(&traces.queue_bytes).filter(|(time, _)| inside(time));
        let drops = traces.drop_time_s.iter().zip(&traces.dropped_frames).filter(|(time, _)| inside(time));
        let mut bins = vec![Vec::new(); traces.flows];
        for (row, time) in traces.bin_time_s.iter().enumerate() {
            if inside(time) {
                let octets = (traces.bin_rate_bps[row] * traces.bin_s / 8.0).round();
                bins[traces.bin_flow[row] as usize].push(octets);
            }
        }
        RowsInWindow {
            queue: queue.map(|(_, bytes)| *bytes).collect(),
            queue_every_s: traces.queue_every_s,
            bins,
            bin_s: traces.bin_s,
            recovery_hold_s: traces.recovery_hold_s,
            dropped: drops.map(|(_, frames)| *frames).sum(),
        }
    }

    fn queue_stats(&self) -> SampleStats {
        let mut stats = SampleStats::default();
        self.queue.iter().for_each(|bytes| stats.push(*bytes));
        stats
    }

    fn count_of_bins(&self) -> usize {
        self.bins.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn flow_octets(&self) -> FlowOctets {
        let octets = self.bins.iter().map(|bins| bins.iter().sum()).collect();
        FlowOctets { octets, seconds: self.count_of_bins() as f64 * self.bin_s }
    }

    /// Rate of all flows together, bin by bin, Gb/s.
    fn totals_gbps(&self) -> Vec<f64> {
        let octets = |bin: usize| self.bins.iter().filter_map(|bins| bins.get(bin)).sum::<f64>();
        (0..self.count_of_bins()).map(|bin| octets(bin) * 8e-9 / self.bin_s).collect()
    }

    fn first_fall_s(&self, limit: f64) -> Option<f64> {
        let Some(above) = self.queue.iter().position(|bytes| *bytes as f64 > limit) else { return Some(0.0) };
        let fall = self.queue[above..].iter().position(|bytes| *bytes as f64 <= limit)?;
        Some((above + fall) as f64 * self.queue_every_s)
    }

    fn regain_s(&self, limit: f64) -> Option<f64> {
        let bin = recovery_bin(&self.totals_gbps(), limit, self.bin_s, self.recovery_hold_s)?;
        Some(bin as f64 * self.bin_s)
    }

    fn ramp_s(&self, limit: f64) -> Option<f64> {
        let totals = self.totals_gbps();
        let highest = totals.iter().copied().reduce(f64::max)?;
        let first = |level: f64| totals.iter().position(|total| *total >= level);
        let (start, end) = (first(2.0 * limit)?, first(0.95 * highest)?);
        Some((end as f64 - start as f64) * self.bin_s)
    }

    fn rate_swing(&self) -> Option<f64> {
        let swing = |bins: &Vec<f64>| {
            let mean = bins.iter().sum::<f64>() / bins.len() as f64;
            let variance = bins.iter().map(|octets| (octets - mean).powi(2)).sum::<f64>() / bins.len() as f64;
            if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
        };
        let flows = self.bins.len() as f64;
        (self.count_of_bins() > 0).then(|| self.bins.iter().map(swing).sum::<f64>() / flows)
    }
}

/// The quantile of some numbers, interpolated linearly between the two next to it.
fn quantile(values: &[u64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let position = share * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[position.floor() as usize] as f64, sorted[position.ceil() as usize] as f64);
    Some(low + (high - low) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue of 0, 10, 20, ... 90 octets, a sample each ms from 1 s on; two flows of 1 and 3 Gb/s in ten bins of 1 ms,
    /// but nothing in the first.
    fn traces() -> Traces {
        let times: Vec<f64> = (0..10).map(|i| 1.0 + f64::from(i) * 1e-3).collect();
        let rate = |flow: u32, bin: usize| if bin == 0 { 0.0 } else { 1e9 + 2e9 * f64::from(flow) };
        let rows: Vec<(usize, u32)> = (0..10).flat_map(|bin| [(bin, 0), (bin, 1)]).collect();
        Traces {
            queue_bytes: (0..10).map(|i| 10 * i).collect(),
            queue_time_s: times.clone(),
            queue_every_s: 1e-3,
            bin_time_s: rows.iter().map(|(bin, _)| times[*bin]).collect(),
            bin_flow: rows.iter().map(|(_, flow)| *flow).collect(),
            bin_rate_bps: rows.iter().map(|(bin, flow)| rate(*flow, *bin)).collect(),
            bin_s: 1e-3,
            recovery_hold_s: 10e-3,
            flows: 2,
            drop_time_s: vec![1.002, 1.008],
            dropped_frames: vec![3, 4],
        }
    }

    #[track_caller]
    fn over(name: &str, window: (f64, f64), limit: Option<f64>) -> Option<f64> {
        metric_in_window(name, &traces(), window, limit).unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    fn is(name: &str, window: (f64, f64), limit: Option<f64>, expected: f64) {
        let value = over(name, window, limit).unwrap_or_else(|| panic!("{name} has no value"));
        assert!((value - expected).abs() < 1e-9, "{name}: {value} is not {expected}");
    }

    #[test]
    fn a_metric_takes_the_rows_that_begin_in_its_window() {
        // 20, 30 and 40: the sample at 1.005 s is the next window's.
        is("queue_mean_bytes", (1.002, 1.005), None, 30.0);
        is("queue_std_bytes", (1.002, 1.005), None, (200.0_f64 / 3.0).sqrt());
        is("queue_max_bytes", (1.002, 1.005), None, 40.0);
        is("queue_empty_frac", (1.0, 1.010), None, 0.1);
        is("bottleneck_drops", (1.0, 1.005), None, 3.0);
        assert_eq!(over("queue_mean_bytes", (3.0, 4.0), None), None);
    }

    #[test]
    fn rates_are_means_over_the_window() {
        // Nine bins of ten carry 4 Gb/s.
        is("bottleneck_gbps", (1.0, 1.010), None, 3.6);
        is("lowest_bin_gbps", (1.0, 1.010), None, 0.0);
        is("rate_ratio", (1.0, 1.010), None, 3.0);
        is("jain", (1.0, 1.010), None, 0.8);
        // 0 once and 1 nine times: mean 0.9, variance 0.09, deviation a third of the mean.
        is("rate_swing", (1.0, 1.010), None, 1.0 / 3.0);
    }

    #[test]
    fn times_count_from_the_start_of_the_window() {
        // Ten bins of 4 Gb/s do not fit behind the first: only nine are left.
        assert_eq!(over("regain_ms", (1.0, 1.010), Some(4.0)), None);
        is("regain_ms", (1.0, 1.010), Some(0.0), 0.0);
        // Nine are enough if 8.5 ms are: the first of them starts at 1 ms.
        let shorter = Traces { recovery_hold_s: 8.5e-3, ..traces() };
        let regain = metric_in_window("regain_ms", &shorter, (1.0, 1.010), Some(4.0)).expect("a known metric");
        assert_eq!(regain.map(f64::round), Some(1.0));
        // 2 x 1 Gb/s first in the second bin, which is at 95 % of the highest, too.
        is("ramp_ms", (1.0, 1.010), Some(1.0), 0.0);
        is("first_fall_ms", (1.0, 1.010), Some(100.0), 0.0);
        assert_eq!(over("first_fall_ms", (1.0, 1.010), Some(35.0)), None);
        // Positions 0.45 and 8.55 of 0, 10, ... 90.
        is("queue_spread_bytes", (1.0, 1.010), None, 85.5 - 4.5);
    }

    /// One flow in bins of 2 ms from 0 on, in Gb/s, another that gets nothing, and a queue sampled each 0.5 ms.
    fn ramp() -> Traces {
        let gbps = [0.5, 1.0, 2.0, 3.0, 9.3, 9.6, 10.0, 9.0];
        let rows: Vec<(usize, u32)> = (0..8).flat_map(|bin| [(bin, 0), (bin, 1)]).collect();
        Traces {
            queue_bytes: vec![0, 50, 80, 40, 90, 30],
            queue_time_s: (0..6).map(|i| f64::from(i) * 0.5e-3).collect(),
            queue_every_s: 0.5e-3,
            bin_time_s: rows.iter().map(|(bin, _)| *bin as f64 * 2e-3).collect(),
            bin_flow: rows.iter().map(|(_, flow)| *flow).collect(),
            bin_rate_bps: rows.iter().map(|(bin, flow)| if *flow == 0 { gbps[*bin] * 1e9 } else { 0.0 }).collect(),
            bin_s: 2e-3,
            recovery_hold_s: 6e-3,
            flows: 2,
            ..Traces::default()
        }
    }

    /// The metric of [`ramp`], in whole thousandths.
    fn metric_of_ramp(name: &str, window: (f64, f64), limit: f64) -> Option<f64> {
        let value = metric_in_window(name, &ramp(), window, Some(limit)).unwrap_or_else(|error| panic!("{error}"));
        value.map(|value| (value * 1e3).round() / 1e3)
    }

    /// Twice 0.9 Gb/s are reached in bin 2, 95 % of the highest, 9.5 Gb/s, in bin 5: three bins of 2 ms. Twice 0.4 are reached
    /// in bin 1, twice 1.1 in bin 3. Up to 10 ms the highest is 9.3, in bin 4, and is the first at 8.835.
    #[test]
    fn a_ramp_lasts_from_twice_the_limit_to_nearly_the_highest() {
        let ramp = |until: f64, limit: f64| metric_of_ramp("ramp_ms", (0.0, until), limit);
        assert_eq!([ramp(16e-3, 0.9), ramp(16e-3, 0.4), ramp(16e-3, 1.1)], [Some(6.0), Some(8.0), Some(4.0)]);
        assert_eq!([ramp(10e-3, 0.9), ramp(16e-3, 5.1)], [Some(4.0), None]);
        // From 4 ms on bins count from there.
        assert_eq!(metric_of_ramp("ramp_ms", (4e-3, 16e-3), 1.4), Some(4.0));
    }

    /// Above 45 octets at 0.5 ms, at 45 or below again at 1.5; 50 and 40 themselves are not above. What is above later does
    /// not count. From 1 ms on the first fall is 0.5 ms later.
    #[test]
    fn the_first_fall_of_a_queue() {
        let fall = |from: f64, limit: f64| metric_of_ramp("first_fall_ms", (from, 3e-3), limit);
        assert_eq!([45.0, 50.0, 40.0].map(|limit| fall(0.0, limit)), [Some(1.5); 3]);
        assert_eq!([fall(0.0, 85.0), fall(0.0, 90.0), fall(0.0, 20.0)], [Some(2.5), Some(0.0), None]);
        assert_eq!(fall(1e-3, 45.0), Some(0.5));
    }

    /// 9.3, 9.6 and 10 Gb/s are three bins, 6 ms; the first of them starts at 8 ms, and from 6 ms on at 2 ms. 9.6, 10 and 9
    /// are 9.53 on average.
    #[test]
    fn throughput_is_regained_at_the_start_of_a_bin() {
        let regain = |window: (f64, f64), limit: f64| metric_of_ramp("regain_ms", window, limit);
        assert_eq!([9.2, 9.5, 9.6].map(|limit| regain((0.0, 16e-3), limit)), [Some(8.0), Some(10.0), None]);
        assert_eq!([regain((6e-3, 16e-3), 8.9), regain((6e-3, 12e-3), 2.9)], [Some(2.0), Some(0.0)]);
    }

    /// Bins of 0.5, 1 and 2: mean 3.5 / 3, mean square 5.25 / 3, so the variance is 1.75 - 1.3611 = 0.3889. The flow that gets
    /// nothing does not swing, and halves the mean of both.
    #[test]
    fn a_flow_that_gets_nothing_does_not_swing() {
        let swing = 0.5 * (1.75_f64 - (3.5_f64 / 3.0).powi(2)).sqrt() / (3.5 / 3.0);
        assert_eq!(metric_of_ramp("rate_swing", (0.0, 6e-3), 0.0), Some((swing * 1e3).round() / 1e3));
        assert_eq!(metric_of_ramp("lowest_bin_gbps", (2e-3, 16e-3), 0.0), Some(1.0));
    }

    #[test]
    fn a_window_without_rows_has_no_values() {
        for name in
            ["queue_spread_bytes", "regain_ms", "ramp_ms", "lowest_bin_gbps", "rate_swing", "jain", "rate_ratio"]
        {
            assert_eq!(metric_of_ramp(name, (1.0, 2.0), 1.0), None, "{name}");
        }
        assert_eq!(metric_of_ramp("bottleneck_drops", (1.0, 2.0), 1.0), Some(0.0));
        assert_eq!(metric_of_ramp("first_fall_ms", (1.0, 2.0), 1.0), Some(0.0));
    }

    #[test]
    fn windows_that_are_no_time_are_refused() {
        for (from, until) in
            [(-1e-3, 1.0), (1.0, 1.0), (2.0, 1.0), (0.0, f64::INFINITY), (f64::NAN, 1.0), (0.0, f64::NAN)]
        {
            let refused = metric_in_window("jain", &ramp(), (from, until), None);
            assert!(matches!(refused, Err(WindowError::Empty { .. })), "{from} {until}");
        }
        assert_eq!(metric_of_ramp("jain", (0.0, 2e-3), 0.0), Some(0.5));
    }

    /// A level that is just reached counts; one bin may be enough; drops at several times add up; the flow whose rows are
    /// there counts, whichever it is.
    #[test]
    fn levels_just_reached_and_rows_of_one_flow_count() {
        assert_eq!(metric_of_ramp("ramp_ms", (0.0, 16e-3), 0.5), Some(8.0));
        let one = Traces { recovery_hold_s: 2e-3, ..ramp() };
        let regain = |limit| metric_in_window("regain_ms", &one, (0.0, 16e-3), Some(limit)).expect("a metric");
        assert_eq!(
            [regain(3.0), regain(10.0), regain(10.1)].map(|ms| ms.map(f64::round)),
            [Some(6.0), Some(12.0), None]
        );
        is("bottleneck_drops", (1.0, 1.010), None, 7.0);
        is("bottleneck_drops", (1.002, 1.008), None, 3.0);
        let second =
            Traces { bin_flow: vec![1; 3], bin_time_s: vec![0.0, 2e-3, 4e-3], bin_rate_bps: vec![4e9; 3], ..ramp() };
        let mean = metric_in_window("bottleneck_gbps", &second, (0.0, 6e-3), None).expect("a metric");
        assert!(mean.is_some_and(|mean| (mean - 4.0).abs() < 1e-9), "{mean:?}");
        // 0 is a limit, too.
        assert_eq!(metric_of_ramp("first_fall_ms", (0.0, 3e-3), 0.0), None);
    }

    #[test]
    fn what_has_no_window_is_refused() {
        let refused =
            |name: &str, window| metric_in_window(name, &traces(), window, None).expect_err("refused").to_string();
        assert_eq!(refused("recovery_ms", (0.0, 1.0)), "'recovery_ms' is a metric of the whole run; it has no window");
        assert_eq!(
            refused("queue_men_bytes", (0.0, 1.0)),
            "no metric is named 'queue_men_bytes'; did you mean 'queue_mean_bytes'?"
        );
        assert_eq!(
            refused("jain", (1.0, 1.0)),
            "the window from 1 s to 1 s is empty; it must begin at 0 or later and end after that"
        );
        assert_eq!(refused("ramp_ms", (0.0, 1.0)), "'ramp_ms' needs a limit, in Gb/s");
    }
}
