//! Sums, differences, scaling and conversions, by hand.

use qcnlab_units::{BitRate, Bytes, Instant, Span};

#[test]
fn octets_add_and_subtract() {
    let (seven, five) = (Bytes::new(7), Bytes::new(5));
    assert_eq!(seven + five, Bytes::new(12));
    assert_eq!(seven - five, Bytes::new(2));
    let mut queue = seven;
    queue += five;
    assert_eq!(queue, Bytes::new(12));
    queue -= Bytes::new(3);
    assert_eq!(queue, Bytes::new(9));
    assert_eq!([seven, five, Bytes::new(30)].into_iter().sum::<Bytes>(), Bytes::new(42));
    assert_eq!(std::iter::empty::<Bytes>().sum::<Bytes>(), Bytes::ZERO);
    assert_eq!(seven.saturating_sub(five), Bytes::new(2));
    assert_eq!(five.saturating_sub(seven), Bytes::ZERO);
}

#[test]
fn octets_in_other_forms() {
    let frame = Bytes::new(1500);
    assert_eq!(frame.get(), 1500);
    assert_eq!(frame.bits(), 12_000);
    assert_eq!(frame.signed() - 2000, -500);
    assert!((frame.as_f64() * 0.5 - 750.0).abs() < 1e-9);
}

#[test]
fn rates_add_subtract_and_scale() {
    let (ten, three) = (BitRate::bps(10), BitRate::bps(3));
    assert_eq!(ten + three, BitRate::bps(13));
    assert_eq!(ten - three, BitRate::bps(7));
    assert_eq!(BitRate::bps(u64::MAX) + ten, BitRate::bps(u64::MAX), "it saturates");
    assert!((three.as_f64() * 0.5 - 1.5).abs() < 1e-9);
    // 10 * 0.39 = 3.9; -1 is below every rate.
    assert_eq!(ten.scaled_rounded_down(0.39), three);
    assert_eq!(ten.scaled_rounded_down(-0.1), BitRate::ZERO);
    // (10 + 3) / 2 = 6.5.
    assert_eq!(ten.midpoint_rounded_down(three), BitRate::bps(6));
}

#[test]
fn how_long_octets_take_at_a_rate() {
    // 1500 * 8 bits at 10 Gb/s: 1.2 us. 8 bits at 3 bit/s: 2.666... s, rounded up to the next picosecond.
    assert_eq!(BitRate::gbps(10).time_for_rounded_up(Bytes::new(1500)), Span::from_ns(1200));
    assert_eq!(BitRate::bps(3).time_for_rounded_up(Bytes::new(1)), Span::from_ps(2_666_666_666_667));
    assert_eq!(BitRate::ZERO.time_for_rounded_up(Bytes::new(1)), Span::MAX);
    // 3,000,000 octets are 24 million bits, 2.4e19 ps at 1 bit/s, above 2^64 = 1.8e19: no span is that long. At 1 Mb/s they
    // take 24 s; at 7 Mb/s 24 / 7 = 3.428571428571428571... s.
    let many = Bytes::new(3_000_000);
    assert_eq!(BitRate::bps(1).time_for_rounded_up(many), Span::MAX);
    assert_eq!(BitRate::mbps(1).time_for_rounded_up(many), Span::from_ms(24_000));
    assert_eq!(BitRate::mbps(7).time_for_rounded_up(many), Span::from_ps(3_428_571_428_572));
}

#[test]
fn octets_in_a_span_and_picoseconds_an_octet() {
    // 10 Gb/s for 1.2 us: 12,000 bits. A picosecond less: 11,999.99 bits, 1499.99 octets.
    assert_eq!(BitRate::gbps(10).bytes_in_rounded_down(Span::from_ns(1200)), Bytes::new(1500));
    assert_eq!(BitRate::gbps(10).bytes_in_rounded_down(Span::from_ps(1_199_999)), Bytes::new(1499));
    // 8e12 / 1e10 = 800; 8e12 / 3 is no whole number.
    assert_eq!(BitRate::gbps(10).ps_per_byte(), Some(800));
    assert_eq!(BitRate::bps(3).ps_per_byte(), None);
    assert_eq!(BitRate::ZERO.ps_per_byte(), None);
}

#[test]
fn instants_and_spans() {
    let start = Instant::from_ps(4_000);
    assert_eq!(start.ps(), 4_000);
    assert_eq!(start + Span::from_ns(3), Instant::from_ps(7_000));
    assert_eq!(Instant::NEVER + Span::from_ps(1), Instant::NEVER);
    assert_eq!(Instant::from_ps(7_000).since(start), Span::from_ns(3));
    assert_eq!(start.since(Instant::from_ps(7_000)), Span::ZERO, "what is later is no negative time ago");
    let mut now = start;
    now += Span::from_ps(5);
    assert_eq!(now.ps(), 4_005);
    // 2.5 s are 2.5e12 ps.
    assert!((Instant::from_ps(2_500_000_000_000).seconds() - 2.5).abs() < 1e-12);
    assert!((Span::from_ms(2_500).seconds() - 2.5).abs() < 1e-12);
}

#[test]
fn spans_add_subtract_and_scale() {
    let (ten, three) = (Span::from_ps(10), Span::from_ps(3));
    assert_eq!(ten + three, Span::from_ps(13));
    assert_eq!(Span::MAX + three, Span::MAX);
    assert_eq!(ten - three, Span::from_ps(7));
    assert_eq!(Span::from_ps(11).half_rounded_down(), Span::from_ps(5));
    // 10 * 0.39 = 3.9.
    assert_eq!(ten.scaled_rounded_down(0.39), three);
    assert_eq!([Span::from_ns(1), Span::from_us(1), Span::from_ms(1)].map(Span::ps), [1_000, 1_000_000, 1_000_000_000]);
}
