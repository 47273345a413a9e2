//! Where a machine stands still: a thread that sleeps or spins on one CPU and tells when it was not on time.
//!
//! It shares no memory and no socket with anybody. What stalls it stalls the loops of a live run, too: the host of a
//! virtual machine, an interrupt, or the kernel on behalf of another thread.

use crate::sys::poll::wait;
use crate::sys::scheduling::{SchedulingClass, ask_for_best, stay_on};
use crate::sys::time::{monotonic_ns, thread_cpu_ns, thread_waited_ns};
use crate::sys::usage::{ThreadUsage, thread_usage};

/// Above the loops of a run.
const PRIORITY: i32 = 30;
/// Of each of these, ns, a thread that spins sleeps the last tenth: real-time threads that fill a CPU are stopped.
const ROUND_NS: u64 = 100_000_000;

/// How a watching thread spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CyclicThread {
    /// It reads the clock, nine tenths of the time.
    Spin,
    /// It sleeps for so many nanoseconds, again and again.
    Sleep(u64),
}

/// A time in which a thread did not look when it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The CPU that it stays on.
    pub cpu: usize,
    /// When it ended, by the system's monotonic clock.
    pub at_ns: u64,
    /// How long it was.
    pub lasted_ns: u64,
    /// How much of it the kernel counts as time of the thread. Where that is all of it, and nothing was run, the host of
    /// a virtual machine had the CPU.
    pub own_cpu_ns: u64,
    /// How much of it, at most, the thread was ready and another one ran.
    pub waited_ns: u64,
    /// Page faults of the thread in it.
    pub faults: u64,
}

/// Watches a CPU for so long, with real-time scheduling where it is granted. Returns the stalls that are longer than
/// `longer_than_ns`, and how the thread was scheduled, in words.
pub fn measure_stalls(cpu: usize, how: CyclicThread, seconds: f64, longer_than_ns: u64) -> (Vec<Stall>, String) {
    stay_on(cpu);
    let class: SchedulingClass = ask_for_best(PRIORITY);
    let mut stalls = Vec::with_capacity(4096);
    let end = monotonic_ns() + (seconds * 1e9) as u64;
    let (mut last, mut before) = (monotonic_ns(), Account::now());
    while last < end {
        let planned = match how {
            CyclicThread::Sleep(ns) => {
                wait(&[], ns);
                last + ns
            }
            CyclicThread::Spin if last % ROUND_NS > ROUND_NS / 10 * 9 => {
                wait(&[], ROUND_NS / 10);
                last + ROUND_NS / 10
            }
            CyclicThread::Spin => last,
        };
        let now = monotonic_ns();
        if now.saturating_sub(planned) > longer_than_ns {
            let after = Account::now();
            stalls.push(after.stall_since(&before, cpu, now, now - planned));
            before = after;
        } else if now / 1_000_000 != last / 1_000_000 {
            before = Account::now();
        }
        last = monotonic_ns();
    }
    (stalls, class.to_string())
}

/// What the kernel has counted for the calling thread.
struct Account {
    cpu_ns: u64,
    waited_ns: u64,
    usage: ThreadUsage,
}

impl Account {
    fn now() -> Account {
        Account { cpu_ns: thread_cpu_ns(), waited_ns: thread_waited_ns(), usage: thread_usage() }
    }

    fn stall_since(&self, before: &Account, cpu: usize, at_ns: u64, lasted_ns: u64) -> Stall {
        Stall {
            cpu,
            at_ns,
            lasted_ns,
            own_cpu_ns: (self.cpu_ns - before.cpu_ns).min(lasted_ns),
            waited_ns: (self.waited_ns - before.waited_ns).min(lasted_ns),
            faults: self.usage.faults - before.usage.faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit that nothing passes, and one that every look does.
    #[test]
    fn a_thread_tells_what_is_longer_than_asked() {
        for how in [CyclicThread::Spin, CyclicThread::Sleep(1_000_000)] {
            let (none, class) = measure_stalls(0, how, 0.05, u64::MAX);
            assert!(none.is_empty() && !class.is_empty());
            let (all, _) = measure_stalls(0, how, 0.05, 0);
            assert!(!all.is_empty() && all.iter().all(|stall| stall.cpu == 0 && stall.lasted_ns > 0), "{how:?}");
            assert!(all.iter().all(|stall| stall.own_cpu_ns.max(stall.waited_ns) <= stall.lasted_ns));
            assert!(all.windows(2).all(|two| two[0].at_ns < two[1].at_ns));
        }
    }
}
