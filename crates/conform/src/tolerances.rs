//! What a verdict forgives, each with its reason.

use qcnlab_units::{BitRate, Bytes, Span};

/// How exactly a capture tells what a device did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// How far a stamp may be off, beside its resolution. Stamps of hardware have steps of some nanoseconds, and a
    /// frame may wait for the preamble of the one before.
    pub stamps: Span,
    /// How far two clocks may drift apart, parts per million. `None`: 100, which Ethernet allows a clock, or 0 for
    /// captures of qcnlab, in which there is one clock.
    pub clock_ppm: Option<f64>,
    /// Octets that a limiter may send before or after their time: a limiter that serves in bursts or ticks. The
    /// law's releases each frame at its time.
    pub pacing: Bytes,
    /// How long a sender may take to act on a CNM. The law acts at once.
    pub reaction: Span,
    /// Full width of the random spread of every cycle; `None` for what the parameters say, where the first cycle
    /// after a cut has none.
    pub jitter: Option<f64>,
    /// Octets by which a queue may differ from the reconstructed one, beside those of frames that arrive or leave
    /// within the tolerance of stamps.
    pub queue: Bytes,
    /// Octets of each frame that the capture does not show and the device counts, such as a FCS of 4. `None`: 4, or 0
    /// for captures of qcnlab, whose frames have none.
    pub uncaptured: Option<Bytes>,
}

impl Tolerances {
    /// The tolerance of clocks for a capture that is ours or not.
    pub(super) fn clock_for(&self, ours: bool) -> f64 {
        self.clock_ppm.unwrap_or(if ours { 0.0 } else { 100.0 })
    }

    /// The octets of a frame that a capture does not show.
    pub(super) fn uncaptured_for(&self, shows_all: bool) -> u64 {
        self.uncaptured.map_or(if shows_all { 0 } else { 4 }, Bytes::get)
    }
}

impl Default for Tolerances {
    fn default() -> Tolerances {
        Tolerances {
            stamps: Span::from_ns(20),
            clock_ppm: None,
            pacing: Bytes::ZERO,
            reaction: Span::ZERO,
            jitter: None,
            queue: Bytes::ZERO,
            uncaptured: None,
        }
    }
}

/// What a capture is judged by, and what it does not say itself.
#[derive(Clone, Debug, PartialEq)]
pub struct ConformOptions {
    /// The scheme, one of QCN's family.
    pub scheme: String,
    /// Its set of parameters.
    pub preset: String,
    /// Changes to it, as a scenario's: `rp.gd=0.01`.
    pub set: Vec<String>,
    /// What is forgiven.
    pub tolerances: Tolerances,
    /// The rate of the link or of the port; `None` for what the capture says.
    pub rate: Option<BitRate>,
    /// The interface, by name or number, beside the sender or behind the congestion point.
    pub interface: Option<String>,
    /// Whether the sender always had a frame to send, so that any frame that is late breaks the law.
    pub backlogged: bool,
    /// Whether no limiter was installed when the capture began.
    pub starts_free: bool,
    /// Time from the end of a frame's transmission to its place in the queue; `None` for what the capture says.
    pub delay: Option<Span>,
    /// Octets that the queue holds, where frames are lost; `None` for no limit.
    pub buffer: Option<Bytes>,
}

impl ConformOptions {
    /// By a preset of QCN in its final form.
    pub fn new(preset: &str) -> ConformOptions {
        ConformOptions {
            scheme: "qcn".to_owned(),
            preset: preset.to_owned(),
            set: Vec::new(),
            tolerances: Tolerances::default(),
            rate: None,
            interface: None,
            backlogged: false,
            starts_free: false,
            delay: None,
            buffer: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is set holds for captures of others and for ours, 0 too.
    #[test]
    fn what_is_set_counts_and_so_does_0() {
        let of = |clock_ppm, uncaptured: Option<u64>| {
            let tolerances = Tolerances { clock_ppm, uncaptured: uncaptured.map(Bytes::new), ..Tolerances::default() };
            [false, true].map(|ours| (tolerances.clock_for(ours), tolerances.uncaptured_for(ours)))
        };
        assert_eq!(of(None, None), [(100.0, 4), (0.0, 0)]);
        assert_eq!(of(Some(0.0), Some(0)), [(0.0, 0); 2]);
        assert_eq!(of(Some(3.5), Some(8)), [(3.5, 8); 2]);
    }
}
