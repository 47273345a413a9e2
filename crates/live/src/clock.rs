//! The clock of a run: time since its start, which stands still while the machine does.
//!
//! All loops share one CPU. Where that runs none of them past a deadline, for longer than [`STALL`], nothing of the
//! network moved, and the clock is set back by that time, for links, limiters, timers and applications at once. The run
//! tells how often, and how long in all; `gate.rs` has the limits.

use crate::sys::time::monotonic_ns;
use qcnlab_units::{Instant, Span};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest time past a deadline, without any loop looking, that is lateness and no stop of the clock.
pub(crate) const STALL: Span = Span::from_ms(1);

/// How often, and for how long, a clock stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stopped {
    pub(crate) times: u64,
    pub(crate) total_ns: u64,
    pub(crate) longest_ns: u64,
    /// When the longest was, by the clock itself, ns.
    pub(crate) longest_at_ns: u64,
}

/// What the clocks of all threads of a run share.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    /// Whether the clock may stand still: where all that paces and all that sends goes by it.
    allowed: bool,
    times: AtomicU64,
    total_ns: AtomicU64,
    longest_ns: AtomicU64,
    longest_at_ns: AtomicU64,
    /// When a loop looked last, by the clock itself, ns.
    looked_ns: AtomicU64,
}

impl Stops {
    pub(crate) fn new(allowed: bool) -> Stops {
        Stops { allowed, ..Stops::default() }
    }

    /// What it came to.
    pub(crate) fn stopped(&self) -> Stopped {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Stopped {
            times: of(&self.times),
            total_ns: of(&self.total_ns),
            longest_ns: of(&self.longest_ns),
            longest_at_ns: of(&self.longest_at_ns),
        }
    }

    /// A loop that was to look at `planned_ns` looks when `since_start_ns` are over by the machine's clock. Returns the
    /// time by the run's, ns.
    fn read(&self, planned_ns: u64, since_start_ns: u64) -> u64 {
        let total = self.total_ns.load(Ordering::SeqCst);
        let looked = self.looked_ns.load(Ordering::SeqCst);
        let mut now = since_start_ns.saturating_sub(total);
        let since = planned_ns.max(looked);
        let stall = now.saturating_sub(since);
        // Where another loop has found the same stall first, the time is that loop's.
        if self.allowed && stall > STALL.ps() / 1000 {
            match self.total_ns.compare_exchange(total, total + stall, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => {
                    self.times.fetch_add(1, Ordering::Relaxed);
                    if self.longest_ns.fetch_max(stall, Ordering::Relaxed) < stall {
                        self.longest_at_ns.store(since, Ordering::Relaxed);
                    }
                    now = since;
                }
                Err(newer) => now = since_start_ns.saturating_sub(newer),
            }
        }
        now.max(self.looked_ns.fetch_max(now, Ordering::SeqCst))
    }
}

/// Tells the time of a run: picoseconds since its start, 0 before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock<'a> {
    start_ns: u64,
    stops: &'a Stops,
}

impl<'a> Clock<'a> {
    /// A run that starts at an instant of the machine's clock.
    pub(crate) fn starting_at(start_ns: u64, stops: &'a Stops) -> Clock<'a> {
        Clock { start_ns, stops }
    }

    /// Tells the time to those who do not move frames.
    pub(crate) fn now(&self) -> Instant {
        let since_start = monotonic_ns().saturating_sub(self.start_ns);
        Instant::from_ps(since_start.saturating_sub(self.stops.total_ns.load(Ordering::SeqCst)) * 1000)
    }

    /// Tells the time to a loop that was to look at `planned`, ps, after a sleep; in the midst of its work at once, 0.
    pub(crate) fn read(&self, planned: u64) -> Instant {
        let since_start = monotonic_ns().saturating_sub(self.start_ns);
        Instant::from_ps(self.stops.read(planned / 1000, since_start) * 1000)
    }

    /// Whether the run has started.
    pub(crate) fn has_started(&self) -> bool {
        monotonic_ns() >= self.start_ns
    }

    /// Nanoseconds until the run starts; 0 once it has.
    pub(crate) fn ns_to_start(&self) -> u64 {
        self.start_ns.saturating_sub(monotonic_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// One loop is to look at 10 ms, another at 12. The machine stands still from 9 to 30 ms: the clock goes on at 10.
    #[test]
    fn a_clock_stands_still_while_nobody_looks() {
        let stops = Stops::new(true);
        assert_eq!(stops.read(0, MS / 2), MS / 2);
        assert_eq!(stops.read(10 * MS, 30 * MS), 10 * MS);
        // 20 ms are left out; the other loop is on time, and so is one that looks 1 ms late.
        assert_eq!(stops.read(12 * MS, 32 * MS), 12 * MS);
        assert_eq!(stops.read(12 * MS, 33 * MS), 13 * MS);
        let first = Stopped { times: 1, total_ns: 20 * MS, longest_ns: 20 * MS, longest_at_ns: 10 * MS };
        assert_eq!(stops.stopped(), first);
        // A loop in the midst of its work; a shorter one.
        assert_eq!(stops.read(0, 38 * MS), 13 * MS);
        assert_eq!(stops.stopped(), Stopped { times: 2, total_ns: 25 * MS, ..first });
    }

    /// A loop that sleeps past its deadline while another one looks is late, and the clock goes on.
    #[test]
    fn a_loop_that_alone_is_late_is_late() {
        let stops = Stops::new(true);
        for ms in 1..=20 {
            assert_eq!(stops.read(ms * MS, ms * MS), ms * MS);
        }
        assert_eq!(stops.read(5 * MS, 20 * MS + 900_000), 20 * MS + 900_000);
        // A frame wakes a loop before its deadline.
        assert_eq!(stops.read(60 * MS, 50 * MS), 50 * MS);
        assert_eq!(stops.stopped(), Stopped::default());
    }

    /// Where others keep the time the clock never stands still.
    #[test]
    fn a_clock_that_may_not_stand_still_goes_on() {
        let stops = Stops::new(false);
        assert_eq!(stops.read(10 * MS, 30 * MS), 30 * MS);
        assert_eq!(stops.stopped(), Stopped::default());
    }

    /// Four loops find stalls at the same time: together they leave out no more than there was, and no clock goes back.
    #[test]
    fn a_stall_that_several_find_counts_once() {
        let stops = Stops::new(true);
        for round in 1..=200u64 {
            let raw = round * 10 * MS;
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let first = stops.read(0, raw);
                        assert!(stops.read(0, raw + 10) >= first);
                    });
                }
            });
        }
        let stopped = stops.stopped();
        assert!(stopped.times <= 200 && stopped.total_ns <= 2000 * MS && stopped.total_ns > 1990 * MS, "{stopped:?}");
    }
}
