//! Fields: what they are called, what they hold and which values they accept.

use qcnlab_units::{BitRate, Bytes, Span};
use std::fmt;

/// What a field holds, and how it is written in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Octets with a unit: `"33 KB"`.
    Size,
    /// Bits a second with a unit: `"10 Gb/s"`.
    Rate,
    /// Time with a unit: `"15 ms"`.
    Time,
    /// A plain number or a fraction: `2`, `0.3`, `"1/128"`.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Flag,
    /// One of a few words.
    Choice(&'static [Choice]),
    /// Free text.
    Text,
}

/// One word a choice may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The word in files.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// A field's value, as printed and as set.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Octets.
    Size(Bytes),
    /// Bits a second.
    Rate(BitRate),
    /// Time.
    Time(Span),
    /// A real number.
    Number(f64),
    /// A whole number.
    Integer(u64),
    /// Yes or no.
    Flag(bool),
    /// A choice's word, or free text.
    Text(String),
}

impl Kind {
    /// What to call it in a message.
    pub const fn noun(self) -> &'static str {
        match self {
            Kind::Size => "a size such as \"150 KB\"",
            Kind::Rate => "a rate such as \"10 Gb/s\"",
            Kind::Time => "a time such as \"15 ms\"",
            Kind::Number => "a number",
            Kind::Integer => "a whole number",
            Kind::Flag => "true or false",
            Kind::Choice(_) => "a word",
            Kind::Text => "text",
        }
    }
}

impl fmt::Display for Value {
    /// The value as a person writes it, without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Size(x) => write!(f, "{x}"),
            Value::Rate(x) => write!(f, "{x}"),
            Value::Time(x) => write!(f, "{x}"),
            Value::Number(x) => write!(f, "{x}"),
            Value::Integer(x) => write!(f, "{x}"),
            Value::Flag(x) => write!(f, "{x}"),
            Value::Text(x) => write!(f, "{x}"),
        }
    }
}

/// The values a field accepts, in base units (octet, bit/s, picosecond).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Whether `min` itself is refused.
    pub min_excluded: bool,
}

impl Range {
    /// Anything the kind can hold.
    pub const ANY: Range = Range { min: f64::NEG_INFINITY, max: f64::INFINITY, min_excluded: false };
    /// More than zero.
    pub const POSITIVE: Range = Range { min: 0.0, max: f64::INFINITY, min_excluded: true };

    /// `min` or more.
    pub const fn at_least(min: f64) -> Range {
        Range { min, max: f64::INFINITY, min_excluded: false }
    }

    /// From `min` to `max`, both allowed.
    pub const fn between(min: f64, max: f64) -> Range {
        Range { min, max, min_excluded: false }
    }

    /// More than zero, up to `max`.
    pub const fn above_zero_to(max: f64) -> Range {
        Range { min: 0.0, max, min_excluded: true }
    }

    /// Whether `x` lies within.
    pub fn holds(&self, x: f64) -> bool {
        x <= self.max && if self.min_excluded { x > self.min } else { x >= self.min }
    }

    /// The range in words, or `None` when it excludes nothing.
    pub fn words(&self, kind: Kind) -> Option<String> {
        let show = |x: f64| match kind {
            Kind::Size => Bytes::new(x as u64).to_string(),
            Kind::Rate => BitRate::bps(x as u64).to_string(),
            Kind::Time => Span::from_ps(x as u64).to_string(),
            _ => x.to_string(),
        };
        match (self.min.is_finite(), self.max.is_finite()) {
            (false, false) => None,
            (true, false) if self.min_excluded => Some(format!("more than {}", show(self.min))),
            (true, false) => Some(format!("at least {}", show(self.min))),
            (false, true) => Some(format!("at most {}", show(self.max))),
            (true, true) if self.min_excluded => {
                Some(format!("more than {}, at most {}", show(self.min), show(self.max)))
            }
            (true, true) => Some(format!("from {} to {}", show(self.min), show(self.max))),
        }
    }
}

/// One field of a parameter table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its key in files.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Its names in the standard and the decks, separated by commas.
    pub aliases: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it accepts.
    pub range: Range,
    /// Whether it may be left unset.
    pub optional: bool,
    /// What holds when a file does not set it, if the table says so.
    pub fallback: Option<Fallback>,
}

impl Field {
    /// The word that leaves a field unset, where a preset sets it.
    pub const UNSET: &'static str = "none";

    /// Whether [`Self::UNSET`] may stand for it. Of free text every word is a value.
    pub const fn may_be_unset(&self) -> bool {
        self.optional && !matches!(self.kind, Kind::Text)
    }
}

/// What holds when a file does not set a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This value, as text.
    Text(&'static str),
    /// What another field of the same table holds.
    Same(&'static str),
    /// Half of what another field of the same table holds.
    Half(&'static str),
    /// What the reader of the file computes of other tables, in a few words; what the field means says how.
    Rule(&'static str),
}

impl fmt::Display for Fallback {
    /// The fallback in words, for lists.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fallback::Text(text) | Fallback::Rule(text) => f.write_str(text),
            Fallback::Same(field) => write!(f, "as {field}"),
            Fallback::Half(field) => write!(f, "half of {field}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 octets, 1 Mb/s and 1 ms in base units, and their ends.
    #[test]
    fn a_range_in_words_says_whether_its_ends_belong_to_it() {
        let words = |range: Range, kind| range.words(kind).unwrap_or_default();
        assert_eq!(words(Range::ANY, Kind::Number), "");
        assert_eq!(words(Range::POSITIVE, Kind::Size), "more than 0 B");
        assert_eq!(words(Range::at_least(1000.0), Kind::Size), "at least 1 KB");
        assert_eq!(words(Range::at_least(1e6), Kind::Rate), "at least 1 Mb/s");
        assert_eq!(words(Range::between(0.0, 1e9), Kind::Time), "from 0 s to 1 ms");
        assert_eq!(words(Range::above_zero_to(0.5), Kind::Number), "more than 0, at most 0.5");
        let most = Range { min: f64::NEG_INFINITY, max: 3.0, min_excluded: false };
        assert_eq!(words(most, Kind::Integer), "at most 3");
    }

    /// They end the sentence "'x' is not ...".
    #[test]
    fn each_kind_has_words_for_a_message() {
        assert_eq!(Kind::Size.noun(), "a size such as \"150 KB\"");
        assert_eq!(Kind::Rate.noun(), "a rate such as \"10 Gb/s\"");
        assert_eq!(Kind::Time.noun(), "a time such as \"15 ms\"");
        let others = [Kind::Number, Kind::Integer, Kind::Flag, Kind::Choice(&[]), Kind::Text].map(Kind::noun);
        assert_eq!(others, ["a number", "a whole number", "true or false", "a word", "text"]);
    }

    #[test]
    fn a_range_holds_its_ends_unless_the_lower_is_excluded() {
        let held = |range: Range| [-0.5, 0.0, 0.5, 1.0, 1.5].map(|x| range.holds(x));
        assert_eq!(held(Range::between(0.0, 1.0)), [false, true, true, true, false]);
        assert_eq!(held(Range::above_zero_to(1.0)), [false, false, true, true, false]);
        assert_eq!(held(Range::at_least(0.5)), [false, false, true, true, true]);
        assert_eq!(held(Range::POSITIVE), [false, false, true, true, true]);
        assert!(!Range::ANY.holds(f64::NAN));
    }
}
