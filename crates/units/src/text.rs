//! Quantities as text: a decimal number, with an exponent if you like (`1.79e-05`), a space if you like, and a unit.

use std::fmt;

/// What a text is expected to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Octets.
    Size,
    /// Bits a second.
    Rate,
    /// Time.
    Time,
}

impl Quantity {
    /// Unit words and how many base units each is worth, in the order used for printing.
    const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Quantity::Size => &[
                ("GB", 1_000_000_000),
                ("MB", 1_000_000),
                ("KB", 1_000),
                ("B", 1),
                ("GiB", 1 << 30),
                ("MiB", 1 << 20),
                ("KiB", 1 << 10),
                ("kB", 1_000),
            ],
            Quantity::Rate => &[
                ("Tb/s", 1_000_000_000_000),
                ("Gb/s", 1_000_000_000),
                ("Mb/s", 1_000_000),
                ("Kb/s", 1_000),
                ("b/s", 1),
                ("kb/s", 1_000),
                ("Tbps", 1_000_000_000_000),
                ("Gbps", 1_000_000_000),
                ("Mbps", 1_000_000),
                ("Kbps", 1_000),
                ("kbps", 1_000),
                ("bps", 1),
                ("Tbit/s", 1_000_000_000_000),
                ("Gbit/s", 1_000_000_000),
                ("Mbit/s", 1_000_000),
                ("Kbit/s", 1_000),
                ("kbit/s", 1_000),
                ("bit/s", 1),
            ],
            Quantity::Time => &[
                ("s", 1_000_000_000_000),
                ("ms", 1_000_000_000),
                ("us", 1_000_000),
                ("ns", 1_000),
                ("ps", 1),
                ("\u{b5}s", 1_000_000),
                ("\u{3bc}s", 1_000_000),
            ],
        }
    }

    /// How many of the units above are the ones we print.
    const fn printed(self) -> usize {
        match self {
            Quantity::Size => 4,
            Quantity::Rate | Quantity::Time => 5,
        }
    }

    /// The words for units, those we print first.
    pub fn unit_words(self) -> impl Iterator<Item = &'static str> {
        self.units().iter().map(|(word, _)| *word)
    }

    /// A sample of well-formed text, for messages.
    pub const fn example(self) -> &'static str {
        match self {
            Quantity::Size => "150 KB",
            Quantity::Rate => "10 Gb/s",
            Quantity::Time => "15 ms",
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Quantity::Size => "a size",
            Quantity::Rate => "a rate",
            Quantity::Time => "a time",
        }
    }
}

/// Why a text is not the quantity it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// No unit stands behind the number.
    MissingUnit {
        /// The text.
        text: String,
        /// What was expected.
        expected: Quantity,
    },
    /// The unit is not one of this quantity.
    WrongUnit {
        /// The text.
        text: String,
        /// The unit as written.
        unit: String,
        /// What was expected.
        expected: Quantity,
        /// The same amount in a fitting unit, where one can be meant.
        meant: Option<String>,
    },
    /// No decimal number stands at the start.
    NotANumber {
        /// The text.
        text: String,
        /// What was expected.
        expected: Quantity,
    },
    /// The number is negative.
    Negative {
        /// The text.
        text: String,
        /// What was expected.
        expected: Quantity,
    },
    /// The amount is not a whole number of octets, bit/s or picoseconds.
    TooFine {
        /// The text.
        text: String,
        /// What was expected.
        expected: Quantity,
    },
    /// The amount does not fit 64 bits.
    TooLarge {
        /// The text.
        text: String,
    },
}

impl UnitError {
    /// What to write instead, where that can be told.
    pub fn hint(&self) -> Option<String> {
        match self {
            UnitError::MissingUnit { text, expected } => {
                let (less, more) = match expected {
                    Quantity::Size => ("B", "KB"),
                    Quantity::Rate => ("Mb/s", "Gb/s"),
                    Quantity::Time => ("us", "ms"),
                };
                let text = text.trim();
                Some(format!("write the unit, as in \"{text} {less}\" or \"{text} {more}\""))
            }
            UnitError::WrongUnit { meant: Some(meant), .. } => Some(format!("did you mean \"{meant}\"?")),
            UnitError::WrongUnit { expected, .. } => {
                let known: Vec<_> = expected.units()[..expected.printed()].iter().map(|u| u.0).collect();
                Some(format!("units of {} are {}", expected.noun(), known.join(", ")))
            }
            UnitError::NotANumber { expected, .. } => Some(format!("write it as \"{}\"", expected.example())),
            _ => None,
        }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitError::MissingUnit { text, expected } => {
                write!(f, "'{text}' has no unit: {} needs one", expected.noun())
            }
            UnitError::WrongUnit { text, unit, expected, .. } => match expected {
                Quantity::Rate => write!(f, "'{text}': rates are in bits a second, not in {unit}"),
                Quantity::Size => write!(f, "'{text}': sizes are in octets (B), not in {unit}"),
                Quantity::Time => write!(f, "'{text}': times are in seconds, not in {unit}"),
            },
            UnitError::NotANumber { text, expected } => write!(f, "'{text}' is not {}", expected.noun()),
            UnitError::Negative { text, expected } => write!(f, "'{text}': {} cannot be negative", expected.noun()),
            UnitError::TooFine { text, expected } => {
                let base = match expected {
                    Quantity::Size => "octet",
                    Quantity::Rate => "bit/s",
                    Quantity::Time => "picosecond",
                };
                write!(f, "'{text}' is finer than one {base}")
            }
            UnitError::TooLarge { text } => write!(f, "'{text}' is too large"),
        }
    }
}

impl std::error::Error for UnitError {}

/// Reads `text` as `expected`, in base units.
pub(crate) fn parse(text: &str, expected: Quantity) -> Result<u64, UnitError> {
    let trimmed = text.trim();
    let unsigned = trimmed.strip_prefix(['-', '\u{2212}']);
    let body = unsigned.unwrap_or(trimmed).trim_start();
    let split = body.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(body.len());
    let (exponent, unit) = exponent(&body[split..]);
    let unit = unit.trim();
    let not_a_number = || UnitError::NotANumber { text: text.to_owned(), expected };
    let decimal = Decimal::read(&body[..split]).ok_or_else(not_a_number)?;
    let too_large = || UnitError::TooLarge { text: text.to_owned() };
    let decimal = decimal.shifted(exponent).ok_or_else(too_large)?;
    if unsigned.is_some() && decimal.digits != 0 {
        return Err(UnitError::Negative { text: text.to_owned(), expected });
    }
    if unit.is_empty() {
        return Err(UnitError::MissingUnit { text: text.to_owned(), expected });
    }
    let Some(&(_, worth)) = expected.units().iter().find(|(word, _)| *word == unit) else {
        let meant = meant(decimal, unit, expected);
        return Err(UnitError::WrongUnit { text: text.to_owned(), unit: unit.to_owned(), expected, meant });
    };
    decimal.times(worth).map_err(|fault| match fault {
        Fault::Fine => UnitError::TooFine { text: text.to_owned(), expected },
        Fault::Large => UnitError::TooLarge { text: text.to_owned() },
    })
}

/// Split an exponent such as `e-05` off the text that follows the digits. Without one it is 0.
fn exponent(text: &str) -> (i64, &str) {
    let Some(after) = text.strip_prefix(['e', 'E']) else { return (0, text) };
    let digits = after.strip_prefix(['-', '+']).unwrap_or(after);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return (0, text);
    }
    let size = digits[..end].parse().unwrap_or(i64::MAX);
    (if after.starts_with('-') { -size } else { size }, &digits[end..])
}

/// The amount in the largest printed unit it reaches, exactly; sizes in the largest unit that divides them.
pub(crate) fn show(amount: u64, quantity: Quantity) -> String {
    let units = &quantity.units()[..quantity.printed()];
    let fits = |worth: u64| match quantity {
        Quantity::Size => amount >= worth && amount.is_multiple_of(worth),
        Quantity::Rate | Quantity::Time => amount >= worth,
    };
    let none = if quantity == Quantity::Time { &units[0] } else { &units[units.len() - 1] };
    let (word, worth) = *units.iter().find(|(_, worth)| fits(*worth)).unwrap_or(none);
    let (whole, rest) = (amount / worth, amount % worth);
    if rest == 0 {
        return format!("{whole} {word}");
    }
    let width = worth.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{} {word}", fraction.trim_end_matches('0'))
}

/// The amount a person probably had in mind, in a unit of `expected`.
fn meant(decimal: Decimal, unit: &str, expected: Quantity) -> Option<String> {
    let bare = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
    let prefix_of = |word: &str| -> Option<u64> {
        match word.to_ascii_uppercase().as_str() {
            "" => Some(1),
            "K" => Some(1_000),
            "M" => Some(1_000_000),
            "G" => Some(1_000_000_000),
            "T" => Some(1_000_000_000_000),
            _ => None,
        }
    };
    match expected {
        Quantity::Rate => {
            if let Some(prefix) = bare.strip_suffix('B').and_then(prefix_of) {
                return Some(show(decimal.times(prefix.checked_mul(8)?).ok()?, expected));
            }
            let prefix = prefix_of(bare.strip_suffix("bit").or(bare.strip_suffix('b')).unwrap_or(bare))?;
            Some(show(decimal.times(prefix).ok()?, expected))
        }
        Quantity::Size => {
            if let Some(prefix) = bare.strip_suffix('b').and_then(prefix_of) {
                let bits = decimal.times(prefix).ok()?;
                return bits.is_multiple_of(8).then(|| show(bits / 8, expected));
            }
            let prefix = prefix_of(bare.strip_suffix("bytes").or(bare.strip_suffix('B')).unwrap_or(bare))?;
            Some(show(decimal.times(prefix).ok()?, expected))
        }
        Quantity::Time => {
            let worth = match unit.to_lowercase().as_str() {
                "sec" | "second" | "seconds" => 1_000_000_000_000,
                "msec" | "msecs" => 1_000_000_000,
                "usec" | "usecs" => 1_000_000,
                "nsec" | "nsecs" => 1_000,
                _ => return None,
            };
            Some(show(decimal.times(worth).ok()?, expected))
        }
    }
}

/// An unsigned decimal, exactly: `digits` / 10^`decimals`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    decimals: u32,
}

enum Fault {
    Fine,
    Large,
}

impl Decimal {
    fn read(text: &str) -> Option<Decimal> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || fraction.contains('.') || text.ends_with('.') {
            return None;
        }
        let joined: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
        let decimals = u32::try_from(fraction.chars().filter(|c| *c != '_').count()).ok()?;
        Some(Decimal { digits: joined.parse().ok()?, decimals })
    }

    /// Multiply by 10^`exponent`; `None` where the digits do not fit.
    fn shifted(self, exponent: i64) -> Option<Decimal> {
        if self.digits == 0 {
            return Some(Decimal { digits: 0, decimals: 0 });
        }
        let decimals = i64::from(self.decimals).saturating_sub(exponent);
        if let Ok(up) = u32::try_from(decimals.saturating_neg()) {
            return Some(Decimal { digits: self.digits.checked_mul(10u128.checked_pow(up)?)?, decimals: 0 });
        }
        (decimals > 0).then(|| Decimal { digits: self.digits, decimals: u32::try_from(decimals).unwrap_or(u32::MAX) })
    }

    fn times(self, worth: u64) -> Result<u64, Fault> {
        let product = self.digits.checked_mul(u128::from(worth)).ok_or(Fault::Large)?;
        let scale = 10u128.checked_pow(self.decimals).ok_or(Fault::Fine)?;
        if !product.is_multiple_of(scale) {
            return Err(Fault::Fine);
        }
        u64::try_from(product / scale).map_err(|_| Fault::Large)
    }
}
