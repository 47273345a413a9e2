//! The macros that declare parameters once.

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

/// Declares a parameter struct.
///
/// Each field has its documentation, a type, its names in the sources, the range it accepts and, if a file may leave it
/// out, a [`Fallback`](crate::params::Fallback). Fields that are no parameters follow in a block after `with`.
///
/// A scheme built around another takes that one's parameter struct in as a member, and names the keys that it takes
/// over. Their types, ranges and documentation come from there; the other fields of the member are no keys of the new
/// struct, and have the value that the preset gives them. The order of the body is the order of the keys:
///
/// ```text
/// params! {
///     /// Parameters of the reaction point.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub struct RpParams {
///         /// Share of a new observation in the mean.
///         gain: f64, "g", Range::above_zero_to(1.0);
///         limiter: qcn::QcnRpParams => byte_reset, threshold, ai_rate;
///         /// The shortest cycle, as a share of the full one.
///         shortest: f64, "", Range::above_zero_to(1.0);
///         limiter => gd, min_rate;
///     }
/// }
/// ```
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
            fn set(&mut self, index: usize, value: Option<$crate::params::Value>) {
                let mut at = 0;
                $( if at == index {
                    self.$field = $crate::params::Param::from_option(value);
                    return;
                }
                at += 1; )*
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($body:tt)* }
    ) => {
        $crate::params_taking! { [$(#[$meta])* $name] [] [] [] $($body)* }
    };
}

/// Declares a struct that takes others in, for [`params!`]: goes through the body statement by statement, and collects
/// the members taken in, the fields of its own, and the keys of both in order.
#[doc(hidden)]
#[macro_export]
macro_rules! params_taking {
    // A member and the first keys taken over from it.
    (
        [$($head:tt)*] [$($members:tt)*] [$($own:tt)*] [$($keys:tt)*]
        $member:ident : $type:ty => $($key:ident),+; $($rest:tt)*
    ) => {
        $crate::params_taking! {
            [$($head)*] [$($members)* ($member $type)] [$($own)*] [$($keys)* $( (taken $member $key) )+] $($rest)*
        }
    };
    // Further keys of the same member.
    (
        [$($head:tt)*] [$($members:tt)*] [$($own:tt)*] [$($keys:tt)*]
        $member:ident => $($key:ident),+; $($rest:tt)*
    ) => {
        $crate::params_taking! {
            [$($head)*] [$($members)*] [$($own)*] [$($keys)* $( (taken $member $key) )+] $($rest)*
        }
    };
    // A field of its own.
    (
        [$($head:tt)*] [$($members:tt)*] [$($own:tt)*] [$($keys:tt)*]
        $(#[doc = $doc:literal])+ $field:ident : $type:ty, $aliases:literal, $range:expr $(, $fallback:expr)?;
        $($rest:tt)*
    ) => {
        $crate::params_taking! {
            [$($head)*] [$($members)*] [$($own)* ([$($doc)+] $field $type)]
            [$($keys)* (own [$($doc)+] $field $type, $aliases, $range $(, $fallback)?)] $($rest)*
        }
    };
    // The end of the body.
    (
        [$(#[$meta:meta])* $name:ident] [$( ($member:ident $member_type:ty) )*]
        [$( ([$($doc:literal)+] $field:ident $type:ty) )*] [$($key:tt)*]
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( #[doc = concat!("The [`", stringify!($member_type), "`] it is built around.")] pub $member: $member_type, )*
            $( $(#[doc = $doc])+ pub $field: $type, )*
        }

        impl $name {
            $(
                #[allow(non_upper_case_globals)]
                const $member: &'static [$crate::params::Field] = <$member_type>::FIELDS;
            )*

            /// The fields, in the order of the keys.
            pub const FIELDS: &'static [$crate::params::Field] = &[ $( $crate::params_key!(field $name $key), )* ];
        }

        impl $crate::params::Table for $name {
            fn fields(&self) -> &'static [$crate::params::Field] {
                Self::FIELDS
            }
            #[allow(unused_assignments)]
            fn get(&self, index: usize) -> Option<$crate::params::Value> {
                let mut at = 0;
                $( if at == index {
                    return $crate::params_key!(get self $name $key);
                }
                at += 1; )*
                None
            }
            #[allow(unused_assignments)]
            fn set(&mut self, index: usize, value: Option<$crate::params::Value>) {
                let mut at = 0;
                $( if at == index {
                    $crate::params_key!(set self $name value $key);
                    return;
                }
                at += 1; )*
            }
        }
    };
}

/// One key of a struct that takes others in: its field, how it is read and how it is set.
#[doc(hidden)]
#[macro_export]
macro_rules! params_key {
    (field $name:ident (own [$($doc:literal)+] $field:ident $($rest:tt)*)) => {
        $crate::param_field!($($doc)+, $field, $($rest)*)
    };
    (field $name:ident (taken $member:ident $key:ident)) => {
        $name::$member[$crate::params::index_of($name::$member, stringify!($key))]
    };
    (get $this:ident $name:ident (own [$($doc:literal)+] $field:ident $($rest:tt)*)) => {
        $crate::params::Param::to_value(&$this.$field)
    };
    (get $this:ident $name:ident (taken $member:ident $key:ident)) => {
        $crate::params::Table::get(
            &$this.$member,
            const { $crate::params::index_of($name::$member, stringify!($key)) },
        )
    };
    (set $this:ident $name:ident $value:ident (own [$($doc:literal)+] $field:ident $($rest:tt)*)) => {
        $this.$field = $crate::params::Param::from_option($value)
    };
    (set $this:ident $name:ident $value:ident (taken $member:ident $key:ident)) => {
        $crate::params::Table::set(
            &mut $this.$member,
            const { $crate::params::index_of($name::$member, stringify!($key)) },
            $value,
        )
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
