//! The parts of the method by themselves.

use super::*;
use std::cell::Cell;

/// A state that is the time since the start, and a lag that reads at `read(time)`.
struct Reading {
    read: fn(f64) -> f64,
    horizon: f64,
    calls: Cell<usize>,
}

impl Reading {
    fn of(read: fn(f64) -> f64) -> Reading {
        Reading { read, horizon: f64::INFINITY, calls: Cell::new(0) }
    }
}

impl System for Reading {
    fn size(&self) -> usize {
        1
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Constant(0.0), Lag::Varying(1e-3)]
    }

    fn lag(&self, index: usize, time: f64, _state: &[f64]) -> f64 {
        assert_eq!(index, 1, "only the second lag varies");
        time - (self.read)(time)
    }

    fn horizon(&self) -> f64 {
        self.horizon
    }

    fn slope(&self, _time: f64, _state: &[f64], _past: &HistoryView<'_>, slope: &mut [f64]) {
        self.calls.set(self.calls.get() + 1);
        slope[0] = 1.0;
    }
}

fn run<S: System>(system: &S, step: f64) -> Run<'_, S> {
    Run::new(system, &vec![0.0; system.size()], 1e9, step)
}

fn at(time: f64, order: usize) -> Break {
    Break { time, order }
}

/// Times and orders of breaks.
#[track_caller]
fn are(breaks: &[Break], expected: &[(f64, usize)]) {
    let told: Vec<_> = breaks.iter().map(|at| ((at.time * 1e9).round() / 1e9, at.order)).collect();
    assert_eq!(told, expected);
}

/// The slope jumps at 0, and after each sum of the lags 0.3 and 0.5, smoother by one for each: 0.3 and 0.5, then 0.6, 0.8
/// and 1.0, then 0.9, 1.1 and 1.3, then 1.2 and 1.4; 1.5 is the end. The state jumps at 1, so the slope at 1.3.
#[test]
fn breaks_are_carried_by_every_sum_of_lags() {
    let lags = [Lag::Constant(0.3), Lag::Constant(0.5), Lag::Constant(0.0), Lag::Varying(0.1)];
    let expected =
        [(1.4, 5), (1.3, 1), (1.2, 5), (1.1, 4), (1.0, 3), (1.0, 0), (0.9, 4), (0.8, 3), (0.6, 3), (0.5, 2), (0.3, 2)];
    are(&breaks(&lags, &[1.0], 1.5, 0.01), &expected);
    // Five derivatives later a jump is too smooth to matter: nothing at 0.6.
    let shorter = [(0.5, 0), (0.4, 5), (0.3, 4), (0.2, 3), (0.1, 2)];
    let told = breaks(&[Lag::Constant(0.1)], &[0.5], 0.55, 0.01);
    are(&told, &shorter);
}

/// Within 1e-7 of a step two breaks are one, of which the rougher counts. A jump of the state is always by itself.
#[test]
fn breaks_at_one_moment_are_one() {
    let lags = [Lag::Constant(0.25), Lag::Constant(0.5 + 9e-10)];
    let told = breaks(&lags, &[], 0.7, 0.01);
    are(&told, &[(0.500_000_001, 2), (0.25, 2)]);
    let told = breaks(&[Lag::Constant(0.25), Lag::Constant(0.5 - 9e-10)], &[], 0.7, 0.01);
    are(&told, &[(0.5, 2), (0.25, 2)]);
    let apart = breaks(&[Lag::Constant(0.25), Lag::Constant(0.5 + 2e-9)], &[], 0.7, 0.01);
    are(&apart, &[(0.500_000_002, 2), (0.5, 3), (0.25, 2)]);
    let jumps = breaks(&[Lag::Constant(0.5)], &[0.2, 0.2 + 5e-10, 0.5 + 5e-10], 0.6, 0.01);
    assert_eq!(jumps.iter().map(|at| at.order).collect::<Vec<_>>(), [0, 2, 0, 0]);
}

#[test]
fn the_shortest_lag_and_the_longest() {
    struct Lags(Vec<Lag>);
    impl System for Lags {
        fn size(&self) -> usize {
            1
        }
        fn lags(&self) -> Vec<Lag> {
            self.0.clone()
        }
        fn slope(&self, _time: f64, _state: &[f64], _past: &HistoryView<'_>, _slope: &mut [f64]) {}
    }
    let [short, long, none] = [Lag::Constant(0.4), Lag::Constant(0.9), Lag::Constant(0.0)];
    let all = Lags(vec![long, short, none, Lag::Varying(0.6)]);
    assert_eq!((shortest_lag(&all), all.horizon()), (0.4, f64::INFINITY));
    let constant = Lags(vec![short, long, none]);
    assert_eq!((shortest_lag(&constant), constant.horizon()), (0.4, 0.9));
    assert_eq!((shortest_lag(&Lags(vec![none])), Lags(vec![none]).horizon()), (f64::INFINITY, 0.0));
    assert_eq!(shortest_lag(&Lags(vec![Lag::Varying(0.2), short])), 0.2);
    // Nothing jumps, and no lag varies, unless a system says so.
    assert_eq!((constant.jumps(), constant.lag(0, 1.0, &[1.0])), (vec![], 0.0));
}

/// From 2 to 3 in steps of at most 0.3 are four of 0.25. From 0 to 0.3 are three of 0.1 and from 0 to 2.1 seven of 0.3,
/// whatever rounding makes of it. What is shorter than a step is one.
#[test]
fn steps_up_to_a_break_are_even() {
    let system = Reading::of(|_| -1.0);
    let ends = |from: f64, target: f64, step: f64, count: usize| -> Vec<f64> {
        let mut run = run(&system, step);
        (0..count)
            .map(|taken| {
                run.division = (from, taken);
                (run.next_time(target) * 1e12).round() / 1e12
            })
            .collect()
    };
    assert_eq!(ends(2.0, 3.0, 0.3, 4), [2.25, 2.5, 2.75, 3.0]);
    assert_eq!(ends(0.0, 0.3, 0.1, 3), [0.1, 0.2, 0.3]);
    assert_eq!(ends(0.0, 2.1, 0.3, 7), [0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1]);
    assert_eq!(ends(5.0, 5.01, 0.3, 1), [5.01]);
    // The last step ends on the break itself: 0.2 + (0.9 - 0.2) is less than 0.9.
    let mut run = run(&system, 0.4);
    run.division = (0.2, 1);
    assert_eq!(run.next_time(0.9), 0.9);
    // Next to a whole number of steps, but not on it: ten of 0.1, and eleven of a little less.
    assert_eq!(ends(0.0, 1.0 + 1e-9, 0.1, 10)[9], 1.0 + 1e-9);
    assert_eq!(ends(0.0, 1.0 + 1e-6, 0.1, 11)[10], 1.0 + 1e-6);
    assert!(ends(0.0, 1.0 + 1e-6, 0.1, 10)[9] < 0.92);
}

/// At 2 s, with lags of at most half a second, a break at 1.5 can still be reached.
#[test]
fn breaks_are_kept_as_long_as_a_lag_may_reach_them() {
    let system = Reading { horizon: 0.5, ..Reading::of(|_| -1.0) };
    let mut run = run(&system, 0.01);
    run.time = 2.0;
    run.passed = vec![at(1.4999, 1), at(1.5, 2), at(1.9, 3)];
    run.keep(at(2.0, 1));
    are(&run.passed, &[(1.5, 2), (1.9, 3), (2.0, 1)]);
}

/// Of more than 64 breaks half as many are kept, the roughest.
#[test]
fn of_many_breaks_the_roughest_are_kept() {
    let system = Reading::of(|_| -1.0);
    let mut run = run(&system, 0.01);
    run.passed = (0..63).map(|i| at(f64::from(i), if i % 3 == 0 { 2 } else { 4 })).collect();
    run.keep(at(100.0, 3));
    assert_eq!(run.passed.len(), 64);
    run.keep(at(101.0, 3));
    // 21 of order 2, both of order 3, and nine of the 42 of order 4.
    let count = |order: usize| run.passed.iter().filter(|at| at.order == order).count();
    assert_eq!((run.passed.len(), count(2), count(3), count(4)), (32, 21, 2, 9));
}

/// From 10 to 11 s the lag reads from 9 to 9.5: of the breaks between, the one that it reaches first. 0.2 of 0.5 are 0.4
/// of the step. Breaks that it does not reach, that it starts or ends on, or that are smooth, are none.
#[test]
fn the_first_break_that_a_lag_reaches_within_a_step() {
    let system = Reading::of(|time| 9.0 + 0.5 * (time - 10.0));
    let mut run = run(&system, 1.0);
    run.time = 10.0;
    let mut of = |passed: Vec<Break>| {
        run.passed = passed;
        run.attempt(1.0);
        run.crossing(1.0)
    };
    let crossing = of(vec![at(9.3, 2), at(9.2, 4), at(9.1, SMOOTH), at(8.9, 1), at(9.6, 1)]).expect("a crossing");
    assert_eq!((crossing.index, crossing.moment, crossing.order), (1, 9.2, 5));
    let numbers = [(crossing.before, -0.2), (crossing.after, 0.3), (crossing.part, 0.4)];
    assert!(numbers.iter().all(|(value, expected)| (value - expected).abs() < 1e-12), "{crossing:?}");
    for passed in [vec![at(8.9, 1), at(9.6, 1)], vec![at(9.0 + 5e-7, 1)], vec![at(9.5 - 5e-7, 1)], vec![at(9.2, 5)]] {
        assert!(of(passed.clone()).is_none(), "{passed:?}");
    }
    assert!(of(vec![at(9.0 + 2e-6, 1)]).is_some() && of(vec![at(9.5 - 2e-6, 1)]).is_some());
}

/// A lag that grows by more than the time that passes reads backwards, and meets the break from the other side.
#[test]
fn a_lag_may_reach_a_break_backwards() {
    let system = Reading::of(|time| 9.0 - 0.5 * (time - 10.0));
    let mut run = run(&system, 1.0);
    run.time = 10.0;
    run.passed = vec![at(8.9, 1)];
    run.attempt(1.0);
    let crossing = run.crossing(1.0).expect("a crossing");
    assert!((crossing.before - 0.1).abs() < 1e-12 && (crossing.after + 0.4).abs() < 1e-12, "{crossing:?}");
    assert!((run.close_in(crossing, 1.0) - 0.2).abs() < 1e-12);
}

/// A step from `from` on ends where `read` passes 0, at `root` after it, whatever the unit of time: within 1e-12 of the step,
/// or what numbers of that size can tell. Returns the tries it took.
#[track_caller]
fn tries(read: fn(f64) -> f64, from: f64, step: f64, root: f64) -> usize {
    let system = Reading::of(read);
    let mut run = run(&system, step);
    run.time = from;
    run.passed = vec![at(0.0, 1)];
    run.attempt(step);
    let crossing = run.crossing(step).expect("a crossing");
    system.calls.set(0);
    let length = run.close_in(crossing, step);
    assert!((length - root).abs() <= 1e-12 * step + 1e-15 * from, "{length} where {root} is right");
    assert!((run.next[0] / length - 1.0).abs() < 1e-12, "the step that was tried last ends elsewhere");
    system.calls.get() / 4
}

/// Halving would take 40 tries to 1e-12 of a step.
#[test]
fn a_step_ends_where_a_lag_meets_a_break() {
    // A line is met at once; t^2 - 1/4 from below and 3/4 - (1 - t)^2 from above, by secants.
    assert_eq!(tries(|time| time - 0.3, 0.0, 1.0, 0.3), 1);
    assert!(tries(|time| time * time - 0.25, 0.0, 1.0, 0.5) <= 11);
    assert!(tries(|time| 0.75 - (1.0 - time) * (1.0 - time), 0.0, 1.0, 1.0 - 0.75_f64.sqrt()) <= 8);
    // In microseconds, in megaseconds.
    assert!(tries(|time| 1e6 * time * time - 0.25e-6, 0.0, 1e-6, 0.5e-6) <= 11);
    assert!(tries(|time| 1e-6 * time * time - 0.25e6, 0.0, 1e6, 0.5e6) <= 11);
    // A million seconds on the secants end where they no longer move.
    let late = |time: f64| (time - 1_048_576.0) * (time - 1_048_576.0) - 1.0 / 3.0;
    assert!(tries(late, 1_048_576.0, 1.0, (1.0_f64 / 3.0).sqrt()) <= 11);
}

/// t^2, and what hears it 0.4 later: (t - 0.4)^3 / 3, both of which the method meets exactly. The unit of time is any.
struct Square {
    unit: f64,
    varying: bool,
}

impl Square {
    /// When is read at `time`: 0.4 before, or 0.4 and a tenth of the time before.
    fn read(&self, time: f64) -> f64 {
        if self.varying { 0.9 * time - 0.4 * self.unit } else { time - 0.4 * self.unit }
    }
}

impl System for Square {
    fn size(&self) -> usize {
        2
    }

    fn lags(&self) -> Vec<Lag> {
        vec![if self.varying { Lag::Varying(0.4 * self.unit) } else { Lag::Constant(0.4 * self.unit) }]
    }

    fn lag(&self, _index: usize, time: f64, _state: &[f64]) -> f64 {
        time - self.read(time)
    }

    fn slope(&self, time: f64, _state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        let lag = if self.varying { self.lag(0, time, &[]) } else { 0.4 * self.unit };
        slope.copy_from_slice(&[2.0 * time / self.unit / self.unit, past.ago(0, lag).get(0) / self.unit]);
    }
}

/// Rows lie within steps, on their ends and on breaks; the last one is the end.
#[test]
fn cubics_are_exact_in_any_unit_of_time() {
    for unit in [1.0, 1e-6, 1e6] {
        for varying in [false, true] {
            let system = Square { unit, varying };
            let mut rows = 0;
            let mut row = |time: f64, state: &[f64]| {
                let (t, read) = (time / unit, system.read(time) / unit);
                let heard = read.max(0.0).powi(3) / if varying { 2.7 } else { 3.0 };
                for (value, expected) in [(state[0], t * t), (state[1], heard)] {
                    assert!((value - expected).abs() < 1e-12, "{value} where {expected} is right at {t}, unit {unit}");
                }
                assert!((t - f64::from(rows) * 0.01).abs() < 1e-12, "{t}");
                rows += 1;
            };
            let timing = (3.0 * unit, 0.07 * unit, 0.01 * unit);
            integrate(&system, &[0.0, 0.0], timing, &mut row, &mut || true).expect("a solution");
            assert_eq!(rows, 301);
        }
    }
}

/// The state jumps at 1 and a millionth of a second later; after the lag its reader hears both. Rows up to the jump itself
/// are of the time before.
#[test]
fn jumps_at_one_moment_and_next_to_it() {
    struct Jumps([f64; 2]);
    impl System for Jumps {
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
            // A jump at 0 belongs to the start, and one at the end to nobody.
            vec![0.0, self.0[0], self.0[1], 3.0]
        }
        fn jump(&self, time: f64, state: &mut [f64]) {
            assert!(self.0.contains(&time), "a jump at {time}");
            state[0] += 3.0;
        }
    }
    for apart in [1e-6, 1e-10] {
        let mut row = |time: f64, state: &[f64]| {
            let second = 1.0 + apart;
            let now = if time <= 1.0 { 0.0 } else { 6.0 };
            let heard = 3.0 * (time - 1.4).max(0.0) + 3.0 * (time - second - 0.4).max(0.0);
            assert_eq!(state[0], now, "{time}");
            assert!((state[1] - heard).abs() < 1e-9, "{} where {heard} is right at {time}", state[1]);
        };
        let system = Jumps([1.0, 1.0 + apart]);
        integrate(&system, &[0.0, 0.0], (3.0, 0.07, 0.01), &mut row, &mut || true).expect("a solution");
    }
}

/// The state grows by 2 each second and is put back to `most` of the time; without a bound it is twice the time.
struct Bounded(fn(f64) -> f64);

impl System for Bounded {
    fn size(&self) -> usize {
        1
    }

    fn lags(&self) -> Vec<Lag> {
        Vec::new()
    }

    fn slope(&self, _time: f64, _state: &[f64], _past: &HistoryView<'_>, slope: &mut [f64]) {
        slope[0] = 2.0;
    }

    fn project(&self, time: f64, state: &mut [f64]) {
        state[0] = state[0].min((self.0)(time));
    }
}

/// The rows of a solution up to `end`.
fn rows_of(system: &impl System, (end, step, every): (f64, f64, f64)) -> Vec<(f64, f64)> {
    let mut rows = Vec::new();
    let mut row = |time: f64, state: &[f64]| rows.push((time, state[0]));
    integrate(system, &[0.0], (end, step, every), &mut row, &mut || true).expect("a solution");
    rows
}

/// In steps of 0.25 the state is put back to the time at the end of each, and is that half way, too.
#[test]
fn bounds_are_those_of_the_end_of_a_step() {
    let rows = rows_of(&Bounded(|time| time), (2.0, 0.25, 0.125));
    assert_eq!(rows.len(), 17);
    assert!(rows.iter().all(|(time, state)| (state - time).abs() < 1e-12), "{rows:?}");
}

/// A row a rounding error after the end of a step lies on its cubic; one after the end of the solution is none.
#[test]
fn rows_next_to_the_end_of_a_step() {
    let rows = rows_of(&Bounded(|_| f64::INFINITY), (3000.0, 1000.0, 1000.0 + 1e-6));
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|(time, state)| (state - 2.0 * time).abs() < 1e-9), "{rows:?}");
}

/// What leaves the numbers in its first step has its start as a row.
#[test]
fn the_start_is_a_row_whatever_comes() {
    struct Nowhere;
    impl System for Nowhere {
        fn size(&self) -> usize {
            1
        }
        fn lags(&self) -> Vec<Lag> {
            Vec::new()
        }
        fn slope(&self, _time: f64, _state: &[f64], _past: &HistoryView<'_>, slope: &mut [f64]) {
            slope[0] = f64::INFINITY;
        }
    }
    let mut rows = Vec::new();
    let mut row = |time: f64, state: &[f64]| rows.push((time, state[0]));
    let error = integrate(&Nowhere, &[7.0], (1.0, 0.1, 0.1), &mut row, &mut || true);
    assert_eq!((error, rows), (Err(FluidError::Diverged { time: 0.0, step: 0.1 }), vec![(0.0, 7.0)]));
}

/// Breaks are kept for lags that vary, and for those alone.
#[test]
fn breaks_that_are_passed_are_kept_for_varying_lags() {
    for (varying, kept) in [(true, vec![(0.0, 1), (0.5, 2)]), (false, vec![(0.0, 1)])] {
        let system = Square { unit: 1.0, varying };
        let mut run = run(&system, 0.1);
        run.ahead = vec![at(0.7, 2), at(0.5, 2)];
        run.time = 0.5;
        run.pass_break();
        are(&run.passed, &kept);
        are(&run.ahead, &[(0.7, 2)]);
    }
}

/// Every 16 384 steps the caller is asked whether to go on.
#[test]
fn the_caller_is_asked_once_in_many_steps() {
    let asked = |steps: f64| {
        let mut calls = 0;
        let mut go_on = || {
            calls += 1;
            true
        };
        let system = Reading::of(|_| -1.0);
        let step = 2.0_f64.powi(-11);
        integrate(&system, &[0.0], (steps * step, step, 1e3), &mut |_, _| (), &mut go_on).map(|()| calls)
    };
    assert_eq!([asked(16_383.0), asked(16_384.0), asked(49_152.0)], [Ok(0), Ok(1), Ok(3)]);
}
