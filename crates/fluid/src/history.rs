//! The history of a solution: every step as a cubic Hermite polynomial.

use std::cell::Cell;

/// The steps taken so far, each with state and slope at both ends.
///
/// Both ends of every step are kept, so the state or its slope may jump between two steps.
/// Before the first step the state is constant.
#[derive(Clone, Debug)]
pub(crate) struct History {
    size: usize,
    before: Vec<f64>,
    zeros: Vec<f64>,
    spans: Vec<(f64, f64)>,
    data: Vec<f64>,
    forgotten: usize,
    hints: Vec<Cell<usize>>,
}

impl History {
    pub(crate) fn new(before: &[f64], slots: usize) -> History {
        let size = before.len();
        History {
            size,
            before: before.to_vec(),
            zeros: vec![0.0; size],
            spans: Vec::new(),
            data: Vec::new(),
            forgotten: 0,
            hints: vec![Cell::new(0); slots],
        }
    }

    /// Appends the step from `span.0` to `span.1`: state and slope at its start, then at its end; of each the first
    /// components, as many as the history keeps.
    pub(crate) fn push(&mut self, span: (f64, f64), parts: [&[f64]; 4]) {
        self.spans.push(span);
        for part in parts {
            self.data.extend(&part[..self.size]);
        }
    }

    /// Forgets steps that end before `time`, now and then.
    pub(crate) fn forget(&mut self, time: f64) {
        if self.spans.len() < 1024 || self.spans[self.spans.len() / 2].1 >= time {
            return;
        }
        let old = self.spans.partition_point(|span| span.1 < time);
        self.spans.drain(..old);
        self.data.drain(..old * 4 * self.size);
        self.forgotten += old;
    }

    /// The index of the step that holds `time`, near the last one that `slot` read.
    fn find(&self, slot: usize, time: f64) -> usize {
        let last = self.spans.len() - 1;
        let mut at = self.hints[slot].get().saturating_sub(self.forgotten).min(last);
        while at < last && self.spans[at].1 < time {
            at += 1;
        }
        while at > 0 && self.spans[at].0 > time {
            at -= 1;
        }
        self.hints[slot].set(at + self.forgotten);
        at
    }

    /// The state at `time`; of two steps that meet there, the one on the side of `nudged`.
    fn point(&self, slot: usize, time: f64, nudged: f64) -> DelayedState<'_> {
        let Some(first) = self.spans.first() else {
            return DelayedState::fixed(&self.before, &self.zeros);
        };
        if nudged < first.0 {
            return DelayedState::fixed(&self.before, &self.zeros);
        }
        let at = self.find(slot, nudged);
        let n = self.size;
        let base = at * 4 * n;
        DelayedState::between(self.spans[at], time, &self.data[base..base + 4 * n])
    }

    /// The history as the right-hand side reads it at the moment `now`.
    pub(crate) fn view<'a>(&'a self, now: f64, state: &'a [f64], nudge: f64) -> HistoryView<'a> {
        HistoryView { history: self, now, state, nudge }
    }
}

/// The history of a solution as the right-hand side reads it.
#[derive(Clone, Copy, Debug)]
pub struct HistoryView<'a> {
    history: &'a History,
    now: f64,
    state: &'a [f64],
    nudge: f64,
}

impl<'a> HistoryView<'a> {
    /// The state at `now - lag`; `slot` is the lag's index in [`System::lags`](super::System::lags).
    #[inline]
    pub fn ago(&self, slot: usize, lag: f64) -> DelayedState<'a> {
        if lag <= 0.0 {
            return DelayedState::fixed(self.state, &self.history.zeros);
        }
        let time = self.now - lag;
        self.history.point(slot, time, time + self.nudge)
    }
}

/// The state at one earlier moment.
#[derive(Clone, Copy, Debug)]
pub struct DelayedState<'a> {
    /// Weights of the slope at the start, of the rise and of the slope at the end.
    weights: [f64; 3],
    parts: [&'a [f64]; 4],
}

impl<'a> DelayedState<'a> {
    fn fixed(state: &'a [f64], zeros: &'a [f64]) -> DelayedState<'a> {
        DelayedState { weights: [0.0; 3], parts: [state, zeros, state, zeros] }
    }

    /// The cubic through both ends of a step; `data` has state and slope at its start, then at its end.
    pub(crate) fn between(span: (f64, f64), time: f64, data: &'a [f64]) -> DelayedState<'a> {
        let n = data.len() / 4;
        let h = span.1 - span.0;
        let x = (time - span.0) / h;
        let rest = 1.0 - x;
        let weights = [h * x * rest * rest, x * x * (3.0 - 2.0 * x), -h * x * x * rest];
        DelayedState { weights, parts: [&data[..n], &data[n..2 * n], &data[2 * n..3 * n], &data[3 * n..]] }
    }

    /// Component `i` of the state; exact where the state rests.
    #[inline]
    pub fn get(&self, i: usize) -> f64 {
        let [slope, rise, end] = self.weights;
        let [y0, f0, y1, f1] = self.parts;
        y0[i] + rise * (y1[i] - y0[i]) + slope * f0[i] + end * f1[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state is 1 up to 0 s, where it jumps to 2 and begins to grow by 3 each second. At 0 s it is what stands after the
    /// jump, unless the moment just before is asked for; half a second later it is 2 + 3 / 2.
    #[test]
    fn the_first_step_holds_its_own_start() {
        let mut history = History::new(&[1.0], 1);
        let at = |history: &History, time: f64, nudge: f64| history.view(time + 1.0, &[0.0], nudge).ago(0, 1.0).get(0);
        assert_eq!(at(&history, 0.0, 0.0), 1.0, "nothing is known but what was before");
        history.push((0.0, 1.0), [&[2.0], &[3.0], &[5.0], &[3.0]]);
        assert_eq!([at(&history, -0.5, 0.0), at(&history, 0.0, -1e-9)], [1.0, 1.0]);
        assert_eq!([at(&history, 0.0, 0.0), at(&history, 0.5, 0.0)], [2.0, 3.5]);
    }

    /// Steps of 1 s over which the state is the time; `count` of them.
    fn steady(count: usize) -> History {
        let mut history = History::new(&[0.0], 1);
        for i in 0..count {
            let (start, end) = (i as f64, i as f64 + 1.0);
            history.push((start, end), [&[start], &[1.0], &[end], &[1.0]]);
        }
        history
    }

    /// Steps that end before a moment are forgotten once they are more than half of 1024 or more. Those that are left are
    /// found as before, whatever was read last.
    #[test]
    fn old_steps_are_forgotten() {
        let read = |history: &History, time: f64| history.view(time + 1.0, &[0.0], 0.0).ago(0, 1.0).get(0);
        for (steps, before, left) in [
            (1023, 1000.0, 1023), // too few
            (1024, 513.0, 1024),  // the middle one, from 512 to 513 s, ends then and not before
            (1024, 513.5, 511),
            (1024, 600.0, 425), // the step that ends at 600 s is kept
            (2000, 500.0, 2000),
            (2000, 1500.5, 500),
        ] {
            let mut history = steady(steps);
            assert_eq!(read(&history, 950.25), 950.25);
            history.forget(before);
            assert_eq!((history.spans.len(), history.data.len()), (left, 4 * left), "{steps} steps before {before}");
            assert_eq!(history.forgotten, steps - left);
            let last = steps as f64 - 0.75;
            for time in [last, before.max(steps as f64 - left as f64) + 0.25, last] {
                assert_eq!(read(&history, time), time, "{steps} steps before {before}");
            }
            history.push((steps as f64, steps as f64 + 1.0), [&[7.0], &[0.0], &[7.0], &[0.0]]);
            assert_eq!(read(&history, steps as f64 + 0.5), 7.0);
        }
    }

    /// Two steps meet at 1 s, where the state jumps from 5 to 7 and begins to fall by 1 each second. What is read next to the
    /// end of the last step, on either side, is that step.
    #[test]
    fn a_jump_between_two_steps_has_two_sides() {
        let mut history = History::new(&[5.0], 1);
        history.push((0.0, 1.0), [&[5.0], &[0.0], &[5.0], &[0.0]]);
        history.push((1.0, 2.0), [&[7.0], &[-1.0], &[6.0], &[-1.0]]);
        let at = |time: f64, nudge: f64| history.view(time + 1.0, &[0.0], nudge).ago(0, 1.0).get(0);
        for _ in 0..2 {
            assert_eq!([at(1.0, -1e-9), at(1.0, 1e-9), at(0.5, 0.0), at(1.5, 0.0)], [5.0, 7.0, 5.0, 6.5]);
            assert_eq!([at(2.0, 1e-9), at(1.0, -1e-9), at(2.0, -1e-9)], [6.0, 5.0, 6.0]);
        }
        // A lag of 0 is the present state.
        assert_eq!(history.view(1.0, &[3.0], 0.0).ago(0, 0.0).get(0), 3.0);
    }
}
