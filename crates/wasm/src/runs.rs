//! Runs that JavaScript holds by a number.

use crate::answers::{argument, give, give_numbers};
use crate::{rows, scenario};
use qcnlab_lab::units::Instant;
use qcnlab_lab::{Outcome, SteppedRun};
use std::cell::RefCell;

enum Run {
    Going(Box<SteppedRun>),
    Ended(Box<Outcome>),
}

thread_local! {
    static RUNS: RefCell<Vec<Option<Run>>> = const { RefCell::new(Vec::new()) };
}

/// Does `act` with a run, or says that there is none.
fn with<T>(run: usize, act: impl FnOnce(&mut Run) -> Result<T, String>) -> Result<T, String> {
    RUNS.with_borrow_mut(|runs| {
        let run = runs.get_mut(run).and_then(Option::as_mut);
        run.map_or_else(|| Err("there is no such run".to_owned()), act)
    })
}

fn going<T>(run: usize, act: impl FnOnce(&mut SteppedRun) -> Result<T, String>) -> Result<T, String> {
    with(run, |run| match run {
        Run::Going(run) => act(run),
        Run::Ended(_) => Err("the run has ended".to_owned()),
    })
}

fn ended<T>(run: usize, act: impl FnOnce(&Outcome) -> T) -> Result<T, String> {
    with(run, |run| match run {
        Run::Ended(outcome) => Ok(act(outcome)),
        Run::Going(_) => Err("the run goes on".to_owned()),
    })
}

/// Builds a run of the scenario of the input, as [`check`](crate::check) reads it, with its own seed. Answers
/// `{"run", "network"}`: its number, and what it is built of.
#[unsafe(no_mangle)]
pub extern "C" fn start(replication: u32) -> u32 {
    let run = scenario(&argument())
        .and_then(|scenario| SteppedRun::new(scenario, None, replication).map_err(|error| error.to_string()));
    give(run.map(|run| {
        let network = run.network_json();
        let number = RUNS.with_borrow_mut(|runs| {
            runs.push(Some(Run::Going(Box::new(run))));
            runs.len() - 1
        });
        format!("{{\"run\":{number},\"network\":{network}}}")
    }))
}

/// Advances a run to `until_s` of simulated time. Answers one number: 1 while it goes on, 0 at its end.
#[unsafe(no_mangle)]
pub extern "C" fn advance(run: usize, until_s: f64) -> u32 {
    let until = Instant::from_ps((until_s * 1e12).round() as u64);
    match going(run, |run| run.advance(until).map_err(|error| error.to_string())) {
        Ok(goes_on) => give_numbers(&[f64::from(u8::from(goes_on))]),
        Err(why) => give(Err(why)),
    }
}

/// Answers the rows that a run has recorded in a table, from row `from` on: how many, then column after column.
/// [`names`](crate::names) has the tables, by their number, and their columns. A message without feedback has NaN for it.
#[unsafe(no_mangle)]
pub extern "C" fn recorded(run: usize, table: u32, from: usize) -> u32 {
    let rows = with(run, |run| {
        let trace = match run {
            Run::Going(run) => run.rows(),
            Run::Ended(outcome) => &outcome.replications[0].done.trace,
        };
        rows::numbers(trace, table, from).ok_or_else(|| format!("there is no table {table}"))
    });
    match rows {
        Ok(numbers) => give_numbers(&numbers),
        Err(why) => give(Err(why)),
    }
}

/// Answers the numbers that [`names`](crate::names) has for each port: octets queued, octets sent so far, bit/s it serves at,
/// seconds it was paused so far, and 1 if it is paused.
#[unsafe(no_mangle)]
pub extern "C" fn ports(run: usize) -> u32 {
    let states = going(run, |run| Ok(run.ports()));
    match states {
        Ok(states) => {
            let numbers = states.iter().flat_map(|port| {
                let paused = f64::from(u8::from(port.is_paused));
                [port.queue.as_f64(), port.sent.as_f64(), port.rate.as_f64(), port.paused.seconds(), paused]
            });
            give_numbers(&numbers.collect::<Vec<f64>>())
        }
        Err(why) => give(Err(why)),
    }
}

/// Runs to the end. Answers the summary: metrics and totals, as `summary.json` has them.
#[unsafe(no_mangle)]
pub extern "C" fn end(run: usize) -> u32 {
    let taken = RUNS.with_borrow_mut(|runs| runs.get_mut(run).and_then(Option::take));
    let Some(Run::Going(going)) = taken else { return give(Err("there is no such run, or it has ended".to_owned())) };
    give(going.end().map_err(|error| error.to_string()).map(|outcome| {
        let summary = outcome.summary_json();
        RUNS.with_borrow_mut(|runs| runs[run] = Some(Run::Ended(Box::new(outcome))));
        summary
    }))
}

/// Answers the digests of the tables of a run that has ended.
#[unsafe(no_mangle)]
pub extern "C" fn digests(run: usize) -> u32 {
    give(ended(run, Outcome::digests))
}

/// Answers a table of a run that has ended, as CSV; the input is the table's name.
#[unsafe(no_mangle)]
pub extern "C" fn csv(run: usize) -> u32 {
    let name = argument();
    let text = ended(run, |outcome| outcome.table(&name).map(|table| table.to_csv()));
    give(text.and_then(|text| text.ok_or_else(|| format!("there is no table {name}"))))
}

/// Drops a run; its number is not used again.
#[unsafe(no_mangle)]
pub extern "C" fn forget(run: usize) {
    RUNS.with_borrow_mut(|runs| {
        if let Some(slot) = runs.get_mut(run) {
            *slot = None;
        }
    });
}
