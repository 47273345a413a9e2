//! Keys and kinds that once had another name. Such a key is refused, and the message says what it is called now.

use super::document::{Content, DocumentEntry};
use super::position::Position;
use qcnlab_schemes::params::Scalar;

/// Each with its table as messages name it, the old name and the new one.
const RENAMED: &[(&str, &str, &str)] =
    &[("[scheme.cp]", "severe_at", "full_scale_threshold"), ("[scheme.cp]", "stop_at", "stop_threshold")];

/// Returns what the key `old` of `table` is called now, if the table, whose keys are `known`, has it under a new name.
pub(super) fn renamed(table: &str, old: &str, known: &[&'static str]) -> Option<&'static str> {
    let entry = RENAMED.iter().find(|entry| (entry.0, entry.1) == (table, old) && known.contains(&entry.2));
    entry.map(|entry| entry.2)
}

/// The kinds that traffic once had, with the arrivals and the transport that stand for each.
const FORMER_TRAFFIC: [(&str, &str, &str); 17] = [
    ("saturated", "saturated", "none"),
    ("constant", "constant", "none"),
    ("poisson", "poisson", "none"),
    ("on_off", "on_off", "none"),
    ("flows", "flows", "none"),
    ("incast", "incast", "none"),
    ("list", "list", "none"),
    ("capture", "capture", "none"),
    ("tcp", "saturated", "tcp"),
    ("tcp_flows", "flows", "tcp"),
    ("tcp_incast", "incast", "tcp"),
    ("tcp_list", "list", "tcp"),
    ("roce", "saturated", "roce"),
    ("roce_flows", "flows", "roce"),
    ("roce_incast", "incast", "roce"),
    ("roce_list", "list", "roce"),
    ("collective", "collective", "roce"),
];

/// Returns the key `kind` of a table that no longer has one, and what to write instead.
pub(super) fn former_kind<'a>(section: &str, table: &'a [DocumentEntry]) -> Option<(&'a DocumentEntry, String)> {
    let entry = table.iter().find(|entry| section == "traffic" && entry.key == "kind")?;
    let word = match &entry.node.content {
        Content::Scalar(Scalar::Text(word)) => word,
        _ => "",
    };
    let Some((_, arrivals, transport)) = FORMER_TRAFFIC.iter().find(|former| former.0 == word) else {
        return Some((
            entry,
            "arrivals and transport; `qcnlab list arrivals` and `transports` have the words".to_owned(),
        ));
    };
    let by_override = matches!(entry.position, Position::Override(_));
    let written = |key: &str, word: &str| match by_override {
        true => format!("traffic.{key}={word}"),
        false => format!("{key} = \"{word}\""),
    };
    let now = match *transport {
        "none" => written("arrivals", arrivals),
        _ => format!("{} and {}", written("arrivals", arrivals), written("transport", transport)),
    };
    Some((entry, now))
}

#[cfg(test)]
mod tests {
    use super::FORMER_TRAFFIC;
    use crate::arrivals::carried_by;

    /// What a message says to write instead can be read.
    #[test]
    fn former_kinds_have_successors() {
        for (former, arrivals, transport) in FORMER_TRAFFIC {
            assert!(carried_by(arrivals).contains(&transport), "{former}");
        }
    }
}
