use super::{mean_std, near, second_half, solved};
use crate::{Timing, solve};

/// Below the switching line ECM without delay is x'' + k n x' + n x = 0 with n = N Gi Ru and k = w / (C p):
/// here C = 1e6 frames/s, k = 2 ms, and Gi Ru = 2e6 frames/s^2 for a frame; k^2 n = 16 is above 4, a node.
#[test]
fn increase_follows_the_closed_form() {
    let parameters = r#"{"sources": 2, "capacity_bps": 12e9, "delay_s": 0, "sample_bytes": 1.5e6, "w": 2,
        "feedback_unit_bytes": 1500, "rate_unit_bps": 12e3, "gi": 2e6, "per_message": false,
        "clip_feedback": false, "set_point_bytes": 150e3}"#;
    let start = r#"{"queue_bytes": 135e3, "current_rate_bps": 6e9}"#;
    let timing = Timing { end_s: 3e-4, step_s: Some(1e-6), every_s: 1e-5 };
    let trajectory = solve("ecm", parameters, timing, Some(start), &mut || true).expect("a solution");
    let (k, n) = (2e-3_f64, 4e6_f64);
    let root = ((k * n).powi(2) - 4.0 * n).sqrt();
    let (slow, fast) = (0.5 * (root - k * n), 0.5 * (-root - k * n));
    let [time, queue] = ["time_s", "queue_bytes"].map(|column| trajectory.column(column).expect(column));
    for (time, queue) in time.iter().zip(queue) {
        let x = -10.0 * (fast * (slow * time).exp() - slow * (fast * time).exp()) / (fast - slow);
        near(queue / 1500.0 - 100.0, x, 1e-9, &format!("x({time})"));
    }
}

/// One increase gain does not serve every delay (deck 001): on a 10 Gb/s bottleneck with a sample every 12 frames, the
/// deck's gain settles on the set point at 10 us and swings down to an empty queue at 50 and 200 us.
#[test]
fn the_edge_of_stability_depends_on_the_delay() {
    let queue = |delay_us: u32| {
        let parameters = format!(r#"{{"delay_s": {delay_us}e-6}}"#);
        mean_std(second_half(&solved("ecm", &parameters, 0.2, None), "queue_bytes"))
    };
    let (mean, std) = queue(10);
    near(mean, 24e3, 1.0, "mean");
    near(std, 0.0, 1.0, "deviation");
    for delay in [50, 200] {
        let (mean, std) = queue(delay);
        println!("{delay} us: {mean:.0} / {std:.0} B");
        assert!(std > 0.5 * mean, "{delay} us: {mean} / {std}");
    }
}

/// A tenth of the time between two samples, 12 frames of 1500 octets at 10 Gb/s, which is 14.4 us. With a gain of 0.02 the
/// loop is faster: for a frame of feedback, 23.4375 units, a message takes 0.46875 of the rate off, and each source hears
/// of 34 722.2 messages a second. Gain times w by samples: 833 333.3 * 0.46875 * 34 722.2 * 2 / 69 444.4 = 390 625 / s.
#[test]
fn a_step_is_a_tenth_of_the_fastest_time() {
    for (parameters, us) in [("{}", 1.44), (r#"{"gd": 0.02}"#, 0.256)] {
        near(solved("ecm", parameters, 1e-4, None).step_s * 1e6, us, 1e-9, parameters);
    }
}

/// Two sources on 10 Gb/s: 5.5 Gb/s each, at the set point of 24 kB, unless the start says more.
#[test]
fn sources_start_a_tenth_above_their_share() {
    let first = |initial| {
        let trajectory = solved("ecm", "{}", 1e-4, initial);
        ["queue_bytes", "rate_bps", "current_rate_bps"].map(|column| trajectory.column(column).expect(column)[0])
    };
    for (initial, expected) in [
        (None, [24e3, 11e9, 5.5e9]),
        (Some(r#"{"from": "equilibrium"}"#), [24e3, 10e9, 5e9]),
        (Some(r#"{"queue_bytes": 30e3, "current_rate_bps": 4e9}"#), [30e3, 8e9, 4e9]),
    ] {
        for (value, expected) in first(initial).into_iter().zip(expected) {
            near(value / expected, 1.0, 1e-12, &format!("{initial:?}"));
        }
    }
}
