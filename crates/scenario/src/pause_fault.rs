//! Why the keys of `[[pause]]` cannot work.

use qcnlab_units::{BitRate, Bytes, Span};

/// Why pausing cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PauseFault {
    /// There is nothing to take the high watermark from.
    #[error("watermarks need the size of the memory they guard, and '{node}' has none")]
    NoMemory {
        /// The switch or host.
        node: String,
        /// Whether it is a host.
        host: bool,
    },
    /// A host that holds nothing.
    #[error("'{host}' is a host that reads at once what it receives, and never stops its link")]
    Host {
        /// The host.
        host: String,
    },
    /// More is kept for what still comes than there is.
    #[error("the headroom ({headroom}) is not below the {what} ({memory}) of '{node}'")]
    Headroom {
        /// The headroom.
        headroom: Bytes,
        /// "input memory" or "receive buffer".
        what: &'static str,
        /// The memory.
        memory: Bytes,
        /// The switch or host.
        node: String,
        /// The key of the memory.
        raise: &'static str,
    },
    /// It would never stop anybody.
    #[error("the high watermark ({high}) is not below the {what} ({memory}) of '{node}'")]
    High {
        /// The high watermark.
        high: Bytes,
        /// "input memory" or "receive buffer".
        what: &'static str,
        /// The memory.
        memory: Bytes,
        /// The switch or host.
        node: String,
    },
    /// It would stop and go at once.
    #[error("the low watermark ({low}) is not below the high one ({high})")]
    Low {
        /// The low watermark.
        low: Bytes,
        /// The high watermark.
        high: Bytes,
    },
    /// No queue gets as long as that.
    #[error("the threshold ({threshold}) is above the {what} ({buffer}) of '{node}'")]
    Threshold {
        /// The threshold.
        threshold: Bytes,
        /// "output buffer", "input memory" or "receive buffer".
        what: &'static str,
        /// The buffer.
        buffer: Bytes,
        /// The switch or host.
        node: String,
    },
    /// A time a pause frame cannot hold.
    #[error("a pause of {interval} is more than 65535 quanta of 512 bit times at {rate}, which are {most}")]
    Interval {
        /// The time asked for.
        interval: Span,
        /// The rate of the link.
        rate: BitRate,
        /// The longest time.
        most: Span,
    },
    /// A rule for shared buffers where there is none.
    #[error("rule \"dynamic\" needs a shared buffer, and '{node}' has none")]
    NoSharedBuffer {
        /// The switch or host.
        node: String,
    },
    /// A rule for other buffers at a switch with a shared one.
    #[error("'{switch}' has a shared buffer, which has its own thresholds")]
    RuleOfSharedBuffer {
        /// The switch.
        switch: String,
    },
    /// A key of the other rule.
    #[error("'{key}' does not belong to rule \"{rule}\"")]
    OtherRule {
        /// The key.
        key: &'static str,
        /// The rule chosen.
        rule: &'static str,
    },
}

impl PauseFault {
    /// What to write instead.
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            PauseFault::NoMemory { host: true, .. } => {
                "set receive_buffer in [[adapter]], or high in [[pause]]".to_owned()
            }
            PauseFault::NoMemory { .. } => "set input_memory in [[switch]], or high in [[pause]]".to_owned(),
            PauseFault::Host { .. } => "give it a receive_buffer in [[adapter]]".to_owned(),
            PauseFault::Headroom { raise, .. } => format!("raise {raise}, or lower headroom"),
            PauseFault::NoSharedBuffer { .. } => {
                "add [[shared_buffer]], or name in only the switches that have one".to_owned()
            }
            PauseFault::RuleOfSharedBuffer { .. } => "write rule = \"dynamic\"".to_owned(),
            _ => return None,
        })
    }
}
