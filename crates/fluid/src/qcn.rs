//! QCN as a fluid: one queue, N equal sources, a loop delay.
//!
//! Alizadeh, Atikoglu, Kabbani, Lakshmikantha, Pan, Prabhakar and Seaman, "Data Center Transport Mechanisms:
//! Congestion Control Theory and IEEE Standardization", Allerton 2008; Alizadeh, Kabbani, Atikoglu and Prabhakar,
//! "Stability Analysis of QCN: The Averaging Principle", SIGMETRICS 2011. With rates in frames per second,
//!
//! ```text
//! q'  = N Rc - C
//! F   = q - Qeq + w (N Rc - C) / (C p)                       above 0: congestion
//! p   = pmin + (pmax - pmin) min(|F| / Fmax, 1)              p is constant when sampling is "fixed"
//! pr  = p if F > 0, else 0                                   p when feedback is not one-sided
//! Rc' = -Gd F(t-d) Rc Rc(t-d) pr(t-d) + (Rt - Rc) / 2 Rc(t-d) eta(pr(t-d))
//! Rt' = -(Rt - Rc) Rc(t-d) pr(t-d) + RAI Rc(t-d) zeta(pr(t-d))
//! eta(p) = p / ((1-p)^-n - 1),  zeta(p) = (1-p)^(F n) eta(p)
//! ```
//!
//! eta Rc is the rate at which n frames in a row go unreflected, zeta Rc that of such cycles beyond the first F.
//! There every message moves the target to the current rate and restarts the byte counter. In QCN a message in the
//! first cycle does neither, so a source's gap Rt - Rc depends on whether it is in that cycle. With `first_cycle` "kept"
//! a share s of the sources is, n frames end it, taken as a rate, and h is the part of the mean gap that they hold:
//!
//! ```text
//! m   = Rc(t-d) pr(t-d),  cut = Gd F(t-d) Rc m,  e = pr / ((1-pr)^-n - 1)
//! s'  = (1 - s) m - s Rc(t-d) / n
//! h'  = cut - h Rc(t-d) / n
//! Rc' = -cut + (h / n + (Rt - Rc - h) e) Rc(t-d) / 2
//! Rt' = -(Rt - Rc - h) m + RAI Rc(t-d) (1 - s) (1-pr)^((F-1) n) e
//! ```
//!
//! The queue that a congestion point sees strays from the fluid's, because frames arrive whole. With a spread sigma of F
//! from that, one-sided feedback is the mean over it: pr = p Phi(F / sigma), and a message says
//! F + sigma phi(F / sigma) / Phi(F / sigma), with the normal distribution Phi and its density phi. With the spread 0
//! (the default) pr is p or 0.
//!
//! In all of this eta answers at once to the messages, as if their probability had been constant for a whole cycle.
//! With `cycles` "remembered" each source has a position in its cycle instead, as [`super::qcn_cycles`] has it.
//!
//! Neither the timer nor hyper-active increase is in the model.

use super::error::FluidError;
use super::history::HistoryView;
use super::initial::Initial;
use super::parameters::{ABOVE_ZERO, ANY, Kind, Parameter, Values, derived, number, sources, switch};
use super::plant::{
    BUFFER, CLAMP_QUEUE, CLIP_FEEDBACK, LINE_RATE, Plant, RATE_CAP, capacity, frame, loop_delay, min_rate, set_point,
    weight,
};
use super::qcn_cycles::{Cycles, Moved};
use super::stepper::{Lag, System};
use super::{ColumnName, Model, named};
use qcnlab_schemes::family::qcn::{CP_DECK001, RP_DECK001};
use std::cell::Cell;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

const FRAME_BYTES: f64 = 1500.0;

/// The parameters of the model; set point, weight, sampling, cycles and increase are those of the preset `DECK001`.
pub(crate) const PARAMETERS: &[Parameter] = &[
    sources(10),
    capacity(10e9),
    LINE_RATE,
    loop_delay(200e-6),
    frame(FRAME_BYTES),
    set_point(CP_DECK001.set_point.as_f64()),
    weight(CP_DECK001.w),
    derived(
        "gain_per_byte",
        "1/B",
        (ABOVE_ZERO, ANY),
        "relative cut Gd for each octet of feedback; 0.5 / ((1 + 2 w) set_point_bytes) when left out",
    ),
    Parameter {
        name: "sampling",
        unit: "",
        kind: Kind::Word(&["adaptive", "fixed"]),
        about: "whether the sampling probability grows with the feedback, or stays at sampling_probability",
    },
    number(
        "sampling_probability",
        "",
        FRAME_BYTES / CP_DECK001.sample_base.as_f64(),
        (ABOVE_ZERO, 0.999),
        "probability that a frame is sampled without feedback",
    ),
    number("sampling_probability_max", "", 0.1, (ABOVE_ZERO, 0.999), "probability at full feedback, when adaptive"),
    number("cycle_bytes", "B", RP_DECK001.byte_reset.as_f64(), (ABOVE_ZERO, ANY), "octets of a byte counter cycle"),
    number("fast_recovery_cycles", "", RP_DECK001.threshold as f64, (0.0, ANY), "cycles of fast recovery"),
    Parameter {
        name: "first_cycle",
        unit: "",
        kind: Kind::Word(&["restarted", "kept"]),
        about: "a message in the first byte counter cycle restarts it and moves the target, as published, or neither, as \
                in QCN",
    },
    Parameter {
        name: "cycles",
        unit: "",
        kind: Kind::Word(&["published", "remembered"]),
        about: "whether cycles end at the published rate, or sources have a position in theirs; this needs first_cycle kept",
    },
    Parameter {
        name: "cycle_steps",
        unit: "",
        kind: Kind::Count(20),
        about: "steps of a remembered cycle, at most 1000",
    },
    number("ai_rate_bps", "bit/s", RP_DECK001.ai_rate.as_f64(), (0.0, ANY), "active increase step of the target rate"),
    min_rate(0.0),
    switch("one_sided", true, "only congestion is reported"),
    CLIP_FEEDBACK,
    switch("clamp_target", true, "the target rate is never below the current rate"),
    RATE_CAP,
    CLAMP_QUEUE,
    number("feedback_spread_bytes", "B", 0.0, (0.0, ANY), "standard deviation of one-sided feedback from whole frames"),
    BUFFER,
];

/// The model with its parameters in frames and seconds.
#[derive(Clone, Debug)]
pub(crate) struct Qcn {
    plant: Plant,
    set_point: f64,
    w: f64,
    gain: f64,
    full: f64,
    p_min: f64,
    p_max: f64,
    cycle: f64,
    recovery: f64,
    kept: bool,
    counters: Option<Cycles>,
    last: Cell<DelayedFeedback>,
    increase: f64,
    one_sided: bool,
    spread: f64,
    clip: bool,
    clamp_target: bool,
}

/// The delayed feedback at one moment: F and pr of the module's head, and the rates of cycles that follow from pr.
#[derive(Clone, Copy, Debug)]
struct DelayedFeedback {
    /// The moment, s.
    time: f64,
    /// The current rate one delay earlier.
    rate: f64,
    feedback: f64,
    reflected: f64,
    eta: f64,
    /// zeta when no source is in its first cycle.
    past_recovery: f64,
}

/// The value before the first moment: equal to that of no moment.
const NO_FEEDBACK: DelayedFeedback = {
    let none = f64::NAN;
    DelayedFeedback { time: none, rate: none, feedback: none, reflected: none, eta: none, past_recovery: none }
};

impl Qcn {
    /// Queue, current and target rate at rest.
    fn equilibrium(&self) -> Result<[f64; 3], FluidError> {
        let rate = self.plant.share();
        if self.plant.rate_cap && self.plant.line < rate {
            let why = format!(
                "{} sources of at most {:.3e} bit/s cannot fill {:.3e} bit/s",
                self.plant.n,
                self.plant.line * self.plant.frame_bits(),
                self.plant.capacity * self.plant.frame_bits()
            );
            return Err(FluidError::NoEquilibrium { model: Self::NAME, why });
        }
        let mut feedback = 0.0;
        let mut gap = 0.0;
        for _ in 0..200 {
            let p = self.probability(feedback);
            if let Some(counters) = self.counters {
                let cut = counters.balance(p, rate);
                feedback = cut / (self.gain * p * rate * rate);
                gap = counters.gap(&counters.rest(p, rate, cut));
                continue;
            }
            let (eta, past_recovery) = self.cycles(p);
            gap = (1.0 - self.first(p)) * past_recovery * self.increase / p;
            let half = if self.kept { 1.0 } else { 0.5 };
            feedback = half * eta * gap / (self.gain * p * rate);
            gap /= 1.0 - self.held(p);
        }
        Ok([self.set_point + feedback, rate, rate + gap])
    }

    fn probability(&self, feedback: f64) -> f64 {
        self.p_min + (self.p_max - self.p_min) * (feedback.abs() / self.full).min(1.0)
    }

    /// Feedback F in frames and the sampling probability p, which depend on each other.
    ///
    /// With p = pmin + s |F| the equation F = o + d / p is quadratic in |F|; of the sign of o pmin + d it has one root.
    fn feedback(&self, queue: f64, rate: f64) -> (f64, f64) {
        let offset = queue - self.set_point;
        let change = self.w * (self.plant.n * rate - self.plant.capacity) / self.plant.capacity;
        let slope = (self.p_max - self.p_min) / self.full;
        let at_zero = offset * self.p_min + change;
        let size = if slope == 0.0 {
            at_zero.abs() / self.p_min
        } else {
            let b = self.p_min - at_zero.signum() * slope * offset;
            let root = (b * b + 4.0 * slope * at_zero.abs()).sqrt();
            if b > 0.0 { 2.0 * at_zero.abs() / (root + b) } else { (root - b) / (2.0 * slope) }
        };
        let size = if size > self.full { (offset + change / self.p_max).abs() } else { size };
        let p = self.probability(size);
        let size = if self.clip { size.min(self.full) } else { size };
        (at_zero.signum() * size, p)
    }

    /// The mean feedback of a message and the probability that a frame causes one, for feedback F and sampling
    /// probability p.
    fn message_of(&self, feedback: f64, p: f64) -> (f64, f64) {
        if !self.one_sided {
            return (feedback, p);
        }
        if self.spread == 0.0 {
            return if feedback > 0.0 { (feedback, p) } else { (0.0, 0.0) };
        }
        let share = normal(feedback / self.spread);
        let density = (-0.5 * (feedback / self.spread).powi(2)).exp() * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0;
        if share < 1e-12 { (0.0, 0.0) } else { (feedback + self.spread * density / share, p * share) }
    }

    /// eta (e of the later cycles) and zeta of the module's head when no source is in its first cycle.
    fn cycles(&self, p: f64) -> (f64, f64) {
        if p == 0.0 {
            return (1.0 / self.cycle, 1.0 / self.cycle);
        }
        let log_unsampled = self.cycle * (-p).ln_1p();
        let eta = p / (-log_unsampled).exp_m1();
        let fast = if self.kept { self.recovery - 1.0 } else { self.recovery };
        (eta, eta * (fast * log_unsampled).exp())
    }

    /// The delayed feedback at `time`. A step evaluates each moment twice, so the last value is cached; without a delay
    /// the value depends on the present state, and nothing is cached.
    fn delayed_feedback(&self, time: f64, past: &HistoryView<'_>) -> DelayedFeedback {
        let last = self.last.get();
        if last.time == time && self.plant.delay > 0.0 {
            return last;
        }
        let then = past.ago(0, self.plant.delay);
        let (queue, rate) = (then.get(0), then.get(1));
        let (feedback, p) = self.feedback(queue, rate);
        let (feedback, reflected) = self.message_of(feedback, p);
        let (eta, past_recovery) = if reflected == last.reflected || self.counters.is_some() {
            (last.eta, last.past_recovery)
        } else {
            self.cycles(reflected)
        };
        let delayed = DelayedFeedback { time, rate, feedback, reflected, eta, past_recovery };
        self.last.set(delayed);
        delayed
    }

    /// The share of sources in their first cycle after a long time of messages with probability `p`.
    fn first(&self, p: f64) -> f64 {
        if self.kept { self.cycle * p / (1.0 + self.cycle * p) } else { 0.0 }
    }

    /// The share of the mean gap that these hold.
    fn held(&self, p: f64) -> f64 {
        let cycles = self.cycle * self.cycles(p).0;
        if self.kept { cycles / (1.0 + cycles) } else { 0.0 }
    }
}

/// The normal distribution to 1e-7: M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 26.2.17.
fn normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let weights = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let sum = t * weights.iter().fold(0.0, |sum, weight| sum * t + weight);
    let tail = (-0.5 * x * x).exp() * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0 * sum;
    if x < 0.0 { tail } else { 1.0 - tail }
}

impl System for Qcn {
    fn size(&self) -> usize {
        self.counters.map_or(5, |counters| 3 + counters.size())
    }

    fn delayed_components(&self) -> usize {
        2
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Constant(self.plant.delay)]
    }

    fn slope(&self, time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        let delayed = self.delayed_feedback(time, past);
        let [q, current, target] = [state[0], state[1], state[2]];
        let rate = delayed.rate;
        let messages = rate * delayed.reflected;
        let cut = self.gain * delayed.feedback * current * messages;
        let net = self.plant.n * current - self.plant.capacity;
        slope[0] = self.plant.queue_slope(q, net);
        if let Some(counters) = self.counters {
            let moved = Moved { rate: current, messages, cut };
            slope[1] = counters.slope(&state[3..], moved, &mut slope[3..]) - cut;
            slope[2] = slope[1] + counters.gap(&slope[3..]);
            return;
        }
        let [held, first] = [state[3], state[4]];
        let gap = target - current - held;
        slope[1] = -cut + 0.5 * rate * (held / self.cycle + gap * delayed.eta);
        slope[2] = -gap * messages + self.increase * rate * (1.0 - first) * delayed.past_recovery;
        if self.kept {
            slope[3] = cut - held * rate / self.cycle;
            slope[4] = (1.0 - first) * messages - first * rate / self.cycle;
        } else {
            (slope[3], slope[4]) = (0.0, 0.0);
        }
    }

    fn project(&self, _time: f64, state: &mut [f64]) {
        state[0] = self.plant.bounded_queue(state[0]);
        state[1] = self.plant.bounded_rate(state[1]);
        if let Some(counters) = self.counters {
            state[2] = state[1] + counters.gap(&state[3..]);
        } else if self.clamp_target {
            state[2] = state[2].max(state[1] + state[3]);
        }
    }
}

impl Model for Qcn {
    const NAME: &'static str = "qcn";
    const TITLE: &'static str = "QCN";
    const SOURCE: &'static str = "Alizadeh et al., Allerton 2008; Alizadeh et al., SIGMETRICS 2011";
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const INITIAL: &'static [&'static str] = &["queue_bytes", "current_rate_bps", "target_rate_bps"];

    fn new(values: &Values, _initial: &Initial) -> Result<Qcn, FluidError> {
        let plant = Plant::read(values);
        let (w, set_point) = (values.number("w"), values.number("set_point_bytes") / plant.frame);
        let full = (1.0 + 2.0 * w) * set_point;
        let p_min = values.number("sampling_probability");
        let p_max = if values.is("sampling", "fixed") { p_min } else { values.number("sampling_probability_max") };
        if p_max < p_min {
            return Err(values.out_of_range("sampling_probability_max", "at least sampling_probability"));
        }
        Ok(Qcn {
            plant,
            set_point,
            w,
            gain: values.maybe("gain_per_byte").map_or(0.5 / full, |gain| gain * plant.frame),
            full,
            p_min,
            p_max,
            cycle: values.number("cycle_bytes") / plant.frame,
            recovery: values.number("fast_recovery_cycles"),
            kept: values.is("first_cycle", "kept"),
            counters: counters(values)?,
            last: Cell::new(NO_FEEDBACK),
            increase: values.number("ai_rate_bps") / plant.frame_bits(),
            one_sided: values.switch("one_sided"),
            spread: values.number("feedback_spread_bytes") / plant.frame,
            clip: values.switch("clip_feedback"),
            clamp_target: values.switch("clamp_target"),
        })
    }

    /// All sources start 10 % above their share, the queue at its set point.
    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError> {
        let share = self.plant.share();
        let base = if initial.at_equilibrium() {
            self.equilibrium()?
        } else {
            let rate = (1.1 * share).min(self.plant.line);
            [self.set_point, rate, rate]
        };
        let bits = self.plant.frame_bits();
        let queue = initial.number("queue_bytes", "B")?.map_or(base[0], |bytes| bytes / self.plant.frame);
        let current = initial.number("current_rate_bps", "bit/s")?.map(|rate| rate / bits);
        let target = initial.number("target_rate_bps", "bit/s")?.map(|rate| rate / bits);
        let target = target.or(current).unwrap_or(base[2]);
        let current = current.unwrap_or(base[1]);
        let p = self.probability(base[0] - self.set_point);
        let Some(counters) = self.counters else {
            return Ok(vec![queue, current, target, (target - current) * self.held(p), self.first(p)]);
        };
        let unit = counters.gap(&counters.rest(p, share, 1.0));
        let mut state = vec![queue, current, target];
        state.extend(counters.rest(p, share, (target - current) / unit));
        Ok(state)
    }

    fn columns(&self) -> Vec<ColumnName> {
        named(&[
            ("queue_bytes", "B"),
            ("rate_bps", "bit/s"),
            ("current_rate_bps", "bit/s"),
            ("target_rate_bps", "bit/s"),
            ("feedback_bytes", "B"),
            ("sampling_probability", ""),
        ])
    }

    fn row(&self, _time: f64, state: &[f64], row: &mut Vec<f64>) {
        let bits = self.plant.frame_bits();
        let (feedback, p) = self.feedback(state[0], state[1]);
        row.extend([
            state[0] * self.plant.frame,
            self.plant.n * state[1] * bits,
            state[1] * bits,
            state[2] * bits,
            -feedback * self.plant.frame,
            p,
        ]);
    }

    /// A third of the shortest mean time between two samples of all sources together, and no longer than a source at
    /// line rate stays at a step of its cycle.
    fn longest_step(&self) -> f64 {
        let sampled = 1.0 / (3.0 * self.p_max * self.plant.capacity);
        self.counters.map_or(sampled, |counters| sampled.min(self.cycle / (counters.steps as f64 * self.plant.line)))
    }
}

/// The byte counters, where they remember.
fn counters(values: &Values) -> Result<Option<Cycles>, FluidError> {
    if values.is("cycles", "published") {
        return Ok(None);
    }
    if values.is("first_cycle", "restarted") {
        let (name, value) = ("first_cycle".to_owned(), "\"restarted\"".to_owned());
        let expected = "\"kept\" where cycles are remembered".to_owned();
        return Err(FluidError::WrongKind { model: Qcn::NAME, name, expected, value });
    }
    let (steps, recovery) = (values.number("cycle_steps"), values.number("fast_recovery_cycles"));
    if steps > 1000.0 {
        return Err(values.out_of_range("cycle_steps", "at least 1 and at most 1000"));
    }
    if recovery.fract() != 0.0 || !(1.0..=100.0).contains(&recovery) {
        let range = "a whole number, at least 1 and at most 100, where cycles are remembered";
        return Err(values.out_of_range("fast_recovery_cycles", range));
    }
    let frame = values.number("frame_bytes");
    Ok(Some(Cycles {
        steps: steps as usize,
        recovery: recovery as usize,
        frames: values.number("cycle_bytes") / frame,
        increase: values.number("ai_rate_bps") / (8.0 * frame),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(parameters: &str) -> Qcn {
        let values = Values::read(Qcn::NAME, PARAMETERS, parameters).expect("values");
        let initial = Initial::read(Qcn::NAME, None, Qcn::INITIAL).expect("a start");
        Qcn::new(&values, &initial).expect("a model")
    }

    /// The sources in their first cycle hold a gap of 5 on average; the target of all is at least that above the rate.
    #[test]
    fn the_clamp_of_the_target_keeps_the_held_gap() {
        let kept = model(r#"{"first_cycle": "kept"}"#);
        let projected = |model: &Qcn, target: f64| {
            let mut state = [10.0, 100.0, target, 5.0, 0.5];
            model.project(0.0, &mut state);
            state
        };
        assert_eq!(projected(&kept, 90.0), [10.0, 100.0, 105.0, 5.0, 0.5]);
        assert_eq!(projected(&kept, 104.0)[2], 105.0);
        assert_eq!(projected(&kept, 106.0)[2], 106.0);
        let free = model(r#"{"first_cycle": "kept", "clamp_target": false}"#);
        assert_eq!(projected(&free, 90.0)[2], 90.0);
    }

    /// Abramowitz and Stegun, table 26.1: 0.5, 0.8413447, 0.9772499; and their complements.
    #[test]
    fn the_normal_distribution_is_the_tabled_one() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.841_344_7), (2.0, 0.977_249_9), (-1.0, 0.158_655_3)] {
            assert!((normal(x) - expected).abs() < 2e-7, "{x}: {}", normal(x));
        }
    }

    /// Without spread a message comes where F is above 0; two-sided always; with a spread half of the time at F = 0, and
    /// then it says sigma phi(0) / Phi(0) = 0.797885 sigma.
    #[test]
    fn messages_by_the_sign_of_the_feedback() {
        let one_sided = model("{}");
        assert_eq!((one_sided.message_of(3.0, 0.01), one_sided.message_of(0.0, 0.01)), ((3.0, 0.01), (0.0, 0.0)));
        assert_eq!(one_sided.message_of(-3.0, 0.01), (0.0, 0.0));
        assert_eq!(model(r#"{"one_sided": false}"#).message_of(-3.0, 0.01), (-3.0, 0.01));
        let (feedback, reflected) = model(r#"{"feedback_spread_bytes": 3000}"#).message_of(0.0, 0.01);
        assert!((feedback - 2.0 * 0.797_884_6).abs() < 1e-5 && (reflected - 0.005).abs() < 1e-8);
    }

    /// 10 Gb/s are 833 333 frames of 1500 octets a second. The set point is 22 frames, full feedback 5 * 22 = 110; p is
    /// 0.01 without feedback, 0.1 with 110 or more and 0.055 with 55.
    #[test]
    fn sampling_grows_with_feedback_of_either_sign() {
        let model = model("{}");
        let near = |p: f64, expected: f64| assert!((p - expected).abs() < 1e-12, "{p} where {expected} is right");
        near(model.probability(0.0), 0.01);
        near(model.probability(55.0), 0.055);
        near(model.probability(-55.0), 0.055);
        near(model.probability(1000.0), 0.1);
    }

    /// F = o + d / p with p = 0.01 + 0.09 |F| / 110. With the rates balanced d is 0 and F the offset: -12 at 10 frames.
    /// At rest with 10 % too much, d = 2 * 0.1 = 0.2: F solves F (0.01 + 0.09 F / 110) = 0.2.
    #[test]
    fn feedback_and_sampling_depend_on_each_other() {
        let model = model(r#"{"sources": 1}"#);
        let capacity = model.plant.capacity;
        let (feedback, p) = model.feedback(10.0, capacity);
        assert!((feedback + 12.0).abs() < 1e-9 && (p - (0.01 + 0.09 * 12.0 / 110.0)).abs() < 1e-12);
        let (feedback, p) = model.feedback(22.0, 1.1 * capacity);
        assert!((feedback * p - 0.2).abs() < 1e-9 && feedback > 0.0, "{feedback} at {p}");
        // Clipped at full feedback, where p is 0.1: 100 frames too long and 2 * 0.5 / 0.1 = 10 for the growth are 110.
        let (feedback, p) = model.feedback(200.0, 1.5 * capacity);
        assert_eq!((feedback, p), (model.full, 0.1));
    }

    /// From full feedback on p stays 0.1: 100 frames too long, and d = 2 for twice the capacity, are 100 + 2 / 0.1. Twelve
    /// frames of room and a rate of 0, for which d is -2, leave p below that.
    #[test]
    fn unclipped_feedback_beyond_the_full_one() {
        let free = model(r#"{"sources": 1, "clip_feedback": false}"#);
        let capacity = free.plant.capacity;
        let (feedback, p) = free.feedback(122.0, 2.0 * capacity);
        assert!((feedback - 120.0).abs() < 1e-9 && p == 0.1, "{feedback} at {p}");
        let (feedback, p) = free.feedback(10.0, 0.0);
        // F = -12 - 2 / p.
        let balance = (feedback + 12.0) * p + 2.0;
        assert!(feedback < 0.0 && balance.abs() < 1e-9 && (p - free.probability(feedback)).abs() < 1e-12);
    }

    /// Next to the set point feedback is the distance itself, to the last digits.
    #[test]
    fn small_feedback_is_as_exact_as_large() {
        let model = model(r#"{"sources": 1, "set_point_bytes": 1500}"#);
        for offset in [1e-10, -1e-10] {
            let (feedback, _) = model.feedback(1.0 + offset, model.plant.capacity);
            assert!((feedback / ((1.0 + offset) - 1.0) - 1.0).abs() < 1e-9, "{feedback}");
        }
    }

    /// After a long time of messages with probability p = 0.01 and cycles of 100 frames: half of the sources are in
    /// their first cycle, 1 / (1 + 1).
    #[test]
    fn the_share_of_first_cycles() {
        assert!((model(r#"{"first_cycle": "kept"}"#).first(0.01) - 0.5).abs() < 1e-12);
        assert_eq!(model("{}").first(0.01), 0.0);
        // e = p / ((1 - p)^-100 - 1) = 0.01 / 1.731996; F = 5, of which zeta has all or, kept, all but one.
        let eta = 0.01 / (0.99f64.powi(-100) - 1.0);
        let (kept, restarted) = (model(r#"{"first_cycle": "kept"}"#).cycles(0.01), model("{}").cycles(0.01));
        assert!((kept.0 / eta - 1.0).abs() < 1e-12 && (restarted.0 / eta - 1.0).abs() < 1e-12);
        assert!((kept.1 / (eta * 0.99f64.powi(400)) - 1.0).abs() < 1e-12);
        assert!((restarted.1 / (eta * 0.99f64.powi(500)) - 1.0).abs() < 1e-12);
        assert_eq!(model("{}").cycles(0.0), (0.01, 0.01));
    }
}
