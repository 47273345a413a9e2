//! Why a scenario has no single bottleneck.

use qcnlab_network::fairness::FairnessError;
use qcnlab_scenario::ScenarioError;
use qcnlab_units::Span;
use std::fmt;

/// The rate that flows offer to a port, and its service rate.
#[derive(Clone, Debug, PartialEq)]
pub struct PortLoad {
    /// The port, written from->to.
    pub port: String,
    /// Rate that the flows which cross it offer together, as far as their hosts' links carry it, bit/s.
    pub offered_bps: f64,
    /// Service rate, bit/s.
    pub rate_bps: f64,
}

impl PortLoad {
    /// The offered rate over the service rate.
    pub(super) fn relative(&self) -> f64 {
        self.offered_bps / self.rate_bps
    }

    fn offer(&self) -> String {
        format!("offered {} of {} Gb/s", gbps(self.offered_bps), gbps(self.rate_bps))
    }
}

impl fmt::Display for PortLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.port, self.offer())
    }
}

/// A rate in Gb/s with up to four digits after the point.
fn gbps(bps: f64) -> String {
    let text = format!("{:.4}", bps / 1e9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Why a scenario has no single bottleneck.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoBottleneck {
    /// No queue grows.
    #[error("nothing is congested{}; send more, or slow a port by a [[hotspot]]", fullest.as_ref().map_or_else(
        String::new, |load| format!(": {}, the fullest port, is {}", load.port, load.offer())
    ))]
    Nothing {
        /// The port with the highest offered rate relative to its service rate, in any phase; `None` if no flow crosses a switch.
        fullest: Option<PortLoad>,
    },
    /// Several ports are congested at once.
    #[error(
        "{} ports are congested from {from} to {until}: {}; keep one, by more rate or less traffic at the others",
        loads.len(), listed(loads)
    )]
    Several {
        /// The ports.
        loads: Vec<PortLoad>,
        /// Beginning of the phase.
        from: Span,
        /// Its end.
        until: Span,
    },
    /// One port is congested after another.
    #[error(
        "the bottleneck moves: from {} to {} {}, from {} to {} {}; shorten the run, or take a hotspot out",
        first.1, first.2, first.0, then.1, then.2, then.0
    )]
    Moves {
        /// The first port, with beginning and end of the phase.
        first: (PortLoad, Span, Span),
        /// The next one.
        then: (PortLoad, Span, Span),
    },
    /// Flows have an end.
    #[error(
        "flows of traffic.{traffic} (arrivals {arrivals}) have an end, so their number changes all the time; \
         give traffic that goes on, such as arrivals saturated without size"
    )]
    Ends {
        /// The entry of traffic, from 0.
        traffic: usize,
        /// Its arrivals.
        arrivals: &'static str,
    },
    /// A flow starts or stops in the middle of a phase.
    #[error(
        "the number of sources changes: {flow} sends from {start} to {stop} of the time from {from} to {until}; \
         let it send all the time, or move warmup and duration"
    )]
    Changes {
        /// The flow.
        flow: String,
        /// When it starts in the phase.
        start: Span,
        /// When it stops in the phase.
        stop: Span,
        /// Beginning of the phase.
        from: Span,
        /// Its end.
        until: Span,
    },
    /// Flows that no reaction point slows fill a port by themselves.
    #[error("{load}, and what no reaction point slows fills it alone; set controlled = true, or send less of it")]
    Overloaded {
        /// The port.
        load: PortLoad,
    },
    /// The congested port sends no messages.
    #[error("{load}, and has no congestion point; give it one, or move the bottleneck to a switch that has")]
    NoCongestionPoint {
        /// The port.
        load: PortLoad,
    },
    /// Flows of several classes meet, each class with a queue of its own.
    #[error(
        "flows of classes {} meet at {port}, each class in a queue of its own; give them one priority",
        words(classes)
    )]
    Classes {
        /// The port.
        port: String,
        /// The classes.
        classes: Vec<u8>,
    },
    /// A flow sends only a part of its frames over the port.
    #[error("{flow} sends only a part of its frames over {port}; route by flow (routing.multipath = \"flow\")")]
    Split {
        /// The flow.
        flow: String,
        /// The port.
        port: String,
    },
    /// A limiter of the sources holds another flow, too.
    #[error("{flow} shares a limiter with flows held back at {port}; raise adapter.max_rps")]
    SharedLimiter {
        /// The other flow.
        flow: String,
        /// The port.
        port: String,
    },
    /// Shares cannot be worked out.
    #[error("shares cannot be worked out: {0}")]
    Unfair(#[from] FairnessError),
    /// Flows drawn at random give something that cannot work.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Ports named in one message.
const NAMED: usize = 4;

fn listed(loads: &[PortLoad]) -> String {
    let named: Vec<String> = loads.iter().take(NAMED).map(PortLoad::to_string).collect();
    let more = loads.len().saturating_sub(NAMED);
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}

fn words(classes: &[u8]) -> String {
    classes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
}
