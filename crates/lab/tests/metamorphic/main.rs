//! Metamorphic checks: two scenarios that must give the same results, or results that follow from each other exactly.
//!
//! Each check draws a few scenarios and runs every scheme of the registry in each of them. A failing case is printed
//! with its seed, and its seed goes to `regressions.txt` beside this file, which every run reads first.
//! `PROPTEST_CASES=50` draws more.

mod case;

use case::{
    AS_IT_IS, Case, Change, Row, TRACES, all_tables, case, compare, once, outcome_of, rows, same, schemes, time_ps,
    with_scheme,
};
use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use qcnlab_lab::{Control, METRICS, Options, Outcome, run};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/metamorphic/regressions.txt");

fn few() -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").map_or(2, |cases| cases.parse().expect("a number of cases")),
        max_shrink_iters: 40,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..ProptestConfig::default()
    }
}

#[test]
fn kept_cases_are_read() {
    let kept = std::fs::read_to_string(REGRESSIONS).unwrap();
    let kept = kept.lines().filter(|line| line.starts_with("cc ")).count();
    assert!(kept > 0 && kept == FileFailurePersistence::Direct(REGRESSIONS).load_persisted_failures2(None).len());
}

/// The metrics by name, but for those that count flows.
fn metrics(outcome: &Outcome) -> Vec<(&'static str, Option<f64>)> {
    METRICS.iter().map(|metric| metric.name).zip(outcome.replications[0].metrics.iter().copied()).collect()
}

fn not_of<'a>(rows: Vec<Row>, flow: &'a str) -> impl Iterator<Item = Row> + use<'a> {
    rows.into_iter().filter(move |row| row.get("source").is_none_or(|source| source != flow))
}

/// Rows up to `until`, both ends included.
fn rows_until(outcome: &Outcome, name: &str, until_ps: u64) -> Vec<Row> {
    rows(outcome, name).into_iter().filter(|row| time_ps(row, "time_s") <= until_ps).collect()
}

/// Rows with their times moved to `change` of them.
fn moved(rows: Vec<Row>, change: impl Fn(u64) -> Option<u64>) -> Vec<Row> {
    let move_one = |mut row: Row| -> Option<Row> {
        for column in ["time_s", "until_s", "last_s"] {
            if row.contains_key(column) {
                let time = change(time_ps(&row, column))?;
                row.insert(column, format!("{time} ps"));
            }
        }
        Some(row)
    };
    rows.into_iter().filter_map(move_one).collect()
}

proptest! {
    #![proptest_config(few())]

    /// A host that neither sends nor receives.
    #[test]
    fn an_idle_host_changes_nothing(case in case()) {
        for scheme in schemes() {
            let run = |hosts| once(&with_scheme(&case.star(hosts, AS_IT_IS), scheme), &[]);
            same(&all_tables(), &run(case.sources), &run(case.sources + 1), scheme)?;
        }
    }

    /// A source that starts a nanosecond before the end: its own rows are new, and all others as without it.
    #[test]
    fn an_idle_flow_changes_no_other(case in case()) {
        let text = case.star(case.sources + 1, AS_IT_IS);
        let (idle, last) = (format!("source{}", case.sources + 1), case.duration() * 1000 - 1);
        let more = format!("{text}[[traffic]]\narrivals = \"saturated\"\nfrom = \"{idle}\"\nframe = \"1500 B\"\nstart = \"{last} ns\"\n");
        for scheme in schemes() {
            let (without, with) = (once(&with_scheme(&text, scheme), &[]), once(&with_scheme(&more, scheme), &[]));
            for name in TRACES.iter().chain(&["flows"]) {
                // The shares that a fabric could give depend on all flows.
                let mut both = [&without, &with].map(|outcome| not_of(rows(outcome, name), &idle).collect::<Vec<_>>());
                for row in both.iter_mut().flatten() {
                    row.retain(|column, _| !["max_min_bps", "proportional_bps"].contains(column));
                }
                compare(&both[0], &both[1], &format!("{scheme}: {name}"))?;
            }
        }
    }

    #[test]
    fn one_thread_and_two_agree(case in case()) {
        let scenarios: Vec<_> = schemes().iter().map(|s| case::scenario(&with_scheme(&case.plain(), s), &[])).collect();
        let [one, two] = [1, 2].map(|jobs| {
            let options = Options { replications: Some(2), jobs: Some(jobs), ..Options::default() };
            run(&scenarios, &options, &Control::default()).unwrap()
        });
        for (one, two) in one.iter().zip(&two) {
            same(&all_tables(), one, two, one.scenario.scheme.name())?;
        }
    }

    /// Three replications begin five.
    #[test]
    fn replications_are_a_prefix(case in case()) {
        for scheme in schemes() {
            let text = with_scheme(&case.plain(), scheme);
            let [three, five] = [3, 5].map(|replications| outcome_of(&text, &[], replications, 2));
            for name in all_tables() {
                let first: Vec<Row> = rows(&five, name).into_iter().filter(|row| row["replication"].as_str() < "3").collect();
                compare(&rows(&three, name), &first, &format!("{scheme}: {name}"))?;
            }
        }
    }

    /// A run half as long again, up to the end of the shorter one.
    #[test]
    fn a_longer_run_begins_as_the_shorter(case in case()) {
        let longer = format!("duration={} us", case.duration() * 3 / 2);
        let end = case.duration() * 1_000_000;
        for scheme in schemes() {
            let text = with_scheme(&case.plain(), scheme);
            let (short, long) = (once(&text, &[]), once(&text, &[&longer]));
            for name in TRACES {
                // Events of the last instant belong to the longer run alone.
                let before = |outcome| rows_until(outcome, name, end - 1);
                compare(&before(&short), &before(&long), &format!("{scheme}: {name}"))?;
            }
        }
    }

    /// What is written down does not change what happens.
    #[test]
    fn recording_changes_nothing(case in case()) {
        for scheme in schemes() {
            let text = with_scheme(&case.plain(), scheme);
            let plain = once(&text, &[]);
            let without = once(&text, &["record.tables=false"]);
            for ((name, a), (_, b)) in metrics(&plain).into_iter().zip(metrics(&without)) {
                prop_assert_eq!(a.map(f64::to_bits), b.map(f64::to_bits), "{} of {}", name, scheme);
            }
            let finer = once(&text, &["record.queue_every=7 us", "record.rates_every=130 us", "record.queues=*"]);
            same(&["throughput", "messages", "drops", "pauses", "windows", "flows"], &plain, &finer, scheme)?;
        }
    }

    /// All later by whole milliseconds: so are the rows. Samples and bins stand at whole milliseconds, and so do the
    /// intervals in which AF-QCN's ports measure. Ties that are drawn are drawn anew at other instants.
    #[test]
    fn a_later_start_moves_the_rows(case in case(), later in 1..8u64) {
        let later = later * 1000;
        for scheme in schemes() {
            let run =
                |change| once(&with_scheme(&case.star(case.sources, change), scheme), &["ties=port_order"]);
            let (now, then) = (run(AS_IT_IS), run(Change { faster: 1, later }));
            for name in TRACES {
                let from_start = |rows| moved(rows, |ps: u64| ps.checked_sub(later * 1_000_000));
                let (mut a, mut b) = (rows(&now, name), from_start(rows(&then, name)));
                // A bin ends where it stands, so the idle one that ends at the start has no counterpart.
                for both in [&mut a, &mut b] {
                    both.retain(|row| time_ps(row, "time_s") > 0);
                }
                compare(&a, &b, &format!("{scheme} by {later} us: {name}"))?;
            }
        }
    }
}

/// A star as links: the same names of nodes, so the same streams for ports. Flows have other names (`source1->sink`),
/// and so other streams: nothing may be drawn for them, the order of their events at one instant neither.
fn graph(case: &Case, sink_links: &str, switches: &str) -> String {
    format!(
        "{}[topology]\nkind = \"graph\"\nrate = \"{} kb/s\"\n[[link]]\nfrom = \"source{{1..{}}}\"\nto = \"switch\"\n\
         delay = \"{} us\"\n{sink_links}{switches}{}",
        case.head(AS_IT_IS),
        case.kbps(),
        case.sources,
        case.rtt / 2,
        case.run_and_traffic(AS_IT_IS)
    )
}

/// `case` without draws for flows.
fn undrawn(case: &Case) -> Case {
    let offer = match case.offer {
        case::Offer::Saturated | case::Offer::Constant => case.offer,
        _ => case::Offer::Constant,
    };
    Case { jitter: false, offer, ..case.clone() }
}

/// The scheme's table of `text`, with no spread at the reaction point.
fn without_spread(text: &str, scheme: &str) -> String {
    let config = qcnlab_lab::schemes::registry::Config::find(scheme, None).expect("a scheme of the registry");
    let spread = config.rp().fields().iter().any(|field| field.name == "jitter_width");
    let zero = if spread { "[scheme.rp]\njitter_width = 0\n" } else { "" };
    format!("{}{zero}", with_scheme(text, scheme))
}

proptest! {
    #![proptest_config(few())]

    /// Ties are in port order. Drawn ties go by names, so that limiters that wake at one instant (FECN's all do) come in
    /// another order where their flows are called otherwise. Ports and flows have the same numbers in both.
    #[test]
    fn a_star_is_a_graph(case in case()) {
        let case = undrawn(&case);
        let link = format!("[[link]]\nfrom = \"switch\"\nto = \"sink\"\ndelay = \"{} us\"\n", case.rtt / 2);
        let switch = format!("[[switch]]\noutput_buffer = \"{} KB\"\n", case.buffer);
        let as_graph = graph(&case, &link, &switch);
        for scheme in schemes() {
            let [star, graph] =
                [&case.plain(), &as_graph].map(|text| once(&without_spread(text, scheme), &["ties=port_order"]));
            same(&all_tables(), &star, &graph, scheme)?;
        }
    }

    /// The link to the sink becomes two, with a switch between them that has no congestion points. That takes one frame
    /// time more, which the two delays together are shorter; so each frame arrives when it did. Throughput is left out: it
    /// counts frames when they leave the last port, which is another one. Signals that a
    /// destination sends would have a shorter way back, so schemes with a notification point are left out, and with
    /// feedback as frames nothing changes but the way of data.
    #[test]
    fn a_hop_split_in_two(case in case()) {
        let case = undrawn(&case);
        let frame_ns = case.frame * 8_000_000 / case.kbps();
        prop_assume!(frame_ns * case.kbps() == case.frame * 8_000_000);
        let whole = frame_ns + case.rtt * 500;
        let switch = format!("[[switch]]\noutput_buffer = \"{} KB\"\n", case.buffer);
        let switches = format!("[[switch]]\nonly = \"extra\"\ncongestion_points = false\n{switch}");
        let one = format!("[[link]]\nfrom = \"switch\"\nto = \"sink\"\ndelay = \"{whole} ns\"\n");
        let near = case.rtt * 100;
        let two = format!(
            "[[link]]\nfrom = \"switch\"\nto = \"extra\"\ndelay = \"{near} ns\"\n[[link]]\nfrom = \"extra\"\nto = \
             \"sink\"\ndelay = \"{} ns\"\n",
            whole - frame_ns - near
        );
        let port = |text: &str, port: &str| text.replace("port = \"switch->sink\"", &format!("port = \"{port}\""));
        for scheme in schemes() {
            let config = qcnlab_lab::schemes::registry::Config::find(scheme, None).expect("a scheme of the registry");
            if config.notification_point().is_some() {
                continue;
            }
            let no_spread = ["scheme.cp.jitter_width=0"];
            let fixed: &[&str] = if config.cp().fields().iter().any(|f| f.name == "jitter_width") { &no_spread } else { &[] };
            let one = once(&without_spread(&port(&graph(&case, &one, &switch), "switch->sink"), scheme), fixed);
            let two = once(&without_spread(&port(&graph(&case, &two, &switches), "switch->extra"), scheme), fixed);
            for name in ["queues", "rates", "messages", "drops"] {
                let renamed = |outcome| -> Vec<Row> {
                    rows(outcome, name).into_iter().map(|mut row| {
                        if let Some(port) = row.get_mut("port") {
                            *port = port.replace("switch->extra", "switch->sink");
                        }
                        row
                    }).collect()
                };
                compare(&renamed(&one), &renamed(&two), &format!("{scheme}: {name}"))?;
            }
        }
    }

    /// Rates times two and times by two: octets stay as they are, times are halved.
    ///
    /// Exact for what only counts octets: ports and links where an octet takes whole picoseconds, and sources that
    /// no limiter holds back. A limiter's rate is a whole number of bits a second, and a mean of two rates is rounded
    /// down: half of a rounded rate is not the rounded half. So schemes are compared up to the first message, FECN,
    /// which limits from the start, not at all, and the run without a scheme to its end. Ties that are drawn are drawn
    /// anew at other instants.
    #[test]
    fn rates_times_two_are_times_by_two(case in case()) {
        let case = undrawn(&case);
        for scheme in schemes().into_iter().filter(|scheme| *scheme != "fecn") {
            let run = |faster, grids: &[&str]| {
                once(&without_spread(&case.star(case.sources, Change { faster, later: 0 }), scheme), grids)
            };
            let slow = run(1, &["ties=port_order"]);
            let mut grids =
                vec!["ties=port_order", "record.queue_every=50 us", "record.rates_every=500 us", "record.throughput_bin=500 us"];
            // PCN's receivers answer after a period.
            let config = qcnlab_lab::schemes::registry::Config::find(scheme, None).expect("a scheme of the registry");
            if config.rp().fields().iter().any(|field| field.name == "period") {
                grids.push("scheme.rp.period=25 us");
            }
            let fast = run(2, &grids);
            let end = rows(&slow, "messages").first().map_or(u64::MAX, |row| time_ps(row, "time_s"));
            // A row of drops is a bin, which the first message may end in.
            let drops: &[&str] = if end == u64::MAX { &["drops"] } else { &[] };
            for name in ["queues", "messages", "pauses"].iter().chain(drops) {
                let slow = rows_until(&slow, name, end);
                let fast: Vec<Row> = moved(rows(&fast, name), |ps| Some(2 * ps));
                let fast: Vec<Row> = fast.into_iter().filter(|row| time_ps(row, "time_s") <= end).collect();
                compare(&slow, &fast, &format!("{scheme}: {name}"))?;
            }
        }
    }
}
