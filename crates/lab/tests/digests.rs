//! The digest of every table of every shipped scenario: one line a column.
//!
//! `digests.txt` holds the lines as they were accepted, over one replication. A difference means "changed", never
//! "wrong" or "right"; a line that may change needs an entry under **Changed results** in CHANGELOG.md.

use qcnlab_lab::{Column, Control, Data, Options, Scenario, TABLES, run, shipped};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// The values of a column as text, one a line, and as numbers where they are numbers.
fn values(column: &Column) -> (String, Vec<f64>) {
    let mut text = String::new();
    let mut numbers = Vec::new();
    macro_rules! plain {
        ($values:expr) => {
            for value in $values {
                writeln!(text, "{value:?}").unwrap();
                numbers.push(*value as f64);
            }
        };
    }
    macro_rules! optional {
        ($values:expr) => {
            for value in $values {
                writeln!(text, "{value:?}").unwrap();
                numbers.extend(value.map(|value| value as f64));
            }
        };
    }
    match &column.data {
        Data::U32(values) => plain!(values),
        Data::U64(values) => plain!(values),
        Data::F64(values) => plain!(values),
        Data::OptionalI64(values) => optional!(values),
        Data::OptionalI32(values) => optional!(values),
        Data::OptionalF64(values) => optional!(values),
        Data::Word(values, words) => {
            for value in values {
                writeln!(text, "{}", words[*value as usize]).unwrap();
            }
        }
    }
    (text, numbers)
}

/// Rows, least, mean and largest value, and the first 12 digits of the SHA-256 of the values as text.
fn line(rows: usize, column: &Column) -> String {
    let (text, numbers) = values(column);
    let digest: String = Sha256::digest(text).iter().take(6).map(|octet| format!("{octet:02x}")).collect();
    let mut line = format!("{rows:>7} rows  {digest}");
    if !numbers.is_empty() {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        write!(line, "  least {least:.6e}  mean {mean:.6e}  largest {largest:.6e}").unwrap();
    }
    line
}

fn digests() -> String {
    let mut text = String::new();
    let scenarios: Vec<Scenario> = shipped().iter().map(|each| each.scenario().unwrap()).collect();
    let options = Options { replications: Some(1), ..Options::default() };
    let outcomes = run(&scenarios, &options, &Control::default()).unwrap();
    for (each, outcome) in shipped().iter().zip(&outcomes) {
        writeln!(text, "{}/{}", each.folder, each.name).unwrap();
        for name in TABLES {
            let table = outcome.table(name).unwrap();
            if table.rows == 0 {
                writeln!(text, "  {name:<34}      0 rows").unwrap();
                continue;
            }
            for column in &table.columns {
                let title = format!("{name}.{}", column.name);
                writeln!(text, "  {title:<34}{}", line(table.rows, column)).unwrap();
            }
        }
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
