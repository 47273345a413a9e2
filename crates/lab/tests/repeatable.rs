//! The same scenario and seed give the same results, whatever the number of threads.

use qcnlab_lab::{Control, Options, Outcome, RunError, TABLES, Task, run, run_each, work_ps};
use qcnlab_scenario::Scenario;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

fn scenarios() -> Vec<Scenario> {
    let short = ["duration=0.1 s", "warmup=10 ms", "hotspot.from=20 ms", "hotspot.until=50 ms"];
    let with_scheme = |scheme: &&str| {
        let name = format!("scheme.name={scheme}");
        let overrides: Vec<&str> = short.iter().copied().chain([name.as_str()]).collect();
        Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt200us").unwrap().with_overrides(&overrides).unwrap()
    };
    ["qcn", "ecm", "none"].iter().map(with_scheme).collect()
}

fn outcomes(jobs: usize) -> Vec<Outcome> {
    let options = Options { replications: Some(5), jobs: Some(jobs), ..Options::default() };
    run(&scenarios(), &options, &Control::default()).unwrap()
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

/// A seed of the options takes the place of each scenario's own, and 2^64 - 1 is one.
#[test]
fn the_seed_of_the_options_is_as_that_of_the_scenario() {
    let with = |seed: Option<u64>, scenarios: &[Scenario]| {
        let options = Options { replications: Some(2), seed, ..Options::default() };
        run(scenarios, &options, &Control::default()).unwrap()
    };
    let digests = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::digests).collect::<Vec<_>>();
    let own = scenarios();
    let seventh: Vec<Scenario> = own.iter().map(|each| each.with_overrides(&["seed=7"]).unwrap()).collect();
    let seven = with(Some(7), &own);
    assert_eq!(seven[0].seed, 7);
    assert_eq!(digests(&seven), digests(&with(None, &seventh)));
    let others = [digests(&with(None, &own)), digests(&with(Some(u64::MAX), &own)), digests(&with(Some(0), &own))];
    for (number, other) in others.iter().enumerate() {
        assert_ne!(*other, digests(&seven), "{number}");
    }
    assert_ne!(others[1], others[2]);
}

#[test]
fn no_such_table() {
    assert!(outcomes(1)[0].table("frames").is_none());
}

#[test]
fn single_tasks_give_what_all_together_give() {
    let (scenarios, whole) = (scenarios(), outcomes(1));
    let pairs = [(2, 4), (0, 3), (0, 1), (2, 0), (0, 3)];
    let tasks = pairs.map(|(scenario, replication)| Task { scenario, replication });
    let (control, ended) = (Control::default(), Mutex::new(Vec::new()));
    let options = Options { jobs: Some(2), ..Options::default() };
    run_each(&scenarios, &tasks, &options, &control, |index, result| {
        ended.lock().unwrap().push((index, result.unwrap().metrics));
    })
    .unwrap();
    let mut ended = ended.into_inner().unwrap();
    ended.sort_unstable_by_key(|(index, _)| *index);
    assert_eq!(ended.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    for ((_, metrics), task) in ended.iter().zip(&tasks) {
        assert_eq!(*metrics, whole[task.scenario].replications[task.replication as usize].metrics);
    }
    assert_eq!(control.done_ps.load(Ordering::Relaxed), work_ps(&scenarios, &tasks));
}

#[test]
fn nothing_starts_after_a_stop() {
    let tasks = [0, 1, 2].map(|scenario| Task { scenario, replication: 0 });
    let (control, ended) = (Control::default(), Mutex::new(Vec::new()));
    let options = Options { jobs: Some(1), ..Options::default() };
    run_each(&scenarios(), &tasks, &options, &control, |index, result| {
        control.cancel.store(true, Ordering::Relaxed);
        ended.lock().unwrap().push((index, result.is_ok()));
    })
    .unwrap();
    assert_eq!(ended.into_inner().unwrap(), [(0, true)]);
    let stopped = run(&scenarios(), &options, &control);
    assert!(matches!(stopped, Err(RunError::Cancelled)));
}
