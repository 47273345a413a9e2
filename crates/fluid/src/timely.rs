//! TIMELY and patched TIMELY as fluids: one queue, sources with a rate and an RTT gradient, delays that hang on the queue.
//!
//! Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, as modelled by Zhu, Ghobadi,
//! Misra and Padhye, "ECN or Delay", CoNEXT 2016. With d = (q + frame) / C + propagation and, for each source,
//! u = max(segment / R, Dmin):
//!
//! ```text
//! q' = sum R - C
//! g' = (alpha / u) (-g + (q(t-d) - q(t-d-u)) / (C Dmin))
//! R' = delta / u                                  if q(t-d) < C Tlow, else
//!    = -(beta / u) (1 - C Thigh / q(t-d)) R       if q(t-d) > C Thigh, else
//!    = delta / u if g <= 0, -g beta R / u if g > 0                                          TIMELY
//!    = (1 - W) delta / u - W beta R / u (q(t-d) - q0) / q0                                  patched
//! ```
//!
//! with W = 2 g + 1/2 kept within 0 and 1, and q0 = C Tlow.

use super::error::FluidError;
use super::groups::Groups;
use super::history::HistoryView;
use super::initial::Initial;
use super::parameters::{ABOVE_ZERO, ANY, Parameter, Values, delay, number, sources, switch};
use super::stepper::{Lag, System};
use super::{ColumnName, Model};

const fn shared(beta: f64, segment: f64) -> [Parameter; 13] {
    [
        sources(2),
        number("capacity_bps", "bit/s", 10e9, (ABOVE_ZERO, ANY), "capacity C of the bottleneck"),
        number(
            "frame_bytes",
            "B",
            1000.0,
            (ABOVE_ZERO, ANY),
            "octets of a frame; its time on the link is part of the RTT",
        ),
        delay("propagation_s", 0.0, "time on the wires, part of the RTT"),
        number("segment_bytes", "B", segment, (ABOVE_ZERO, ANY), "octets between two measurements of the RTT"),
        number("t_low_s", "s", 50e-6, (ABOVE_ZERO, ANY), "queueing delay below which rates grow"),
        number("t_high_s", "s", 500e-6, (ABOVE_ZERO, ANY), "queueing delay above which rates fall"),
        number("min_rtt_s", "s", 20e-6, (ABOVE_ZERO, ANY), "RTT Dmin the gradient is measured in"),
        number("alpha", "", 0.875, (ABOVE_ZERO, 1.0), "weight of the newest gradient"),
        number("beta", "", beta, (ABOVE_ZERO, ANY), "gain of rate cuts"),
        number("delta_bps", "bit/s", 10e6, (ABOVE_ZERO, ANY), "step of rate increases"),
        number("min_rate_bps", "bit/s", 10e6, (ABOVE_ZERO, ANY), "rate a source does not fall below"),
        number("buffer_bytes", "B", 10e6, (ABOVE_ZERO, ANY), "octets the queue cannot exceed"),
    ]
}

const fn with_strict(shared: [Parameter; 13]) -> [Parameter; 14] {
    let strict = switch("strict_gradient", false, "a gradient of exactly 0 neither raises nor cuts the rate");
    let mut all = [strict; 14];
    let mut i = 0;
    while i < shared.len() {
        all[i] = shared[i];
        i += 1;
    }
    all
}

/// TIMELY (false) or patched TIMELY (true), with its parameters in frames and seconds.
#[derive(Clone, Debug)]
pub(crate) struct Timely<const PATCHED: bool> {
    n: f64,
    capacity: f64,
    floor: f64,
    frame: f64,
    fixed_delay: f64,
    segment: f64,
    low: f64,
    high: f64,
    min_rtt: f64,
    alpha: f64,
    beta: f64,
    delta: f64,
    buffer: f64,
    strict: bool,
    groups: Groups,
}

impl<const PATCHED: bool> Timely<PATCHED> {
    /// Time between two measurements of a source, s.
    fn between(&self, rate: f64) -> f64 {
        (self.segment / rate.max(self.floor)).max(self.min_rtt)
    }

    /// Time from the queue to the source, s.
    fn delay(&self, queue: f64) -> f64 {
        queue.clamp(0.0, self.buffer) / self.capacity + self.fixed_delay
    }

    /// Slope of a rate, for the queue the source sees.
    fn rate_slope(&self, queue: f64, rate: f64, gradient: f64) -> f64 {
        if queue < self.low {
            return self.delta;
        }
        if queue > self.high {
            return -self.beta * (1.0 - self.high / queue) * rate;
        }
        if PATCHED {
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            return (1.0 - weight) * self.delta - weight * self.beta * rate * (queue - self.low) / self.low;
        }
        if gradient < 0.0 || (gradient == 0.0 && !self.strict) { self.delta } else { -gradient * self.beta * rate }
    }

    /// The queue at rest, frames.
    fn equilibrium(&self) -> Result<f64, FluidError> {
        let none = |why: &str| Err(FluidError::NoEquilibrium { model: Self::NAME, why: why.to_owned() });
        if PATCHED {
            let queue = self.low + self.n * self.delta * self.low / (self.beta * self.capacity);
            return if queue <= self.high {
                Ok(queue)
            } else {
                none("its queue would lie above capacity_bps x t_high_s")
            };
        }
        if self.strict {
            return Ok(0.5 * (self.low + self.high));
        }
        none("rates still grow while the gradient is 0; with strict_gradient there are infinitely many")
    }
}

impl<const PATCHED: bool> System for Timely<PATCHED> {
    fn size(&self) -> usize {
        1 + 2 * self.groups.all.len()
    }

    fn lags(&self) -> Vec<Lag> {
        let further = Lag::Varying(self.fixed_delay + self.min_rtt);
        std::iter::once(Lag::Varying(self.fixed_delay)).chain(self.groups.all.iter().map(|_| further)).collect()
    }

    fn lag(&self, index: usize, _time: f64, state: &[f64]) -> f64 {
        let delay = self.delay(state[0]);
        if index == 0 { delay } else { delay + self.between(state[2 * index - 1]) }
    }

    fn horizon(&self) -> f64 {
        self.delay(self.buffer) + self.between(self.floor)
    }

    fn slope(&self, _time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        let delay = self.delay(state[0]);
        let queue = past.ago(0, delay).get(0);
        let mut net = -self.capacity;
        for (i, group) in self.groups.all.iter().enumerate() {
            let at = 1 + 2 * i;
            let [rate, gradient] = [state[at], state[at + 1]];
            net += group.count * rate;
            // A source that has not started has no rate.
            if rate <= 0.0 {
                slope[at..at + 2].fill(0.0);
                continue;
            }
            let between = self.between(rate);
            let before = past.ago(i + 1, delay + between).get(0);
            slope[at] = self.rate_slope(queue, rate, gradient) / between;
            slope[at + 1] = self.alpha / between * ((queue - before) / (self.capacity * self.min_rtt) - gradient);
        }
        slope[0] = match state[0] {
            queue if queue <= 0.0 => net.max(0.0),
            queue if queue >= self.buffer => net.min(0.0),
            _ => net,
        };
    }

    fn project(&self, _time: f64, state: &mut [f64]) {
        state[0] = state[0].clamp(0.0, self.buffer);
        for source in state[1..].chunks_exact_mut(2).filter(|source| source[0] > 0.0) {
            source[0] = source[0].max(self.floor).min(self.capacity);
        }
    }

    fn jumps(&self) -> Vec<f64> {
        self.groups.late()
    }

    fn jump(&self, time: f64, state: &mut [f64]) {
        for (group, source) in self.groups.all.iter().zip(state[1..].chunks_exact_mut(2)) {
            if group.from == time {
                source.copy_from_slice(&[(group.rate / (8.0 * self.frame)).max(self.floor), 0.0]);
            }
        }
    }
}

impl<const PATCHED: bool> Model for Timely<PATCHED> {
    const NAME: &'static str = if PATCHED { "timely_patched" } else { "timely" };
    const TITLE: &'static str = if PATCHED { "Patched TIMELY" } else { "TIMELY" };
    const SOURCE: &'static str = "Zhu, Ghobadi, Misra, Padhye, CoNEXT 2016, doi 10.1145/2999572.2999593";
    const PARAMETERS: &'static [Parameter] =
        if PATCHED { const { &shared(0.008, 16e3) } } else { const { &with_strict(shared(0.8, 64e3)) } };
    const INITIAL: &'static [&'static str] = &["queue_bytes", "rates_bps", "start_s", "gradient"];

    fn new(values: &Values, initial: &Initial) -> Result<Self, FluidError> {
        let frame = values.number("frame_bytes");
        let rate = |name: &str| values.number(name) / (8.0 * frame);
        let capacity = rate("capacity_bps");
        let n = values.number("sources");
        if values.number("t_high_s") <= values.number("t_low_s") {
            return Err(values.out_of_range("t_high_s", "above t_low_s"));
        }
        Ok(Timely {
            n,
            capacity,
            floor: rate("min_rate_bps"),
            frame,
            fixed_delay: 1.0 / capacity + values.number("propagation_s"),
            segment: values.number("segment_bytes") / frame,
            low: capacity * values.number("t_low_s"),
            high: capacity * values.number("t_high_s"),
            min_rtt: values.number("min_rtt_s"),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            delta: rate("delta_bps"),
            buffer: values.number("buffer_bytes") / frame,
            strict: !PATCHED && values.switch("strict_gradient"),
            groups: Groups::read(initial, n as usize, capacity / n * 8.0 * frame)?,
        })
    }

    /// All sources start with their share into an empty queue.
    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError> {
        let queue = if initial.at_equilibrium() { self.equilibrium()? } else { 0.0 };
        let gradient = initial.signed("gradient")?.unwrap_or(0.0);
        let mut state = vec![initial.number("queue_bytes", "B")?.map_or(queue, |bytes| bytes / self.frame)];
        for group in &self.groups.all {
            let rate = (group.rate / (8.0 * self.frame)).max(self.floor);
            state.extend(if group.from > 0.0 { [0.0; 2] } else { [rate, gradient] });
        }
        Ok(state)
    }

    fn columns(&self) -> Vec<ColumnName> {
        let rates = (1..=self.groups.of_source.len()).map(|i| (format!("rate_{i}_bps"), "bit/s"));
        let first = [("queue_bytes".to_owned(), "B"), ("rate_bps".to_owned(), "bit/s")];
        first.into_iter().chain(rates).chain([("gradient".to_owned(), "")]).collect()
    }

    fn row(&self, _time: f64, state: &[f64], row: &mut Vec<f64>) {
        let bits = 8.0 * self.frame;
        let mean = |offset: usize| {
            let parts = self.groups.all.iter().enumerate();
            parts.map(|(i, group)| group.count * state[1 + 2 * i + offset]).sum::<f64>() / self.n
        };
        row.extend([state[0] * self.frame, mean(0) * self.n * bits]);
        row.extend(self.groups.of_source.iter().map(|group| state[1 + 2 * group] * bits));
        row.push(mean(1));
    }

    fn longest_step(&self) -> f64 {
        0.05 * self.min_rtt
    }
}
