//! What a run counts for its managed objects, as its folder keeps it.

use crate::outcome::Outcome;
use crate::replication::Replication;
use qcnlab_schemes::SignalKind;
use qcnlab_sim::{LimiterId, PortId};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The counts of one replication: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReplicationCounts {
    pub(super) points: Points,
    pub(super) reaction_points: ReactionPoints,
}

/// Congestion points, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Points {
    pub(super) port: Vec<String>,
    /// Missing at a port without controlled priorities.
    pub(super) priority: Vec<Option<u8>>,
    pub(super) transmitted_frames: Vec<u64>,
    pub(super) discarded_frames: Vec<u64>,
    pub(super) transmitted_cnms: Vec<u64>,
}

/// The reaction points of each port of a host and priority under congestion control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReactionPoints {
    pub(super) port: Vec<String>,
    pub(super) priority: Vec<u8>,
    /// Limiters of its flows.
    pub(super) limiters: Vec<u32>,
    /// Whether a limiter has flows of other priorities, too: the counts are then of all of them.
    pub(super) shared: Vec<bool>,
    pub(super) created_rps: Vec<u64>,
    /// Time that they limited, together, ps.
    pub(super) limited_ps: Vec<u64>,
}

/// The layout that this version writes and reads.
pub(super) const FORMAT: u32 = 1;

impl Outcome {
    /// What the run counted for its managed objects, as JSON: a line for the run's folder. `None` for schemes without
    /// congestion notification messages.
    pub fn managed_json(&self) -> Option<String> {
        if !self.scenario.scheme.hears().contains(&SignalKind::Cnm) {
            return None;
        }
        let replications: Vec<Value> =
            self.replications.iter().map(|run| counts_of_replication(run).to_json()).collect();
        Some(json!({"format": FORMAT, "replications": replications}).to_string())
    }
}

fn counts_of_replication(run: &Replication) -> ReplicationCounts {
    let mut points = Points::default();
    for point in &run.done.points {
        points.port.push(run.fabric.ports[point.port].name.clone());
        points.priority.push(point.class);
        points.transmitted_frames.push(point.transmitted);
        points.discarded_frames.push(point.discarded);
        points.transmitted_cnms.push(point.sent);
    }
    ReplicationCounts { points, reaction_points: reaction_points(run) }
}

fn reaction_points(run: &Replication) -> ReactionPoints {
    let mut limiters_of: BTreeMap<(PortId, u8), Vec<LimiterId>> = BTreeMap::new();
    let mut classes_of: BTreeMap<LimiterId, u8> = BTreeMap::new();
    for (number, flow) in run.fabric.flows.enumerate() {
        if !flow.controlled || !run.fabric.reacts(number) {
            continue;
        }
        *classes_of.entry(flow.limiter).or_default() |= 1 << flow.class;
        limiters_of.entry((flow.paths[0][0], flow.class)).or_default().push(flow.limiter);
    }
    let mut all = ReactionPoints::default();
    for ((port, class), mut limiters) in limiters_of {
        limiters.sort_unstable();
        limiters.dedup();
        let tallies = || limiters.iter().map(|limiter| &run.done.limiters[*limiter]);
        all.port.push(run.fabric.ports[port].name.clone());
        all.priority.push(class);
        all.limiters.push(limiters.len() as u32);
        all.shared.push(limiters.iter().any(|limiter| classes_of[limiter].count_ones() > 1));
        all.created_rps.push(tallies().map(|tally| tally.created).sum());
        all.limited_ps.push(tallies().map(|tally| tally.limited.ps()).sum());
    }
    all
}

impl ReplicationCounts {
    fn to_json(&self) -> Value {
        let ReplicationCounts { points, reaction_points: rps } = self;
        json!({
            "points": {
                "port": points.port,
                "priority": points.priority,
                "transmitted_frames": points.transmitted_frames,
                "discarded_frames": points.discarded_frames,
                "transmitted_cnms": points.transmitted_cnms,
            },
            "reaction_points": {
                "port": rps.port,
                "priority": rps.priority,
                "limiters": rps.limiters,
                "shared": rps.shared,
                "created_rps": rps.created_rps,
                "limited_ps": rps.limited_ps,
            },
        })
    }

    /// Reads the counts of a replication; `None` if something is missing or of another kind.
    pub(super) fn from_json(value: &Value) -> Option<ReplicationCounts> {
        let (points, rps) = (value.get("points")?, value.get("reaction_points")?);
        let points = Points {
            port: column(points, "port", text)?,
            priority: column(
                points,
                "priority",
                |value| if value.is_null() { Some(None) } else { Some(small(value)) },
            )?,
            transmitted_frames: column(points, "transmitted_frames", Value::as_u64)?,
            discarded_frames: column(points, "discarded_frames", Value::as_u64)?,
            transmitted_cnms: column(points, "transmitted_cnms", Value::as_u64)?,
        };
        let rps = ReactionPoints {
            port: column(rps, "port", text)?,
            priority: column(rps, "priority", small)?,
            limiters: column(rps, "limiters", |value| u32::try_from(value.as_u64()?).ok())?,
            shared: column(rps, "shared", Value::as_bool)?,
            created_rps: column(rps, "created_rps", Value::as_u64)?,
            limited_ps: column(rps, "limited_ps", Value::as_u64)?,
        };
        let rows = points.port.len();
        let points_whole = [points.priority.len(), points.transmitted_frames.len(), points.discarded_frames.len()];
        let whole = points_whole.iter().all(|length| *length == rows) && points.transmitted_cnms.len() == rows;
        let rows = rps.port.len();
        let rps_whole = [rps.priority.len(), rps.limiters.len(), rps.shared.len(), rps.created_rps.len()];
        let whole = whole && rps_whole.iter().all(|length| *length == rows) && rps.limited_ps.len() == rows;
        whole.then_some(ReplicationCounts { points, reaction_points: rps })
    }
}

fn column<T>(of: &Value, name: &str, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    of.get(name)?.as_array()?.iter().map(read).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn small(value: &Value) -> Option<u8> {
    u8::try_from(value.as_u64()?).ok().filter(|priority| *priority < 8)
}
