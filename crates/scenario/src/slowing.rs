//! Slower scenarios: times longer and rates smaller by one factor, octets as they are.

use super::error::ScenarioError;
use super::types::Scenario;
use qcnlab_units::{BitRate, Span};
use serde_json::Value;

impl Scenario {
    /// Returns the scenario as it is when everything takes `by` times as long: times are longer, rates smaller, octets
    /// and numbers the same. In octets and in parts of its duration such a run is the same, but for the rounding of
    /// rates to whole bits a second.
    ///
    /// # Errors
    /// When a time gets longer than a scenario may have.
    pub fn slowed(&self, by: u32) -> Result<Scenario, ScenarioError> {
        let mut tree: Value =
            serde_json::from_str(&self.to_json()).unwrap_or_else(|_| unreachable!("it was just written"));
        slow(&mut tree, u64::from(by.max(1)));
        Scenario::from_json(&tree.to_string(), &self.name)
    }
}

/// Slows every time and rate of a tree. Text for people has no unit of either, and stays.
fn slow(value: &mut Value, by: u64) {
    match value {
        Value::String(text) => {
            if let Ok(span) = text.parse::<Span>() {
                *text = Span::from_ps(span.ps().saturating_mul(by)).to_string();
            } else if let Ok(rate) = text.parse::<BitRate>()
                && rate > BitRate::ZERO
            {
                *text = BitRate::bps((rate.get() / by).max(1)).to_string();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| slow(item, by)),
        Value::Object(entries) => {
            // A window is in time of the capture.
            let captured = entries.contains_key("time_scale");
            let slowed = |key: &str| !captured || !key.starts_with("window_");
            entries.iter_mut().filter(|(key, _)| slowed(key)).for_each(|(_, entry)| slow(entry, by));
            if let Some(scale) = entries.get_mut("time_scale") {
                *scale = Value::from(scale.as_f64().unwrap_or(1.0) * by as f64);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_longer_rates_smaller_and_octets_the_same() {
        let scenario = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").expect("it is shipped");
        let slowed = scenario.slowed(100).expect("it can work");
        let find = |text: &str| slowed.to_json().contains(text);
        assert!(find(r#""duration":"250 s""#) && find(r#""rtt":"1 ms""#) && find(r#""rate":"100 Mb/s""#));
        // 15 ms, 5 Mb/s and 150 KB of deck 001.
        assert!(find(r#""time_reset":"1.5 s""#) && find(r#""ai_rate":"50 Kb/s""#) && find(r#""byte_reset":"150 KB""#));
        assert_eq!((slowed.name.as_str(), slowed.seed), (scenario.name.as_str(), scenario.seed));
        assert_eq!(scenario.slowed(1).expect("it is the same"), scenario);
    }

    /// A capture that is replayed 2.5 times as slowly is replayed 10 times as slowly; its window is in time of the capture.
    #[test]
    fn what_is_replayed_is_slowed_once_more() {
        let replay = |time_scale, start: &str| {
            serde_json::json!({
                "traffic": [{ "time_scale": time_scale, "window_start": "1 ms", "window_end": "3 ms", "start": start }],
                "window_start": "1 ms",
            })
        };
        let mut tree = replay(2.5, "1 ms");
        slow(&mut tree, 4);
        let mut slowed = replay(10.0, "4 ms");
        slowed["window_start"] = "4 ms".into();
        assert_eq!(tree, slowed);
    }

    #[test]
    fn what_would_take_too_long_is_refused() {
        let scenario = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").expect("it is shipped");
        assert!(scenario.slowed(10_000).is_err(), "2.5 s become 7 hours");
    }
}
