//! What a metric is about and where it is shown: each metric declares it, and nothing lists metrics elsewhere.

use serde_json::{Map, Value, json};

/// What a metric is about, or a place where it is shown unless others are named; a number is its rank there, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A share of a whole: from 0 to 1.
    Share,
    /// A lower bound where this metric, a count, is above 0: it counts what has not come to its end.
    AtLeastIf(&'static str),
    /// The words where a run has no value.
    Never(&'static str),
    /// A run without a hotspot cannot have it.
    OfHotspot,
    /// About the time outside a hotspot; without one `bottleneck_gbps` has it all.
    OutsideHotspot,
    /// Compares mean rates of flows; one that ends has none but its size by its time.
    Rates,
    /// Compares flows with one another.
    Several,
    /// Of one port, the bottleneck, or of the flows that cross it.
    OnePort,
    /// Says nothing of a run where it is 0 in all replications.
    SilentAtZero,
    /// The same where runs stand side by side.
    SilentAtZeroBeside,
    /// Comes first where flows end; a run without packets has these alone.
    Ending(u8),
    /// Shown by `compare`.
    Compared(u8),
    /// Shown by a sweep.
    Swept(u8),
    /// Drawn by a sweep: the first that its runs have.
    Drawn(u8),
    /// Told of the settings that `advise` chooses.
    Advised(u8),
    /// Shown beside a live run.
    Live(u8),
    /// Shown in the laboratory's page.
    Page,
}

use Fact::*;

impl Fact {
    /// Its word in the catalogue, and its rank, where it has one.
    fn word(self) -> (&'static str, Option<u8>) {
        match self {
            Share => ("share", None),
            AtLeastIf(_) => ("at_least_if", None),
            Never(_) => ("never", None),
            OfHotspot => ("of_hotspot", None),
            OutsideHotspot => ("outside_hotspot", None),
            Rates => ("rates", None),
            Several => ("several", None),
            OnePort => ("one_port", None),
            SilentAtZero => ("silent_at_zero", None),
            SilentAtZeroBeside => ("silent_at_zero_beside", None),
            Ending(rank) => ("ending", Some(rank)),
            Compared(rank) => ("compared", Some(rank)),
            Swept(rank) => ("swept", Some(rank)),
            Drawn(rank) => ("drawn", Some(rank)),
            Advised(rank) => ("advised", Some(rank)),
            Live(rank) => ("live", Some(rank)),
            Page => ("page", None),
        }
    }
}

/// Facts as an object for the catalogue: a rank, a text or `true` by each fact's word.
pub(super) fn catalogued(facts: &[Fact]) -> Value {
    let entry = |fact: &Fact| {
        let (word, rank) = fact.word();
        let value = match (fact, rank) {
            (AtLeastIf(text) | Never(text), _) => json!(text),
            (_, Some(rank)) => json!(rank),
            _ => json!(true),
        };
        (word.to_owned(), value)
    };
    Value::Object(facts.iter().map(entry).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::METRICS;
    use std::collections::BTreeMap;

    /// Two metrics of one rank would stand in the order of their names, and a gap is one that was forgotten.
    #[test]
    fn ranks_of_a_place_count_from_one() {
        let mut ranks: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for (word, rank) in METRICS.iter().flat_map(|metric| metric.facts).map(|fact| fact.word()) {
            ranks.entry(word).or_default().extend(rank);
        }
        for (word, mut ranks) in ranks {
            ranks.sort_unstable();
            assert!(ranks.iter().zip(1..).all(|(rank, number)| *rank == number), "{word}: {ranks:?}");
        }
    }

    #[test]
    fn a_lower_bound_names_a_metric() {
        for metric in METRICS {
            for fact in metric.facts {
                let AtLeastIf(count) = fact else { continue };
                assert!(METRICS.iter().any(|other| other.name == *count), "{}: {count}", metric.name);
            }
        }
    }
}
