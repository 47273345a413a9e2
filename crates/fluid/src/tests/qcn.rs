use super::{mean_std, near, refused, second_half, solved};
use crate::{Timing, solve};

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

/// How far the queue of remembered cycles swings, as a part of its set point, and how often it crosses its mean upwards
/// in a second.
fn remembered(sources: u32, delay_us: f64, steps: u32) -> (f64, f64) {
    let parameters = format!(
        r#"{{"sources": {sources}, "delay_s": {delay_us}e-6, "sampling": "fixed", "first_cycle": "kept",
            "cycles": "remembered", "cycle_steps": {steps}}}"#
    );
    let trajectory = solved("qcn", &parameters, 1.0, None);
    let queue = second_half(&trajectory, "queue_bytes");
    let (mean, std) = mean_std(queue);
    let crossings = queue.windows(2).filter(|pair| pair[0] < mean && pair[1] >= mean).count();
    println!("N={sources} {delay_us} us, {steps} steps: {:.3}, {} Hz", std / 33e3, 2 * crossings);
    (std / 33e3, 2.0 * crossings as f64)
}

/// Where sources have a position in their cycles the edge is that of many particles with byte counters of their own, over a
/// fluid queue, integrated by Euler steps of 2 us: 1000 of them swing by 0.05, 0.25 and 0.54 at 400, 500 and 600 us as
/// ten sources, and by 0.13 and 0.45 at 100 and 250 us as fifty.
#[test]
fn remembered_cycles_swing_as_particles_do() {
    for (delay, swing) in [(400.0, 0.05), (500.0, 0.25), (600.0, 0.54)] {
        near(remembered(10, delay, 20).0, swing, 0.03, "swing of ten");
    }
    assert!(remembered(50, 100.0, 20).0 < 0.2);
    assert!(remembered(50, 250.0, 20).0 > 0.4);
}

/// A hundred sources have no edge: their cycles last 12 ms and keep the queue swinging at 55 to 70 Hz however short the
/// delay, in the particles and here; one step to a cycle, which remembers nothing, leaves them at rest.
#[test]
fn a_hundred_sources_swing_by_their_cycles() {
    let (swing, hertz) = remembered(100, 20.0, 20);
    assert!(swing > 0.5, "{swing}");
    assert!((50.0..=75.0).contains(&hertz), "{hertz}");
    assert!(remembered(100, 200.0, 1).0 < 1e-3);
}

#[test]
fn remembered_cycles_have_an_equilibrium() {
    for sampling in ["fixed", "adaptive"] {
        let parameters = format!(
            r#"{{"sources": 10, "delay_s": 40e-6, "sampling": "{sampling}", "first_cycle": "kept",
                "cycles": "remembered"}}"#
        );
        let trajectory = solved("qcn", &parameters, 0.01, Some(r#"{"from": "equilibrium"}"#));
        for column in ["queue_bytes", "current_rate_bps", "target_rate_bps"] {
            let values = trajectory.column(column).expect(column);
            near(values[4000] / values[0], 1.0, 1e-9, column);
        }
    }
}

#[test]
fn cycles_that_cannot_be_remembered_are_refused() {
    for (parameters, expected) in [
        ("\"first_cycle\": \"restarted\"", "\"kept\" where cycles are remembered"),
        ("\"first_cycle\": \"kept\", \"fast_recovery_cycles\": 2.5", "a whole number"),
        ("\"first_cycle\": \"kept\", \"cycle_steps\": 1001", "at most 1000"),
    ] {
        let fault = refused("qcn", &format!("{{\"cycles\": \"remembered\", {parameters}}}"), None).to_string();
        assert!(fault.contains(expected), "{fault}");
    }
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

/// Ten seconds of ten sources take 2.5 million steps of 4 us, a third of the 12 us between two samples at 10 %.
#[test]
fn ten_seconds_take_few_steps() {
    let timing = Timing { end_s: 10.0, step_s: None, every_s: 1e-3 };
    let mut calls = 0_u32;
    let mut go_on = || {
        calls += 1;
        true
    };
    let run = solve("qcn", r#"{"sources": 10, "delay_s": 200e-6}"#, timing, None, &mut go_on).expect("a solution");
    near(run.step_s, 4e-6, 1e-12, "step");
    // One call at every 16384 steps.
    assert!((1..=153).contains(&calls), "{calls} calls");
}

/// The step that is chosen says what a step of 0.5 us says, below, at and beyond the edge of stability.
#[test]
fn the_chosen_step_is_short_enough() {
    for delay in [40e-6, 200e-6, 284e-6, 400e-6] {
        let parameters = format!(r#"{{"sources": 10, "delay_s": {delay}}}"#);
        let [chosen, fine] = [None, Some(0.5e-6)].map(|step_s| {
            let timing = Timing { end_s: 0.4, step_s, every_s: 1e-4 };
            let run = solve("qcn", &parameters, timing, None, &mut || true).expect("a solution");
            mean_std(second_half(&run, "queue_bytes"))
        });
        println!("{delay}: {chosen:?} {fine:?}");
        near(chosen.0, fine.0, 0.005 * 33e3, "mean");
        near(chosen.1, fine.1, 0.005 * 33e3, "deviation");
    }
}
