//! A loop that looks late sees the same departures as one that looks often.

use crate::adapter::Adapter;
use crate::hostile::{NOTHING, cnm, frame, layout, plan};
use crate::shaper::LimiterKind;
use qcnlab_sim::NodeId;
use qcnlab_units::Id;
use std::sync::Arc;

const MS: u64 = 1_000_000_000;

/// A UDP datagram of 1500 octets without tags from the first source to the sink, of no flow of the plan.
fn datagram() -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    octets.extend([0x45, 0, 0x05, 0xC6, 0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2]);
    octets.extend([0xC0, 0x00, 0x0F, 0xFF, 0x05, 0xB2, 0, 0]);
    octets.resize(1492, 0);
    octets
}

/// When frames leave, after a CNM at 1 ms, if a loop looks every `step` ps for 200 ms. The limiter always has frames.
fn departures(step: u64) -> Vec<u64> {
    let mut adapter = Adapter::new(&plan(), Arc::new(layout()), NodeId::new(0), LimiterKind::Adapter, NOTHING);
    let (datagram, told) = (datagram(), cnm(0, 63));
    for _ in 0..2000 {
        adapter.take_from_stack(0, &datagram);
    }
    let mut left = Vec::new();
    let mut now = 0;
    let mut heard = false;
    while now < 200 * MS {
        now += step;
        if now >= MS && !heard {
            adapter.advance(MS);
            adapter.take_from_link(MS, frame(&told));
            heard = true;
        }
        adapter.advance(now);
        left.extend(std::iter::from_fn(|| adapter.take_due(now + MS)).map(|due| due.at));
    }
    left
}

/// The timer of deck 001 ends every 15 ms, and raises the rate. A frame that is due behind such an end leaves at the
/// new rate, whether the loop looked between the two or only after both. 4 ms is less than frames may be made good.
#[test]
fn a_timer_that_ends_before_a_frame_is_due_changes_when_that_frame_leaves() {
    let often = departures(MS / 100);
    // 51 Mb/s after the cut, and rising: more than 800 frames of 12,000 bits in 0.2 s, fewer than the link takes.
    assert!((800..1667).contains(&often.len()), "{}", often.len());
    for step in [MS / 7, MS, 3 * MS, 4 * MS] {
        let late = departures(step);
        let differ = often.iter().zip(&late).position(|(one, other)| one != other);
        assert_eq!(differ, None, "looking every {} us", step / 1_000_000);
    }
}
