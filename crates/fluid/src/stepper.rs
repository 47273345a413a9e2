//! Delay differential equations by the method of steps.
//!
//! The classic Runge-Kutta method of order 4 with cubic Hermite polynomials between the steps, of order 4 as well.
//! A jump in the state or its slope at one moment returns, one derivative smoother, after every lag; steps end
//! exactly on these moments until the jump is too smooth to matter to the method. For constant lags they are known
//! beforehand, for lags that depend on the state they are breaks step by step.
//! (Bellen and Zennaro, Numerical Methods for Delay Differential Equations, 2003, chapters 2 to 4.)

use super::error::FluidError;
use super::history::{DelayedState, History, HistoryView};

/// Derivatives up to this one must be continuous within a step of the method.
const SMOOTH: usize = 5;
/// Steps between two calls of `go_on`.
const ASK_EVERY: usize = 1 << 14;
/// Part of a step within which two moments are one.
const SAME: f64 = 1e-7;
/// Most breaks kept for varying lags.
const MOST_PASSED: usize = 64;

/// A lag of a system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lag {
    /// Always this long, s.
    Constant(f64),
    /// As long as [`System::lag`] says; never shorter than this, s.
    Varying(f64),
}

/// A system y'(t) = f(t, y(t), y(t - lag 0), y(t - lag 1), ...).
pub trait System {
    /// Number of components of the state.
    fn size(&self) -> usize;

    /// Number of components, from the first on, that the slope reads at earlier times.
    fn delayed_components(&self) -> usize {
        self.size()
    }

    /// Its lags. A constant lag of 0 reads the present.
    fn lags(&self) -> Vec<Lag>;

    /// The length of varying lag `index`, s, at `time` in `state`.
    fn lag(&self, _index: usize, _time: f64, _state: &[f64]) -> f64 {
        0.0
    }

    /// The longest time back that the slope reads, s; infinite keeps the whole history.
    fn horizon(&self) -> f64 {
        self.lags().iter().fold(0.0, |longest, lag| match lag {
            Lag::Constant(lag) => f64::max(longest, *lag),
            Lag::Varying(_) => f64::INFINITY,
        })
    }

    /// Writes y'(t) to `slope`.
    fn slope(&self, time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]);

    /// Puts the state back into its bounds, after each step.
    fn project(&self, _time: f64, _state: &mut [f64]) {}

    /// Moments after 0 at which [`System::jump`] changes the state, or the equations change; s.
    fn jumps(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Changes the state at a moment of [`System::jumps`].
    fn jump(&self, _time: f64, _state: &mut [f64]) {}
}

/// The shortest lag above 0, s, or infinity.
pub fn shortest_lag(system: &impl System) -> f64 {
    system.lags().iter().fold(f64::INFINITY, |shortest, lag| match lag {
        Lag::Constant(lag) | Lag::Varying(lag) if *lag > 0.0 => f64::min(shortest, *lag),
        _ => shortest,
    })
}

/// Integrates `system` from 0 to `end` with the constant past `start`, in steps of at most `step` seconds.
///
/// `row` is called with (time, state) at 0, `every`, 2 `every`, ... up to `end`, and `go_on` now and then:
/// it ends the work by answering false.
///
/// # Errors
/// When `step` is not above 0 or longer than the shortest lag, the solution diverges, or `go_on` says no.
pub fn integrate(
    system: &impl System,
    start: &[f64],
    (end, step, every): (f64, f64, f64),
    row: &mut dyn FnMut(f64, &[f64]),
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), FluidError> {
    let shortest = shortest_lag(system);
    if !(step > 0.0 && step <= shortest * (1.0 + 1e-9)) {
        return Err(FluidError::Step { step, shortest, default: shortest / 50.0 });
    }
    let mut run = Run::new(system, start, end, step.min(shortest));
    let mut rows = Rows { every, next: 0, end, values: vec![0.0; system.size()] };
    rows.at_start(&run.state, row);
    let mut count = 0_usize;
    while run.time < end {
        run.advance(rows.time())?;
        rows.within(&run, row);
        count += 1;
        if count.is_multiple_of(ASK_EVERY) && !go_on() {
            return Err(FluidError::Stopped);
        }
    }
    Ok(())
}

/// The moments at which rows are written.
struct Rows {
    every: f64,
    next: usize,
    end: f64,
    values: Vec<f64>,
}

impl Rows {
    /// When the next row is due, s.
    fn time(&self) -> f64 {
        self.next as f64 * self.every
    }

    fn at_start(&mut self, state: &[f64], row: &mut dyn FnMut(f64, &[f64])) {
        row(0.0, state);
        self.next = 1;
    }

    /// Writes the rows that lie within the last step.
    fn within<S: System>(&mut self, run: &Run<'_, S>, row: &mut dyn FnMut(f64, &[f64])) {
        loop {
            let time = self.time();
            if time > run.time + SAME * run.last_step || time > self.end * (1.0 + 1e-12) {
                return;
            }
            let point = DelayedState::between((run.time - run.last_step, run.time), time, &run.step_data);
            for (i, value) in self.values.iter_mut().enumerate() {
                *value = point.get(i);
            }
            // A cubic may leave the bounds that its ends respect.
            run.system.project(time, &mut self.values);
            row(time, &self.values);
            self.next += 1;
        }
    }
}

/// A moment at which a derivative of the solution jumps.
#[derive(Clone, Copy, Debug)]
struct Break {
    time: f64,
    /// The first derivative that jumps.
    order: usize,
}

/// A break that a varying lag reaches within a step.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    index: usize,
    moment: f64,
    /// The first derivative that jumps after the crossing.
    order: usize,
    /// How far after `moment` the lag reads at the start and at the end of the step, s.
    before: f64,
    after: f64,
    /// Part of the step up to the crossing, by linear interpolation.
    part: f64,
}

struct Run<'a, S: System> {
    system: &'a S,
    history: History,
    horizon: f64,
    varying: Vec<usize>,
    /// Breaks already passed that a varying lag may still reach.
    passed: Vec<Break>,
    /// Breaks still to come, latest first.
    ahead: Vec<Break>,
    step: f64,
    end: f64,
    time: f64,
    last_step: f64,
    /// Start of the present division into equal steps, and the number of steps since.
    division: (f64, usize),
    state: Vec<f64>,
    slope: Vec<f64>,
    next: Vec<f64>,
    next_slope: Vec<f64>,
    stage: Vec<f64>,
    stages: [Vec<f64>; 3],
    /// Whether the last attempt gave finite numbers, before they were put into their bounds.
    finite: bool,
    /// State and slope at both ends of the last step that holds a row.
    step_data: Vec<f64>,
}

impl<'a, S: System> Run<'a, S> {
    fn new(system: &'a S, start: &[f64], end: f64, step: f64) -> Run<'a, S> {
        let n = system.size();
        let lags = system.lags();
        let varying = (0..lags.len()).filter(|i| matches!(lags[*i], Lag::Varying(_))).collect();
        let jumps: Vec<f64> = system.jumps().into_iter().filter(|time| *time > 0.0 && *time < end).collect();
        let mut run = Run {
            system,
            history: History::new(&start[..system.delayed_components()], lags.len()),
            horizon: system.horizon(),
            varying,
            passed: vec![Break { time: 0.0, order: 1 }],
            ahead: breaks(&lags, &jumps, end, step),
            step,
            end,
            time: 0.0,
            last_step: step,
            division: (0.0, 0),
            state: start.to_vec(),
            slope: vec![0.0; n],
            next: vec![0.0; n],
            next_slope: vec![0.0; n],
            stage: vec![0.0; n],
            stages: [vec![0.0; n], vec![0.0; n], vec![0.0; n]],
            finite: true,
            step_data: vec![0.0; 4 * n],
        };
        run.begin();
        run
    }

    /// Takes the slope anew, looking forward: after a break it is not the one the last step ended with.
    fn begin(&mut self) {
        let past = self.history.view(self.time, &self.state, SAME * self.step);
        self.system.slope(self.time, &self.state, &past, &mut self.slope);
        self.division = (self.time, 0);
    }

    /// Takes one step; the next row is due at `row`.
    fn advance(&mut self, row: f64) -> Result<(), FluidError> {
        while self.ahead.last().is_some_and(|next| next.time <= self.time + SAME * self.step) {
            self.pass_break();
        }
        let target = self.ahead.last().map_or(self.end, |next| next.time);
        let until = self.next_time(target);
        let mut h = until - self.time;
        self.attempt(h);
        let crossing = self.crossing(h);
        if let Some(crossing) = crossing {
            h = self.close_in(crossing, h);
        }
        if !self.finite {
            return Err(FluidError::Diverged { time: self.time, step: self.step });
        }
        let now = if crossing.is_some() { self.time + h } else { until };
        if row <= now + SAME * h {
            let n = self.state.len();
            for (part, values) in [&self.state, &self.slope, &self.next, &self.next_slope].into_iter().enumerate() {
                self.step_data[part * n..(part + 1) * n].copy_from_slice(values);
            }
        }
        self.accept(now, h);
        if let Some(Crossing { order, .. }) = crossing {
            self.keep(Break { time: now, order });
            self.begin();
        } else if now >= target {
            self.pass_break();
        }
        Ok(())
    }

    /// The end of the next of the even steps up to `target`.
    fn next_time(&self, target: f64) -> f64 {
        let (from, taken) = self.division;
        let count = ((target - from) / self.step - SAME).ceil().max(1.0);
        if (taken + 1) as f64 >= count { target } else { from + (target - from) * (taken + 1) as f64 / count }
    }

    /// Tries a step of length `h`: fills `next` and `next_slope`.
    fn attempt(&mut self, h: f64) {
        let (system, time, past) = (self.system, self.time, &self.history);
        let [k2, k3, k4] = &mut self.stages;
        let (state, stage, k1) = (&self.state, &mut self.stage, &self.slope);
        let nudge = SAME * h;
        ahead(stage, state, 0.5 * h, k1);
        system.slope(time + 0.5 * h, stage, &past.view(time + 0.5 * h, stage, 0.0), k2);
        ahead(stage, state, 0.5 * h, k2);
        system.slope(time + 0.5 * h, stage, &past.view(time + 0.5 * h, stage, 0.0), k3);
        ahead(stage, state, h, k3);
        system.slope(time + h, stage, &past.view(time + h, stage, -nudge), k4);
        let n = state.len();
        let next = &mut self.next[..n];
        let (now, k1, k2, k3, k4) = (&state[..n], &k1[..n], &k2[..n], &k3[..n], &k4[..n]);
        for i in 0..n {
            next[i] = now[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
        }
        self.finite = next.iter().all(|value| value.is_finite());
        system.project(time + h, next);
        system.slope(time + h, next, &past.view(time + h, next, -nudge), &mut self.next_slope);
    }

    /// How far after `moment` varying lag `index` reads at the end of an attempt of length `h`, s.
    fn miss(&self, index: usize, moment: f64, h: f64) -> f64 {
        self.time + h - self.system.lag(index, self.time + h, &self.next) - moment
    }

    /// The first break that a varying lag reaches within an attempt of length `h`.
    fn crossing(&self, h: f64) -> Option<Crossing> {
        let mut first: Option<Crossing> = None;
        let near = 1e-6 * self.step;
        for &index in &self.varying {
            let now = self.time - self.system.lag(index, self.time, &self.state);
            for at in self.passed.iter().filter(|at| at.order < SMOOTH) {
                let (before, after) = (now - at.time, self.miss(index, at.time, h));
                if before.abs() <= near || after.abs() <= near || (before < 0.0) == (after < 0.0) {
                    continue;
                }
                let part = before / (before - after);
                if first.as_ref().is_none_or(|sooner| part < sooner.part) {
                    first = Some(Crossing { index, moment: at.time, order: at.order + 1, before, after, part });
                }
            }
        }
        first
    }

    /// Shortens the step from `h` until it ends where the lag reaches the break; returns its length.
    ///
    /// Each try is a step of its own, for the cubic of a step that crosses the break is not accurate there.
    fn close_in(&mut self, crossing: Crossing, h: f64) -> f64 {
        let Crossing { index, moment, before, after, part, .. } = crossing;
        let (mut older, mut newer) = ((0.0, before), (h, after));
        let mut length = part * h;
        for _ in 0..20 {
            self.attempt(length);
            let miss = self.miss(index, moment, length);
            if miss.abs() < 1e-12 * self.step || !miss.is_finite() {
                break;
            }
            if (miss < 0.0) == (before < 0.0) {
                older = (length, miss);
            } else {
                newer = (length, miss);
            }
            let secant = older.0 + (newer.0 - older.0) * older.1 / (older.1 - newer.1);
            let edge = 1e-3 * (newer.0 - older.0);
            let next = secant.clamp(older.0 + edge, newer.0 - edge);
            if (next - length).abs() < 1e-15 * (self.time + h) {
                break;
            }
            length = next;
        }
        length
    }

    /// Makes the step tried the last one.
    fn accept(&mut self, now: f64, h: f64) {
        self.history.push((self.time, now), [&self.state, &self.slope, &self.next, &self.next_slope]);
        std::mem::swap(&mut self.state, &mut self.next);
        std::mem::swap(&mut self.slope, &mut self.next_slope);
        self.time = now;
        self.last_step = h;
        self.division.1 += 1;
        self.history.forget(now - self.horizon);
    }

    /// Keeps a break for the varying lags. Drops those beyond the horizon and, of more than [`MOST_PASSED`], the smoothest.
    fn keep(&mut self, new: Break) {
        let oldest = self.time - self.horizon;
        self.passed.retain(|at| at.time >= oldest);
        self.passed.push(new);
        if self.passed.len() > MOST_PASSED {
            self.passed.sort_by_key(|at| at.order);
            self.passed.truncate(MOST_PASSED / 2);
        }
    }

    fn pass_break(&mut self) {
        let Some(reached) = self.ahead.pop() else { return };
        if reached.order == 0 {
            self.system.jump(reached.time, &mut self.state);
        }
        if !self.varying.is_empty() {
            self.keep(reached);
        }
        self.begin();
    }
}

/// Writes `state` + `step` `slope` to `stage`.
#[inline]
fn ahead(stage: &mut [f64], state: &[f64], step: f64, slope: &[f64]) {
    let n = state.len();
    let (stage, slope) = (&mut stage[..n], &slope[..n]);
    for i in 0..n {
        stage[i] = state[i] + step * slope[i];
    }
}

/// The moments that constant lags carry the jumps to, latest first.
///
/// The slope jumps at 0, the state itself at `jumps`; each lag makes a jump one derivative smoother.
fn breaks(lags: &[Lag], jumps: &[f64], end: f64, step: f64) -> Vec<Break> {
    let mut breaks = vec![Break { time: 0.0, order: 1 }];
    breaks.extend(jumps.iter().map(|time| Break { time: *time, order: 0 }));
    let mut newest = breaks.clone();
    while !newest.is_empty() {
        let mut later = Vec::new();
        for lag in lags {
            if let Lag::Constant(lag) = lag
                && *lag > 0.0
            {
                later.extend(newest.iter().map(|at| Break { time: at.time + lag, order: at.order + 1 }));
            }
        }
        later.retain(|at| at.order <= SMOOTH && at.time < end);
        breaks.extend(&later);
        newest = later;
    }
    breaks.retain(|at| at.time > 0.0);
    breaks.sort_by(|a, b| b.time.total_cmp(&a.time).then(b.order.cmp(&a.order)));
    breaks.dedup_by(|earlier, kept| {
        let same = kept.time - earlier.time <= SAME * step && earlier.order > 0 && kept.order > 0;
        if same {
            kept.order = kept.order.min(earlier.order);
        }
        same
    });
    breaks
}

#[cfg(test)]
mod tests;
