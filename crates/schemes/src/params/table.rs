//! Tables: structs whose fields can be listed, read and set, and the types a field may have.

use super::field::{Choice, Field, Kind, Value};
use qcnlab_units::{BitRate, Bytes, Span};

/// A struct whose fields can be listed, read and set by position.
pub trait Table {
    /// The fields, in the order of declaration.
    fn fields(&self) -> &'static [Field];
    /// The value of field `index`; `None` when it is unset.
    fn get(&self, index: usize) -> Option<Value>;
    /// Sets field `index` to a value of its kind, or to none where it may be unset.
    fn set(&mut self, index: usize, value: Option<Value>);
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

/// Returns where the field called `name` stands among `fields`. For [`params!`](crate::params!), which asks while it
/// compiles.
///
/// # Panics
/// When there is none.
#[doc(hidden)]
pub const fn index_of(fields: &[Field], name: &str) -> usize {
    let mut index = 0;
    while index < fields.len() {
        if same(fields[index].name.as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("the struct that is taken in has no field of this name")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value makes some of an optional field; no value makes none of it, and none is no value.
    #[test]
    fn an_optional_field_holds_a_value_or_none() {
        let seven = Value::Size(Bytes::new(7));
        assert_eq!(<Option<Bytes> as Param>::from_value(seven.clone()), Some(Bytes::new(7)));
        assert_eq!(<Option<Bytes> as Param>::from_option(Some(seven.clone())), Some(Bytes::new(7)));
        assert_eq!(<Option<Bytes> as Param>::from_option(None), None);
        assert_eq!((Some(Bytes::new(7)).to_value(), None::<Bytes>.to_value()), (Some(seven), None));
    }

    /// A name that begins as another does is another name.
    #[test]
    fn names_are_the_same_when_all_their_characters_are() {
        let names = |a: &str, b: &str| same(a.as_bytes(), b.as_bytes());
        assert!(names("gd", "gd") && names("", ""));
        assert_eq!([names("gd", "gd_max"), names("gd_max", "gd"), names("gd", "gi"), names("", "g")], [false; 4]);
    }

    /// A whole number that is too large is the largest.
    #[test]
    fn whole_numbers_of_32_bits_end_at_the_largest() {
        let read = |x| <u32 as Param>::from_value(Value::Integer(x));
        assert_eq!([read(7), read(u64::from(u32::MAX)), read(1 << 40)], [7, u32::MAX, u32::MAX]);
        assert_eq!(7u32.to_value(), Some(Value::Integer(7)));
    }
}
