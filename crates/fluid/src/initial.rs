//! The initial state of a fluid model, as a caller asks for it.

use super::error::FluidError;
use super::parameters::{check_names, object};
use serde_json::{Map, Value};

/// The keys of an initial state: `from` (`"start"` or `"equilibrium"`) and the components that differ from it.
#[derive(Clone, Debug)]
pub(crate) struct Initial {
    model: &'static str,
    keys: Map<String, Value>,
}

impl Initial {
    /// Reads a JSON object whose keys are `from` or in `known`.
    pub(crate) fn read(model: &'static str, text: Option<&str>, known: &[&str]) -> Result<Initial, FluidError> {
        let mut keys = text.map_or_else(|| Ok(Map::new()), |text| object("initial", text))?;
        keys.retain(|_, value| !value.is_null());
        let names: Vec<&str> = std::iter::once("from").chain(known.iter().copied()).collect();
        check_names(model, "initial key", &keys, &names)?;
        let initial = Initial { model, keys };
        match initial.keys.get("from") {
            None => Ok(initial),
            Some(Value::String(word)) if word == "start" || word == "equilibrium" => Ok(initial),
            Some(other) => Err(initial.wrong("from", "\"start\" or \"equilibrium\"", other)),
        }
    }

    /// Whether components without a key are those of the equilibrium.
    pub(crate) fn at_equilibrium(&self) -> bool {
        self.keys.get("from").is_some_and(|word| word == "equilibrium")
    }

    /// A number of at least 0 in `unit`, if the key is there.
    pub(crate) fn number(&self, name: &'static str, unit: &'static str) -> Result<Option<f64>, FluidError> {
        let number = self.signed(name)?;
        number.map(|number| self.not_below_zero(name, unit, number)).transpose()
    }

    /// A number of either sign, if the key is there.
    pub(crate) fn signed(&self, name: &'static str) -> Result<Option<f64>, FluidError> {
        let Some(value) = self.keys.get(name) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| self.wrong(name, "a number", value))
    }

    /// One number of at least 0 for each of `count` sources, if there are any: a number for all, or a list.
    pub(crate) fn each(
        &self,
        name: &'static str,
        unit: &'static str,
        count: usize,
    ) -> Result<Option<Vec<f64>>, FluidError> {
        let Some(value) = self.keys.get(name) else { return Ok(None) };
        let expected = format!("a number or a list of {count} numbers");
        let numbers: Option<Vec<f64>> = match value {
            Value::Array(list) if list.len() == count => list.iter().map(Value::as_f64).collect(),
            Value::Number(number) => number.as_f64().map(|number| vec![number; count]),
            _ => None,
        };
        let numbers = numbers.ok_or_else(|| self.wrong(name, &expected, value))?;
        let checked = numbers.into_iter().map(|number| self.not_below_zero(name, unit, number));
        checked.collect::<Result<_, _>>().map(Some)
    }

    fn not_below_zero(&self, name: &str, unit: &'static str, value: f64) -> Result<f64, FluidError> {
        if value >= 0.0 {
            return Ok(value);
        }
        let range = "at least 0".to_owned();
        Err(FluidError::OutOfRange { model: self.model, name: name.to_owned(), value, unit, range })
    }

    fn wrong(&self, name: &str, expected: &str, value: &Value) -> FluidError {
        let (name, expected) = (name.to_owned(), expected.to_owned());
        FluidError::WrongKind { model: self.model, name, expected, value: value.to_string() }
    }
}
