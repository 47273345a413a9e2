//! Parameters declared once: the struct, its documentation, ranges and names
//! come from one table, and so do reading, printing and the catalogue.
//!
//! [`params!`] declares a struct whose fields can be listed, read and set by
//! name; [`choice!`] declares an enumeration whose variants have a word in files.

use qcnlab_units::{BitRate, Bytes, Span, UnitError};
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

/// What a file can hold in one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A boolean.
    Flag(bool),
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

/// What holds when a file does not set a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// This value, as text.
    Text(&'static str),
    /// What another field of the same table holds.
    Same(&'static str),
    /// Half of what another field of the same table holds.
    Half(&'static str),
}

impl fmt::Display for Fallback {
    /// The fallback in words, for lists.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fallback::Text(text) => f.write_str(text),
            Fallback::Same(field) => write!(f, "as {field}"),
            Fallback::Half(field) => write!(f, "half of {field}"),
        }
    }
}

/// A struct whose fields can be listed, read and set by position.
pub trait Table {
    /// The fields, in the order of declaration.
    fn fields(&self) -> &'static [Field];
    /// The value of field `index`; `None` when it is unset.
    fn get(&self, index: usize) -> Option<Value>;
    /// Sets field `index`. The value has the field's kind.
    fn set(&mut self, index: usize, value: Value);
}

/// An enumeration told apart by a word in files, each variant with fields of its own.
pub trait Variants: Sized {
    /// The words, in the order of declaration.
    const CHOICES: &'static [Choice];
    /// The fields of each variant, in the same order.
    const FIELDS: &'static [&'static [Field]];
    /// The variant's word.
    fn word(&self) -> &'static str;
    /// The values of the variant's fields, in their order.
    fn values(&self) -> Vec<Option<Value>>;
    /// The variant called `word` with `values` in the order of its fields.
    ///
    /// # Panics
    /// When no variant has this word, or a field that must be set has no value.
    fn from_values(word: &str, values: Vec<Option<Value>>) -> Self;
}

/// Why a field was not set.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The text is not the quantity asked for.
    Unit(UnitError),
    /// The value is of another kind.
    Kind {
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// The value is outside the field's range.
    Range {
        /// The value.
        value: String,
        /// The range in words.
        range: String,
    },
    /// The word is none of the choices.
    Choice {
        /// The word.
        found: String,
        /// The choices.
        choices: &'static [Choice],
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unit(error) => error.fmt(f),
            ParamError::Kind { found, expected } => write!(f, "{found} stands where {expected} is expected"),
            ParamError::Range { value, range } => write!(f, "{value} is out of range: it must be {range}"),
            ParamError::Choice { found, choices } => {
                let words: Vec<_> = choices.iter().map(|c| c.name).collect();
                write!(f, "'{found}' is not one of {}", words.join(", "))
            }
        }
    }
}

impl std::error::Error for ParamError {}

impl Field {
    /// Reads what a file holds as a value for this field.
    ///
    /// # Errors
    /// When the unit, the kind, the range or the word is wrong.
    pub fn read(&self, scalar: &Scalar) -> Result<Value, ParamError> {
        let value = self.kind.read(scalar)?;
        let x = match &value {
            Value::Size(x) => x.as_f64(),
            Value::Rate(x) => x.as_f64(),
            Value::Time(x) => x.ps() as f64,
            Value::Number(x) => *x,
            Value::Integer(x) => *x as f64,
            Value::Flag(_) | Value::Text(_) => return Ok(value),
        };
        if self.range.holds(x) {
            return Ok(value);
        }
        Err(ParamError::Range { value: value.to_string(), range: self.range.words(self.kind).unwrap_or_default() })
    }
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

    fn read(self, scalar: &Scalar) -> Result<Value, ParamError> {
        let text = || match scalar {
            Scalar::Text(text) => Ok(text.clone()),
            Scalar::Integer(n) => Ok(n.to_string()),
            Scalar::Real(x) => Ok(x.to_string()),
            Scalar::Flag(_) => Err(self.mismatch(scalar)),
        };
        match self {
            Kind::Size => text()?.parse().map(Value::Size).map_err(ParamError::Unit),
            Kind::Rate => text()?.parse().map(Value::Rate).map_err(ParamError::Unit),
            Kind::Time => text()?.parse().map(Value::Time).map_err(ParamError::Unit),
            Kind::Number => scalar.number().map(Value::Number).ok_or_else(|| self.mismatch(scalar)),
            Kind::Integer => match scalar {
                Scalar::Integer(n) if *n < 0 => {
                    Err(ParamError::Range { value: n.to_string(), range: "at least 0".to_owned() })
                }
                Scalar::Integer(n) => Ok(Value::Integer(n.unsigned_abs())),
                _ => Err(self.mismatch(scalar)),
            },
            Kind::Flag => match scalar {
                Scalar::Flag(b) => Ok(Value::Flag(*b)),
                _ => Err(self.mismatch(scalar)),
            },
            Kind::Choice(choices) => match scalar {
                Scalar::Text(word) if choices.iter().any(|c| c.name == word) => Ok(Value::Text(word.clone())),
                Scalar::Text(word) => Err(ParamError::Choice { found: word.clone(), choices }),
                _ => Err(self.mismatch(scalar)),
            },
            Kind::Text => match scalar {
                Scalar::Text(text) => Ok(Value::Text(text.clone())),
                _ => Err(self.mismatch(scalar)),
            },
        }
    }

    fn mismatch(self, scalar: &Scalar) -> ParamError {
        ParamError::Kind { found: scalar.to_string(), expected: self.noun() }
    }
}

impl Scalar {
    /// The number it holds; a text may hold a fraction such as `1/128`.
    fn number(&self) -> Option<f64> {
        let x = match self {
            Scalar::Integer(n) => *n as f64,
            Scalar::Real(x) => *x,
            Scalar::Flag(_) => return None,
            Scalar::Text(text) => match text.split_once('/') {
                Some((over, under)) => over.trim().parse::<f64>().ok()? / under.trim().parse::<f64>().ok()?,
                None => text.trim().parse().ok()?,
            },
        };
        x.is_finite().then_some(x)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Text(text) => write!(f, "'{text}'"),
            Scalar::Integer(n) => write!(f, "{n}"),
            Scalar::Real(x) => write!(f, "{x}"),
            Scalar::Flag(b) => write!(f, "{b}"),
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

/// A type a field may have.
pub trait Param: Sized {
    /// How it is written.
    const KIND: Kind;
    /// Whether it may be unset.
    const OPTIONAL: bool = false;
    /// Takes a value of [`Self::KIND`].
    ///
    /// # Panics
    /// On a value of another kind: reading a field never gives one.
    fn from_value(value: Value) -> Self;
    /// The value, or `None` when unset.
    fn to_value(&self) -> Option<Value>;
    /// Takes a value of [`Self::KIND`], or none where the field may be unset.
    ///
    /// # Panics
    /// On no value for a field that must be set: reading a table never leaves one.
    fn from_option(value: Option<Value>) -> Self {
        match value {
            Some(value) => Self::from_value(value),
            None => unreachable!("a field that must be set was given no value"),
        }
    }
}

macro_rules! plain_param {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl Param for $type {
            const KIND: Kind = Kind::$variant;
            fn from_value(value: Value) -> Self {
                match value {
                    Value::$variant(x) => x,
                    other => unreachable!("a field of kind {:?} was given {other:?}", Self::KIND),
                }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::$variant(self.clone()))
            }
        }
    )*};
}

plain_param!(Bytes => Size, BitRate => Rate, Span => Time, f64 => Number, u64 => Integer, bool => Flag, String => Text);

impl Param for u32 {
    const KIND: Kind = Kind::Integer;
    fn from_value(value: Value) -> u32 {
        u32::try_from(u64::from_value(value)).unwrap_or(u32::MAX)
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Integer(u64::from(*self)))
    }
}

impl<T: Param> Param for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    fn from_value(value: Value) -> Self {
        Some(T::from_value(value))
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(Param::to_value)
    }
    fn from_option(value: Option<Value>) -> Self {
        value.map(T::from_value)
    }
}

/// Builds one [`Field`] of a table.
#[doc(hidden)]
#[macro_export]
macro_rules! param_field {
    ($($doc:literal)+, $field:ident, $type:ty, $aliases:literal, $range:expr $(, $fallback:expr)?) => {
        $crate::params::Field {
            name: stringify!($field),
            about: concat!($($doc, "\n"),+),
            aliases: $aliases,
            kind: <$type as $crate::params::Param>::KIND,
            range: $range,
            optional: <$type as $crate::params::Param>::OPTIONAL,
            fallback: {
                let _fallback: Option<$crate::params::Fallback> = None;
                $( let _fallback = Some($fallback); )?
                _fallback
            },
        }
    };
}

/// Declares a parameter struct: each field has documentation, a type, its other
/// names, the range it accepts and, if a file may leave it out, a [`Fallback`].
/// Fields that are no parameters follow in a block after `with`.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty, $aliases:literal, $range:expr $(, $fallback:expr)?; )*
        }
        $( with {
            $( $(#[$other_meta:meta])* $other_vis:vis $other:ident : $other_type:ty, )*
        } )?
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $( $( $(#[$other_meta])* $other_vis $other: $other_type, )* )?
        }

        impl $name {
            /// The fields, in the order of declaration.
            pub const FIELDS: &'static [$crate::params::Field] = &[
                $( $crate::param_field!($($doc)+, $field, $type, $aliases, $range $(, $fallback)?), )*
            ];

            /// The struct with `values` in the order of the fields.
            ///
            /// # Panics
            /// When a field that must be set has no value.
            #[allow(dead_code, unused_mut, unused_variables, clippy::too_many_arguments)]
            pub(crate) fn from_values(
                values: Vec<Option<$crate::params::Value>>,
                $( $( $other: $other_type, )* )?
            ) -> Self {
                let mut values = values.into_iter();
                $name {
                    $( $field: $crate::params::Param::from_option(values.next().flatten()), )*
                    $( $( $other, )* )?
                }
            }
        }

        impl $crate::params::Table for $name {
            fn fields(&self) -> &'static [$crate::params::Field] {
                Self::FIELDS
            }
            #[allow(unused_assignments, unused_mut, unused_variables)]
            fn get(&self, index: usize) -> Option<$crate::params::Value> {
                let mut at = 0;
                $( if at == index {
                    return $crate::params::Param::to_value(&self.$field);
                }
                at += 1; )*
                None
            }
            #[allow(unused_assignments, unused_mut, unused_variables)]
            fn set(&mut self, index: usize, value: $crate::params::Value) {
                let mut at = 0;
                $( if at == index {
                    self.$field = $crate::params::Param::from_value(value);
                    return;
                }
                at += 1; )*
            }
        }
    };
}

/// Declares an enumeration each of whose variants has a word in files.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant, )*
        }

        impl $crate::params::Param for $name {
            const KIND: $crate::params::Kind = $crate::params::Kind::Choice(&[
                $( $crate::params::Choice { name: $word, about: concat!($($doc, "\n"),+) }, )*
            ]);
            fn from_value(value: $crate::params::Value) -> Self {
                match &value {
                    $( $crate::params::Value::Text(word) if word == $word => $name::$variant, )*
                    other => unreachable!("no variant is called {other:?}"),
                }
            }
            fn to_value(&self) -> Option<$crate::params::Value> {
                let word = match self {
                    $( $name::$variant => $word, )*
                };
                Some($crate::params::Value::Text(word.to_owned()))
            }
        }
    };
}

/// Declares an enumeration told apart by a word in files; a variant's fields
/// are declared as those of [`params!`] are.
#[macro_export]
macro_rules! variants {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $(
                $(#[doc = $doc:literal])+ $variant:ident = $word:literal
                $( {
                    $(
                        $(#[doc = $field_doc:literal])+
                        $field:ident : $type:ty, $aliases:literal, $range:expr $(, $fallback:expr)?;
                    )*
                } )?,
            )*
        }
    ) => {
        $(#[$meta])*
        pub enum $name {
            $( $(#[doc = $doc])+ $variant $( { $( $(#[doc = $field_doc])+ $field: $type, )* } )?, )*
        }

        impl $crate::params::Variants for $name {
            const CHOICES: &'static [$crate::params::Choice] = &[
                $( $crate::params::Choice { name: $word, about: concat!($($doc, "\n"),+) }, )*
            ];
            const FIELDS: &'static [&'static [$crate::params::Field]] = &[
                $( &[ $( $(
                    $crate::param_field!($($field_doc)+, $field, $type, $aliases, $range $(, $fallback)?),
                )* )? ], )*
            ];
            fn word(&self) -> &'static str {
                match self {
                    $( $name::$variant { .. } => $word, )*
                }
            }
            fn values(&self) -> Vec<Option<$crate::params::Value>> {
                match self {
                    $( $name::$variant $( { $( $field, )* } )? => {
                        vec![ $( $( $crate::params::Param::to_value($field), )* )? ]
                    } )*
                }
            }
            #[allow(unused_mut, unused_variables)]
            fn from_values(word: &str, values: Vec<Option<$crate::params::Value>>) -> Self {
                let mut values = values.into_iter();
                match word {
                    $( $word => $name::$variant $( {
                        $( $field: $crate::params::Param::from_option(values.next().flatten()), )*
                    } )?, )*
                    other => unreachable!("no variant is called {other}"),
                }
            }
        }
    };
}
