//! CPU time of this thread, where there is a clock.

#[cfg(feature = "clock")]
use cpu_time::ThreadTime;

/// A moment in the CPU time of this thread.
pub(crate) struct CpuClock {
    #[cfg(feature = "clock")]
    start: ThreadTime,
}

impl CpuClock {
    /// Now.
    pub(crate) fn start() -> CpuClock {
        CpuClock {
            #[cfg(feature = "clock")]
            start: ThreadTime::now(),
        }
    }

    /// Returns the CPU seconds since the start; 0 without a clock.
    pub(crate) fn seconds(&self) -> f64 {
        #[cfg(feature = "clock")]
        return self.start.elapsed().as_secs_f64();
        #[cfg(not(feature = "clock"))]
        return 0.0;
    }
}
