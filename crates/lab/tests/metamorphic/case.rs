//! Random legal scenarios as text, and the rows of their tables.

use proptest::prelude::*;
use qcnlab_lab::schemes::registry::{Config, catalogue};
use qcnlab_lab::{Control, Data, Options, Outcome, TABLES, run};
use qcnlab_scenario::Scenario;
use std::collections::BTreeMap;

/// How sources offer frames.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    Saturated,
    Constant,
    Poisson,
    OnOff,
}

/// A star with a hotspot. Times are in microseconds; a run carries about 40 Mbit.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) sources: u32,
    /// Rate of the links, in units of 500 Mb/s, so that an octet takes whole picoseconds at this rate and at twice it.
    pub(crate) rate: u64,
    pub(crate) frame: u64,
    pub(crate) rtt: u64,
    pub(crate) buffer: u64,
    pub(crate) offer: Offer,
    /// The hotspot's rate, as a divisor of the links' rate.
    pub(crate) slower: u64,
    /// Microseconds by which each further source starts later.
    pub(crate) stagger: u64,
    /// Whether starts are drawn.
    pub(crate) jitter: bool,
    /// Whether feedback travels as frames.
    pub(crate) frames: bool,
    pub(crate) seed: u64,
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let rate = prop_oneof![Just(2u64), Just(5), Just(20)];
    let frame = prop_oneof![Just(1500u64), Just(500), Just(4000), 64..9000u64];
    let offer = prop_oneof![
        2 => Just(Offer::Saturated),
        1 => Just(Offer::Constant),
        1 => Just(Offer::Poisson),
        1 => Just(Offer::OnOff)
    ];
    let network = (2..5u32, rate, frame, 1..150u64, 40..300u64);
    let traffic = (offer, prop_oneof![Just(2u64), Just(5), Just(20)], 0..40u64);
    (network, traffic, any::<(bool, bool)>(), 0..1000u64).prop_map(
        |((sources, rate, frame, rtt, buffer), (offer, slower, stagger), (jitter, frames), seed)| {
            let rtt = 2 * rtt;
            Case { sources, rate, frame, rtt, buffer, offer, slower, stagger, jitter, frames, seed }
        },
    )
}

/// What a check changes about a scenario: every rate times `faster`, every time by it, then `later` microseconds on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) faster: u64,
    pub(crate) later: u64,
}

pub(crate) const AS_IT_IS: Change = Change { faster: 1, later: 0 };

impl Case {
    /// Microseconds that a run lasts.
    pub(crate) fn duration(&self) -> u64 {
        80_000 / self.rate
    }

    /// The rate of the links, in kb/s.
    pub(crate) fn kbps(&self) -> u64 {
        self.rate * 500_000
    }

    /// All but topology, switches and scheme.
    pub(crate) fn run_and_traffic(&self, change: Change) -> String {
        let Change { faster, later } = change;
        let time = |us: u64| format!("\"{} ns\"", us * 1000 / faster + later * 1000);
        let span = |us: u64| format!("\"{} ns\"", us * 1000 / faster);
        let offered = self.kbps() * faster * 4 / 5;
        let offer = match self.offer {
            Offer::Saturated => "arrivals = \"saturated\"".to_owned(),
            Offer::Constant => format!("arrivals = \"constant\"\nrate = \"{offered} kb/s\""),
            Offer::Poisson => format!("arrivals = \"poisson\"\nrate = \"{offered} kb/s\""),
            Offer::OnOff => format!(
                "arrivals = \"on_off\"\nrate = \"{} kb/s\"\non = {}\noff = {}",
                self.kbps() * faster,
                span(self.duration() / 10),
                span(self.duration() / 20)
            ),
        };
        let jitter = if self.jitter { format!("start_jitter = {}\n", span(12)) } else { String::new() };
        let feedback = if self.frames { "[feedback]\nkind = \"frames\"\n" } else { "" };
        format!(
            "[[traffic]]\n{offer}\nfrom = \"source{{1..{}}}\"\nto = \"sink\"\nframe = \"{} B\"\nstart = {}\n\
             stagger = {}\n{jitter}\n[[hotspot]]\nport = \"switch->sink\"\nfrom = {}\nuntil = {}\nrate = \"{} kb/s\"\n\
             {feedback}\n",
            self.sources,
            self.frame,
            time(0),
            span(self.stagger),
            time(self.duration() / 5),
            time(self.duration() * 3 / 5),
            self.kbps() * faster / self.slower,
        )
    }

    /// The keys before the first table.
    pub(crate) fn head(&self, change: Change) -> String {
        let ns = self.duration() * 1000 / change.faster + change.later * 1000;
        format!("duration = \"{ns} ns\"\nwarmup = \"{} us\"\nseed = {}\n", change.later, self.seed)
    }

    /// A star of `hosts` sources.
    pub(crate) fn star(&self, hosts: u32, change: Change) -> String {
        format!(
            "{}[topology]\nkind = \"star\"\nsources = {hosts}\nrate = \"{} kb/s\"\nrtt = \"{} ns\"\nbuffer = \"{} KB\"\n{}",
            self.head(change),
            self.kbps() * change.faster,
            self.rtt * 1000 / change.faster,
            self.buffer,
            self.run_and_traffic(change)
        )
    }

    /// The star as it is.
    pub(crate) fn plain(&self) -> String {
        self.star(self.sources, AS_IT_IS)
    }
}

/// Every scheme of the registry whose first preset hears of no acknowledgements, which the traffic here has not.
pub(crate) fn schemes() -> Vec<&'static str> {
    let hears = |name| !Config::find(name, None).expect("it is listed").events().is_empty();
    catalogue().iter().map(|listing| listing.name).filter(|name| !hears(name)).collect()
}

/// The text with a scheme, written down as finely whatever its duration.
pub(crate) fn with_scheme(text: &str, scheme: &str) -> String {
    let record = "[record]\nrates_every = \"1 ms\"\nthroughput_bin = \"1 ms\"\n";
    format!("{text}[scheme]\nname = \"{scheme}\"\n{record}")
}

pub(crate) fn scenario(text: &str, overrides: &[&str]) -> Scenario {
    let read = Scenario::parse(text, "case.toml").and_then(|scenario| scenario.with_overrides(overrides));
    read.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub(crate) fn outcome_of(text: &str, overrides: &[&str], replications: u32, jobs: usize) -> Outcome {
    let options = Options { replications: Some(replications), jobs: Some(jobs), ..Options::default() };
    let outcomes = run(&[scenario(text, overrides)], &options, &Control::default());
    outcomes.unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0)
}

/// One run on one thread.
pub(crate) fn once(text: &str, overrides: &[&str]) -> Outcome {
    outcome_of(text, overrides, 1, 1)
}

/// A row of a table: the columns' values as text, times in picoseconds.
pub(crate) type Row = BTreeMap<&'static str, String>;

/// The rows of a table. Flows are called as a star calls them: `source1`, not `source1->sink`.
pub(crate) fn rows(outcome: &Outcome, name: &str) -> Vec<Row> {
    let table = outcome.table(name).unwrap();
    let mut rows = vec![Row::new(); table.rows];
    for column in &table.columns {
        let time = ["time_s", "until_s", "last_s", "start_s", "finished_s"].contains(&column.name);
        let real = |x: f64| if time { format!("{} ps", (x * 1e12).round()) } else { format!("{x:e}") };
        let text: Vec<String> = match &column.data {
            Data::U32(values) => values.iter().map(u32::to_string).collect(),
            Data::U64(values) => values.iter().map(u64::to_string).collect(),
            Data::OptionalI64(values) => values.iter().map(|x| format!("{x:?}")).collect(),
            Data::OptionalI32(values) => values.iter().map(|x| format!("{x:?}")).collect(),
            Data::F64(values) => values.iter().map(|x| real(*x)).collect(),
            Data::OptionalF64(values) => values.iter().map(|x| x.map_or("none".to_owned(), real)).collect(),
            Data::Word(values, words) => {
                let word = |i: &u32| words[*i as usize].to_owned();
                let flow =
                    |text: String| text.strip_prefix("source").and(text.strip_suffix("->sink")).map(str::to_owned);
                values.iter().map(word).map(|text| flow(text.clone()).unwrap_or(text)).collect()
            }
        };
        for (row, text) in rows.iter_mut().zip(text) {
            row.insert(column.name, text);
        }
    }
    rows
}

/// The time of a row, in picoseconds.
pub(crate) fn time_ps(row: &Row, column: &str) -> u64 {
    let text = row[column].strip_suffix(" ps").expect("a time");
    text.parse::<f64>().expect("a number") as u64
}

/// Tables of what happened, row by row in time.
pub(crate) const TRACES: &[&str] = &["queues", "rates", "throughput", "messages", "drops", "pauses", "windows"];

/// The first difference between two lists of rows, as a message.
pub(crate) fn first_difference(a: &[Row], b: &[Row]) -> Option<String> {
    if let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) {
        return Some(format!("row {at}:\n  {:?}\n  {:?}", a[at], b[at]));
    }
    (a.len() != b.len()).then(|| format!("{} rows and {}", a.len(), b.len()))
}

/// Fails unless the tables `names` of both outcomes are the same.
pub(crate) fn same(names: &[&str], a: &Outcome, b: &Outcome, what: &str) -> Result<(), TestCaseError> {
    for name in names {
        compare(&rows(a, name), &rows(b, name), &format!("{what}: {name}"))?;
    }
    Ok(())
}

pub(crate) fn compare(a: &[Row], b: &[Row], what: &str) -> Result<(), TestCaseError> {
    match first_difference(a, b) {
        None => Ok(()),
        Some(difference) => Err(TestCaseError::fail(format!("{what}: {difference}"))),
    }
}

pub(crate) fn all_tables() -> Vec<&'static str> {
    TABLES.to_vec()
}
