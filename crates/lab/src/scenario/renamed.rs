//! Keys that once had another name. Such a key is refused, and the message says what it is called now.

/// Each with its table as messages name it, the old name and the new one.
const RENAMED: &[(&str, &str, &str)] =
    &[("[scheme.cp]", "severe_at", "full_scale_threshold"), ("[scheme.cp]", "stop_at", "stop_threshold")];

/// Returns what the key `old` of `table` is called now, if the table, whose keys are `known`, has it under a new name.
pub(super) fn renamed(table: &str, old: &str, known: &[&'static str]) -> Option<&'static str> {
    let entry = RENAMED.iter().find(|entry| (entry.0, entry.1) == (table, old) && known.contains(&entry.2));
    entry.map(|entry| entry.2)
}
