//! The digest of every table of every shipped scenario: one line a table, with its rows and a digest of each column.
//!
//! `digests.txt` holds the lines as they were accepted, over one replication. A difference means "changed", never
//! "wrong" or "right"; a line that may change needs an entry under **Changed results** in CHANGELOG.md.

mod share_law;

use qcnlab_lab::{Control, Options, Outcome, run};
use qcnlab_scenario::{Scenario, Shipped, shipped};
use share_law::{values, wrong};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs};

/// The scenarios that take longest: they are left to `make test-all`.
const COSTLY: [&str; 9] = [
    "og-11-nodes-uniform-150kb-rtt5us",
    "og-11-nodes-uniform-pause-1500kb-rtt5us",
    "chain-20-stages-150kb-rtt2us",
    "chain-20-stages-pause-1500kb-rtt2us",
    "leaf-spine-64-web-search-and-incast-100g",
    "one-source-two-switches-nic-feedback-10g-to-1g",
    "one-source-two-switches-nic-feedback-10g-to-500m",
    "tcp-9-senders-qcn-and-pause-rtt25us",
    "tcp-9-senders-pause-rtt250us",
];

/// Shipped scenarios and what came of each.
type Outcomes = Vec<(Shipped, Outcome)>;

/// The shipped scenarios that are costly, or the others, run once for all tests.
static QUICK: LazyLock<Outcomes> = LazyLock::new(|| outcomes(|each| !COSTLY.contains(&each.name)));
static LONG: LazyLock<Outcomes> = LazyLock::new(|| outcomes(|each| COSTLY.contains(&each.name)));

fn outcomes(wanted: impl Fn(&Shipped) -> bool) -> Outcomes {
    let all: Vec<Shipped> = shipped().into_iter().filter(|each| wanted(each)).collect();
    let scenarios: Vec<Scenario> = all.iter().map(|each| each.scenario().unwrap()).collect();
    let options = Options { replications: Some(1), ..Options::default() };
    all.into_iter().zip(run(&scenarios, &options, &Control::default()).unwrap()).collect()
}

/// A column as [`Outcome::digests`] tells it.
struct Column<'a> {
    table: &'a str,
    rows: &'a str,
    digest: &'a str,
    line: &'a str,
}

/// The columns of each table, in order; one without a digest stands for a table without rows.
fn columns(digests: &str) -> Vec<Column<'_>> {
    let column = |line| {
        let mut words = str::split_whitespace(line);
        let name = words.next().unwrap();
        let (rows, digest) = (words.next().unwrap(), words.nth(1).unwrap_or_default());
        Column { table: name.split('.').next().unwrap(), rows, digest, line }
    };
    digests.lines().map(column).collect()
}

fn line(table: &[Column<'_>]) -> String {
    let digests: Vec<&str> = table.iter().map(|column| column.digest).collect();
    format!("  {} {} rows {}", table[0].table, table[0].rows, digests.join(" ")).trim_end().to_owned()
}

/// The lines of each scenario by its heading, `folder/name`.
fn by_scenario(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut all = BTreeMap::new();
    let mut lines = text.lines().peekable();
    while let Some(heading) = lines.next() {
        let own = std::iter::from_fn(|| lines.next_if(|line| line.starts_with(' '))).collect();
        all.insert(heading, own);
    }
    all
}

fn accepted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.txt")
}

fn heading(each: &Shipped) -> String {
    format!("{}/{}", each.folder, each.name)
}

/// Writes the digests of all scenarios, in the order in which they are shipped.
fn bless() {
    let now: BTreeMap<&str, &Outcome> =
        QUICK.iter().chain(&*LONG).map(|(each, outcome)| (each.name, outcome)).collect();
    let mut text = String::new();
    for each in shipped() {
        let digests = now[each.name].digests();
        text.push_str(&heading(&each));
        columns(&digests).chunk_by(|a, b| a.table == b.table).for_each(|table| text += &format!("\n{}", line(table)));
        text.push('\n');
    }
    fs::write(accepted(), text).unwrap();
}

/// What has changed of a table: the columns whose digests are others, as they are now.
fn changes(was: &str, table: &[Column<'_>]) -> Vec<String> {
    let before: Vec<&str> = was.split_whitespace().skip(3).collect();
    let known = before.len() == table.len();
    let other = |(number, column): &(usize, &Column<'_>)| !known || before[*number] != column.digest;
    let told = |(number, column): (usize, &Column<'_>)| {
        format!("was {}, now{}", before.get(number).unwrap_or(&"nothing"), column.line)
    };
    table.iter().enumerate().filter(other).map(told).collect()
}

/// Compares the digests of some scenarios with those that were accepted.
fn compare(outcomes: &Outcomes) {
    let text = fs::read_to_string(accepted()).unwrap_or_default();
    let known = by_scenario(&text);
    let mut changed = Vec::new();
    for (each, outcome) in outcomes {
        let heading = heading(each);
        let mut left = known.get(&*heading).cloned().unwrap_or_default();
        let digests = outcome.digests();
        for table in columns(&digests).chunk_by(|a, b| a.table == b.table) {
            let of_table = |was: &&str| was.split_whitespace().next() == Some(table[0].table);
            let was = left.iter().position(of_table).map_or("", |at| left.remove(at));
            if was != line(table) {
                changed.extend(changes(was, table).into_iter().map(|told| format!("{heading}: {told}")));
            }
        }
        changed.extend(left.iter().map(|was| format!("{heading}: gone: {was}")));
    }
    assert!(
        changed.is_empty(),
        "{} columns have changed; if they may, accept them with\n  QCNLAB_BLESS=1 cargo test --release -p qcnlab-lab \
         --test digests\n{}",
        changed.len(),
        changed.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// By hand: the second of two columns, a column more, and a table that was not there.
#[test]
fn a_change_is_told_by_its_column() {
    let now = columns("  a.x  2 rows  11\n  a.y  2 rows  22\n");
    let lines = |was: &str| changes(was, &now);
    assert_eq!(line(&now), "  a 2 rows 11 22");
    assert_eq!(lines("  a 2 rows 11 21"), ["was 21, now  a.y  2 rows  22"]);
    assert_eq!(lines("  a 2 rows 11"), ["was 11, now  a.x  2 rows  11", "was nothing, now  a.y  2 rows  22"]);
    assert_eq!(lines("").len(), 2);
    assert_eq!(line(&columns("  a    0 rows\n")), "  a 0 rows");
}

#[test]
fn every_table_is_as_accepted() {
    if env::var_os("QCNLAB_BLESS").is_some() {
        bless();
    }
    compare(&QUICK);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn every_table_of_the_costly_scenarios_is_as_accepted() {
    compare(&LONG);
}

/// The file has each shipped scenario, in their order, and no other; what is called costly is shipped.
#[test]
fn every_scenario_has_its_lines() {
    let text = fs::read_to_string(accepted()).unwrap();
    let headings: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(headings, shipped().iter().map(heading).collect::<Vec<_>>());
    assert!(by_scenario(&text).values().all(|lines| lines.len() >= 5));
    assert!(COSTLY.iter().all(|name| shipped().iter().any(|each| each.name == *name)));
}

fn have_shares_up_to_1(outcomes: &Outcomes, known_at_least: usize) {
    let faults: Vec<String> = outcomes.iter().flat_map(|(each, outcome)| wrong(each.name, outcome, 0.002)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let known = outcomes.iter().filter(|(_, outcome)| values(outcome, "util_before")[0].is_some()).count();
    assert!(known >= known_at_least, "{known} scenarios know their utilisation");
}

#[test]
fn every_shipped_scenario_has_shares_up_to_1() {
    have_shares_up_to_1(&QUICK, 20);
}

#[test]
#[ignore = "long: make test-all runs it"]
fn every_costly_scenario_has_shares_up_to_1() {
    have_shares_up_to_1(&LONG, 4);
}
