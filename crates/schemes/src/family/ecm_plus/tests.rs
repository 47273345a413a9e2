//! Hand-worked numbers.

use super::*;
use crate::dice::Purpose;
use crate::parts::drift::DriftParams;
use qcnlab_units::BitRate;

const LINE: BitRate = BitRate::gbps(10);

/// Without jitter, so that cycles have their nominal length.
const EXACT: EcmPlusRpParams =
    EcmPlusRpParams { limiter: qcn::QcnRpParams { jitter_width: 0.0, ..RP_DECK001.limiter }, ..RP_DECK001 };
const ADDITIVE: EcmPlusRpParams = EcmPlusRpParams { adaptation: Adaptation::Additive, ..EXACT };

fn dice() -> Dice {
    Dice::new(1, 0, "test", Purpose::Reaction)
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Span::from_us(n)
}

fn cnm(quantized_fb: u8) -> Signal {
    Signal::Cnm(Cnm { cp: CpId(0), quantized_fb, q_offset: -10_000, q_delta: 0 })
}

/// Limiting since 0 us, at 7500 Mb/s.
fn rp(params: EcmPlusRpParams) -> EcmPlusRp {
    let mut rp = EcmPlus::reaction_point(&params, LINE.into());
    rp.on_signal(us(0), &cnm(32), &mut dice());
    rp
}

/// Lets the timer run out, and says how long the next cycle is, us.
fn run_out(rp: &mut EcmPlusRp) -> u64 {
    let now = rp.next_wake();
    rp.on_wake(now, &mut dice());
    rp.next_wake().since(now).ps() / 1_000_000
}

#[test]
fn a_timer_that_runs_out_is_shorter_the_next_time() {
    // 15 ms * 0.9 = 13.5, 12.15, 10.935, 9.8415, and after the fifth cycle 8.85735 / 2 = 4.428675.
    let mut limited = rp(EXACT);
    assert_eq!(limited.next_wake(), us(15_000));
    let cycles: Vec<u64> = (0..5).map(|_| run_out(&mut limited)).collect();
    assert_eq!(cycles, [13_500, 12_150, 10_935, 9_841, 4_428]);
    // 15 - 1, ..., 11, and 10 / 2.
    let mut limited = rp(ADDITIVE);
    let cycles: Vec<u64> = (0..5).map(|_| run_out(&mut limited)).collect();
    assert_eq!(cycles, [14_000, 13_000, 12_000, 11_000, 5_000]);
    let mut limited =
        rp(EcmPlusRpParams { limiter: qcn::QcnRpParams { short_cycles: false, ..ADDITIVE.limiter }, ..ADDITIVE });
    let cycles: Vec<u64> = (0..6).map(|_| run_out(&mut limited)).collect();
    assert_eq!(cycles, [14_000, 13_000, 12_000, 11_000, 10_000, 9_000]);
}

#[test]
fn a_message_before_the_timer_runs_out_makes_it_longer_and_restarts_it() {
    // 15 * 1.1 = 16.5 from 5 ms on: 21.5. 15 + 1 = 16: 21.
    for (params, next) in [(EXACT, 21_500), (ADDITIVE, 21_000)] {
        let mut rp = rp(params);
        rp.on_signal(us(5_000), &cnm(32), &mut dice());
        assert_eq!(rp.next_wake(), us(next));
    }
}

#[test]
fn a_burst_counts_once_unless_told_otherwise() {
    let mut limited = rp(ADDITIVE);
    // At 5 ms it is 16 ms; the next longer one is due from 21 ms on, and 20 ms is too early for that.
    for (at, next) in [(5_000, 21_000), (6_000, 22_000), (20_000, 36_000), (21_000, 38_000), (22_000, 39_000)] {
        limited.on_signal(us(at), &cnm(1), &mut dice());
        assert_eq!(limited.next_wake(), us(next), "message at {at} us");
    }
    // At 39 ms the timer runs out: 17 - 1 = 16 ms, and the next message may make it longer at once.
    assert_eq!(run_out(&mut limited), 16_000);
    limited.on_signal(us(40_000), &cnm(1), &mut dice());
    assert_eq!(limited.next_wake(), us(57_000));
    let mut limited = rp(EcmPlusRpParams { stretching: Stretching::EveryMessage, ..ADDITIVE });
    for (at, next) in [(5_000, 21_000), (6_000, 23_000), (7_000, 25_000)] {
        limited.on_signal(us(at), &cnm(1), &mut dice());
        assert_eq!(limited.next_wake(), us(next), "message at {at} us");
    }
}

/// 15 ms run out: 13.5. A message at once makes that 13.5 * 1.1 = 14.85, and no other until those have passed:
/// 29.85 + 16.335 us. In the additive form 14 + 1 = 15, and at 30 ms 16.
#[test]
fn the_first_message_after_the_timer_ran_out_makes_the_shorter_timer_longer() {
    for (params, steps) in [
        (EXACT, [(15_000, 29_850), (16_000, 30_850), (29_849, 44_699), (29_850, 46_185)]),
        (ADDITIVE, [(15_000, 30_000), (16_000, 31_000), (29_999, 44_999), (30_000, 46_000)]),
    ] {
        let mut limited = rp(params);
        let _ = run_out(&mut limited);
        for (at, next) in steps {
            limited.on_signal(us(at), &cnm(1), &mut dice());
            assert_eq!(limited.next_wake(), us(next), "message at {at} us");
        }
    }
}

#[test]
fn the_timer_stays_within_its_bounds() {
    let every = EcmPlusRpParams {
        stretching: Stretching::EveryMessage,
        limiter: qcn::QcnRpParams { threshold: 1000, ..EXACT.limiter },
        ..EXACT
    };
    let mut limited = rp(every);
    for i in 1..100 {
        limited.on_signal(us(i), &cnm(1), &mut dice());
    }
    assert_eq!(limited.next_wake(), us(60_099));
    for _ in 0..100 {
        let _ = run_out(&mut limited);
    }
    assert_eq!(run_out(&mut limited), 1_000);
}

/// Timer-only QCN: (7500 + 10 000) / 2 = 8750; a message then makes 8750 the target.
#[test]
fn rates_are_those_of_timer_only_qcn() {
    let mut rp = rp(EXACT);
    let _ = run_out(&mut rp);
    assert_eq!(rp.gauge().current_rate, BitRate::mbps(8750));
    rp.on_signal(us(16_000), &cnm(32), &mut dice());
    // 8750 * 0.75 = 6562.5.
    assert_eq!((rp.gauge().current_rate, rp.gauge().target_rate), (BitRate::bps(6_562_500_000), BitRate::mbps(8750)));
}

#[test]
fn a_new_limiter_starts_with_the_first_timer() {
    let mut rp = rp(EXACT);
    for _ in 0..10_000 {
        if rp.next_wake() == Instant::NEVER {
            break;
        }
        let _ = rp.on_sent(rp.next_wake(), Bytes::new(1500), Bytes::ZERO, &mut dice());
        rp.on_wake(rp.next_wake(), &mut dice());
    }
    assert_eq!(rp.limit(), None, "it climbs by its timer and goes");
    let later = us(100_000_000);
    rp.on_signal(later, &cnm(32), &mut dice());
    assert_eq!(rp.next_wake().since(later), Span::from_ms(15));
}

/// 7500, and 1 each 4 ms: 7503 at 12 ms. At 15 ms (7503 + 10 000) / 2; the drifts made no timer shorter: 15 + 13.5.
#[test]
fn a_drift_is_not_the_timer() {
    let mut rp = rp(EcmPlusRpParams {
        limiter: qcn::QcnRpParams { drift: DriftParams::each(Span::from_ms(4), BitRate::mbps(1)), ..EXACT.limiter },
        ..EXACT
    });
    for at in [4_000, 8_000, 12_000, 15_000] {
        assert_eq!(rp.next_wake(), us(at));
        rp.on_wake(us(at), &mut dice());
    }
    assert_eq!(rp.gauge().current_rate, BitRate::bps(8_751_500_000));
    assert_eq!((rp.next_wake(), rp.limiter.time_end()), (us(16_000), us(28_500)));
}
