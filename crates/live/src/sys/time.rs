//! The clock: time since the start of a run, from the system's monotonic clock.
#![allow(unsafe_code)]

use qcnlab_units::Instant;

/// Nanoseconds of a clock of the system.
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours. The clocks asked for exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds since the machine started.
pub(crate) fn monotonic_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of CPU that the calling thread has used.
pub(crate) fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Nanoseconds that the calling thread was ready to run and another one had the CPU; 0 where the kernel does not tell.
pub(crate) fn thread_waited_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|waited| waited.parse().ok()).unwrap_or(0)
}

/// Tells the time of a run: picoseconds since its start, 0 before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start_ns: u64,
}

impl Clock {
    /// A run that starts so many nanoseconds from now.
    pub(crate) fn starting_in(ns: u64) -> Clock {
        Clock { start_ns: monotonic_ns() + ns }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_ps(monotonic_ns().saturating_sub(self.start_ns) * 1000)
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
