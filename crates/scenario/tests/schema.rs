//! The published schema is the one the tables give.

use qcnlab_scenario::schema_json;
use std::path::Path;
use std::{env, fs};

#[test]
fn the_checked_in_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/qcnlab.schema.json");
    let current = schema_json();
    if env::var_os("QCNLAB_BLESS").is_some() {
        fs::write(&path, &current).expect("the schema can be written");
    }
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == current,
        "scenarios/qcnlab.schema.json is out of date: refresh it with\n  QCNLAB_BLESS=1 cargo test -p qcnlab-lab --test schema"
    );
}
