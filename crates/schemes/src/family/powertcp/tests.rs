//! Hand-worked numbers.

use super::*;
use crate::roles::{Acknowledgement, Flight, HopTelemetry, ReactionPoint, TransportEvent};
use crate::testing::{Windows, dice};
use qcnlab_units::Instant;

const B: BitRate = BitRate::gbps(100);
/// 100 Gb/s and 8 us: 100 000 octets.
const ENDPOINT: Endpoint = Endpoint {
    line_rate: B,
    base_rtt: Span::from_us(8),
    longest_rtt: Span::from_us(8),
    mtu: Bytes::new(1000),
    hops: 1,
};
const BDP: f64 = 100_000.0;

fn hop(us: u64, sent: u64, queue: u64) -> HopTelemetry {
    let left_at = Instant::ZERO + Span::from_us(us);
    HopTelemetry { left_at, sent: Bytes::new(sent), queue: Bytes::new(queue), rate: B }
}

fn hear(rp: &mut PowertcpRp, hops: &[HopTelemetry], acknowledged: u64, sent: u64) {
    hear_over(rp, 0, hops, acknowledged, sent);
}

fn hear_over(rp: &mut PowertcpRp, path: u32, hops: &[HopTelemetry], acknowledged: u64, sent: u64) {
    let ack =
        Acknowledgement { newly: Bytes::new(1000), packets: 1, marked: 0, sent_at: Instant::ZERO, path, code: 0, hops };
    let in_flight = Bytes::new(sent.saturating_sub(acknowledged));
    let flight =
        Flight { acknowledged: Bytes::new(acknowledged), sent: Bytes::new(sent), in_flight, early: Bytes::ZERO };
    rp.on_transport(Instant::ZERO, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
}

fn with(params: PowertcpRpParams) -> PowertcpRp {
    Powertcp::reaction_point(&params, ENDPOINT)
}

fn is(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} for {expected}");
}

/// The first window is 100 Gb/s for 8 us, beta a tenth of it for ten flows, a quarter for four, or what is set.
#[test]
fn the_window_starts_at_the_product_of_rate_and_round_trip() {
    let rp = with(RP_NSDI2022);
    assert_eq!((rp.window(), rp.limit()), (Some(Bytes::new(100_000)), Some(B)));
    is(rp.law.step, 10_000.0);
    is(with(PowertcpRpParams { expected_flows: 4, ..RP_NSDI2022 }).law.step, 25_000.0);
    is(with(PowertcpRpParams { beta: Some(Bytes::new(777)), ..RP_NSDI2022 }).law.step, 777.0);
}

/// A least rate of 10 Mb/s is more than a link of 5 Mb/s has: the window stays that of the link.
#[test]
fn a_slow_link_is_its_own_least_rate() {
    let endpoint = Endpoint { line_rate: BitRate::mbps(5), ..ENDPOINT };
    let mut rp = Powertcp::reaction_point(&PowertcpRpParams { form: PowerForm::Rate, ..RP_NSDI2022 }, endpoint);
    let at = |us, queue| HopTelemetry { rate: BitRate::mbps(5), ..hop(us, us / 2, queue) };
    hear(&mut rp, &[at(0, 50_000)], 1000, 100_000);
    hear(&mut rp, &[at(8000, 50_000)], 2000, 100_000);
    assert_eq!(rp.limit(), Some(BitRate::mbps(5)));
}

/// q = 50 KB, B tau = 100 KB, a full link: P = 1 * 1.5. W = 0.9 (100 000 / 1.5 + 10 000) + 0.1 * 100 000 = 79 000, and the
/// rate 79 Gb/s. The first acknowledgement tells nothing yet.
#[test]
fn a_standing_queue_divides_the_window() {
    let mut rp = with(RP_NSDI2022);
    hear(&mut rp, &[hop(0, 0, 50_000)], 1000, 100_000);
    assert_eq!(rp.window(), Some(Bytes::new(100_000)));
    hear(&mut rp, &[hop(8, 100_000, 50_000)], 2000, 100_000);
    assert_eq!(rp.law.power, Some(1.5));
    is(rp.law.current, 79_000.0);
    assert_eq!((rp.window(), rp.limit()), (Some(Bytes::new(79_000)), Some(BitRate::gbps(79))));
}

/// The current counts what arrives. The queue grows by 50 KB while 100 KB leave: 1.5 * 1.5 = 2.25. It falls by as much:
/// 0.5 * 1, a window of 0.9 (100 000 / 0.5 + 10 000) + 10 000 beyond the cap. The length alone would say 1.5 and 1. By 80 KB,
/// a fifth of the link arrives, and counts as half.
#[test]
fn a_queue_that_grows_has_more_power_than_one_that_stands() {
    for (queues, power, window) in [([0, 50_000], 2.25, 59_000.0), ([50_000, 0], 0.5, BDP), ([80_000, 0], 0.5, BDP)] {
        let mut rp = with(RP_NSDI2022);
        hear(&mut rp, &[hop(0, 0, queues[0])], 1000, 100_000);
        hear(&mut rp, &[hop(8, 100_000, queues[1])], 2000, 100_000);
        assert_eq!(rp.law.power, Some(power));
        is(rp.law.current, window);
    }
}

/// Gamma 0.5 takes half of what the power says: 0.5 (66 666.67 + 10 000) + 50 000 = 88 333.33.
#[test]
fn gamma_weighs_what_the_power_says() {
    let mut rp = with(PowertcpRpParams { gamma: 0.5, ..RP_NSDI2022 });
    hear(&mut rp, &[hop(0, 0, 50_000)], 1000, 100_000);
    hear(&mut rp, &[hop(8, 100_000, 50_000)], 2000, 100_000);
    is(rp.law.current, 265_000.0 / 3.0);
}

/// The first power starts the smoothed one, 1.5; a quarter of tau with power 1 then weighs a quarter: 1.375. More than tau
/// weighs as tau: 1. With a first power of 1 in its place, the 1.5 of two of eight microseconds give 1.125.
#[test]
fn the_power_is_smoothed_over_a_round_trip() {
    let mut rp = with(RP_NSDI2022);
    hear(&mut rp, &[hop(0, 0, 50_000)], 1000, 100_000);
    hear(&mut rp, &[hop(2, 25_000, 50_000)], 2000, 100_000);
    assert_eq!(rp.law.power, Some(1.5));
    hear(&mut rp, &[hop(4, 100_000, 0)], 3000, 100_000);
    assert_eq!(rp.law.power, Some(1.375), "25 000 arrived in 2 us, and nothing waits");
    hear(&mut rp, &[hop(20, 300_000, 0)], 4000, 100_000);
    assert_eq!(rp.law.power, Some(1.0));
    let mut rp = with(PowertcpRpParams { first_power: Some(1.0), ..RP_NSDI2022 });
    hear(&mut rp, &[hop(0, 0, 50_000)], 1000, 100_000);
    hear(&mut rp, &[hop(2, 25_000, 50_000)], 2000, 100_000);
    assert_eq!(rp.law.power, Some(1.125));
}

/// The window at which a packet was sent is divided, not that of now. The first 100 000 octets left at 100 000. At the
/// acknowledgement of 2000 the window becomes 79 000, and 101 000 are sent; at that of 3000 76 900, and 102 000 are. So does
/// the next to 100 000 with W old = 100 000, but 100 001 was sent after the first acknowledgement, and 101 001 at 79 000.
/// (Divided by the window of now each time, the second would be 64 300.)
#[test]
fn the_window_at_which_a_packet_was_sent_is_divided() {
    let mut rp = with(RP_NSDI2022);
    let news = |n: u64| [hop(8 * n, 100_000 * n, 50_000)];
    hear(&mut rp, &news(0), 1000, 100_000);
    let said = |old: f64, window: f64| 0.9 * (old / 1.5 + 10_000.0) + 0.1 * window;
    let mut windows = Vec::new();
    for (n, acknowledged, sent, old) in [
        (1, 2000, 101_000, BDP),
        (2, 3000, 102_000, BDP),
        (3, 100_000, 103_000, BDP),
        (4, 101_000, 103_000, BDP),
        (5, 101_001, 103_000, 79_000.0),
        (6, 102_001, 104_000, 76_900.0),
    ] {
        let expected = said(old, rp.law.current);
        hear(&mut rp, &news(n), acknowledged, sent);
        is(rp.law.current, expected);
        windows.push(rp.law.current);
    }
    is(windows[0], 79_000.0);
    is(windows[1], 76_900.0);
    // At 103 000 the last acknowledgement before more was sent counts: the fifth.
    let expected = said(windows[4], rp.law.current);
    hear(&mut rp, &news(7), 103_001, 104_000);
    is(rp.law.current, expected);
}

/// As on Linux, the old window is noted once a round trip, which ends with the first octet beyond the 100 000 that were sent
/// at the first acknowledgement.
#[test]
fn the_old_window_may_be_noted_once_a_round_trip() {
    let mut rp = with(RP_POWERTCP_LINUX);
    let news = |n: u64| [hop(8 * n, 100_000 * n, 50_000)];
    hear(&mut rp, &news(0), 1000, 100_000);
    let said = |old: f64, window: f64| 0.9 * (old / 1.5 + 10_000.0) + 0.1 * window;
    for (n, acknowledged, old) in [(1, 2000, BDP), (2, 100_000, BDP), (3, 100_001, BDP)] {
        let expected = said(old, rp.law.current);
        hear(&mut rp, &news(n), acknowledged, 150_000);
        is(rp.law.current, expected);
        is(rp.law.reference, if n == 3 { rp.law.current } else { BDP });
    }
    let (old, expected) = (rp.law.reference, said(rp.law.reference, rp.law.current));
    hear(&mut rp, &news(4), 150_000, 150_000);
    is(rp.law.current, expected);
    is(rp.law.reference, old);
}

/// Another path's counters say nothing, and time that stands still neither: no change, and the next measures from them.
#[test]
fn a_new_path_or_no_time_is_skipped() {
    let mut rp = with(RP_NSDI2022);
    hear(&mut rp, &[hop(0, 0, 0)], 1000, 100_000);
    hear_over(&mut rp, 1, &[hop(8, 900_000, 500_000)], 2000, 100_000);
    hear_over(&mut rp, 1, &[hop(8, 950_000, 700_000)], 3000, 100_000);
    assert_eq!((rp.law.power, rp.window()), (None, Some(Bytes::new(100_000))));
    hear_over(&mut rp, 1, &[hop(16, 1_000_000, 700_000)], 4000, 100_000);
    assert_eq!(rp.law.power, Some(0.5 * 8.0), "50 000 octets since the last acknowledgement of this path");
}

/// The hop with the most power counts, by its own rate, and with its own time: 25 Gb/s carry 25 000 octets in tau, so
/// 12 500 queue make 1.5. Of two as powerful the first counts.
#[test]
fn the_most_powerful_hop_counts() {
    let slow = |us, sent, queue| HopTelemetry { rate: BitRate::gbps(25), ..hop(us, sent, queue) };
    let first = PowertcpRpParams { first_power: Some(1.0), ..RP_NSDI2022 };
    for (hops, power) in [
        ([hop(8, 50_000, 0), slow(8, 25_000, 12_500), hop(8, 50_000, 0)], 1.5),
        ([hop(4, 50_000, 100_000), slow(8, 25_000, 25_000), hop(8, 50_000, 0)], 1.5),
    ] {
        let mut rp = with(first);
        let queue = |at: usize| hops[at].queue.get();
        hear(&mut rp, &[hop(0, 0, queue(0)), slow(0, 0, queue(1)), hop(0, 0, 0)], 1000, 100_000);
        hear(&mut rp, &hops, 2000, 100_000);
        assert_eq!(rp.law.power, Some(power));
    }
}

/// Nothing arrives and nothing waits: no power where the current has no floor, and the window is what the host's link holds. A power of 1001 leaves
/// 0.9 (100 + 1) + 0.1 W: at last 101 octets for a step of one, and the least rate of 100 Mb/s holds 100.
#[test]
fn the_window_stays_between_the_least_rate_and_the_line_rate() {
    let mut rp = with(PowertcpRpParams { least_current: 0.0, ..RP_NSDI2022 });
    hear(&mut rp, &[hop(0, 0, 0)], 1000, 100_000);
    hear(&mut rp, &[hop(8, 0, 0)], 2000, 100_000);
    assert_eq!((rp.law.power, rp.law.current), (Some(0.0), BDP));
    let numbers = PowertcpRpParams { beta: Some(Bytes::new(1)), min_rate: BitRate::mbps(100), ..RP_NSDI2022 };
    let mut rp = with(numbers);
    for n in 0..40 {
        hear(&mut rp, &[hop(8 * n, 100_000 * n, 100_000_000)], 2000 * n + 1, 2000 * n + 1000);
    }
    assert_eq!((rp.law.current, rp.limit()), (100.0, Some(BitRate::mbps(100))));
}

/// The simulator's form: R = 0.9 (R old * 0.95 / 1.5 + 0.15) + 0.1 R old = 67.135 Gb/s, the same for the same news, and the
/// window is R tau in whole octets, cut off. Its steps are the same at every line rate.
#[test]
fn the_rate_form_starts_from_the_rate_of_a_round_trip_ago() {
    let mut rp = with(RP_NS3_DATACENTER);
    hear(&mut rp, &[hop(0, 0, 50_000)], 1000, 100_000);
    for n in 1..4 {
        hear(&mut rp, &[hop(8 * n, 100_000 * n, 50_000)], 1000 + n, 100_000);
        is(rp.law.current, 67.135e9);
    }
    assert_eq!(rp.window(), Some(Bytes::new(67_134)));
    let slow = Endpoint { line_rate: BitRate::gbps(25), ..ENDPOINT };
    is(Powertcp::reaction_point(&RP_NS3_DATACENTER, slow).law.step, 150e6);
}

/// A floor of a half: 20 000 octets in tau, a fifth of the link, count as half of it.
#[test]
fn the_current_has_a_floor() {
    for (least_current, power) in [(0.0, 0.2), (0.5, 0.5)] {
        let mut rp = with(PowertcpRpParams { least_current, ..RP_NSDI2022 });
        hear(&mut rp, &[hop(0, 0, 0)], 1000, 100_000);
        hear(&mut rp, &[hop(8, 20_000, 0)], 2000, 100_000);
        assert_eq!(rp.law.power, Some(power));
    }
}

/// The window has its own form; the rate has one where it is told so.
#[test]
fn windows_are_permitted_where_there_is_one() {
    for (form, window, permits) in [
        (PowerForm::Window, WindowRule::Open, true),
        (PowerForm::Rate, WindowRule::Open, false),
        (PowerForm::Rate, WindowRule::Fixed, true),
        (PowerForm::Rate, WindowRule::Scaled, true),
    ] {
        let rp = with(PowertcpRpParams { form, window, ..RP_NSDI2022 });
        assert_eq!(
            (rp.capabilities().permits_windows, rp.window().is_some()),
            (permits, permits),
            "{form:?} {window:?}"
        );
    }
}

/// Telemetry of five hops: 42 octets, on acknowledgements of the simulator 28.
#[test]
fn packets_and_acknowledgements_carry_telemetry() {
    for (params, acknowledgement) in [(RP_NSDI2022, 42), (RP_NS3_DATACENTER, 28)] {
        let added = with(params).added_headers();
        assert_eq!((added.data.get(), added.acknowledgement.get()), (42, acknowledgement));
    }
}

/// One tau for all flows, that of the longest way, unless it is the path's own or one is set: 16, 8 and 4 us.
#[test]
fn tau_is_the_networks_the_paths_or_the_one_that_is_set() {
    let endpoint = Endpoint { longest_rtt: Span::from_us(16), ..ENDPOINT };
    let path = PowertcpRpParams { base_rtt_of: BaseRttOf::Path, ..RP_NSDI2022 };
    let set = PowertcpRpParams { base_rtt: Some(Span::from_us(4)), ..RP_NSDI2022 };
    for (params, window) in [(RP_NSDI2022, 200_000), (path, 100_000), (set, 50_000)] {
        assert_eq!(Powertcp::reaction_point(&params, endpoint).window(), Some(Bytes::new(window)));
    }
}

/// n flows over one link. Returns the mean queue at last and the largest share of the mean window.
fn settled(params: &PowertcpRpParams, starts: &[f64]) -> (f64, f64) {
    let mut flows: Vec<PowertcpRp> = starts.iter().map(|_| with(*params)).collect();
    for (flow, start) in flows.iter_mut().zip(starts) {
        (flow.law.current, flow.law.reference) = (*start, *start);
    }
    let (mut link, mut queues) = (Windows::new(), Vec::new());
    for step in 0..32_000 {
        let (left_at, flight) = link.pass(flows.iter().map(|flow| flow.law.current).sum());
        let (sent, queue) = (Bytes::new(link.sent as u64), Bytes::new(link.queue as u64));
        let hops = [HopTelemetry { left_at, sent, queue, rate: B }];
        for flow in &mut flows {
            hear(flow, &hops, flight.acknowledged.get(), flight.sent.get());
        }
        if step >= 24_000 {
            queues.push(link.queue);
        }
    }
    let mean = flows.iter().map(|flow| flow.law.current).sum::<f64>() / flows.len() as f64;
    let largest = flows.iter().map(|flow| flow.law.current).fold(0.0, f64::max);
    (queues.iter().sum::<f64>() / queues.len() as f64, largest / mean)
}

/// The closed form: P = W / (W - beta), and n W = B tau + q, so that q = n beta, from any start, with equal windows. It is just
/// that. With an old window that is noted once a round trip the windows swing, and the mean is up to 7 % more.
#[test]
fn the_standing_queue_is_beta_of_each_flow() {
    for (n, beta) in [(2, 10_000.0), (4, 2_000.0), (16, 1_000.0), (16, 10_000.0), (100, 500.0)] {
        let beta_is = Some(Bytes::new(beta as u64));
        let unequal = |index: usize| if index == 0 { BDP } else { 1000.0 };
        let (equal, unequal) = (vec![BDP / n as f64; n], (0..n).map(unequal).collect::<Vec<f64>>());
        for (starts, params, within) in
            [(&equal, RP_NSDI2022, 1e-3), (&unequal, RP_NSDI2022, 1e-3), (&unequal, RP_POWERTCP_LINUX, 0.07)]
        {
            let (queue, largest) = settled(&PowertcpRpParams { beta: beta_is, ..params }, starts);
            assert!((queue / (n as f64 * beta) - 1.0).abs() < within, "{n} flows, {beta}: {queue}");
            assert!((largest - 1.0).abs() < 0.01, "{n} flows, {beta}: {largest}");
        }
    }
}
