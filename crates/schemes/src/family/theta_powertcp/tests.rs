//! Hand-worked numbers.

use super::*;
use crate::roles::{Acknowledgement, AddedHeaders, Flight, ReactionPoint, TransportEvent};
use crate::testing::{Windows, dice, us};
use qcnlab_units::Instant;

const B: BitRate = BitRate::gbps(100);
/// 100 Gb/s and 8 us: 100 000 octets.
const ENDPOINT: Endpoint = Endpoint {
    line_rate: B,
    base_rtt: Span::from_us(8),
    longest_rtt: Span::from_us(16),
    mtu: Bytes::new(1000),
    hops: 1,
};
const BDP: f64 = 100_000.0;
const EACH: ThetaPowertcpRpParams = ThetaPowertcpRpParams { updates: PowerRhythm::Acknowledgement, ..RP_NSDI2022 };

fn with(params: ThetaPowertcpRpParams) -> ThetaPowertcpRp {
    ThetaPowertcp::reaction_point(&params, ENDPOINT)
}

/// An acknowledgement at `at` us of what was sent `rtt` us before.
fn hear(rp: &mut ThetaPowertcpRp, at: u64, rtt: u64, acknowledged: u64, sent: u64) {
    let sent_at = us(at - rtt);
    let ack = Acknowledgement { newly: Bytes::new(1000), packets: 1, marked: 0, sent_at, path: 0, code: 0, hops: &[] };
    let in_flight = Bytes::new(sent.saturating_sub(acknowledged));
    let flight =
        Flight { acknowledged: Bytes::new(acknowledged), sent: Bytes::new(sent), in_flight, early: Bytes::ZERO };
    rp.on_transport(us(at), &TransportEvent::Acknowledged(ack), &flight, &mut dice());
}

fn is(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} for {expected}");
}

/// A round trip of 12 us that stays is 1.5 of tau: W = 0.9 (100 000 / 1.5 + 10 000) + 10 000 = 79 000, as PowerTCP with a
/// queue of 50 KB. The window starts at the path's own 8 us, and the first acknowledgement tells nothing yet.
#[test]
fn a_long_round_trip_divides_the_window() {
    let mut rp = with(RP_NSDI2022);
    hear(&mut rp, 100, 12, 1000, 100_000);
    assert_eq!((rp.window(), rp.limit()), (Some(Bytes::new(100_000)), Some(B)));
    hear(&mut rp, 108, 12, 100_001, 200_000);
    assert_eq!(rp.law.power, Some(1.5));
    is(rp.law.current, 79_000.0);
    assert_eq!((rp.window(), rp.limit()), (Some(Bytes::new(79_000)), Some(BitRate::gbps(79))));
}

/// From 8 to 12 us within 8: a slope of a half, (1 + 0.5) * 1.5 = 2.25. Back within 8: (1 - 0.5) * 1 = 0.5. From 12 to 8 us
/// within 2 the slope is -2, and less than nothing does not arrive: 0.
#[test]
fn the_slope_is_what_arrives_beyond_the_link() {
    for (rtts, time, power) in [([8, 12], 8, 2.25), ([12, 8], 8, 0.5), ([12, 8], 2, 0.0)] {
        let mut rp = with(ThetaPowertcpRpParams { least_current: 0.0, ..RP_NSDI2022 });
        hear(&mut rp, 100, rtts[0], 1000, 100_000);
        hear(&mut rp, 100 + time, rtts[1], 100_001, 200_000);
        assert_eq!(rp.law.power, Some(power), "{rtts:?} in {time} us");
    }
}

/// It measures at each acknowledgement and moves once a round trip, or each time, or does both once a round trip. After 12, 12, 16 us at 100, 104 and 108 us: from the first to the last (1 + 0.5) * 2 = 3; step by step 1.5, then
/// (1 + 1) * 2 = 4 with half the weight, 2.75.
#[test]
fn it_measures_and_moves_in_its_rhythm() {
    let said = |power: f64, window: f64| 0.9 * (BDP / power + 10_000.0) + 0.1 * window;
    let once = said(2.75, BDP);
    let twice = said(2.75, said(1.5, BDP));
    for (params, power, window) in
        [(RP_POWERTCP_LINUX, 3.0, said(3.0, BDP)), (RP_NSDI2022, 2.75, once), (EACH, 2.75, twice)]
    {
        let mut rp = with(params);
        hear(&mut rp, 100, 12, 1000, 100_000);
        hear(&mut rp, 104, 12, 100_000, 150_000);
        hear(&mut rp, 108, 16, 100_001, 150_000);
        assert_eq!(rp.law.power, Some(power));
        is(rp.law.current, window);
        is(rp.law.reference, window);
    }
}

/// Two acknowledgements at one time have no slope: the second is not measured, and the next is from the first.
#[test]
fn no_time_is_no_slope() {
    let mut rp = with(EACH);
    hear(&mut rp, 100, 12, 1000, 100_000);
    hear(&mut rp, 100, 16, 2000, 100_000);
    assert_eq!(rp.law.power, None);
    hear(&mut rp, 108, 12, 3000, 100_000);
    assert_eq!(rp.law.power, Some(1.5));
}

/// The simulator's form: 8.4 us are one of 1.05 tau; a slope of -1 counts as -0.5; R = 0.7 (R old / P + 0.15) + 0.3 R old.
/// From 12.6 us, P = 1.5 and R = 0.7 (66.6667 + 0.15) + 30 = 76.771 667 Gb/s.
#[test]
fn the_rate_form_has_a_floor_and_a_longer_tau() {
    let at = |rtt_ns: u64, ns: u64, rp: &mut ThetaPowertcpRp| {
        let now = Instant::from_ps(1000 * ns);
        let sent_at = Instant::from_ps(1000 * (ns - rtt_ns));
        let ack =
            Acknowledgement { newly: Bytes::new(1000), packets: 1, marked: 0, sent_at, path: 0, code: 0, hops: &[] };
        let flight = Flight {
            acknowledged: Bytes::new(1),
            sent: Bytes::new(100_000),
            in_flight: Bytes::ZERO,
            early: Bytes::ZERO,
        };
        rp.on_transport(now, &TransportEvent::Acknowledged(ack), &flight, &mut dice());
    };
    let mut rp = with(RP_NS3_DATACENTER);
    at(12_600, 100_000, &mut rp);
    at(12_600, 108_000, &mut rp);
    is(rp.law.power.expect("measured"), 1.5);
    is(rp.law.current, 0.7 * (100e9 / 1.5 + 0.15e9) + 30e9);
    let mut rp = with(RP_NS3_DATACENTER);
    at(16_400, 100_000, &mut rp);
    at(8_400, 108_000, &mut rp);
    is(rp.law.power.expect("measured"), 0.5);
}

/// It adds what it is told to; nothing by itself. Tau is the path's, or the network's 16 us: 200 000 octets.
#[test]
fn a_header_a_tau_and_a_window() {
    let added = with(ThetaPowertcpRpParams { header: Bytes::new(8), ..RP_NSDI2022 }).added_headers();
    assert_eq!((added.data.get(), added.acknowledgement.get()), (8, 0));
    assert_eq!(with(RP_NSDI2022).added_headers(), AddedHeaders::default());
    let network = ThetaPowertcpRpParams { base_rtt_of: BaseRttOf::Network, ..RP_NSDI2022 };
    assert_eq!(with(network).window(), Some(Bytes::new(200_000)));
    let set = ThetaPowertcpRpParams { base_rtt: Some(Span::from_us(4)), ..RP_NSDI2022 };
    assert_eq!(with(set).window(), Some(Bytes::new(50_000)));
    let open = ThetaPowertcpRpParams { window: WindowRule::Open, ..RP_NS3_DATACENTER };
    assert_eq!((with(open).window(), with(open).capabilities().permits_windows), (None, false));
    assert!(with(RP_NSDI2022).capabilities().permits_windows);
}

/// n flows over one link. The queue is n beta, as PowerTCP's, and the windows are equal whatever they start from. It is just
/// that where the window moves once a round trip; where it moves with each acknowledgement, it swings around it.
#[test]
fn the_standing_queue_is_beta_of_each_flow() {
    for (n, beta) in [(2u64, 10_000u64), (4, 2_000), (16, 1_000), (16, 10_000)] {
        for (params, within) in [(RP_NSDI2022, 1e-6), (EACH, 0.07)] {
            let params = ThetaPowertcpRpParams { beta: Some(Bytes::new(beta)), ..params };
            let mut flows: Vec<ThetaPowertcpRp> = (0..n).map(|_| with(params)).collect();
            for (index, flow) in flows.iter_mut().enumerate() {
                let start = if index == 0 { BDP } else { 1000.0 };
                (flow.law.current, flow.law.reference) = (start, start);
            }
            let (mut link, mut queues) = (Windows::new(), Vec::new());
            for step in 0..64_000 {
                let (now, flight) = link.pass(flows.iter().map(|flow| flow.law.current).sum());
                // 80 ps an octet at 100 Gb/s.
                let rtt = Span::from_ps(8_000_000 + (80.0 * link.queue) as u64);
                for flow in &mut flows {
                    flow.on_ack(now, rtt, &flight);
                }
                if step >= 56_000 {
                    queues.push(link.queue);
                }
            }
            let queue = queues.iter().sum::<f64>() / queues.len() as f64;
            let windows: Vec<f64> = flows.iter().map(|flow| flow.law.current).collect();
            let (least, most) = windows.iter().fold((BDP, 0.0f64), |(low, high), w| (low.min(*w), high.max(*w)));
            assert!((queue / (n * beta) as f64 - 1.0).abs() < within, "{n} flows, {beta}: {queue}, {params:?}");
            assert!(most / least < 1.01, "{n} flows, {beta}: {least} to {most}, {params:?}");
        }
    }
}
