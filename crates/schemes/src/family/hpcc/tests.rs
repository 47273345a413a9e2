//! Hand-worked numbers.

use super::*;
use crate::roles::{Acknowledgement, CongestionPoint, Flight, HopTelemetry, Queue, ReactionPoint, TransportEvent};
use crate::testing::dice;
use qcnlab_units::Instant;

const B: BitRate = BitRate::gbps(100);
/// 100 Gb/s and 13 us: 162 500 octets.
const ENDPOINT: Endpoint = Endpoint {
    line_rate: B,
    base_rtt: Span::from_us(13),
    longest_rtt: Span::from_us(13),
    mtu: Bytes::new(1000),
    hops: 1,
};
const BDP: f64 = 162_500.0;

fn hop(us: u64, sent: u64, queue: u64) -> HopTelemetry {
    let left_at = Instant::ZERO + Span::from_us(us);
    HopTelemetry { left_at, sent: Bytes::new(sent), queue: Bytes::new(queue), rate: B }
}

fn hear(rp: &mut HpccRp, hops: &[HopTelemetry], acknowledged: u64, sent: u64) {
    hear_over(rp, 0, hops, acknowledged, sent);
}

fn hear_over(rp: &mut HpccRp, path: u32, hops: &[HopTelemetry], acknowledged: u64, sent: u64) {
    let ack =
        Acknowledgement { newly: Bytes::new(1000), packets: 1, marked: 0, sent_at: Instant::ZERO, path, code: 0, hops };
    let in_flight = Bytes::new(sent - acknowledged);
    let flight =
        Flight { acknowledged: Bytes::new(acknowledged), sent: Bytes::new(sent), in_flight, early: Bytes::ZERO };
    rp.on_transport(Instant::ZERO, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
}

fn window_form() -> HpccRp {
    Hpcc::reaction_point(&RP_SIGCOMM2019, ENDPOINT)
}

/// W_init is 100 Gb/s for 13 us; W_AI = 162 500 * 0.05 / 100 = 81.25.
#[test]
fn the_window_starts_at_the_product_of_rate_and_round_trip() {
    let rp = window_form();
    assert_eq!((rp.window(), rp.limit()), (Some(Bytes::new(162_500)), Some(B)));
    assert!((rp.unit.step - 81.25).abs() < 1e-9);
}

/// q = q' = 20 KB, the link full, tau = T: u = 20 000 / 162 500 + 1 = 1.123 08, W = 162 500 / (1.123 08 / 0.95) + 81.25.
#[test]
fn a_queue_and_a_full_link_cut_the_window() {
    let mut rp = window_form();
    hear(&mut rp, &[hop(0, 0, 20_000)], 1000, 162_500);
    assert_eq!(rp.window(), Some(Bytes::new(162_500)), "the first tells nothing yet");
    hear(&mut rp, &[hop(13, 162_500, 20_000)], 163_500, 325_000);
    assert!((rp.load - (1.0 + 20_000.0 / BDP)).abs() < 1e-12, "{}", rp.load);
    assert!((rp.current - (BDP * 0.95 / (1.0 + 20_000.0 / BDP) + 81.25)).abs() < 1e-6, "{}", rp.current);
    assert!((rp.current / BDP - 0.8459 - 81.25 / BDP).abs() < 5e-5);
}

/// A quarter of T weighs a quarter, and the smaller of the two queues counts.
#[test]
fn the_load_is_smoothed_over_a_round_trip() {
    let mut rp = window_form();
    hear(&mut rp, &[hop(0, 0, 0)], 1000, 162_500);
    // In 3.25 us half of what the link carries: u = 0.5; U = 0.75 * 1 + 0.25 * 0.5 = 0.875.
    let quarter = HopTelemetry { left_at: Instant::from_ps(3_250_000), ..hop(0, 20_312, 90_000) };
    hear(&mut rp, &[quarter], 2000, 162_500);
    assert!((rp.load - 0.875).abs() < 1e-4, "{}", rp.load);
}

/// Within a round trip each acknowledgement starts from Wc, not from the W of the one before: the same news twice
/// cuts once. (csg-htsim's hpcc.cpp takes the present window, and so cuts twice.)
#[test]
fn acknowledgements_of_a_round_trip_do_not_add_up() {
    let mut rp = window_form();
    hear(&mut rp, &[hop(0, 0, 162_500)], 1000, 162_500);
    hear(&mut rp, &[hop(13, 162_500, 162_500)], 2000, 162_500);
    let once = rp.current;
    hear(&mut rp, &[hop(26, 325_000, 162_500)], 3000, 162_500);
    assert!((rp.current - once).abs() < 1e-9, "{once} and then {}", rp.current);
    assert!((rp.reference - BDP).abs() < 1e-9, "Wc waits for the round trip's end");
    hear(&mut rp, &[hop(39, 487_500, 162_500)], 163_500, 325_000);
    assert!((rp.reference - once).abs() < 1e-9);
}

/// The telemetry of every acknowledgement is kept: the next measures from there, not from the last round trip. Sent in
/// 1 us after 12 us of silence: the link was full. (csg-htsim keeps it once a round trip, and would see 1/13.)
#[test]
fn the_last_acknowledgement_is_measured_from() {
    let mut rp = window_form();
    hear(&mut rp, &[hop(0, 0, 0)], 1000, 162_500);
    hear(&mut rp, &[hop(12, 0, 0)], 2000, 162_500);
    let before = rp.load;
    hear(&mut rp, &[hop(13, 12_500, 0)], 3000, 162_500);
    assert!((rp.load - (before * 12.0 / 13.0 + 1.0 / 13.0)).abs() < 1e-12, "{}", rp.load);
}

/// Another path's counters say nothing: no change, and the next measures from them.
#[test]
fn a_new_path_is_skipped_once() {
    let mut rp = window_form();
    hear(&mut rp, &[hop(0, 0, 0)], 1000, 162_500);
    hear_over(&mut rp, 1, &[hop(13, 900_000, 500_000)], 2000, 162_500);
    assert_eq!(rp.window(), Some(Bytes::new(162_500)));
    hear_over(&mut rp, 1, &[hop(26, 900_000, 0)], 3000, 162_500);
    assert!(rp.load.abs() < 1e-12, "an idle link: {}", rp.load);
}

/// Five additive steps of an empty link, each a round trip, then one multiplicative one to the cap.
#[test]
fn additive_stages_come_before_a_multiplicative_one() {
    let mut rp = window_form();
    (rp.current, rp.reference) = (10_000.0, 10_000.0);
    let mut windows = Vec::new();
    for trip in 0..8u64 {
        hear(&mut rp, &[hop(13 * trip, 10_000 * trip, 0)], 20_000 * trip + 1, 20_000 * trip + 10_000);
        windows.push(rp.current);
    }
    assert!((windows[5] - (10_000.0 + 5.0 * 81.25)).abs() < 1e-6, "{windows:?}");
    assert!(windows[6] > 100_000.0, "{windows:?}");
}

/// The fullest hop counts, by its own rate.
#[test]
fn the_fullest_hop_counts() {
    let mut rp = window_form();
    let slow = |us, sent| HopTelemetry { rate: BitRate::gbps(25), ..hop(us, sent, 0) };
    hear(&mut rp, &[hop(0, 0, 0), slow(0, 0), hop(0, 0, 0)], 1000, 162_500);
    // 40 625 octets in 13 us fill 25 Gb/s, and a quarter of 100 Gb/s.
    hear(&mut rp, &[hop(13, 40_625, 0), slow(13, 40_625), hop(13, 40_625, 0)], 2000, 162_500);
    assert!((rp.load - 1.0).abs() < 1e-12, "{}", rp.load);
}

/// The simulator's form: R = Rc / (U / eta) + 40 Mb/s at every acknowledgement, also when the link is not full, and the
/// window is R T.
#[test]
fn the_rate_form_is_multiplicative_throughout() {
    let mut rp = Hpcc::reaction_point(&RP_HPCC_SIMULATOR, ENDPOINT);
    rp.reference = 40e9;
    hear(&mut rp, &[hop(0, 0, 0)], 1000, 162_500);
    // Half full for a whole T: U = 0.5, R = 40 / (0.5 / 0.95) + 0.04 = 76.04 Gb/s.
    hear(&mut rp, &[hop(13, 81_250, 0)], 2000, 162_500);
    assert!((rp.current - 76.04e9).abs() < 1.0, "{}", rp.current);
    assert_eq!(rp.window(), Some(Bytes::new((BDP * 0.7604) as u64)));
}

/// Units of 512 and 320 octets: what is written is rounded down to whole ones.
#[test]
fn telemetry_is_in_whole_units() {
    let mut cp = Hpcc::congestion_point(&CP_HPCC_SIMULATOR, CpId(0));
    let queue = Queue { len: Bytes::new(1_000), capacity: Bytes::new(1 << 25), rate: B };
    let stamp = cp.departure_stamp(Instant::from_ps(83_840), Bytes::new(10_000), queue);
    let expected =
        HopTelemetry { left_at: Instant::from_ps(83_000), sent: Bytes::new(9_728), queue: Bytes::new(960), rate: B };
    assert_eq!(stamp, expected);
}

/// Telemetry of five hops: 42 octets, on acknowledgements 42 in the paper and 28 in its authors' simulator.
#[test]
fn packets_and_acknowledgements_carry_telemetry() {
    for (params, acknowledgement) in [(RP_SIGCOMM2019, 42), (RP_HPCC_SIMULATOR, 28)] {
        let added = Hpcc::reaction_point(&params, ENDPOINT).added_headers();
        assert_eq!((added.data.get(), added.acknowledgement.get()), (42, acknowledgement));
    }
}

/// n flows of equal round trip over one link, a round trip at a time: what exceeds B T queues.
fn settled(n: usize, additive: u64, starts: impl Fn(usize) -> f64) -> (f64, f64) {
    let params = HpccRpParams { additive_window: Some(Bytes::new(additive)), ..RP_SIGCOMM2019 };
    let mut flows: Vec<HpccRp> = (0..n).map(|_| Hpcc::reaction_point(&params, ENDPOINT)).collect();
    for (index, flow) in flows.iter_mut().enumerate() {
        (flow.current, flow.reference) = (starts(index), starts(index));
    }
    let (mut sent, mut loads, mut queues) = (0u64, Vec::new(), Vec::new());
    for trip in 0..6000u64 {
        let total: f64 = flows.iter().map(|flow| flow.current).sum();
        let queue = (total - BDP).max(0.0);
        sent += total.min(BDP) as u64;
        for flow in &mut flows {
            hear(flow, &[hop(13 * (trip + 1), sent, queue as u64)], 2000 * trip + 1, 2000 * trip + 1000);
        }
        if trip >= 5000 {
            loads.push(flows[0].load);
            queues.push(queue);
        }
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    (mean(&loads), mean(&queues))
}

/// The published equilibrium U = eta + n W_AI / (B T): 0.95 + 16 * 80 / 162 500 = 0.957 88, from any start.
#[test]
fn the_load_settles_at_its_closed_form() {
    for starts in [|_| BDP / 16.0, |index| if index == 0 { BDP } else { 1000.0 }] {
        let (load, queue) = settled(16, 80, starts);
        assert!((load - 0.957_88).abs() < 0.002, "{load}");
        assert!(queue < 1.0, "{queue}");
    }
}

/// Beyond a full link a queue stands: n W_AI - (1 - eta) B T = 200 * 80 - 8125 = 7875 octets.
#[test]
fn too_many_flows_leave_a_standing_queue() {
    let (load, queue) = settled(200, 80, |_| BDP / 200.0);
    assert!(load > 1.0 && (queue / 7_875.0 - 1.0).abs() < 0.05, "{load}, {queue} octets");
}

/// As published a window is what it controls; the simulator's form has one only where it follows the rate.
#[test]
fn windows_are_permitted_where_there_is_one() {
    for (form, window, permits) in [
        (HpccForm::Window, WindowRule::Open, true),
        (HpccForm::Window, WindowRule::Fixed, true),
        (HpccForm::Rate, WindowRule::Open, false),
        (HpccForm::Rate, WindowRule::Fixed, true),
        (HpccForm::Rate, WindowRule::Scaled, true),
    ] {
        let rp = Hpcc::reaction_point(&HpccRpParams { form, window, ..RP_SIGCOMM2019 }, ENDPOINT);
        assert_eq!(rp.capabilities().permits_windows, permits, "{form:?} {window:?}");
    }
}

/// q = 162 500 and a full link: U = 2, and each acknowledgement starts from Wc. That moves with the first acknowledgement
/// beyond the 100 000 octets that were sent at the first; at just these it does not.
#[test]
fn a_round_trip_is_over_when_more_is_acknowledged_than_was_sent() {
    let mut rp = window_form();
    let news = |n: u64| [hop(13 * n, 162_500 * n, 162_500)];
    let (once, twice) = (BDP * 0.475 + 81.25, (BDP * 0.475 + 81.25) * 0.475 + 81.25);
    hear(&mut rp, &news(0), 1000, 100_000);
    for (n, acknowledged, expected) in [(1, 100_000, once), (2, 101_000, once), (3, 102_000, twice)] {
        hear(&mut rp, &news(n), acknowledged, 150_000);
        assert!((rp.current - expected).abs() < 1e-6, "{acknowledged}: {} for {expected}", rp.current);
    }
}

/// Both hops carried half of what they can, one in 13 us, one in 6.5 us. The first counts, with its time, a round trip.
#[test]
fn of_two_hops_as_full_the_first_counts() {
    let mut rp = window_form();
    hear(&mut rp, &[hop(0, 0, 0), hop(0, 0, 0)], 1000, 100_000);
    let second = HopTelemetry { left_at: Instant::from_ps(6_500_000), ..hop(0, 40_625, 0) };
    hear(&mut rp, &[hop(13, 81_250, 0), second], 2000, 100_000);
    assert!((rp.load - 0.5).abs() < 1e-9, "{}", rp.load);
}
