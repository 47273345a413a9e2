//! The catalogue as JSON: parameters, schemes, presets, scenarios and distributions of sizes.

use crate::layout::{KindKey, SCHEME_KEYS, SECTIONS, Section, TOP, dotted, plain};
use crate::quantity::quantity;
use crate::shipped::shipped;
use crate::text::{base_json, json};
use qcnlab_schemes::EventKind;
use qcnlab_schemes::params::{Choice, Field, Kind, Value as Parameter};
use qcnlab_schemes::registry::{Listing, PresetListing, catalogue};
use qcnlab_traffic::{NAMED, Sizes};
use serde_json::{Map, Value, json};

/// Every key a scenario file may have, in the order of a resolved file.
///
/// A list of objects with `key` (`topology.rtt`, `scheme.cp.set_point`), `scheme` (whose parameter it is,
/// or null), `type`, `default` (as text), `default_base` (a quantity in octets, bit/s or s; null for other kinds),
/// `required`, `range`, `choices`, `aliases` and `about`.
pub fn parameters_json() -> String {
    let mut all = section_parameters(&TOP);
    for section in SECTIONS {
        if section.name == "record" {
            all.extend(scheme_parameters());
        }
        all.extend(section_parameters(section));
    }
    Value::Array(all).to_string()
}

/// Every scheme with its presets and parameters.
///
/// A list of objects with `name`, `title`, `source`, `status`, `hears`, `speaks`, `about`, `presets`
/// (`name`, `about`, `cp`, `rp` as in files, and `cp_base`, `rp_base` with quantities in octets, bit/s or s) and
/// `parameters`, as [`parameters_json`] has them.
pub fn schemes_json() -> String {
    catalogue().iter().map(scheme).collect::<Value>().to_string()
}

/// Every scenario inside the package: a list of objects with `name`, `folder`, `title`, `about`, `source` and `text`.
pub fn scenarios_json() -> String {
    let list = shipped().into_iter().map(|shipped| {
        let [title, about, source] = shipped.says(["title", "about", "source"]);
        json!({
            "name": shipped.name,
            "folder": shipped.folder,
            "title": title.unwrap_or_default(),
            "about": about,
            "source": source,
            "text": shipped.text,
        })
    });
    list.collect::<Value>().to_string()
}

fn scheme(listing: &Listing) -> Value {
    let signals = listing.hears.iter().map(|kind| kind.name());
    let hears: Value = signals.chain(listing.events.iter().map(EventKind::name)).collect();
    let words = |kinds: &[qcnlab_schemes::SignalKind]| kinds.iter().map(|kind| kind.name()).collect::<Value>();
    let presets = listing.presets.iter().map(|preset| {
        json!({
            "name": preset.name,
            "about": preset.about,
            "cp": values(listing.cp_fields, &preset.cp, json),
            "rp": values(listing.rp_fields, &preset.rp, json),
            "cp_base": values(listing.cp_fields, &preset.cp, base_json),
            "rp_base": values(listing.rp_fields, &preset.rp, base_json),
        })
    });
    json!({
        "name": listing.name,
        "title": listing.title,
        "source": listing.source,
        "generation": listing.generation.words(),
        "status": listing.status.words(),
        "hears": hears,
        "speaks": words(&listing.speaks()),
        "about": listing.about,
        "presets": presets.collect::<Value>(),
        "parameters": role_parameters(listing),
    })
}

fn values(fields: &[Field], values: &[Option<Parameter>], form: fn(&Parameter) -> Value) -> Value {
    let set =
        fields.iter().zip(values).filter_map(|(field, value)| Some((field.name.to_owned(), form(value.as_ref()?))));
    Value::Object(set.collect::<Map<_, _>>())
}

fn section_parameters(section: &Section) -> Vec<Value> {
    let mut all = Vec::new();
    for kind in section.kinds {
        let key = dotted(section.name, kind.key);
        let default = kind.fallback.map(str::to_owned);
        all.push(word(&key, None, kind.about, default, kind.fallback.is_none(), &choices(kind.choices)));
        all.extend(fields_of_kinds(kind).iter().map(|(field, note)| declared(section.name, field, note)));
    }
    all.extend(section.fields.iter().map(|field| declared(section.name, field, "")));
    all
}

/// The keys of single kinds, each once, with the kinds that have it where not all do.
fn fields_of_kinds(kind: &KindKey) -> Vec<(&'static Field, String)> {
    let alike = |a: &Field, b: &Field| {
        (a.name, a.about, a.kind, a.range, a.fallback) == (b.name, b.about, b.kind, b.range, b.fallback)
    };
    let mut each: Vec<(&Field, Vec<&str>)> = Vec::new();
    for (choice, fields) in kind.choices.iter().zip(kind.fields) {
        for field in *fields {
            match each.iter_mut().find(|(known, _)| alike(known, field)) {
                Some((_, kinds)) => kinds.push(choice.name),
                None => each.push((field, vec![choice.name])),
            }
        }
    }
    let note = |kinds: &[&str]| match kinds {
        all if all.len() == kind.choices.len() => String::new(),
        [one] if kind.key == "kind" => format!(" Kind {one} only."),
        several if kind.key == "kind" => format!(" Kinds {} only.", several.join(", ")),
        several => format!(" With {} {} only.", kind.key, several.join(", ")),
    };
    each.into_iter().map(|(field, kinds)| (field, note(&kinds))).collect()
}

/// A key whose table says itself what holds when it is left out.
fn declared(table: &str, field: &Field, note: &str) -> Value {
    let required = !field.optional && field.fallback.is_none();
    let default = field.fallback.map(|fallback| fallback.to_string()).filter(|text| !text.is_empty());
    parameter(&dotted(table, field.name), None, field, default, required, note)
}

/// The keys of `[scheme]`, then each scheme's parameters.
fn scheme_parameters() -> Vec<Value> {
    let schemes = catalogue();
    let about = |wanted: &str| SCHEME_KEYS.iter().find(|(key, _)| *key == wanted).map_or("", |(_, about)| about);
    let names: Vec<Value> = schemes.iter().map(|s| json!({"name": s.name, "about": s.title})).collect();
    let mut all = vec![word("scheme.name", None, about("name"), None, true, &names)];
    for listing in &schemes {
        let presets: Vec<Value> = listing.presets.iter().map(|p| json!({"name": p.name, "about": p.about})).collect();
        let default = listing.presets.first().map(|p| p.name.to_owned());
        all.push(word("scheme.preset", Some(listing.name), about("preset"), default, false, &presets));
        all.extend(role_parameters(listing));
    }
    all
}

fn role_parameters(listing: &Listing) -> Vec<Value> {
    let default: Option<&PresetListing> = listing.presets.first();
    let role = |table: &'static str, fields: &'static [Field], values: Option<&Vec<Option<Parameter>>>| -> Vec<Value> {
        let value = |i: usize| values.and_then(|v| v[i].as_ref()).map(|v| v.to_string());
        let fields = fields.iter().enumerate();
        fields.map(|(i, f)| parameter(&dotted(table, f.name), Some(listing.name), f, value(i), false, "")).collect()
    };
    let mut all = role("scheme.cp", listing.cp_fields, default.map(|p| &p.cp));
    all.extend(role("scheme.rp", listing.rp_fields, default.map(|p| &p.rp)));
    all
}

fn parameter(
    key: &str,
    scheme: Option<&str>,
    field: &Field,
    default: Option<String>,
    required: bool,
    note: &str,
) -> Value {
    let kind = match field.kind {
        Kind::Size => "size",
        Kind::Rate => "rate",
        Kind::Time => "time",
        Kind::Number => "number",
        Kind::Integer => "integer",
        Kind::Flag => "boolean",
        Kind::Choice(_) => "choice",
        Kind::Text => "text",
    };
    let choices = match field.kind {
        Kind::Choice(words) => Value::Array(choices(words)),
        _ => Value::Null,
    };
    json!({
        "key": key,
        "scheme": scheme,
        "type": kind,
        "default_base": default.as_deref().and_then(quantity).map(|(number, _)| number),
        "default": default,
        "required": required,
        "range": field.range.words(field.kind),
        "choices": choices,
        "aliases": field.aliases,
        "about": format!("{}{note}{}", plain(field.about), unset_note(field)),
    })
}

/// How a parameter that may be unset is left out where a preset sets it.
pub(crate) fn unset_note(field: &Field) -> &'static str {
    if field.may_be_unset() { " \"none\" leaves it out." } else { "" }
}

/// A key that takes one of a few words.
fn word(
    key: &str,
    scheme: Option<&str>,
    about: &str,
    default: Option<String>,
    required: bool,
    choices: &[Value],
) -> Value {
    json!({
        "key": key,
        "scheme": scheme,
        "type": "choice",
        "default_base": null,
        "default": default,
        "required": required,
        "range": null,
        "choices": choices,
        "aliases": "",
        "about": about,
    })
}

fn choices(words: &[Choice]) -> Vec<Value> {
    words.iter().map(|c| json!({"name": c.name, "about": plain(c.about)})).collect()
}

/// Every named distribution of flow sizes: a list of objects with `name`, `about` and `mean_bytes`.
pub fn sizes_json() -> String {
    let list = NAMED.iter().filter_map(|named| {
        let sizes = Sizes::named(named.name).ok()?;
        Some(json!({ "name": named.name, "about": named.about, "mean_bytes": sizes.mean_bytes() }))
    });
    list.collect::<Value>().to_string()
}
