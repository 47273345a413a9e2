//! Circles of known fabrics, by hand and as published.

use super::*;

fn scenario(topology: &str, traffic: &str) -> Scenario {
    let text = format!(
        r#"title = "Fabric"
duration = "1 ms"
{topology}
[switch]
input_memory = "200 KB"
[pause]
kind = "priority"
priorities = "3"
{traffic}
[scheme]
name = "none"
"#
    );
    Scenario::parse(&text, "fabric.toml").unwrap_or_else(|error| panic!("{error}"))
}

const ANY: &str = r#"
[[traffic]]
kind = "saturated"
from = "host1"
to = "host2"
frame = "1500 B"
priority = 3
"#;

fn leaf_spine(leaves: u32, spines: u32) -> String {
    format!(
        "[topology]\nkind = \"leaf_spine\"\nleaves = {leaves}\nspines = {spines}\nhosts = 1\nrate = \"10 Gb/s\"\n\
         delay = \"1 us\"\ntrunk_rate = \"10 Gb/s\"\ntrunk_delay = \"1 us\""
    )
}

fn fat_tree(k: u32) -> String {
    format!(
        "[topology]\nkind = \"fat_tree\"\nk = {k}\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\ntrunk_rate = \"10 Gb/s\"\n\
         trunk_delay = \"1 us\""
    )
}

fn report(scenario: &Scenario, question: DeadlockQuestion) -> DeadlockReport {
    scenario.deadlock(question, || true).expect("it goes on")
}

/// (checked, circular) by number of failed links.
fn counts(topology: &str, failures: u32, bounce: bool) -> Vec<(u32, u32)> {
    let question = DeadlockQuestion { failures, all_pairs: true, bounce, ..DeadlockQuestion::default() };
    let report = report(&scenario(topology, ANY), question);
    report.counts.iter().map(|count| (count.checked, count.circular)).collect()
}

#[test]
fn a_leaf_spine_has_the_known_circles() {
    assert_eq!(counts(&leaf_spine(4, 2), 2, false), [(1, 0), (8, 0), (28, 12)]);
    assert_eq!(counts(&leaf_spine(3, 2), 2, false), [(1, 0), (6, 0), (15, 0)]);
}

#[test]
fn bounces_close_more_circles() {
    assert_eq!(counts(&leaf_spine(4, 2), 2, true), [(1, 0), (8, 0), (28, 16)]);
    assert_eq!(counts(&leaf_spine(3, 2), 2, true), [(1, 0), (6, 0), (15, 3)]);
}

#[test]
fn a_fat_tree_has_the_known_circles() {
    assert_eq!(counts(&fat_tree(4), 2, false), [(1, 0), (32, 0), (496, 56)]);
}
