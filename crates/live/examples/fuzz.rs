//! Fuzz a live network at full rate: `make fuzz-live`, or `fuzz [--seconds 600] [--round 30] [--seed 1]`.
//!
//! One host is taken over: it sends hostile frames into the switch as fast as the kernel takes them, and as many come
//! back to its own adapter as if the switch had sent them. Two other hosts send TCP meanwhile, each octet of which is
//! checked. Each round is a network of its own, with another seed. Prints counters and memory of each round; ends with 1
//! where a stream was damaged or stood still, or memory grew.

use qcnlab_lab::Control;
use qcnlab_live::{Intruder, LiveOptions, LiveRun, prepare_process, run};
use qcnlab_scenario::Scenario;
use qcnlab_units::Id;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

const TEXT: &str = r#"
duration = "1 s"
[topology]
kind = "star"
sources = 3
rate = "10 Gb/s"
rtt = "20 us"
buffer = "150 KB"

[switch]
input_memory = "300 KB"

[pause]
kind = "priority"
high = "100 KB"
headroom = "100 KB"

[record]
rates_every = "1 ms"
queue_every = "100 us"

[[traffic]]
arrivals = "saturated"
transport = "tcp"
frame = "1500 B"
priority = 3

[feedback]
kind = "frames"

[domain]
priorities = "3"

[scheme]
name = "qcn"
preset = "DECK001"
"#;

/// Memory that a later round may have more than the first, KiB: what the allocator keeps of a round's records.
const MOST_GROWTH: u64 = 64 << 10;

/// Memory that the process has in use, KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The most that it ever had, KiB.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

const USAGE: &str = "Fuzz a live network at full rate; Linux, root or user namespaces.

usage: fuzz [--seconds N] [--round N] [--seed N]

  --seconds N  how long in all [600]
  --round N    seconds of each network, which has a seed of its own [30]
  --seed N     seed of the first [1]

Ends with 1 where a stream was damaged or stood still, or memory grew.";

/// What the command line asks for: seconds, seconds of a round, the first seed; `None`: help.
fn asked(mut words: impl Iterator<Item = String>) -> Result<Option<[u64; 3]>, String> {
    let mut values = [600, 30, 1];
    while let Some(word) = words.next() {
        let at = match word.as_str() {
            "-h" | "--help" => return Ok(None),
            "--seconds" => 0,
            "--round" => 1,
            "--seed" => 2,
            _ => return Err(format!("there is no option {word}")),
        };
        let text = words.next().ok_or_else(|| format!("{word} takes a whole number"))?;
        values[at] = text.parse().map_err(|_| format!("{word} takes a whole number, not {text}"))?;
    }
    Ok(Some(values))
}

/// Signals that reaction points heard.
fn heard(run: &LiveRun) -> u64 {
    run.outcome.replications.iter().map(|replication| replication.done.counters.messages_heard).sum()
}

fn main() -> ExitCode {
    let [seconds, round, first] = match asked(std::env::args().skip(1)) {
        Ok(Some(values)) => values,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(fault) => {
            eprintln!("fuzz: {fault}; `fuzz --help` has the options");
            return ExitCode::from(2);
        }
    };
    let round = round.min(seconds).max(1);
    if let Err(error) = prepare_process() {
        eprintln!("fuzz: {error}");
        return ExitCode::from(2);
    }
    // At a scale of 100 a millisecond of the scenario takes 100 ms.
    let duration = format!("duration={} ms", round * 10);
    let scenario = Scenario::parse(TEXT, "fuzz.toml").and_then(|scenario| scenario.with_overrides(&[&duration]));
    let scenario = scenario.unwrap_or_else(|error| panic!("the scenario can work: {error}"));
    println!(
        "{:>5} {:>12} {:>12} {:>10} {:>12} {:>9} {:>9}",
        "seed", "into switch", "into adapter", "a second", "TCP octets", "MiB", "peak MiB"
    );
    let (started, mut failures, mut first_memory) = (Instant::now(), Vec::new(), None);
    let mut counters: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut frames, mut seed) = (0, first);
    while started.elapsed().as_secs() < seconds {
        let intruder = Some(Intruder { host: "source3".to_owned(), seed });
        let options = LiveOptions { seed: Some(seed), intruder, real_time: false, ..LiveOptions::default() };
        let done = match run(&scenario, &options, &Control::default()) {
            Ok(done) => done,
            Err(error) => {
                failures.push(format!("seed {seed}: {error}"));
                break;
            }
        };
        let end = done.intruder.unwrap_or_default();
        // Flows 0 and 1 are those of the hosts that nobody took over.
        let received = done.streams.iter().filter(|stream| stream.tally.segments == 0);
        let (mut octets, mut wrong, mut still) = (0, 0, 2);
        for stream in received.filter(|stream| stream.flow.number() < 2) {
            octets += stream.octets;
            wrong += stream.wrong;
            still -= u64::from(stream.octets > 0);
        }
        if wrong > 0 || still > 0 {
            failures.push(format!("seed {seed}: {wrong} octets of TCP wrong, {still} streams without any"));
        }
        for (name, count) in done.refused.by_name() {
            *counters.entry(name).or_default() += count;
        }
        let timing = done.timing.to_json();
        let lost = timing["loops"].as_array().into_iter().flatten().filter_map(|each| each["receive_drops"].as_u64());
        *counters.entry("no room in a socket").or_default() += lost.sum::<u64>();
        *counters.entry("signals heard").or_default() += heard(&done);
        *counters.entry("pauses_not_recorded").or_default() += done.pauses_not_recorded;
        frames += end.into_switch + end.into_adapter;
        drop(done.outcome);
        let memory = resident();
        let limit = *first_memory.get_or_insert(memory) + MOST_GROWTH;
        if memory > limit {
            failures.push(format!("seed {seed}: {memory} KiB in use, more than {limit}"));
        }
        println!(
            "{seed:>5} {:>12} {:>12} {:>10} {octets:>12} {:>9} {:>9}",
            end.into_switch,
            end.into_adapter,
            (end.into_switch + end.into_adapter) / round,
            memory >> 10,
            peak() >> 10
        );
        seed += 1;
    }
    println!("\n{frames} hostile frames in {} s; counted by switch and adapters:", started.elapsed().as_secs());
    for (name, count) in counters {
        println!("{name:>24} {count:>12}");
    }
    for failure in &failures {
        println!("FAILED {failure}");
    }
    if failures.is_empty() {
        println!("Nothing crashed, every octet of TCP was right, and memory stayed bounded.");
    }
    ExitCode::from(u8::from(!failures.is_empty()))
}
