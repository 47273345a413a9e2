//! How the kernel schedules the calling thread.
#![allow(unsafe_code)]

use std::fmt;

/// How a thread is scheduled, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SchedulingClass {
    /// SCHED_FIFO: before all ordinary threads.
    Fifo,
    /// Ordinary, at nice -20.
    Nice,
    /// As any other.
    Plain,
}

impl fmt::Display for SchedulingClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SchedulingClass::Fifo => "fifo",
            SchedulingClass::Nice => "nice -20",
            SchedulingClass::Plain => "plain",
        })
    }
}

/// Asks for SCHED_FIFO at `priority`, else for nice -20, for the calling thread, and for exact timers. Returns what it
/// got.
pub(crate) fn ask_for_best(priority: i32) -> SchedulingClass {
    // SAFETY: plain numbers; at worst the call is refused, and timers stay 50 us wide.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameters are ours and live through the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) } == 0
    {
        return SchedulingClass::Fifo;
    }
    // SAFETY: plain numbers; 0 is the calling thread on Linux.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) } == 0 {
        return SchedulingClass::Nice;
    }
    SchedulingClass::Plain
}

/// The last CPU that the calling thread may run on; `None` where the system does not tell.
pub(crate) fn last_cpu() -> Option<usize> {
    // SAFETY: a set of CPUs is plain bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours and as long as is said; 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return None;
    }
    let most = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    // SAFETY: the number is below the length of the set.
    (0..most).rev().find(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) })
}

/// Keeps the calling thread on one CPU, where that is allowed.
pub(crate) fn stay_on(cpu: usize) -> bool {
    // SAFETY: a set of CPUs is plain bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu >= usize::try_from(libc::CPU_SETSIZE).unwrap_or(0) {
        return false;
    }
    // SAFETY: the number is below the length of the set.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is ours and as long as is said; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}

/// Keeps the memory of the process from being paged out, where that is allowed.
pub(crate) fn lock_memory() -> bool {
    // SAFETY: plain numbers. Only what is there is locked: with future memory too, a growing heap could be refused.
    unsafe { libc::mlockall(libc::MCL_CURRENT) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_on_a_cpu_that_it_may_use() {
        let stayed = std::thread::spawn(|| {
            let cpu = last_cpu().expect("Linux tells");
            (stay_on(cpu), last_cpu() == Some(cpu), stay_on(usize::MAX))
        });
        assert_eq!(stayed.join().expect("it does not panic"), (true, true, false));
    }
}
