//! From a document to a scenario: checks every key, reads every value, fills in every default.

mod reread;

pub(crate) use reread::reread;

use super::check;
use super::counts::Counts;
use super::devices::{Adapters, Pause, Route, Routing, Switches, Watchdog, Wred};
use super::document::{Content, Document, DocumentEntry, DocumentNode, scalar};
use super::domain::{Defence, Domain};
use super::error::ScenarioError;
use super::fault::Fault;
use super::fineness;
use super::incidents::{Failure, PauseStorm};
use super::layout::{
    self, ADAPTER, DEFENCE, DOMAIN, FAILURE, FEEDBACK, HOTSPOT, KindKey, LINK, PAUSE, PAUSE_STORM, RECORD, ROUTE,
    ROUTING, SCHEME_KEYS, SECTIONS, SHARED_BUFFER, SWITCH, Section, TOP, TOPOLOGY, TRAFFIC, WATCHDOG, WRED,
};
use super::position::Position;
use super::renamed::{former_kind, renamed};
use super::shapes::{Links, Topology};
use super::shared_buffer::{SharedBuffer, SharedBufferKind};
use super::types::{Feedback, Hotspot, Record, Scenario, Traffic};
use crate::foreign;
use qcnlab_schemes::foreign::{Parameters, quantity};
use qcnlab_schemes::params::{Choice, Fallback, Field, Kind, ParamError, Scalar, Table, Value, Variants};
use qcnlab_schemes::registry::{Config, Unknown, catalogue};
use qcnlab_units::nearest;
use qcnlab_units::{BitRate, Bytes, Span};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Reads and checks a whole document.
pub(crate) fn read_and_check(document: Arc<Document>) -> Result<Scenario, ScenarioError> {
    let mut scenario = read_unchecked(&document)?;
    scenario.counts = check::check(&scenario)?;
    scenario.hotspots.sort_by_key(|hotspot| hotspot.from);
    Ok(scenario)
}

/// Reads a whole document and checks each value by itself.
pub(crate) fn read_unchecked(document: &Arc<Document>) -> Result<Scenario, ScenarioError> {
    let mut scenario = Reader { document }.scenario(document)?;
    check::load(&mut scenario)?;
    Ok(scenario)
}

struct Reader<'a> {
    document: &'a Document,
}

/// One table's values: of each key that tells its kinds apart the word and the values of that kind's fields, and the values
/// that all kinds have.
struct TableValues {
    kinds: std::vec::IntoIter<(&'static str, Vec<Option<Value>>)>,
    common: Vec<Option<Value>>,
}

impl TableValues {
    /// Returns the next of its kinds.
    fn kind<T: Variants>(&mut self) -> T {
        let Some((word, own)) = self.kinds.next() else { unreachable!("the section has a key for this kind") };
        T::from_values(word, own)
    }
}

impl Reader<'_> {
    fn scenario(&self, origin: &Arc<Document>) -> Result<Scenario, ScenarioError> {
        let top = self.top()?;
        let topology = self.topology()?;
        let links = self.links()?;
        let switches = self.switches()?;
        let shared_buffers = self.shared_buffers()?;
        let wreds = self.wreds()?;
        let adapters = self.adapters()?;
        let pauses = self.pauses()?;
        let watchdogs = self.watchdogs()?;
        let routing = self.routing()?;
        let routes = self.routes()?;
        let domain = self.domain()?;
        let defences = self.defences()?;
        let traffic = self.traffic()?;
        let hotspots = self.hotspots()?;
        let failures = self.failures()?;
        let pause_storms = self.pause_storms()?;
        let feedback = self.feedback()?;
        let scheme = self.scheme()?;
        let duration = match of("duration", TOP.fields, &top) {
            Some(Value::Time(duration)) => duration,
            other => unreachable!("a duration is a time, not {other:?}"),
        };
        let record = self.record(duration)?;
        let name = stem(&self.document.name);
        let origin = Arc::clone(origin);
        Ok(Scenario::from_values(
            top,
            name,
            topology,
            links,
            switches,
            shared_buffers,
            wreds,
            adapters,
            pauses,
            watchdogs,
            routing,
            routes,
            domain,
            defences,
            traffic,
            hotspots,
            failures,
            pause_storms,
            feedback,
            scheme,
            record,
            Counts::default(),
            origin,
        ))
    }

    fn topology(&self) -> Result<Topology, ScenarioError> {
        self.single(&TOPOLOGY, |mut row| row.kind())
    }

    fn links(&self) -> Result<Vec<Links>, ScenarioError> {
        self.several(&LINK, |row| Links::from_values(row.common))
    }

    fn switches(&self) -> Result<Vec<Switches>, ScenarioError> {
        self.several(&SWITCH, |row| Switches::from_values(row.common))
    }

    fn shared_buffers(&self) -> Result<Vec<SharedBuffer>, ScenarioError> {
        self.several(&SHARED_BUFFER, |mut row| {
            let kind: SharedBufferKind = row.kind();
            SharedBuffer::from_values(row.common, kind)
        })
    }

    fn wreds(&self) -> Result<Vec<Wred>, ScenarioError> {
        self.several(&WRED, |row| Wred::from_values(row.common))
    }

    fn adapters(&self) -> Result<Vec<Adapters>, ScenarioError> {
        self.several(&ADAPTER, |row| Adapters::from_values(row.common))
    }

    fn pauses(&self) -> Result<Vec<Pause>, ScenarioError> {
        self.several(&PAUSE, |row| Pause::from_values(row.common))
    }

    fn watchdogs(&self) -> Result<Vec<Watchdog>, ScenarioError> {
        self.several(&WATCHDOG, |row| Watchdog::from_values(row.common))
    }

    fn routing(&self) -> Result<Routing, ScenarioError> {
        self.single(&ROUTING, |row| Routing::from_values(row.common))
    }

    fn routes(&self) -> Result<Vec<Route>, ScenarioError> {
        self.several(&ROUTE, |row| Route::from_values(row.common))
    }

    fn domain(&self) -> Result<Option<Domain>, ScenarioError> {
        match self.document.root.entry(DOMAIN.name) {
            Some(_) => self.single(&DOMAIN, |row| Domain::from_values(row.common)).map(Some),
            None => Ok(None),
        }
    }

    fn defences(&self) -> Result<Vec<Defence>, ScenarioError> {
        self.several(&DEFENCE, |row| Defence::from_values(row.common))
    }

    fn traffic(&self) -> Result<Vec<Traffic>, ScenarioError> {
        self.several(&TRAFFIC, |mut row| {
            let (arrivals, transport) = (row.kind(), row.kind());
            Traffic::from_values(row.common, arrivals, transport, None, None)
        })
    }

    fn hotspots(&self) -> Result<Vec<Hotspot>, ScenarioError> {
        self.several(&HOTSPOT, |row| Hotspot::from_values(row.common))
    }

    fn failures(&self) -> Result<Vec<Failure>, ScenarioError> {
        self.several(&FAILURE, |row| Failure::from_values(row.common))
    }

    fn pause_storms(&self) -> Result<Vec<PauseStorm>, ScenarioError> {
        self.several(&PAUSE_STORM, |row| PauseStorm::from_values(row.common))
    }

    fn feedback(&self) -> Result<Feedback, ScenarioError> {
        self.single(&FEEDBACK, |mut row| row.kind())
    }

    /// What is written down in a run so long.
    fn record(&self, duration: Span) -> Result<Record, ScenarioError> {
        self.single(&RECORD, |row| Record::from_values(fineness::follow(duration, row.common)))
    }

    fn top(&self) -> Result<Vec<Option<Value>>, ScenarioError> {
        let sections = SECTIONS.iter().map(|s| s.name).chain(["scheme"]);
        let known: Vec<&str> = TOP.fields.iter().map(|f| f.name).chain(sections).collect();
        let nowhere = Position::Key(String::new());
        let table = self.table(&self.document.root, &|| "key = value".to_owned())?;
        for entry in table {
            if !known.contains(&&*entry.key) {
                return Err(self.unknown(entry, &TOP.title(), &known, TOP.fields));
            }
        }
        self.values(table, TOP.fields, &|| TOP.title(), &nowhere)
    }

    /// The one table of a section, present or not.
    fn single<T>(&self, section: &Section, build: impl Fn(TableValues) -> T) -> Result<T, ScenarioError> {
        match self.document.root.entry(section.name) {
            Some(entry) => {
                self.row(section, self.table(&entry.node, &|| section.title())?, &entry.node.position).map(build)
            }
            None if section.required => Err(self.missing_section(section)),
            None => self.row(section, &[], &Position::Key(String::new())).map(build),
        }
    }

    /// The tables of a section of which there can be several.
    fn several<T>(&self, section: &Section, build: impl Fn(TableValues) -> T) -> Result<Vec<T>, ScenarioError> {
        let nodes = match self.document.root.entry(section.name) {
            None => &[],
            Some(entry) => match &entry.node.content {
                Content::List(nodes) => &nodes[..],
                Content::Table(_) if section.single => std::slice::from_ref(&*entry.node),
                _ => {
                    let position = match &entry.node.position {
                        by_override @ Position::Override(_) => by_override,
                        _ => &entry.position,
                    };
                    return Err(self.fault(Fault::NotAList { name: section.name }, position));
                }
            },
        };
        if nodes.is_empty() && section.required {
            return Err(self.missing_section(section));
        }
        nodes
            .iter()
            .map(|node| self.row(section, self.table(node, &|| section.title())?, &node.position).map(&build))
            .collect()
    }

    fn missing_section(&self, section: &Section) -> ScenarioError {
        let fault = Fault::MissingKey { key: section.name, table: TOP.title(), example: section.title() };
        self.fault(fault, &Position::Key(String::new()))
    }

    fn row(
        &self,
        section: &Section,
        table: &[DocumentEntry],
        position: &Position,
    ) -> Result<TableValues, ScenarioError> {
        if let Some((entry, now)) = former_kind(section.name, table) {
            return Err(self.fault(Fault::FormerKind { now }, &entry.position));
        }
        let mut chosen = Vec::with_capacity(section.kinds.len());
        for key in section.kinds {
            chosen.push(self.kind(section, key, table, position)?);
        }
        self.refuse_misfit(section, &chosen, table, position)?;
        self.refuse_unknown(section, &chosen, table)?;
        let mut kinds = Vec::with_capacity(chosen.len());
        for (key, kind) in section.kinds.iter().zip(chosen) {
            let chosen_by = table.iter().find(|e| e.key == key.key).map(|e| &e.node.position);
            let position = chosen_by.filter(|position| matches!(position, Position::Override(_))).unwrap_or(position);
            kinds.push((key.choices[kind].name, self.values(table, key.fields[kind], &|| section.title(), position)?));
        }
        let common = self.values(table, section.fields, &|| section.title(), position)?;
        Ok(TableValues { kinds: kinds.into_iter(), common })
    }

    /// The position of the kind that a table chooses with one of its section's keys.
    fn kind(
        &self,
        section: &Section,
        key: &KindKey,
        table: &[DocumentEntry],
        position: &Position,
    ) -> Result<usize, ScenarioError> {
        if let Some(entry) = table.iter().find(|e| e.key == key.key) {
            return self.choice(entry, key.choices);
        }
        let fallback = key.fallback.and_then(|word| key.choices.iter().position(|c| c.name == word));
        fallback.ok_or_else(|| {
            let words: Vec<String> = key.choices.iter().map(|c| format!("\"{}\"", c.name)).collect();
            let example = format!("{} = {}", key.key, words.join(" or "));
            self.fault(Fault::MissingKey { key: key.key, table: section.title(), example }, position)
        })
    }

    /// Refuses kinds of two keys that do not go together.
    fn refuse_misfit(
        &self,
        section: &Section,
        chosen: &[usize],
        table: &[DocumentEntry],
        position: &Position,
    ) -> Result<(), ScenarioError> {
        let ([first, .., last], [kind, .., with]) = (section.kinds, chosen) else { return Ok(()) };
        let (word, other) = (first.choices[*kind].name, last.choices[*with].name);
        let fits = (section.fits)(word);
        if fits.contains(&other) {
            return Ok(());
        }
        let written = |key: &str| table.iter().find(|e| e.key == key).map(|e| &e.node.position);
        let by_override = |position: &&Position| matches!(position, Position::Override(_));
        let position = written(last.key)
            .filter(by_override)
            .or_else(|| written(first.key).filter(by_override))
            .or_else(|| written(last.key))
            .unwrap_or(position);
        let fault = Fault::NotTogether { keys: [first.key, last.key], words: [word, other], fits };
        Err(self.fault(fault, position))
    }

    fn refuse_unknown(
        &self,
        section: &Section,
        chosen: &[usize],
        table: &[DocumentEntry],
    ) -> Result<(), ScenarioError> {
        let fields: Vec<Field> = section.fields_of(chosen).copied().collect();
        let mut known: Vec<&str> = section.kinds.iter().map(|key| key.key).collect();
        known.extend(fields.iter().map(|f| f.name));
        let Some(entry) = table.iter().find(|e| !known.contains(&&*e.key)) else {
            return Ok(());
        };
        for (key, kind) in section.kinds.iter().zip(chosen) {
            if let Some(owner) = key.fields.iter().position(|fields| fields.iter().any(|f| f.name == entry.key)) {
                let fault = Fault::KeyOfOtherKind {
                    key: entry.key.clone(),
                    table: section.title(),
                    by: key.key,
                    kind: key.choices[*kind].name.to_owned(),
                    owner: key.choices[owner].name,
                };
                return Err(self.fault(fault, &entry.position));
            }
        }
        Err(self.unknown(entry, &section.title(), &known, &fields))
    }

    fn unknown(&self, entry: &DocumentEntry, table: &str, known: &[&'static str], fields: &[Field]) -> ScenarioError {
        let key = entry.key.clone();
        if let Some(now) = renamed(table, &key, known) {
            return self.fault(Fault::RenamedKey { key, table: table.to_owned(), now }, &entry.position);
        }
        let alias = |field: &&Field| field.aliases.split(',').any(|alias| alias.trim().eq_ignore_ascii_case(&key));
        let elsewhere = || all_keys(self.document).into_iter().find(|k| k.rsplit('.').next() == Some(&*key));
        let dotted = |name: String| match &entry.position {
            Position::Override(_) => {
                let path = table.strip_prefix('[').map_or("", |t| t.trim_matches(['[', ']']));
                layout::dotted(path, &name)
            }
            _ => name,
        };
        let nearest = fields
            .iter()
            .find(alias)
            .map(|field| dotted(field.name.to_owned()))
            .or_else(elsewhere)
            .or_else(|| nearest(&key, known.iter().copied()).map(dotted));
        let fault = Fault::UnknownKey { key, table: table.to_owned(), nearest, known: known.to_vec() };
        self.fault(fault, &entry.position)
    }

    /// The values of `fields`: as the table sets them, or as they fall back.
    fn values(
        &self,
        table: &[DocumentEntry],
        fields: &'static [Field],
        title: &dyn Fn() -> String,
        position: &Position,
    ) -> Result<Vec<Option<Value>>, ScenarioError> {
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            let value = match table.iter().find(|e| e.key == field.name) {
                Some(entry) => self.value(field, &entry.node)?,
                None => match field.fallback {
                    Some(Fallback::Text(text)) => Some(fallback(field, text)),
                    Some(Fallback::Same(_) | Fallback::Half(_) | Fallback::Rule(_)) => None,
                    None if field.optional => None,
                    None => {
                        let example = layout::example(field);
                        let fault = Fault::MissingKey { key: field.name, table: title(), example };
                        return Err(self.fault(fault, position));
                    }
                },
            };
            values.push(value);
        }
        for (i, field) in fields.iter().enumerate() {
            if values[i].is_none() {
                values[i] = match field.fallback {
                    Some(Fallback::Same(other)) => of(other, fields, &values),
                    Some(Fallback::Half(other)) => of(other, fields, &values).map(half),
                    _ => None,
                };
            }
        }
        Ok(values)
    }

    /// The value of `field`; `None` where the file leaves it unset with the word that does so.
    fn value(&self, field: &Field, node: &DocumentNode) -> Result<Option<Value>, ScenarioError> {
        let shape = |actual, scalar| Fault::Shape {
            actual,
            expected: field.kind.noun(),
            example: layout::example_like(field, scalar),
        };
        let Content::Scalar(scalar) = &node.content else {
            return Err(self.fault(shape(node.content.words(), None), &node.position));
        };
        field.read_optional(scalar).map_err(|error| {
            let fault = match error {
                ParamError::Kind { written, .. } => shape(written, Some(scalar)),
                other => Fault::Value(other),
            };
            self.fault(fault, &node.position)
        })
    }

    fn choice(&self, entry: &DocumentEntry, choices: &'static [Choice]) -> Result<usize, ScenarioError> {
        let word = self.text(entry)?;
        choices.iter().position(|c| c.name == word).ok_or_else(|| {
            self.fault(Fault::Value(ParamError::Choice { written: word.to_owned(), choices }), &entry.node.position)
        })
    }

    fn text<'n>(&self, entry: &'n DocumentEntry) -> Result<&'n str, ScenarioError> {
        match &entry.node.content {
            Content::Scalar(Scalar::Text(text)) => Ok(text),
            other => {
                let example = match &*entry.key {
                    "name" => "name = \"qcn\", or another that `qcnlab list schemes` shows".to_owned(),
                    key => format!("{key} = \"...\", with a word in quotes"),
                };
                let fault = Fault::Shape { actual: other.words(), expected: "a word", example };
                Err(self.fault(fault, &entry.node.position))
            }
        }
    }

    /// The entries of a table that is written `title`.
    fn table<'n>(
        &self,
        node: &'n DocumentNode,
        title: &dyn Fn() -> String,
    ) -> Result<&'n [DocumentEntry], ScenarioError> {
        match &node.content {
            Content::Table(entries) => Ok(entries),
            other => {
                let example = format!("{}, and its keys in the lines below it", title());
                let fault = Fault::Shape { actual: other.words(), expected: "a table", example };
                Err(self.fault(fault, &node.position))
            }
        }
    }

    fn scheme(&self) -> Result<Config, ScenarioError> {
        let missing = |key, table: &str, example: &str, position: &Position| {
            self.fault(Fault::MissingKey { key, table: table.to_owned(), example: example.to_owned() }, position)
        };
        let Some(entry) = self.document.root.entry("scheme") else {
            let example = "[scheme] with name = \"qcn\", or \"none\"";
            return Err(missing("scheme", &TOP.title(), example, &Position::Key(String::new())));
        };
        let table = self.table(&entry.node, &|| "[scheme]".to_owned())?;
        let Some(name_entry) = table.iter().find(|e| e.key == "name") else {
            return Err(missing("name", "[scheme]", "name = \"qcn\", or \"none\"", &entry.node.position));
        };
        let name = self.text(name_entry)?;
        if let Some((prefix, _)) = name.split_once(':') {
            return self.foreign_scheme(table, name_entry, name, prefix);
        }
        let preset_entry = table.iter().find(|e| e.key == "preset");
        let preset = preset_entry.map(|e| self.text(e)).transpose()?;
        let mut config = Config::find(name, preset).map_err(|unknown| match (unknown, preset_entry, preset) {
            (Unknown::Preset { known }, Some(entry), Some(preset)) => {
                let fault = Fault::UnknownPreset { name: preset.to_owned(), scheme: name.to_owned(), known };
                self.fault(fault, &entry.node.position)
            }
            _ => {
                let nearest = nearest(name, catalogue().iter().map(|scheme| scheme.name));
                self.fault(Fault::UnknownScheme { name: name.to_owned(), nearest }, &name_entry.node.position)
            }
        })?;
        for entry in table {
            match &*entry.key {
                "name" | "preset" => {}
                "cp" => self.parameters(config.cp_mut(), &entry.node, "[scheme.cp]")?,
                "rp" => self.parameters(config.rp_mut(), &entry.node, "[scheme.rp]")?,
                _ => return Err(self.unknown(entry, "[scheme]", &SCHEME_KEYS.map(|(key, _)| key), &[])),
            }
        }
        Ok(config)
    }

    /// Load a scheme from outside. Its author decides which keys its tables have; each key has one value.
    fn foreign_scheme(
        &self,
        table: &[DocumentEntry],
        name_entry: &DocumentEntry,
        name: &str,
        prefix: &str,
    ) -> Result<Config, ScenarioError> {
        const KEYS: [&str; 3] = ["name", "cp", "rp"];
        if let Some(entry) = table.iter().find(|entry| !KEYS.contains(&&*entry.key)) {
            return Err(self.unknown(entry, "[scheme] from outside", &KEYS, &[]));
        }
        let settings = |key: &str| match table.iter().find(|entry| entry.key == key) {
            None => Ok(Vec::new()),
            Some(entry) => {
                let entries = self.table(&entry.node, &|| format!("[{}]", layout::dotted("scheme", key)))?;
                entries.iter().map(|entry| self.foreign_parameter(entry)).collect()
            }
        };
        let parameters = Parameters { cp: settings("cp")?, rp: settings("rp")? };
        let Some(load) = foreign::loader(prefix) else {
            let fault = Fault::NoLoader { name: name.to_owned(), prefix: prefix.to_owned() };
            return Err(self.fault(fault, &name_entry.node.position));
        };
        load(name, &parameters).map(|scheme| Config::Foreign(scheme.into())).map_err(|error| {
            let at_fault = error.table.and_then(|table_name| table.iter().find(|entry| entry.key == table_name));
            let position = at_fault.map_or(&name_entry.node.position, |entry| &entry.position);
            self.fault(Fault::ForeignScheme { name: name.to_owned(), error }, position)
        })
    }

    /// A parameter for a scheme from outside: its key and its value, a quantity in its canonical form.
    fn foreign_parameter(&self, entry: &DocumentEntry) -> Result<(String, Scalar), ScenarioError> {
        let Content::Scalar(scalar) = &entry.node.content else {
            let example = format!("{} = \"150 KB\", or another size, rate, time, number, text or boolean", entry.key);
            let fault = Fault::Shape { actual: entry.node.content.words(), expected: "one value", example };
            return Err(self.fault(fault, &entry.node.position));
        };
        let value = quantity(scalar).map_or_else(|| scalar.clone(), |value| Scalar::Text(value.to_string()));
        Ok((entry.key.clone(), value))
    }

    fn parameters(&self, target: &mut dyn Table, node: &DocumentNode, title: &str) -> Result<(), ScenarioError> {
        let fields = target.fields();
        for entry in self.table(node, &|| title.to_owned())? {
            let Some(index) = fields.iter().position(|f| f.name == entry.key) else {
                let known: Vec<&str> = fields.iter().map(|f| f.name).collect();
                return Err(self.unknown(entry, title, &known, fields));
            };
            target.set(index, self.value(&fields[index], &entry.node)?);
        }
        Ok(())
    }

    fn fault(&self, fault: Fault, position: &Position) -> ScenarioError {
        self.document.error(fault, position)
    }
}

/// Every dotted key the document's own scheme allows.
fn all_keys(document: &Document) -> Vec<String> {
    let mut keys = TOP.keys();
    keys.extend(SECTIONS.iter().flat_map(|s| s.keys()));
    keys.extend(SCHEME_KEYS.iter().map(|(key, _)| layout::dotted("scheme", key)));
    if let Some(Content::Scalar(Scalar::Text(name))) = document.root.find("scheme.name").map(|n| &n.content) {
        for scheme in catalogue().iter().filter(|scheme| scheme.name == name) {
            keys.extend(scheme.cp_fields.iter().map(|f| layout::dotted("scheme.cp", f.name)));
            keys.extend(scheme.rp_fields.iter().map(|f| layout::dotted("scheme.rp", f.name)));
        }
    }
    keys
}

/// The value a table declares for a field left out. It is read once: a sweep needs it at each of its points.
fn fallback(field: &'static Field, text: &str) -> Value {
    thread_local! {
        static READ: RefCell<HashMap<*const Field, Value>> = RefCell::default();
    }
    READ.with_borrow_mut(|known| known.entry(field).or_insert_with(|| read_fallback(field, text)).clone())
}

fn read_fallback(field: &Field, text: &str) -> Value {
    let content = match field.kind {
        Kind::Text => Content::Scalar(Scalar::Text(text.to_owned())),
        _ => scalar(text),
    };
    match content {
        Content::Scalar(scalar) => match field.read(&scalar) {
            Ok(value) => value,
            Err(error) => unreachable!("the fallback of {} is no value: {error}", field.name),
        },
        _ => unreachable!("the fallback of {} is no value", field.name),
    }
}

fn of(name: &str, fields: &[Field], values: &[Option<Value>]) -> Option<Value> {
    fields.iter().position(|f| f.name == name).and_then(|i| values[i].clone())
}

fn half(value: Value) -> Value {
    match value {
        Value::Size(x) => Value::Size(Bytes::new(x.get() / 2)),
        Value::Rate(x) => Value::Rate(BitRate::bps(x.get() / 2)),
        Value::Time(x) => Value::Time(x.half_rounded_down()),
        other => other,
    }
}

/// A file's name without folders and ending; other names as they are.
fn stem(name: &str) -> String {
    let path = Path::new(name);
    match (path.extension().and_then(|e| e.to_str()), path.file_stem().and_then(|s| s.to_str())) {
        (Some("toml" | "json"), Some(stem)) => stem.to_owned(),
        _ => name.to_owned(),
    }
}
