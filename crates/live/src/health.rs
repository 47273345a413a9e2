//! What a loop measures of itself: how late frames left, how long it did not look, what its thread took.

use crate::sys::scheduling::SchedulingClass;
use crate::sys::time::{thread_cpu_ns, thread_waited_ns};

/// How often a loop asks how long its thread has waited for a CPU so far, ps.
const ASK_EVERY: u64 = 100_000_000_000;

/// Microseconds told apart by a [`Lateness`]; later frames count as this late.
const MOST_US: usize = 100_000;

/// How late frames left behind the instants at which they should have, by whole microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    counts: Vec<u32>,
    total: u64,
    max_us: u64,
}

impl Lateness {
    pub(crate) fn new() -> Lateness {
        Lateness { counts: vec![0; MOST_US + 1], total: 0, max_us: 0 }
    }

    /// A frame that was due at `due` left at `left`, ps.
    pub(crate) fn count(&mut self, due: u64, left: u64) {
        let us = left.saturating_sub(due) / 1_000_000;
        self.counts[(us as usize).min(MOST_US)] += 1;
        self.total += 1;
        self.max_us = self.max_us.max(us);
    }

    pub(crate) fn add(&mut self, other: &Lateness) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
        self.total += other.total;
        self.max_us = self.max_us.max(other.max_us);
    }

    pub(crate) fn frames(&self) -> u64 {
        self.total
    }

    pub(crate) fn max_us(&self) -> u64 {
        self.max_us
    }

    /// The lateness that so many of a thousand frames do not exceed, us; `None` without frames.
    pub(crate) fn permille_us(&self, permille: u64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let wanted = (self.total * permille).div_ceil(1000).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        reached.map(|us| us as u64)
    }
}

/// A time in which a loop did not look when it should have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) us: u64,
    /// When it ended, ps.
    pub(crate) at: u64,
    /// How much of it, at most, its thread was ready to run and another thread had the CPU.
    pub(crate) waited_us: u64,
}

/// Measures a loop.
#[derive(Debug)]
pub(crate) struct LoopMeter {
    /// When the loop should look next, ps, as it said before it waited.
    planned: u64,
    longest: Gap,
    passes: u64,
    cpu_at_start: u64,
    /// How long its thread had waited for a CPU when that was asked last, ns, and when to ask next, ps.
    waited: u64,
    next_ask: u64,
}

impl LoopMeter {
    /// Starts with the calling thread.
    pub(crate) fn start() -> LoopMeter {
        LoopMeter {
            planned: u64::MAX,
            longest: Gap::default(),
            passes: 0,
            cpu_at_start: thread_cpu_ns(),
            waited: thread_waited_ns(),
            next_ask: 0,
        }
    }

    /// The loop looks at `now`, ps.
    pub(crate) fn starts_pass(&mut self, now: u64) {
        self.passes += 1;
        let us = if self.planned == u64::MAX { 0 } else { now.saturating_sub(self.planned) / 1_000_000 };
        if us > self.longest.us {
            let waited = thread_waited_ns().saturating_sub(self.waited) / 1000;
            self.longest = Gap { us, at: now, waited_us: waited.min(us) };
        }
        if now >= self.next_ask {
            self.waited = thread_waited_ns();
            self.next_ask = now + ASK_EVERY;
        }
    }

    /// When the loop should look next, ps; 0 for at once.
    pub(crate) fn planned(&self) -> u64 {
        if self.planned == u64::MAX { 0 } else { self.planned }
    }

    /// The loop has done what was due at `now`, and waits until `planned` at most.
    pub(crate) fn waits(&mut self, planned: u64) {
        self.planned = planned;
    }

    /// What the thread came to in `elapsed_ns`.
    pub(crate) fn finish(self, name: &str, class: SchedulingClass, lateness: Lateness, elapsed_ns: u64) -> LoopHealth {
        let cpu = thread_cpu_ns().saturating_sub(self.cpu_at_start);
        LoopHealth {
            name: name.to_owned(),
            class,
            lateness,
            longest_gap: self.longest,
            cpu_share: cpu as f64 / elapsed_ns.max(1) as f64,
            passes: self.passes,
            receive_drops: 0,
            send_failures: 0,
        }
    }
}

/// What a loop came to.
#[derive(Clone, Debug)]
pub(crate) struct LoopHealth {
    pub(crate) name: String,
    pub(crate) class: SchedulingClass,
    pub(crate) lateness: Lateness,
    pub(crate) longest_gap: Gap,
    /// Of one core.
    pub(crate) cpu_share: f64,
    pub(crate) passes: u64,
    /// Frames that found no room in the socket's buffer.
    pub(crate) receive_drops: u64,
    /// Frames that the kernel did not take.
    pub(crate) send_failures: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1000 frames 989 are on time, 10 are 50 us late and one is 3 ms late.
    #[test]
    fn percentiles_count_frames() {
        let mut lateness = Lateness::new();
        (0..989).for_each(|_| lateness.count(10, 10));
        (0..10).for_each(|_| lateness.count(0, 50_999_999));
        lateness.count(0, 3_000_000_000);
        assert_eq!([500, 989, 990, 999, 1000].map(|p| lateness.permille_us(p)), [0, 0, 50, 50, 3000].map(Some));
        assert_eq!((lateness.frames(), lateness.max_us()), (1000, 3000));
        assert_eq!(Lateness::new().permille_us(500), None);
    }

    #[test]
    fn a_gap_is_time_past_what_was_planned() {
        let mut meter = LoopMeter::start();
        let us = |us: u64| us * 1_000_000;
        meter.starts_pass(us(100));
        meter.waits(us(200));
        meter.starts_pass(us(150));
        assert_eq!(meter.longest, Gap::default(), "woken early by a frame");
        for (planned, looked) in [(300, 1300), (1400, 1500)] {
            meter.waits(us(planned));
            meter.starts_pass(us(looked));
            assert_eq!((meter.longest.us, meter.longest.at), (1000, us(1300)));
        }
        assert!(meter.longest.waited_us <= 1000);
    }
}
