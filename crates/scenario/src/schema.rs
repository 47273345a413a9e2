//! The JSON Schema of a scenario file, for editors.
//!
//! It describes what each key holds; what contradicts what is for
//! [`Scenario::parse`](crate::Scenario::parse) to say.

use crate::catalogue::unset_note;
use crate::companions::{COMPANIONS, Companion};
use crate::layout::{SCHEME_ABOUT, SCHEME_KEYS, SECTIONS, Section, TOP, plain};
use crate::text::json;
use qcnlab_schemes::params::{Choice, Fallback, Field, Kind, Range, Value as Parameter};
use qcnlab_schemes::registry::{Listing, PresetListing, catalogue};
use qcnlab_units::Quantity;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The schema (draft 2020-12) as JSON text, indented, with a final newline.
pub fn schema_json() -> String {
    format!("{:#}\n", shared(schema()))
}

/// Octets of JSON text from which a key's schema that occurs more than once stands once.
const WORTH_SHARING: usize = 100;

/// The same schema, with the schemas of keys that occur more than once under `$defs`.
fn shared(schema: Value) -> Value {
    let mut sharing = Sharing::default();
    sharing.count(&schema, false);
    sharing.names = schema["$defs"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let mut schema = sharing.refer(schema, None);
    if let Some(tables) = schema["$defs"].as_object_mut() {
        tables.extend(sharing.once);
    }
    schema
}

/// The schemas of keys, by their JSON text.
#[derive(Default)]
struct Sharing {
    /// How often each occurs.
    occurs: HashMap<String, usize>,
    /// The name of those that stand once.
    name_of: HashMap<String, String>,
    names: HashSet<String>,
    /// Under their names, in the order in which they are first referred to.
    once: Map<String, Value>,
}

impl Sharing {
    fn count(&mut self, schema: &Value, of_key: bool) {
        if of_key {
            let text = schema.to_string();
            if text.len() >= WORTH_SHARING {
                *self.occurs.entry(text).or_default() += 1;
            }
        }
        match schema {
            Value::Object(all) => all.iter().for_each(|(word, inner)| match inner {
                Value::Object(keys) if word == "properties" => keys.values().for_each(|key| self.count(key, true)),
                _ => self.count(inner, false),
            }),
            Value::Array(all) => all.iter().for_each(|inner| self.count(inner, false)),
            _ => {}
        }
    }

    /// The schema with references to what occurs more than once; `key` is the name of the key that it is of, if any.
    fn refer(&mut self, schema: Value, key: Option<&str>) -> Value {
        let text = key.map(|_| schema.to_string());
        if let (Some(text), Some(key)) = (text, key)
            && self.occurs.get(&text).is_some_and(|times| *times > 1)
        {
            if !self.name_of.contains_key(&text) {
                let name = self.free_name(key);
                self.name_of.insert(text.clone(), name.clone());
                let inner = self.refer(schema, None);
                self.once.insert(name, inner);
            }
            return json!({"$ref": format!("#/$defs/{}", self.name_of[&text])});
        }
        match schema {
            Value::Object(all) => all
                .into_iter()
                .map(|(word, inner)| match inner {
                    Value::Object(keys) if word == "properties" => {
                        let keys = keys.into_iter().map(|(key, of_key)| {
                            let inner = self.refer(of_key, Some(&key));
                            (key, inner)
                        });
                        (word, Value::Object(keys.collect()))
                    }
                    _ => (word, self.refer(inner, None)),
                })
                .collect(),
            Value::Array(all) => all.into_iter().map(|inner| self.refer(inner, None)).collect(),
            other => other,
        }
    }

    /// The name of a key, with a number if another schema has that name.
    fn free_name(&mut self, key: &str) -> String {
        let numbered = (2..).map(|number| format!("{key}-{number}"));
        let free = std::iter::once(key.to_owned()).chain(numbered).find(|name| !self.names.contains(name));
        let name = free.unwrap_or_else(|| unreachable!("there are numbers enough"));
        self.names.insert(name.clone());
        name
    }
}

fn schema() -> Value {
    let mut properties = properties(TOP.fields, written);
    let mut required = required(TOP.fields);
    let mut tables = Map::new();
    for section in SECTIONS {
        if section.name == "record" {
            properties.insert("scheme".to_owned(), scheme());
            required.push("scheme");
        }
        let one = table(section);
        let stands = match (section.list, section.single) {
            (false, _) => one,
            (true, false) => list(section, one),
            (true, true) => {
                tables.insert(section.name.to_owned(), one);
                let one = json!({"$ref": format!("#/$defs/{}", section.name)});
                json!({"description": section.about, "anyOf": [one, list(section, one.clone())]})
            }
        };
        properties.insert(section.name.to_owned(), stands);
        if section.required {
            required.push(section.name);
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "qcnlab scenario",
        "description": TOP.about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
        "$defs": tables,
    })
}

/// The schema of a list of tables, each as `one` says.
fn list(section: &Section, one: Value) -> Value {
    let least = usize::from(section.required);
    json!({"description": section.about, "type": "array", "minItems": least, "items": one})
}

/// The schema of one table of a section.
fn table(section: &Section) -> Value {
    let kinds = section.combinations().into_iter().map(|kinds| {
        let (mut all, mut needed) = (Map::new(), Vec::new());
        for (key, kind) in section.kinds.iter().zip(kinds) {
            let (choice, own) = (&key.choices[kind], key.fields[kind]);
            let mut chosen = constant(choice.name, &plain(choice.about));
            match key.fallback == Some(choice.name) {
                true => chosen["default"] = choice.name.into(),
                false => needed.push(key.key),
            }
            all.insert(key.key.to_owned(), chosen);
            all.extend(properties(own, written));
            needed.extend(required(own));
        }
        all.extend(properties(section.fields, written));
        needed.extend(required(section.fields));
        object(all, &needed)
    });
    let mut one = alternatives(kinds.collect());
    one["description"] = section.about.into();
    match one.get_mut("oneOf").and_then(Value::as_array_mut) {
        Some(kinds) => kinds.iter_mut().for_each(|kind| go_together(section.name, kind)),
        None => go_together(section.name, &mut one),
    }
    one
}

/// Adds to a table's schema which of its keys go with which values of another.
fn go_together(section: &str, table: &mut Value) {
    let known = |key: &str| table["properties"].get(key);
    let is_one = |key: &str, words: &[&str]| {
        let left_out = known(key).and_then(|key| key["default"].as_str()).is_some_and(|word| words.contains(&word));
        let required: &[&str] = if left_out { &[] } else { &[key] };
        json!({"properties": {key: {"enum": words}}, "required": required})
    };
    let rule = |companion: &Companion| {
        let Companion { key, with, values, needed, off, .. } = *companion;
        let (own, _) = (known(key)?, known(with)?);
        let on = off.map(|(key, word)| json!({"not": is_one(key, &[word])}));
        let when = |condition: Value| json!({"allOf": on.iter().cloned().chain([condition]).collect::<Value>()});
        let unset = own.get("default").cloned().unwrap_or_else(|| Field::UNSET.into());
        let stray = json!({
            "if": when(json!({"not": is_one(with, values)})),
            "then": {"properties": {key: {"const": unset}}},
        });
        let missing = needed.then(|| json!({"if": when(is_one(with, values)), "then": {"required": [key]}}));
        Some([Some(stray), missing].into_iter().flatten())
    };
    let own = COMPANIONS.iter().filter(|companion| companion.section == section);
    let rules: Vec<Value> = own.filter_map(rule).flatten().collect();
    if !rules.is_empty() {
        table["allOf"] = rules.into();
    }
}

fn scheme() -> Value {
    let schemes = catalogue();
    let mut one = alternatives(schemes.iter().map(one_scheme).chain([foreign_scheme()]).collect());
    one["description"] = SCHEME_ABOUT.into();
    one
}

/// A scheme from outside, whose parameters are its author's.
fn foreign_scheme() -> Value {
    let value = json!({"type": ["string", "number", "boolean"]});
    let role = json!({"type": "object", "additionalProperties": value});
    let about = "A scheme from outside: python:my_module:MyScheme is a class of Python.";
    let name = json!({"description": about, "type": "string", "pattern": "^[a-z]+:."});
    let keys = [("name", name), ("cp", role.clone()), ("rp", role)];
    object(keys.map(|(key, value)| (key.to_owned(), value)).into_iter().collect(), &["name"])
}

fn one_scheme(listing: &Listing) -> Value {
    let about = |wanted: &str| SCHEME_KEYS.iter().find(|(key, _)| *key == wanted).map_or("", |(_, about)| about);
    let default: Option<&PresetListing> = listing.presets.first();
    let role = |fields: &'static [Field], values: Option<&Vec<Option<Parameter>>>, about: &str| {
        let value = |field: &Field| {
            let index = fields.iter().position(|f| f.name == field.name)?;
            values.and_then(|v| v[index].as_ref()).map(json)
        };
        let mut role = object(properties(fields, value), &[]);
        role["description"] = about.into();
        role
    };
    let presets: Vec<Choice> = listing.presets.iter().map(|p| Choice { name: p.name, about: p.about }).collect();
    let mut preset = word(&presets);
    preset["description"] = about("preset").into();
    preset["default"] = default.map(|p| p.name).into();
    let mut all = Map::new();
    all.insert("name".to_owned(), constant(listing.name, listing.title));
    all.insert("preset".to_owned(), preset);
    all.insert("cp".to_owned(), role(listing.cp_fields, default.map(|p| &p.cp), about("cp")));
    all.insert("rp".to_owned(), role(listing.rp_fields, default.map(|p| &p.rp), about("rp")));
    object(all, &["name"])
}

fn object(properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// One of several objects; a single one stands for itself.
fn alternatives(mut kinds: Vec<Value>) -> Value {
    if kinds.len() == 1 { kinds.remove(0) } else { json!({"type": "object", "oneOf": kinds}) }
}

fn constant(word: &str, about: &str) -> Value {
    json!({"description": about, "const": word})
}

fn required(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().filter(|f| !f.optional && f.fallback.is_none()).map(|f| f.name).collect()
}

fn properties(fields: &[Field], default: impl Fn(&Field) -> Option<Value>) -> Map<String, Value> {
    let all = fields.iter().map(|field| {
        let mut property = value(field);
        let mut about = plain(field.about) + unset_note(field);
        if let Some(range) = field.range.words(field.kind) {
            about.push_str(&format!(" ({range})"));
        }
        if !field.aliases.is_empty() {
            about.push_str(&format!(" [{}]", field.aliases));
        }
        if let Some(fallback @ (Fallback::Same(_) | Fallback::Half(_))) = field.fallback {
            about.push_str(&format!(" Left out: {fallback}."));
        }
        property["description"] = about.into();
        if let Some(default) = default(field).filter(|value| value != "") {
            property["default"] = default;
        }
        (field.name.to_owned(), property)
    });
    all.collect()
}

/// What a key falls back to, as a file would write it, unless it follows another key.
fn written(field: &Field) -> Option<Value> {
    match field.fallback? {
        Fallback::Text(text) => Some(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
        Fallback::Same(_) | Fallback::Half(_) | Fallback::Rule(_) => None,
    }
}

fn value(field: &Field) -> Value {
    if field.may_be_unset() {
        return json!({"anyOf": [set_value(field), {"const": Field::UNSET}]});
    }
    set_value(field)
}

/// The values of a field other than none.
fn set_value(field: &Field) -> Value {
    match field.kind {
        Kind::Size => quantity(Quantity::Size, field.range),
        Kind::Rate => quantity(Quantity::Rate, field.range),
        Kind::Time => quantity(Quantity::Time, field.range),
        Kind::Number => {
            let fraction = json!({"type": "string", "pattern": NUMBER, "examples": ["1/128"]});
            json!({"anyOf": [bounded("number", field.range), fraction]})
        }
        Kind::Integer => bounded("integer", field.range),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Choice(words) => word(words),
        Kind::Text => json!({"type": "string"}),
    }
}

/// A number or a fraction, as text.
const NUMBER: &str = r"^\s*-?[0-9.]+([eE][-+]?[0-9]+)?\s*(/\s*[0-9.]+\s*)?$";

/// A number with its unit, as text. Of its range a pattern can say whether it may be zero.
fn quantity(quantity: Quantity, range: Range) -> Value {
    let zero = if range.min > 0.0 || range.min_excluded { "(?=[0-9_.]*[1-9])" } else { "" };
    let units: Vec<&str> = quantity.unit_words().collect();
    let pattern = format!(r"^\s*{zero}[0-9][0-9_]*(\.[0-9_]+)?([eE][-+]?[0-9]+)?\s*({})\s*$", units.join("|"));
    json!({"type": "string", "pattern": pattern, "examples": [quantity.example()]})
}

fn bounded(kind: &str, range: Range) -> Value {
    let mut schema = json!({"type": kind});
    let bound = |x: f64| json(&Parameter::Number(x));
    if range.min.is_finite() {
        let key = if range.min_excluded { "exclusiveMinimum" } else { "minimum" };
        schema[key] = bound(range.min);
    } else if kind == "integer" {
        schema["minimum"] = 0.into();
    }
    if range.max.is_finite() {
        schema["maximum"] = bound(range.max);
    } else if kind == "integer" {
        // TOML has no larger ones.
        schema["maximum"] = i64::MAX.into();
    }
    schema
}

/// One of a few words, each with what it means.
fn word(choices: &[Choice]) -> Value {
    let words = choices.iter().map(|c| constant(c.name, &plain(c.about)));
    json!({"type": "string", "oneOf": words.collect::<Value>()})
}
