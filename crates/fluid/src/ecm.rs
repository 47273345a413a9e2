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
use super::history::HistoryView;
use super::initial::Initial;
use super::parameters::{ABOVE_ZERO, ANY, Parameter, Values, number, sources, switch};
use super::plant::{
    BUFFER, CLAMP_QUEUE, CLIP_FEEDBACK, LINE_RATE, Plant, RATE_CAP, capacity, frame, loop_delay, min_rate, set_point,
    weight,
};
use super::stepper::{Lag, System};
use super::{ColumnName, Model, named};
use qcnlab_schemes::family::ecm::{CP_DECK001, RP_DECK001};

/// The parameters of the model; set point, weight, sampling interval, gains and rates are those of the preset `DECK001`.
pub(crate) const PARAMETERS: &[Parameter] = &[
    sources(2),
    capacity(10e9),
    LINE_RATE,
    loop_delay(200e-6),
    frame(1500.0),
    set_point(CP_DECK001.set_point.as_f64()),
    weight(CP_DECK001.w),
    number("feedback_unit_bytes", "B", 64.0, (ABOVE_ZERO, ANY), "octets of queue that count as 1 in the gains"),
    number("rate_unit_bps", "bit/s", RP_DECK001.rate_unit.as_f64(), (ABOVE_ZERO, ANY), "unit Ru of rate increases"),
    number("gi", "", RP_DECK001.gi, (ABOVE_ZERO, ANY), "Gi: rate units gained for each unit of feedback"),
    number("gd", "", RP_DECK001.gd, (ABOVE_ZERO, ANY), "Gd: part of the rate lost for each unit of feedback"),
    number(
        "sample_bytes",
        "B",
        CP_DECK001.sample_base.as_f64(),
        (ABOVE_ZERO, ANY),
        "octets of all sources together between two samples, at least frame_bytes",
    ),
    min_rate(RP_DECK001.min_rate.as_f64()),
    switch("per_message", true, "gains count by the message; false, as published: by the second"),
    CLIP_FEEDBACK,
    RATE_CAP,
    CLAMP_QUEUE,
    BUFFER,
];

/// The model with its parameters in frames and seconds.
#[derive(Clone, Debug)]
pub(crate) struct Ecm {
    plant: Plant,
    set_point: f64,
    w: f64,
    /// Probability that a frame is sampled.
    p: f64,
    /// Frames per second gained for each frame of feedback.
    increase: f64,
    /// Part of the rate lost for each frame of feedback.
    decrease: f64,
    per_message: bool,
    clip: bool,
}

impl Ecm {
    /// Feedback in frames, above 0 when there is room.
    fn feedback(&self, queue: f64, rate: f64) -> f64 {
        let change = self.w * (self.plant.n * rate - self.plant.capacity) / (self.plant.capacity * self.p);
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
        vec![Lag::Constant(self.plant.delay)]
    }

    fn slope(&self, _time: f64, state: &[f64], past: &HistoryView<'_>, slope: &mut [f64]) {
        let [queue, rate] = [state[0], state[1]];
        let then = past.ago(0, self.plant.delay);
        let feedback = self.feedback(then.get(0), then.get(1));
        let messages = if self.per_message { self.p * then.get(1) } else { 1.0 };
        let gain = if feedback > 0.0 { self.increase } else { self.decrease * rate };
        let net = self.plant.n * rate - self.plant.capacity;
        slope[0] = self.plant.queue_slope(queue, net);
        slope[1] = gain * feedback * messages;
    }

    fn project(&self, _time: f64, state: &mut [f64]) {
        state[0] = self.plant.bounded_queue(state[0]);
        state[1] = self.plant.bounded_rate(state[1]);
    }
}

impl Model for Ecm {
    const NAME: &'static str = "ecm";
    const TITLE: &'static str = "BCN/ECM";
    const SOURCE: &'static str = "Lu et al., Allerton 2006; parameters of deck 001";
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const INITIAL: &'static [&'static str] = &["queue_bytes", "current_rate_bps"];

    fn new(values: &Values, _initial: &Initial) -> Result<Ecm, FluidError> {
        let plant = Plant::read(values);
        let sample = values.number("sample_bytes");
        if sample < plant.frame {
            return Err(values.out_of_range("sample_bytes", "at least frame_bytes"));
        }
        let units = plant.frame / values.number("feedback_unit_bytes");
        Ok(Ecm {
            plant,
            set_point: values.number("set_point_bytes") / plant.frame,
            w: values.number("w"),
            p: plant.frame / sample,
            increase: values.number("gi") * (values.number("rate_unit_bps") / plant.frame_bits()) * units,
            decrease: values.number("gd") * units,
            per_message: values.switch("per_message"),
            clip: values.switch("clip_feedback"),
        })
    }

    /// All sources start 10 % above their share, the queue at its set point.
    fn start(&self, initial: &Initial) -> Result<Vec<f64>, FluidError> {
        let share = self.plant.share();
        if initial.at_equilibrium() && self.plant.rate_cap && self.plant.line < share {
            let why = "the sources cannot fill the link at their line rate".to_owned();
            return Err(FluidError::NoEquilibrium { model: Self::NAME, why });
        }
        let base = if initial.at_equilibrium() { share } else { (1.1 * share).min(self.plant.line) };
        let queue = initial.number("queue_bytes", "B")?.map_or(self.set_point, |bytes| bytes / self.plant.frame);
        let rate = initial.number("current_rate_bps", "bit/s")?.map_or(base, |rate| rate / self.plant.frame_bits());
        Ok(vec![queue, rate])
    }

    fn columns(&self) -> Vec<ColumnName> {
        named(&[("queue_bytes", "B"), ("rate_bps", "bit/s"), ("current_rate_bps", "bit/s"), ("feedback_bytes", "B")])
    }

    fn row(&self, _time: f64, state: &[f64], row: &mut Vec<f64>) {
        let bits = self.plant.frame_bits();
        let feedback = self.feedback(state[0], state[1]) * self.plant.frame;
        row.extend([state[0] * self.plant.frame, self.plant.n * state[1] * bits, state[1] * bits, feedback]);
    }

    /// A tenth of the time between two samples of all sources together, or of the loop's own time 1 / (k n).
    fn longest_step(&self) -> f64 {
        let messages = if self.per_message { self.p * self.plant.capacity / self.plant.n } else { 1.0 };
        let gain = (self.plant.n * self.increase).max(self.plant.capacity * self.decrease) * messages;
        let samples = self.p * self.plant.capacity;
        0.1 / samples.max(gain * self.w / samples)
    }
}
