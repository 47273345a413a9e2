//! Parameters of fluid models: declared once as data, read from JSON, listed as JSON.

use super::error::FluidError;
use qcnlab_units::nearest;
use serde_json::{Map, Value, json};

/// What a parameter takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A number with its default and its least and greatest value; without a default it is derived from others.
    Number(Option<f64>, f64, f64),
    /// A whole number of at least 1.
    Count(u32),
    /// A delay of at least 0 s.
    Delay(f64),
    /// True or false.
    Switch(bool),
    /// One of some words; the first is the default.
    Word(&'static [&'static str]),
}

/// A parameter of a fluid model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) kind: Kind,
    pub(crate) about: &'static str,
}

/// Above 0, for ranges.
pub(crate) const ABOVE_ZERO: f64 = f64::MIN_POSITIVE;
/// No upper bound, for ranges.
pub(crate) const ANY: f64 = f64::INFINITY;

/// A number with a default.
pub(crate) const fn number(
    name: &'static str,
    unit: &'static str,
    default: f64,
    (low, high): (f64, f64),
    about: &'static str,
) -> Parameter {
    Parameter { name, unit, kind: Kind::Number(Some(default), low, high), about }
}

/// A number that is derived from others when it is left out.
pub(crate) const fn derived(
    name: &'static str,
    unit: &'static str,
    (low, high): (f64, f64),
    about: &'static str,
) -> Parameter {
    Parameter { name, unit, kind: Kind::Number(None, low, high), about }
}

/// True or false.
pub(crate) const fn switch(name: &'static str, default: bool, about: &'static str) -> Parameter {
    Parameter { name, unit: "", kind: Kind::Switch(default), about }
}

/// Number of sources.
pub(crate) const fn sources(default: u32) -> Parameter {
    Parameter { name: "sources", unit: "", kind: Kind::Count(default), about: "number of sources" }
}

/// A delay.
pub(crate) const fn delay(name: &'static str, default: f64, about: &'static str) -> Parameter {
    Parameter { name, unit: "s", kind: Kind::Delay(default), about }
}

/// The parameters of a model with the values assigned to them, each checked against its declaration.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    model: &'static str,
    table: &'static [Parameter],
    assigned: Map<String, Value>,
}

impl Values {
    /// Reads a JSON object of values.
    pub(crate) fn read(model: &'static str, table: &'static [Parameter], text: &str) -> Result<Values, FluidError> {
        let mut assigned = object("parameters", text)?;
        assigned.retain(|_, value| !value.is_null());
        let known = || table.iter().map(|parameter| parameter.name);
        check_names(model, "parameter", &assigned, &known().collect::<Vec<_>>())?;
        for parameter in table {
            if let Some(value) = assigned.get(parameter.name) {
                check(model, parameter, value)?;
            }
        }
        Ok(Values { model, table, assigned })
    }

    /// Whether the model has this parameter.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.table.iter().any(|parameter| parameter.name == name)
    }

    fn kind(&self, name: &str) -> Kind {
        let known = self.table.iter().find(|parameter| parameter.name == name);
        known.unwrap_or_else(|| unreachable!("{name} is not in the table of {}", self.model)).kind
    }

    /// A number, assigned or by default; `None` when it is to be derived.
    pub(crate) fn maybe(&self, name: &str) -> Option<f64> {
        let default = match self.kind(name) {
            Kind::Number(default, ..) => default,
            Kind::Delay(default) => Some(default),
            Kind::Count(default) => Some(f64::from(default)),
            Kind::Switch(_) | Kind::Word(_) => unreachable!("{name} is no number"),
        };
        self.assigned.get(name).and_then(Value::as_f64).or(default)
    }

    /// A number that has a default.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.maybe(name).unwrap_or_else(|| unreachable!("{name} has no default"))
    }

    /// True or false.
    pub(crate) fn switch(&self, name: &str) -> bool {
        let Kind::Switch(default) = self.kind(name) else { unreachable!("{name} is no switch") };
        self.assigned.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    /// Whether a word parameter is `word`.
    pub(crate) fn is(&self, name: &str, word: &str) -> bool {
        let Kind::Word(words) = self.kind(name) else { unreachable!("{name} is no word") };
        debug_assert!(words.contains(&word), "{name} is never {word}");
        self.assigned.get(name).and_then(Value::as_str).unwrap_or(words[0]) == word
    }

    /// The fault that the value of `name` is not within `range`.
    pub(crate) fn out_of_range(&self, name: &str, range: impl Into<String>) -> FluidError {
        let unit = self.table.iter().find(|parameter| parameter.name == name).map_or("", |parameter| parameter.unit);
        let value = self.maybe(name).unwrap_or(f64::NAN);
        FluidError::OutOfRange { model: self.model, name: name.to_owned(), value, unit, range: range.into() }
    }
}

/// The object that `text` is.
pub(crate) fn object(what: &'static str, text: &str) -> Result<Map<String, Value>, FluidError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(FluidError::NotAnObject { what, why: format!("it is {other}") }),
        Err(error) => Err(FluidError::NotAnObject { what, why: error.to_string() }),
    }
}

/// Refuses names that are not `known`.
pub(crate) fn check_names(
    model: &'static str,
    what: &'static str,
    assigned: &Map<String, Value>,
    known: &[&str],
) -> Result<(), FluidError> {
    let Some(name) = assigned.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let nearest = nearest(name, known.iter().copied());
    Err(FluidError::UnknownName { model, what, name: name.clone(), nearest, known: known.join(", ") })
}

fn check(model: &'static str, parameter: &Parameter, value: &Value) -> Result<(), FluidError> {
    let name = parameter.name.to_owned();
    let expected = match parameter.kind {
        Kind::Number(..) | Kind::Delay(_) => "a number".to_owned(),
        Kind::Count(_) => "a whole number".to_owned(),
        Kind::Switch(_) => "true or false".to_owned(),
        Kind::Word(words) => format!("one of {}", words.join(", ")),
    };
    let fits = match parameter.kind {
        Kind::Number(..) | Kind::Delay(_) => value.is_number(),
        Kind::Count(_) => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Kind::Switch(_) => value.is_boolean(),
        Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
    };
    if !fits {
        return Err(FluidError::WrongKind { model, name, expected, value: value.to_string() });
    }
    let number = value.as_f64().unwrap_or(0.0);
    let (low, high) = match parameter.kind {
        Kind::Number(_, low, high) => (low, high),
        Kind::Count(_) => (1.0, f64::from(u32::MAX)),
        Kind::Delay(_) if number < 0.0 => return Err(FluidError::NegativeDelay { model, name, value: number }),
        Kind::Delay(_) | Kind::Switch(_) | Kind::Word(_) => return Ok(()),
    };
    if (low..=high).contains(&number) {
        return Ok(());
    }
    let range = range_words(low, high);
    Err(FluidError::OutOfRange { model, name, value: number, unit: parameter.unit, range })
}

fn range_words(low: f64, high: f64) -> String {
    let low = if low == ABOVE_ZERO { "above 0".to_owned() } else { format!("at least {low}") };
    if high == ANY { low } else { format!("{low} and at most {high}") }
}

/// A model's parameters as JSON: a list of objects with `name`, `unit`, `type`, `default`, `range`, `choices`, `about`.
pub(crate) fn listing(table: &[Parameter]) -> Value {
    let entry = |parameter: &Parameter| {
        let (kind, default, range, choices) = match parameter.kind {
            Kind::Number(default, low, high) => ("number", json!(default), json!(range_words(low, high)), json!(null)),
            Kind::Count(default) => ("count", json!(default), json!("at least 1"), json!(null)),
            Kind::Delay(default) => ("delay", json!(default), json!("at least 0"), json!(null)),
            Kind::Switch(default) => ("switch", json!(default), json!(null), json!([true, false])),
            Kind::Word(words) => ("word", json!(words[0]), json!(null), json!(words)),
        };
        json!({
            "name": parameter.name,
            "unit": parameter.unit,
            "type": kind,
            "default": default,
            "range": range,
            "choices": choices,
            "about": parameter.about,
        })
    };
    table.iter().map(entry).collect()
}
