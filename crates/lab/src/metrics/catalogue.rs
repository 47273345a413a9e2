//! The catalogue of metrics as JSON.

use super::fact::catalogued;
use super::{METRICS, WINDOW_METRICS};
use serde_json::{Value, json};

/// Every metric with its one definition: a list of objects with `name`, `title`, `unit`, `about`, `source` and `facts`, an
/// object of what it is about and where it is shown.
pub fn metrics_json() -> String {
    let list = METRICS.iter().map(|metric| {
        json!({
            "name": metric.name,
            "title": metric.title,
            "unit": metric.unit,
            "about": metric.about,
            "source": metric.source,
            "facts": catalogued(metric.facts),
        })
    });
    list.collect::<Value>().to_string()
}

/// Every metric that exists over a given window only: a list of objects with `name`, `unit`, `limit` (the unit of the
/// limit that it takes, or "") and `about`.
pub fn window_metrics_json() -> String {
    let list = WINDOW_METRICS.iter().map(
        |metric| json!({ "name": metric.name, "unit": metric.unit, "limit": metric.limit, "about": metric.about }),
    );
    list.collect::<Value>().to_string()
}
