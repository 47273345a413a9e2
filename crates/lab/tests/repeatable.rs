//! The same scenario and seed give the same results, whatever the number of threads.

use qcnlab_lab::{Control, Options, Outcome, Scenario, TABLES, run};

fn outcomes(jobs: usize) -> Vec<Outcome> {
    let short = ["duration=0.1 s", "warmup=10 ms", "hotspot.from=20 ms", "hotspot.until=50 ms"];
    let scenarios: Vec<Scenario> = ["qcn", "ecm", "none"]
        .iter()
        .map(|scheme| {
            let name = format!("scheme.name={scheme}");
            let overrides: Vec<&str> = short.iter().copied().chain([name.as_str()]).collect();
            Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt200us").unwrap().with_overrides(&overrides).unwrap()
        })
        .collect();
    let options = Options { replications: Some(5), jobs: Some(jobs), ..Options::default() };
    run(&scenarios, &options, &Control::default()).unwrap()
}

#[test]
fn one_thread_and_two_give_the_same_tables() {
    let (one, two) = (outcomes(1), outcomes(2));
    for (a, b) in one.iter().zip(&two) {
        for table in TABLES {
            assert_eq!(a.table(table), b.table(table), "{table} of {}", a.scenario.scheme.name());
        }
    }
}

#[test]
fn replications_differ() {
    let outcomes = outcomes(2);
    let runs = &outcomes[0].replications;
    assert_ne!(runs[0].done.trace.messages, runs[1].done.trace.messages);
}

#[test]
fn no_such_table() {
    assert!(outcomes(1)[0].table("frames").is_none());
}
