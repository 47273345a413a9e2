//! What a network shows of itself while it stands: counters that loops write and anybody may read.

use crate::layout::Layout;
use qcnlab_sim::{LimiterId, Plan, PortId};
use qcnlab_units::IdVec;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often loops write, ps.
pub(crate) const EVERY: u64 = 100_000_000_000;

/// A number that one thread writes and others read.
#[derive(Debug, Default)]
pub(crate) struct Shown(AtomicU64);

impl Shown {
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A port of a switch.
#[derive(Debug, Default)]
pub(crate) struct PortView {
    /// Octets in its queues.
    pub(crate) queue: Shown,
    /// Octets that it has sent.
    pub(crate) sent: Shown,
    /// Frames that it has dropped.
    pub(crate) dropped: Shown,
    /// Rate at which it serves, bit/s.
    pub(crate) rate: Shown,
    /// Signals that its congestion points have sent.
    pub(crate) signals: Shown,
}

/// A rate limiter of a host.
#[derive(Debug, Default)]
pub(crate) struct LimiterView {
    /// Its current rate, bit/s.
    pub(crate) rate: Shown,
    /// Octets that wait for it.
    pub(crate) waiting: Shown,
    /// Signals that it has heard.
    pub(crate) heard: Shown,
}

/// A network that stands.
#[derive(Debug)]
pub struct View {
    /// For each way of the layout; of those that leave hosts nothing is shown.
    pub(crate) ports: IdVec<PortId, PortView>,
    pub(crate) limiters: IdVec<LimiterId, LimiterView>,
    port_names: IdVec<PortId, Option<String>>,
    limiter_names: IdVec<LimiterId, String>,
    /// Since the start, ps.
    pub(crate) at: Shown,
}

impl View {
    pub(crate) fn new(plan: &Plan, layout: &Layout) -> View {
        let name = |way: &crate::layout::Way| (!layout.is_host(way.from)).then(|| way.name.clone());
        let mut limiter_names: IdVec<LimiterId, String> = IdVec::new();
        for (flow, ends) in plan.flows.iter().zip(&layout.flows) {
            let host = &plan.nodes[ends.source].name;
            let of = limiter_names.get_or_grow(flow.limiter);
            if of.is_empty() {
                *of = format!("{host}, RPID {}", ends.rpid);
            }
        }
        View {
            ports: layout.ways.iter().map(|_| PortView::default()).collect(),
            limiters: limiter_names.iter().map(|_| LimiterView::default()).collect(),
            port_names: layout.ways.iter().map(name).collect(),
            limiter_names,
            at: Shown::default(),
        }
    }

    /// Whether loops run, and what is shown is so.
    pub fn has_begun(&self) -> bool {
        self.at.get() > 0
    }

    /// What is shown now: `time_s`, and for each port and limiter its name and numbers. Octets and frames are counted
    /// from the start, rates in bit/s.
    pub fn to_json(&self) -> Value {
        let port = |(name, port): (&Option<String>, &PortView)| {
            let name = name.as_ref()?;
            Some(json!({
                "port": name,
                "queue_bytes": port.queue.get(),
                "sent_bytes": port.sent.get(),
                "dropped_frames": port.dropped.get(),
                "service_rate_bps": port.rate.get(),
                "signals_sent": port.signals.get(),
            }))
        };
        let limiter = |(name, limiter): (&String, &LimiterView)| {
            json!({
                "limiter": name,
                "current_rate_bps": limiter.rate.get(),
                "waiting_bytes": limiter.waiting.get(),
                "signals_heard": limiter.heard.get(),
            })
        };
        json!({
            "time_s": self.at.get() as f64 * 1e-12,
            "ports": self.port_names.iter().zip(&self.ports).filter_map(port).collect::<Vec<_>>(),
            "limiters": self.limiter_names.iter().zip(&self.limiters).map(limiter).collect::<Vec<_>>(),
        })
    }
}
