//! From a scenario back to text: every key, every unit, in the order of the tables.

use super::devices::PauseKind;
use super::entry::Draw;
use super::fields::values;
use super::layout::{
    ADAPTER, DEFENCE, DOMAIN, FAILURE, FEEDBACK, HOTSPOT, LINK, PAUSE, PAUSE_STORM, RECORD, ROUTE, ROUTING,
    SHARED_BUFFER, SWITCH, Section, TOP, TOPOLOGY, TRAFFIC, WATCHDOG, WRED,
};
use super::types::Scenario;
use crate::quantity::seconds;
use hmac_sha256::Hash;
use qcnlab_schemes::params::{Fallback, Field, Scalar, Table, Value as Parameter, Variants};
use qcnlab_schemes::registry::Config;
use qcnlab_sim::PauseRule;
use serde_json::{Map, Value};
use std::fmt::Write;

/// Keys that do not count in the hash: text for people, and what a caller may choose for each run.
const NOT_HASHED: [&str; 5] = ["title", "about", "source", "replications", "seed"];

/// Keys that count in the hash only when they differ from their default: a scenario that does not know them
/// and one that says the default are the same run.
const HASHED_IF_SET: [(&Section, &[&str]); 4] = [
    (&TOP, &["drain"]),
    (&TRAFFIC, &["spread", "priority"]),
    (&FEEDBACK, &["priority"]),
    (&RECORD, &["recovery_hold", "rec95s_hold", "onset_hold", "waits"]),
];

impl Scenario {
    /// Returns the scenario as TOML with every key and unit written out. Reading it gives an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        print_table(&mut text, "", &self.tree());
        self.print_watermarks(&mut text);
        text
    }

    /// Append, as comments, the watermarks at which nodes pause and the headroom above them, which follow from
    /// `[[pause]]`, the memories and the links.
    fn print_watermarks(&self, text: &mut String) {
        if self.pauses.iter().all(|pause| pause.kind == PauseKind::None) {
            return;
        }
        let draw = Draw { seed: self.seed, replication: 0 };
        let Ok(resolved) = self.resolve(draw) else { unreachable!("a checked scenario can be resolved") };
        let mut levels: Vec<(String, Vec<&str>)> = Vec::new();
        for (node, level) in resolved.watermarks(self) {
            match levels.iter_mut().find(|(known, _)| *known == level) {
                Some((_, nodes)) => nodes.push(node),
                None => levels.push((level, vec![node])),
            }
        }
        if !levels.is_empty() {
            put(
                text,
                format_args!(
                    "\n# Derived watermarks, for each link into a node and each class that stops by itself:\n"
                ),
            );
        }
        for (level, nodes) in levels {
            put(text, format_args!("# {level} at {}\n", nodes.join(", ")));
        }
        if resolved.pauses.iter().flatten().any(|plan| !matches!(plan.rule, PauseRule::Watermarks { .. })) {
            put(text, format_args!("\n# Derived headroom, for each such link and class:\n"));
            self.headrooms().iter().for_each(|line| put(text, format_args!("# {line}\n")));
        }
    }

    /// Returns the scenario as JSON, of the same shape as the TOML.
    pub fn to_json(&self) -> String {
        Value::Object(self.tree()).to_string()
    }

    /// The resolved scenario as JSON in base units: sizes in octets, rates in bit/s, times in s, all as numbers.
    pub fn to_base_json(&self) -> String {
        Value::Object(self.tree_as(base_json)).to_string()
    }

    /// Returns the value of a dotted key of the resolved scenario as JSON, if it has one. In a list of one entry the
    /// number of the entry may be left out.
    pub fn value(&self, key: &str) -> Option<String> {
        let steps: Vec<&str> = key.split('.').map(str::trim).collect();
        let tree = Value::Object(self.tree());
        value_at(&tree, &steps).map(Value::to_string)
    }

    /// 64 hex digits over the resolved scenario and the version of this crate;
    /// words for people, the seed and the number of replications do not count. Of a scheme from outside its
    /// fingerprint counts.
    pub fn hash(&self) -> String {
        let mut tree = self.tree();
        tree.retain(|key, _| !NOT_HASHED.contains(&&**key));
        forget_files(&mut tree);
        let mut tree = Value::Object(tree);
        for (section, keys) in HASHED_IF_SET {
            let table = if section.name.is_empty() { Some(&mut tree) } else { tree.get_mut(section.name) };
            if let Some(value) = table {
                forget_defaults(value, section, keys);
            }
        }
        let mut text = format!("{}\n{tree}", env!("CARGO_PKG_VERSION"));
        if let Config::Foreign(scheme) = &self.scheme {
            text.push('\n');
            text.push_str(scheme.fingerprint());
        }
        Hash::hash(text.as_bytes()).iter().map(|octet| format!("{octet:02x}")).collect()
    }

    /// The resolved scenario as a tree. Lists without entries, `[[pause]]` that never pauses, and `[routing]`
    /// at its default are left out; one `[pause]` stands as a table.
    pub(crate) fn tree(&self) -> Map<String, Value> {
        self.tree_as(json)
    }

    /// The same with each value as `form` writes it.
    fn tree_as(&self, form: Form) -> Map<String, Value> {
        let rows = |fields: &[Field], values: Vec<Option<Parameter>>| rows(fields, values, form);
        let mut tree = rows(TOP.fields, values(self));
        tree.insert(TOPOLOGY.name.to_owned(), tagged("kind", &self.topology, form).into());
        insert_list(&mut tree, &LINK, &self.links, form);
        insert_list(&mut tree, &SWITCH, &self.switches, form);
        if !self.shared_buffers.is_empty() {
            let entries = self.shared_buffers.iter().map(|shared| {
                let mut entry = tagged("kind", &shared.kind, form);
                entry.extend(rows(SHARED_BUFFER.fields, values(shared)));
                Value::Object(entry)
            });
            tree.insert(SHARED_BUFFER.name.to_owned(), entries.collect());
        }
        insert_list(&mut tree, &WRED, &self.wreds, form);
        insert_list(&mut tree, &ADAPTER, &self.adapters, form);
        match &self.pauses[..] {
            pauses if pauses.iter().all(|pause| pause.kind == PauseKind::None) => {}
            [alone] => drop(tree.insert(PAUSE.name.to_owned(), rows(PAUSE.fields, values(alone)).into())),
            several => insert_list(&mut tree, &PAUSE, several, form),
        }
        insert_list(&mut tree, &WATCHDOG, &self.watchdogs, form);
        let routing = rows(ROUTING.fields, values(&self.routing));
        if !is_default(&routing, ROUTING.fields) {
            tree.insert(ROUTING.name.to_owned(), routing.into());
        }
        insert_list(&mut tree, &ROUTE, &self.routes, form);
        if let Some(domain) = &self.domain {
            tree.insert(DOMAIN.name.to_owned(), rows(DOMAIN.fields, values(domain)).into());
        }
        insert_list(&mut tree, &DEFENCE, &self.defences, form);
        let traffic = self.traffic.iter().map(|traffic| {
            let mut entry = tagged("arrivals", &traffic.arrivals, form);
            entry.extend(tagged("transport", &traffic.transport, form));
            entry.extend(rows(TRAFFIC.fields, values(traffic)));
            Value::Object(entry)
        });
        tree.insert(TRAFFIC.name.to_owned(), traffic.collect());
        insert_list(&mut tree, &HOTSPOT, &self.hotspots, form);
        insert_list(&mut tree, &FAILURE, &self.failures, form);
        insert_list(&mut tree, &PAUSE_STORM, &self.pause_storms, form);
        tree.insert(FEEDBACK.name.to_owned(), tagged("kind", &self.feedback, form).into());
        tree.insert("scheme".to_owned(), scheme_tree(&self.scheme, form).into());
        tree.insert(RECORD.name.to_owned(), rows(RECORD.fields, values(&self.record)).into());
        tree
    }
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Scenario) -> bool {
        self.tree() == other.tree()
    }
}

fn value_at<'a>(tree: &'a Value, steps: &[&str]) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(tree) };
    match tree {
        Value::Object(table) => value_at(table.get(*step)?, rest),
        Value::Array(entries) => match (step.parse::<usize>(), &entries[..]) {
            (Ok(entry), _) => value_at(entries.get(entry)?, rest),
            (Err(_), [alone]) => value_at(alone, steps),
            _ => None,
        },
        _ => None,
    }
}

fn scheme_tree(config: &Config, form: Form) -> Map<String, Value> {
    let mut scheme = Map::new();
    scheme.insert("name".to_owned(), config.name().into());
    if let Config::Foreign(foreign) = config {
        let parameters = foreign.parameters();
        for (key, set) in [("cp", &parameters.cp), ("rp", &parameters.rp)] {
            if !set.is_empty() {
                let rows = set.iter().map(|(key, value)| (key.clone(), json_scalar(value)));
                scheme.insert(key.to_owned(), Value::Object(rows.collect()));
            }
        }
        return scheme;
    }
    scheme.insert("preset".to_owned(), config.preset().into());
    let preset = Config::find(config.name(), Some(config.preset()));
    let preset = preset.unwrap_or_else(|_| unreachable!("a scenario's scheme has its preset"));
    for (key, table, preset) in [("cp", config.cp(), preset.cp()), ("rp", config.rp(), preset.rp())] {
        if !table.fields().is_empty() {
            let mut set = rows(table.fields(), values(table), form);
            let unset = |(index, _): &(usize, &Field)| table.get(*index).is_none() && preset.get(*index).is_some();
            for (_, field) in table.fields().iter().enumerate().filter(unset) {
                set.insert(field.name.to_owned(), Field::UNSET.into());
            }
            scheme.insert(key.to_owned(), set.into());
        }
    }
    scheme
}

fn json_scalar(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Text(text) => text.as_str().into(),
        Scalar::Integer(n) => (*n).into(),
        Scalar::Real(x) => (*x).into(),
        Scalar::Flag(b) => (*b).into(),
    }
}

fn insert_list<T: Table>(tree: &mut Map<String, Value>, section: &Section, list: &[T], form: Form) {
    if !list.is_empty() {
        let entries = list.iter().map(|entry| Value::Object(rows(section.fields, values(entry), form)));
        tree.insert(section.name.to_owned(), entries.collect());
    }
}

/// Takes the names of captures out of the traffic: their digests say which they are, wherever they lie.
fn forget_files(tree: &mut Map<String, Value>) {
    let entries = tree.get_mut(TRAFFIC.name).and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
        if entry.contains_key("sha256") {
            entry.shift_remove("file");
        }
    }
}

/// Whether a table holds what its fields fall back to.
fn is_default(table: &Map<String, Value>, fields: &[Field]) -> bool {
    fields.iter().all(|field| holds_default(table, field))
}

fn holds_default(table: &Map<String, Value>, field: &Field) -> bool {
    let Some(value) = table.get(field.name) else { return true };
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    field.fallback.is_some_and(|fallback| matches!(fallback, Fallback::Text(text) if text == shown))
}

/// Takes `keys` out of a table, or of each of a list, where they hold their default.
fn forget_defaults(value: &mut Value, section: &Section, keys: &[&str]) {
    let fields: Vec<&Field> = section.all_fields().filter(|field| keys.contains(&field.name)).collect();
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(|entry| forget_defaults(entry, section, keys)),
        Value::Object(table) => {
            for field in fields {
                if holds_default(table, field) {
                    table.shift_remove(field.name);
                }
            }
        }
        _ => {}
    }
}

/// The fields of a kind, below the key that names it.
fn tagged<T: Variants>(key: &str, variant: &T, form: Form) -> Map<String, Value> {
    let word = variant.word();
    let mut map = Map::new();
    map.insert(key.to_owned(), word.into());
    let fields = T::CHOICES.iter().position(|c| c.name == word).map_or(&[][..], |i| T::FIELDS[i]);
    map.extend(rows(fields, variant.values(), form));
    map
}

fn rows(fields: &[Field], values: Vec<Option<Parameter>>, form: Form) -> Map<String, Value> {
    let set = fields.iter().zip(values).filter_map(|(field, value)| Some((field.name.to_owned(), form(&value?))));
    set.collect()
}

/// How a value is written: [`json`] or [`base_json`].
type Form = fn(&Parameter) -> Value;

/// A value in base units: sizes in octets, rates in bit/s, times in s; everything else as [`json`] has it.
pub(crate) fn base_json(value: &Parameter) -> Value {
    match value {
        Parameter::Size(size) => Value::from(size.get()),
        Parameter::Rate(rate) => Value::from(rate.get()),
        Parameter::Time(span) => Value::from(seconds(*span)),
        other => json(other),
    }
}

/// A value as JSON and TOML hold it: quantities as text with their unit, whole numbers without a point.
pub(crate) fn json(value: &Parameter) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Parameter::Number(x) if x.fract() == 0.0 && x.abs() < EXACT => Value::from(*x as i64),
        Parameter::Number(x) => Value::from(*x),
        Parameter::Integer(x) => Value::from(*x),
        Parameter::Flag(x) => Value::from(*x),
        text => Value::from(text.to_string()),
    }
}

fn print_table(text: &mut String, path: &str, table: &Map<String, Value>) {
    let below = |key: &str| super::layout::dotted(path, key);
    for (key, value) in table {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            put(text, format_args!("{key} = {}\n", toml_scalar(value)));
        }
    }
    for (key, value) in table {
        let path = below(key);
        match value {
            Value::Object(inner) => {
                put(text, format_args!("\n[{path}]\n"));
                print_table(text, &path, inner);
            }
            Value::Array(items) => {
                for inner in items.iter().filter_map(Value::as_object) {
                    put(text, format_args!("\n[[{path}]]\n"));
                    print_table(text, &path, inner);
                }
            }
            _ => {}
        }
    }
}

/// Appends to a text, which cannot fail.
fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).unwrap_or_else(|_| unreachable!("a String takes any text"));
}

/// A JSON scalar is a TOML scalar, but for the one control character JSON leaves bare.
fn toml_scalar(value: &Value) -> String {
    value.to_string().replace('\u{7f}', "\\u007F")
}
