//! Traces as tables: named columns with units, all replications one after the other.

use crate::fabric::{Fabric, Shares};
use crate::metrics::{self, Completion, METRICS};
use crate::outcome::Outcome;
use crate::replication::Replication;
use qcnlab_schemes::SignalKind;
use qcnlab_sim::{DropKind, FlowId, FlowTally, RoceTally, TcpTally, Trace};
use qcnlab_traffic::Alone;
use qcnlab_units::{Id, Instant, Names, Span};
use std::sync::Arc;

/// A column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Whole numbers.
    U32(Vec<u32>),
    /// Whole numbers.
    U64(Vec<u64>),
    /// Signed whole numbers, some missing.
    OptionalI64(Vec<Option<i64>>),
    /// Signed whole numbers, some missing.
    OptionalI32(Vec<Option<i32>>),
    /// Real numbers, missing ones too.
    OptionalF64(Vec<Option<f64>>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Words: each value is an index into the list of names.
    Word(Vec<u32>, Arc<Names>),
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; ends in its unit where it has one.
    pub name: &'static str,
    /// Its unit, or "".
    pub unit: &'static str,
    /// Its values.
    pub data: Data,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, all of one length.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub rows: usize,
}

impl Table {
    /// Returns the table as CSV with a line of column names. Numbers are the shortest that read back as the same; what
    /// is missing is empty.
    pub fn to_csv(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        let mut text = names.join(",");
        text.push('\n');
        for row in 0..self.rows {
            let cells: Vec<String> = self.columns.iter().map(|column| column.data.cell(row)).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

impl Data {
    /// The value of a row as text.
    fn cell(&self, row: usize) -> String {
        fn optional<T: ToString>(value: Option<T>) -> String {
            value.map(|value| value.to_string()).unwrap_or_default()
        }
        match self {
            Data::U32(values) => values[row].to_string(),
            Data::U64(values) => values[row].to_string(),
            Data::F64(values) => values[row].to_string(),
            Data::OptionalI64(values) => optional(values[row]),
            Data::OptionalI32(values) => optional(values[row]),
            Data::OptionalF64(values) => optional(values[row]),
            Data::Word(values, words) => {
                let word = &words[values[row] as usize];
                if word.contains([',', '"', '\n']) {
                    format!("\"{}\"", word.replace('"', "\"\""))
                } else {
                    word.to_owned()
                }
            }
        }
    }
}

/// Names of the tables of a run.
pub const TABLES: &[&str] =
    &["queues", "rates", "throughput", "messages", "drops", "pauses", "windows", "flows", "metrics"];

impl Outcome {
    /// Returns the table called `name`, or `None` when there is none of that name.
    pub fn table(&self, name: &str) -> Option<Table> {
        let build = match name {
            "queues" => queues,
            "rates" => rates,
            "throughput" => throughput,
            "messages" => messages,
            "drops" => drops,
            "pauses" => pauses,
            "windows" => windows,
            "flows" => flows,
            "metrics" => metric_values,
            _ => return None,
        };
        Some(build(&NamedOutcome::new(self)))
    }
}

/// An outcome and its names: those of each replication's ports and flows, in one list where they differ.
struct NamedOutcome<'a> {
    outcome: &'a Outcome,
    ports: NamesOfRuns,
    sources: NamesOfRuns,
}

/// Names, and where those of each replication begin.
struct NamesOfRuns {
    all: Arc<Names>,
    starts: Vec<u32>,
}

impl NamesOfRuns {
    fn of(outcome: &Outcome, names: fn(&Fabric) -> &Arc<Names>) -> NamesOfRuns {
        let runs = &outcome.replications;
        let Some(first) = runs.first() else { return NamesOfRuns { all: Arc::default(), starts: Vec::new() } };
        if runs.iter().all(|run| Arc::ptr_eq(&run.fabric, &first.fabric)) {
            return NamesOfRuns { all: names(&first.fabric).clone(), starts: vec![0; runs.len()] };
        }
        let (mut all, mut starts) = (Names::default(), Vec::new());
        for run in runs {
            starts.push(all.len() as u32);
            all.append(names(&run.fabric));
        }
        NamesOfRuns { all: all.into(), starts }
    }

    fn column(&self, outcome: &Outcome, name: &'static str, rows: impl Fn(&Replication) -> Vec<u32>) -> Column {
        let runs = outcome.replications.iter().zip(&self.starts);
        let indices = runs.flat_map(|(run, start)| rows(run).into_iter().map(move |index| start + index)).collect();
        Column { name, unit: "", data: Data::Word(indices, self.all.clone()) }
    }
}

impl<'a> NamedOutcome<'a> {
    fn new(outcome: &'a Outcome) -> NamedOutcome<'a> {
        let ports = NamesOfRuns::of(outcome, |fabric| &fabric.port_names);
        NamedOutcome { outcome, ports, sources: NamesOfRuns::of(outcome, |fabric| &fabric.flow_names) }
    }

    /// A column over all replications.
    fn gather<T, U>(&self, rows: impl Fn(&Trace) -> &Vec<T>, value: impl Fn(&T) -> U) -> Vec<U> {
        self.outcome.replications.iter().flat_map(|r| rows(&r.done.trace)).map(value).collect()
    }

    fn replication(&self, rows: impl Fn(&Replication) -> usize) -> Column {
        let numbers = self.outcome.replications.iter().enumerate();
        let column = numbers.flat_map(|(i, r)| std::iter::repeat_n(i as u32, rows(r))).collect();
        Column { name: "replication", unit: "", data: Data::U32(column) }
    }

    fn time(&self, rows: impl Fn(&Trace) -> &Vec<u64>) -> Column {
        Column { name: "time_s", unit: "s", data: Data::F64(self.gather(rows, |ps| *ps as f64 * 1e-12)) }
    }

    fn port(&self, name: &'static str, rows: impl Fn(&Trace) -> &Vec<u32>) -> Column {
        self.ports.column(self.outcome, name, |run| rows(&run.done.trace).clone())
    }

    fn source(&self, rows: impl Fn(&Trace) -> &Vec<u32>) -> Column {
        self.sources.column(self.outcome, "source", |run| rows(&run.done.trace).clone())
    }
}

fn whole(name: &'static str, unit: &'static str, data: Vec<u64>) -> Column {
    Column { name, unit, data: Data::U64(data) }
}

fn table(name: &'static str, columns: Vec<Column>) -> Table {
    let rows = match &columns[0].data {
        Data::U32(replication) => replication.len(),
        _ => unreachable!("the first column is the replication"),
    };
    Table { name, columns, rows }
}

fn queues(from: &NamedOutcome) -> Table {
    table(
        "queues",
        vec![
            from.replication(|r| r.done.trace.queues.time.len()),
            from.time(|t| &t.queues.time),
            from.port("port", |t| &t.queues.port),
            whole("queue_bytes", "B", from.gather(|t| &t.queues.bytes, |b| *b)),
        ],
    )
}

fn rates(from: &NamedOutcome) -> Table {
    table(
        "rates",
        vec![
            from.replication(|r| r.done.trace.rates.time.len()),
            from.time(|t| &t.rates.time),
            from.source(|t| &t.rates.flow),
            whole("current_rate_bps", "bit/s", from.gather(|t| &t.rates.current, |x| *x)),
            whole("target_rate_bps", "bit/s", from.gather(|t| &t.rates.target, |x| *x)),
        ],
    )
}

fn throughput(from: &NamedOutcome) -> Table {
    let bin_s = from.outcome.scenario.record.throughput_bin.seconds();
    let rates = from.gather(|t| &t.throughput.bytes, |bytes| *bytes as f64 * 8.0 / bin_s);
    table(
        "throughput",
        vec![
            from.replication(|r| r.done.trace.throughput.time.len()),
            from.time(|t| &t.throughput.time),
            from.source(|t| &t.throughput.flow),
            Column { name: "rate_bps", unit: "bit/s", data: Data::F64(rates) },
        ],
    )
}

fn messages(from: &NamedOutcome) -> Table {
    let kinds: Arc<Names> = Arc::new(SignalKind::ALL.iter().map(|kind| kind.name()).collect());
    let kind = from.gather(
        |t| &t.messages.signal,
        |s| SignalKind::ALL.iter().position(|k| *k == s.kind()).expect("every kind is listed") as u32,
    );
    table(
        "messages",
        vec![
            from.replication(|r| r.done.trace.messages.time.len()),
            from.time(|t| &t.messages.time),
            from.port("port", |t| &t.messages.port),
            from.source(|t| &t.messages.flow),
            Column { name: "kind", unit: "", data: Data::Word(kind, kinds) },
            Column { name: "fb", unit: "", data: Data::OptionalI32(from.gather(|t| &t.messages.signal, |s| s.fb())) },
            Column {
                name: "q_off_bytes",
                unit: "B",
                data: Data::OptionalI64(from.gather(|t| &t.messages.signal, |s| Some(s.queue()?.0))),
            },
            Column {
                name: "q_delta_bytes",
                unit: "B",
                data: Data::OptionalI64(from.gather(|t| &t.messages.signal, |s| Some(s.queue()?.1))),
            },
        ],
    )
}

fn drops(from: &NamedOutcome) -> Table {
    let kinds: Arc<Names> = Arc::new(DropKind::ALL.iter().map(|kind| kind.name()).collect());
    let kind = from.gather(|t| &t.drops.kind, |kind| *kind as u32);
    table(
        "drops",
        vec![
            from.replication(|r| r.done.trace.drops.time.len()),
            from.time(|t| &t.drops.time),
            Column {
                name: "last_s",
                unit: "s",
                data: Data::F64(from.gather(|t| &t.drops.last, |ps| *ps as f64 * 1e-12)),
            },
            from.port("port", |t| &t.drops.port),
            from.source(|t| &t.drops.flow),
            Column { name: "kind", unit: "", data: Data::Word(kind, kinds) },
            whole("frames", "frames", from.gather(|t| &t.drops.frames, |x| *x)),
            whole("bytes", "B", from.gather(|t| &t.drops.bytes, |x| *x)),
        ],
    )
}

fn pauses(from: &NamedOutcome) -> Table {
    let seconds = |ps: &u64| *ps as f64 * 1e-12;
    let until = Data::F64(from.gather(|t| &t.pauses.end, seconds));
    let class = Data::OptionalI32(from.gather(|t| &t.pauses.class, |class| class.map(i32::from)));
    table(
        "pauses",
        vec![
            from.replication(|r| r.done.trace.pauses.start.len()),
            from.time(|t| &t.pauses.start),
            Column { name: "until_s", unit: "s", data: until },
            from.port("port", |t| &t.pauses.port),
            Column { name: "priority", unit: "", data: class },
            from.port("because", |t| &t.pauses.because),
        ],
    )
}

fn windows(from: &NamedOutcome) -> Table {
    table(
        "windows",
        vec![
            from.replication(|r| r.done.trace.windows.time.len()),
            from.time(|t| &t.windows.time),
            from.source(|t| &t.windows.flow),
            whole("window_bytes", "B", from.gather(|t| &t.windows.window, |x| *x)),
            whole("flight_bytes", "B", from.gather(|t| &t.windows.flight, |x| *x)),
        ],
    )
}

fn flows(from: &NamedOutcome) -> Table {
    let tallies = || from.outcome.replications.iter().flat_map(|r| &r.done.flows);
    let numbers = |run: &Replication| (0..run.done.flows.len() as u32).collect();
    let count = |name, of: fn(&FlowTally) -> u64| whole(name, "frames", tallies().map(of).collect());
    // A run without packets does not know what would have been lost or sent again.
    let flow_level = from.outcome.flow_level();
    let loss = |name, of: fn(&FlowTally) -> u64| match flow_level {
        true => Column { name, unit: "frames", data: Data::OptionalI64(tallies().map(|_| None).collect()) },
        false => count(name, of),
    };
    let of_transport = |name, unit, tcp: fn(&TcpTally) -> u64, roce: fn(&RoceTally) -> u64| {
        let of = |tally: &FlowTally| tally.tcp.as_ref().map(tcp).or_else(|| tally.roce.as_ref().map(roce));
        let known = |name: &str| !flow_level || name == "goodput_bytes";
        let data = tallies().map(|tally| of(tally).filter(|_| known(name)).map(|count| count as i64)).collect();
        Column { name, unit, data: Data::OptionalI64(data) }
    };
    let of_tcp = |name, unit, of: fn(&TcpTally) -> u64| {
        let data = tallies().map(|tally| tally.tcp.as_ref().map(|tcp| of(tcp) as i64)).collect();
        Column { name, unit, data: Data::OptionalI64(data) }
    };
    let of_roce = |name, unit, of: fn(&RoceTally) -> u64| {
        let data =
            tallies().map(|tally| tally.roce.as_ref().filter(|_| !flow_level).map(|roce| of(roce) as i64)).collect();
        Column { name, unit, data: Data::OptionalI64(data) }
    };
    let share = |name, of: fn(&Shares) -> &Option<Vec<f64>>| {
        let all = from.outcome.replications.iter().flat_map(|run| {
            let shares = run.fabric.shares().and_then(|shares| of(shares).as_ref());
            (0..run.done.flows.len()).map(move |flow| shares.map(|shares| shares[flow]))
        });
        Column { name, unit: "bit/s", data: Data::OptionalF64(all.collect()) }
    };
    let size = tallies().map(|tally| tally.total_bytes.map(|bytes| bytes as i64)).collect();
    let per_run = || from.outcome.replications.iter();
    let numbered = |of: fn(&Replication, FlowId) -> u32| {
        Data::U32(per_run().flat_map(|run| run.done.flows.ids().map(move |flow| of(run, flow))).collect())
    };
    let alone = |of: fn(Alone) -> Span| {
        let all = per_run().flat_map(|run| run.done.flows.ids().map(|flow| run.fabric.alone(flow)));
        Data::OptionalF64(all.map(|alone| alone.map(|alone| of(alone).seconds())).collect())
    };
    let completed = |of: fn(&Completion) -> f64| {
        let all = per_run().flat_map(|run| metrics::completions(&run.fabric, &run.done));
        Data::OptionalF64(all.map(|one| one.filter(|one| one.finished).map(|one| of(&one))).collect())
    };
    let started = tallies().map(|t| (t.started != Instant::NEVER).then(|| t.started.seconds())).collect();
    let received = tallies().map(|t| t.roce.as_ref().map(|roce| roce.received).filter(|at| *at != Instant::NEVER));
    let received = received.map(|at| at.map(Instant::seconds)).collect();
    let finished = tallies().map(|t| (t.finished != Instant::NEVER).then(|| t.finished.seconds())).collect();
    table(
        "flows",
        vec![
            from.replication(|r| r.done.flows.len()),
            from.sources.column(from.outcome, "source", numbers),
            Column { name: "traffic", unit: "", data: numbered(|run, flow| run.fabric.entries[flow].number()) },
            Column { name: "priority", unit: "", data: numbered(|run, flow| run.fabric.flows[flow].class.into()) },
            Column { name: "size_bytes", unit: "B", data: Data::OptionalI64(size) },
            Column { name: "start_s", unit: "s", data: Data::OptionalF64(started) },
            Column { name: "received_s", unit: "s", data: Data::OptionalF64(received) },
            Column { name: "finished_s", unit: "s", data: Data::OptionalF64(finished) },
            Column { name: "completion_s", unit: "s", data: completed(|one| one.took.seconds()) },
            Column { name: "alone_s", unit: "s", data: alone(|alone| alone.ideal) },
            Column { name: "standalone_s", unit: "s", data: alone(|alone| alone.standalone) },
            Column { name: "slowdown", unit: "", data: completed(Completion::slowdown) },
            whole("delivered_bytes", "B", tallies().map(|tally| tally.delivered_bytes).collect()),
            share("max_min_bps", |shares| &shares.max_min),
            share("proportional_bps", |shares| &shares.proportional),
            count("sent_frames", |tally| tally.sent),
            count("delivered_frames", |tally| tally.delivered),
            loss("dropped_frames", |tally| tally.dropped),
            loss("refused_frames", |tally| tally.refused),
            of_transport("goodput_bytes", "B", |tcp| tcp.in_order_bytes, |roce| roce.acknowledged_bytes),
            of_transport("retransmitted_frames", "frames", |tcp| tcp.retransmitted, |roce| roce.retransmitted),
            of_roce("spurious_frames", "frames", |roce| roce.spurious),
            of_roce("reorder_peak_frames", "frames", |roce| roce.most_kept),
            of_tcp("fast_retransmits", "", |tcp| tcp.fast_retransmits),
            of_transport("timeouts", "", |tcp| tcp.timeouts, |roce| roce.timeouts),
        ],
    )
}

fn metric_values(from: &NamedOutcome) -> Table {
    let runs = &from.outcome.replications;
    let names: Arc<Names> = Arc::new(METRICS.iter().map(|m| m.name).collect());
    let units: Arc<Names> = Arc::new(METRICS.iter().map(|m| m.unit).collect());
    let indices: Vec<u32> = runs.iter().flat_map(|_| 0..METRICS.len() as u32).collect();
    table(
        "metrics",
        vec![
            from.replication(|_| METRICS.len()),
            Column { name: "metric", unit: "", data: Data::Word(indices.clone(), names) },
            Column {
                name: "value",
                unit: "",
                data: Data::OptionalF64(runs.iter().flat_map(|r| r.metrics.iter().copied()).collect()),
            },
            Column { name: "unit", unit: "", data: Data::Word(indices, units) },
        ],
    )
}

#[cfg(test)]
mod tests;
