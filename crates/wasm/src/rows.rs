//! Recorded rows as numbers: times in seconds, sizes in octets, rates in bit/s.

use qcnlab_lab::Trace;

const PS: f64 = 1e-12;

/// The tables that a page reads while a run goes on, by the number that `recorded` takes, with their columns.
pub(crate) const RECORDED: [(&str, &[&str]); 6] = [
    ("queues", &["time", "port", "octets"]),
    ("rates", &["time", "flow", "current", "target"]),
    ("throughput", &["time", "flow", "octets"]),
    ("messages", &["time", "port", "flow", "feedback"]),
    ("pauses", &["from", "until", "port", "because"]),
    ("drops", &["time", "port", "frames", "octets"]),
];

/// What `ports` answers of each port, in its order.
pub(crate) const PORT: [&str; 5] = ["queue", "sent", "rate", "paused", "isPaused"];

/// The rows of a table from row `from` on, column after column: their number, then each column. `None` if there is no
/// such table.
pub(crate) fn numbers(trace: &Trace, table: u32, from: usize) -> Option<Vec<f64>> {
    let time = |times: &[u64]| times.iter().map(|ps| *ps as f64 * PS).collect::<Vec<f64>>();
    let index = |numbers: &[u32]| numbers.iter().map(|number| f64::from(*number)).collect::<Vec<f64>>();
    let whole = |numbers: &[u64]| numbers.iter().map(|number| *number as f64).collect::<Vec<f64>>();
    let columns = match RECORDED.get(table as usize)?.0 {
        "queues" => {
            let rows = &trace.queues;
            vec![time(rest(&rows.time, from)), index(rest(&rows.port, from)), whole(rest(&rows.bytes, from))]
        }
        "rates" => {
            let rows = &trace.rates;
            let rates = [&rows.current, &rows.target].map(|rates| whole(rest(rates, from)));
            let [current, target] = rates;
            vec![time(rest(&rows.time, from)), index(rest(&rows.flow, from)), current, target]
        }
        "throughput" => {
            let rows = &trace.throughput;
            vec![time(rest(&rows.time, from)), index(rest(&rows.flow, from)), whole(rest(&rows.bytes, from))]
        }
        "messages" => {
            let rows = &trace.messages;
            let fb = rest(&rows.signal, from).iter().map(|signal| signal.fb().map_or(f64::NAN, f64::from));
            vec![
                time(rest(&rows.time, from)),
                index(rest(&rows.port, from)),
                index(rest(&rows.flow, from)),
                fb.collect(),
            ]
        }
        "pauses" => {
            let rows = &trace.pauses;
            let ports = [&rows.port, &rows.because].map(|ports| index(rest(ports, from)));
            let [port, because] = ports;
            vec![time(rest(&rows.start, from)), time(rest(&rows.end, from)), port, because]
        }
        "drops" => {
            let rows = &trace.drops;
            let counts = [&rows.frames, &rows.bytes].map(|counts| whole(rest(counts, from)));
            let [frames, octets] = counts;
            vec![time(rest(&rows.time, from)), index(rest(&rows.port, from)), frames, octets]
        }
        _ => return None,
    };
    debug_assert_eq!(columns.len(), RECORDED[table as usize].1.len());
    let mut all = vec![columns[0].len() as f64];
    columns.into_iter().for_each(|column| all.extend(column));
    Some(all)
}

fn rest<T>(rows: &[T], from: usize) -> &[T] {
    rows.get(from..).unwrap_or_default()
}
