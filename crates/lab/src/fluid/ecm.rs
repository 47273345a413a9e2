//! BCN/ECM as a fluid: one queue, N equal sources that hear feedback of both signs, a loop delay.
//!
//! Lu, Pan, Prabhakar, Bergamasco, Alaria and Baldini, "Congestion control in networks with no congestion drops",
//! Allerton 2006; Ren and Jiang on its stability. With x = q - Qeq and rates in frames per second,
//!
//! ```text
//! q' = N R - C
//! s  = -(x + w (N R - C) / (C p))
//! R' = Gi Ru s(t-d) m  if s(t-d) > 0,  Gd R s(t-d) m  otherwise
//! ```
//!
//! with m = 1 as published: gains by the second. Counted by the message, as the gains of the scheme are, m is the rate
//! p R(t-d) of messages to one source.

use super::error::FluidError;
use super::history::Past;
use super::initial::Initial;
use super::parameters::{ABOVE_ZERO, ANY, Parameter, Values, delay, derived, number, sources, switch};
use super::stepper::{Lag, System};
use super::{ColumnName, Model, named};

/// The parameters of the model; gains, set point and units are those of deck 001, "Simulation Parameters".
pub(crate) const PARAMETERS: &[Parameter] = &[
    sources(2),
    number("capacity_bps", "bit/s", 10e9, (ABOVE_ZERO, ANY), "capacity C of the bottleneck"),
    derived("line_rate_bps", "bit/s", (ABOVE_ZERO, ANY), "rate a source cannot exceed; capacity_bps when left out"),
    delay("delay_s", 10e-6, "loop delay, source to congestion point and back"),
    number("frame_bytes", "B", 1500.0, (ABOVE_ZERO, ANY), "octets of a frame"),
    number("set_point_bytes", "B", 24e3, (ABOVE_ZERO, ANY), "queue Qeq the congestion point aims at"),
    number("w", "", 2.0, (0.0, ANY), "weight of the queue's change in the feedback"),
    number("feedback_unit_bytes", "B", 64.0, (ABOVE_ZERO, ANY), "octets of queue that count as 1 in the gains"),
    number("rate_unit_bps", "bit/s", 1e6, (ABOVE_ZERO, ANY), "unit Ru of rate increases"),
    number("increase_gain", "", 0.533_33, (ABOVE_ZERO, ANY), "Gi: rate units gained for each unit of feedback"),
    number("decrease_gain", "", 0.000_266_67, (ABOVE_ZERO, ANY), "Gd: part of the rate lost for each unit of feedback"),
    number("sampling_probability", "", 0.01, (ABOVE_ZERO, 1.0), "probability p that a frame is sampled"),
    number("min_rate_bps", "bit/s", 1e6, (0.0, ANY), "rate a source does not fall below"),
    switch("per_message", true, "gains count by the message; false, as published: by the second"),
    switch("clip_feedback", true, "feedback ends at (1 + 2 w) set_point_bytes"),
    switch("rate_cap", true, "the rate is never above line_rate_bps"),
    switch("clamp_queue", true, "the queue is never below 0"),
    derived("buffer_bytes", "B", (ABOVE_ZERO, ANY), "octets the queue cannot exceed; no bound when left out"),
];

/// The model with its parameters in frames and seconds.
#[derive(Clone, Debug)]
pub(crate) struct Ecm {
    n: f64,
    capacity: f64,
    line: f64,
    floor: f64,
    delay: f64,
    frame: f64,
    set_point: f64,
    w: f64,
    p: f64,
    /// Frames per second gained for each frame of feedback.
    increase: f64,
    /// Part of the rate lost for each frame of feedback.
    decrease: f64,
    per_message: bool,
    clip: bool,
    rate_cap: bool,
    clamp_queue: bool,
    buffer: f64,
}

impl Ecm {
    /// Feedback in frames, above 0 when there is room.
    fn feedback(&self, queue: f64, rate: f64) -> f64 {
        let change = self.w * (self.n * rate - self.capacity) / (self.capacity * self.p);
        let feedback = -(queue - self.set_point + change);
        let full = (1.0 + 2.0 * self.w) * self.set_point;
        if self.clip { feedback.clamp(-full, full) } else { feedback }
    }
}

impl System for Ecm {
    fn size(&self) -> usize {
        2
    }

    fn lags(&self) -> Vec<Lag> {
        vec![Lag::Constant(self.delay)]
    }

    fn slope(&self, _time: f64, state: &[f64], past: &Past<'_>, slope: &mut [f64]) {
        let [queue, rate] = [state[0], state[1]];
        let then = past.ago(0, self.delay);
        let feedback = self.feedback(then.get(0), then.get(1));
        let messages = if self.per_message { self.p * then.get(1) } else { 1.0 };
        let gain = if feedback > 0.0 { self.increase } else { self.decrease * rate };
        let net = self.n * rate - self.capacity;
        slope[0] = match queue {
            queue if self.clamp_queue && queue <= 0.0 => net.max(0.0),
            queue if queue >= self.buffer => net.min(0.0),
            _ => net,
        };
        slope[1] = gain * feedback * messages;
    }

    fn project(&self, _time: f64, state: &mut [f64]) {
        if self.clamp_queue {
            state[0] = state[0].max(0.0);
        }
        state[0] = state[0].min(self.buffer);
        state[1] = state[1].max(self.floor);
        if self.rate_cap {
            state[1] = state[1].min(self.line);
        }
    }
}

impl Model for Ecm {
    const NAME: &'static str = "ecm";
    const TITLE: &'static str = "BCN/ECM";
    const SOURCE: &'static str = "Lu et al., Allerton 2006; parameters of deck 001";
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const INITIAL: &'static [&'static str] = &["queue_bytes", "current_rate_bps"];

    fn new(values: &Values, _initial: &Initial) -> Result<Ecm, FluidError> {
        let frame = values.number("frame_bytes");
        let rate = |name: &str| values.number(name) / (8.0 * frame);
        let capacity = rate("capacity_bps");
        let units = frame / values.number("feedback_unit_bytes");
        Ok(Ecm {
            n: values.number("sources"),
            capacity,
            line: values.maybe("line_rate_bps").map_or(capacity, |line| line / (8.0 * frame)),
            floor: rate("min_rate_bps"),
            delay: values.number("delay_s"),
            frame,
            set_point: values.number("set_point_bytes") / frame,
            w: values.number("w"),
            p: values.number("sampling_probability"),
            increase: values.number("increase_gain") * rate("rate_unit_bps") * units,
            decrease: values.number("decrease_gain") * units,
            per_message: values.switch("per_message"),
            clip: values.switch("clip_feedback"),
            rate_cap: values.switch("rate_cap"),
            clamp_queue: values.switch("clamp_queue"),
            buffer: values.maybe("buffer_bytes").map_or(f64::INFINITY, |bytes| bytes / frame),
        })
    }

    /// All sources start 10 % above their share, the queue at its set point.
    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError> {
        let share = self.capacity / self.n;
        if initial.at_equilibrium() && self.rate_cap && self.line < share {
            let why = "the sources cannot fill the link at their line rate".to_owned();
            return Err(FluidError::NoEquilibrium { model: Self::NAME, why });
        }
        let base = if initial.at_equilibrium() { share } else { (1.1 * share).min(self.line) };
        let queue = initial.number("queue_bytes", "B")?.map_or(self.set_point, |bytes| bytes / self.frame);
        let rate = initial.number("current_rate_bps", "bit/s")?.map_or(base, |rate| rate / (8.0 * self.frame));
        Ok(vec![queue, rate])
    }

    fn columns(&self) -> Vec<ColumnName> {
        named(&[("queue_bytes", "B"), ("rate_bps", "bit/s"), ("current_rate_bps", "bit/s"), ("feedback_bytes", "B")])
    }

    fn row(&self, _time: f64, state: &[f64], row: &mut Vec<f64>) {
        let bits = 8.0 * self.frame;
        let feedback = self.feedback(state[0], state[1]) * self.frame;
        row.extend([state[0] * self.frame, self.n * state[1] * bits, state[1] * bits, feedback]);
    }

    /// A tenth of the time between two samples of all sources together, or of the loop's own time 1 / (k n).
    fn quick(&self) -> f64 {
        let messages = if self.per_message { self.p * self.capacity / self.n } else { 1.0 };
        let gain = (self.n * self.increase).max(self.capacity * self.decrease) * messages;
        let samples = self.p * self.capacity;
        0.1 / samples.max(gain * self.w / samples)
    }
}
