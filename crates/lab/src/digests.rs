//! A digest of every table of an outcome, to tell whether two runs gave the same.

use crate::outcome::Outcome;
use crate::tables::{Column, Data, TABLES};
use hmac_sha256::Hash;
use std::fmt::Write;

impl Outcome {
    /// Returns a line for each column of each table: how many rows, the first 12 digits of the SHA-256 of the values as
    /// text, and of numbers the least, the mean and the largest. Equal lines mean equal values, bit for bit.
    pub fn digests(&self) -> String {
        let mut text = String::new();
        for name in TABLES {
            let Some(table) = self.table(name) else { continue };
            if table.rows == 0 {
                let _ = writeln!(text, "  {name:<34}      0 rows");
                continue;
            }
            for column in &table.columns {
                let title = format!("{name}.{}", column.name);
                let _ = writeln!(text, "  {title:<34}{}", line(table.rows, column));
            }
        }
        text
    }
}

/// The values of a column as text, one a line, and as numbers where they are numbers.
fn values(column: &Column) -> (String, Vec<f64>) {
    let mut text = String::new();
    let mut numbers = Vec::new();
    macro_rules! plain {
        ($values:expr) => {
            for value in $values {
                let _ = writeln!(text, "{value:?}");
                numbers.push(*value as f64);
            }
        };
    }
    macro_rules! optional {
        ($values:expr) => {
            for value in $values {
                let _ = writeln!(text, "{value:?}");
                numbers.extend(value.map(|value| value as f64));
            }
        };
    }
    match &column.data {
        Data::U32(values) => plain!(values),
        Data::U64(values) => plain!(values),
        Data::F64(values) => plain!(values),
        Data::OptionalI64(values) => optional!(values),
        Data::OptionalI32(values) => optional!(values),
        Data::OptionalF64(values) => optional!(values),
        Data::Word(values, words) => {
            for value in values {
                let _ = writeln!(text, "{}", &words[*value as usize]);
            }
        }
    }
    (text, numbers)
}

/// Rows, least, mean and largest value, and the first 12 digits of the SHA-256 of the values as text.
fn line(rows: usize, column: &Column) -> String {
    let (text, numbers) = values(column);
    let digest: String = Hash::hash(text.as_bytes()).iter().take(6).map(|octet| format!("{octet:02x}")).collect();
    let mut line = format!("{rows:>7} rows  {digest}");
    if !numbers.is_empty() {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let _ = write!(line, "  least {least:.6e}  mean {mean:.6e}  largest {largest:.6e}");
    }
    line
}
