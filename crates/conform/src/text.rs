//! Quantities in messages.

/// A rate in bit/s.
pub(super) fn rate(bps: f64) -> String {
    let size = bps.abs();
    if size >= 1e9 {
        format!("{:.4} Gb/s", bps / 1e9)
    } else if size >= 1e6 {
        format!("{:.3} Mb/s", bps / 1e6)
    } else {
        format!("{:.2} kb/s", bps / 1e3)
    }
}

/// A time in ps.
pub(super) fn ms(ps: i64) -> String {
    let seconds = ps as f64 / 1e12;
    if seconds.abs() >= 1e-3 {
        format!("{:.3} ms", seconds * 1e3)
    } else if seconds.abs() >= 1e-6 {
        format!("{:.3} us", seconds * 1e6)
    } else {
        format!("{:.1} ns", seconds * 1e9)
    }
}

/// Octets.
pub(super) fn octets(count: i64) -> String {
    if count.abs() >= 10_000 { format!("{:.1} KB", count as f64 / 1e3) } else { format!("{count} B") }
}

/// Octets of two lengths that differ: to one decimal of a KB where that tells them apart, else whole.
pub(super) fn octets_apart(count: i64, other: i64) -> String {
    if octets(count) == octets(other) { format!("{count} B") } else { octets(count) }
}

/// A share in percent.
pub(super) fn share(part: f64) -> String {
    format!("{:.2} %", part * 100.0)
}
