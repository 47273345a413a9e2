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

/// Keeps the memory of the process from being paged out, where that is allowed.
pub(crate) fn lock_memory() -> bool {
    // SAFETY: plain numbers. Only what is there is locked: with future memory too, a growing heap could be refused.
    unsafe { libc::mlockall(libc::MCL_CURRENT) == 0 }
}
