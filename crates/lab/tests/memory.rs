//! What a run takes of memory, counted at the allocator, which no other test of this file may disturb: there is one.

use peak_alloc::PeakAlloc;
use qcnlab_lab::{Control, Options, Scenario, run};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Most octets above those at the start, while one replication runs.
fn peak(name: &str, overrides: &[&str]) -> usize {
    let scenario = Scenario::shipped(name).unwrap().with_overrides(overrides).unwrap();
    let options = Options { replications: Some(1), jobs: Some(1), ..Options::default() };
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    run(&[scenario], &options, &Control::default()).unwrap();
    ALLOCATOR.peak_usage() - before
}

#[test]
fn it_is_flat_in_simulated_time() {
    let w1 = "w1-10-senders-cbr";
    peak(w1, &["duration=100 ms"]);
    let (one, four) = (peak(w1, &["duration=1 s"]), peak(w1, &["duration=4 s"]));
    assert!(one.abs_diff(four) < 4096, "W1 takes {one} octets in 1 s, {four} in 4 s");
    assert!(one < 1 << 20, "{one}");
}
