//! Every documented range of a scenario file: its ends are read, and what lies beyond is refused where it stands.

use super::layout::{SECTIONS, Section, TOP};
use super::{Fault, Scenario, ScenarioError};
use qcnlab_schemes::params::{Field, Kind, ParamError, Value};
use qcnlab_schemes::registry::{Config, catalogue};
use qcnlab_units::{BitRate, Bytes, Span};

/// The least difference between two values of a kind, in base units; more where floating point does not tell these apart.
fn step(kind: Kind, near: f64) -> f64 {
    match kind {
        Kind::Number => (near.abs() * 1e-9).max(1e-9),
        _ => (near.abs() * 1e-12).round().max(1.0),
    }
}

/// A value in base units as a file writes it; `None` for what the kind cannot hold.
fn written(kind: Kind, x: f64) -> Option<String> {
    let whole = x.fract() == 0.0 && x.abs() < 9e18;
    let sign = if x < 0.0 { "-" } else { "" };
    let units = x.abs() as u64;
    match kind {
        Kind::Size if whole => Some(format!("\"{sign}{}\"", Bytes::new(units))),
        Kind::Rate if whole => Some(format!("\"{sign}{}\"", BitRate::bps(units))),
        Kind::Time if whole => Some(format!("\"{sign}{}\"", Span::from_ps(units))),
        Kind::Number => Some(format!("{x:?}")),
        Kind::Integer if whole => Some(format!("{sign}{units}")),
        _ => None,
    }
}

/// Values at the ends of a field's range, and just beyond: those that are good, and those that are not.
fn ends(field: &Field) -> (Vec<String>, Vec<String>) {
    let range = field.range;
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    if range.min.is_finite() {
        let above = range.min + step(field.kind, range.min);
        let below = range.min - step(field.kind, range.min);
        good.push(if range.min_excluded { above } else { range.min });
        bad.push(if range.min_excluded { range.min } else { below });
    }
    if range.max.is_finite() {
        good.push(range.max);
        bad.push(range.max + step(field.kind, range.max));
    }
    let all = |values: Vec<f64>| values.into_iter().filter_map(|x| written(field.kind, x)).collect();
    (all(good), all(bad))
}

/// A value of a field that must be there.
fn sample(field: &Field) -> String {
    match field.kind {
        Kind::Text => "\"1\"".to_owned(),
        Kind::Flag => "true".to_owned(),
        Kind::Choice(words) => format!("\"{}\"", words[0].name),
        kind => {
            let usual = match kind {
                Kind::Size => 1500.0,
                Kind::Rate => 1e9,
                Kind::Time => 1e9,
                _ => 2.0,
            };
            let x = [usual, field.range.min, field.range.max].into_iter().find(|x| field.range.holds(*x));
            let x = x.unwrap_or_else(|| panic!("no sample of {}", field.name));
            written(kind, x).unwrap_or_else(|| panic!("no sample of {}", field.name))
        }
    }
}

/// A scenario whose table of `section` has `field` set to `value`, in a line that is found again.
fn text(section: &Section, kinds: &[usize], field: &Field, value: &str) -> (String, usize) {
    let mut table = Vec::new();
    for (key, kind) in section.kinds.iter().zip(kinds) {
        table.push(format!("{} = \"{}\"", key.key, key.choices[*kind].name));
    }
    for each in section.fields_of(kinds) {
        if each.name == field.name {
            table.push(format!("{} = {value}", each.name));
        } else if !each.optional && each.fallback.is_none() {
            table.push(format!("{} = {}", each.name, sample(each)));
        }
    }
    let parts = [
        ("", "duration = \"10 ms\"".to_owned()),
        ("topology", "kind = \"star\"\nsources = 2\nrate = \"10 Gb/s\"\nrtt = \"10 us\"\nbuffer = \"1 GB\"".to_owned()),
        ("traffic", "arrivals = \"saturated\"\nframe = \"1500 B\"".to_owned()),
        ("scheme", "name = \"qcn\"".to_owned()),
    ];
    let mut text = String::new();
    for (name, usual) in parts {
        let body = if name == section.name { table.join("\n") } else { usual };
        let header = match name {
            "" => String::new(),
            "traffic" => "[[traffic]]\n".to_owned(),
            name => format!("[{name}]\n"),
        };
        text += &format!("{header}{body}\n");
    }
    if !parts_have(section.name) {
        let header = if section.list { format!("[[{}]]", section.name) } else { format!("[{}]", section.name) };
        text += &format!("{header}\n{}\n", table.join("\n"));
    }
    let wanted = format!("{} = {value}", field.name);
    let line = text.lines().position(|line| line == wanted).unwrap_or_else(|| panic!("{wanted} is not in\n{text}"));
    (text, line + 1)
}

fn parts_have(name: &str) -> bool {
    ["", "topology", "traffic", "scheme"].contains(&name)
}

/// Whether an error says that a value is outside its field's range, or is a quantity that cannot be below zero.
fn out_of_range(error: &ScenarioError) -> bool {
    matches!(error.fault(), Fault::Value(ParamError::Range { .. } | ParamError::Unit(_) | ParamError::Kind { .. }))
}

#[test]
fn every_range_of_a_table_is_kept() {
    let mut checked = 0;
    for section in std::iter::once(&TOP).chain(SECTIONS) {
        for kinds in section.combinations() {
            for field in section.fields_of(&kinds) {
                let (good, bad) = ends(field);
                let name = format!("{} {kinds:?} {}", section.name, field.name);
                for value in &bad {
                    let (text, line) = text(section, &kinds, field, value);
                    let error = Scenario::parse(&text, "ranges.toml").err();
                    let error = error.unwrap_or_else(|| panic!("{name} = {value} is not refused"));
                    assert!(out_of_range(&error), "{name} = {value}: {error}\n{text}");
                    assert_eq!(error.line(), Some(line), "{name} = {value}: {error}");
                    checked += 1;
                }
                for value in &good {
                    let (text, line) = text(section, &kinds, field, value);
                    // A warm-up beyond the run is refused before a network of a million hosts is built.
                    let (text, line) = if section.name.is_empty() {
                        (text, line)
                    } else {
                        (format!("warmup = \"1 s\"\n{text}"), line + 1)
                    };
                    if let Err(error) = Scenario::parse(&text, "ranges.toml") {
                        let refused = out_of_range(&error) && error.line() == Some(line);
                        assert!(!refused, "{name} = {value}: {error}");
                    }
                }
            }
        }
    }
    assert!(checked > 100, "{checked} values beyond a range");
}

#[test]
fn every_range_of_a_scheme_is_kept() {
    let hotspot = "duration = \"10 ms\"\n[topology]\nkind = \"star\"\nsources = 2\nrate = \"10 Gb/s\"\nrtt = \"10 us\"\nbuffer = \"1 GB\"\n\
                   [[traffic]]\narrivals = \"saturated\"\nframe = \"1500 B\"\n";
    let mut checked = 0;
    for listing in catalogue() {
        let config = Config::find(listing.name, None).expect("it is listed");
        for (table, fields) in [("cp", config.cp().fields()), ("rp", config.rp().fields())] {
            for field in fields {
                let (good, bad) = ends(field);
                let parse = |value: &str| {
                    let scheme = format!("[scheme]\nname = \"{}\"\n[scheme.{table}]\n", listing.name);
                    Scenario::parse(&format!("{hotspot}{scheme}{} = {value}\n", field.name), "ranges.toml")
                };
                let name = format!("{} {table} {}", listing.name, field.name);
                for value in bad {
                    let error = parse(&value).err().unwrap_or_else(|| panic!("{name} = {value} is not refused"));
                    assert!(out_of_range(&error) && error.line() == Some(14), "{name} = {value}: {error}");
                    checked += 1;
                }
                for value in good {
                    let error = parse(&value).err();
                    assert!(!error.as_ref().is_some_and(out_of_range), "{name} = {value}: {error:?}");
                }
                // A preset's own values are within.
                let preset = config.clone();
                let held = |value: Value| match value {
                    Value::Size(x) => field.range.holds(x.as_f64()),
                    Value::Rate(x) => field.range.holds(x.as_f64()),
                    Value::Time(x) => field.range.holds(x.ps() as f64),
                    Value::Number(x) => field.range.holds(x),
                    Value::Integer(x) => field.range.holds(x as f64),
                    Value::Flag(_) | Value::Text(_) => true,
                };
                let own = if table == "cp" { preset.cp() } else { preset.rp() };
                let index = own.fields().iter().position(|each| each.name == field.name).expect("it is a field");
                assert!(own.get(index).is_none_or(held), "{name}");
            }
        }
    }
    assert!(checked > 200, "{checked} values beyond a range");
}
