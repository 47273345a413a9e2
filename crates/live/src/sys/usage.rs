//! What the kernel has done for the calling thread.
#![allow(unsafe_code)]

/// Counted since the thread started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    /// Pages that were not there when the thread wanted them.
    pub(crate) faults: u64,
}

/// What is counted for the calling thread so far.
pub(crate) fn thread_usage() -> ThreadUsage {
    // SAFETY: the record is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the record is ours and lives through the call.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0 {
        return ThreadUsage::default();
    }
    ThreadUsage { faults: (usage.ru_minflt + usage.ru_majflt).unsigned_abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_touched_first_is_a_fault() {
        let before = thread_usage();
        // 16 MiB are mapped anew, and each page is written.
        let block = vec![1u8; 16 << 20];
        assert!(std::hint::black_box(&block)[4096] == 1);
        assert!(thread_usage().faults > before.faults, "{before:?}");
    }
}
