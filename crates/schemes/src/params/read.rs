//! Reading a field's value from what a file holds.

use super::field::{Choice, Field, Kind, Value};
use qcnlab_units::UnitError;
use std::fmt;

/// One value as a file holds it.
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

/// Why a field was not set.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The text is not the quantity asked for.
    Unit(UnitError),
    /// The value is of another kind.
    Kind {
        /// What stands there.
        written: String,
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
        written: String,
        /// The choices.
        choices: &'static [Choice],
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unit(error) => error.fmt(f),
            ParamError::Kind { written, expected } => write!(f, "{written} stands where {expected} is expected"),
            ParamError::Range { value, range } => write!(f, "{value} is out of range: it must be {range}"),
            ParamError::Choice { written, choices } => {
                let words: Vec<_> = choices.iter().map(|c| c.name).collect();
                write!(f, "'{written}' is not one of {}", words.join(", "))
            }
        }
    }
}

impl std::error::Error for ParamError {}

impl Field {
    /// As [`Self::read`]; `None` for the word [`Self::UNSET`] where the field may be unset.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_optional(&self, scalar: &Scalar) -> Result<Option<Value>, ParamError> {
        match scalar {
            Scalar::Text(word) if word == Self::UNSET && self.may_be_unset() => Ok(None),
            _ => self.read(scalar).map(Some),
        }
    }

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
                Scalar::Text(word) => Err(ParamError::Choice { written: word.clone(), choices }),
                _ => Err(self.mismatch(scalar)),
            },
            Kind::Text => match scalar {
                Scalar::Text(text) => Ok(Value::Text(text.clone())),
                _ => Err(self.mismatch(scalar)),
            },
        }
    }

    fn mismatch(self, scalar: &Scalar) -> ParamError {
        ParamError::Kind { written: scalar.to_string(), expected: self.noun() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Range;

    fn field(kind: Kind, optional: bool) -> Field {
        Field { name: "x", about: "", aliases: "", kind, range: Range::ANY, optional, fallback: None }
    }

    /// "none" unsets what may be unset; of free text it is a value, and anything else is read as ever.
    #[test]
    fn none_unsets_what_may_be_unset() {
        let none = Scalar::Text("none".to_owned());
        assert_eq!(field(Kind::Rate, true).read_optional(&none), Ok(None));
        assert!(field(Kind::Rate, false).read_optional(&none).is_err());
        let text = Ok(Some(Value::Text("none".to_owned())));
        assert_eq!(field(Kind::Text, true).read_optional(&none), text);
        let rate = Scalar::Text("3 Mb/s".to_owned());
        for optional in [true, false] {
            let read = field(Kind::Rate, optional).read_optional(&rate);
            assert_eq!(read, Ok(Some(Value::Rate(qcnlab_units::BitRate::mbps(3)))));
        }
    }

    /// Each kind of field, with what it takes and what it refuses.
    #[test]
    fn each_kind_takes_its_own_scalars() {
        let word = |word: &str| Scalar::Text(word.to_owned());
        let read = |kind: Kind, scalar: &Scalar| field(kind, false).read(scalar);
        let number = |x| Ok(Value::Number(x));
        assert_eq!(read(Kind::Number, &Scalar::Integer(-3)), number(-3.0));
        assert_eq!(read(Kind::Number, &Scalar::Real(0.5)), number(0.5));
        assert_eq!(read(Kind::Number, &word("1/128")), number(1.0 / 128.0));
        assert_eq!(read(Kind::Number, &word(" 0.25 ")), number(0.25));
        for refused in [word("1/0"), word("x"), Scalar::Flag(true), Scalar::Real(f64::INFINITY)] {
            assert!(matches!(read(Kind::Number, &refused), Err(ParamError::Kind { .. })), "{refused}");
        }
        for whole in [0, 7] {
            assert_eq!(read(Kind::Integer, &Scalar::Integer(whole)), Ok(Value::Integer(whole.unsigned_abs())));
        }
        let range = "at least 0".to_owned();
        let negative = Err(ParamError::Range { value: "-1".to_owned(), range });
        assert_eq!(read(Kind::Integer, &Scalar::Integer(-1)), negative);
        assert!(matches!(read(Kind::Integer, &Scalar::Real(1.0)), Err(ParamError::Kind { .. })));
        for flag in [true, false] {
            assert_eq!(read(Kind::Flag, &Scalar::Flag(flag)), Ok(Value::Flag(flag)));
        }
        assert!(matches!(read(Kind::Flag, &Scalar::Integer(1)), Err(ParamError::Kind { .. })));
        assert_eq!(read(Kind::Size, &word("3 KB")), Ok(Value::Size(qcnlab_units::Bytes::new(3000))));
        // A number without a unit says so.
        assert!(matches!(read(Kind::Size, &Scalar::Integer(3)), Err(ParamError::Unit(_))));
        assert!(matches!(read(Kind::Time, &Scalar::Flag(true)), Err(ParamError::Kind { .. })));
        assert_eq!(read(Kind::Text, &word("a")), Ok(Value::Text("a".to_owned())));
        assert!(matches!(read(Kind::Text, &Scalar::Integer(1)), Err(ParamError::Kind { .. })));
    }

    #[test]
    fn a_choice_takes_its_words() {
        use crate::params::table::Param;
        use crate::parts::stages::StageTest;
        let read = |scalar: &Scalar| field(<StageTest as Param>::KIND, false).read(scalar);
        for word in ["gt", "ge"] {
            assert_eq!(read(&Scalar::Text(word.to_owned())), Ok(Value::Text(word.to_owned())));
        }
        assert!(matches!(read(&Scalar::Text("lt".to_owned())), Err(ParamError::Choice { .. })));
        assert!(matches!(read(&Scalar::Integer(1)), Err(ParamError::Kind { .. })));
    }
}
