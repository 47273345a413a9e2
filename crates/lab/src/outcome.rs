//! What a scenario's replications gave, and their summary.

use crate::metrics::{CollectiveRun, METRICS};
use crate::replication::Replication;
use qcnlab_scenario::Scenario;
use qcnlab_sim::{Counters, Ending, Finished};
use serde_json::{Map, Value, json};

/// What one scenario gave.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario.
    pub scenario: Scenario,
    /// The seed it ran with.
    pub seed: u64,
    /// One entry for each replication, in order.
    pub replications: Vec<Replication>,
}

/// Counters of a run without packets.
const COUNTED_OF_FLOWS: &[&str] = &["events", "frames_sent", "frames_delivered"];

impl Outcome {
    /// Whether it comes from runs without packets.
    pub fn flow_level(&self) -> bool {
        self.replications.iter().any(|run| run.flow_level)
    }

    /// CPU seconds the engine took, over all replications.
    pub fn cpu_s(&self) -> f64 {
        self.replications.iter().map(|r| r.cpu_s).sum()
    }

    /// Metrics and totals as JSON: the same in every run of the same scenario and seed, but for `cpu_s`.
    pub fn summary_json(&self) -> String {
        let mut by_name = Map::new();
        for (index, metric) in METRICS.iter().enumerate() {
            let values: Vec<Option<f64>> = self.replications.iter().map(|r| r.metrics[index]).collect();
            let mut known: Vec<f64> = values.iter().copied().flatten().collect();
            known.sort_unstable_by(f64::total_cmp);
            by_name.insert(
                metric.name.to_owned(),
                json!({
                    "unit": metric.unit,
                    "median": median(&known),
                    "min": known.first(),
                    "max": known.last(),
                    "values": values,
                }),
            );
        }
        let total = |of: fn(&Counters) -> u64| -> u64 { self.replications.iter().map(|r| of(&r.done.counters)).sum() };
        let first = self.replications.first().map(|replication| &replication.fabric);
        let mut summary = json!({
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "hash": self.scenario.hash(),
            "seed": self.seed,
            "replications": self.replications.len(),
            "scheme": self.scenario.scheme.name(),
            "preset": self.scenario.scheme.preset(),
            "flows": first.map(|fabric| fabric.flow_names.len()),
            "ends": self.replications.iter().map(|replication| end_json(&replication.done)).collect::<Value>(),
            "bottleneck": first.map(|fabric| fabric.bottleneck_json()),
            "metrics": Value::Object(by_name),
            "counters": {
                "frame_hops": total(|c| c.frame_hops),
                "events": total(|c| c.events),
                "frames_sent": total(|c| c.frames_sent),
                "frames_delivered": total(|c| c.frames_delivered),
                "frames_dropped": total(|c| c.frames_dropped),
                "frames_refused": total(|c| c.frames_refused),
                "pause_frames": total(|c| c.pause_frames),
                "storm_frames": total(|c| c.storm_frames),
                "watchdog_drops": total(|c| c.watchdog_drops),
                "link_drops": total(|c| c.link_drops),
                "packets_trimmed": total(|c| c.packets_trimmed),
                "messages_sent": total(|c| c.messages_sent),
                "messages_heard": total(|c| c.messages_heard),
                "messages_ignored": total(|c| c.messages_ignored),
                "messages_lost": total(|c| c.messages_lost),
            },
            "cpu_s": self.cpu_s(),
        });
        if self.flow_level() {
            summary["flow_level"] = true.into();
            let counters = summary["counters"].as_object_mut().into_iter().flatten();
            counters
                .filter(|(name, _)| !COUNTED_OF_FLOWS.contains(&&***name))
                .for_each(|(_, value)| *value = Value::Null);
        }
        let collectives = self.collectives_json();
        if !collectives.is_empty() {
            summary["collectives"] = collectives.into();
        }
        format!("{summary:#}\n")
    }
}

impl Outcome {
    /// How long each collective operation of each replication took, and why.
    fn collectives_json(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for (number, replication) in self.replications.iter().enumerate() {
            for run in CollectiveRun::all(&self.scenario, &replication.fabric, &replication.done) {
                let mut value = match &replication.causes {
                    Some(causes) => run.with_causes(causes).json(),
                    None => run.json(),
                };
                value["replication"] = number.into();
                all.push(value);
            }
        }
        all
    }
}

/// When a run ended and why: `"duration"`, `"drained"` or `"deadlock"`, with its circle of stopped ports, each waiting
/// for the next and the last for the first, and when the last of them was stopped.
fn end_json(done: &Finished) -> Value {
    let end_s = done.end.seconds();
    match &done.ending {
        Ending::Time => json!({ "end_s": end_s, "why": "duration" }),
        Ending::Drained => json!({ "end_s": end_s, "why": "drained" }),
        Ending::Deadlock { circle, closed } => {
            json!({ "end_s": end_s, "why": "deadlock", "circle": circle, "closed_s": closed.seconds() })
        }
    }
}

/// The middle value of sorted numbers; the mean of the two middle ones when their count is even.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper)) }
}
