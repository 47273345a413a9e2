//! Byte counter cycles with a memory, for the fluid of QCN.
//!
//! The published eta is the rate at which cycles of n frames end when the probability of a message has long been the
//! same. Where a cycle lasts longer than the queue's swing (n N / C is 12 ms for 100 sources at 10 Gb/s) that is not so:
//! a cycle that ends now began a cycle ago, and hears of all that came since. Here each source has a position in its cycle,
//! one of J steps of n / J frames, which it leaves at the rate a = J Rc / n; a cycle takes n frames in the mean, with a
//! relative spread of 1 / sqrt(J). Messages m = Rc(t-d) pr(t-d) and cuts c = Gd F(t-d) Rc m are those of the model. A
//! share x_j of the sources is at step j of the first cycle, which messages neither restart nor retarget, and y_kj at
//! step j of the k-th later cycle; k = F stands for all from there on. Of the mean gap Rt - Rc the first hold u_j, and
//! the later v_j. With Y the sum of y,
//!
//! ```text
//! x_1' = m Y - a x_1                               x_j' = a (x_j-1 - x_j)
//! u_1' = c (Y + x_1) - a u_1                       u_j' = c x_j + a (u_j-1 - u_j)
//! y_11' = a x_J - (a + m) y_11                     y_kj' = a y_kj-1 - (a + m) y_kj
//! y_k1' = a y_k-1,J - (a + m) y_k1                 y_F1' = a (y_F-1,J + y_FJ) - (a + m) y_F1
//! v_1' = r - (a + m) v_1                           v_j' = a v_j-1 - (a + m) v_j
//! Rc'  = -c + r,  Rt = Rc + sum u + sum v          r = a (u_J + v_J + RAI y_FJ) / 2
//! ```
//!
//! At rest a later cycle ends without a message with the probability P = (1 + n p / J)^-J, for large J nearly (1-p)^n, so that
//! cycles end at the rate Rc p P / (1 - P), the published eta Rc; Y = 1 / (1 + n p), and c = m Y RAI P^F / (1 - P)^2.

/// The byte counters of all sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycles {
    /// J.
    pub(super) steps: usize,
    /// F.
    pub(super) recovery: usize,
    /// n.
    pub(super) frames: f64,
    /// RAI, frames/s.
    pub(super) increase: f64,
}

/// What moves the counters: rates in frames per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    /// Current rate Rc of a source.
    pub(super) rate: f64,
    /// Messages m to a source, 1/s.
    pub(super) messages: f64,
    /// Mean slope c of the current rate from their cuts.
    pub(super) cut: f64,
}

impl Cycles {
    /// Components of the state: x, u, v, then y cycle by cycle.
    pub(super) const fn size(&self) -> usize {
        (3 + self.recovery) * self.steps
    }

    /// The mean gap Rt - Rc.
    pub(super) fn gap(&self, state: &[f64]) -> f64 {
        state[self.steps..3 * self.steps].iter().sum()
    }

    /// Writes the slope of the counters' state; answers the rise r of the current rate.
    pub(super) fn slope(&self, state: &[f64], moved: Moved, slope: &mut [f64]) -> f64 {
        let Moved { rate, messages, cut } = moved;
        let n = self.steps;
        let pace = n as f64 * rate / self.frames;
        let (held, later) = state.split_at(3 * n);
        let (first, held) = held.split_at(n);
        let (kept, open) = held.split_at(n);
        let (held_slope, later_slope) = slope.split_at_mut(3 * n);
        let (first_slope, held_slope) = held_slope.split_at_mut(n);
        let (kept_slope, open_slope) = held_slope.split_at_mut(n);
        let share: f64 = later.iter().sum();
        let rise = 0.5 * pace * (kept[n - 1] + open[n - 1] + self.increase * later[later.len() - 1]);
        pass(first, messages * share, pace, 0.0, first_slope);
        pass(kept, cut * share, pace, 0.0, kept_slope);
        for (slope, first) in kept_slope.iter_mut().zip(first) {
            *slope += cut * first;
        }
        pass(open, rise, pace, messages, open_slope);
        pass(later, pace * first[n - 1], pace, messages, later_slope);
        let last = later.len() - n;
        later_slope[last] += pace * later[later.len() - 1];
        rise
    }

    /// The probability P that a later cycle ends without a message.
    fn uninterrupted(&self, p: f64) -> f64 {
        (1.0 + self.frames * p / self.steps as f64).powf(-(self.steps as f64))
    }

    /// The cut c that balances the increase after a long time of messages with probability `p`.
    pub(super) fn balance(&self, p: f64, rate: f64) -> f64 {
        let uninterrupted = self.uninterrupted(p);
        let ends =
            p * rate / (1.0 + self.frames * p) * uninterrupted.powi(self.recovery as i32) / (1.0 - uninterrupted);
        self.increase * ends / (1.0 - uninterrupted)
    }

    /// The state after a long time of messages with probability `p`, above 0; `cut` determines the gaps.
    pub(super) fn rest(&self, p: f64, rate: f64, cut: f64) -> Vec<f64> {
        let pace = self.steps as f64 * rate / self.frames;
        let (messages, share) = (p * rate, 1.0 / (1.0 + self.frames * p));
        let entering = messages * share / pace;
        let stay = pace / (pace + messages);
        let falling = |from: f64| (1..=self.steps).map(move |j| from * stay.powi(j as i32));
        let mut state = vec![entering; self.steps];
        state.extend((1..=self.steps).map(|j| cut / pace * (share + j as f64 * entering)));
        state.extend(falling(cut / pace));
        let uninterrupted = self.uninterrupted(p);
        for cycle in 1..=self.recovery {
            let born = entering * uninterrupted.powi(cycle as i32 - 1);
            state.extend(falling(if cycle == self.recovery { born / (1.0 - uninterrupted) } else { born }));
        }
        state
    }
}

/// Slopes of a row of steps, each left at `pace` for the next or at `loss` for elsewhere; `inflow` enters the first.
fn pass(row: &[f64], inflow: f64, pace: f64, loss: f64, slope: &mut [f64]) {
    let out = pace + loss;
    slope[0] = inflow - out * row[0];
    for j in 1..row.len() {
        slope[j] = pace * row[j - 1] - out * row[j];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: Cycles = Cycles { steps: 20, recovery: 5, frames: 100.0, increase: 416.7 };

    /// A hundred sources at 10 Gb/s send 8333 frames/s each, and their cycles last 12 ms.
    const RATE: f64 = 8333.3;

    fn moved(messages: f64, cut: f64) -> Moved {
        Moved { rate: RATE, messages, cut }
    }

    /// Small steps of a rest state's slope lead nowhere, and the cut balances the increase.
    #[test]
    fn rest_is_rest() {
        for p in [0.001, 0.01, 0.05] {
            let cut = MODEL.balance(p, RATE);
            let state = MODEL.rest(p, RATE, cut);
            let mut slope = vec![0.0; MODEL.size()];
            let rise = MODEL.slope(&state, moved(p * RATE, cut), &mut slope);
            assert!((rise / cut - 1.0).abs() < 1e-9, "{p}: {rise} for {cut}");
            for (slope, value) in slope.iter().zip(&state) {
                assert!(slope.abs() < 1e-9 * RATE * value, "{p}: {slope} of {value}");
            }
            let shares: f64 = state[..20].iter().chain(&state[60..]).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{p}: {shares}");
        }
    }

    /// Cycles end as often as published: with p = 0.01 and n = 100, (1-p)^n is 0.3660, e^-1 0.3679, and twenty steps
    /// give 1.05^-20 = 0.3769.
    #[test]
    fn many_steps_give_the_published_eta() {
        let (p, n) = (0.01, 100.0);
        let published = p / ((1.0_f64 - p).powf(-n) - 1.0);
        assert!((MODEL.uninterrupted(p) - 0.3769).abs() < 1e-4);
        for (steps, off) in [(20, 0.05), (1000, 0.01)] {
            let uninterrupted = Cycles { steps, ..MODEL }.uninterrupted(p);
            let eta = p * uninterrupted / (1.0 - uninterrupted);
            assert!((eta / published - 1.0).abs() < off, "{steps} steps: {eta} for {published}");
        }
    }

    /// Two steps in a cycle of ten frames at 20 frames/s: a = 2 * 20 / 10 = 4. With Y = 0.7 the rise is
    /// r = 4 (2 + 6 + 3 * 0.3) / 2 = 17.8; the other slopes are those of the module's head, in its order.
    #[test]
    fn slopes_of_two_steps_and_two_later_cycles() {
        let model = Cycles { steps: 2, recovery: 2, frames: 10.0, increase: 3.0 };
        let state = [0.1, 0.2, 1.0, 2.0, 5.0, 6.0, 0.05, 0.1, 0.25, 0.3];
        assert_eq!((model.size(), model.gap(&state)), (10, 1.0 + 2.0 + 5.0 + 6.0));
        let mut slope = [f64::NAN; 10];
        let rise = model.slope(&state, Moved { rate: 20.0, messages: 0.5, cut: 7.0 }, &mut slope);
        assert!((rise - 17.8).abs() < 1e-12, "{rise}");
        let expected = [
            0.5 * 0.7 - 4.0 * 0.1,
            4.0 * (0.1 - 0.2),
            7.0 * (0.7 + 0.1) - 4.0 * 1.0,
            7.0 * 0.2 + 4.0 * (1.0 - 2.0),
            17.8 - 4.5 * 5.0,
            4.0 * 5.0 - 4.5 * 6.0,
            4.0 * 0.2 - 4.5 * 0.05,
            4.0 * 0.05 - 4.5 * 0.1,
            4.0 * (0.1 + 0.3) - 4.5 * 0.25,
            4.0 * 0.25 - 4.5 * 0.3,
        ];
        for (slope, expected) in slope.iter().zip(expected) {
            assert!((slope - expected).abs() < 1e-12, "{slope} where {expected} is right");
        }
    }

    /// The same cycles after a long time of p = 0.2, which is m = 4 messages a second: P = (1 + 10 * 0.2 / 2)^-2 = 1/4 and
    /// Y = 1 / (1 + 2) = 1/3, so that c = 4 Y 3 P^2 / (1 - P)^2 = 4/9. At each step of the first cycle are m Y / a = 1/3;
    /// of later steps half of the sources reach the next, a / (a + m). Beyond fast recovery 1/3 P / (1 - P) enter.
    #[test]
    fn the_state_at_rest_by_hand() {
        let model = Cycles { steps: 2, recovery: 2, frames: 10.0, increase: 3.0 };
        assert!((model.balance(0.2, 20.0) - 4.0 / 9.0).abs() < 1e-12);
        let third = 1.0 / 3.0;
        let held = [2.0 * (third + third), 2.0 * (third + 2.0 * third)];
        let later = [third / 2.0, third / 4.0, third * third / 2.0, third * third / 4.0];
        let expected = [[third, third], held, [1.0, 0.5], [later[0], later[1]], [later[2], later[3]]].concat();
        let rest = model.rest(0.2, 20.0, 8.0);
        assert_eq!(rest.len(), expected.len());
        for (value, expected) in rest.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{value} where {expected} is right");
        }
    }

    /// Sources that were cut at once give back half of their gap a cycle later: after 12 ms in the mean, with a spread of
    /// 12 ms / sqrt(20). Next to nothing comes in the first third of the cycle, where a rate would give 28 %.
    #[test]
    fn a_cut_is_answered_a_cycle_later() {
        let still = Cycles { increase: 0.0, ..MODEL };
        let mut state = vec![0.0; still.size()];
        (state[0], state[20]) = (1.0, 100.0);
        let mut slope = vec![0.0; still.size()];
        let (step, cycle) = (2e-6, 100.0 / RATE);
        let [mut returned, mut early, mut mean, mut square] = [0.0; 4];
        for k in 0..30_000 {
            // The first give-back alone: what starts later cycles is left out.
            state[40..].fill(0.0);
            let time = (f64::from(k) + 0.5) * step;
            let part = still.slope(&state, moved(0.0, 0.0), &mut slope) * step;
            returned += part;
            mean += part * time;
            square += part * time * time;
            early += if time < cycle / 3.0 { part } else { 0.0 };
            for (value, slope) in state.iter_mut().zip(&slope) {
                *value += step * slope;
            }
        }
        mean /= returned;
        let spread = (square / returned - mean * mean).sqrt();
        assert!((returned - 50.0).abs() < 0.01, "{returned}");
        assert!((mean / cycle - 1.0).abs() < 0.005, "{mean}");
        assert!((spread / cycle - 0.05_f64.sqrt()).abs() < 0.005, "{spread}");
        assert!(early < 0.001 * returned, "{early}");
    }
}
