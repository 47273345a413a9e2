//! Hand-worked numbers.

use super::*;
use crate::roles::{Acknowledgement, Flight, LossSign, ReactionPoint, TransportEvent};
use crate::testing::{dice, us};
use qcnlab_units::BitRate;

const ENDPOINT: Endpoint = Endpoint {
    line_rate: BitRate::gbps(100),
    base_rtt: Span::from_us(10),
    longest_rtt: Span::from_us(10),
    mtu: Bytes::new(1000),
    hops: 3,
};
/// A target of 50 us and nothing more, whatever the path and the window.
const FLAT: SwiftRpParams =
    SwiftRpParams { base_delay: Span::from_us(50), per_hop: Span::ZERO, fs_max: Span::ZERO, ..RP_FALCON_SIMULATOR };
const FLIGHT: Flight =
    Flight { acknowledged: Bytes::ZERO, sent: Bytes::ZERO, in_flight: Bytes::ZERO, early: Bytes::ZERO };

fn at(window: f64, params: SwiftRpParams) -> SwiftRp {
    Swift::reaction_point(&SwiftRpParams { first_window: window, ..params }, ENDPOINT)
}

fn tell(rp: &mut SwiftRp, at: u64, event: TransportEvent<'_>) {
    rp.on_transport(us(at), &event, &FLIGHT, &mut dice());
}

/// An acknowledgement of packets at `at` us, the newest sent `rtt` us before.
fn hear(rp: &mut SwiftRp, at: u64, rtt: u64, packets: u32) {
    let newly = Bytes::new(1000 * u64::from(packets));
    let ack = Acknowledgement { newly, packets, marked: 0, sent_at: us(at - rtt), path: 0, code: 0, hops: &[] };
    tell(rp, at, TransportEvent::Acknowledged(ack));
}

fn is(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} for {expected}");
}

/// a = 100 / (1 / sqrt(0.1) - 1 / 16) = 32.26 us. What a window adds: a / sqrt(W) - a / 16, with 28 us for base and hops.
/// (The specification prints a without the two reciprocals.)
#[test]
fn the_target_is_longer_for_small_windows() {
    for (window, added) in
        [(0.01, 100.0), (0.1, 100.0), (1.0, 30.24), (4.0, 14.11), (16.0, 6.05), (64.0, 2.02), (256.0, 0.0)]
    {
        let target = at(window, RP_FALCON_SIMULATOR).target() * 1e-6;
        assert!((target - 28.0 - added).abs() < 0.005, "{window} packets: {target} us");
    }
    let wide = SwiftRpParams { max_window: 1000.0, ..RP_FALCON_SIMULATOR };
    is(at(900.0, wide).target(), 28e6);
}

/// Three switches at 2 us each, and no scaling of flows: 25 + 6 us. A range without length is a step.
#[test]
fn hops_and_ranges_are_as_set() {
    let hops = SwiftRpParams { per_hop: Span::from_us(2), fs_max: Span::ZERO, ..RP_FALCON_SIMULATOR };
    is(at(1.0, hops).target(), 31e6);
    let step = SwiftRpParams { fs_least: 4.0, fs_most: 4.0, ..FLAT };
    let step = SwiftRpParams { fs_max: Span::from_us(10), ..step };
    is(at(3.9, step).target(), 60e6);
    is(at(4.0, step).target(), 50e6);
}

/// Four packets acknowledged within the target: 8 + 4 / 8 = 8.5; with steps of 2, 9. Below a packet each adds a whole step:
/// 0.25 + 1.
#[test]
fn a_short_delay_adds_a_packet_a_window() {
    for (window, ai, packets, grown) in
        [(8.0, 1.0, 4, 8.5), (8.0, 2.0, 4, 9.0), (0.25, 1.0, 1, 1.25), (1.0, 1.0, 1, 2.0)]
    {
        let mut rp = at(window, SwiftRpParams { ai, ..FLAT });
        hear(&mut rp, 1000, 49, packets);
        is(rp.window, grown);
    }
}

/// d = 2 D: 1 - 0.8 * 0.5 = 0.6. d = 200 us: 0.8 * 0.75 = 0.6, but a half at most. d = D: a cut of nothing, yet no step.
/// With mdf 0.4 and a most of 0.1: 0.8 and 0.9.
#[test]
fn a_long_delay_cuts_by_its_excess() {
    let mild = SwiftRpParams { mdf: 0.4, ..FLAT };
    let milder = SwiftRpParams { max_mdf: 0.1, ..FLAT };
    for (params, rtt, kept) in
        [(FLAT, 100, 0.6), (FLAT, 200, 0.5), (FLAT, 50, 1.0), (mild, 100, 0.8), (milder, 100, 0.9)]
    {
        let mut rp = at(10.0, params);
        hear(&mut rp, 1000, rtt, 1);
        is(rp.window, 10.0 * kept);
    }
}

/// At most one cut in a round trip, which is 100 us: the second comes 100 us after the first. Steps need not wait.
#[test]
fn a_round_trip_has_one_cut() {
    let mut rp = at(10.0, FLAT);
    for (now, window) in [(1000, 6.0), (1001, 6.0), (1099, 6.0), (1100, 3.6), (1199, 3.6)] {
        hear(&mut rp, now, 100, 1);
        is(rp.window, window);
    }
    hear(&mut rp, 1200, 40, 1);
    is(rp.window, 3.6 + 1.0 / 3.6);
}

/// A delay that keeps a half of the one before: 40 us and then 100 make 70, and (70 - 50) / 70 * 0.8 is cut off.
#[test]
fn a_delay_may_be_smoothed() {
    let mut rp = at(10.0, SwiftRpParams { delay_kept: 0.5, ..FLAT });
    hear(&mut rp, 1000, 40, 10);
    hear(&mut rp, 1100, 100, 1);
    is(rp.window, 11.0 * (1.0 - 0.8 * 20.0 / 70.0));
}

/// A negative acknowledgement or a gap halves, once a round trip.
#[test]
fn a_loss_takes_the_most_off() {
    for event in [TransportEvent::NegativelyAcknowledged, TransportEvent::Lost(LossSign::Gap)] {
        let mut rp = at(10.0, FLAT);
        for (now, window) in [(1000, 5.0), (1009, 5.0), (1010, 2.5)] {
            tell(&mut rp, now, event);
            is(rp.window, window);
        }
    }
}

/// The first timeout halves, the second does nothing, the third leaves the least window; an acknowledgement begins anew.
#[test]
fn timeouts_in_a_row_leave_the_least_window() {
    let timeout = TransportEvent::Lost(LossSign::Timeout);
    let mut rp = at(10.0, FLAT);
    for (now, window) in [(1000, 5.0), (2000, 5.0), (3000, 0.01)] {
        tell(&mut rp, now, timeout);
        is(rp.window, window);
    }
    hear(&mut rp, 4000, 40, 1);
    is(rp.window, 1.01);
    tell(&mut rp, 5000, timeout);
    is(rp.window, 0.505);
    let mut once = at(10.0, SwiftRpParams { retransmit_limit: 1, ..FLAT });
    tell(&mut once, 1000, timeout);
    is(once.window, 0.01);
}

/// A timeout 9 us after a cut, within the round trip of 10 us, takes nothing off. It is the first of its row: the second does
/// nothing, and the third leaves the least window although an acknowledgement of nothing new came between them.
#[test]
fn a_timeout_soon_after_a_cut_counts_and_takes_nothing_off() {
    let timeout = TransportEvent::Lost(LossSign::Timeout);
    let mut rp = at(10.0, FLAT);
    tell(&mut rp, 1000, TransportEvent::NegativelyAcknowledged);
    for (now, window) in [(1009, 5.0), (2000, 5.0)] {
        tell(&mut rp, now, timeout);
        is(rp.window, window);
    }
    hear(&mut rp, 2500, 40, 0);
    is(rp.window, 5.0);
    tell(&mut rp, 3000, timeout);
    is(rp.window, 0.01);
}

/// A window of 2.9 packets lets two be in flight, 0.5 one, which starts 40 / 0.5 = 80 us after the one before; from one
/// packet on there is no gap. The rate is what the window sends in a round trip: 0.5 * 8000 bits in 40 us, 100 Mb/s.
#[test]
fn below_a_packet_there_is_a_gap() {
    for (window, octets, gap) in [(2.9, 2000, 0), (1.0, 1000, 0), (0.5, 1000, 80), (0.01, 1000, 4000)] {
        let mut rp = at(10.0, FLAT);
        hear(&mut rp, 1000, 40, 1);
        rp.window = window;
        assert_eq!((rp.window(), rp.gap()), (Some(Bytes::new(octets)), Span::from_us(gap)), "{window} packets");
        assert_eq!(rp.limit(), None);
        if window == 0.5 {
            assert_eq!(rp.gauge().current_rate, BitRate::mbps(100));
        }
    }
    assert_eq!(at(256.0, FLAT).gauge().current_rate, BitRate::gbps(100), "204.8 Gb/s are more than the line rate");
}

/// From 0.01 to 256 packets, and where the largest is set below the least, the least.
#[test]
fn windows_have_bounds() {
    let mut rp = at(256.0, FLAT);
    hear(&mut rp, 1000, 40, 100);
    is(rp.window, 256.0);
    let mut rp = at(0.015, FLAT);
    hear(&mut rp, 1000, 1000, 1);
    is(rp.window, 0.01);
    is(at(7.0, SwiftRpParams { min_window: 2.0, max_window: 1.0, ..FLAT }).window, 2.0);
}

#[test]
fn packets_are_longer_by_what_is_set() {
    let added = at(1.0, SwiftRpParams { header: Bytes::new(20), ack_header: Bytes::new(12), ..FLAT }).added_headers();
    assert_eq!((added.data.get(), added.acknowledgement.get()), (20, 12));
    assert_eq!(at(1.0, FLAT).added_headers(), crate::roles::AddedHeaders::default());
}
