//! CUBIC beside a second implementation, which `tests/oracles/cubic.py` has from RFC 9438 alone.

use crate::tcp::cubic::Cubic;
use crate::tcp::progress::{Loss, Progress};
use qcnlab_units::{Instant, Span};

const MSS: u64 = 1000;

/// Each row has an event, its time, the round trip and the window that follows, without rounding. Ours is in whole octets;
/// at a loss both leave out what is less, so that the two stay within two octets.
#[test]
fn windows_follow_the_reference() {
    let (mut cubic, mut window, mut checked) = (Cubic::new(MSS), 0, 0);
    for row in include_str!("cubic.csv").lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let us = |cell: &str| cell.parse::<u64>().expect("whole microseconds");
        let expected: f64 = cells[3].parse().expect("octets");
        match cells[0] {
            "start" => (cubic, window) = (Cubic::new(MSS), expected as u64),
            "duplicates" => window = cubic.on_loss(Loss::Duplicates, window, window),
            "timeout" => window = cubic.on_loss(Loss::Timeout, window, window),
            segments => {
                let octets = MSS * segments.parse::<u64>().expect("segments");
                let now = Instant::ZERO + Span::from_us(us(cells[1]));
                window = cubic.grown(Progress { now, octets, window, rtt: Span::from_us(us(cells[2])) });
            }
        }
        assert!((window as f64 - expected).abs() <= 2.0, "{window} octets after {row}");
        checked += 1;
    }
    assert!(checked > 2000, "{checked} rows");
}
