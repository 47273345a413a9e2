//! Quantities with a unit as numbers in base units.

use qcnlab_units::{BitRate, Bytes, Span};

/// A quantity such as "33 KB", "500 Mb/s" or "200 us" in octets, bit/s or s, with that unit; `None` for other text.
///
/// The number is the one nearest to the quantity: 200 us is 2e-4.
pub fn quantity(text: &str) -> Option<(f64, &'static str)> {
    let size = || text.parse::<Bytes>().ok().map(|size| (size.as_f64(), "B"));
    let rate = || text.parse::<BitRate>().ok().map(|rate| (rate.as_f64(), "bit/s"));
    let time = || text.parse::<Span>().ok().map(|span| (seconds(span), "s"));
    size().or_else(rate).or_else(time)
}

/// A span in seconds, rounded once.
pub fn seconds(span: Span) -> f64 {
    // A power of ten up to 1e22 is exact, and the division rounds to nearest; a factor of 1e-12 would round twice.
    span.ps() as f64 / 1e12
}

#[cfg(test)]
mod tests {
    use super::quantity;

    #[test]
    fn decimal_text_is_the_literal() {
        for (text, number, unit) in [
            ("200 us", 2e-4, "s"),
            ("12.3 us", 1.23e-5, "s"),
            ("0.3 s", 0.3, "s"),
            ("7 ns", 7e-9, "s"),
            ("33 KB", 33_000.0, "B"),
            ("64 KiB", 65_536.0, "B"),
            ("500 Mb/s", 5e8, "bit/s"),
            ("0 s", 0.0, "s"),
        ] {
            assert_eq!(quantity(text), Some((number, unit)), "{text}");
        }
    }

    #[test]
    fn words_and_bare_numbers_are_no_quantities() {
        for text in ["qcn", "33", "", "5 parsecs", "10 GB/s"] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }
}
