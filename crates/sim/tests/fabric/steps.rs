//! Runs in steps see bins of throughput once no frame can count in them any more.

use super::TEN;
use super::net::{Net, greedy};
use qcnlab_sim::{Engine, Trace};
use qcnlab_units::{Instant, Span};

/// The sink's end of the last link takes 4 us beyond the 3 us of the link: a frame that left up to 7 us ago may not have
/// been counted yet. Bins of 1 us that are shown after each step of 500 ns are those of the whole run.
#[test]
fn a_bin_is_shown_when_its_last_frame_has_arrived() {
    let mut net = Net::new(&["a", "c", "s"]);
    net.link("a", "s", TEN, Span::from_us(1));
    net.link("s", "c", TEN, Span::from_us(3));
    net.flow("a", "c", 0, greedy());
    let last = net.port("s->c") as usize;
    net.plan.ports[last].latency = Span::from_us(4);
    net.plan.record.bin = Span::from_us(1);
    net.plan.end = Instant::ZERO + Span::from_us(60);
    let whole = net.run();
    let rows = &whole.trace.throughput;
    // The first frame leaves s at 3.4 us, and each 1.2 us another one.
    let octets = |bin: usize| rows.bytes[bin];
    assert_eq!([0, 2, 3, 4, 6, 7].map(octets), [0, 0, 1500, 1500, 1500, 0]);
    let mut engine = Engine::new(&net.plan);
    let mut seen = 0;
    let mut at = Instant::ZERO;
    loop {
        at += Span::from_ns(500);
        let mut show = |trace: &Trace| {
            let shown = &trace.throughput;
            assert_eq!(shown.bytes, rows.bytes[..shown.bytes.len()], "at {at:?}");
            seen = shown.bytes.len();
        };
        if !engine.advance(at, &mut show).unwrap() {
            break;
        }
        // Bins that ended 7 us ago and before.
        assert_eq!(seen as u64, at.ps().saturating_sub(7_000_001) / 1_000_000, "at {at:?}");
    }
    assert_eq!(engine.end(&mut |_| {}).unwrap(), whole);
}
