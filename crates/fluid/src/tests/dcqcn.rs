use super::{mean_std, near, refused, second_half, solved};
use crate::FluidError;

/// Mean and standard deviation of the queue in KB.
fn queue(sources: u32, delay: &str, p_max: f64) -> (f64, f64) {
    let parameters = format!(r#"{{"sources": {sources}, "delay_s": {delay}, "p_max": {p_max}}}"#);
    let (mean, std) = mean_std(second_half(&solved("dcqcn", &parameters, 0.4, None), "queue_bytes"));
    println!("N={sources} {delay} s, p_max {p_max}: {:.2} / {:.2} KB", mean / 1e3, std / 1e3);
    (mean / 1e3, std / 1e3)
}

/// The fixed points that Zhu et al. derive, reached from line rate: p* of 7.770e-4 and 6.032e-3.
#[test]
fn settles_on_the_fixed_point() {
    for (sources, p, kilobytes) in [(2, 7.770e-4, 20.15), (10, 6.032e-3, 122.6)] {
        let trajectory = solved("dcqcn", &format!(r#"{{"sources": {sources}}}"#), 0.4, None);
        let last = |column: &str| *trajectory.column(column).expect(column).last().expect("rows");
        near(last("marking_probability") / p, 1.0, 1e-3, "p");
        near(last("queue_bytes") / 1e3 / kilobytes, 1.0, 1e-3, "queue");
        near(last("rate_bps") / 40e9, 1.0, 1e-6, "rate");
    }
}

#[test]
fn the_equilibrium_is_one() {
    for (sources, p_max, p) in [(2, 0.01, 7.770e-4), (10, 0.01, 6.032e-3), (20, 0.02, 1.435e-2), (64, 0.1, 5.906e-2)] {
        let parameters = format!(r#"{{"sources": {sources}, "p_max": {p_max}}}"#);
        let trajectory = solved("dcqcn", &parameters, 5e-3, Some(r#"{"from": "equilibrium"}"#));
        near(trajectory.column("marking_probability").expect("p")[0] / p, 1.0, 2e-4, "p");
        for column in ["queue_bytes", "current_rate_bps", "target_rate_bps", "alpha"] {
            let values = trajectory.column(column).expect(column);
            near(values[4000] / values[0], 1.0, 1e-9, column);
        }
    }
}

/// More sources than the marking ramp can hold: at p_max = 1 % already 20 need 1.4 %.
#[test]
fn a_saturated_ramp_has_no_equilibrium() {
    for sources in [20, 64] {
        let error = refused("dcqcn", &format!(r#"{{"sources": {sources}}}"#), Some(r#"{"from": "equilibrium"}"#));
        let FluidError::NoEquilibrium { model, why } = &error else { panic!("{error}") };
        assert_eq!(*model, "dcqcn");
        assert!(why.contains("p_max"), "{why}");
    }
}

/// Stable at 4 us; at 85 us two sources are still stable and ten swing. Queue in KB, mean and deviation, as an
/// independent integration of the same equations gave them.
#[test]
fn ten_sources_swing_at_a_long_delay() {
    for (sources, delay, p_max, mean, std) in [
        (2, "4e-6", 0.01, 20.15, 0.0),
        (2, "85e-6", 0.01, 20.15, 0.2),
        (10, "4e-6", 0.01, 122.6, 0.0),
        (10, "85e-6", 0.01, 55.0, 79.0),
        (2, "4e-6", 0.1, 6.5, 0.0),
        (10, "4e-6", 0.1, 16.8, 0.0),
        (64, "4e-6", 0.1, 120.2, 0.0),
        (64, "85e-6", 0.1, 97.0, 123.0),
    ] {
        let (got_mean, got_std) = queue(sources, delay, p_max);
        near(got_mean, mean, 0.02 * mean, "mean");
        near(got_std, std, 0.02 * mean, "deviation");
    }
}

/// A source that starts late finds its share.
#[test]
fn a_late_source_is_let_in() {
    let late = r#"{"rates_bps": [40e9, 10e9], "start_s": [0, 0.01]}"#;
    let trajectory = solved("dcqcn", "{}", 0.2, Some(late));
    let (time, rate) =
        (trajectory.column("time_s").expect("time"), trajectory.column("current_rate_bps").expect("rate"));
    let alone = time.iter().position(|time| *time > 0.009).expect("a row");
    near(2.0 * rate[alone] / 40e9, 1.0, 0.02, "alone");
    near(trajectory.column("queue_bytes").expect("queue")[4000] / 20.15e3, 1.0, 0.02, "queue of both");
}

/// Two sources fill the queue at 80 Gb/s, less 40: after 30 us 150 KB stand in it, and all is marked from 20 KB on. A third
/// source starts then, and for a delay of 4 us hears of marks on frames that it had not yet sent: its alpha only decays, by
/// g / tau' = 71 / s, and its rate rests, for no cycle ends.
#[test]
fn a_source_may_start_where_everything_is_marked() {
    let late = r#"{"rates_bps": [40e9, 40e9, 10e9], "start_s": [0, 0, 30e-6]}"#;
    let parameters = r#"{"sources": 3, "k_max_bytes": 20e3}"#;
    let trajectory = solved("dcqcn", parameters, 40e-6, Some(late));
    assert_eq!((trajectory.unbounded_s, trajectory.column("time_s").map(<[f64]>::len)), (None, Some(4001)));
    assert!(trajectory.column("queue_bytes").expect("queue")[3000] > 100e3);
    assert!(trajectory.columns.iter().all(|column| column.values.iter().all(|value| value.is_finite())));
}

/// The published time plots of 64 sources have a ramp up to 2000 KB at 10 %, a tenth as steep as one up to 200 KB. They
/// rest on it at 85 us, where they swing on the steep one, with the same p* = 5.906e-2:
/// 5 KB + 0.5906 (2000 - 5) KB = 1183 KB.
#[test]
fn a_ramp_of_2000_kilobytes_is_stable_at_85_microseconds() {
    let parameters = r#"{"sources": 64, "delay_s": 85e-6, "p_max": 0.1, "k_max_bytes": 2e6}"#;
    let trajectory = solved("dcqcn", parameters, 0.4, None);
    let (mean, std) = mean_std(second_half(&trajectory, "queue_bytes"));
    println!("{:.1} / {:.2} KB", mean / 1e3, std / 1e3);
    near(mean / 1e3, 1183.3, 2.0, "mean");
    assert!(std / mean < 0.01, "{std}");
}
