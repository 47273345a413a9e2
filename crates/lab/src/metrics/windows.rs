//! The times that metrics tell apart.

use qcnlab_scenario::Scenario;
use std::ops::Range;

/// Windows of a run, and how it is sampled; all times in ps.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// From the end of warm-up to the first hotspot, or to the end.
    pub(super) before: Range<u64>,
    /// The first hotspot.
    pub(super) during: Option<Range<u64>>,
    /// From the end of the first hotspot to the next one, or to the end.
    pub(super) after: Option<Range<u64>>,
    /// From the end of warm-up to the end.
    pub(super) whole: Range<u64>,
    /// Length of a throughput bin.
    pub(super) bin: u64,
    /// Distance of queue samples.
    pub(super) queue_every: u64,
    /// How long each level must last.
    pub(super) holds: Holds,
}

/// How long a level must last to count; all times in ps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds {
    pub(super) recovery: u64,
    pub(super) rec95s: u64,
    pub(super) onset: u64,
}

impl Windows {
    pub(super) fn of(scenario: &Scenario) -> Windows {
        let end = scenario.duration.ps();
        let hotspot = scenario.hotspots.first();
        let next_start = scenario.hotspots.get(1).map_or(end, |next| next.from.ps());
        Windows {
            before: scenario.warmup.ps()..hotspot.map_or(end, |h| h.from.ps()),
            during: hotspot.map(|h| h.from.ps()..h.until.ps()),
            after: hotspot.map(|h| h.until.ps()..next_start),
            whole: scenario.warmup.ps()..end,
            bin: scenario.record.throughput_bin.ps(),
            queue_every: scenario.record.queue_every.ps(),
            holds: Holds {
                recovery: scenario.record.recovery_hold.ps(),
                rec95s: scenario.record.rec95s_hold.ps(),
                onset: scenario.record.onset_hold.ps(),
            },
        }
    }

    /// Ends all windows at `end`, where a run ended before its time.
    pub(super) fn cut(&mut self, end: u64) {
        let windows = [&mut self.before, &mut self.whole].into_iter().chain(&mut self.during).chain(&mut self.after);
        for window in windows {
            *window = window.start.min(end)..window.end.min(end);
        }
    }

    /// Bins of the run.
    pub(super) const fn all_bins(&self) -> u64 {
        self.whole.end / self.bin
    }

    /// The bins that lie wholly inside a window.
    pub(super) fn bins_in(&self, window: &Range<u64>) -> Range<u64> {
        window.start.div_ceil(self.bin)..(window.end / self.bin).min(self.all_bins())
    }

    /// Seconds of the bins that begin in one of `windows`.
    pub(super) fn seconds(&self, windows: &[Range<u64>]) -> f64 {
        let begin = |time: u64| time.div_ceil(self.bin).min(self.all_bins());
        let bins: u64 = windows.iter().map(|window| begin(window.end).saturating_sub(begin(window.start))).sum();
        bins as f64 * self.bin as f64 * 1e-12
    }
}
