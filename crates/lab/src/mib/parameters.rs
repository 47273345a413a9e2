//! Objects that parameters of the scheme answer, in the units of the MIB and of Linux.

use qcnlab_schemes::params::{Table, Value as Parameter};
use serde_json::{Value, json};

/// An answer: a value, or the reason why there is none.
pub(super) type Answer = Result<Value, String>;

/// An answer as JSON: a value, or an object that holds the reason.
pub(super) fn answered(answer: Answer) -> Value {
    answer.unwrap_or_else(|reason| json!({ "unanswered": reason }))
}

/// A number of an enumeration.
pub(super) fn choice(number: u32, name: &str) -> Value {
    json!({ "value": number, "name": name })
}

fn parameter(table: &dyn Table, name: &str, key: &str) -> Result<Parameter, String> {
    let field = table.fields().iter().position(|field| field.name == name);
    let missing = || format!("the scheme has no {key}.{name}");
    field.ok_or_else(missing)?;
    field.and_then(|index| table.get(index)).ok_or_else(|| format!("{key}.{name} is not set"))
}

/// Octets of a size, within what the object holds.
pub(super) fn octets(table: &dyn Table, name: &str, key: &str, least: u64) -> Answer {
    let Parameter::Size(size) = parameter(table, name, key)? else { return Err(format!("{key}.{name} is no size")) };
    let octets = size.get();
    if (least..=u64::from(u32::MAX)).contains(&octets) {
        Ok(json!(octets))
    } else {
        Err(format!("{key}.{name} is {size}: the object holds {least} to {} octets", u32::MAX))
    }
}

/// Whole units of a time.
pub(super) fn time(table: &dyn Table, name: &str, unit_ps: u64, unit: &str) -> Answer {
    let key = "scheme.rp";
    let Parameter::Time(span) = parameter(table, name, key)? else { return Err(format!("{key}.{name} is no time")) };
    whole(span.ps(), unit_ps).ok_or_else(|| format!("{key}.{name} is {span}: no whole number of {unit}"))
}

/// Whole Mb/s, or bit/s, of a rate.
pub(super) fn rate(table: &dyn Table, name: &str, unit_bps: u64) -> Answer {
    let key = "scheme.rp";
    let Parameter::Rate(rate) = parameter(table, name, key)? else { return Err(format!("{key}.{name} is no rate")) };
    let unit = if unit_bps == 1 { "bit/s in 32 bits" } else { "Mb/s" };
    whole(rate.get(), unit_bps).ok_or_else(|| format!("{key}.{name} is {rate}: no whole number of {unit}"))
}

pub(super) fn whole(value: u64, unit: u64) -> Option<Value> {
    let count = value / unit;
    (value.is_multiple_of(unit) && count <= u64::from(u32::MAX)).then(|| json!(count))
}

/// A plain whole number.
pub(super) fn number(table: &dyn Table, name: &str) -> Answer {
    match parameter(table, name, "scheme.rp")? {
        Parameter::Integer(count) => Ok(json!(count)),
        other => Err(format!("scheme.rp.{name} is {other}: no whole number")),
    }
}

/// The exponent of a power of two, of `sign` 1 or -1.
pub(super) fn exponent(table: &dyn Table, name: &str, key: &str, sign: i32) -> Answer {
    let Parameter::Number(value) = parameter(table, name, key)? else {
        return Err(format!("{key}.{name} is no number"));
    };
    let exponent = value.log2().round() as i32;
    if value > 0.0 && (f64::from(exponent).exp2() - value).abs() <= value * 1e-9 {
        Ok(json!(sign * exponent))
    } else {
        Err(format!("{key}.{name} is {value}: no power of two"))
    }
}

/// Whole percent of a factor.
pub(super) fn percent(table: &dyn Table, name: &str) -> Answer {
    let key = "scheme.rp";
    let Parameter::Number(value) = parameter(table, name, key)? else {
        return Err(format!("{key}.{name} is no number"));
    };
    let percent = (value * 100.0).round();
    if (1.0..=100.0).contains(&percent) && (value * 100.0 - percent).abs() < 1e-9 {
        Ok(json!(percent as u64))
    } else {
        Err(format!("{key}.{name} is {value}: no whole percent from 1 to 100"))
    }
}

/// Whether the timer raises rates; a scheme without the choice has one if it has a time.
pub(super) fn has_clock(table: &dyn Table, other: &str) -> bool {
    match parameter(table, "clock", "scheme.rp") {
        Ok(clock) => clock.to_string() != other,
        Err(_) => true,
    }
}
