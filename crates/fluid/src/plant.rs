//! The plant: equal sources, one link and one queue, in frames and seconds, with its bounds.
//!
//! The models of ECM, QCN and DCQCN control the same plant. Its parameters stand here once.

use super::parameters::{ABOVE_ZERO, ANY, Parameter, Values, delay, derived, number, switch};

/// Rate of the bottleneck link.
pub(super) const fn capacity(bps: f64) -> Parameter {
    number("capacity_bps", "bit/s", bps, (ABOVE_ZERO, ANY), "capacity C of the bottleneck")
}

/// Upper bound of a source's rate.
pub(super) const LINE_RATE: Parameter =
    derived("line_rate_bps", "bit/s", (ABOVE_ZERO, ANY), "rate a source cannot exceed; capacity_bps when left out");

/// Delay of the feedback loop of QCN and ECM.
pub(super) const fn loop_delay(seconds: f64) -> Parameter {
    delay("delay_s", seconds, "loop delay, source to congestion point and back")
}

/// Length of a frame.
pub(super) const fn frame(bytes: f64) -> Parameter {
    number("frame_bytes", "B", bytes, (ABOVE_ZERO, ANY), "octets of a frame")
}

/// Set point of the queue.
pub(super) const fn set_point(bytes: f64) -> Parameter {
    number("set_point_bytes", "B", bytes, (ABOVE_ZERO, ANY), "queue Qeq the congestion point aims at")
}

/// Weight of the queue's change in the feedback.
pub(super) const fn weight(w: f64) -> Parameter {
    number("w", "", w, (0.0, ANY), "weight of the queue's change in the feedback")
}

/// Lower bound of a source's rate.
pub(super) const fn min_rate(bps: f64) -> Parameter {
    number("min_rate_bps", "bit/s", bps, (0.0, ANY), "rate a source does not fall below")
}

/// Whether feedback has a bound.
pub(super) const CLIP_FEEDBACK: Parameter = switch("clip_feedback", true, "feedback ends at (1 + 2 w) set_point_bytes");

/// Whether the line rate bounds a source.
pub(super) const RATE_CAP: Parameter = switch("rate_cap", true, "the rate is never above line_rate_bps");

/// Whether the queue stays at 0 or above.
pub(super) const CLAMP_QUEUE: Parameter = switch("clamp_queue", true, "the queue is never below 0");

/// Upper bound of the queue.
pub(super) const BUFFER: Parameter =
    derived("buffer_bytes", "B", (ABOVE_ZERO, ANY), "octets the queue cannot exceed; no bound when left out");

/// The plant's parameters; rates in frames per second, lengths in frames, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plant {
    /// Number of sources N.
    pub(super) n: f64,
    /// Capacity C.
    pub(super) capacity: f64,
    /// Upper bound of a source's rate.
    pub(super) line: f64,
    /// Lower bound of a source's rate.
    pub(super) floor: f64,
    /// Feedback delay, s.
    pub(super) delay: f64,
    /// Octets of a frame.
    pub(super) frame: f64,
    /// Whether `line` bounds rates.
    pub(super) rate_cap: bool,
    clamp_queue: bool,
    buffer: f64,
}

impl Plant {
    /// Reads the plant's parameters. `buffer_bytes` is optional in a model's table.
    pub(super) fn read(values: &Values) -> Plant {
        let frame = values.number("frame_bytes");
        let rate = |name: &str| values.number(name) / (8.0 * frame);
        let capacity = rate("capacity_bps");
        let buffer = if values.declares(BUFFER.name) { values.maybe(BUFFER.name) } else { None };
        Plant {
            n: values.number("sources"),
            capacity,
            line: values.maybe("line_rate_bps").map_or(capacity, |line| line / (8.0 * frame)),
            floor: rate("min_rate_bps"),
            delay: values.number("delay_s"),
            frame,
            rate_cap: values.switch("rate_cap"),
            clamp_queue: values.switch("clamp_queue"),
            buffer: buffer.map_or(f64::INFINITY, |bytes| bytes / frame),
        }
    }

    /// Bits of a frame.
    pub(super) fn frame_bits(&self) -> f64 {
        8.0 * self.frame
    }

    /// The capacity's share of one source.
    pub(super) fn share(&self) -> f64 {
        self.capacity / self.n
    }

    /// Slope of a queue that gains `net` frames per second, between its bounds.
    pub(super) fn queue_slope(&self, queue: f64, net: f64) -> f64 {
        match queue {
            queue if self.clamp_queue && queue <= 0.0 => net.max(0.0),
            queue if queue >= self.buffer => net.min(0.0),
            _ => net,
        }
    }

    /// A queue within its bounds.
    pub(super) fn bounded_queue(&self, queue: f64) -> f64 {
        let queue = if self.clamp_queue { queue.max(0.0) } else { queue };
        queue.min(self.buffer)
    }

    /// A source's rate within its bounds.
    pub(super) fn bounded_rate(&self, rate: f64) -> f64 {
        let rate = rate.max(self.floor);
        if self.rate_cap { rate.min(self.line) } else { rate }
    }
}
