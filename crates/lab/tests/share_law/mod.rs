//! The law that no share of a whole is above 1, or below 0.

use qcnlab_lab::{METRICS, Outcome};

/// Returns a metric of each replication.
pub(crate) fn values(outcome: &Outcome, name: &str) -> Vec<Option<f64>> {
    let index = METRICS.iter().position(|metric| metric.name == name).unwrap_or_else(|| panic!("no metric {name}"));
    outcome.replications.iter().map(|replication| replication.metrics[index]).collect()
}

/// Returns in words what lies outside 0 to 1 and the slack. Bins count frames where they end: one more than the link carries
/// in it may fall into a window.
pub(crate) fn wrong(what: &str, outcome: &Outcome, slack: f64) -> Vec<String> {
    let shares = METRICS.iter().filter(|metric| metric.is_share()).map(|metric| metric.name);
    let all = shares.flat_map(|name| values(outcome, name).into_iter().flatten().map(move |value| (name, value)));
    let bad = all.filter(|(_, value)| !(0.0..=1.0 + slack).contains(value));
    bad.map(|(name, value)| format!("{what}: {name} is {value}")).collect()
}
