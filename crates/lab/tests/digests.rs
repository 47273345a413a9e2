//! The digest of every table of every shipped scenario: one line a column.
//!
//! `digests.txt` holds the lines as they were accepted, over one replication. A difference means "changed", never
//! "wrong" or "right"; a line that may change needs an entry under **Changed results** in CHANGELOG.md.

mod share_law;

use qcnlab_lab::{Control, Options, Outcome, run};
use qcnlab_scenario::{Scenario, shipped};
use share_law::{values, wrong};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs};

/// Every shipped scenario, run once for all tests.
static OUTCOMES: LazyLock<Vec<Outcome>> = LazyLock::new(|| {
    let scenarios: Vec<Scenario> = shipped().iter().map(|each| each.scenario().unwrap()).collect();
    let options = Options { replications: Some(1), ..Options::default() };
    run(&scenarios, &options, &Control::default()).unwrap()
});

fn digests() -> String {
    let mut text = String::new();
    for (each, outcome) in shipped().iter().zip(&*OUTCOMES) {
        writeln!(text, "{}/{}", each.folder, each.name).unwrap();
        text.push_str(&outcome.digests());
    }
    text
}

#[test]
fn every_table_is_as_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.txt");
    let now = digests();
    if env::var_os("QCNLAB_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let accepted = fs::read_to_string(&path).unwrap_or_default();
    let mut changed = Vec::new();
    let mut scenario = "";
    for (was, is) in accepted.lines().zip(now.lines()) {
        if !is.starts_with(' ') {
            scenario = is;
        }
        if was != is {
            changed.push(format!("{scenario}\n  was{was}\n  now{is}"));
        }
    }
    assert!(
        accepted == now,
        "{} of {} columns have changed; if they may, accept them with\n  QCNLAB_BLESS=1 cargo test --release -p \
         qcnlab-lab --test digests\n{}",
        changed.len(),
        now.lines().count(),
        changed.iter().take(20).cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn every_shipped_scenario_has_shares_up_to_1() {
    let faults: Vec<String> =
        shipped().iter().zip(&*OUTCOMES).flat_map(|(each, outcome)| wrong(each.name, outcome, 0.002)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let known = OUTCOMES.iter().filter(|outcome| values(outcome, "util_before")[0].is_some()).count();
    assert!(known >= 25, "{known} scenarios know their utilisation");
}
