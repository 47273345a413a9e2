use super::{near, refused, solved};
use crate::initial::Initial;
use crate::parameters::Values;
use crate::stepper::{Lag, System};
use crate::timely::Timely;
use crate::{FluidError, Model, Trajectory};

fn last(trajectory: &Trajectory, column: &str) -> f64 {
    *trajectory.column(column).expect(column).last().expect("rows")
}

/// 10 Gb/s are 1.25 frames of 1000 octets in 1 us. 125 KB wait for 100 us, and the frame is on the link for 0.8 us more,
/// before a source hears of them; the sample before it is a segment older: 16 000 octets at 2.5 Gb/s are 51.2 us, at 10
/// Gb/s they are 12.8, less than the 20 us of Dmin. The longest lag is that of a full queue of 10 MB, 8 ms, and of a
/// segment at 10 Mb/s, 12.8 ms.
#[test]
fn a_source_hears_of_a_queue_after_the_time_it_waits() {
    let parameters = Values::read("timely_patched", Timely::<true>::PARAMETERS, "{}").expect("defaults");
    let initial = Initial::read("timely_patched", None, Timely::<true>::INITIAL).expect("no initial state");
    let system = Timely::<true>::new(&parameters, &initial).expect("in range");
    let rate = |gbps: f64| gbps * 1e9 / 8e3;
    let state = [125.0, rate(2.5), 0.0, rate(10.0), 0.0];
    for (index, us) in [(0, 100.8), (1, 152.0), (2, 120.8)] {
        near(system.lag(index, 0.0, &state) * 1e6, us, 1e-9, "lag, us");
    }
    near(system.lag(1, 0.0, &[125.0, rate(10.0), 0.0]) * 1e6, 120.8, 1e-9, "lag, us");
    // No lag is shorter: that of a full link, and a segment of at least Dmin.
    assert_eq!(system.lags(), [Lag::Varying(1.0 / rate(10.0)), Lag::Varying(1.0 / rate(10.0) + 20e-6)]);
    near(system.horizon() * 1e3, 8.0008 + 12.8, 1e-9, "horizon, ms");
}

/// q* = q0 + N delta q0 / (beta C), q0 = C Tlow = 62.5 KB: 15.625 KB for every two sources.
#[test]
fn patched_fixed_points_are_exact() {
    for (sources, bytes) in [(2, 78_125.0), (10, 140_625.0), (20, 218_750.0), (40, 375_000.0)] {
        let parameters = format!(r#"{{"sources": {sources}}}"#);
        let trajectory = solved("timely_patched", &parameters, 0.01, Some(r#"{"from": "equilibrium"}"#));
        near(last(&trajectory, "queue_bytes"), bytes, 1e-6, "queue");
        near(last(&trajectory, "rate_bps"), 10e9, 1e-3, "rate");
    }
}

#[test]
fn patched_sources_reach_their_fixed_point() {
    let start = r#"{"from": "equilibrium", "queue_bytes": 90e3}"#;
    let trajectory = solved("timely_patched", r#"{"sources": 10}"#, 0.3, Some(start));
    near(last(&trajectory, "queue_bytes"), 140_625.0, 1.0, "queue");
}

/// Near the fixed point two rates approach each other with beta R / (2 u) (q* - q0) / q0 each: at N = 2 with
/// u = segment / R = 25.6 us that is 39.06 / s, and the difference is a twentieth after ln 20 / 39.06 = 76.7 ms,
/// the time from C to 0.1 C / N of the paper's linear estimate.
#[test]
fn patched_rates_converge_as_estimated() {
    let start = r#"{"from": "equilibrium", "rates_bps": [5.05e9, 4.95e9]}"#;
    let trajectory = solved("timely_patched", "{}", 0.1, Some(start));
    let [first, second] = ["rate_1_bps", "rate_2_bps"].map(|column| trajectory.column(column).expect(column));
    let close = first.iter().zip(second).position(|(a, b)| a - b < 1e8 / 20.0).expect("they meet");
    let time = trajectory.column("time_s").expect("time")[close];
    println!("{time}");
    near(time, 76.7e-3, 0.2e-3, "time to a twentieth");
}

/// With a gradient of 0 that does nothing every split of the link is a rest: 7 and 3 Gb/s stay for ever.
#[test]
fn unfair_rates_rest_under_a_strict_gradient() {
    let start = r#"{"from": "equilibrium", "rates_bps": [7e9, 3e9]}"#;
    let trajectory = solved("timely", r#"{"strict_gradient": true}"#, 0.1, Some(start));
    assert_eq!([last(&trajectory, "rate_1_bps"), last(&trajectory, "rate_2_bps")], [7e9, 3e9]);
}

/// The rule as it stands swings and never rests; the split hardly moves in a tenth of a second, and a fair one stays.
#[test]
fn unfair_rates_persist() {
    let ratio = |start: &str| {
        let trajectory = solved("timely", "{}", 0.1, Some(start));
        last(&trajectory, "rate_1_bps") / last(&trajectory, "rate_2_bps")
    };
    let unfair = ratio(r#"{"rates_bps": [7e9, 3e9]}"#);
    println!("7 / 3 becomes {unfair}");
    assert!(unfair > 2.1, "{unfair}");
    assert_eq!(ratio(r#"{"rates_bps": [5e9, 5e9]}"#), 1.0);
    let late = ratio(r#"{"rates_bps": [5e9, 5e9], "start_s": [0, 0.01]}"#);
    println!("10 ms late becomes {late}");
    assert!(late > 1.15, "{late}");
}

#[test]
fn no_equilibrium() {
    let start = Some(r#"{"from": "equilibrium"}"#);
    assert!(matches!(refused("timely", "{}", start), FluidError::NoEquilibrium { model: "timely", .. }));
    let crowded = refused("timely_patched", r#"{"sources": 400}"#, start);
    assert!(matches!(crowded, FluidError::NoEquilibrium { model: "timely_patched", .. }), "{crowded}");
}
