use super::near;
use crate::{FluidError, HistoryView, Lag, System, integrate};
use std::f64::consts::FRAC_PI_2;

/// A system from closures, with constant lags.
struct Law<const N: usize, F> {
    lags: Vec<f64>,
    slope: F,
}

impl<const N: usize, F: Fn(f64, &[f64], &HistoryView<'_>) -> [f64; N]> System for Law<N, F> {
    fn size(&self) -> usize {
        N
    }

    fn lags(&self) -> Vec<Lag> {
        self.lags.iter().map(|lag| Lag::Constant(*lag)).collect()
    }

    fn slope(&self, time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        slope.copy_from_slice(&(self.slope)(time, state, past));
    }
}

/// The states at 0, `every`, 2 `every`, ... up to `end`.
fn rows(system: &impl System, start: &[f64], end: f64, step: f64, every: f64) -> Vec<(f64, Vec<f64>)> {
    let mut rows = Vec::new();
    let mut keep = |time: f64, state: &[f64]| rows.push((time, state.to_vec()));
    integrate(system, start, (end, step, every), &mut keep, &mut || true).expect("a solution");
    rows
}

/// The state at `end`.
fn at(system: &impl System, start: &[f64], end: f64, step: f64) -> Vec<f64> {
    rows(system, start, end, step, end).pop().expect("a last row").1
}

/// y' = -k y(t - 1).
fn pure_delay(k: f64) -> Law<1, impl Fn(f64, &[f64], &HistoryView<'_>) -> [f64; 1]> {
    Law { lags: vec![1.0], slope: move |_: f64, _: &[f64], past: &HistoryView<'_>| [-k * past.ago(0, 1.0).get(0)] }
}

/// With y = 1 before 0, y' = -k y(t - 1) has y(t) = sum over n of (-k)^n (t - n + 1)^n / n! up to n = floor(t) + 1.
fn by_steps(k: f64, time: f64) -> f64 {
    let mut sum = 0.0;
    for n in 0..=(time.floor() as i32 + 1) {
        let factorial: f64 = (1..=n).map(f64::from).product();
        sum += (-k).powi(n) * (time - f64::from(n) + 1.0).powi(n) / factorial;
    }
    sum
}

/// log2 of the ratio of the errors with steps 2 h and h.
fn order(error: impl Fn(f64) -> f64, step: f64) -> f64 {
    let (coarse, fine) = (error(2.0 * step), error(step));
    println!("errors {coarse:.3e} {fine:.3e}");
    (coarse / fine).abs().log2()
}

#[test]
fn order_four_on_the_method_of_steps() {
    let order = order(|step| at(&pure_delay(1.0), &[1.0], 10.0, step)[0] - by_steps(1.0, 10.0), 0.05);
    assert!(order > 3.8, "order {order}");
}

/// Breaks are hit by any step, so a step that does not divide the delay costs no order.
#[test]
fn order_four_when_the_step_does_not_divide_the_delay() {
    let largest = |step: f64| {
        let rows = rows(&pure_delay(1.3), &[1.0], 8.0, step, 0.37);
        rows.iter().map(|(time, y)| (y[0] - by_steps(1.3, *time)).abs()).fold(0.0, f64::max)
    };
    let order = order(largest, 0.043);
    assert!(order > 3.8, "order {order}");
}

/// On [n, n + 1] the solution is a polynomial of degree n + 1, which the method meets exactly up to degree 4.
#[test]
fn polynomials_are_exact() {
    for (time, y) in rows(&pure_delay(1.0), &[1.0], 3.0, 0.1, 0.05) {
        near(y[0], by_steps(1.0, time), 1e-13, &format!("y({time})"));
    }
}

/// y' = -(pi / 2) y(t - 1) keeps a cosine of period 4 for ever; from y = 1 it settles on one.
#[test]
fn the_edge_of_stability_is_periodic() {
    let rows = rows(&pure_delay(FRAC_PI_2), &[1.0], 100.0, 0.02, 0.5);
    for pair in rows[100..].windows(9) {
        near(pair[8].1[0], pair[0].1[0], 1e-6, "one period on");
        near(pair[4].1[0], -pair[0].1[0], 1e-6, "half a period on");
    }
    let swing = |k: f64| at(&pure_delay(k), &[1.0], 100.0, 0.02)[0].abs();
    assert!(swing(FRAC_PI_2 - 0.1) < 0.05);
    assert!(swing(FRAC_PI_2 + 0.1) > 50.0);
}

/// y' = -y: without lags the method is the classic one.
#[test]
fn a_lag_of_zero_reads_the_present() {
    let law = Law { lags: vec![0.0], slope: |_: f64, _: &[f64], past: &HistoryView<'_>| [-past.ago(0, 0.0).get(0)] };
    let order = order(|step| at(&law, &[1.0], 2.0, step)[0] - (-2.0_f64).exp(), 0.05);
    assert!(order > 3.8, "order {order}");
}

/// y' = y(t - 0.3) + y(t - 1): jumps travel by every sum of the lags.
#[test]
fn order_four_with_two_lags() {
    let law = || Law {
        lags: vec![0.3, 1.0],
        slope: |_: f64, _: &[f64], past: &HistoryView<'_>| [past.ago(0, 0.3).get(0) - 1.5 * past.ago(1, 1.0).get(0)],
    };
    let truth = rows(&law(), &[1.0], 5.0, 0.001, 0.1);
    let largest = |step: f64| {
        let pairs = rows(&law(), &[1.0], 5.0, step, 0.1).into_iter().zip(&truth);
        pairs.map(|(row, truth)| (row.1[0] - truth.1[0]).abs()).fold(0.0, f64::max)
    };
    let order = order(largest, 0.025);
    assert!(order > 3.8, "order {order}");
}

/// y'(t) = y(t - y(t)) / 2.
struct Varying;

impl System for Varying {
    fn size(&self) -> usize {
        1
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Varying(0.5)]
    }

    fn lag(&self, _index: usize, _time: f64, state: &[f64]) -> f64 {
        state[0]
    }

    fn slope(&self, _time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        slope[0] = 0.5 * past.ago(0, state[0]).get(0);
    }
}

/// With y = 1 before 0, y = 1 + t/2 until t - y = 0, at t = 2. From there y(t - y) = 1 + (t - y) / 2, so that
/// u = t - y has u' = 1/2 - u/4 and u(2) = 0: y = t - 2 (1 - exp(-(t - 2) / 4)), for u never reaches 2.
#[test]
fn a_lag_that_depends_on_the_state_meets_its_breaks() {
    let truth = |t: f64| if t <= 2.0 { 1.0 + t / 2.0 } else { t - 2.0 * (1.0 - (-(t - 2.0) / 4.0).exp()) };
    let largest = |step: f64| {
        let rows = rows(&Varying, &[1.0], 6.0, step, 0.17);
        rows.iter().map(|(time, y)| (y[0] - truth(*time)).abs()).fold(0.0, f64::max)
    };
    let order = order(largest, 0.037);
    assert!(order > 3.8, "order {order}");
}

/// The state jumps at some times, each with what it jumps to; what hears it has it as its slope 0.4 later.
struct Jumping(&'static [(f64, f64)]);

impl System for Jumping {
    fn size(&self) -> usize {
        2
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Constant(0.4)]
    }

    fn slope(&self, _time: f64, _state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        slope.copy_from_slice(&[0.0, past.ago(0, 0.4).get(0)]);
    }

    fn jumps(&self) -> Vec<f64> {
        self.0.iter().map(|(at, _)| *at).collect()
    }

    fn jump(&self, time: f64, state: &mut [f64]) {
        let last = self.0.iter().rev().find(|(at, _)| *at < time + 1e-9);
        state[0] = last.expect("a jump is at its time").1;
    }
}

/// A start late in time.
#[test]
fn a_jump_of_the_state_is_heard_a_lag_later() {
    for (time, state) in rows(&Jumping(&[(1.0, 3.0)]), &[0.0, 0.0], 3.0, 0.07, 0.1) {
        near(state[1], 3.0 * (time - 1.4).max(0.0), 1e-12, &format!("at {time}"));
    }
}

/// The second jump comes before the next step would end. What is read at a jump is the state just after it, and not what
/// stands a step later.
#[test]
fn two_jumps_within_a_step_are_heard_apart() {
    for (time, state) in rows(&Jumping(&[(1.0, 3.0), (1.03, 5.0)]), &[0.0, 0.0], 3.0, 0.07, 0.1) {
        let heard = 3.0 * (time - 1.4).clamp(0.0, 0.03) + 5.0 * (time - 1.43).max(0.0);
        near(state[1], heard, 1e-12, &format!("at {time}"));
    }
}

/// Reference values of JiTCDDE 1.8.3 (tests/oracles/jitcdde_reference.py), tolerances 1e-11 and 1e-10.
#[test]
fn agrees_with_another_solver() {
    let logistic = Law {
        lags: vec![1.0],
        slope: |_: f64, y: &[f64], past: &HistoryView<'_>| [1.4 * y[0] * (1.0 - past.ago(0, 1.0).get(0))],
    };
    let values = [(8.0, [7.641_461_306_393e-1]), (12.0, [8.485_769_995_465e-1]), (20.0, [9.516_879_814_535e-1])];
    compare("logistic", &logistic, &[0.5], 0.005, &values);

    let mackey_glass = Law {
        lags: vec![17.0],
        slope: |_: f64, y: &[f64], past: &HistoryView<'_>| {
            let then = past.ago(0, 17.0).get(0);
            [0.2 * then / (1.0 + then.powi(10)) - 0.1 * y[0]]
        },
    };
    let values = [(100.0, [1.013_724_016_976]), (150.0, [1.126_488_575_569]), (200.0, [1.186_718_107_946])];
    compare("Mackey-Glass", &mackey_glass, &[1.2], 0.05, &values);

    let queue_loop = Law {
        lags: vec![0.5, 0.8],
        slope: |_: f64, y: &[f64], past: &HistoryView<'_>| {
            let (queue, rate) = (past.ago(0, 0.5).get(0), past.ago(1, 0.8).get(1));
            [y[1] - 1.0, -0.9 * y[1] * (queue + 0.6 * (rate - 1.0)).tanh()]
        },
    };
    let values = [
        (5.0, [-2.167_836_587_770e-1, 1.581_160_915_292]),
        (10.0, [-6.107_287_916_684e-1, 7.978_824_530_776e-1]),
        (20.0, [1.064_804_422_394, 9.969_411_518_444e-1]),
    ];
    compare("queue loop", &queue_loop, &[0.4, 1.3], 0.004, &values);
}

fn compare<const N: usize>(name: &str, system: &impl System, start: &[f64], step: f64, values: &[(f64, [f64; N])]) {
    for (time, expected) in values {
        let state = at(system, start, *time, step);
        for i in 0..N {
            println!("{name}({time})[{i}]: off by {:.2e}", state[i] - expected[i]);
            near(state[i], expected[i], 1e-8, &format!("{name}({time})[{i}]"));
        }
    }
}

#[test]
fn a_step_longer_than_the_shortest_lag_is_refused() {
    let mut nothing = |_: f64, _: &[f64]| ();
    let error = integrate(&pure_delay(1.0), &[1.0], (2.0, 1.5, 1.0), &mut nothing, &mut || true);
    assert_eq!(error, Err(FluidError::Step { step: 1.5, shortest: 1.0, default: 0.02 }));
    let none = integrate(&pure_delay(1.0), &[1.0], (2.0, 0.0, 1.0), &mut nothing, &mut || true);
    assert_eq!(none, Err(FluidError::Step { step: 0.0, shortest: 1.0, default: 0.02 }));
    // As long as the lag may be, and a rounding error more.
    for step in [1.0, 1.0 + 5e-10] {
        assert_eq!(integrate(&pure_delay(1.0), &[1.0], (2.0, step, 1.0), &mut nothing, &mut || true), Ok(()));
    }
}

#[test]
fn a_solution_that_leaves_the_numbers_is_refused() {
    let law = Law { lags: vec![1.0], slope: |_: f64, y: &[f64], _: &HistoryView<'_>| [y[0] * y[0]] };
    let mut nothing = |_: f64, _: &[f64]| ();
    let error = integrate(&law, &[1.0], (5.0, 0.01, 1.0), &mut nothing, &mut || true);
    assert!(matches!(error, Err(FluidError::Diverged { time, .. }) if time > 0.9 && time < 1.2), "{error:?}");
}

#[test]
fn whoever_asks_can_stop_it() {
    let mut nothing = |_: f64, _: &[f64]| ();
    let error = integrate(&pure_delay(1.0), &[1.0], (1e6, 0.01, 1e6), &mut nothing, &mut || false);
    assert_eq!(error, Err(FluidError::Stopped));
}
