//! Numbers worked by hand, and the error of the code in closed form.

use super::*;
use crate::dice::Purpose;
use crate::registry::{AnyRp, Config};
use crate::roles::{Acknowledgement, Flight, ReactionPoint, TransportEvent};
use crate::testing::dice;
use qcnlab_units::BitRate;

const LINE: BitRate = BitRate::gbps(100);

fn cp() -> PintCp {
    HpccPint::congestion_point(&CP_HPCC_SIMULATOR, CpId(0))
}

fn queue(len: u64) -> Queue {
    Queue { len: Bytes::new(len), capacity: Bytes::new(1 << 25), rate: LINE }
}

fn ns(n: u64) -> Instant {
    Instant::ZERO + Span::from_ns(n)
}

fn endpoint() -> Endpoint {
    let rtt = Span::from_us(13);
    Endpoint { line_rate: LINE, base_rtt: rtt, longest_rtt: rtt, mtu: Bytes::new(1000), hops: 1 }
}

fn tell(rp: &mut AnyRp, code: u8, acknowledged: u64, sent: u64, dice: &mut Dice) {
    let ack = Acknowledgement {
        newly: Bytes::new(1000),
        packets: 1,
        marked: 0,
        sent_at: Instant::ZERO,
        path: 0,
        code,
        hops: &[],
    };
    let flight = Flight {
        acknowledged: Bytes::new(acknowledged),
        sent: Bytes::new(sent),
        in_flight: Bytes::new(sent - acknowledged),
        early: Bytes::ZERO,
    };
    rp.on_transport(ns(0), &TransportEvent::Acknowledged(ack), &flight, dice);
}

fn gbps(rp: &AnyRp) -> f64 {
    rp.gauge().current_rate.as_f64() / 1e9
}

/// B * T = 100 Gb/s * 13 us = 162 500 octets. A first packet after more than T: the whole queue of 16 250 octets counts, 0.1.
/// The next starts 80 ns later, 0.0061538 of T, when 1000 octets are sent: 0.1 * 0.9938462 + 0.1 * 0.0061538 + 1000/162 500
/// = 0.1061538.
#[test]
fn a_port_takes_the_mean_of_its_load() {
    let mut cp = cp();
    assert!((cp.measure(ns(20_000), Bytes::ZERO, queue(16_250)) - 0.1).abs() < 1e-12);
    let next = cp.measure(ns(20_080), Bytes::new(1000), queue(16_250));
    assert!((next - 0.106_153_8).abs() < 1e-7, "{next}");
}

/// U (1 - d) + q d / (B T) + s / (B T) stays where it is at U = q / (B T) + s / (B dt): HPCC's u. With q = 16 250 octets and
/// 1000 octets in each 100 ns, 0.8 of the link, 0.1 + 0.8.
#[test]
fn in_steady_state_the_mean_is_hpccs_load() {
    let mut cp = cp();
    let mut load = 0.0;
    for n in 1..5000 {
        load = cp.measure(ns(100 * n), Bytes::new(1000 * n), queue(16_250));
    }
    assert!((load - 0.9).abs() < 1e-9, "{load}");
}

/// What is read back of a load is less than a step of 5 % off, above or below, and the logarithm is right in the mean: with
/// 20 000 draws four standard deviations of a rounding, at most 1/2, are 0.0141 of a step.
#[test]
fn a_code_is_less_than_a_step_off_and_right_in_the_mean() {
    let mut rolls = Dice::new(1, 0, "code", Purpose::Sampling);
    for load in [0.0012, 0.05, 0.4, 0.95, 1.0, 1.333, 7.5, 60.0] {
        let mut sum = 0.0;
        for _ in 0..20_000 {
            let code = code::write(load, &mut rolls);
            let off = code::read(code) / load;
            assert!((1.0 / code::BASE..code::BASE).contains(&off), "{load} is read as {}", code::read(code));
            sum += f64::from(code);
        }
        let mean = sum / 20_000.0;
        assert!((mean - code::position(load)).abs() < 0.0142, "{load} has {mean} in the mean");
    }
}

/// In the mean a load that lies f of the way to the next code is read too large by base^-f (1 + f (base - 1)). In the middle
/// that is 1.025 / sqrt(1.05) = 1.000297, the most there is; a draw is off by 2.44 %, so 40 000 are off by 0.0122 % (one
/// standard deviation).
#[test]
fn the_mean_of_what_is_read_is_that_of_the_closed_form() {
    let factor = |f: f64| code::BASE.powf(-f) * (1.0 + f * (code::BASE - 1.0));
    assert!((factor(0.5) - 1.000_297).abs() < 1e-6);
    let most = (0..=100).map(|n| factor(f64::from(n) / 100.0)).fold(0.0, f64::max);
    assert!((1.0..=1.000_298).contains(&most));
    let mut rolls = Dice::new(2, 0, "code", Purpose::Sampling);
    for f in [0.0, 0.2, 0.5, 0.9] {
        let load = code::read(140) * code::BASE.powf(f);
        let read = (0..40_000).map(|_| code::read(code::write(load, &mut rolls)) / load).sum::<f64>() / 40_000.0;
        assert!((read - factor(f)).abs() < 0.0005, "at {f} it is {read}, not {}", factor(f));
    }
}

/// Code 1 is 0.001, code 2 is 5 % more, and 255 is 0.001 * 1.05^254 = 241.1. Below the first there are codes 1 and 0, above
/// the last there is 255.
#[test]
fn codes_reach_from_a_thousandth_to_241() {
    let read = [0, 1, 2, 255].map(code::read);
    assert_eq!(read[..3], [0.0, 0.001, 0.001 * 1.05]);
    assert!((read[3] - 241.1).abs() < 0.1, "{}", read[3]);
    assert_eq!([0.0, 0.0001, 1e9].map(|load| code::write(load, &mut dice())), [0, 0, 255]);
}

/// The first acknowledgement begins a round trip. Code 142 stands for 0.001 * 1.05^141 = 0.972056: over 0.95 a factor of
/// 1.023217. 100 Gb/s / 1.023217 + 40 Mb/s = 97.7710 Gb/s. Within the round trip it is always reckoned from 100 Gb/s; after it
/// from 97.7710: 95.5526 + 0.04 = 95.5926.
#[test]
fn the_sender_does_with_the_load_what_hpcc_does() {
    let mut rp = Config::find("hpcc_pint", None).unwrap().reaction_point(endpoint());
    let mut rolls = dice();
    tell(&mut rp, 142, 1000, 162_000, &mut rolls);
    assert_eq!(gbps(&rp), 100.0);
    for acknowledged in [2000, 3000] {
        tell(&mut rp, 142, acknowledged, 163_000, &mut rolls);
        assert!((gbps(&rp) - 97.771).abs() < 0.001, "{}", gbps(&rp));
    }
    tell(&mut rp, 142, 163_000, 320_000, &mut rolls);
    tell(&mut rp, 142, 164_000, 320_000, &mut rolls);
    assert!((gbps(&rp) - 95.5926).abs() < 0.001, "{}", gbps(&rp));
    assert_eq!(rp.added_headers().data, Bytes::new(1));
}

/// Of 16 000 acknowledgements in one round trip, each with another load than the last, a sixteenth changes the rate: 1000, with
/// a standard deviation of 31.
#[test]
fn a_share_of_the_acknowledgements_counts() {
    let mut rp = Config::find("hpcc_pint", Some("HPCC_SIMULATOR_SAMPLED")).unwrap().reaction_point(endpoint());
    let mut rolls = dice();
    let mut counted = 0;
    for n in 0..16_000u64 {
        let before = gbps(&rp);
        tell(&mut rp, if before > 90.0 { 150 } else { 142 }, 1000 + n, 1 << 30, &mut rolls);
        counted += u32::from(gbps(&rp) != before);
    }
    assert!((880..=1120).contains(&counted), "{counted}");
}
