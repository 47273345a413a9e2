//! Numbers worked by hand.

use super::*;
use crate::registry::{AnyCp, AnyNp, AnyRp, Config};
use crate::roles::ReactionPoint;
use crate::testing::{LINE, delivered, dice, queue, us};

fn config() -> Config {
    Config::find("pcn", None).unwrap()
}

fn rp() -> AnyRp {
    config().reaction_point(LINE)
}

fn cp() -> AnyCp {
    config().congestion_point(CpId(0))
}

fn np() -> AnyNp {
    config().notification_point().unwrap()
}

fn gbps(rp: &AnyRp) -> f64 {
    rp.gauge().current_rate.as_f64() / 1e9
}

fn cnp(rp: &mut AnyRp, at: u64, mbps: u64) {
    rp.on_signal(us(at), &Signal::ReceivedRate(BitRate::mbps(mbps)), &mut dice());
}

/// At 10 Gb/s, told that 1.28 Gb/s arrive: 1.28 * 127/128 = 1.27. Told again of 1.28, more than its rate, it stays. Told
/// of 0.64 it goes to 0.635.
#[test]
fn a_cnp_takes_the_rate_a_little_below_what_arrived() {
    let mut rp = rp();
    assert_eq!(rp.limit(), None);
    cnp(&mut rp, 0, 1280);
    assert_eq!(rp.limit(), Some(BitRate::mbps(1270)));
    cnp(&mut rp, 10, 1280);
    assert_eq!(rp.limit(), Some(BitRate::mbps(1270)));
    cnp(&mut rp, 20, 640);
    assert_eq!(rp.limit(), Some(BitRate::mbps(635)));
    assert_eq!(rp.gauge().target_rate, LINE);
}

/// The first period, with the CNP in it, raises nothing. Then w = 1/128: 1.27 + (10 - 1.27)/128 = 1.3382 Gb/s, and
/// w = (1/128)(1 - 1/128 + 1/2) = 0.011658: 1.3382 + 8.6618 * 0.011658 = 1.439180 Gb/s.
#[test]
fn periods_without_a_cnp_raise_the_rate_faster_and_faster() {
    let mut rp = rp();
    cnp(&mut rp, 0, 1280);
    let mut after = |at| {
        assert_eq!(rp.next_wake(), us(at));
        rp.on_wake(us(at), &mut dice());
        gbps(&rp)
    };
    let rates = [50, 100, 150].map(&mut after);
    for (rate, by_hand) in rates.into_iter().zip([1.27, 1.338_203, 1.439_180]) {
        assert!((rate - by_hand).abs() < 1e-6, "{rate} is not {by_hand}");
    }
}

/// w leads to 1/2: then each period halves what is missing, and 10 Gb/s are reached to the bit. Nothing is left to do then.
#[test]
fn the_line_rate_is_reached_and_the_limiter_goes() {
    let mut rp = rp();
    cnp(&mut rp, 0, 1280);
    let mut missing = Vec::new();
    while rp.next_wake() != Instant::NEVER {
        let at = rp.next_wake();
        rp.on_wake(at, &mut dice());
        missing.push(10.0 - gbps(&rp));
    }
    assert_eq!((rp.limit(), gbps(&rp)), (None, 10.0));
    let halved = missing.windows(2).map(|two| two[1] / two[0]).find(|share| (share - 0.5).abs() < 1e-3);
    assert!(halved.is_some() && missing.len() < 100, "{missing:?}");
}

/// A CNP starts the weight anew: after two increases w = 0.011658 (1 - 0.011658 + 0.5) = 0.017351, and then 1/128 again.
#[test]
fn a_cnp_starts_the_weight_anew() {
    let mut rp = PcnRp::new(RP_NSDI2020, LINE);
    rp.on_signal(us(0), &Signal::ReceivedRate(BitRate::gbps(1)), &mut dice());
    [50, 100, 150].into_iter().for_each(|at| rp.on_wake(us(at), &mut dice()));
    assert!((rp.w - 0.017_351).abs() < 1e-6, "{}", rp.w);
    rp.on_signal(us(160), &Signal::ReceivedRate(BitRate::gbps(5)), &mut dice());
    assert!((rp.w - 1.0 / 128.0).abs() < 1e-12);
}

/// Told of next to nothing, it keeps its least rate.
#[test]
fn the_rate_has_a_floor() {
    let mut rp = rp();
    rp.on_signal(us(0), &Signal::ReceivedRate(BitRate::bps(1)), &mut dice());
    assert_eq!(rp.limit(), Some(BitRate::mbps(1)));
}

/// Three frames were in the queue when the class was resumed: none of the next three is marked, however many stay behind,
/// and the fourth is if one octet stays.
#[test]
fn frames_that_waited_for_a_pause_are_not_marked() {
    let mut cp = cp();
    let mark = |cp: &mut AnyCp, len| cp.departure_mark(us(1), true, queue(len), &mut dice());
    assert_eq!((mark(&mut cp, 9000), mark(&mut cp, 0)), (1, 0));
    cp.on_pause(us(1), true, 7);
    assert_eq!(mark(&mut cp, 9000), 1, "the frame on its way when the pause began did not wait");
    cp.on_pause(us(9), false, 3);
    let marks: Vec<u8> = (0..5).map(|_| mark(&mut cp, 9000)).collect();
    assert_eq!(marks, [0, 0, 0, 1, 1]);
    assert_eq!(cp.departure_mark(us(9), false, queue(9000), &mut dice()), 0, "outside congestion control");
}

/// Frames of 1500 octets every 10 us: five in the 50 us after the first, 60 000 bit in 50 us, 1.2 Gb/s. All marked: a CNP
/// says so. Of the next five, four are marked, 80 %: none.
#[test]
fn the_receiver_says_what_arrived_if_nearly_all_was_marked() {
    let mut np = np();
    let mut answers = Vec::new();
    for n in 0..=10u64 {
        let answer = np.on_frame(us(10 * n), &delivered(u8::from(n != 8)));
        answers.extend(answer.map(|signal| (n, signal)));
    }
    assert_eq!(answers, [(5, Signal::ReceivedRate(BitRate::mbps(1200)))]);
}

/// A flow of a frame in 200 us is measured over these: 1500 octets, 60 Mb/s.
#[test]
fn a_slow_flow_is_measured_between_its_frames() {
    let mut np = np();
    assert_eq!(np.on_frame(us(0), &delivered(1)), None);
    assert_eq!(np.on_frame(us(200), &delivered(1)), Some(Signal::ReceivedRate(BitRate::mbps(60))));
    assert_eq!(np.on_frame(us(300), &delivered(0)), None);
}

/// 95 of 100 frames are enough, 94 are not.
#[test]
fn nearly_all_is_95_of_100() {
    let says = |marked: u64| {
        let mut np = np();
        let frame = |n| delivered(u8::from(n <= marked));
        (0..=100).filter_map(|n| np.on_frame(Instant::ZERO + Span::from_ns(500 * n), &frame(n))).count()
    };
    assert_eq!((says(95), says(94)), (1, 0));
}
