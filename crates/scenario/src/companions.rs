//! Keys that go with some values of another key of their table, and are refused beside its other values.

use qcnlab_schemes::params::{Param, Value};

/// A key, and the values of another key of its table that it goes with.
pub(crate) struct Companion {
    /// The table.
    pub(crate) section: &'static str,
    /// The key.
    pub(crate) key: &'static str,
    /// The other key.
    pub(crate) with: &'static str,
    /// Its values beside which the key may be set.
    pub(crate) values: &'static [&'static str],
    /// Whether the key must be set there.
    pub(crate) needed: bool,
    /// A third key, and the value of it beside which nothing of this counts.
    pub(crate) off: Option<(&'static str, &'static str)>,
}

const fn pause(key: &'static str, values: &'static [&'static str], needed: bool) -> Companion {
    Companion { section: "pause", key, with: "rule", values, needed, off: Some(("kind", "none")) }
}

const fn other(
    section: &'static str,
    key: &'static str,
    with: &'static str,
    values: &'static [&'static str],
) -> Companion {
    Companion { section, key, with, values, needed: false, off: None }
}

/// All of them, for the checks and for the schema.
pub(crate) const COMPANIONS: [Companion; 18] = [
    pause("high", &["watermarks"], false),
    pause("low", &["watermarks"], false),
    pause("headroom", &["watermarks"], false),
    pause("threshold", &["threshold"], true),
    pause("stops", &["threshold", "dynamic"], false),
    other("routing", "reps_freeze", "multipath", &["reps"]),
    other("routing", "reps_explore", "multipath", &["reps"]),
    other("routing", "drill_samples", "multipath", &["drill"]),
    other("routing", "drill_memory", "multipath", &["drill"]),
    other("routing", "queue_pairs", "multipath", &["flow", "switch"]),
    other("traffic", "max_rate", "transport", &["none"]),
    other("traffic", "congestion_avoidance", "flavour", &["reno", "newreno"]),
    other("traffic", "bic_step", "flavour", &["bic"]),
    other("traffic", "bic_probing", "flavour", &["bic"]),
    other("traffic", "reordering_threshold", "recovery", &["selective_repeat"]),
    other("traffic", "reordering_window", "recovery", &["selective_repeat"]),
    other("traffic", "reorder_buffer", "recovery", &["go_back_n"]),
    other("traffic", "reorder_wait", "recovery", &["go_back_n"]),
];

/// Returns the first of the keys that is set and does not go with `value`; `set` says of each whether it is.
pub(super) fn stray(section: &str, value: &str, set: &[(&'static str, bool)]) -> Option<&'static str> {
    let goes = |key: &str| {
        let mut own = COMPANIONS.iter().filter(|companion| companion.section == section && companion.key == key);
        own.all(|companion| companion.values.contains(&value))
    };
    set.iter().find(|(key, set)| *set && !goes(key)).map(|(key, _)| *key)
}

/// The word of a choice in files.
pub(super) fn word(choice: &impl Param) -> String {
    match choice.to_value() {
        Some(Value::Text(word)) => word,
        other => unreachable!("{other:?} is no word"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::SECTIONS;
    use qcnlab_schemes::params::Kind;

    /// Each key is one of its table, and so is each value of the other key.
    #[test]
    fn companions_name_what_there_is() {
        for Companion { section, key, with, values, off, .. } in COMPANIONS {
            let section = SECTIONS.iter().find(|known| known.name == section).expect(section);
            let fields = || section.all_fields();
            assert!(fields().any(|field| field.name == key), "{key}");
            let off = off.as_ref().map(|(key, word)| (*key, std::slice::from_ref(word)));
            for (name, words) in [(with, values)].into_iter().chain(off) {
                let own = fields().find(|field| field.name == name).map(|field| match field.kind {
                    Kind::Choice(choices) => choices,
                    _ => panic!("{name} is no choice"),
                });
                let of_kinds = || section.kinds.iter().find(|key| key.key == name).map(|key| key.choices);
                let choices = own.or_else(of_kinds).expect(name);
                assert!(words.iter().all(|word| choices.iter().any(|choice| choice.name == *word)), "{name}");
            }
        }
    }

    #[test]
    fn the_first_stray_key_is_told() {
        let set = [("high", false), ("headroom", true), ("threshold", true)];
        assert_eq!(stray("pause", "dynamic", &set), Some("headroom"));
        assert_eq!(stray("pause", "watermarks", &set), Some("threshold"));
        assert_eq!(stray("pause", "watermarks", &set[..2]), None);
        assert_eq!(
            stray("traffic", "newreno", &[("congestion_avoidance", true), ("bic_step", true)]),
            Some("bic_step")
        );
    }
}
