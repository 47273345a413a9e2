use super::{mean_std, near, second_half, solved};
use crate::fluid::{Timing, solve};
use std::time::{Duration, Instant};

/// Mean and standard deviation of the queue in frames, and the part of the time it is empty.
fn queue(sources: u32, delay_us: f64) -> (f64, f64, f64) {
    let parameters = format!(r#"{{"sources": {sources}, "delay_s": {delay_us}e-6}}"#);
    let trajectory = solved("qcn", &parameters, 0.6, None);
    let frames: Vec<f64> = second_half(&trajectory, "queue_bytes").iter().map(|bytes| bytes / 1500.0).collect();
    let (mean, std) = mean_std(&frames);
    let empty = frames.iter().filter(|frames| **frames < 1e-3).count() as f64 / frames.len() as f64;
    println!("N={sources} {delay_us} us: {mean:.2} / {std:.2}, empty {empty:.3}");
    (mean, std, empty)
}

/// The queue of ten sources with all the clamps of the real thing; mean and deviation in frames.
///
/// An independent integration by Euler steps of 2 us gave 22.0 / 0.0, 20.3 / 2.9 and 7.1 / 10.2, the last with an empty
/// queue 47 % of the time. At 200 us Euler steps of 4, 2, 1 and 0.5 us give 20.1, 20.3, 20.4 and 20.5; this method gives
/// 20.53 at every step from 4 to 0.1 us, to which they converge.
#[test]
fn ten_sources_with_clamps() {
    for (delay, mean, std) in [(40.0, 22.0, 0.0), (200.0, 20.53, 2.73), (400.0, 7.1, 10.2)] {
        let (got_mean, got_std, empty) = queue(10, delay);
        near(got_mean, mean, 0.05, "mean");
        near(got_std, std, 0.05, "deviation");
        let expected = if delay == 400.0 { 0.47 } else { 0.0 };
        near(empty, expected, 0.03, "part of the time with an empty queue");
    }
}

/// As [`ten_sources_with_clamps`], for a hundred; Euler steps of 2 us gave these to one decimal.
#[test]
fn a_hundred_sources_with_clamps() {
    for (delay, mean, std) in [(40.0, 22.8, 0.8), (200.0, 13.6, 13.4), (400.0, 11.6, 14.4)] {
        let (got_mean, got_std, _) = queue(100, delay);
        near(got_mean, mean, 0.25, "mean");
        near(got_std, std, 0.25, "deviation");
    }
}

/// How much a small disturbance has grown over a run until `end_s`.
fn growth(sources: u32, delay_us: f64, end_s: f64) -> f64 {
    let parameters = format!(
        r#"{{"sources": {sources}, "delay_s": {delay_us}e-6, "sampling": "fixed", "one_sided": false,
            "clip_feedback": false, "clamp_target": false, "rate_cap": false, "clamp_queue": false}}"#
    );
    let trajectory = solved("qcn", &parameters, end_s, Some(r#"{"from": "equilibrium", "queue_bytes": 33015}"#));
    let queue = trajectory.column("queue_bytes").expect("a queue");
    let swing = |part: std::ops::Range<usize>| mean_std(&queue[part]).1;
    let (early, late) = (swing(400..1400), swing(3000..4000));
    println!("N={sources} {delay_us} us: {:.4}", late / early);
    late / early
}

/// Without clamps the edge of stability lies where the linear loop has it, at 284 us for N = 10 and 211 us for N = 2.
#[test]
fn edges_of_stability_without_clamps() {
    assert!(growth(10, 275.0, 0.2) < 0.5);
    assert!(growth(10, 290.0, 0.2) > 1.5);
    assert!(growth(2, 205.0, 0.04) < 0.5);
    assert!(growth(2, 217.0, 0.04) > 1.5);
}

/// Without clamps nothing but C sets the scale of time: ten times the rate is stable up to a tenth of the delay.
#[test]
fn the_edge_scales_with_capacity() {
    for (delay, stable) in [(27.5e-6, true), (29.0e-6, false)] {
        let parameters = format!(
            r#"{{"sources": 10, "capacity_bps": 100e9, "ai_rate_bps": 50e6, "delay_s": {delay}, "sampling": "fixed",
                "one_sided": false, "clamp_target": false, "rate_cap": false, "clamp_queue": false}}"#
        );
        let trajectory = solved("qcn", &parameters, 0.04, Some(r#"{"from": "equilibrium", "queue_bytes": 33015}"#));
        let queue = trajectory.column("queue_bytes").expect("a queue");
        assert_eq!(mean_std(&queue[3000..]).1 < mean_std(&queue[400..1400]).1, stable, "{delay}");
    }
}

#[test]
fn the_equilibrium_is_one() {
    for (sampling, first) in
        [("fixed", "restarted"), ("adaptive", "restarted"), ("fixed", "kept"), ("adaptive", "kept")]
    {
        let parameters =
            format!(r#"{{"sources": 50, "delay_s": 40e-6, "sampling": "{sampling}", "first_cycle": "{first}"}}"#);
        let trajectory = solved("qcn", &parameters, 0.01, Some(r#"{"from": "equilibrium"}"#));
        for column in ["queue_bytes", "current_rate_bps", "target_rate_bps"] {
            let values = trajectory.column(column).expect(column);
            near(values[4000] / values[0], 1.0, 1e-9, column);
        }
    }
}

/// A first cycle that messages do not restart steadies the loop: at 300 us, beyond the edge of ten sources with fixed
/// sampling and clamps, the queue swings half as much, and it runs empty later.
#[test]
fn a_first_cycle_that_is_kept_steadies() {
    let swing = |first: &str| {
        let parameters =
            format!(r#"{{"sources": 10, "delay_s": 300e-6, "sampling": "fixed", "first_cycle": "{first}"}}"#);
        mean_std(second_half(&solved("qcn", &parameters, 0.6, None), "queue_bytes")).1
    };
    assert!(swing("kept") < 0.6 * swing("restarted"));
}

/// Noise softens the rule that only congestion is reported: beyond the edge of ten sources a small swing dies out.
#[test]
fn a_spread_of_the_feedback_steadies() {
    let swing = |spread: f64| {
        let parameters = format!(
            r#"{{"sources": 10, "delay_s": 350e-6, "sampling": "fixed", "first_cycle": "kept",
                "feedback_spread_bytes": {spread}}}"#
        );
        mean_std(second_half(&solved("qcn", &parameters, 0.6, None), "queue_bytes")).1
    };
    assert!(swing(5e3) < 0.01 * swing(0.0));
    near(swing(1e-3), swing(0.0), 1e-2 * swing(0.0), "no spread to speak of");
}

/// A full buffer holds the queue; full feedback then empties it.
#[test]
fn the_queue_ends_at_the_buffer() {
    let start = r#"{"queue_bytes": 33000, "current_rate_bps": 5e9}"#;
    let parameters = r#"{"sources": 10, "delay_s": 40e-6, "buffer_bytes": 150000}"#;
    let trajectory = solved("qcn", parameters, 0.01, Some(start));
    let queue = trajectory.column("queue_bytes").expect("a queue");
    near(queue.iter().fold(0.0, |most: f64, bytes| most.max(*bytes)), 150e3, 1e-6, "longest queue");
    assert!(queue[4000] < 150e3);
}

/// Ten seconds of ten sources at a fiftieth of the delay; the bound is ten times what a release build needs.
#[test]
fn ten_seconds_are_quick() {
    let timing = Timing { end_s: 10.0, step_s: Some(4e-6), every_s: 1e-3 };
    let begun = Instant::now();
    solve("qcn", r#"{"sources": 10, "delay_s": 200e-6}"#, timing, None, &mut || true).expect("a solution");
    println!("{:?}", begun.elapsed());
    if !cfg!(debug_assertions) {
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
