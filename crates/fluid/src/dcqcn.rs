//! DCQCN as a fluid: one queue with a marking ramp, sources with current rate, target rate and alpha, a feedback delay.
//!
//! Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016.
//! Rates in frames per second, T and tau in seconds, B in frames, d the delay; p and Rc within brackets at t - d:
//!
//! ```text
//! p   = 0 up to Kmin, then a ramp to pmax at Kmax, 1 above
//! q'  = sum Rc - C
//! a'  = (g / tau') [1 - (1-p)^(tau' Rc)] - (g / tau') a
//! Rt' = -(Rt - Rc) / tau [1 - (1-p)^(tau Rc)] + RAI [(1-p)^(F B) cB + (1-p)^(F T Rc) cT]
//! Rc' = -Rc a / (2 tau) [1 - (1-p)^(tau Rc)] + (Rt - Rc) / 2 [cB + cT]
//! cB  = Rc p / ((1-p)^-B - 1),  cT = Rc p / ((1-p)^(-T Rc) - 1)
//! ```

use super::error::FluidError;
use super::groups::Groups;
use super::history::HistoryView;
use super::initial::Initial;
use super::parameters::{ABOVE_ZERO, ANY, Parameter, Values, delay, number, sources};
use super::plant::{CLAMP_QUEUE, LINE_RATE, Plant, RATE_CAP, capacity, frame, min_rate};
use super::stepper::{Lag, System};
use super::{ColumnName, Model, named};

/// The parameters of the model; defaults of the paper's fluid model.
pub(crate) const PARAMETERS: &[Parameter] = &[
    sources(2),
    capacity(40e9),
    LINE_RATE,
    delay("delay_s", 4e-6, "feedback delay, from the mark to the cut"),
    frame(1000.0),
    number("k_min_bytes", "B", 5e3, (0.0, ANY), "queue up to which nothing is marked"),
    number("k_max_bytes", "B", 200e3, (ABOVE_ZERO, ANY), "queue above which everything is marked"),
    number("p_max", "", 0.01, (ABOVE_ZERO, 1.0), "marking probability at k_max_bytes"),
    number("g", "", 1.0 / 256.0, (ABOVE_ZERO, 1.0), "gain of alpha"),
    number("cut_interval_s", "s", 50e-6, (ABOVE_ZERO, ANY), "shortest time tau between two cuts (CNPs)"),
    number("alpha_interval_s", "s", 55e-6, (ABOVE_ZERO, ANY), "time tau' between two changes of alpha"),
    number("timer_s", "s", 55e-6, (ABOVE_ZERO, ANY), "period T of the rate increase timer"),
    number("cycle_bytes", "B", 10e6, (ABOVE_ZERO, ANY), "octets B of a byte counter cycle"),
    number("fast_recovery_cycles", "", 5.0, (0.0, ANY), "cycles F of fast recovery"),
    number("ai_rate_bps", "bit/s", 40e6, (0.0, ANY), "active increase step of the target rate"),
    min_rate(0.0),
    RATE_CAP,
    CLAMP_QUEUE,
];

/// The model with its parameters in frames and seconds.
#[derive(Clone, Debug)]
pub(crate) struct Dcqcn {
    plant: Plant,
    k_min: f64,
    k_max: f64,
    p_max: f64,
    g: f64,
    tau: f64,
    tau_alpha: f64,
    timer: f64,
    cycle: f64,
    recovery: f64,
    increase: f64,
    alpha: f64,
    groups: Groups,
}

/// What frames that pass with marking probability p do, each with the rate it has at one source.
struct Marked {
    /// Probability of a mark within tau.
    cut: f64,
    /// Probability of a mark within tau'.
    alpha: f64,
    /// Unmarked cycles of the byte counter and the timer, 1/s.
    cycles: f64,
    /// Such cycles beyond fast recovery, 1/s.
    increases: f64,
}

impl Dcqcn {
    fn probability(&self, queue: f64) -> f64 {
        if queue <= self.k_min {
            0.0
        } else if queue <= self.k_max {
            (queue - self.k_min) / (self.k_max - self.k_min) * self.p_max
        } else {
            1.0
        }
    }

    fn marked(&self, p: f64, rate: f64) -> Marked {
        let log = (-p).ln_1p();
        // (1 - p)^n and 1 - (1 - p)^n, also for p = 1 and n = 0.
        let power = |n: f64| if n == 0.0 { 1.0 } else { (n * log).exp() };
        let some = |n: f64| if n == 0.0 { 0.0 } else { -(n * log).exp_m1() };
        let by_bytes = if p == 0.0 { rate / self.cycle } else { rate * p / (-self.cycle * log).exp_m1() };
        let per_timer = self.timer * rate;
        let by_timer = if p == 0.0 {
            1.0 / self.timer
        } else if per_timer == 0.0 || -per_timer * log < 1e-12 {
            p / (-log * self.timer)
        } else {
            rate * p / (-per_timer * log).exp_m1()
        };
        let increases = power(self.recovery * self.cycle) * by_bytes + power(self.recovery * per_timer) * by_timer;
        Marked {
            cut: some(self.tau * rate),
            alpha: some(self.tau_alpha * rate),
            cycles: by_bytes + by_timer,
            increases,
        }
    }

    /// The marking probability, alpha and target rate at rest with all current rates at C/N.
    ///
    /// At rest the slopes of Rt and Rc vanish: (Rt - Rc) cut = tau RAI increases and
    /// Rc alpha cut = tau (Rt - Rc) cycles; one equation for p, of which the left side only grows.
    fn rest(&self) -> (f64, Marked, f64) {
        let rate = self.plant.share();
        let excess = |log_p: f64| {
            let m = self.marked(log_p.exp(), rate);
            rate * m.alpha * m.cut * m.cut - self.tau * self.tau * self.increase * m.cycles * m.increases
        };
        let (mut low, mut high) = (1e-12_f64.ln(), (1.0 - 1e-12_f64).ln());
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if excess(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let p = high.exp();
        let marked = self.marked(p, rate);
        let target = rate + self.tau * self.increase * marked.increases / marked.cut;
        (p, marked, target)
    }

    /// Queue, current rate, target rate and alpha at rest.
    fn equilibrium(&self) -> Result<[f64; 4], FluidError> {
        let (p, marked, target) = self.rest();
        let none = |why: String| Err(FluidError::NoEquilibrium { model: Self::NAME, why });
        if p > self.p_max {
            return none(format!(
                "{} sources need a marking probability of {p:.4e}, above the ramp's end p_max = {:.4e}",
                self.plant.n, self.p_max
            ));
        }
        let rate = self.plant.share();
        if self.plant.rate_cap && self.plant.line < rate {
            return none("the sources cannot fill the link at their line rate".to_owned());
        }
        let queue = self.k_min + p / self.p_max * (self.k_max - self.k_min);
        Ok([queue, rate, target, marked.alpha])
    }
}

impl System for Dcqcn {
    fn size(&self) -> usize {
        1 + 3 * self.groups.all.len()
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Constant(self.plant.delay)]
    }

    fn slope(&self, _time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        let then = past.ago(0, self.plant.delay);
        let p = self.probability(then.get(0));
        let mut net = -self.plant.capacity;
        for (i, group) in self.groups.all.iter().enumerate() {
            let at = 1 + 3 * i;
            let [current, target, alpha] = [state[at], state[at + 1], state[at + 2]];
            net += group.count * current;
            // A source that has not started has no target rate.
            if target <= 0.0 {
                slope[at..at + 3].fill(0.0);
                continue;
            }
            let m = self.marked(p, then.get(at).max(0.0));
            slope[at] = -current * alpha / (2.0 * self.tau) * m.cut + 0.5 * (target - current) * m.cycles;
            slope[at + 1] = -(target - current) / self.tau * m.cut + self.increase * m.increases;
            slope[at + 2] = self.g / self.tau_alpha * (m.alpha - alpha);
        }
        slope[0] = self.plant.queue_slope(state[0], net);
    }

    fn project(&self, _time: f64, state: &mut [f64]) {
        state[0] = self.plant.bounded_queue(state[0]);
        for source in state[1..].chunks_exact_mut(3).filter(|source| source[1] > 0.0) {
            source[0] = self.plant.bounded_rate(source[0]);
            source[1] = self.plant.bounded_rate(source[1]);
        }
    }

    fn jumps(&self) -> Vec<f64> {
        self.groups.late()
    }

    fn jump(&self, time: f64, state: &mut [f64]) {
        for (group, source) in self.groups.all.iter().zip(state[1..].chunks_exact_mut(3)) {
            if group.from == time {
                let rate = group.rate / self.plant.frame_bits();
                source.copy_from_slice(&[rate, rate, self.alpha]);
            }
        }
    }
}

impl Model for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const TITLE: &'static str = "DCQCN";
    const SOURCE: &'static str = "Zhu, Ghobadi, Misra, Padhye, CoNEXT 2016, doi 10.1145/2999572.2999593";
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const INITIAL: &'static [&'static str] = &["queue_bytes", "rates_bps", "start_s", "alpha"];

    fn new(values: &Values, initial: &Initial) -> Result<Dcqcn, FluidError> {
        let plant = Plant::read(values);
        let (k_min, k_max) = (values.number("k_min_bytes") / plant.frame, values.number("k_max_bytes") / plant.frame);
        if k_max <= k_min {
            return Err(values.out_of_range("k_max_bytes", "above k_min_bytes"));
        }
        let mut model = Dcqcn {
            plant,
            k_min,
            k_max,
            p_max: values.number("p_max"),
            g: values.number("g"),
            tau: values.number("cut_interval_s"),
            tau_alpha: values.number("alpha_interval_s"),
            timer: values.number("timer_s"),
            cycle: values.number("cycle_bytes") / plant.frame,
            recovery: values.number("fast_recovery_cycles"),
            increase: values.number("ai_rate_bps") / plant.frame_bits(),
            alpha: 1.0,
            groups: Groups { all: Vec::new(), of_source: Vec::new() },
        };
        let mut base = plant.line;
        if initial.at_equilibrium() {
            [_, base, _, model.alpha] = model.equilibrium()?;
        }
        model.alpha = initial.number("alpha", "")?.unwrap_or(model.alpha);
        model.groups = Groups::read(initial, plant.n as usize, base * plant.frame_bits())?;
        Ok(model)
    }

    /// All sources start at their line rate with alpha 1 into an empty queue.
    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError> {
        let [queue, _, target, _] =
            if initial.at_equilibrium() { self.equilibrium()? } else { [0.0, self.plant.line, 0.0, 1.0] };
        let queue = initial.number("queue_bytes", "B")?.map_or(queue, |bytes| bytes / self.plant.frame);
        let mut state = vec![queue];
        for group in &self.groups.all {
            let rate = group.rate / self.plant.frame_bits();
            state.extend(if group.from > 0.0 { [0.0; 3] } else { [rate, rate.max(target), self.alpha] });
        }
        Ok(state)
    }

    fn columns(&self) -> Vec<ColumnName> {
        named(&[
            ("queue_bytes", "B"),
            ("rate_bps", "bit/s"),
            ("current_rate_bps", "bit/s"),
            ("target_rate_bps", "bit/s"),
            ("alpha", ""),
            ("marking_probability", ""),
        ])
    }

    fn row(&self, _time: f64, state: &[f64], row: &mut Vec<f64>) {
        let bits = self.plant.frame_bits();
        let sum = |offset: usize| {
            let parts = self.groups.all.iter().enumerate();
            parts.map(|(i, group)| group.count * state[1 + 3 * i + offset]).sum::<f64>()
        };
        let [current, target, alpha] = [sum(0), sum(1), sum(2)];
        let n = self.plant.n;
        let p = self.probability(state[0]);
        row.extend([state[0] * self.plant.frame, current * bits, current / n * bits, target / n * bits, alpha / n, p]);
    }

    fn longest_step(&self) -> f64 {
        0.05 * self.tau.min(self.timer)
    }
}
