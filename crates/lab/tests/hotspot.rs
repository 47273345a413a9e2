//! Every scheme and preset of the registry through one standard hotspot: the table of what comes out.
//!
//! The hotspot is deck 001's at RTT 40 us, for half a second, medians of three replications. `hotspot.txt` holds the table as it was
//! accepted; a difference means "changed", never "right", and needs a line under **Changed results**.

use qcnlab_lab::{Control, METRICS, Options, Outcome, run};
use qcnlab_scenario::Scenario;
use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_units::Bytes;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const COLUMNS: [&str; 9] = [
    "rec95_ms",
    "onset_ms",
    "util_during",
    "util_after",
    "drops",
    "queue_mean_bytes",
    "queue_std_bytes",
    "messages",
    "jain",
];
const REPLICATIONS: u32 = 3;
/// Presets that steer to more than this buffer holds get the larger one.
const BUFFERS: [(&str, u64); 2] = [("150 KB", 150_000), ("1.5 MB", 1_500_000)];

/// One scenario for each preset, with the buffer it needs.
fn scenarios() -> Vec<(String, String, &'static str, Scenario)> {
    let shipped = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt10us").unwrap();
    let mut all = Vec::new();
    for listing in catalogue() {
        for preset in &listing.presets {
            let config = Config::find(listing.name, Some(preset.name)).unwrap();
            // What hears of acknowledgements has none to hear of here.
            if !config.events().is_empty() {
                continue;
            }
            let set_point = config.set_point();
            let large = set_point.is_some_and(|octets| octets >= Bytes::new(BUFFERS[0].1));
            let buffer = BUFFERS[usize::from(large)].0;
            let overrides = [
                "topology.rtt=40us".to_owned(),
                format!("topology.buffer={buffer}"),
                format!("scheme.name={}", listing.name),
                format!("scheme.preset={}", preset.name),
                "record.tables=false".to_owned(),
                "warmup=100 ms".to_owned(),
                "hotspot.from=200 ms".to_owned(),
                "hotspot.until=700 ms".to_owned(),
                "duration=1250 ms".to_owned(),
            ];
            let scenario = shipped.with_overrides(&overrides).unwrap();
            all.push((listing.name.to_owned(), preset.name.to_owned(), buffer, scenario));
        }
    }
    all
}

/// A median to four digits; a dash where it is none.
fn cell(outcome: &Outcome, metric: &str) -> String {
    let index = METRICS.iter().position(|known| known.name == metric).unwrap();
    let mut values: Vec<f64> = outcome.replications.iter().map(|r| r.metrics[index].unwrap_or(f64::INFINITY)).collect();
    values.sort_unstable_by(f64::total_cmp);
    match values[values.len() / 2] {
        x if x.is_infinite() => "-".to_owned(),
        x if x.abs() >= 1000.0 => format!("{x:.0}"),
        x if x.fract() == 0.0 => format!("{x}"),
        x => format!("{x:.*}", (3 - x.abs().log10().floor() as i32).clamp(0, 3) as usize),
    }
}

fn table() -> String {
    let all = scenarios();
    let options = Options { replications: Some(REPLICATIONS), ..Options::default() };
    let runs: Vec<Scenario> = all.iter().map(|(.., scenario)| scenario.clone()).collect();
    let outcomes = run(&runs, &options, &Control::default()).unwrap();
    let mut rows = vec![["scheme", "preset", "buffer"].iter().chain(&COLUMNS).map(|word| (*word).to_owned()).collect()];
    for ((scheme, preset, buffer, _), outcome) in all.iter().zip(&outcomes) {
        let mut row = vec![scheme.clone(), preset.clone(), (*buffer).to_owned()];
        row.extend(COLUMNS.iter().map(|metric| cell(outcome, metric)));
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row: &Vec<String>| row[column].len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            0..=2 => format!("{cell:<0$}", width(column)),
            _ => format!("{cell:>0$}", width(column)),
        });
        writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end()).unwrap();
    }
    text
}

#[test]
fn the_table_is_as_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hotspot.txt");
    let now = table();
    if env::var_os("QCNLAB_BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let accepted = fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<String> = now
        .lines()
        .filter(|line| !accepted.lines().any(|known| known == *line))
        .map(|line| format!("  now {line}"))
        .chain(accepted.lines().filter(|line| !now.lines().any(|l| l == *line)).map(|line| format!("  was {line}")))
        .collect();
    assert!(
        changed.is_empty() && accepted == now,
        "rows have changed; if they may, accept them with\n  QCNLAB_BLESS=1 cargo test --release -p qcnlab-lab --test \
         hotspot\n{}",
        changed.join("\n")
    );
}
